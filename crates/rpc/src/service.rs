//! Answers calls, from this server's own state or through the leader.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Request, Response};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::gossip::Gossip;
use super::gossip_keys::ChangeKeys;
use super::listener::{Handler, Peer};
use super::node_link::{self, NodeLinks};
use super::pool::Pool;
use super::proof::{Confirmed, Vouch};
use super::raft::Envelope;
use super::rules::{self, LONGEST_OF_STRANGERS, Proof, Rule};
use super::wire::{self, CallError, FORWARDED, Head};
use super::{calls::*, cost};
use encamp_host::ids;
use encamp_http::routes::metric::Metric;
use encamp_http::serve::bodies::{BodyError, Budget};
use encamp_http::serve::http1::Origin;
use encamp_model::responses::{AllocsGetResponse, NodeClientAllocsResponse, NodeUpdateResponse};
use encamp_raft::ServerId;
use encamp_server::endpoints::csi;
use encamp_server::endpoints::identity;
use encamp_server::endpoints::node_auth;
use encamp_server::endpoints::node_rpc::{self, NodeAnswer};
use encamp_server::endpoints::previous_disk;
use encamp_server::error::ErrorKind;
use encamp_server::pipeline::worker_calls;
use encamp_server::{Error, Server};

/// How long a call waits for a leader.
const HOLD: Duration = Duration::from_secs(5);

/// Memory for messages in flight from nodes: from all nodes, and from one address. What they become when they are read
/// counts too.
const MESSAGES: (usize, usize) = (256 << 20, 128 << 20);
/// The same for callers that this server does not know.
const OF_STRANGERS: (usize, usize) = (32 << 20, 8 << 20);
/// The same for servers of the cluster.
const OF_SERVERS: (usize, usize) = (1 << 30, 1 << 30);
/// The maximum decoded size of a message of a node, and of one of a caller that this server does not know.
const MOST_COST: (usize, usize) = (96 << 20, 4 << 20);
/// A call that takes more than this keeps it until it is carried out.
const SMALL: usize = 256 << 10;
/// Bytes of nodes and pools that one address may newly register at once, and in a second.
const NEW_NODES: (f64, f64) = (32.0 * 1024.0 * 1024.0, 64.0 * 1024.0);
/// Addresses whose registrations are counted.
const COUNTED: usize = 4096;

/// How long a server that made a promise keeps it while no cluster comes of it.
const PROMISE: Duration = Duration::from_secs(60);

/// Requests of the HTTP interface that came over the RPC port.
pub trait Interface: Send + Sync + 'static {
    /// One request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;
}

/// Why a server does not promise another one that it may bootstrap the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PromiseError {
    /// The server has a log.
    #[error("belongs to a cluster already")]
    InCluster,
    /// The server has made the promise to another one.
    #[error("has promised to follow {0}")]
    Promised(ServerId),
}

/// The service of a server's RPC port; clones share it.
#[derive(Clone)]
pub struct Service {
    server: Server,
    pool: Pool,
    gossip: Gossip,
    confirmed: Confirmed,
    budgets: Arc<Budgets>,
    links: NodeLinks,
    /// The server that may bootstrap the cluster with this server, and since when.
    promised: Arc<tokio::sync::Mutex<Option<(ServerId, Instant)>>>,
}

impl Service {
    /// For a server; `pool` reaches the others, and its TLS settings say what certificates of callers have to name.
    pub fn new(server: Server, pool: Pool, gossip: Gossip) -> Service {
        let (confirmed, budgets) = (Confirmed::default(), Arc::new(Budgets::default()));
        let links = NodeLinks::default();
        Service { server, pool, gossip, confirmed, budgets, links, promised: Arc::default() }
    }

    /// The connections of nodes to this server.
    pub fn links(&self) -> &NodeLinks {
        &self.links
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Asks whether an agent answers calls at an address.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self, address: &str) -> Result<(), CallError> {
        self.pool.call_within(HOLD, address, &Ping {}).await.map(drop)
    }

    /// The servers that are known.
    pub fn gossip(&self) -> &Gossip {
        &self.gossip
    }

