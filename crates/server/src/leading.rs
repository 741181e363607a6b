//! What a server needs to lead, and to work for the server that leads: consensus with the single write path, the
//! leader's queues, and calls to other agents.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::error::Error;
use crate::other_agents::csi_plugins::Calls;
use crate::other_agents::servers::OtherServers;
use crate::queues::Queues;
use crate::server_state::ServerState;
use encamp_host::threads;
use encamp_host::watch_value;
use encamp_model::outcome::NOT_READY;
use encamp_ops::{Operation, Reply};
use encamp_raft::{Consensus, Member, ProposeError};

/// Maximum time a call waits for a leader, or for the leader to be ready.
const LEADER_WAIT: Duration = Duration::from_secs(5);

/// The parts of a server that lead, or work for the leader; clones share them. They read the [`ServerState`].
#[derive(Clone)]
pub struct Leading(Arc<Parts>);

struct Parts {
    state: ServerState,
    queues: Arc<Queues>,
    consensus: Consensus,
    runtime: Handle,
    /// Whether the leader has been established.
    ready: watch_value::Sender<bool>,
    other_servers: Arc<dyn OtherServers>,
    csi: Calls,
}

impl Deref for Leading {
    type Target = ServerState;

    fn deref(&self) -> &ServerState {
        &self.0.state
    }
}

impl Leading {
    /// The parts of a server that starts, on the current runtime.
    pub(crate) fn new(
        state: ServerState,
        queues: Arc<Queues>,
        consensus: Consensus,
        other_servers: Arc<dyn OtherServers>,
    ) -> Leading {
        let (runtime, ready, csi) = (Handle::current(), watch_value::Sender::new(false), Calls::default());
        Leading(Arc::new(Parts { state, queues, consensus, runtime, ready, other_servers, csi }))
    }

    /// The leader's queues.
    pub fn queues(&self) -> &Arc<Queues> {
        &self.0.queues
    }

    /// The Raft node.
    pub fn consensus(&self) -> &Consensus {
        &self.0.consensus
    }

    /// The runtime of the server.
    pub fn runtime(&self) -> &Handle {
        &self.0.runtime
    }

    /// Calls to other servers.
    pub(crate) fn other_servers(&self) -> &Arc<dyn OtherServers> {
        &self.0.other_servers
    }

    /// Calls to the CSI plugins of nodes.
    pub(crate) fn csi(&self) -> &Calls {
        &self.0.csi
    }

    // ---- leadership

    /// Whether the leader has been established.
    pub(crate) fn is_ready(&self) -> bool {
        *self.0.ready.borrow()
    }

    pub(crate) fn set_ready(&self, ready: bool) {
        self.0.ready.send(ready);
    }

    /// Waits until the server can answer reads and writes. A process that was stopped makes sure first that it still
    /// leads.
    ///
    /// # Errors
    /// There is no leader within the hold time; the error names the reason.
    pub async fn wait_ready(&self) -> Result<(), Error> {
        if let Some(why) = self.0.consensus.stopped() {
            return Err(ProposeError::Fatal(why).into());
        }
        let mut ready = self.0.ready.subscribe();
        let waited = tokio::time::timeout(LEADER_WAIT, async {
            if ready.wait_for(|r| *r).await.is_err() {
                return Err(Error::no_leader());
            }
            #[cfg(test)]
            if crate::deterministic::sim::has(crate::deterministic::sim::Bug::UnconfirmedLease) {
                return Ok(());
            }
            Ok(self.0.consensus.confirm().await?)
        });
        if let Ok(known) = waited.await {
            return known;
        }
        let leads = self.0.consensus.leads();
        Err(if leads { Error::internal(NOT_READY) } else { Error::no_leader() })
    }

    /// The leader's address as configured; `None` while there is no leader.
    pub fn leader_address(&self) -> Option<String> {
        self.0.consensus.leadership().borrow().leader.as_ref().map(|(_, p)| p.address.clone())
    }

    /// Transfers leadership to another member. Returns true if this server does not lead any more.
    pub async fn hand_over(&self, to: &Member) -> bool {
        let ask = || async {
            if let Err(error) = self.0.other_servers.stand(to.id, &to.peer).await {
                tracing::debug!(target: "nomad", server = to.peer.name.as_str(), %error, "failed to ask a server to start an election");
            }
        };
        self.0.consensus.hand_over(to.id, ask).await
    }

    // ---- writing

    /// Commits and applies an operation. Returns its index and reply.
    ///
    /// # Errors
    /// There is no leader, or the state machine refused the operation (with its text).
    pub async fn commit(&self, op: Operation) -> Result<(u64, Reply), Error> {
        self.wait_ready().await?;
        self.commit_shared(Arc::new(op)).await
    }

    /// [`Leading::commit`] without waiting for the leader to be ready.
    ///
    /// # Errors
    /// See [`Leading::commit`].
    pub(crate) async fn commit_shared(&self, op: Arc<Operation>) -> Result<(u64, Reply), Error> {
        match self.0.consensus.propose_shared(op).await? {
            (_, Reply::Refused(refusal)) => Err(refusal.into()),
            done => Ok(done),
        }
    }

    /// [`Leading::commit_shared`] for threads outside of the runtime.
    ///
    /// # Errors
    /// See [`Leading::commit`].
    pub(crate) fn commit_blocking(&self, op: Operation) -> Result<u64, Error> {
        threads::block_on(&self.0.runtime, self.commit_shared(Arc::new(op))).map(|(index, _)| index)
    }

    /// Blocks, outside of the runtime, until the store has applied an index. Returns false on timeout.
    pub(crate) fn wait_for_index(&self, index: u64, timeout: Duration) -> bool {
        let store = self.store();
        if store.applied_index() >= index {
            return true;
        }
        let mut applied = store.follow_applied();
        let wait = async { tokio::time::timeout(timeout, applied.wait_for(|a| *a >= index)).await };
        matches!(threads::block_on(&self.0.runtime, wait), Ok(Ok(_)))
    }
}
