//! The HTTP interface of an agent (`docs/spec/http-api.md`).
//!
//! [`router`] gives the service for an [`AppState`]. One table, [`routes`], gives for each path and method the handler,
//! the right that the caller needs, and the name in metrics. A handler is an `async fn(Request) -> Outcome` in the
//! module of its area; `docs/dev/add-an-http-route.md` shows how to add one. Nothing here decides about jobs, nodes or
//! plans: the rules of writes are in [`encamp_server::endpoints`].
//!
//! - [`mod@route`], [`pattern`]: what a route is, and what its path matches. [`request`], [`response`], [`error`],
//!   [`params`], [`paths`]: requests and answers. [`json`]: bodies. [`encode`]: compression.
//! - [`access`]: rights. [`authorization`] with `auth_limit` and `remote_access`: who calls, and for how long. `audit`: the rows of
//!   requests in the audit log.
//! - [`listener`], [`http1`] with `turn`, [`tls`]: connections. [`measure`]: what requests are called in metrics.
//!   [`page`], [`filter`], [`ids`]: lists. [`app`], [`local`]: what the interface needs of its
//!   agent. [`forward`]: requests for other servers. [`node_forward`], [`duplex`]: requests for the
//!   agents of other nodes.
//! - [`jobs`] with [`job_writes`], [`evals`], [`allocs`], [`deployments`], [`scaling`]: jobs and what comes of them.
//! - [`autoscale`]: worker pools that size themselves.
//! - The endpoints, by area: [`plain`], [`status`], [`agent`], [`host`] with [`host_addresses`], [`monitor`];
//!   [`nodes`], [`pools`], [`namespaces`], [`operator`], [`search`], [`services`], [`volumes`] with [`host_volumes`],
//!   [`variables`], [`keyring`], [`snapshots`], [`acl`]; [`events`].
//! - What the node agent answers: [`client`], [`fs`], [`exec`] over a [`websocket`].
//!
//! **May use** `encamp_acl`, `encamp_audit`, `encamp_autoscale`, `encamp_client`, `encamp_host`, `encamp_jobspec`, `encamp_model`,
//! `encamp_ops`, `encamp_raft`, `encamp_server`, `encamp_state`, `encamp_telemetry`. **Never** holds rules of writes.

#![warn(missing_docs)]

pub mod access;
#[cfg(test)]
mod access_matrix_tests;
pub(crate) mod acl;
#[cfg(test)]
mod acl_enforce_tests;
#[cfg(test)]
mod acl_tests;
pub mod agent;
pub mod allocs;
pub mod app;
pub(crate) mod audit;
#[cfg(test)]
mod audit_tests;
pub(crate) mod auth_limit;
pub(crate) mod authorization;
pub mod autoscale;
pub mod bodies;
pub mod client;
pub mod deployments;
pub mod duplex;
pub mod encode;
pub mod error;
pub mod evals;
pub mod events;
pub mod exec;
pub mod filter;
pub mod forward;
pub mod fs;
mod gc;
pub mod gossip_keys;
pub mod host;
pub(crate) mod host_addresses;
pub mod host_volumes;
pub mod http1;
pub mod ids;
#[cfg(test)]
mod job_tests;
pub(crate) mod job_writes;
pub mod jobs;
pub mod json;
pub mod keyring;
pub mod listener;
pub mod local;
pub mod measure;
pub mod monitor;
mod named_server;
pub mod namespaces;
pub mod node_forward;
pub mod nodes;
pub mod operator;
#[cfg(test)]
mod oracle_tests;
pub mod page;
pub mod params;
pub mod paths;
pub(crate) mod pattern;
pub mod plain;
pub mod pools;
pub(crate) mod remote_access;
pub mod request;
pub mod response;
pub mod route;
pub mod routes;
pub mod scaling;
pub mod search;
#[cfg(test)]
mod secret_tests;
pub mod services;
#[cfg(test)]
mod shapes;
pub mod snapshots;
pub mod status;
pub mod task_api;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod tls;
mod turn;
pub mod variables;
pub mod volumes;
pub mod websocket;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

pub use app::AppState;
use audit::Trail;
use authorization::Authorization;
use encode::accepted;
use error::Error;
use forward::Passed;
use http1::{Origin, Peer};
use measure::Metric;
use request::Request;
use response::Response;
use routes::Found;

use encamp_model::format_duration;
use encamp_server::acl::Denied;

/// The service.
pub fn router(app: AppState) -> Router {
    Router::new().fallback(answer).with_state(app)
}

async fn answer(State(app): State<AppState>, request: axum::extract::Request) -> axum::response::Response {
    respond(app, request).await
}

/// Answers any request, or has another server answer it.
pub async fn respond(app: AppState, request: axum::extract::Request) -> axum::response::Response {
    if !tracing::event_enabled!(target: "http", tracing::Level::DEBUG) {
        return answer_audited(app, request).await;
    }
    let (begin, method, uri) = (Instant::now(), request.method().clone(), request.uri().clone());
    let response = answer_audited(app, request).await;
    let nanos = i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX);
    let (code, duration) = (response.status().as_u16(), format_duration(nanos));
    let path = &*params::without_token(&uri);
    tracing::debug!(target: "http", method = method.as_str(), path, code, duration, "request complete");
    response
}

async fn answer_audited(app: AppState, request: axum::extract::Request) -> axum::response::Response {
    match app.audit().cloned() {
        Some(log) => audit::respond(app, log, request).await,
        None => answer_here_or_there(app, request).await,
    }
}

