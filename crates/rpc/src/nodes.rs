//! A node's calls to its servers ([`Servers`]): over the network ([`Remote`]), or to the server of its own agent
//! ([`Local`]).

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::call::Call;
use super::caller::{Head, Who};
use super::calls::*;
use super::linked_agent;
use super::membership::with_port;
use super::passing::Interface;
use super::pool::Pool;
use super::service::{Answers, Service, hold_pause};
use super::wire::{self, CallError};
use encamp_client::servers::{Answer, Credentials, Servers, ServersError};
use encamp_host::ids;
use encamp_http::serve::duplex;
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_model::{
    Allocation, CsiClaimRequest, CsiClaimed, CsiRelease, DrainStrategy, IdentityRequest, Node, NodeEvent, NodeStatus,
    PreviousDisk, SecretString, ServiceRegistration, SignedIdentity,
};
use encamp_server::error::ErrorKind;
use encamp_server::nodes::node_auth::NodeProof;

/// The port of the internal protocol where an address names none.
pub const RPC_PORT: u16 = 4647;
/// How long a claim or a release may take: the controller attaches and detaches volumes meanwhile.
const CSI: Duration = Duration::from_secs(300);
/// How long a call is repeated (`docs/spec/client.md §3.5`).
const HOLD: Duration = Duration::from_secs(5);
/// Longest wait for an answer besides the time a call blocks.
const ANSWER: Duration = Duration::from_secs(30);
/// The list of servers is shuffled at least this seldom; longer in clusters with many nodes per server.
const SHUFFLE: Duration = Duration::from_secs(300);

/// The servers, over the network.
pub struct Remote {
    pool: Pool,
    /// Answers the requests of servers.
    agent: OnceLock<Arc<dyn Interface>>,
    list: Mutex<List>,
    changed: Notify,
}

struct List {
    /// Asked from the front; one that failed goes to the end.
    servers: Vec<String>,
    num_nodes: u64,
    shuffle_at: Instant,
}

impl List {
    fn pause(&self) -> Duration {
        let per_server = Duration::from_secs(self.num_nodes / (64 * self.servers.len().max(1) as u64));
        let least = SHUFFLE.max(per_server);
        least + random_below(least)
    }

    fn shuffle(&mut self) {
        for i in (1..self.servers.len()).rev() {
            let j = usize::try_from(ids::random_below(i as u64 + 1)).unwrap_or_default();
            self.servers.swap(i, j);
        }
        self.shuffle_at = Instant::now() + self.pause();
    }
}

fn random_below(d: Duration) -> Duration {
    Duration::from_nanos(ids::random_below(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)))
}

impl Remote {
    /// For servers at these addresses; replies of servers replace them.
    pub fn new(pool: Pool, servers: Vec<String>) -> Remote {
        let mut list = List { servers, num_nodes: 0, shuffle_at: Instant::now() };
        list.shuffle();
        Remote { pool, agent: OnceLock::new(), list: Mutex::new(list), changed: Notify::new() }
    }

    /// Sets what answers the requests that servers send to the node, once.
    pub fn answer_by(&self, agent: Arc<dyn Interface>) {
        let _ = self.agent.set(agent);
    }

    /// Connects to a server and answers its requests until the connection ends.
    async fn answer_requests(&self, c: &Credentials) -> Result<(), ServersError> {
        let (Some(server), Some(agent)) = (self.first(), self.agent.get()) else { return Err(ServersError::NoServers) };
        let (writer, body) = duplex::writer();
        let head = Head { node: Some(who(c)), ..Head::default() };
        let opened = async {
            let request = wire::raw_request(&server, Connect::METHOD, &head, Vec::new())?.map(|_| body);
            // It shares the connection of the other calls: its window is a part of theirs, so an answer that nobody reads
            // does not stop heartbeats.
            let response = self.pool.send(&server, request).await?;
            if response.status() == StatusCode::OK { Ok(response) } else { Err(wire::refused(response).await) }
        };
        let late = |_| CallError::Lost(format!("{}: no answer from {server} within {HOLD:?}", Connect::METHOD));
        let opened = tokio::time::timeout(HOLD, opened).await.map_err(late).and_then(|opened| opened);
        let response = opened.map_err(|e| {
            if !matches!(e, CallError::Refused(_)) {
                self.failed(&server);
            }
            explain(&server, e)
        })?;
        tracing::debug!(target: "nomad.client", %server, "a server can send requests to this node");
        let io = duplex::join(duplex::reader(response.into_body()), writer);
        linked_agent::serve(io, agent.clone(), || self.first().is_some_and(|first| first != server)).await;
        Ok(())
    }

