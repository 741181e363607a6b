//! The servers that know each other, and what follows for the members of consensus (`docs/spec/server.md §2.1`, `§23`).
//! Pure: who is there comes in, one change at a time comes out.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use encamp_model::AutopilotConfiguration;
use encamp_raft::{Member, Peer, ServerId};

/// How a server is, as far as the others know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Answers.
    Alive,
    /// Does not answer any more.
    Failed,
    /// Said that it leaves, or was told to.
    Left,
}

impl Status {
    /// The word clients see.
    pub fn word(self) -> &'static str {
        match self {
            Status::Alive => "alive",
            Status::Failed => "failed",
            Status::Left => "left",
        }
    }
}

/// A server that was heard of.
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
    /// Where it answers calls.
    pub rpc: String,
    /// Where it answers other members.
    pub serf: SocketAddr,
    /// How many servers it expects; 0 if it never makes a cluster, 1 if it made its own.
    pub expect: u32,
    /// How it is.
    pub status: Status,
}

impl KnownServer {
    /// As consensus knows it.
    pub fn peer(&self) -> Peer {
        Peer { name: self.name.clone(), address: self.rpc.clone() }
    }
}

/// What a server without a log does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bootstrap {
    /// Waits for more servers, or for another one to begin.
    Wait,
    /// Makes a cluster of these.
    Begin(BTreeMap<ServerId, Peer>),
    /// Never: a server expects something else.
    Conflict(String),
}

/// Whether it is time for a first cluster, and whether this server makes it: the one with the lowest ID does.
pub fn bootstrap(own: ServerId, region: &str, expect: u32, known: &[KnownServer]) -> Bootstrap {
    if expect < 2 {
        return Bootstrap::Wait;
    }
    let alive: Vec<&KnownServer> = known.iter().filter(|s| s.region == region && s.status == Status::Alive).collect();
    if let Some(other) = alive.iter().find(|s| s.expect != expect && s.expect != 0) {
        return Bootstrap::Conflict(format!("{} expects {} servers, this one {expect}", other.name, other.expect));
    }
    let founders: BTreeMap<ServerId, Peer> =
        alive.iter().filter(|s| s.expect == expect).map(|s| (s.id, s.peer())).collect();
    let enough = founders.len() >= usize::try_from(expect).unwrap_or(usize::MAX);
    if enough && founders.keys().next() == Some(&own) { Bootstrap::Begin(founders) } else { Bootstrap::Wait }
}

/// A change of the members of consensus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new member without a vote.
    Add(ServerId, Peer),
    /// A member gets a vote.
    Promote(ServerId),
    /// A member has another name or address.
    Rename(ServerId, Peer),
    /// A member goes.
    Remove(ServerId),
}

/// The health of a member of consensus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberHealth {
    /// The member.
    pub member: Member,
    /// How it is, as far as the others know.
    pub status: Status,
    /// Entries of the log that it lacks; none if that is not known.
    pub behind: Option<u64>,
    /// It is alive and holds the newest entries.
    pub healthy: bool,
}

/// The health of the members of consensus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// There is a leader, and all members are healthy.
    pub healthy: bool,
    /// How many voters may fail while the others go on.
    pub failure_tolerance: usize,
    /// Each member.
    pub members: Vec<MemberHealth>,
}

/// The health of members: `known` are the servers in the gossip, none without gossip; `behind` is how many entries a
/// member lacks, and more than `trailing` make it unhealthy.
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
        let healthy = status == Status::Alive && behind.is_some_and(|entries| entries <= trailing);
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

/// What a leader knows when it looks after the members.
pub struct View<'a> {
    /// The leader.
    pub own: ServerId,
    /// Its region.
    pub region: &'a str,
    /// `bootstrap_expect`.
    pub expect: u32,
    /// The servers that were heard of.
    pub known: &'a [KnownServer],
    /// The members of consensus.
    pub members: &'a [Member],
    /// The operator's settings.
    pub autopilot: &'a AutopilotConfiguration,
    /// Whether a member has been alive and up to date for long enough.
    pub stable: &'a dyn Fn(ServerId) -> bool,
}

