//! Which callers may make which call, with how long a message: the one table. [`super::port`] consults it before it
//! reads a message.
//!
//! | | |
//! |---|---|
//! | certificate | With `tls.rpc` and `tls.verify_server_hostname` the certificate of the connection has to name one of
//! the roles, of this region |
//! | proof | What the head of the message has to prove besides: that a registered node calls, or a member of the
//! cluster |
//! | longest | The largest message, in bytes |

use super::call::{Call, Proof, Role, Rule, Ruled};
use super::calls::*;

const SERVERS: &[Role] = &[Role::Server];
const AGENTS: &[Role] = &[Role::Server, Role::Client];

/// Requests of the HTTP interface that agents pass on are no calls; this is the rule for them.
pub(crate) const INTERFACE: Rule = Rule { method: "HTTP", roles: AGENTS, proof: Proof::Nothing, longest: 0 };

/// The rule of what only servers do, whatever it is.
pub(crate) const SERVERS_ONLY: Rule = Rule { method: "", roles: SERVERS, proof: Proof::Member, longest: 0 };

/// Longest message of a caller that no server knows, in bytes.
pub(crate) const LONGEST_OF_STRANGERS: usize = 64 << 10;
const SHORT: usize = 64 << 10;
/// Entries of the log and plans: what is committed as one entry has to fit.
const LONGEST: usize = super::wire::MAX_MESSAGE;

/// The table: hands every call with its rule (roles, proof, longest message) to a macro.
macro_rules! with_calls {
    ($then:ident) => {
        $then! {
            Ping(AGENTS, Proof::Nothing, 1 << 10);
            Vouch(SERVERS, Proof::Nothing, 1 << 10);
            Meet(SERVERS, Proof::Nothing, 4 << 10);
            Register(AGENTS, Proof::NewNode, 1 << 20);
            UpdateStatus(AGENTS, Proof::Node, SHORT);
            Connect(AGENTS, Proof::Node, 0);
            SignIdentities(AGENTS, Proof::Node, 1 << 20);
            GetClientAllocs(AGENTS, Proof::Node, 4 << 10);
            GetClientAllocsConsistent(AGENTS, Proof::Node, 4 << 10);
            GetAllocs(AGENTS, Proof::Node, 1 << 20);
            GetPreviousDisk(AGENTS, Proof::Node, 4 << 10);
            UpdateAlloc(AGENTS, Proof::Node, 16 << 20);
            EmitEvents(AGENTS, Proof::Node, 1 << 20);
            UpsertServices(AGENTS, Proof::Node, 4 << 20);
            DeleteService(AGENTS, Proof::Node, SHORT);
            DrainSelf(AGENTS, Proof::Node, SHORT);
            GetNode(AGENTS, Proof::Node, 4 << 10);
            ClaimCsiVolume(AGENTS, Proof::Node, SHORT);
            ReleaseCsiVolume(AGENTS, Proof::Node, SHORT);
            Envelope(SERVERS, Proof::Member, LONGEST);
            RunWorkerCall(SERVERS, Proof::Member, LONGEST);
            Claim(SERVERS, Proof::Member, 4 << 10);
            Confirm(SERVERS, Proof::Member, 4 << 10);
            Stand(SERVERS, Proof::Member, 4 << 10);
            ForceLeave(SERVERS, Proof::Member, 4 << 10);
            ChangeKeys(SERVERS, Proof::Member, 4 << 10);
            Levels(SERVERS, Proof::Member, 1 << 10);
            Connected(SERVERS, Proof::Member, 1 << 10);
            CallNode(SERVERS, Proof::Member, 4 << 20);
            RemovePeer(SERVERS, Proof::Member, 4 << 10);
        }
    };
}
pub(super) use with_calls;

macro_rules! rules {
    ($($call:ident($roles:expr, $proof:expr, $longest:expr);)*) => {
        $(impl Ruled for $call {
            const RULE: Rule =
                Rule { method: <$call as Call>::METHOD, roles: $roles, proof: $proof, longest: $longest };
        })*

        /// The rules of all calls.
        pub const RULES: &[Rule] = &[$(<$call as Ruled>::RULE),*];
    };
}
with_calls!(rules);

/// The rule of a call, if there is such a call.
pub fn of(method: &str) -> Option<&'static Rule> {
    RULES.iter().find(|r| r.method == method)
}

/// The methods of all calls.
pub fn methods() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|r| r.method)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_certificate_may_make_the_calls_of_its_role() {
        let kinds = [
            ("server.global.nomad", true, true),
            ("client.global.nomad", true, false),
            ("cli.global.nomad", false, false),
            ("server.other.nomad", false, false),
            ("client.other.nomad", false, false),
            ("web.example", false, false),
        ];
        for rule in RULES.iter().chain([&INTERFACE]) {
            for (name, as_agent, as_server) in kinds {
                let wanted = if rule.roles == SERVERS { as_server } else { as_agent };
                let allowed = rule.check_names("global", &[name.to_string()]).is_ok();
                assert_eq!(allowed, wanted, "{} by {name}", rule.method);
            }
            let refused = rule.check_names("global", &["a".into(), "b".into()]).expect_err("refused");
            assert!(refused.message.starts_with("invalid certificate: a, b not in expected server.global.nomad"));
            assert!(rule.check_names("global", &[]).is_err());
        }
    }

    #[test]
    fn what_only_servers_do_needs_proof_of_membership() {
        for rule in RULES {
            let open = matches!(rule.method, "Serf.Members" | "Server.Vouch");
            assert_eq!(rule.roles == SERVERS && !open, rule.proof == Proof::Member, "{}", rule.method);
            let short = rule.longest <= 16 << 20;
            assert!(short || rule.proof == Proof::Member, "{}: long messages are those of servers", rule.method);
        }
        let mut names: Vec<&str> = RULES.iter().map(|r| r.method).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len());
    }
}