    fn first(&self) -> Option<String> {
        let mut list = self.list.lock();
        if Instant::now() >= list.shuffle_at {
            list.shuffle();
        }
        list.servers.first().cloned()
    }

    fn with_servers(&self, result: NodeUpdateResponse) -> NodeUpdateResponse {
        self.list.lock().num_nodes = u64::try_from(result.num_nodes).unwrap_or_default();
        result
    }

    fn failed(&self, server: &str) {
        let mut list = self.list.lock();
        if list.servers.first().is_some_and(|s| s == server) {
            list.servers.rotate_left(1);
        }
    }

    /// Calls one server after the other until one answers. `block` is how long the answer may take by intent.
    async fn call<C: Call>(&self, call: C, block: Duration) -> Result<C::Result, ServersError> {
        let deadline = Instant::now() + HOLD + block;
        loop {
            let Some(server) = self.first() else { return Err(ServersError::NoServers) };
            let error = match self.pool.call_within(block + ANSWER, &server, &call).await {
                Ok(result) => return Ok(result),
                Err(e) => e,
            };
            let again = match &error {
                CallError::Unreachable(_) => true,
                CallError::Lost(_) => C::REPEATABLE,
                CallError::Refused(e) => e.kind == ErrorKind::NoLeader,
            };
            if !matches!(error, CallError::Refused(_)) || again {
                self.failed(&server);
            }
            if !again || Instant::now() >= deadline {
                return Err(explain(&server, error));
            }
            tokio::time::sleep(hold_pause()).await;
        }
    }
}

fn explain(server: &str, error: CallError) -> ServersError {
    match error {
        CallError::Unreachable(reason) | CallError::Lost(reason) => {
            ServersError::Unreachable { server: server.into(), reason }
        }
        CallError::Refused(e) => match e.kind {
            ErrorKind::NodeNotFound => ServersError::NodeNotFound,
            ErrorKind::SecretMismatch => ServersError::SecretMismatch,
            ErrorKind::PermissionDenied => ServersError::PermissionDenied,
            ErrorKind::NodeRevoked => ServersError::Revoked,
            ErrorKind::NotFound => ServersError::NotFound(e.message),
            ErrorKind::NotYet => ServersError::NotYet(e.message),
            ErrorKind::NoLeader | ErrorKind::NotLeader => ServersError::NoLeader,
            ErrorKind::BadRequest
            | ErrorKind::Forbidden
            | ErrorKind::RequestTimeout
            | ErrorKind::Conflict
            | ErrorKind::TooLong
            | ErrorKind::TooManyRequests
            | ErrorKind::Busy
            | ErrorKind::PlanQueueDisabled
            | ErrorKind::NotLocked
            | ErrorKind::ModifyIndex
            | ErrorKind::Internal => ServersError::Refused(e.message),
        },
    }
}

/// The server of the node's own agent. Where it does not lead, it passes calls on.
pub struct Local(pub Service);

impl Local {
    fn with_servers(&self, result: NodeUpdateResponse) -> NodeUpdateResponse {
        result
    }

    async fn call<C: Call>(&self, call: C, _: Duration) -> Result<C::Result, ServersError>
    where
        Service: Answers<C>,
    {
        self.0.run(call).await.map_err(|e| explain("the local server", e))
    }
}

fn who(c: &Credentials) -> Who {
    let proof = NodeProof { secret_id: c.secret_id.clone(), identity: c.identity.clone() };
    Who { node_id: c.node_id.clone(), proof }
}

/// The maximum weight of a call with reports: servers limit the decoded size of a message.
const MOST_WEIGHT: usize = 10_000;

