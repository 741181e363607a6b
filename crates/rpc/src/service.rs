//! Answers calls: from this server's own state, or by the leader.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Request, Response};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::calls::*;
use super::gossip::Gossip;
use super::listener::Handler;
use super::pool::Pool;
use super::wire::{self, CallError, FORWARDED};
use encamp_host::ids;
use encamp_raft::ServerId;
use encamp_server::endpoints::identity;
use encamp_server::endpoints::node_rpc::{self, NodeAnswer};
use encamp_server::errands;
use encamp_server::{Error, Server};

/// How long a call waits for a leader.
const HOLD: Duration = Duration::from_secs(5);

/// How long a server that made a promise keeps it while no cluster comes of it.
const PROMISE: Duration = Duration::from_secs(60);

/// Requests of the HTTP interface that came over the RPC port.
pub trait Interface: Send + Sync + 'static {
    /// One request.
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;
}

/// What answers the calls of a server's RPC port; clones share it.
#[derive(Clone)]
pub struct Service {
    server: Server,
    pool: Pool,
    gossip: Gossip,
    /// Who may make the first cluster with this server, and since when.
    promised: Arc<tokio::sync::Mutex<Option<(ServerId, Instant)>>>,
}

impl Service {
    /// For a server; `pool` reaches the others.
    pub fn new(server: Server, pool: Pool, gossip: Gossip) -> Service {
        Service { server, pool, gossip, promised: Arc::default() }
    }

    /// The servers that are known.
    pub fn gossip(&self) -> &Gossip {
        &self.gossip
    }