    /// Promises a server that it, and no other server for a while, may bootstrap the cluster.
    ///
    /// # Errors
    /// See [`PromiseError`].
    pub async fn promise(&self, by: ServerId) -> Result<(), PromiseError> {
        let mut promised = self.promised.lock().await;
        if self.server.consensus().has_log().await {
            return Err(PromiseError::InCluster);
        }
        if let Some((other, _)) = promised.filter(|(other, since)| *other != by && since.elapsed() < PROMISE) {
            return Err(PromiseError::Promised(other));
        }
        *promised = Some((by, Instant::now()));
        Ok(())
    }

    pub(super) fn is_me(&self, id: ServerId) -> Result<(), Error> {
        let own = &self.server.settings().id;
        if id.to_string() == *own { Ok(()) } else { Err(Error::internal(format!("this is server {own}, not {id}"))) }
    }

    /// The server.
    pub fn server(&self) -> &Server {
        &self.server
    }

    fn leads(&self) -> bool {
        self.server.consensus().leads()
    }

    /// Carries out a call where it belongs.
    ///
    /// # Errors
    /// The refusal, or `No cluster leader`.
    pub async fn run<C: Call>(&self, call: C) -> Result<C::Result, CallError>
    where
        Service: Answers<C>,
    {
        if C::ANYWHERE || self.leads() {
            return Ok(self.carry_out(call).await?);
        }
        let bytes = wire::arguments(&call).map_err(Error::from)?;
        let head = Head { node: call.node(), server: None };
        match self.with_leader(C::METHOD, &head, &bytes, C::REPEATABLE).await? {
            Some(response) => wire::result(response).await,
            // Elected meanwhile.
            None => Ok(self.carry_out(call).await?),
        }
    }

    /// Sends a call to the leader; `None`: this server leads now.
    async fn with_leader(
        &self,
        method: &str,
        head: &Head,
        bytes: &[u8],
        repeatable: bool,
    ) -> Result<Option<Response<Body>>, CallError> {
        let deadline = Instant::now() + HOLD;
        let own = self.server.settings().rpc_address.clone();
        loop {
            if self.leads() {
                return Ok(None);
            }
            let mut failure = CallError::Refused(Error::no_leader());
            let leader = self.server.consensus().leadership().borrow().leader.clone();
            if let Some((id, leader)) = leader.filter(|(_, peer)| peer.address != own) {
                let head = Head { node: head.node.clone(), server: self.pool.proof_for(id) };
                let mut request = wire::raw_request(&leader.address, method, &head, bytes.to_vec())?;
                request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
                match self.pool.send(&leader.address, request).await {
                    Ok(response) => return Ok(Some(response)),
                    Err(e @ CallError::Lost(_)) if !repeatable => return Err(e),
                    Err(e) => failure = e,
                }
            }
            if Instant::now() >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(hold_pause()).await;
        }
    }

    /// Checks who calls, before anything of the message is read.
    async fn admit(&self, peer: &Peer, rule: &Rule, head: Head, forwarded: bool) -> Result<Admitted, Error> {
        self.check_names(peer, rule)?;
        let by_member = match rule.proof {
            Proof::Member => self.check_member(peer, &head).await.map(|()| true)?,
            Proof::Nothing | Proof::Node | Proof::NewNode => forwarded && self.check_member(peer, &head).await.is_ok(),
        };
        let knows = |who: &Who| node_rpc::knows(&self.server, &who.node_id, &who.proof);
        let mut known = rule.proof == Proof::Member || head.node.as_ref().is_some_and(knows);
        if rule.proof == Proof::Node && !known && self.leads() {
            // The leader knows best, once it has applied what was committed before. A node that asks for itself is
            // notified that it is gone.
            self.server.wait_ready().await?;
            let Some(who) = &head.node else {
                return Err(Error::denied("the call does not identify the calling node"));
            };
            if rule.method != GetNode::METHOD {
                node_auth::authenticate(&self.server, &who.node_id, &who.proof)?;
                known = true;
            }
        }
        let address = (!by_member).then(|| peer.address.ip());
        Ok(Admitted { head, address, known, forwarded: forwarded && by_member })
    }

