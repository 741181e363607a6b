//! Forwards requests for the agent of another node (`docs/spec/http-api.md §5.4, §5.5`): through the connection that
//! the node keeps to a server, or, from an agent without a server, through any server.
//!
//! A server checks what the caller may do before it forwards a request, and the agent of the node checks again.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use serde::{Deserialize, Serialize};

use crate::agent::local_client::LocalClient;
use crate::agent::state::{AppState, Pending};
use crate::api::client::alloc_elsewhere;
use crate::error::Error;
use crate::request::ids;
use crate::request::named_server::NamedServer;
use crate::request::response::Response;
use crate::request::routed_request::Request;
use crate::routes::route::{AnsweredBy, NamedIn, Outcome};
use encamp_model::{CsiCall, CsiError, CsiReply, HostVolume};

/// The text of an answer if no server has a connection of the node.
pub const NO_PATH: &str = "No path to node";

/// Why a request was not answered by the agent of a node.
#[derive(Debug)]
pub enum NodeError {
    /// No server has a connection of the node; the request did not leave.
    NoPath,
    /// The connection broke before the answer; the node may have carried out the request.
    Broken(String),
    /// The agent of the node refused a call.
    Refused(Error),
}

impl From<NodeError> for Error {
    fn from(e: NodeError) -> Error {
        match e {
            NodeError::NoPath => Error::not_found(NO_PATH),
            NodeError::Broken(text) => Error::internal(text),
            NodeError::Refused(e) => e,
        }
    }
}

/// What a server asks the agent of a node to do. Users cannot make these calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum NodeCall {
    /// Creates a dynamic host volume.
    CreateVolume(Box<HostVolume>),
    /// Registers an existing directory as a host volume.
    RegisterVolume(Box<HostVolume>),
    /// Deletes a host volume, by its ID.
    DeleteVolume(String),
    /// Asks a CSI plugin. Its answer is [`NodeReply::Csi`].
    Csi(Box<CsiCall>),
}

/// The result of a [`NodeCall`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum NodeReply {
    /// The call was carried out.
    Done,
    /// A volume was created.
    Created {
        /// Its directory on the node.
        path: String,
        /// Its size in bytes; 0: unknown.
        bytes: i64,
    },
    /// What a CSI plugin did, or why it did not.
    Csi(Result<CsiReply, CsiError>),
}

impl NodeCall {
    /// Carries out the call on the agent of the node.
    ///
    /// # Errors
    /// Those of the agent.
    pub async fn carry_out(self, client: &Arc<dyn LocalClient>) -> Result<NodeReply, Error> {
        match self {
            NodeCall::CreateVolume(volume) => {
                let (path, bytes) = client.create_volume(&volume).await?;
                Ok(NodeReply::Created { path, bytes })
            }
            NodeCall::RegisterVolume(volume) => client.register_volume(&volume).await.map(|()| NodeReply::Done),
            NodeCall::Csi(call) => Ok(NodeReply::Csi(client.ask_csi_plugin(*call).await)),
            NodeCall::DeleteVolume(id) => client.delete_volume(&id).await.map(|()| NodeReply::Done),
        }
    }
}

/// Reaches the agents of nodes that keep a connection to a server of the cluster.
pub trait NodeConnections: Send + Sync {
    /// Sends a request to the agent of a node. `only_own`: through a connection to this server, and no other one. A
    /// request that opens a websocket is answered with 101, and its connection is passed on.
    fn send<'a>(
        &'a self,
        node_id: &'a str,
        request: axum::extract::Request,
        only_own: bool,
    ) -> Pending<'a, Result<axum::http::Response<Body>, NodeError>>;

    /// Makes a call to the agent of a node.
    fn call<'a>(&'a self, node_id: &'a str, call: NodeCall) -> Pending<'a, Result<NodeReply, NodeError>>;
}

/// The agent of a node, in this process or reached over its connection.
#[derive(Clone)]
pub(crate) struct NodeAgent {
    id: String,
    way: Way,
}

#[derive(Clone)]
enum Way {
    Here(Arc<dyn LocalClient>),
    Connection(Arc<dyn NodeConnections>),
}

impl NodeAgent {
    /// The agent of a node. Whether there is a path to it shows when it is called.
    ///
    /// # Errors
    /// No path: this agent has no server.
    pub(crate) fn of(app: &AppState, id: &str) -> Result<NodeAgent, NodeError> {
        let local = app.client().filter(|c| c.node_id() == id).cloned().map(Way::Here);
        let way = local.or_else(|| app.nodes().cloned().map(Way::Connection)).ok_or(NodeError::NoPath)?;
        Ok(NodeAgent { id: id.into(), way })
    }

    async fn call(&self, call: NodeCall) -> Result<NodeReply, NodeError> {
        match &self.way {
            Way::Here(client) => call.carry_out(client).await.map_err(NodeError::Refused),
            Way::Connection(nodes) => nodes.call(&self.id, call).await,
        }
    }

    /// Creates a host volume; returns its directory on the node and its size in bytes.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn create_volume(&self, volume: &HostVolume) -> Result<(String, i64), NodeError> {
        match self.call(NodeCall::CreateVolume(Box::new(volume.clone()))).await? {
            NodeReply::Created { path, bytes } => Ok((path, bytes)),
            NodeReply::Done | NodeReply::Csi(_) => {
                Err(NodeError::Broken(format!("node {} did not say where the volume is", self.id)))
            }
        }
    }

    /// Registers an existing directory as a host volume.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn register_volume(&self, volume: &HostVolume) -> Result<(), NodeError> {
        self.call(NodeCall::RegisterVolume(Box::new(volume.clone()))).await.map(drop)
    }

    /// Deletes a host volume.
    ///
    /// # Errors
    /// See [`NodeError`].
    pub(crate) async fn delete_volume(&self, id: &str) -> Result<(), NodeError> {
        self.call(NodeCall::DeleteVolume(id.into())).await.map(drop)
    }
}

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
pub(crate) fn elsewhere(request: &Request) -> Result<Option<Elsewhere>, Error> {
    let elsewhere = match request.route_by() {
        AnsweredBy::Agent | AnsweredBy::Server | AnsweredBy::Leader | AnsweredBy::OnlyLeader => None,
        AnsweredBy::Node if names_server(request) => of_server(request)?,
        AnsweredBy::Node => of_node(request)?,
        AnsweredBy::NodeOfAlloc(named) => {
            let id = match named {
                NamedIn::Path => request.id(),
                NamedIn::Query(name) => request.query().get(name),
            };
            alloc_elsewhere(request, id)?
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