/// Reports in parts that servers take in one call.
fn in_parts(allocs: Vec<Allocation>) -> Vec<Vec<Allocation>> {
    let mut parts = vec![Vec::new()];
    let mut weight = 0;
    for alloc in allocs {
        let events: usize = alloc.task_states.values().map(|s| 2 + 2 * s.events.len()).sum();
        let own = 8 + events;
        let full = weight + own > MOST_WEIGHT;
        match parts.last_mut() {
            Some(part) if part.is_empty() || !full => part.push(alloc),
            Some(_) | None => {
                parts.push(vec![alloc]);
                weight = 0;
            }
        }
        weight += own;
    }
    parts
}

/// Both ways make the same calls.
macro_rules! servers {
    ($kind:ty { $($more:tt)* }) => {
        impl Servers for $kind {
            fn register<'a>(&'a self, node: &'a Node, token: &'a str) -> Answer<'a, NodeUpdateResponse> {
                let call = Register { node: Box::new(node.clone()), token: token.into(), caller: None };
                Box::pin(async move { self.call(call, Duration::ZERO).await.map(|r| self.with_servers(r)) })
            }

            fn update_status<'a>(
                &'a self,
                c: &'a Credentials,
                status: NodeStatus,
                renew: bool,
            ) -> Answer<'a, NodeUpdateResponse> {
                let identity = if renew { SecretString::default() } else { c.identity.clone() };
                let call = UpdateStatus { who: who(c), identity, status };
                Box::pin(async move { self.call(call, Duration::ZERO).await.map(|r| self.with_servers(r)) })
            }

            fn sign_identities<'a>(
                &'a self,
                c: &'a Credentials,
                wanted: Vec<IdentityRequest>,
            ) -> Answer<'a, Vec<SignedIdentity>> {
                Box::pin(self.call(SignIdentities { who: who(c), wanted }, Duration::ZERO))
            }

            fn client_allocs<'a>(
                &'a self,
                c: &'a Credentials,
                min_index: u64,
                max_wait: Duration,
                consistent: bool,
            ) -> Answer<'a, NodeClientAllocsResponse> {
                let who = who(c);
                Box::pin(async move {
                    if consistent {
                        self.call(GetClientAllocsConsistent { who, min_index, max_wait }, max_wait).await
                    } else {
                        self.call(GetClientAllocs { who, min_index, max_wait }, max_wait).await
                    }
                })
            }

            fn allocs<'a>(
                &'a self,
                c: &'a Credentials,
                ids: &'a [String],
                min_index: u64,
            ) -> Answer<'a, AllocsGetResponse> {
                let call = GetAllocs { who: who(c), ids: ids.to_vec(), min_index };
                Box::pin(self.call(call, HOLD))
            }

            fn previous_disk<'a>(&'a self, c: &'a Credentials, alloc_id: &'a str) -> Answer<'a, Option<PreviousDisk>> {
                Box::pin(self.call(GetPreviousDisk { who: who(c), alloc_id: alloc_id.into() }, Duration::ZERO))
            }

            fn update_allocs<'a>(&'a self, c: &'a Credentials, allocs: Vec<Allocation>) -> Answer<'a, u64> {
                let who = who(c);
                Box::pin(async move {
                    let mut index = 0;
                    for allocs in in_parts(allocs) {
                        index = self.call(UpdateAlloc { who: who.clone(), allocs }, Duration::ZERO).await?;
                    }
                    Ok(index)
                })
            }

            fn emit_events<'a>(&'a self, c: &'a Credentials, events: Vec<NodeEvent>) -> Answer<'a, u64> {
                Box::pin(self.call(EmitEvents { who: who(c), events }, Duration::ZERO))
            }

            fn upsert_services<'a>(
                &'a self,
                c: &'a Credentials,
                services: Vec<ServiceRegistration>,
            ) -> Answer<'a, u64> {
                Box::pin(self.call(UpsertServices { who: who(c), services }, Duration::ZERO))
            }

            fn delete_service<'a>(&'a self, c: &'a Credentials, namespace: &'a str, id: &'a str) -> Answer<'a, u64> {
                let call = DeleteService { who: who(c), namespace: namespace.into(), id: id.into() };
                Box::pin(self.call(call, Duration::ZERO))
            }

            fn drain_self<'a>(
                &'a self,
                c: &'a Credentials,
                strategy: DrainStrategy,
                meta: BTreeMap<String, String>,
            ) -> Answer<'a, u64> {
                Box::pin(self.call(DrainSelf { who: who(c), strategy, meta }, Duration::ZERO))
            }

            fn claim_csi_volume<'a>(&'a self, c: &'a Credentials, claim: CsiClaimRequest) -> Answer<'a, CsiClaimed> {
                Box::pin(self.call(ClaimCsiVolume { who: who(c), claim }, CSI))
            }

            fn release_csi_volume<'a>(&'a self, c: &'a Credentials, release: CsiRelease) -> Answer<'a, ()> {
                Box::pin(self.call(ReleaseCsiVolume { who: who(c), release }, CSI))
            }

            fn node<'a>(&'a self, c: &'a Credentials) -> Answer<'a, Option<Arc<Node>>> {
                Box::pin(self.call(GetNode { who: who(c) }, Duration::ZERO))
            }

            $($more)*
        }
    };
}

