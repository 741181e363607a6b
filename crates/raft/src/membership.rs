//! Membership changes and leadership transfer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use openraft::error::{ChangeMembershipError, ClientWriteError, Fatal, InitializeError, RaftError};
use openraft::{ChangeMembers, LogId, RaftMetrics};

use super::consensus::Consensus;
use super::types::{Peer, ServerId};
use encamp_host::threads::Instant;

/// Longest wait until a change is committed.
const AGREED: Duration = Duration::from_secs(10);
/// The longest time that a leader pauses for a leadership transfer.
const PAUSE: Duration = Duration::from_secs(6);
/// Time between two checks of the transfer target.
const STEP: Duration = Duration::from_millis(50);

/// Why the members of a cluster were not changed, or no election was started.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    /// The last voter of a cluster cannot be removed.
    #[error("the last server of a cluster can not be removed")]
    LastServer,
    /// The change was not committed in time; it may still be.
    #[error("the change was not committed in time")]
    Timeout,
    /// No cluster was made: there is a log already, or the node has stopped.
    #[error(transparent)]
    Initialize(#[from] RaftError<ServerId, InitializeError<ServerId, Peer>>),
    /// The change was refused: this server does not lead, or the node has stopped.
    #[error(transparent)]
    Change(#[from] RaftError<ServerId, ClientWriteError<ServerId, Peer>>),
    /// The node has stopped.
    #[error(transparent)]
    Stopped(#[from] Fatal<ServerId>),
}

/// The change of voters that a leader has in its log only by half, and whether it began in its own term.
fn half_done(metrics: &RaftMetrics<ServerId, Peer>) -> Option<(LogId<ServerId>, bool)> {
    let members = &metrics.membership_config;
    let change = (*members.log_id())?;
    let leads = metrics.state.is_leader() && members.membership().get_joint_config().len() > 1;
    leads.then_some((change, change.leader_id.term == metrics.current_term))
}

impl Consensus {
    /// Whether there is a log. A server with one takes part in the cluster it belongs to, and never makes another one.
    pub async fn has_log(&self) -> bool {
        self.raft().is_initialized().await.unwrap_or(true)
    }

    /// Makes a new cluster of these members.
    ///
    /// # Errors
    /// There is a log already, or the node has stopped.
    pub async fn make_cluster(&self, members: BTreeMap<ServerId, Peer>) -> Result<(), MembershipError> {
        Ok(self.raft().initialize(members).await?)
    }

    /// Lets a server follow, without a vote.
    ///
    /// # Errors
    /// This server does not lead, or another change goes on.
    pub async fn add_member(&self, id: ServerId, peer: Peer) -> Result<(), MembershipError> {
        self.agreed(async { Ok(self.raft().add_learner(id, peer, false).await.map(drop)?) }).await
    }

    /// Gives a member a vote.
    ///
    /// # Errors
    /// See [`Consensus::add_member`].
    pub async fn give_vote(&self, id: ServerId) -> Result<(), MembershipError> {
        self.change(ChangeMembers::AddVoterIds(BTreeSet::from([id])), true).await
    }

    /// Changes name and address of a member.
    ///
    /// # Errors
    /// See [`Consensus::add_member`].
    pub async fn rename_member(&self, id: ServerId, peer: Peer) -> Result<(), MembershipError> {
        self.change(ChangeMembers::SetNodes(BTreeMap::from([(id, peer)])), true).await
    }

    /// Removes a member, which may be this very server.
    ///
    /// # Errors
    /// See [`Consensus::add_member`]; the last voter can't go.
    pub async fn remove_member(&self, id: ServerId) -> Result<(), MembershipError> {
        let members = self.configuration().servers;
        let voters = members.iter().filter(|m| m.voter).count();
        match members.iter().find(|m| m.id == id) {
            None => Ok(()),
            Some(m) if m.voter && voters == 1 => Err(MembershipError::LastServer),
            Some(m) if m.voter => self.change(ChangeMembers::RemoveVoters(BTreeSet::from([id])), false).await,
            Some(_) => self.change(ChangeMembers::RemoveNodes(BTreeSet::from([id])), false).await,
        }
    }

    async fn change(&self, change: ChangeMembers<ServerId, Peer>, retain: bool) -> Result<(), MembershipError> {
        self.agreed(async {
            loop {
                match self.raft().change_membership(change.clone(), retain).await {
                    // The change before this one is still being agreed upon.
                    Err(RaftError::APIError(ClientWriteError::ChangeMembershipError(
                        ChangeMembershipError::InProgress(_),
                    ))) => tokio::time::sleep(STEP).await,
                    done => return Ok(done.map(drop)?),
                }
            }
        })
        .await
    }

    /// Completes changes of voters that stay half done, because the leader that began them was lost or gave up: until then,
    /// a majority of the voters before the change is needed as well, so that the loss of one of them may stop the cluster.
    pub(super) async fn complete_changes(self) {
        let mut metrics = self.raft().metrics();
        loop {
            let waited = metrics.wait_for(|m| m.running_state.is_err() || half_done(m).is_some()).await;
            let Some((change, own)) = waited.ok().and_then(|m| half_done(&m)) else { return };
            if own {
                // Who began it is still at it.
                tokio::time::sleep(AGREED).await;
                if half_done(&self.raft().metrics().borrow()).is_none_or(|(now, _)| now != change) {
                    continue;
                }
            }
            let nobody = ChangeMembers::AddVoterIds(BTreeSet::new());
            match self.raft().change_membership(nobody, true).await {
                Ok(_) => tracing::info!(target: "nomad.raft", index = change.index, "completed a change of voters"),
                // It is not committed yet, or this server does not lead any more.
                Err(_) => tokio::time::sleep(STEP).await,
            }
        }
    }

    async fn agreed(&self, change: impl Future<Output = Result<(), MembershipError>>) -> Result<(), MembershipError> {
        tokio::time::timeout(AGREED, change).await.unwrap_or(Err(MembershipError::Timeout))
    }

    /// How many entries a member is behind the leader's log; `None` if this server does not lead or has not heard of
    /// it.
    pub fn behind(&self, id: ServerId) -> Option<u64> {
        let metrics = self.raft().metrics().borrow().clone();
        let matched = (*metrics.replication?.get(&id)?)?.index;
        Some(metrics.last_log_index.unwrap_or(0).saturating_sub(matched))
    }

    /// Starts an election now, unless this server takes no part in elections.
    ///
    /// # Errors
    /// The node has stopped.
    pub async fn elect(&self) -> Result<(), MembershipError> {
        if self.in_doubt() {
            return Ok(());
        }
        Ok(self.raft().trigger().elect().await?)
    }

    /// Transfers leadership: stops heartbeats and proposals until the member `to` has all entries and the leader lease
    /// has expired, then makes that member stand for election by `ask`. Returns whether another server leads in time.
    pub async fn hand_over<F: Future<Output = ()>>(&self, to: ServerId, mut ask: impl FnMut() -> F) -> bool {
        let _paused = Paused::begin(self);
        let begun = Instant::now();
        let mut leadership = self.leadership();
        let moved = async {
            while self.behind(to).is_some_and(|entries| entries > 0) {
                tokio::time::sleep(STEP).await;
            }
            // Followers refuse their votes until the leader lease has expired.
            tokio::time::sleep_until(begun + self.lease() + STEP).await;
            loop {
                ask().await;
                let other = leadership.wait_for(|l| l.leader.as_ref().is_some_and(|_| !l.is_leader));
                if let Ok(gone) = tokio::time::timeout(self.lease(), other).await {
                    return gone.is_ok();
                }
            }
        };
        tokio::time::timeout(PAUSE, moved).await.unwrap_or(false)
    }
}

/// Neither heartbeats nor proposals are sent until this is dropped.
struct Paused<'a>(&'a Consensus);

impl Paused<'_> {
    fn begin(of: &Consensus) -> Paused<'_> {
        of.handing_over_flag().store(true, Ordering::Release);
        of.raft().runtime_config().heartbeat(false);
        Paused(of)
    }
}

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.handing_over_flag().store(false, Ordering::Release);
        self.0.raft().runtime_config().heartbeat(true);
    }
}
