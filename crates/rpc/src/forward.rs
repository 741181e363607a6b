//! Forwards HTTP API requests to another server over its RPC port.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;

use super::passing;
use super::pool::Pool;
use super::service::Interface;
use super::wire::CallError;
use encamp_http::agent::pending::Pending;
use encamp_http::agent::servers::{Forward, Forwarded};
use encamp_http::agent::state::AppState;
use encamp_model::outcome::{MAY_BE_DONE, NO_LEADER};
use encamp_server::Server;

/// To whom requests go.
pub enum Target {
    /// The leader, as this server knows it.
    LeaderOf(Box<Server>),
    /// Any server of a list.
    Any(Arc<dyn Fn() -> Vec<String> + Send + Sync>),
}

/// Passes requests on.
pub struct Forwarder {
    pool: Pool,
    target: Target,
}

impl Forwarder {
    /// A forwarder with connections of its own, because answers may go on for long.
    pub fn new(pool: &Pool, target: Target) -> Forwarder {
        Forwarder { pool: pool.another(), target }
    }

    /// Whether requests go to the leader; any other server passes them on itself.
    fn to_leader(&self) -> bool {
        matches!(self.target, Target::LeaderOf(_))
    }

    fn addresses(&self) -> Vec<String> {
        match &self.target {
            Target::LeaderOf(server) => {
                let own = server.settings().rpc_address.clone();
                server.leader_address().filter(|a| *a != own).into_iter().collect()
            }
            Target::Any(list) => list(),
        }
    }
}

impl Forwarder {
    /// Sends a request to the first of some servers that is reached. `last`: that one answers, come what may.
    async fn send(&self, addresses: Vec<String>, mut request: Request<Body>, last: bool) -> Forwarded {
        let mut text = NO_LEADER.to_string();
        for address in addresses {
            // Bodies are sent once: a connection must be there before one leaves.
            if let Err(e) = self.pool.reach(&address).await {
                text = e.to_string();
                continue;
            }
            let Ok((outgoing, websocket)) = passing::outgoing(&address, &mut request, last) else {
                continue;
            };
            return match self.pool.send(&address, outgoing).await {
                Ok(response) => Ok(passing::incoming(response, websocket)),
                // The body is gone, but it did not arrive: whoever asked can do so again.
                Err(CallError::Unreachable(e)) => Err((format!("{NO_LEADER}: {e}"), None)),
                Err(CallError::Lost(e)) => Err((format!("{e}; {MAY_BE_DONE}"), None)),
                Err(CallError::Refused(e)) => Err((e.message, None)),
            };
        }
        Err((text, Some(request)))
    }
}

impl Forward for Forwarder {
    fn forward(&self, request: Request<Body>) -> Pending<'_, Forwarded> {
        Box::pin(self.send(self.addresses(), request, self.to_leader()))
    }

    fn to_server<'a>(&'a self, address: &'a str, request: Request<Body>) -> Pending<'a, Forwarded> {
        Box::pin(self.send(vec![address.to_string()], request, true))
    }
}

/// Answers requests that another agent passed on.
pub struct PassedRequests(pub AppState);

impl Interface for PassedRequests {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        Box::pin(passing::answer(self.0.clone(), request))
    }
}
