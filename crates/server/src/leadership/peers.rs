//! The known servers, and the resulting changes of the Raft peers (`docs/spec/server.md §2.1`, `§23`). No I/O: the
//! known servers are the input, one change at a time is the output.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use encamp_model::AutopilotConfiguration;
use encamp_model::capability::CapabilityLevel;
use encamp_raft::{Member, Peer, ServerId};

/// The status of a server in the gossip pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The server responds.
    Alive,
    /// The server responds, and was forced to leave: if it stops responding, it has left.
    Leaving,
    /// The server does not respond any more.
    Failed,
    /// The server announced that it leaves, or was forced to leave.
    Left,
}

impl Status {
    /// Whether the server responds.
    pub fn responds(self) -> bool {
        match self {
            Status::Alive | Status::Leaving => true,
            Status::Failed | Status::Left => false,
        }
    }

    /// The value in API responses.
    pub fn word(self) -> &'static str {
        match self {
            Status::Alive => "alive",
            Status::Leaving => "leaving",
            Status::Failed => "failed",
            Status::Left => "left",
        }
    }
}

/// A server known from gossip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownServer {
    /// Its ID.
    pub id: ServerId,
    /// Its name, `<node>.<region>`.
    pub name: String,
    /// Its region.
    pub region: String,
    /// Its datacenter.
    pub datacenter: String,
    /// The address of its RPC endpoint.
    pub rpc: String,
    /// The address of its gossip endpoint.
    pub serf: SocketAddr,
    /// `bootstrap_expect` of the server; 0 if it never bootstraps a cluster, 1 if it bootstrapped its own.
    pub expect: u32,
    /// Its status.
    pub status: Status,
    /// Its capability level; none: it did not tell it yet.
    pub level: Option<CapabilityLevel>,
}

impl KnownServer {
    /// The server as a Raft peer.
    pub fn peer(&self) -> Peer {
        Peer { name: self.name.clone(), address: self.rpc.clone() }
    }
}

/// The decision of a server without a log about bootstrapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bootstrap {
    /// Waits for more servers, or for another server to bootstrap the cluster.
    Wait,
    /// Bootstraps a cluster of these servers.
    Begin(BTreeMap<ServerId, Peer>),
    /// Does not bootstrap: a server has a different `bootstrap_expect`.
    Conflict(String),
}

/// Whether the cluster can be bootstrapped, and whether this server does it: the server with the lowest ID does.
pub fn bootstrap(own: ServerId, region: &str, expect: u32, known: &[KnownServer]) -> Bootstrap {
    if expect < 2 {
        return Bootstrap::Wait;
    }
    let alive: Vec<&KnownServer> = known.iter().filter(|s| s.region == region && s.status.responds()).collect();
    if let Some(other) = alive.iter().find(|s| s.expect != expect && s.expect != 0) {
        return Bootstrap::Conflict(format!("{} expects {} servers, this one {expect}", other.name, other.expect));
    }
    let founders: BTreeMap<ServerId, Peer> =
        alive.iter().filter(|s| s.expect == expect).map(|s| (s.id, s.peer())).collect();
    let enough = founders.len() >= usize::try_from(expect).unwrap_or(usize::MAX);
    if enough && founders.keys().next() == Some(&own) { Bootstrap::Begin(founders) } else { Bootstrap::Wait }
}

/// A change of the Raft peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a non-voter.
    Add(ServerId, Peer),
    /// Promotes a non-voter to voter.
    Promote(ServerId),
    /// Changes the name or address of a peer.
    Rename(ServerId, Peer),
    /// Removes a peer.
    Remove(ServerId),
}

/// The health of a Raft peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberHealth {
    /// The peer.
    pub member: Member,
    /// Its status in the gossip pool.
    pub status: Status,
    /// The number of log entries that it lacks; `None` if unknown.
    pub behind: Option<u64>,
    /// Whether it is alive and has the newest entries.
    pub healthy: bool,
}

/// The health of the Raft peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Whether there is a leader and all peers are healthy.
    pub healthy: bool,
    /// How many voters may fail without the loss of the majority.
    pub failure_tolerance: usize,
    /// The health of each peer.
    pub members: Vec<MemberHealth>,
}

