//! The HTTP interface of an agent (`docs/spec/http-api.md`).
//!
//! [`router`] gives the service for an [`AppState`]. One [table](routes::table) gives for each path and method the
//! handler, the right that the caller needs, and the name in metrics. A handler is an `async fn(Request) -> Outcome` in
//! the module of its area; `docs/dev/add-an-http-route.md` shows how to add one. Nothing here decides about jobs, nodes
//! or plans: the rules of writes are in [`encamp_server::endpoints`].
//!
//! [`serve`]: connections. `identity_providers`: logins with identities of other systems. [`agent`]: what the interface
//! needs of its agent. [`access`]: rights, and the rows of the audit log. [`request`]: requests and responses. [`api`]:
//! the handlers, by area. [`routes`]: the table. [`task_api`]: the interface on the sockets of tasks.
//!
//! **May use** `encamp_acl`, `encamp_audit`, `encamp_autoscale`, `encamp_client`, `encamp_host`, `encamp_jobspec`,
//! `encamp_model`, `encamp_ops`, `encamp_raft`, `encamp_server`, `encamp_state`, `encamp_telemetry`. **Never** holds rules
//! of writes.

#![warn(missing_docs)]

pub mod access;
pub mod agent;
pub mod api;
pub mod error;
mod identity_providers;
pub mod request;
pub mod routes;
pub mod serve;
pub mod task_api;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use access::audit_trail::Trail;
use access::authorization::Authorization;
pub use agent::state::AppState;
use error::Error;
use request::forward::Passed;
use request::response::Response;
use request::routed_request::Request;
use routes::metric::Metric;
use routes::table::Found;
use serve::encode::accepted;
use serve::http1::{Origin, Peer};

use api::outside_api;
use request::{forward, node_forward, params, paths};

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
        Some(log) => access::audit_trail::respond(app, log, request).await,
        None => answer_here_or_there(app, request).await,
    }
}

async fn answer_here_or_there(app: AppState, mut request: axum::extract::Request) -> axum::response::Response {
    let encoding = accepted(request.headers());
    if let Some(origin @ Origin::Task(_)) = origin_of(&request)
        && let Err(refused) =
            task_api::check(&app, &origin, request::routed_request::token_of(request.headers()).to_string()).await
    {
        return Response::error(refused).finish(false, encoding);
    }
    let query = params::Query::parse(request.uri().query().unwrap_or_default());
    let pretty = query.has("pretty") && query.get("pretty") != "0";
    let path = params::percent_decode(request.uri().path()).into_owned();
    let cors = routes::table::cors(&path);
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let found = routes::table::find(&method, &path);
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
        Ok(outside_api::redirect(*request.method() == Method::GET, &format!("{}{query}", paths::encode(to))))
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
            let token = if own_token { "" } else { request::routed_request::token_of(request.headers()) };
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
