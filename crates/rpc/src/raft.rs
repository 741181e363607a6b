//! Raft messages between servers.

use std::time::Duration;

use futures_util::future::BoxFuture;

use super::calls::{Envelope, RunWorkerCall, Stand};
use super::gossip::Gossip;
use super::pool::Pool;
use super::service::{Answers, Service};
use super::wire::CallError;
use encamp_raft::{Answer, Message, Peer, Pending, ServerId, Transport, TransportError};
use encamp_server::Error;
use encamp_server::other_agents::servers::OtherServers;
use encamp_server::other_agents::worker_calls::{Outcome, WorkerCall};

impl Answers<Envelope> for Service {
    async fn carry_out(&self, call: Envelope) -> Result<Answer, Error> {
        self.is_me(call.to)?;
        let answer = self.server().consensus().handle(call.from, call.message).await;
        answer.map_err(|why| {
            tracing::warn!(target: "nomad.raft", from = %call.from, %why, "refused a message");
            Error::bad(why.to_string())
        })
    }
}

/// Carries messages over the RPC ports.
pub struct RaftTransport {
    pool: Pool,
    worker_calls: Pool,
    gossip: Gossip,
}

impl RaftTransport {
    /// With connections of its own: heartbeats must not wait behind snapshots or plans.
    pub fn new(pool: &Pool, gossip: Gossip) -> RaftTransport {
        RaftTransport { pool: pool.another(), worker_calls: pool.another(), gossip }
    }
}

/// Longest wait for the leader's answer to a worker.
const WORKER_CALL: Duration = Duration::from_secs(60);
/// A message that takes longer is given up with its connection. openraft's own limits are shorter.
const LIMIT: Duration = Duration::from_secs(30);

impl Transport for RaftTransport {
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a> {
        Box::pin(async move {
            let envelope = Envelope { to, message, from: ServerId::default() };
            // A server that came back elsewhere is reached before the log says so.
            let address = self.gossip.address_of(to).unwrap_or_else(|| peer.address.clone());
            self.pool.call_server(LIMIT, to, &address, &envelope).await.map_err(|e| TransportError(e.to_string()))
        })
    }

    fn has_ended<'a>(&'a self, to: ServerId, peer: &'a Peer) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let address = self.gossip.address_of(to).unwrap_or_else(|| peer.address.clone());
            self.pool.is_refused(&address).await
        })
    }
}

/// The calls of a server to others.
impl OtherServers for RaftTransport {
    fn stand<'a>(&'a self, to: ServerId, peer: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>> {
        Box::pin(async move {
            let address = self.gossip.address_of(to).unwrap_or_else(|| peer.address.clone());
            self.pool.call_server(LIMIT, to, &address, &Stand { to }).await.map_err(|e| TransportError(e.to_string()))
        })
    }

    fn run<'a>(
        &'a self,
        leader: ServerId,
        peer: &'a Peer,
        worker_call: &'a WorkerCall,
    ) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(async move {
            let address = self.gossip.address_of(leader).unwrap_or_else(|| peer.address.clone());
            // Not on the connection of heartbeats: plans are long.
            let call = RunWorkerCall { worker_call: worker_call.clone() };
            let called = self.worker_calls.call_server(WORKER_CALL, leader, &address, &call).await;
            called.map_err(|e| match e {
                CallError::Refused(e) => e,
                CallError::Unreachable(_) => Error::no_leader(),
                CallError::Lost(text) => Error::internal(text),
            })
        })
    }
}
