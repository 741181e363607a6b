//! Requests of the HTTP API that one agent passes on to another one over HTTP/2, websockets included.
//!
//! HTTP/2 has no upgrades: a request for a websocket carries the mark [`WEBSOCKET`], and its bytes are the body of the
//! request and the body of the answer ([`encamp_http::serve::duplex`]). The agents at both ends translate.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Request, Response, StatusCode, Uri, Version, header};
use tokio::io::AsyncWrite;

use super::wire::FORWARDED;
use encamp_http::AppState;
use encamp_http::agent::servers::{FromAgent, PassedOn};
use encamp_http::request::node_forward::asks_for_upgrade;
use encamp_http::serve::duplex::{self, Opened, Upgrade};

/// Headers about a connection rather than a request.
const HOPS: &[HeaderName] =
    &[header::CONNECTION, header::HOST, header::TE, header::TRAILER, header::TRANSFER_ENCODING, header::UPGRADE];

/// Marks a request for a websocket, and the answer that opens it.
const WEBSOCKET: HeaderName = HeaderName::from_static("x-encamp-websocket");
const YES: HeaderValue = HeaderValue::from_static("1");
/// How long the caller of a websocket that has ended has to end its side.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// The websocket of a request that was passed on: where the client's bytes go when the answer opens it.
pub(crate) struct Pending {
    upgrade: Upgrade,
    to_agent: Box<dyn AsyncWrite + Send + Unpin>,
}

/// The request as the agent at an address gets it; takes the body. `last`: that agent answers, come what may.
pub(crate) fn outgoing(
    address: &str,
    request: &mut Request<Body>,
    last: bool,
) -> Result<(Request<Body>, Option<Pending>), axum::http::Error> {
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str());
    let uri = Uri::builder().scheme("http").authority(address).path_and_query(path).build()?;
    let mut out = Request::builder().method(request.method().clone()).uri(uri).version(Version::HTTP_2).body(())?;
    *out.headers_mut() = request.headers().clone();
    for name in HOPS {
        out.headers_mut().remove(name);
    }
    out.headers_mut().remove(FORWARDED);
    out.headers_mut().remove(WEBSOCKET);
    if last {
        out.headers_mut().insert(FORWARDED, HeaderValue::from_static("1"));
    }
    let upgrade = if asks_for_upgrade(request.headers()) { Upgrade::take(request.extensions_mut()) } else { None };
    let Some(upgrade) = upgrade else { return Ok((out.map(|()| std::mem::take(request.body_mut())), None)) };
    out.headers_mut().insert(WEBSOCKET, YES);
    out.headers_mut().remove(header::CONTENT_LENGTH);
    let (writer, body) = duplex::writer();
    Ok((out.map(|()| body), Some(Pending { upgrade, to_agent: Box::new(writer) })))
}

/// The answer as the caller gets it. A websocket that it opens lives until one side ends it.
pub(crate) fn incoming(response: Response<Body>, pending: Option<Pending>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let (Some(Pending { upgrade, to_agent }), Some(_)) = (pending, parts.headers.remove(WEBSOCKET)) else {
        return Response::from_parts(parts, body);
    };
    parts.status = StatusCode::SWITCHING_PROTOCOLS;
    parts.headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    parts.headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    let agent = duplex::join(duplex::reader(body), to_agent);
    tokio::spawn(async move {
        match upgrade.connection().await {
            Ok(caller) => {
                if let Err(e) = duplex::copy(caller, agent, CLOSE_WAIT).await {
                    tracing::debug!(target: "rpc", error = %e, "a websocket broke");
                }
            }
            Err(e) => tracing::debug!(target: "rpc", error = %e, "a websocket did not open"),
        }
    });
    Response::from_parts(parts, Body::empty())
}

/// Answers a request that another agent has passed on.
pub(crate) async fn answer(app: AppState, mut request: Request<Body>) -> Response<Body> {
    if request.headers_mut().remove(FORWARDED).is_some() {
        request.extensions_mut().insert(PassedOn);
    }
    request.extensions_mut().insert(FromAgent);
    if request.headers_mut().remove(WEBSOCKET).is_none() {
        return encamp_http::respond(app, request).await;
    }
    let from_agent = duplex::reader(std::mem::take(request.body_mut()));
    let (writer, body) = duplex::writer();
    request.extensions_mut().insert(Opened::new(duplex::join(from_agent, writer)));
    for (name, value) in [(header::UPGRADE, "websocket"), (header::CONNECTION, "Upgrade")] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let mut response = encamp_http::respond(app, request).await;
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return response;
    }
    *response.status_mut() = StatusCode::OK;
    for name in HOPS {
        response.headers_mut().remove(name);
    }
    response.headers_mut().insert(WEBSOCKET, YES);
    response.map(|_| body)
}