/// The health of the Raft peers. `known` are the servers in the gossip pool, `None` without gossip; `behind` returns
/// how many entries a peer lacks, and more than `trailing` make it unhealthy.
pub fn health(
    members: &[Member],
    known: Option<&[KnownServer]>,
    behind: impl Fn(ServerId) -> Option<u64>,
    trailing: u64,
) -> Health {
    let status = |id| match known {
        None => Status::Alive,
        Some(known) => known.iter().find(|k| k.id == id).map_or(Status::Failed, |k| k.status),
    };
    let one = |m: &Member| {
        let (status, behind) = (status(m.id), if m.leader { Some(0) } else { behind(m.id) });
        let healthy = status.responds() && behind.is_some_and(|entries| entries <= trailing);
        MemberHealth { member: m.clone(), status, behind, healthy }
    };
    let all: Vec<MemberHealth> = members.iter().map(one).collect();
    let voters = all.iter().filter(|m| m.member.voter).count();
    let well = all.iter().filter(|m| m.member.voter && m.healthy).count();
    Health {
        healthy: members.iter().any(|m| m.leader) && all.iter().all(|m| m.healthy),
        failure_tolerance: well.saturating_sub(voters / 2 + 1),
        members: all,
    }
}

/// The input of the leader's membership decisions.
pub struct View<'a> {
    /// The ID of the leader.
    pub own: ServerId,
    /// Its region.
    pub region: &'a str,
    /// `bootstrap_expect`.
    pub expect: u32,
    /// The servers known from gossip.
    pub known: &'a [KnownServer],
    /// The Raft peers.
    pub members: &'a [Member],
    /// The Autopilot configuration.
    pub autopilot: &'a AutopilotConfiguration,
    /// The capability level of the cluster.
    pub level: CapabilityLevel,
    /// Whether a peer has been alive and up to date for long enough.
    pub stable: &'a dyn Fn(ServerId) -> bool,
}