    fn check_names(&self, peer: &Peer, rule: &Rule) -> Result<(), Error> {
        match (&self.pool.tls().region, &peer.names) {
            (Some(region), Some(names)) => rule.check_names(region, names),
            (Some(_), None) | (None, _) => Ok(()),
        }
    }

    /// Whether a member of the cluster calls.
    async fn check_member(&self, peer: &Peer, head: &Head) -> Result<(), Error> {
        let Some((id, text)) = &head.server else {
            return Err(Error::denied("the call does not identify the sending server"));
        };
        let own = self.gossip.own().id;
        let members = || self.server.consensus().configuration().servers;
        let in_log = || members().into_iter().find(|m| m.id == *id).map(|m| m.peer.address);
        let known = || self.gossip.address_of(*id).or_else(in_log).or_else(|| self.gossip.last_address_of(*id));
        let address = if *id == own { None } else { known() };
        let address = address.ok_or_else(|| Error::denied(format!("server {id} is not a member of this cluster")))?;
        if let (Some(region), Some(names)) = (&self.pool.tls().region, &peer.names) {
            return rules::SERVERS_ONLY.check_names(region, names);
        }
        self.confirmed.check(&self.pool, own, *id, text, address, peer.address.ip()).await
    }

    /// Answers a call, and measures it.
    async fn answer(&self, peer: &Peer, method: &str, request: Request<Body>) -> Response<Body> {
        let begin = Instant::now();
        let response = self.answer_call(peer, method, request).await;
        let metrics = self.server.metrics();
        if method == Envelope::METHOD {
            metrics.count("nomad.rpc.raft_handoff", 1, &[]);
        } else {
            metric(method).record(metrics, begin.elapsed());
        }
        self.count(&response);
        response
    }

    /// Counts what came over the network.
    fn count(&self, response: &Response<Body>) {
        self.server.metrics().count("nomad.rpc.request", 1, &[]);
        if !response.status().is_success() {
            self.server.metrics().count("nomad.rpc.request_error", 1, &[]);
        }
    }

    /// Answers a call. Its message is read when it is known who calls.
    async fn answer_call(&self, peer: &Peer, method: &str, request: Request<Body>) -> Response<Body> {
        let Some(rule) = rules::of(method) else {
            return wire::refusal(Error::not_found(format!("rpc: can't find method {method}")));
        };
        let (head, body) = request.into_parts();
        let forwarded = head.headers.contains_key(FORWARDED);
        let caller = Head::of(&head.headers);
        drop(head);
        let admitted = match self.admit(peer, rule, caller, forwarded).await {
            Ok(admitted) => admitted,
            Err(e) => return wire::refusal(e),
        };
        if method == Connect::METHOD {
            return match self.proven_node(&admitted) {
                Ok(node_id) => self.links.accept(&self.server, node_id, body),
                Err(e) => wire::refusal(e),
            };
        }
        macro_rules! route {
            ($($call:ident($($rule:tt)*);)*) => {
                match method {
                    $(<$call>::METHOD => self.one::<$call>(rule, admitted, body).await,)*
                    _ => wire::refusal(Error::not_found(format!("rpc: can't find method {method}"))),
                }
            };
        }
        rules::with_calls!(route)
    }

    /// The node that calls, as this server knows it.
    fn proven_node(&self, admitted: &Admitted) -> Result<String, Error> {
        let who = admitted.head.node.as_ref();
        let who = who.ok_or_else(|| Error::denied("the call does not identify the calling node"))?;
        node_auth::authenticate(&self.server, &who.node_id, &who.proof)?;
        Ok(who.node_id.clone())
    }

