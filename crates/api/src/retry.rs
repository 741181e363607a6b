//! Which requests are retried, at which address, and when.
//!
//! - A server without a leader did nothing: any request is retried for [`LIMIT`].
//! - With several addresses the same applies to requests that reached no server; they are retried at the next address.
//!   If a single address is unreachable, the error is returned at once.
//! - A write that may have been carried out (the connection broke, the response never arrived) is retried at the next
//!   address if doing it twice leaves the same state; see [`kind`]. If such a retry is then refused, as a check-and-set
//!   is that was already applied, the outcome is unknown, and the error says so. Other writes are not retried.
//! - Reads from a single address are retried a few times after transient failures.

use std::time::Duration;

use reqwest::Method;

use super::client::Query;
use super::error::ApiError;
use super::outcome::ErrorMeaning;

/// Attempts at a read from a single address, the first included.
const ATTEMPTS: u32 = 5;
/// How long after the first failure the last attempt begins.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(5);

/// The effect of sending a request twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: it changes nothing.
    Read,
    /// The same state as sending it once.
    Repeatable,
    /// Something happens twice.
    Once,
}

/// The effects of PUT and POST requests that are known; a `*` is one part of a path, a slash at the end is all that
/// follows it.
/// The others are done once: `dispatch`, `periodic/force`, signals, restarts, key rotations, restored snapshots, new
/// volumes.
const WRITES: &[(&str, Kind)] = &[
    ("/v1/jobs/parse", Kind::Read),
    ("/v1/jobs/statuses", Kind::Read),
    ("/v1/validate/job", Kind::Read),
    ("/v1/job/*/plan", Kind::Read),
    ("/v1/search", Kind::Read),
    ("/v1/search/fuzzy", Kind::Read),
    ("/v1/jobs", Kind::Repeatable),
    ("/v1/job/*", Kind::Repeatable),
    ("/v1/job/*/evaluate", Kind::Repeatable),
    ("/v1/job/*/revert", Kind::Repeatable),
    ("/v1/job/*/scale", Kind::Repeatable),
    ("/v1/job/*/stable", Kind::Repeatable),
    ("/v1/job/*/versions/*/tag", Kind::Repeatable),
    ("/v1/allocation/*/stop", Kind::Repeatable),
    ("/v1/deployment/", Kind::Repeatable),
    ("/v1/namespace", Kind::Repeatable),
    ("/v1/namespace/", Kind::Repeatable),
    ("/v1/node/pools", Kind::Repeatable),
    ("/v1/node/pool/", Kind::Repeatable),
    ("/v1/node/*/drain", Kind::Repeatable),
    ("/v1/node/*/eligibility", Kind::Repeatable),
    ("/v1/node/*/evaluate", Kind::Repeatable),
    ("/v1/agent/keyring/*", Kind::Repeatable),
    ("/v1/operator/autopilot/configuration", Kind::Repeatable),
    ("/v1/operator/scheduler/configuration", Kind::Repeatable),
    ("/v1/operator/raft/transfer-leadership", Kind::Repeatable),
    ("/v1/system/gc", Kind::Repeatable),
    ("/v1/system/reconcile/summaries", Kind::Repeatable),
    ("/v1/var/", Kind::Repeatable),
];

/// The effect of sending a request twice. Deletions leave nothing to delete. A dispatch that has a token makes one job.
/// Locks belong to who took them with that very request.
pub(crate) fn kind(method: &Method, path: &str, query: &Query) -> Kind {
    let has = |names: &[&str]| query.parameters.iter().any(|(name, _)| names.contains(&name.as_ref()));
    match *method {
        Method::GET | Method::HEAD if fits("/v1/client/allocation/*/exec", path) => Kind::Once,
        Method::GET | Method::HEAD => Kind::Read,
        Method::DELETE => Kind::Repeatable,
        Method::PUT | Method::POST if fits("/v1/job/*/dispatch", path) && has(&["idempotency_token"]) => {
            Kind::Repeatable
        }
        Method::PUT | Method::POST if has(&["lock-acquire", "lock-release"]) => Kind::Once,
        Method::PUT | Method::POST => WRITES.iter().find(|(p, _)| fits(p, path)).map_or(Kind::Once, |(_, kind)| *kind),
        _ => Kind::Once,
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, below) = pattern.strip_suffix('/').map_or((pattern, false), |p| (p, true));
    let (want, have): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    let long_enough = if below { have.len() > want.len() } else { have.len() == want.len() };
    long_enough && want.iter().zip(&have).all(|(w, h)| *w == "*" || w == h)
}

