//! The status of consensus: the leader, the progress of the log, the members of the cluster.

use std::time::Duration;

use openraft::{Raft, RaftMetrics, ServerState};
use tokio::time::{MissedTickBehavior, interval};

use super::log::Log;
use super::types::{Peer, ServerId, Types};
use encamp_host::simulation::here;
use encamp_host::watch_value;

/// How often the leader's lease and the node's health are checked.
const LOOK: Duration = Duration::from_millis(100);

/// The message for a node that stopped without a reason.
const ENDED: &str = "consensus stopped unexpectedly; see the agent's log";

/// The current leadership.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leadership {
    /// Whether this server leads. Earlier entries may still have to be applied: see
    /// [`Consensus::barrier`](super::Consensus::barrier).
    pub is_leader: bool,
    /// The leader, if it is known.
    pub leader: Option<(ServerId, Peer)>,
    /// The term; it rises with every election.
    pub term: u64,
    /// Why the node stopped; `None` while it runs.
    pub failed: Option<String>,
}

/// Role of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Follows a leader, or has no vote.
    Follower,
    /// Wants to lead.
    Candidate,
    /// Leads.
    Leader,
    /// Has stopped.
    Shutdown,
}

impl Role {
    /// As `agent-info` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Follower => "Follower",
            Role::Candidate => "Candidate",
            Role::Leader => "Leader",
            Role::Shutdown => "Shutdown",
        }
    }
}

/// How far the log is. Indexes are those of operations, as everywhere outside of consensus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// The role of the server.
    pub role: Role,
    /// The term.
    pub term: u64,
    /// Last index in the log.
    pub last_log_index: u64,
    /// Term of the last entry in the log.
    pub last_log_term: u64,
    /// The number of the last entry in the log: an entry holds one operation or several.
    pub last_entry: u64,
    /// Last committed index.
    pub commit_index: u64,
    /// Last applied index.
    pub applied_index: u64,
    /// Committed, but not applied yet.
    pub fsm_pending: u64,
    /// Last index in the newest snapshot; 0 if there is none.
    pub last_snapshot_index: u64,
    /// Term of that entry.
    pub last_snapshot_term: u64,
    /// The last entry that was cut off behind a snapshot, counted in entries of the log; 0 if none was.
    pub purged: u64,
    /// Index of the newest applied configuration.
    pub latest_configuration_index: u64,
    /// Voters besides this server.
    pub num_peers: u64,
    /// Time since the leader was last heard of; zero on the leader, `None` if there never was one.
    pub last_contact: Option<Duration>,
    /// Time since a quorum last answered this server, if it leads.
    pub quorum_contact: Option<Duration>,
}

/// Members of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Index at which it was applied.
    pub index: u64,
    /// Whether the voters change: a majority of those before and a majority of those after the change are needed.
    pub changing: bool,
    /// By ID.
    pub servers: Vec<Member>,
}

/// One member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its ID.
    pub id: ServerId,
    /// Name and address.
    pub peer: Peer,
    /// Whether it leads.
    pub leader: bool,
    /// Whether it has a vote.
    pub voter: bool,
}

/// Why the node does not run.
pub(super) fn why_stopped(raft: &Raft<Types>, log: &Log) -> String {
    if let Some(why) = log.failure() {
        return why;
    }
    match &raft.metrics().borrow().running_state {
        Err(fatal) => fatal.to_string(),
        Ok(()) => "it is shutting down".into(),
    }
}

pub(super) fn role(state: ServerState) -> Role {
    match state {
        ServerState::Leader => Role::Leader,
        ServerState::Candidate => Role::Candidate,
        ServerState::Shutdown => Role::Shutdown,
        ServerState::Follower | ServerState::Learner => Role::Follower,
    }
}

/// Whether a quorum has answered the leader within `lease`; who is the only voter needs no answer.
pub(super) fn answered(metrics: &RaftMetrics<ServerId, Peer>, lease: Duration) -> bool {
    let alone = metrics.membership_config.voter_ids().count() == 1;
    alone || metrics.millis_since_quorum_ack.is_some_and(|ms| Duration::from_millis(ms) < lease)
}

/// The leadership according to the metrics. A leader that no quorum has answered for `lease` counts as leader no more:
/// others elect a new one after that time at the earliest, unless its process seems to have ended.
fn judge(metrics: &RaftMetrics<ServerId, Peer>, lease: Duration) -> Leadership {
    let membership = &metrics.membership_config;
    let runs = metrics.running_state.is_ok();
    let is_leader = runs && metrics.state.is_leader() && answered(metrics, lease);
    let leader = metrics.current_leader.filter(|l| runs && (*l != metrics.id || is_leader));
    let peer = |id| membership.nodes().find(|(n, _)| **n == id).map(|(_, p)| p.clone());
    Leadership {
        is_leader,
        leader: leader.and_then(|id| Some((id, peer(id)?))),
        term: metrics.current_term,
        failed: metrics.running_state.as_ref().err().map(ToString::to_string),
    }
}

/// Keeps a watch on who leads, until the node stops.
pub(super) fn watch_leadership(raft: &Raft<Types>, lease: Duration) -> watch_value::Receiver<Leadership> {
    let (metrics, mut changes) = (raft.metrics(), raft.server_metrics());
    let tell = watch_value::Sender::new(judge(&metrics.borrow(), lease));
    let listen = tell.subscribe();
    tokio::spawn(here(async move {
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut gone = false;
        while !gone {
            gone = tokio::select! {
                biased;
                changed = changes.changed() => changed.is_err(),
                _ = look.tick() => false,
            };
            // Server metrics change a little earlier than the others.
            tokio::task::yield_now().await;
            let mut now = judge(&metrics.borrow(), lease);
            if gone && now.failed.is_none() {
                // It panicked: its last report was that all is well.
                now = Leadership { failed: Some(ENDED.into()), is_leader: false, leader: None, ..now };
            }
            let stopped = now.failed.is_some();
            tell.send_if_modified(|last| {
                let differs = *last != now;
                *last = now;
                differs
            });
            if stopped {
                return;
            }
        }
    }));
    listen
}