    /// Promises a server to let it make the first cluster, and nobody else for a while.
    ///
    /// # Errors
    /// There is a log already, or an earlier promise to another one.
    pub async fn promise(&self, by: ServerId) -> Result<(), String> {
        let mut promised = self.promised.lock().await;
        if self.server.consensus().has_log().await {
            return Err("belongs to a cluster already".into());
        }
        if let Some((other, _)) = promised.filter(|(other, since)| *other != by && since.elapsed() < PROMISE) {
            return Err(format!("has promised to follow {other}"));
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
        let bytes = encamp_ops::codec::encode(&call).map_err(Error::internal)?;
        match self.with_leader(C::METHOD, &bytes, C::REPEATABLE).await? {
            Some(response) => wire::result(response).await,
            // Elected meanwhile.
            None => Ok(self.carry_out(call).await?),
        }
    }

    /// Sends a call to the leader; `None`: this server leads now.
    async fn with_leader(
        &self,
        method: &str,
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
            if let Some(leader) = self.server.leader_address().filter(|a| *a != own) {
                let mut request = wire::raw_request(&leader, method, bytes.to_vec())?;
                request.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
                match self.pool.send(&leader, request).await {
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

    async fn dispatch(&self, method: &str, forwarded: bool, bytes: Bytes) -> Response<Body> {
        macro_rules! route {
            ($($call:ty),* $(,)?) => {
                match method {
                    $(<$call>::METHOD => self.one::<$call>(forwarded, &bytes).await,)*
                    _ => wire::response::<()>(Err(Error::not_found(format!("rpc: can't find method {method}")))),
                }
            };
        }
        route!(
            Ping,
            super::raft::Envelope,
            Register,
            UpdateStatus,
            SignIdentities,
            GetClientAllocs,
            GetClientAllocsConsistent,
            GetAllocs,
            UpdateAlloc,
            EmitEvents,
            UpsertServices,
            DeleteService,
            DrainSelf,
            GetNode,
            Meet,
            ForceLeave,
            Claim,
            RunErrand,
            Stand,
            RemovePeer,
        )
    }

    async fn one<C: Call>(&self, forwarded: bool, bytes: &[u8]) -> Response<Body>
    where
        Service: Answers<C>,
    {
        // What was forwarded once is not forwarded again: leadership moved, and the first server asks the next one.
        if !C::ANYWHERE && !forwarded && !self.leads() {
            match self.with_leader(C::METHOD, bytes, C::REPEATABLE).await {
                Ok(Some(response)) => return response,
                Ok(None) => {}
                Err(CallError::Refused(e)) => return wire::response::<()>(Err(e)),
                Err(e) => return wire::response::<()>(Err(Error::internal(e.to_string()))),
            }
        }
        let done = match wire::read::<C>(bytes) {
            Ok(call) => self.carry_out(call).await,
            Err(e) => Err(e),
        };
        wire::response(done)
    }

    fn reply(&self, a: NodeAnswer) -> NodeResult {
        NodeResult {
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
pub fn hold_pause() -> Duration {
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
    Register |s, c| node_rpc::register(&s.server, *c.node, &c.token).await.map(|a| s.reply(a));
    UpdateStatus |s, c| {
        let Who { node_id, secret_id, identity } = &c.who;
        let answer = node_rpc::update_status(&s.server, node_id, secret_id, identity, &c.status).await;
        answer.map(|a| s.reply(a))
    };
    SignIdentities |s, c| identity::sign(&s.server, &c.who.node_id, &c.who.secret_id, c.wanted).await;
    GetClientAllocs |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetClientAllocsConsistent |s, c| client_allocs(s, &c.who, c.min_index, c.max_wait).await;
    GetAllocs |s, c| {
        let (allocs, index) = node_rpc::allocs(&s.server, &c.who.node_id, &c.who.secret_id, &c.ids, c.min_index).await?;
        Ok(FullAllocs { allocs, index })
    };
    UpdateAlloc |s, c| node_rpc::update_allocs(&s.server, &c.who.node_id, &c.who.secret_id, c.allocs).await;
    EmitEvents |s, c| node_rpc::emit_events(&s.server, &c.who.node_id, &c.who.secret_id, c.events).await;
    UpsertServices |s, c| {
        node_rpc::upsert_services(&s.server, &c.who.node_id, &c.who.secret_id, c.services).await
    };
    DeleteService |s, c| {
        node_rpc::delete_service(&s.server, &c.who.node_id, &c.who.secret_id, &c.namespace, &c.id).await
    };
    DrainSelf |s, c| {
        node_rpc::drain_self(&s.server, &c.who.node_id, &c.who.secret_id, c.strategy, c.meta).await
    };
    Meet |s, c| {
        s.gossip.meet(vec![c.from]).await;
        Ok(s.gossip.alive())
    };
    ForceLeave |s, c| Ok(s.gossip.force_leave(&c.name, c.prune));
    Claim |s, c| {
        s.is_me(c.to)?;
        s.promise(c.by).await.map_err(Error::internal)
    };
    Stand |s, c| {
        s.is_me(c.to)?;
        s.server.consensus().elect().await.map_err(Error::internal)
    };
    RunErrand |s, c| errands::carry_out(&s.server, c.errand).await;
    RemovePeer |s, c| s.server.consensus().remove_member(c.id).await.map_err(Error::internal);
    GetNode |s, c| node_rpc::own_node(&s.server, &c.who.node_id, &c.who.secret_id);
}

async fn client_allocs(s: &Service, who: &Who, min_index: u64, max_wait: Duration) -> Result<AllocIndexes, Error> {
    let (allocs, index) = node_rpc::client_allocs(&s.server, &who.node_id, &who.secret_id, min_index, max_wait).await?;
    Ok(AllocIndexes { allocs, index })
}

/// Only servers send plans and entries of the log; arguments of other calls are short.
fn longest(method: &str) -> usize {
    match method {
        super::raft::Envelope::METHOD | RunErrand::METHOD => wire::MAX_MESSAGE,
        _ => wire::LONGEST_CALL,
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
    fn answer(self: Arc<Self>, _: SocketAddr, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(async move {
            let Some(method) = wire::method(request.uri().path()).map(str::to_string) else {
                return self.interface.answer(request).await;
            };
            let forwarded = request.headers().contains_key(FORWARDED);
            match wire::at_most(request.into_body(), longest(&method)).await {
                Ok(bytes) => self.service.dispatch(&method, forwarded, bytes).await,
                Err(text) => wire::response::<()>(Err(Error::bad(text))),
            }
        })
    }
}