/// The conclusion from a failure about the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Not done: there is no leader.
    NoLeader,
    /// Not done: nobody was reached, or nobody had time.
    Unreached,
    /// Perhaps done.
    Unknown,
    /// Refused.
    Refused,
}

fn outcome(error: &ApiError) -> Outcome {
    match error {
        ApiError::Transport { connecting: true, .. } => Outcome::Unreached,
        ApiError::Transport { .. } => Outcome::Unknown,
        ApiError::Status { status: 500 | 503, body } if ErrorMeaning::of(body) == ErrorMeaning::NoLeader => {
            Outcome::NoLeader
        }
        ApiError::Status { status: 500, body } if ErrorMeaning::of(body) == ErrorMeaning::Unknown => Outcome::Unknown,
        ApiError::Status { status: 429, .. } => Outcome::Unreached,
        ApiError::Status { status: 502..=504, .. } => Outcome::Unknown,
        ApiError::Config(_)
        | ApiError::Request(_)
        | ApiError::Status { .. }
        | ApiError::Unknown(_)
        | ApiError::Answer { .. }
        | ApiError::NotWebSocket => Outcome::Refused,
    }
}

/// Whether servers say by this text that the same request may succeed a little later.
pub(crate) fn passes(error: &ApiError) -> bool {
    matches!(error, ApiError::Status { status: 500 | 503, body } if ErrorMeaning::of(body) != ErrorMeaning::Other)
}

/// When a request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Again {
    /// After this time.
    pub pause: Duration,
    /// Worth a word to the user: it may take long.
    pub shown: bool,
}

/// The state of a request that has failed so far.
#[derive(Debug, Clone)]
pub(crate) struct Retries {
    kind: Kind,
    addresses: u32,
    failures: u32,
    /// A failed attempt may have been carried out.
    doubt: bool,
}

impl Retries {
    /// For a request that can go to so many addresses.
    pub(crate) fn new(kind: Kind, addresses: usize) -> Retries {
        Retries { kind, addresses: u32::try_from(addresses).unwrap_or(u32::MAX).max(1), failures: 0, doubt: false }
    }

    /// The step after a failure, this long after the first one; `None` for the end. `asked`: the pause that the server
    /// requests; `heard`: a server has answered this client before.
    pub(crate) fn after(
        &mut self,
        error: &ApiError,
        asked: Option<Duration>,
        heard: bool,
        elapsed: Duration,
    ) -> Option<Again> {
        self.failures = self.failures.saturating_add(1);
        let (outcome, several) = (outcome(error), self.addresses > 1);
        // A refusal of a repetition takes no doubt away.
        self.doubt |= outcome == Outcome::Unknown && self.kind != Kind::Read;
        if several || outcome == Outcome::NoLeader {
            let allowed = match outcome {
                Outcome::NoLeader | Outcome::Unreached => true,
                Outcome::Unknown => self.kind != Kind::Once,
                Outcome::Refused => false,
            };
            // All addresses are tried before anybody waits.
            let (round, pauses) = (self.failures / self.addresses, self.failures.is_multiple_of(self.addresses));
            let pause = if pauses { pause(round, asked) } else { Duration::ZERO };
            return (allowed && elapsed.saturating_add(pause) <= LIMIT).then_some(Again { pause, shown: true });
        }
        let unheard = outcome == Outcome::Unreached && matches!(error, ApiError::Transport { .. }) && !heard;
        let again = self.kind == Kind::Read && error.is_temporary() && !unheard && self.failures < ATTEMPTS;
        again.then(|| Again { pause: pause(self.failures, asked), shown: false })
    }

