//! Forwards requests for the agent of another node (`docs/spec/http-api.md §5.4, §5.5`): through the connection that
//! the node keeps to a server, or, from an agent without a server, through any server.
//!
//! A server checks what the caller may do before it forwards a request, and the agent of the node checks again.

use axum::body::Body;
use axum::http::{HeaderMap, header};

use super::answered_by::{AnsweredBy, NamedIn};
use super::named_server::NamedServer;
use super::response::{Outcome, Response};
use super::{Request, ids};
use crate::agent::node_connections::NodeError;
use crate::agent::state::AppState;
use crate::error::Error;

/// Another agent that a request is for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// The agent of a node.
    Node(String),
    /// One that a server knows.
    AnyServer,
    /// A server, by its RPC address.
    Server(String),
}

/// The other agent that a request is for. `None`: this one answers; also if its handler has to say that there is no such
/// node or allocation.
///
/// # Errors
/// 403: the caller may not ask it.
pub(crate) fn elsewhere(request: &Request, answered_by: AnsweredBy) -> Result<Option<Elsewhere>, Error> {
    let elsewhere = match answered_by {
        AnsweredBy::Agent | AnsweredBy::Server | AnsweredBy::Leader | AnsweredBy::OnlyLeader => None,
        AnsweredBy::Node if names_server(request) => of_server(request)?,
        AnsweredBy::Node => of_node(request)?,
        AnsweredBy::NodeOfAlloc(named) => {
            let id = match named {
                NamedIn::Path => request.id(),
                NamedIn::Query(name) => request.query().get(name),
            };
            of_alloc(request, id)?
        }
    };
    // Servers are not asked if another agent has decided that this one answers, or if none is known.
    let asks = !request.is_passed_on() && request.app().forward().is_some();
    Ok(elsewhere.filter(|to| matches!(to, Elsewhere::Node(_)) || asks))
}

/// Whether a request about an agent names that of a server.
fn names_server(request: &Request) -> bool {
    request.path().starts_with("/v1/agent/") && !request.query().get("server_id").is_empty()
}

/// The other agent of a request that names a server by the parameter `server_id`, and no node.
fn of_server(request: &Request) -> Result<Option<Elsewhere>, Error> {
    if !request.query().get("node_id").is_empty() {
        return Ok(None);
    }
    let app = request.app();
    let to = match NamedServer::find(app, request.query().get("server_id")) {
        NamedServer::At(address) => Elsewhere::Server(address),
        NamedServer::Unknown if app.server().is_none() => Elsewhere::AnyServer,
        NamedServer::This | NamedServer::Unknown => return Ok(None),
    };
    if app.server().is_some() {
        request.authorize()?;
    }
    Ok(Some(to))
}

/// The other agent of a request that names a node by the parameter `node_id`.
fn of_node(request: &Request) -> Result<Option<Elsewhere>, Error> {
    let (id, app) = (request.query().get("node_id"), request.app());
    if id.is_empty() || app.client().is_some_and(|c| c.node_id() == id) {
        return Ok(None);
    }
    let Some(server) = app.server() else { return Ok(Some(Elsewhere::AnyServer)) };
    if server.snapshot().state().node(id).is_none() {
        return Ok(None);
    }
    request.authorize()?;
    Ok(Some(Elsewhere::Node(id.into())))
}

/// The other agent that has an allocation, unless it is this one or unknown. The right of the route is required in the
/// allocation's namespace, except for sessions, whose token may come later.
///
/// # Errors
/// 403.
fn of_alloc(request: &Request, id: &str) -> Result<Option<Elsewhere>, Error> {
    let app = request.app();
    // What names no allocation is for the handler to refuse.
    if ids::full("alloc", id).is_err() || app.client().is_some_and(|c| c.alloc_namespace(id).is_some()) {
        return Ok(None);
    }
    let Some(server) = app.server() else { return Ok(Some(Elsewhere::AnyServer)) };
    let snapshot = server.snapshot();
    let Some(alloc) = snapshot.state().alloc(id).map(|a| &a.alloc) else { return Ok(None) };
    if app.client().is_some_and(|c| c.node_id() == alloc.node_id) {
        return Ok(None);
    }
    if !request.opens_session() {
        request.authorize_in(&alloc.namespace)?;
    }
    Ok(Some(Elsewhere::Node(alloc.node_id.to_string())))
}

/// Forwards a request to another agent.
///
/// # Errors
/// 404: no path to the node. 500: the connection broke.
pub(crate) async fn forward(request: Request, to: Elsewhere) -> Outcome {
    let (app, only_own) = (request.app().clone(), request.is_passed_on());
    send(&app, request.into_http(), to, only_own).await
}

/// Forwards a request whose body was read already, and names a node.
///
/// # Errors
/// 404: there is no such node, or no path to it.
pub(crate) async fn forward_read(request: Request, node_id: &str, body: Vec<u8>) -> Outcome {
    ids::full("node", node_id)?;
    let (app, only_own) = (request.app().clone(), request.is_passed_on());
    let to = match app.server() {
        Some(server) if server.snapshot().state().node(node_id).is_some() => Elsewhere::Node(node_id.into()),
        None if !only_own => Elsewhere::AnyServer,
        Some(_) | None => return Err(NodeError::NoPath.into()),
    };
    let mut request = request.into_http();
    request.headers_mut().insert(header::CONTENT_LENGTH, body.len().into());
    send(&app, request.map(|_| Body::from(body)), to, only_own).await
}

async fn send(app: &AppState, request: axum::extract::Request, to: Elsewhere, only_own: bool) -> Outcome {
    let answered = match to {
        Elsewhere::AnyServer => {
            let servers = app.forward().ok_or(NodeError::NoPath)?;
            servers.forward(request).await.map_err(|(text, _)| Error::internal(text))?
        }
        Elsewhere::Server(address) => {
            let servers = app.forward().ok_or(NodeError::NoPath)?;
            servers.to_server(&address, request).await.map_err(|(text, _)| Error::internal(text))?
        }
        Elsewhere::Node(id) => app.nodes().ok_or(NodeError::NoPath)?.send(&id, request, only_own).await?,
    };
    Ok(Response::passed(answered))
}

/// Whether headers ask to take the connection over.
pub fn asks_for_upgrade(headers: &HeaderMap) -> bool {
    crate::serve::websocket::accept_key(headers).is_some()
}