/// Those of the servers that answer a ping.
///
/// # Errors
/// Why each does not, if none does.
async fn answering<F>(servers: Vec<String>, ping: impl Fn(String) -> F) -> Result<Vec<String>, Vec<String>>
where
    F: Future<Output = Result<(), CallError>>,
{
    let servers: Vec<String> = servers.iter().map(|s| with_port(s, RPC_PORT)).collect();
    let pinged = futures_util::future::join_all(servers.iter().map(|s| ping(s.clone()))).await;
    let (mut there, mut errors) = (Vec::new(), Vec::new());
    for (server, result) in servers.into_iter().zip(pinged) {
        match result {
            Ok(()) => there.push(server),
            Err(e) => errors.push(e.to_string()),
        }
    }
    if there.is_empty() { Err(errors) } else { Ok(there) }
}

servers!(Local {
    fn known(&self) -> Vec<String> {
        self.0.known()
    }

    /// The local server stays the one that is asked; the others are those of its cluster.
    fn replace(&self, servers: Vec<String>) -> BoxFuture<'_, Result<(), Vec<String>>> {
        Box::pin(async move {
            let ping = |address: String| async move { self.0.ping(&address).await };
            answering(servers, ping).await.map(drop)
        })
    }
});

servers!(Remote {
    fn known(&self) -> Vec<String> {
        self.list.lock().servers.clone()
    }

    fn answer_requests<'a>(&'a self, c: &'a Credentials) -> Answer<'a, ()> {
        Box::pin(self.answer_requests(c))
    }

    fn learn(&self, servers: &[String]) {
        let mut list = self.list.lock();
        let same = list.servers.len() == servers.len() && servers.iter().all(|s| list.servers.contains(s));
        if !servers.is_empty() && !same {
            list.servers = servers.to_vec();
            list.shuffle();
            drop(list);
            self.changed.notify_waiters();
        }
    }

    fn replace(&self, servers: Vec<String>) -> BoxFuture<'_, Result<(), Vec<String>>> {
        Box::pin(async move {
            let ping = |address: String| async move { self.pool.call_within(HOLD, &address, &Ping {}).await.map(drop) };
            self.learn(&answering(servers, ping).await?);
            Ok(())
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_become_errors_that_nodes_act_upon() {
        let explained = |kind| explain("s1", CallError::Refused(encamp_server::Error::new(kind, "a text")));
        assert_eq!(explained(ErrorKind::NodeNotFound), ServersError::NodeNotFound);
        assert_eq!(explained(ErrorKind::SecretMismatch), ServersError::SecretMismatch);
        assert_eq!(explained(ErrorKind::PermissionDenied), ServersError::PermissionDenied);
        assert_eq!(explained(ErrorKind::NodeRevoked), ServersError::Revoked);
        assert_eq!(explained(ErrorKind::NoLeader), ServersError::NoLeader);
        assert_eq!(explained(ErrorKind::NotLeader), ServersError::NoLeader);
        assert_eq!(explained(ErrorKind::NotFound), ServersError::NotFound("a text".into()));
        assert_eq!(explained(ErrorKind::NotYet), ServersError::NotYet("a text".into()));
        assert_eq!(explained(ErrorKind::Internal), ServersError::Refused("a text".into()));
    }
}