    /// The final error. For a single address it is the error itself; it is up to the user to find the cause.
    pub(crate) fn verdict(&self, error: ApiError) -> ApiError {
        if self.doubt && self.addresses > 1 { ApiError::Unknown(Box::new(error)) } else { error }
    }
}

/// The pause after a round of attempts (1 is the first): twice as long each time, and as long as the server asks for.
fn pause(round: u32, asked: Option<Duration>) -> Duration {
    let own = FIRST.saturating_mul(1 << round.saturating_sub(1).min(16));
    own.max(asked.unwrap_or_default()).min(LONGEST)
}

/// The pause a `Retry-After` header asks for; dates are not understood.
pub(crate) fn asked(header: Option<&str>) -> Option<Duration> {
    header?.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::outcome::{NO_LEADER, NOT_READY};

    fn transport(connecting: bool) -> ApiError {
        let (url, kind) = ("http://a/v1/jobs".into(), crate::error::TransportFailure::Other);
        ApiError::Transport { method: "Put", url, problem: "broken".into(), connecting, kind }
    }

    fn status(status: u16, body: &str) -> ApiError {
        ApiError::Status { status, body: body.into() }
    }

    fn kind_of(method: Method, path: &str, parameter: &'static str) -> Kind {
        let query = Query::default();
        kind(&method, path, &if parameter.is_empty() { query } else { query.with(parameter, "1") })
    }

    /// The pauses in ms between attempts that all fail in the same way, at once.
    fn pauses(kind: Kind, addresses: usize, heard: bool, error: &ApiError) -> Vec<u128> {
        let mut retries = Retries::new(kind, addresses);
        let mut elapsed = Duration::ZERO;
        let mut out = Vec::new();
        while let Some(again) = retries.after(error, None, heard, elapsed) {
            elapsed += again.pause;
            out.push(again.pause.as_millis());
        }
        assert!(elapsed <= LIMIT);
        out
    }

    #[test]
    fn pauses_grow_and_end() {
        let ms: Vec<u128> = (1..=8).map(|n| pause(n, None).as_millis()).collect();
        assert_eq!(ms, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(pause(1, asked(Some(" 2 "))), Duration::from_secs(2));
        assert_eq!(pause(1, asked(Some("3600"))), LONGEST);
        assert_eq!(asked(Some("Wed, 21 Oct 2026 07:28:00 GMT")), None);
        assert_eq!(pause(u32::MAX, None), LONGEST);
    }

    #[test]
    fn methods_and_routes_say_what_may_be_repeated() {
        for (method, path, parameter, want) in [
            (Method::GET, "/v1/jobs", "", Kind::Read),
            (Method::GET, "/v1/client/allocation/a/exec", "", Kind::Once),
            (Method::PUT, "/v1/job/web/plan", "", Kind::Read),
            (Method::PUT, "/v1/jobs", "", Kind::Repeatable),
            (Method::POST, "/v1/job/web", "", Kind::Repeatable),
            (Method::PUT, "/v1/job/a%2Fb/versions/v/tag", "", Kind::Repeatable),
            (Method::DELETE, "/v1/job/web", "", Kind::Repeatable),
            (Method::PUT, "/v1/job/web/dispatch", "", Kind::Once),
            (Method::PUT, "/v1/job/web/dispatch", "idempotency_token", Kind::Repeatable),
            (Method::PUT, "/v1/job/web/periodic/force", "", Kind::Once),
            (Method::PUT, "/v1/deployment/promote/d", "", Kind::Repeatable),
            (Method::PUT, "/v1/var/a/b", "", Kind::Repeatable),
            (Method::PUT, "/v1/var/a/b", "cas", Kind::Repeatable),
            (Method::PUT, "/v1/var/a/b", "lock-acquire", Kind::Once),
            (Method::PUT, "/v1/var/a/b", "lock-renew", Kind::Repeatable),
            (Method::PUT, "/v1/client/allocation/a/restart", "", Kind::Once),
            (Method::PUT, "/v1/agent/keyring/install", "", Kind::Repeatable),
            (Method::PUT, "/v1/operator/keyring/rotate", "", Kind::Once),
            (Method::PUT, "/v1/operator/snapshot", "", Kind::Once),
            (Method::PATCH, "/v1/jobs", "", Kind::Once),
        ] {
            assert_eq!(kind_of(method.clone(), path, parameter), want, "{method} {path} {parameter}");
        }
        assert!(!fits("/v1/var/", "/v1/var") && !fits("/v1/jobs", "/v1/jobs/parse") && !fits("/v1/job/*", "/v1/jobs"));
    }

    #[test]
    fn any_request_waits_for_a_leader() {
        let error = status(500, "No cluster leader");
        for (kind, addresses) in [(Kind::Read, 1), (Kind::Repeatable, 1), (Kind::Once, 1)] {
            let ms = pauses(kind, addresses, false, &error);
            assert_eq!(ms, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000], "{kind:?}");
        }
        assert_eq!(pauses(Kind::Once, 2, false, &error)[..6], [0, 100, 0, 200, 0, 400]);
        for (code, text) in [(503, "No cluster leader"), (500, "rpc error: No cluster leader"), (500, NOT_READY)] {
            assert_eq!(outcome(&status(code, text)), Outcome::NoLeader, "{text}");
        }
        let mut late = Retries::new(Kind::Read, 1);
        assert_eq!(late.after(&error, None, true, LIMIT), None);
    }

    #[test]
    fn a_wrong_address_fails_at_once_and_several_take_turns() {
        let refused = transport(true);
        for kind in [Kind::Read, Kind::Repeatable, Kind::Once] {
            assert_eq!(pauses(kind, 1, false, &refused), [] as [u128; 0], "{kind:?}");
            assert_eq!(pauses(kind, 3, false, &refused)[..7], [0, 0, 100, 0, 0, 200, 0], "{kind:?}");
        }
        assert_eq!(pauses(Kind::Read, 1, true, &refused), [100, 200, 400, 800]);
        assert_eq!(pauses(Kind::Repeatable, 1, true, &refused), [] as [u128; 0]);
    }

    #[test]
    fn writes_that_may_be_done_are_repeated_if_that_is_harmless() {
        let gone = [transport(false), status(504, ""), status(500, "127.0.0.1:1: broken; it may still be applied")];
        for error in gone.iter().chain([&status(500, "consensus has stopped: no disk")]) {
            assert_eq!(pauses(Kind::Once, 2, true, error), [] as [u128; 0], "{error}");
            assert_eq!(pauses(Kind::Repeatable, 2, true, error)[..3], [0, 100, 0], "{error}");
            assert_eq!(pauses(Kind::Repeatable, 1, true, error), [] as [u128; 0], "{error}");
        }
        for error in [status(404, "job not found"), status(500, "job is invalid"), status(409, "{}")] {
            assert_eq!(pauses(Kind::Read, 3, true, &error), [] as [u128; 0], "{error}");
        }
    }

    #[test]
    fn what_nobody_knows_is_called_unknown() {
        let verdict = |kind, addresses, errors: &[ApiError]| {
            let mut retries = Retries::new(kind, addresses);
            for e in errors {
                let _ = retries.after(e, None, true, Duration::ZERO);
            }
            matches!(retries.verdict(status(409, "{}")), ApiError::Unknown(_))
        };
        let conflict = || status(409, "{}");
        assert!(verdict(Kind::Repeatable, 2, &[transport(false), conflict()]), "it may have been this very client");
        assert!(verdict(Kind::Once, 2, &[transport(false)]));
        assert!(!verdict(Kind::Repeatable, 2, &[transport(true), conflict()]), "nothing was done before");
        assert!(!verdict(Kind::Repeatable, 2, &[status(500, NO_LEADER), conflict()]), "nothing was done before");
        assert!(!verdict(Kind::Read, 2, &[transport(false), conflict()]), "reads do nothing");
        assert!(!verdict(Kind::Once, 1, &[transport(false)]), "the error itself says it");
        let error = ApiError::Unknown(Box::new(conflict()));
        assert!(error.to_string().starts_with("outcome unknown") && error.status().is_none() && !error.is_temporary());
    }
}
