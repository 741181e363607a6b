//! A server as the other agents call it: it carries out calls from its own state, or has the leader carry them out.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Response};
use tokio::time::Instant;

use super::budgets::Budgets;
use super::call::Call;
use super::caller::Head;
use super::calls::Ping;
use super::gossip::Gossip;
use super::node_links::NodeLinks;
use super::pool::Pool;
use super::proof::Confirmed;
use super::wire::{self, CallError, FORWARDED};
use encamp_host::ids;
use encamp_raft::ServerId;
use encamp_server::{Error, Server};

/// How long a call waits for a leader.
const HOLD: Duration = Duration::from_secs(5);

/// How long a server that made a promise keeps it while no cluster comes of it.
const PROMISE: Duration = Duration::from_secs(60);

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
    pub(super) server: Server,
    pub(super) pool: Pool,
    pub(super) gossip: Gossip,
    pub(super) confirmed: Confirmed,
    pub(super) budgets: Arc<Budgets>,
    pub(super) links: NodeLinks,
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

    pub(super) fn leads(&self) -> bool {
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
        let head = Head { node: call.node(), ..Head::default() };
        match self.with_leader(C::METHOD, &head, &bytes, C::REPEATABLE).await? {
            Some(response) => wire::result(response).await,
            // Elected meanwhile.
            None => Ok(self.carry_out(call).await?),
        }
    }

    /// Sends a call to the leader; `None`: this server leads now.
    pub(super) async fn with_leader(
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
                let head = Head { node: head.node.clone(), server: self.pool.proof_for(id), level: None };
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
