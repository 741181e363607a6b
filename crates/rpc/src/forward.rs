//! Forwards HTTP API requests to another server over its RPC port.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response, Uri, Version, header};
use futures_util::future::BoxFuture;

use super::pool::Pool;
use super::service::Interface;
use super::wire::{CallError, FORWARDED};
use encamp_http::app::{AppState, Pending};
use encamp_http::forward::{Forward, Forwarded, FromAgent, PassedOn};
use encamp_model::outcome::{MAY_BE_DONE, NO_LEADER};
use encamp_server::Server;

/// Headers about a connection rather than a request.
const HOPS: &[HeaderName] =
    &[header::CONNECTION, header::HOST, header::TE, header::TRAILER, header::TRANSFER_ENCODING, header::UPGRADE];

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

impl Forward for Forwarder {
    fn forward(&self, mut request: Request<Body>) -> Pending<'_, Forwarded> {
        Box::pin(async move {
            let mut text = NO_LEADER.to_string();
            for address in self.addresses() {
                // Bodies are sent once: a connection must be there before one leaves.
                if let Err(e) = self.pool.reach(&address).await {
                    text = e.to_string();
                    continue;
                }
                let Ok(outgoing) = outgoing(&address, &mut request, self.to_leader()) else { continue };
                return match self.pool.send(&address, outgoing).await {
                    Ok(response) => Ok(response),
                    // The body is gone, but it did not arrive: whoever asked can do so again.
                    Err(CallError::Unreachable(e)) => Err((format!("{NO_LEADER}: {e}"), None)),
                    Err(CallError::Lost(e)) => Err((format!("{e}; {MAY_BE_DONE}"), None)),
                    Err(CallError::Refused(e)) => Err((e.message, None)),
                };
            }
            Err((text, Some(request)))
        })
    }
}

/// The request as the other server gets it; takes the body. `last`: that server answers, come what may.
fn outgoing(address: &str, request: &mut Request<Body>, last: bool) -> Result<Request<Body>, axum::http::Error> {
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let uri = Uri::builder().scheme("http").authority(address).path_and_query(path).build()?;
    let mut out = Request::builder().method(request.method().clone()).uri(uri).version(Version::HTTP_2).body(())?;
    *out.headers_mut() = request.headers().clone();
    for name in HOPS {
        out.headers_mut().remove(name);
    }
    out.headers_mut().remove(FORWARDED);
    if last {
        out.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
    }
    Ok(out.map(|()| std::mem::take(request.body_mut())))
}

/// Answers requests that another agent passed on.
pub struct PassedRequests(pub AppState);

impl Interface for PassedRequests {
    fn answer(&self, mut request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        if request.headers_mut().remove(FORWARDED).is_some() {
            request.extensions_mut().insert(PassedOn);
        }
        request.extensions_mut().insert(FromAgent);
        Box::pin(encamp_http::respond(self.0.clone(), request))
    }
}