    async fn one<C: Call>(&self, rule: &Rule, admitted: Admitted, body: Body) -> Response<Body>
    where
        Service: Answers<C>,
    {
        let Admitted { head, address, known, forwarded } = admitted;
        let (budget, longest) = match rule.proof {
            Proof::Member => (&self.budgets.servers, rule.longest),
            Proof::Nothing | Proof::Node | Proof::NewNode if known => (&self.budgets.nodes, rule.longest),
            Proof::NewNode => (&self.budgets.strangers, rule.longest),
            Proof::Nothing | Proof::Node => (&self.budgets.strangers, rule.longest.min(LONGEST_OF_STRANGERS)),
        };
        let origin = address.map(Origin::Address);
        let (bytes, mut held) = match budget.read(body, longest, origin.as_ref()).await {
            Ok(read) => read,
            Err(e) => return wire::refusal(unread(rule, e)),
        };
        // A call that was forwarded once is not forwarded again: leadership moved, and the first server asks the next
        // one.
        if !C::ANYWHERE && !forwarded && !self.leads() {
            match self.with_leader(C::METHOD, &head, &bytes, C::REPEATABLE).await {
                Ok(Some(response)) => return response,
                Ok(None) => {}
                Err(CallError::Refused(e)) => return wire::refusal(e),
                Err(e) => return wire::refusal(Error::internal(e.to_string())),
            }
        }
        let done = async {
            let mut small = true;
            if rule.proof != Proof::Member {
                let most = if known { MOST_COST.0 } else { MOST_COST.1 };
                let cost = cost::of(&bytes, most).map_err(|e| Error::bad(format!("{}: {e}", rule.method)))?;
                small = cost <= SMALL;
                if !small {
                    held.join(budget.take(cost, origin.as_ref()).await.map_err(|e| unread(rule, e))?);
                }
            }
            let mut call: C = wire::read(&bytes)?;
            call.called_by(&Caller { head, address, bytes: bytes.len() })?;
            drop(bytes);
            // Calls that block are small.
            let _held = (!small).then_some(held);
            self.carry_out(call).await
        };
        wire::response::<C>(done.await)
    }

    fn reply(&self, a: NodeAnswer) -> NodeUpdateResponse {
        NodeUpdateResponse {
            index: a.index,
            heartbeat_ttl: a.heartbeat_ttl,
            servers: self.known(),
            num_nodes: i64::try_from(a.num_nodes).unwrap_or(i64::MAX),
            scheduling_eligibility: a.scheduling_eligibility,
            signed_identity: a.signed_identity,
        }
    }

    /// Addresses of the servers.
    pub fn known(&self) -> Vec<String> {
        self.server.consensus().configuration().servers.into_iter().map(|s| s.peer.address).collect()
    }
}

/// A pause before the leader is looked for again: up to 5/16 s (`docs/spec/server.md §20.1`).
pub(crate) fn hold_pause() -> Duration {
    Duration::from_nanos(ids::random_below(u64::try_from(HOLD.as_nanos() / 16).unwrap_or_default()))
}

/// Carries out one call on this server.
pub trait Answers<C: Call> {
    /// The result, or a refusal.
    fn carry_out(&self, call: C) -> impl Future<Output = Result<C::Result, Error>> + Send;
}

macro_rules! answers {
    ($($call:ident |$this:ident, $args:ident| $body:expr;)*) => {$(
        impl Answers<$call> for Service {
            async fn carry_out(&self, $args: $call) -> Result<<$call as Call>::Result, Error> {
                let $this = self;
                $body
            }
        }
    )*};
}