impl View<'_> {
    fn known(&self, id: ServerId) -> Option<&KnownServer> {
        self.known.iter().find(|k| k.id == id && k.region == self.region)
    }

    fn is(&self, id: ServerId, status: Status) -> bool {
        self.known(id).is_some_and(|k| k.status == status)
    }

    /// Whether the voters that are alive are still a majority without one of them.
    fn may_go(&self, member: &Member) -> bool {
        if member.id == self.own {
            return false;
        }
        if !member.voter {
            return true;
        }
        let voters: Vec<&Member> = self.members.iter().filter(|m| m.voter && m.id != member.id).collect();
        // A voter that was never heard of may be on its way back: it counts as alive only for itself.
        let alive = voters.iter().filter(|m| m.id == self.own || self.is(m.id, Status::Alive)).count();
        alive > voters.len() / 2
    }

    /// Dead voters are kept until others have taken their place.
    fn replaced(&self, member: &Member) -> bool {
        if !member.voter {
            return true;
        }
        let voters: Vec<&Member> = self.members.iter().filter(|m| m.voter).collect();
        let alive = voters.iter().filter(|m| m.id == self.own || self.is(m.id, Status::Alive)).count();
        let dead = voters.len() - alive;
        let least = u64::from(self.expect.max(3)).max(self.autopilot.min_quorum);
        alive as u64 >= least && dead <= (voters.len() - 1) / 2
    }

    /// The most urgent change.
    pub fn next(&self) -> Option<Change> {
        let alive = || self.known.iter().filter(|k| k.region == self.region && k.status == Status::Alive);
        // Members that can't be reached under their old address come first: they may be needed for all that follows.
        for k in alive().filter(|k| k.id != self.own) {
            let moved = self.members.iter().find(|m| m.id == k.id && m.peer != k.peer());
            if moved.is_some() {
                return Some(Change::Rename(k.id, k.peer()));
            }
        }
        for member in self.members.iter().filter(|m| self.may_go(m)) {
            let taken = alive().any(|k| k.id != member.id && k.rpc == member.peer.address);
            let ghost = taken && !self.is(member.id, Status::Alive);
            if ghost || self.is(member.id, Status::Left) {
                return Some(Change::Remove(member.id));
            }
        }
        if let Some(new) = alive().find(|k| !self.members.iter().any(|m| m.id == k.id)) {
            return Some(Change::Add(new.id, new.peer()));
        }
        let waiting = self.members.iter().filter(|m| !m.voter && self.is(m.id, Status::Alive));
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
            stable: &|_| stable,
        };
        view.next()
    }

    use Status::{Alive, Failed, Left};

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
        assert_eq!(of(&members, Some(&known), None), (false, 0), "nothing is known of the followers");
        known[2].status = Failed;
        assert_eq!(of(&members, Some(&known), Some(0)), (false, 0));
        assert_eq!(of(&members[..1], Some(&known), None), (true, 0), "a server alone");
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
    fn who_leaves_is_removed_unless_the_majority_goes_with_it() {
        let members: Vec<_> = (1..4).map(|n| member(n, true)).collect();
        let status = |a, b| vec![known(1, Alive), known(2, a), known(3, b)];
        assert_eq!(next(&status(Left, Alive), &members, true), Some(Change::Remove(id(2))));
        assert_eq!(next(&status(Left, Failed), &members, true), None, "one of the two that stay is dead");
        let own = vec![known(1, Left), known(2, Alive), known(3, Alive)];
        assert_eq!(next(&own, &members, true), None, "a leader does not remove itself here");
    }

    #[test]
    fn dead_servers_stay_until_they_are_replaced() {
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
        // Another server came with the address of one that is gone.
        let mut ghost = vec![known(1, Alive), known(2, Failed), known(3, Alive), known(9, Alive)];
        ghost[3].rpc = ghost[1].rpc.clone();
        assert_eq!(next(&ghost, &members, true), Some(Change::Remove(id(2))));
    }
}
