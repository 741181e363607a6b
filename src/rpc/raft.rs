//! Messages of consensus between servers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::calls::Call;
use super::pool::Pool;
use super::service::{Answers, Service};
use crate::server::Error;
use crate::server::raft::{Answer, Message, Peer, Pending, ServerId, Transport, TransportError};

/// A message, and for whom it is: another server may have taken over its address.
#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    to: ServerId,
    message: Message,
}

impl Call for Envelope {
    const METHOD: &'static str = "Raft.Message";
    const ANYWHERE: bool = true;
    type Result = Answer;
}

impl Answers<Envelope> for Service {
    async fn carry_out(&self, call: Envelope) -> Result<Answer, Error> {
        let own = self.server().settings().id.clone();
        if call.to.to_string() != own {
            return Err(Error::internal(format!("this is server {own}, not {}", call.to)));
        }
        Ok(self.server().consensus().handle(call.message).await)
    }
}

/// Carries messages over the RPC ports.
pub struct RaftTransport(Pool);

impl RaftTransport {
    /// With connections of its own: heartbeats must not wait behind snapshots or plans.
    pub fn new(pool: &Pool) -> RaftTransport {
        RaftTransport(pool.another())
    }
}

/// A message that takes longer is given up with its connection. openraft's own limits are shorter.
const LIMIT: Duration = Duration::from_secs(30);

impl Transport for RaftTransport {
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a> {
        Box::pin(async move {
            let envelope = Envelope { to, message };
            self.0.call_within(LIMIT, &peer.address, &envelope).await.map_err(|e| TransportError(e.to_string()))
        })
    }
}