async fn answer_here_or_there(app: AppState, mut request: axum::extract::Request) -> axum::response::Response {
    let encoding = accepted(request.headers());
    if let Some(origin @ Origin::Task(_)) = origin_of(&request)
        && let Err(refused) = task_api::check(&app, &origin, request::token_of(request.headers()).to_string()).await
    {
        return Response::error(refused).finish(false, encoding);
    }
    let query = params::Query::parse(request.uri().query().unwrap_or_default());
    let pretty = query.has("pretty") && query.get("pretty") != "0";
    let path = params::percent_decode(request.uri().path()).into_owned();
    let cors = routes::cors(&path);
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let found = routes::find(&method, &path);
    let trail = request.extensions().get::<Trail>().cloned();
    let failure = |e: Error| {
        if let Some(trail) = &trail {
            trail.failed(&e.message);
        }
        Response::error(e)
    };
    if app.forward().is_some()
        && let Some(by) = found.answered_by()
    {
        match forward::pass_on(&app, by, request).await {
            Ok(Passed::Here(back)) => request = back,
            Ok(Passed::Answered(response)) => {
                if let Some(trail) = &trail {
                    trail.forwarded();
                }
                return response;
            }
            Err(e) => return failure(e).finish(pretty, encoding),
        }
    }
    let mut response = match cors.and_then(|methods| preflight(&method, &headers, methods)) {
        Some(response) => response,
        None => dispatch(app, request, path, found).await.unwrap_or_else(failure),
    };
    if let Some(methods) = cors {
        share(&mut response, &method, &headers, methods);
    }
    response.finish(pretty, encoding)
}

async fn dispatch(
    app: AppState,
    request: axum::extract::Request,
    path: String,
    found: Found,
) -> Result<Response, Error> {
    let peer = request.extensions().get::<axum::extract::ConnectInfo<SocketAddr>>().map(|c| c.0);
    let moved = |to: &str| {
        let query = request.uri().query().map(|q| format!("?{q}")).unwrap_or_default();
        Ok(plain::redirect(*request.method() == Method::GET, &format!("{}{query}", paths::encode(to))))
    };
    let cleaned = paths::clean(&path);
    if cleaned != path && *request.method() != Method::CONNECT {
        return moved(&cleaned);
    }
    match found {
        Found::Route(matched) => {
            let metric = if app.server().is_some() { matched.route.metric } else { Metric::NotCounted };
            let trail = request.extensions().get::<Trail>().cloned();
            let (begin, metrics, handler) = (Instant::now(), app.metrics().clone(), matched.route.handler);
            let own_token = matched.route.has_own_token();
            let token = if own_token { "" } else { request::token_of(request.headers()) };
            let authorization = Arc::new(Authorization::begin(&app, token, trail).await);
            if let Some(denied) = authorization.denied() {
                refuse_guesses(&app, origin_of(&request).as_ref(), denied)?;
            }
            if authorization.is_leaders() && !matched.route.serves_leader() {
                return Err(Error::denied());
            }
            let request = Request::new(app, request, path, matched, peer, authorization.clone());
            let outcome = match node_forward::elsewhere(&request) {
                Ok(None) => handler(request).await,
                Ok(Some(to)) => node_forward::forward(request, to).await,
                Err(e) => Err(e),
            };
            metric.record(&metrics, begin.elapsed());
            outcome.map(|response| response.while_authorized(authorization))
        }
        Found::OtherMethod(_) => Err(Error::method()),
        Found::AddSlash => moved(&format!("{path}/")),
        Found::Nothing => Ok(Response::empty().status(404)),
    }
}

/// Where a request comes from; none if another agent has passed it on.
fn origin_of(request: &axum::extract::Request) -> Option<Origin> {
    request.extensions().get::<ConnectInfo<Peer>>().map(|c| c.0.origin.clone())
}

/// Counts a request whose token is not valid.
///
/// # Errors
/// 429: its origin sent too many unknown tokens.
fn refuse_guesses(app: &AppState, origin: Option<&Origin>, denied: Denied) -> Result<(), Error> {
    app.metrics().count("nomad.acl.auth_failures", 1, &[]);
    let (Some(origin), Denied::Unknown | Denied::Malformed) = (origin, denied) else { return Ok(()) };
    app.auth_limit().lock().failed(origin, encamp_host::ids::now()).map_err(|wait| {
        app.metrics().count("nomad.acl.auth_throttled", 1, &[]);
        let seconds = wait.as_secs().max(1);
        Error::new(429, format!("Too many requests with unknown tokens from {origin}; try again in {seconds} s"))
    })
}

/// The answer to a browser that asks whether it may (`docs/spec/http-api.md §1.3`).
fn preflight(method: &Method, headers: &HeaderMap, methods: &[&str]) -> Option<Response> {
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?;
    if *method != Method::OPTIONS || !headers.contains_key(header::ORIGIN) {
        return None;
    }
    let mut response = Response::empty().status(204);
    for name in ["Access-Control-Request-Method", "Access-Control-Request-Headers"] {
        response.headers.append(header::VARY, HeaderValue::from_static(name));
    }
    if methods.contains(&asked) {
        response = response.header(header::ACCESS_CONTROL_ALLOW_METHODS, asked);
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            response.headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    Some(response)
}

/// Lets other sites read an answer.
fn share(response: &mut Response, method: &Method, headers: &HeaderMap, methods: &[&str]) {
    response.headers.append(header::VARY, HeaderValue::from_static("Origin"));
    let allowed = *method == Method::OPTIONS || methods.contains(&method.as_str());
    if headers.contains_key(header::ORIGIN) && allowed {
        let mut add = |name: HeaderName, value| response.headers.insert(name, HeaderValue::from_static(value));
        add(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        add(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, "true");
    }
}
