//! Messages between servers and their transport. One voter needs no network; for more, a [`Transport`] delivers a
//! [`Message`] to the other server, which passes it to [`Consensus::handle`](super::Consensus::handle) and returns the
//! [`Answer`].

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use openraft::error::{InstallSnapshotError, NetworkError, RPCError, RaftError, RemoteError};
use openraft::network::RPCOption;
use openraft::raft::{
    AppendEntriesRequest, AppendEntriesResponse, InstallSnapshotRequest, InstallSnapshotResponse, VoteRequest,
    VoteResponse,
};
use openraft::{Raft, RaftNetwork, RaftNetworkFactory};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::Consensus;
use super::contacts::Contacts;
use super::elections::Signs;
use super::sending::{Sendings, Way};
use super::types::{Peer, ServerId, Types};
use encamp_ops::codec;

/// Pause after a message that could not be sent.
const PAUSE: Duration = Duration::from_millis(100);

/// A message to another server.
#[derive(Debug, Serialize, Deserialize)]
pub enum Message {
    /// Entries, or a heartbeat of the leader.
    Append(AppendEntriesRequest<Types>),
    /// A candidate asks for a vote.
    Vote(VoteRequest<ServerId>),
    /// A piece of a snapshot.
    Snapshot(InstallSnapshotRequest<Types>),
}

/// The response to a [`Message`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// To [`Message::Append`].
    Append(Result<AppendEntriesResponse<ServerId>, RaftError<ServerId>>),
    /// To [`Message::Vote`].
    Vote(Result<VoteResponse<ServerId>, RaftError<ServerId>>),
    /// To [`Message::Snapshot`].
    Snapshot(Result<InstallSnapshotResponse<ServerId>, RaftError<ServerId, InstallSnapshotError>>),
}

/// The other server could not be reached, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransportError(pub String);

/// A pending answer.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Answer, TransportError>> + Send + 'a>>;

/// Carries messages to other servers.
pub trait Transport: Send + Sync + 'static {
    /// Sends a message and waits for the answer; the caller bounds the time.
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a>;

    /// Whether the process of a server has ended: its machine answers that nobody listens there. Silence is no such
    /// answer. A wrong answer costs an election, no more; the caller bounds the time.
    fn has_ended<'a>(&'a self, _to: ServerId, _peer: &'a Peer) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        Box::pin(async { false })
    }
}

/// For a server that is alone.
#[derive(Debug, Clone, Copy)]
pub struct NoTransport;

impl Transport for NoTransport {
    fn send<'a>(&'a self, _: ServerId, peer: &'a Peer, _: Message) -> Pending<'a> {
        let error = TransportError(format!("this server runs alone and can't reach {}", peer.address));
        Box::pin(async { Err(error) })
    }
}

/// Connects openraft with a [`Transport`].
#[derive(Clone)]
pub(super) struct Network {
    transport: Arc<dyn Transport>,
    contacts: Arc<Contacts>,
    signs: Arc<Signs>,
    core: Core,
}

/// openraft's core, once it runs.
pub(super) type Core = Arc<OnceLock<Raft<Types>>>;

/// One other server.
pub(super) struct Remote {
    way: Arc<Way>,
    sendings: Sendings,
    signs: Arc<Signs>,
    core: Core,
}

impl Network {
    /// The core is put in as soon as there is one.
    pub(super) fn new(transport: Arc<dyn Transport>, contacts: Arc<Contacts>, signs: Arc<Signs>) -> (Network, Core) {
        let core = Core::default();
        (Network { transport, contacts, signs, core: core.clone() }, core)
    }
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Remote;

    async fn new_client(&mut self, id: ServerId, peer: &Peer) -> Remote {
        let (transport, contacts) = (self.transport.clone(), self.contacts.clone());
        let way = Way { transport, contacts, id, peer: peer.clone() };
        let (signs, core) = (self.signs.clone(), self.core.clone());
        Remote { way: Arc::new(way), sendings: Sendings::default(), signs, core }
    }
}

type CallError<E> = RPCError<ServerId, Peer, RaftError<ServerId, E>>;

impl Remote {
    async fn call<E: std::error::Error>(&self, message: Message, limit: Duration) -> Result<Answer, CallError<E>> {
        let sent = tokio::time::timeout(limit, self.way.send(message)).await;
        failed(sent.unwrap_or_else(|_| Err(self.way.late(limit)))).await
    }

    /// Waits until openraft's core has processed all its notifications so far. A vote for another server ends the task
    /// that replicates to this one. If the core processed the failure of a snapshot before the vote (a slow disk is
    /// enough), it would give the next snapshot to the ended task and stop for good, because nothing receives it.
    async fn settle(&self) {
        let Some(core) = self.core.get() else { return };
        // Requests come before news in each round: when the second is answered, a round is over.
        for _ in 0..2 {
            let _ = core.with_raft_state(|_| ()).await;
        }
    }

    #[expect(clippy::result_large_err, reason = "openraft's type")]
    fn remote<T, E: std::error::Error>(&self, answer: Result<T, RaftError<ServerId, E>>) -> Result<T, CallError<E>> {
        let Way { id, peer, .. } = &*self.way;
        answer.map_err(|e| RPCError::RemoteError(RemoteError::new_with_node(*id, peer.clone(), e)))
    }
}