answers! {
    Ping |s, _c| Ok(s.server.settings().name.clone());
    Register |s, c| {
        if let Some(Caller { address: Some(address), bytes, .. }) = &c.caller
            && node_rpc::is_new(&s.server, &c.node)
            && !s.budgets.new_nodes(*address, *bytes)
        {
            return Err(Error::new(ErrorKind::TooManyRequests, "too many new nodes from this address; try again later"));
        }
        node_rpc::register(&s.server, *c.node, c.token.expose()).await.map(|a| s.reply(a))
    };
    UpdateStatus |s, c| {
        let Who { node_id, proof } = &c.who;
        let answer = node_rpc::update_status(&s.server, node_id, proof, c.identity.expose(), c.status).await;
        answer.map(|a| s.reply(a))
    };
    SignIdentities |s, c| identity::sign(&s.server, &c.who.node_id, &c.who.proof, c.wanted).await;
    GetClientAllocs |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetClientAllocsConsistent |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetAllocs |s, c| {
        let (allocs, index) = node_rpc::allocs(&s.server, &c.who.node_id, &c.who.proof, &c.ids, c.min_index).await?;
        Ok(AllocsGetResponse { allocs, index })
    };
    GetPreviousDisk |s, c| previous_disk::find(&s.server, &c.who.node_id, &c.who.proof, &c.alloc_id);
    UpdateAlloc |s, c| node_rpc::update_allocs(&s.server, &c.who.node_id, &c.who.proof, c.allocs).await;
    EmitEvents |s, c| node_rpc::emit_events(&s.server, &c.who.node_id, &c.who.proof, c.events).await;
    UpsertServices |s, c| {
        node_rpc::upsert_services(&s.server, &c.who.node_id, &c.who.proof, c.services).await
    };
    DeleteService |s, c| {
        node_rpc::delete_service(&s.server, &c.who.node_id, &c.who.proof, &c.namespace, &c.id).await
    };
    DrainSelf |s, c| {
        node_rpc::drain_self(&s.server, &c.who.node_id, &c.who.proof, c.strategy, c.meta).await
    };
    Meet |s, c| {
        // The server announces itself, in a datagram that is sealed where there is a key.
        s.gossip.announce(c.from).await;
        Ok(s.gossip.alive().into_iter().map(|k| k.addr).collect())
    };
    Confirm |s, c| s.is_me(c.to);
    ForceLeave |s, c| Ok(s.gossip.force_leave(&c.name, c.prune));
    Claim |s, c| {
        s.is_me(c.to)?;
        s.promise(c.by).await.map_err(|e| Error::internal(e.to_string()))
    };
    Stand |s, c| {
        s.is_me(c.to)?;
        Ok(s.server.consensus().elect().await?)
    };
    RunWorkerCall |s, c| worker_calls::handle(&s.server, c.worker_call).await;
    RemovePeer |s, c| Ok(s.server.consensus().remove_member(c.id).await?);
    Connect |_s, _c| Err(Error::bad("a connection of a node needs a call with an open body"));
    Connected |s, c| Ok(s.links.has(&c.node_id));
    CallNode |s, c| node_link::answer_of(s.links.call(c).await);
    ClaimCsiVolume |s, c| csi::claim(&s.server, &c.who.node_id, &c.who.proof, c.claim).await;
    ReleaseCsiVolume |s, c| csi::release(&s.server, &c.who.node_id, &c.who.proof, c.release).await;
    GetNode |s, c| node_rpc::own_node(&s.server, &c.who.node_id, &c.who.proof);
}

async fn client_allocs(
    s: &Service,
    who: &Who,
    min_index: u64,
    max_wait: Duration,
) -> Result<NodeClientAllocsResponse, Error> {
    let (allocs, index) = node_rpc::client_allocs(&s.server, &who.node_id, &who.proof, min_index, max_wait).await?;
    Ok(NodeClientAllocsResponse { allocs, index })
}

/// How metrics call the endpoint of a call of nodes, and what it does (`docs/spec/server.md §24`).
fn metric(method: &str) -> Metric {
    match method {
        Register::METHOD => Metric::Write("client", "register"),
        UpdateStatus::METHOD => Metric::Write("client", "update_status"),
        UpdateAlloc::METHOD => Metric::Write("client", "update_alloc"),
        EmitEvents::METHOD => Metric::Write("client", "emit_events"),
        DrainSelf::METHOD => Metric::Write("client", "update_drain"),
        GetClientAllocs::METHOD | GetClientAllocsConsistent::METHOD => Metric::List("client", "get_client_allocs"),
        GetNode::METHOD => Metric::Read("client", "get_node"),
        GetAllocs::METHOD => Metric::List("alloc", "get_allocs"),
        GetPreviousDisk::METHOD => Metric::Read("alloc", "get_previous_disk"),
        SignIdentities::METHOD => Metric::Write("alloc", "sign_identities"),
        ClaimCsiVolume::METHOD => Metric::Write("csi_volume", "claim"),
        ReleaseCsiVolume::METHOD => Metric::Write("csi_volume", "unpublish"),
        UpsertServices::METHOD => Metric::Write("service_registration", "upsert"),
        DeleteService::METHOD => Metric::Write("service_registration", "delete_id"),
        Ping::METHOD => Metric::Read("status", "ping"),
        _ => Metric::NotCounted,
    }
}

