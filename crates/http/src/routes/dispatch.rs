//! Finds the route of a request, decides which agent answers, checks the permission, and calls the handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method};

use super::cors;
use super::find::{Found, Matched, find};
use super::metric::Metric;
use super::web_ui;
use super::while_authorized::while_authorized;
use crate::access::audit_trail::Trail;
use crate::access::authorization::Authorization;
use crate::access::permission::Permission;
use crate::access::token_check::{check_task_token, refuse_guesses};
use crate::agent::state::AppState;
use crate::error::Error;
use crate::request::forward::{Passed, pass_on};
use crate::request::params::{Query, percent_decode};
use crate::request::response::{Outcome, Response};
use crate::request::routed_request::Target;
use crate::request::token::token_of;
use crate::request::{Request, node_forward, paths};
use crate::serve::encode::accepted;
use crate::serve::http1::{Origin, Peer};

/// Answers a request, or has another server answer it.
pub(crate) async fn answer_here_or_there(
    app: AppState,
    mut request: axum::extract::Request,
) -> axum::response::Response {
    let encoding = accepted(request.headers());
    let origin = origin_of(&request);
    if let Some(task @ Origin::Task(_)) = &origin
        && let Err(refused) = check_task_token(&app, task, token_of(request.headers()).to_string()).await
    {
        return Response::error(refused).finish(false, encoding);
    }
    if let Some(pages) = web_ui::pages_for(&app, &request, origin.as_ref()) {
        return web_ui::answer(&app, pages, request, origin.as_ref(), encoding).await;
    }
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let pretty = query.has("pretty") && query.get("pretty") != "0";
    let path = percent_decode(request.uri().path()).into_owned();
    let cors = cors::methods(&path);
    let (method, headers) = (request.method().clone(), request.headers().clone());
    let found = find(&method, &path);
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
        match pass_on(&app, by, request).await {
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
    let mut response = match cors.and_then(|methods| cors::preflight(&method, &headers, methods)) {
        Some(response) => response,
        None => dispatch(app, request, path, found).await.unwrap_or_else(failure),
    };
    if let Some(methods) = cors {
        cors::share(&mut response, &method, &headers, methods);
    }
    response.finish(pretty, encoding)
}

/// Answers a request on this agent, or on that of a node.
async fn dispatch(app: AppState, request: axum::extract::Request, path: String, found: Found) -> Outcome {
    let moved = |to: &str| {
        let query = request.uri().query().map(|q| format!("?{q}")).unwrap_or_default();
        Ok(Response::redirect(*request.method() == Method::GET, &format!("{}{query}", paths::encode(to))))
    };
    let cleaned = paths::clean(&path);
    if cleaned != path && *request.method() != Method::CONNECT {
        return moved(&cleaned);
    }
    match found {
        Found::Route(matched) => answer_route(app, request, path, matched).await,
        Found::OtherMethod(_) => Err(Error::method()),
        Found::AddSlash => moved(&format!("{path}/")),
        Found::Nothing => Ok(Response::empty().status(404)),
    }
}

/// Answers a request by the handler of its route, if the caller has the permission that the route needs.
async fn answer_route(app: AppState, request: axum::extract::Request, path: String, matched: Matched) -> Outcome {
    let Matched { route, parameters } = matched;
    let metric = if app.server().is_some() { route.metric } else { Metric::NotCounted };
    let (begin, metrics) = (Instant::now(), app.metrics().clone());
    let trail = request.extensions().get::<Trail>().cloned();
    let origin = origin_of(&request);
    let authorization = authorization(&app, request.headers(), route.permission, trail, origin).await?;
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|c| c.0);
    let (prefix, permission, audited) = (route.path.prefix(), route.permission, route.audited);
    let target = Target { prefix, parameters, permission, audited };
    let request = Request::new(app, request, path, target, peer, authorization.clone());
    let outcome = match node_forward::elsewhere(&request, route.answered_by) {
        Ok(None) => match request.check_permission() {
            Ok(()) => (route.handler)(request).await,
            Err(e) => Err(e),
        },
        Ok(Some(to)) => node_forward::forward(request, to).await,
        Err(e) => Err(e),
    };
    metric.record(&metrics, begin.elapsed());
    outcome.map(|response| while_authorized(response, authorization))
}

/// Resolves the token of a request.
///
/// # Errors
/// 429: its origin guesses tokens. 403: the token is the leader's, which the route does not accept.
async fn authorization(
    app: &AppState,
    headers: &HeaderMap,
    permission: Permission,
    trail: Option<Trail>,
    origin: Option<Origin>,
) -> Result<Arc<Authorization>, Error> {
    let token = if permission == Permission::MigrateToken { "" } else { token_of(headers) };
    let authorization = Authorization::begin(app, token, trail).await;
    if let Some(denied) = authorization.denied() {
        refuse_guesses(app, origin.as_ref(), denied)?;
    }
    if authorization.is_leaders() && !permission.accepts_leader() {
        return Err(Error::denied());
    }
    Ok(Arc::new(authorization))
}

/// Where a request comes from; none if another agent has passed it on.
fn origin_of(request: &axum::extract::Request) -> Option<Origin> {
    request.extensions().get::<ConnectInfo<Peer>>().map(|c| c.0.origin.clone())
}
