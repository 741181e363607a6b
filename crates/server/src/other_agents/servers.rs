//! Calls from a server to the other servers of its cluster.

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::other_agents::worker_calls::{Outcome, WorkerCall};
use encamp_raft::{NoTransport, Peer, ServerId, TransportError};

/// Calls to other servers.
pub trait OtherServers: Send + Sync + 'static {
    /// Asks another server to start an election.
    fn stand<'a>(&'a self, to: ServerId, peer: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Runs a call of one of this server's workers on the leader.
    fn run<'a>(
        &'a self,
        leader: ServerId,
        peer: &'a Peer,
        call: &'a WorkerCall,
    ) -> BoxFuture<'a, Result<Outcome, Error>>;
}

/// Used by a single server.
impl OtherServers for NoTransport {
    fn stand<'a>(&'a self, _: ServerId, peer: &'a Peer) -> BoxFuture<'a, Result<(), TransportError>> {
        let error = TransportError(format!("this server runs alone and can't reach {}", peer.address));
        Box::pin(std::future::ready(Err(error)))
    }

    fn run<'a>(&'a self, _: ServerId, _: &'a Peer, _: &'a WorkerCall) -> BoxFuture<'a, Result<Outcome, Error>> {
        Box::pin(std::future::ready(Err(Error::no_leader())))
    }
}