/// A call that may be read.
struct Admitted {
    head: Head,
    /// Where it comes from; `None` for messages of members.
    address: Option<IpAddr>,
    /// This server knows the node or the server that calls.
    known: bool,
    /// A follower has passed it on.
    forwarded: bool,
}

/// Why a message was not read, as an answer.
fn unread(rule: &Rule, e: BodyError) -> Error {
    let kind = match e {
        BodyError::Long(_) => ErrorKind::TooLong,
        BodyError::Slow => ErrorKind::RequestTimeout,
        BodyError::Busy => ErrorKind::Busy,
        BodyError::Broken => ErrorKind::BadRequest,
    };
    Error::new(kind, format!("{}: {e}", rule.method))
}

/// Memory for messages, and how much is newly registered.
struct Budgets {
    nodes: Budget,
    strangers: Budget,
    servers: Budget,
    /// The number of nodes that an address may still register, and since when it has earned more.
    new_nodes: Mutex<HashMap<IpAddr, (f64, Instant)>>,
}

impl Default for Budgets {
    fn default() -> Budgets {
        let budget = |(all, of_one)| Budget::new(all, of_one);
        let (nodes, strangers, servers) = (budget(MESSAGES), budget(OF_STRANGERS), budget(OF_SERVERS));
        Budgets { nodes, strangers, servers, new_nodes: Mutex::default() }
    }
}

impl Budgets {
    /// Whether an address may register something new of that size.
    fn new_nodes(&self, address: IpAddr, bytes: usize) -> bool {
        let ((most, rate), now) = (NEW_NODES, Instant::now());
        let mut counted = self.new_nodes.lock();
        let earned = |(left, since): (f64, Instant)| (left + (now - since).as_secs_f64() * rate).min(most);
        if counted.len() >= COUNTED && !counted.contains_key(&address) {
            counted.retain(|_, entry| earned(*entry) < most);
        }
        if counted.len() >= COUNTED && !counted.contains_key(&address) {
            return false;
        }
        let entry = counted.entry(address).or_insert((most, now));
        let left = earned(*entry) - bytes as f64;
        *entry = (if left >= 0.0 { left } else { earned(*entry) }, now);
        left >= 0.0
    }
}

/// A service as the listener calls it, with the HTTP interface for everything that is no call.
pub struct Port {
    /// Answers the calls.
    pub service: Service,
    /// Answers the rest.
    pub interface: Arc<dyn Interface>,
}

impl Handler for Port {
    fn accepted(&self) {
        self.service.server.metrics().count("nomad.rpc.accept_conn", 1, &[]);
    }

    fn answer(self: Arc<Self>, peer: Peer, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async move {
            match wire::method(request.uri().path()).map(str::to_string) {
                Some(method) => self.service.answer(&peer, &method, request).await,
                None => {
                    let response = match self.service.check_names(&peer, &rules::INTERFACE) {
                        Ok(()) => self.interface.answer(request).await,
                        Err(e) => wire::refusal(e),
                    };
                    self.service.count(&response);
                    response
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_address_registers_so_many_new_nodes_and_earns_more() {
        let budgets = Budgets::default();
        let (one, other) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut taken = 0;
        while budgets.new_nodes(one, 1 << 20) {
            taken += 1;
        }
        assert_eq!(taken, 32);
        assert!(budgets.new_nodes(other, 1 << 20));
        tokio::time::advance(Duration::from_secs(17)).await;
        assert!(budgets.new_nodes(one, 1 << 20) && !budgets.new_nodes(one, 1 << 20));
    }
}
