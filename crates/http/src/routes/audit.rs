//! Requests in the audit log (`docs/spec/agent-config.md §5.13`): [`respond`] surrounds the answer to a request. It
//! writes that the request was received before anything is carried out, and how it went before the answer is sent.
//! Sessions over a websocket ([`exec`](crate::api::exec)) write their rows themselves, because their token is in the
//! first message.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderName, Request, header};

use super::dispatch::answer_here_or_there;
use super::find::{Found, find};
use crate::access::audit_trail::{RECEIVED_FROM, REQUEST_ID, Trail};
use crate::access::authorization::Authorization;
use crate::agent::servers::FromAgent;
use crate::agent::state::AppState;
use crate::error::Error;
use crate::request::params::{Query, percent_decode};
use crate::request::pattern;
use crate::request::read_options::namespace_of;
use crate::request::response::Response;
use crate::request::token::token_of;
use crate::serve::http1::Peer;
use crate::serve::websocket;
use encamp_audit::event::{NamespaceInfo, NodeMeta, RequestMeta};
use encamp_audit::{AuditLog, RequestInfo};
use encamp_host::ids;

/// Parameters of queries that name objects or change what a request does. None of them holds a secret.
const PARAMETERS: &[&str] =
    &["task", "action", "allocID", "path", "purge", "global", "force", "all", "id", "address", "node", "node_id"];

/// Answers a request, with its rows in the audit log.
pub(super) async fn respond(app: AppState, log: Arc<AuditLog>, mut request: Request<Body>) -> axum::response::Response {
    let path = percent_decode(request.uri().path()).into_owned();
    let describe = || describe(&app, log.node(), &request, &path);
    let Some(trail) = Trail::begin(log.clone(), &path, request.method().as_str(), describe) else {
        return answer_here_or_there(app, request).await;
    };
    // The rows have to say who calls, also where another agent answers.
    let token = token_of(request.headers()).to_string();
    drop(Authorization::begin(&app, &token, Some(trail.clone())).await);
    if !is_session(&request)
        && let Err(e) = trail.received().await
    {
        return refusal(format!("The request was not carried out because it could not be recorded: {e}"));
    }
    request.extensions_mut().insert(trail.clone());
    let response = answer_here_or_there(app, request).await;
    let status = response.status();
    if status == axum::http::StatusCode::SWITCHING_PROTOCOLS {
        // The session goes on, and says when it ends.
        return response;
    }
    let index = response.headers().get("x-nomad-index").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    match trail.complete(status.as_u16(), index).await {
        Ok(()) => response,
        Err(e) if status.is_success() => {
            refusal(format!("The request was carried out, but its result could not be recorded: {e}"))
        }
        Err(e) => refusal(format!("The request failed with status {status}, and that could not be recorded: {e}")),
    }
}

fn refusal(text: String) -> axum::response::Response {
    Response::error(Error::internal(text)).finish(false, None)
}

/// Whether a request opens a session whose first message holds the token.
fn is_session(request: &Request<Body>) -> bool {
    let path = percent_decode(request.uri().path());
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let is_route = match find(request.method(), &path) {
        Found::Route(matched) => matched.route.permission.is_checked_in_session(),
        Found::OtherMethod(_) | Found::AddSlash | Found::Nothing => false,
    };
    is_route && query.get("ws_handshake") == "true" && websocket::accept_key(request.headers()).is_some()
}

/// What is asked for.
fn describe(app: &AppState, node: &NodeMeta, request: &Request<Body>, path: &str) -> RequestInfo {
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let header = |name: HeaderName| request.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let forwarded = request.extensions().get::<FromAgent>().is_some();
    let marked = |name| if forwarded { header(name) } else { "" };
    let peer = request.extensions().get::<ConnectInfo<Peer>>().map(|c| c.0.to_string());
    let (mut route, mut right, mut parameters) = (String::new(), String::new(), BTreeMap::new());
    if let Found::Route(matched) = find(request.method(), path) {
        let path = matched.route.path;
        route = path.to_string();
        right = matched.route.permission.right().to_string();
        let names = pattern::names(path.rest()).map(String::from);
        parameters.extend(names.zip(matched.parameters));
    }
    let named = PARAMETERS.iter().filter(|name| query.has(name));
    parameters.extend(named.map(|name| ((*name).to_string(), query.get(name).to_string())));
    let own_region = &app.settings().region;
    RequestInfo {
        id: Some(marked(REQUEST_ID)).filter(|id| ids::is_uuid(id)).map_or_else(ids::uuid, String::from),
        operation: request.method().as_str().into(),
        endpoint: path.into(),
        route,
        right,
        namespace: Some(NamespaceInfo { id: namespace_of(&query) }),
        region: if query.get("region").is_empty() { own_region.clone() } else { query.get("region").into() },
        parameters,
        request_meta: RequestMeta {
            remote_address: peer.unwrap_or_else(|| marked(RECEIVED_FROM).into()),
            user_agent: header(header::USER_AGENT).into(),
            forwarded,
        },
        node_meta: node.clone(),
    }
}