/// The error for openraft if there is no response.
async fn failed<E: std::error::Error>(sent: Result<Answer, TransportError>) -> Result<Answer, CallError<E>> {
    let error = match sent {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    // openraft tries again at once.
    tokio::time::sleep(PAUSE).await;
    // Not `Unreachable`: while openraft waits after that, chance decides whether news or the end of the wait is seen
    // first, and the deterministic test of a cluster could not give the same run twice.
    Err(RPCError::Network(NetworkError::new(&error)))
}

/// The answer belongs to another kind of message.
fn mixed_up<E: std::error::Error>() -> CallError<E> {
    RPCError::Network(NetworkError::new(&TransportError("the response does not match the message".into())))
}

impl RaftNetwork<Types> for Remote {
    async fn append_entries(
        &mut self,
        request: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<ServerId>, RPCError<ServerId, Peer, RaftError<ServerId>>> {
        let limit = option.hard_ttl();
        let answer = if request.entries.is_empty() {
            self.call(Message::Append(request), limit).await?
        } else {
            failed(self.sendings.append(&self.way, request, limit).await).await?
        };
        match answer {
            Answer::Append(answer) => {
                if matches!(answer, Ok(AppendEntriesResponse::HigherVote(_))) {
                    self.settle().await;
                }
                self.remote(answer)
            }
            _ => Err(mixed_up()),
        }
    }

    async fn install_snapshot(
        &mut self,
        request: InstallSnapshotRequest<Types>,
        option: RPCOption,
    ) -> Result<InstallSnapshotResponse<ServerId>, RPCError<ServerId, Peer, RaftError<ServerId, InstallSnapshotError>>>
    {
        match self.call(Message::Snapshot(request), option.hard_ttl()).await? {
            Answer::Snapshot(answer) => self.remote(answer),
            _ => Err(mixed_up()),
        }
    }

    async fn vote(
        &mut self,
        request: VoteRequest<ServerId>,
        option: RPCOption,
    ) -> Result<VoteResponse<ServerId>, RPCError<ServerId, Peer, RaftError<ServerId>>> {
        match self.call(Message::Vote(request.clone()), option.hard_ttl()).await? {
            Answer::Vote(answer) => {
                if let Ok(answer) = &answer {
                    self.signs.answered(&request, answer);
                }
                self.remote(answer)
            }
            _ => Err(mixed_up()),
        }
    }
}

/// Servers in one process: carries messages by calling the other server. Messages go through their encoding, as on a
/// wire.
#[derive(Clone, Default)]
pub struct MemoryNetwork(Arc<Mutex<Links>>);

#[derive(Default)]
struct Links {
    servers: BTreeMap<ServerId, Consensus>,
    cut_off: Vec<ServerId>,
    deaf: Vec<ServerId>,
}

impl fmt::Debug for MemoryNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryNetwork")
    }
}

impl MemoryNetwork {
    /// The end of the network that a server sends from.
    pub fn transport(&self, from: ServerId) -> Arc<dyn Transport> {
        Arc::new(MemoryTransport { network: self.clone(), from })
    }

    /// Lets others reach the server.
    pub fn join(&self, id: ServerId, server: Consensus) {
        self.0.lock().servers.insert(id, server);
    }

    /// Nobody reaches the server any more.
    pub fn leave(&self, id: ServerId) {
        self.0.lock().servers.remove(&id);
    }

    /// Cuts a server off from all others.
    #[cfg(test)]
    pub(crate) fn cut_off(&self, id: ServerId) {
        self.0.lock().cut_off.push(id);
    }

    /// A server is heard, but hears nothing, answers neither.
    #[cfg(test)]
    pub(crate) fn deafen(&self, id: ServerId) {
        self.0.lock().deaf.push(id);
    }

    /// Connects all servers again.
    pub fn heal(&self) {
        let mut links = self.0.lock();
        links.cut_off.clear();
        links.deaf.clear();
    }

    fn hears(&self, id: ServerId) -> bool {
        !self.0.lock().deaf.contains(&id)
    }

    fn reach(&self, from: ServerId, to: ServerId) -> Option<Consensus> {
        let links = self.0.lock();
        let cut = links.cut_off.contains(&from) || links.cut_off.contains(&to);
        links.servers.get(&to).filter(|_| !cut).cloned()
    }
}

struct MemoryTransport {
    network: MemoryNetwork,
    from: ServerId,
}

/// Through the encoding and back.
fn recode<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> Result<T, TransportError> {
    codec::encode(value).and_then(|bytes| codec::decode(&bytes)).map_err(|e| TransportError(e.to_string()))
}

impl Transport for MemoryTransport {
    fn send<'a>(&'a self, to: ServerId, peer: &'a Peer, message: Message) -> Pending<'a> {
        Box::pin(async move {
            let nobody = || TransportError(format!("nobody answers at {}", peer.address));
            let server = self.network.reach(self.from, to).filter(|_| self.network.hears(to)).ok_or_else(nobody)?;
            let answer =
                server.handle(self.from, recode(&message)?).await.map_err(|e| TransportError(e.to_string()))?;
            // The link may have been cut meanwhile.
            self.network.reach(self.from, to).filter(|_| self.network.hears(self.from)).ok_or_else(nobody)?;
            recode(&answer)
        })
    }

    fn has_ended<'a>(&'a self, to: ServerId, _: &'a Peer) -> Pin<Box<dyn Future<Output = bool> + Send + 'a>> {
        let links = self.network.0.lock();
        let cut = links.cut_off.contains(&self.from);
        let ended = !cut && !links.servers.contains_key(&to);
        Box::pin(async move { ended })
    }
}