impl View<'_> {
    fn known(&self, id: ServerId) -> Option<&KnownServer> {
        self.known.iter().find(|k| k.id == id && k.region == self.region)
    }

    fn is(&self, id: ServerId, status: Status) -> bool {
        self.known(id).is_some_and(|k| k.status == status)
    }

    fn responds(&self, id: ServerId) -> bool {
        self.known(id).is_some_and(|k| k.status.responds())
    }

    /// Whether a server supports the level of the cluster. Every build supports the first level.
    fn supports(&self, server: &KnownServer) -> bool {
        self.level == CapabilityLevel::FIRST || server.level.is_some_and(|level| level >= self.level)
    }

    /// Servers that are not added because their builds are too old.
    pub fn too_old(&self) -> impl Iterator<Item = &KnownServer> {
        let new = self.known.iter().filter(|k| k.region == self.region && k.status.responds());
        new.filter(|k| k.level.is_some() && !self.supports(k) && !self.members.iter().any(|m| m.id == k.id))
    }

    /// Whether the remaining live voters are a majority without this peer.
    fn may_go(&self, member: &Member) -> bool {
        if member.id == self.own {
            return false;
        }
        if !member.voter {
            return true;
        }
        let voters: Vec<&Member> = self.members.iter().filter(|m| m.voter && m.id != member.id).collect();
        // A voter never seen in gossip may be starting: it counts as alive only when its own removal is decided.
        let alive = voters.iter().filter(|m| m.id == self.own || self.responds(m.id)).count();
        alive > voters.len() / 2
    }

    /// Whether a failed voter has been replaced; until then it is retained.
    fn replaced(&self, member: &Member) -> bool {
        if !member.voter {
            return true;
        }
        let voters: Vec<&Member> = self.members.iter().filter(|m| m.voter).collect();
        let alive = voters.iter().filter(|m| m.id == self.own || self.responds(m.id)).count();
        let dead = voters.len() - alive;
        let least = u64::from(self.expect.max(3)).max(self.autopilot.min_quorum);
        alive as u64 >= least && dead <= (voters.len() - 1) / 2
    }

    /// The most urgent change.
    pub fn next(&self) -> Option<Change> {
        let alive = || self.known.iter().filter(|k| k.region == self.region && k.status.responds());
        // Peers that are unreachable at their old address come first: their votes may be needed for all other changes.
        for k in alive().filter(|k| k.id != self.own) {
            let moved = self.members.iter().find(|m| m.id == k.id && m.peer != k.peer());
            if moved.is_some() {
                return Some(Change::Rename(k.id, k.peer()));
            }
        }
        for member in self.members.iter().filter(|m| self.may_go(m)) {
            let taken = alive().any(|k| k.id != member.id && k.rpc == member.peer.address);
            let ghost = taken && !self.responds(member.id);
            if ghost || self.is(member.id, Status::Left) {
                return Some(Change::Remove(member.id));
            }
        }
        if let Some(new) = alive().find(|k| self.supports(k) && !self.members.iter().any(|m| m.id == k.id)) {
            return Some(Change::Add(new.id, new.peer()));
        }
        let waiting = self.members.iter().filter(|m| !m.voter && self.responds(m.id));
        if let Some(ready) = waiting.map(|m| m.id).find(|id| (self.stable)(*id)) {
            return Some(Change::Promote(ready));
        }
        let dead = self.members.iter().filter(|m| self.is(m.id, Status::Failed));
        let mut dead = dead.filter(|m| self.autopilot.cleanup_dead_servers && self.may_go(m) && self.replaced(m));
        dead.next().map(|m| Change::Remove(m.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u64) -> ServerId {
        format!("00000000-0000-0000-0000-{n:012x}").parse().expect("a UUID")
    }

    fn known(n: u64, status: Status) -> KnownServer {
        KnownServer {
            id: id(n),
            name: format!("s{n}.global"),
            region: "global".into(),
            datacenter: "dc1".into(),
            rpc: format!("10.0.0.{n}:4647"),
            serf: ([10, 0, 0, n as u8], 4648).into(),
            expect: 3,
            status,
            level: Some(CapabilityLevel::FIRST),
        }
    }

    fn member(n: u64, voter: bool) -> Member {
        Member { id: id(n), peer: known(n, Status::Alive).peer(), leader: n == 1, voter }
    }

    fn next(known: &[KnownServer], members: &[Member], stable: bool) -> Option<Change> {
        let view = View {
            own: id(1),
            region: "global",
            expect: 3,
            known,
            members,
            autopilot: &AutopilotConfiguration::default(),
            level: CapabilityLevel::FIRST,
            stable: &|_| stable,
        };
        view.next()
    }

    use Status::{Alive, Failed, Left};

    #[test]
    fn servers_of_older_builds_are_not_added_to_a_raised_cluster() {
        let mut servers: Vec<_> = (1..5).map(|n| known(n, Alive)).collect();
        let members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let decided = |servers: &[KnownServer], level: CapabilityLevel| {
            let autopilot = AutopilotConfiguration::default();
            let (own, region, expect, known, members) = (id(1), "global", 3, servers, members.as_slice());
            let view = View { own, region, expect, known, members, autopilot: &autopilot, level, stable: &|_| true };
            (view.next().is_some(), view.too_old().map(|k| k.name.clone()).collect::<Vec<_>>())
        };
        let old = vec!["s4.global".to_string()];
        assert_eq!(decided(&servers, CapabilityLevel::FIRST), (true, vec![]));
        assert_eq!(decided(&servers, CapabilityLevel::BUILD), (false, old));
        servers[3].level = None;
        assert_eq!(decided(&servers, CapabilityLevel::BUILD), (false, vec![]), "asked first");
        servers[3].level = Some(CapabilityLevel::BUILD);
        assert_eq!(decided(&servers, CapabilityLevel::BUILD), (true, vec![]));
    }

    #[test]
    fn the_lowest_of_enough_servers_begins() {
        let three: Vec<_> = (1..4).map(|n| known(n, Alive)).collect();
        let begins = bootstrap(id(1), "global", 3, &three);
        assert_eq!(begins, Bootstrap::Begin(three.iter().map(|k| (k.id, k.peer())).collect()));
        assert_eq!(bootstrap(id(2), "global", 3, &three), Bootstrap::Wait);
        assert_eq!(bootstrap(id(1), "global", 3, &three[..2]), Bootstrap::Wait);
        assert_eq!(bootstrap(id(1), "global", 0, &three), Bootstrap::Wait);
        let mut one_down = three.clone();
        one_down[2].status = Failed;
        assert_eq!(bootstrap(id(1), "global", 3, &one_down), Bootstrap::Wait);
        let mut elsewhere = three.clone();
        elsewhere[2].region = "other".into();
        assert_eq!(bootstrap(id(1), "global", 3, &elsewhere), Bootstrap::Wait);
        let mut other = three;
        other[2].expect = 5;
        assert!(matches!(bootstrap(id(1), "global", 3, &other), Bootstrap::Conflict(_)));
    }

    #[test]
    fn a_cluster_is_healthy_while_all_members_are_alive_and_up_to_date() {
        let mut known: Vec<_> = (1..4).map(|n| known(n, Alive)).collect();
        let mut members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let of = |members: &[Member], known: Option<&[KnownServer]>, lag: Option<u64>| {
            let health = health(members, known, |_| lag, 250);
            (health.healthy, health.failure_tolerance)
        };
        assert_eq!(of(&members, Some(&known), Some(250)), (true, 1));
        assert_eq!(of(&members, None, Some(0)), (true, 1), "without gossip");
        assert_eq!(of(&members, Some(&known), Some(251)), (false, 0));
        assert_eq!(of(&members, Some(&known), None), (false, 0), "the state of the followers is unknown");
        known[2].status = Failed;
        assert_eq!(of(&members, Some(&known), Some(0)), (false, 0));
        assert_eq!(of(&members[..1], Some(&known), None), (true, 0), "a single server");
        members[0].leader = false;
        assert!(!of(&members, None, Some(0)).0, "no leader");
    }

    #[test]
    fn new_servers_get_a_vote_when_they_are_stable() {
        let known: Vec<_> = (1..5).map(|n| known(n, Alive)).collect();
        let mut members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        assert_eq!(next(&known, &members, false), Some(Change::Add(id(4), known[3].peer())));
        members.push(member(4, false));
        assert_eq!(next(&known, &members, false), None);
        assert_eq!(next(&known, &members, true), Some(Change::Promote(id(4))));
    }

    #[test]
    fn leaving_servers_are_removed_unless_the_majority_would_be_lost() {
        let members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let status = |a, b| vec![known(1, Alive), known(2, a), known(3, b)];
        assert_eq!(next(&status(Left, Alive), &members, true), Some(Change::Remove(id(2))));
        assert_eq!(next(&status(Left, Failed), &members, true), None, "one of the two remaining servers has failed");
        let own = vec![known(1, Left), known(2, Alive), known(3, Alive)];
        assert_eq!(next(&own, &members, true), None, "a leader does not remove itself here");
    }

    #[test]
    fn failed_servers_stay_until_they_are_replaced() {
        let mut members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let mut list = vec![known(1, Alive), known(2, Alive), known(3, Failed)];
        assert_eq!(next(&list, &members, true), None);
        list.push(known(4, Alive));
        members.push(member(4, true));
        assert_eq!(next(&list, &members, true), Some(Change::Remove(id(3))));
    }

    #[test]
    fn moved_and_replaced_servers() {
        let members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let mut moved: Vec<_> = (1..4).map(|n| known(n, Alive)).collect();
        moved[1].rpc = "10.0.0.2:1".into();
        assert_eq!(next(&moved, &members, true), Some(Change::Rename(id(2), moved[1].peer())));
        // A new server uses the address of a failed one.
        let mut ghost = vec![known(1, Alive), known(2, Failed), known(3, Alive), known(9, Alive)];
        ghost[3].rpc = ghost[1].rpc.clone();
        assert_eq!(next(&ghost, &members, true), Some(Change::Remove(id(2))));
    }
}
