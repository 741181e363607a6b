//! The other servers of the cluster: requests that are forwarded to them, and their membership.

use axum::body::Body;
use axum::http::{Request, Response};

use super::gossip_keys::{KeysFailure, KeysReport};
use super::pending::Pending;
use encamp_model::KeyChange;
use encamp_server::leadership::peers::KnownServer;

/// Marks a request that was passed on once; it is answered here, come what may.
#[derive(Debug, Clone, Copy)]
pub struct PassedOn;

/// Marks a request that another agent received.
#[derive(Debug, Clone, Copy)]
pub struct FromAgent;

/// The answer of another server; or why there is none, with the request if it can be sent again.
pub type Forwarded = Result<Response<Body>, (String, Option<Request<Body>>)>;

/// Reaches other servers.
pub trait Forward: Send + Sync {
    /// Passes a request on to the leader; for an agent without a server, to any server.
    ///
    /// # Errors
    /// The text about a server that could not be reached, and the request if it can be sent again.
    fn forward(&self, request: Request<Body>) -> Pending<'_, Forwarded>;

    /// Passes a request on to the server at an RPC address, which answers it.
    ///
    /// # Errors
    /// As [`Forward::forward`].
    fn to_server<'a>(&'a self, address: &'a str, request: Request<Body>) -> Pending<'a, Forwarded>;
}

/// The servers of the cluster, as the server of this agent knows them.
pub trait Membership: Send + Sync {
    /// All that were heard of, by name.
    fn members(&self) -> Vec<KnownServer>;

    /// Whether what they tell each other is encrypted.
    fn encrypted(&self) -> bool;

    /// Joins servers at those addresses; gives how many answered, and what went wrong with the others.
    fn join(&self, addresses: Vec<String>) -> Pending<'_, (usize, Vec<String>)>;

    /// A server that does not answer has left for good; `prune`: it is forgotten.
    fn force_leave(&self, name: String, prune: bool) -> Pending<'_, ()>;

    /// The keys that encrypt gossip on all servers that are alive, after a change of them if there is one.
    fn gossip_keys(&self, change: Option<KeyChange>) -> Pending<'_, Result<KeysReport, KeysFailure>>;
}
