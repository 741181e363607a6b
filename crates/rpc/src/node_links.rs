//! The connections of nodes to a server, over which it sends requests to their agents.
//!
//! A node need not be reachable: it connects to a server and keeps the call [`Connect`](super::calls::Connect) open
//! ([`super::linked_agent`]). The bytes of the call's request and of its answer are an HTTP/2 connection in the other
//! direction, in which the server is the client ([`NodeLinks`]). Each request has a stream of its own: who does not read
//! stops who writes, and either side can end it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::client::conn::http2 as client;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;

use super::calls::CallNode;
use super::listener::HEADER_TABLE;
use super::passing;
use super::wire::{self, CallError};
use encamp_http::agent::local_client::LocalClient;
use encamp_http::agent::node_connections::{NO_PATH, NodeError, NodeReply};
use encamp_http::serve::duplex::{self, Connection};
use encamp_server::error::ErrorKind;
use encamp_server::nodes::node_auth;
use encamp_server::{Error, Server};

/// Connections that a server keeps of one node: those of before the node connected again end with their requests.
const OF_ONE_NODE: usize = 4;
/// The data that is sent before it is read, in bytes: of one request, and of all of a node.
pub(crate) const WINDOWS: (u32, u32) = (256 << 10, 2 << 20);
/// A node with open requests is pinged after the first time, and its connection is closed if no pong arrives within the
/// second: the requests end with an error within five seconds of its death.
const PING: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(2));
/// Longest wait for the answer to a call to a node: plugins take their time.
pub(crate) const CALL: Duration = Duration::from_secs(150);

type Sender = client::SendRequest<Body>;

/// The connections of nodes to this server; clones share them.
#[derive(Clone, Default)]
pub struct NodeLinks(Arc<Links>);

#[derive(Default)]
struct Links {
    /// By node, the newest last.
    open: Mutex<HashMap<String, Vec<(u64, Sender)>>>,
    serial: AtomicU64,
    /// The node agent in the same process.
    local: OnceLock<Arc<dyn LocalClient>>,
}

impl NodeLinks {
    /// Sets the node agent in the same process, once.
    pub fn set_local(&self, client: Arc<dyn LocalClient>) {
        let _ = self.0.local.set(client);
    }

    fn local(&self, node_id: &str) -> Option<&Arc<dyn LocalClient>> {
        self.0.local.get().filter(|c| c.node_id() == node_id)
    }

    /// Whether requests for a node can be sent from this server.
    pub fn has(&self, node_id: &str) -> bool {
        self.local(node_id).is_some() || self.newest(node_id).is_some()
    }

    fn newest(&self, node_id: &str) -> Option<Sender> {
        let open = self.0.open.lock();
        open.get(node_id)?.iter().rev().map(|(_, sender)| sender).find(|s| !s.is_closed()).cloned()
    }

    /// How many nodes are connected.
    pub fn count(&self) -> usize {
        self.0.open.lock().len()
    }

    /// Accepts the connection of a node that has proven itself; `incoming` is the body of its call. The connection ends
    /// when the node is removed or its identity is revoked.
    pub(crate) fn accept(&self, server: &Server, node_id: String, incoming: Body) -> Response<Body> {
        let (writer, outgoing) = duplex::writer();
        let io = duplex::join(duplex::reader(incoming), writer);
        let (links, server) = (self.clone(), server.clone());
        tokio::spawn(async move {
            let refused = node_auth::until_refused(&server, &node_id);
            tokio::select! {
                () = links.run(&node_id, io) => {}
                () = refused => tracing::debug!(target: "rpc", node_id = node_id.as_str(), "the connection of a node was ended"),
            }
        });
        Response::new(outgoing)
    }

    async fn run(&self, node_id: &str, io: Connection) {
        let handshake = client::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(PING.0)
            .keep_alive_timeout(PING.1)
            .initial_stream_window_size(WINDOWS.0)
            .initial_connection_window_size(WINDOWS.1)
            .max_concurrent_reset_streams(1024)
            .header_table_size(HEADER_TABLE)
            .handshake(TokioIo::new(io));
        let Ok((sender, connection)) = handshake.await else { return };
        let entry = Entry::new(self, node_id, sender);
        if let Err(error) = connection.await {
            tracing::debug!(target: "rpc", node_id, %error, "the connection of a node broke");
        }
        drop(entry);
    }

    /// Sends a request to a node over its connection to this server.
    pub(crate) async fn send(&self, node_id: &str, mut request: Request<Body>) -> Result<Response<Body>, NodeError> {
        let mut sender = self.newest(node_id).ok_or(NodeError::NoPath)?;
        let (outgoing, websocket) =
            passing::outgoing(node_id, &mut request, true).map_err(|e| NodeError::Broken(e.to_string()))?;
        let response = send(&mut sender, node_id, outgoing).await?;
        Ok(passing::incoming(response, websocket))
    }

    /// Makes a call to a node over its connection to this server, or in this process.
    pub(crate) async fn call(&self, call: CallNode) -> Result<NodeReply, NodeError> {
        if let Some(client) = self.local(&call.node_id) {
            return call.call.carry_out(client).await.map_err(NodeError::Refused);
        }
        let mut sender = self.newest(&call.node_id).ok_or(NodeError::NoPath)?;
        let request = wire::request(&call.node_id, &call, None).map_err(failed)?;
        let answered = async {
            let response = send(&mut sender, &call.node_id, request).await?;
            wire::result::<NodeReply>(response).await.map_err(failed)
        };
        let late = || NodeError::Broken(format!("node {} did not answer within {CALL:?}", call.node_id));
        tokio::time::timeout(CALL, answered).await.unwrap_or_else(|_| Err(late()))
    }
}

async fn send(sender: &mut Sender, node_id: &str, request: Request<Body>) -> Result<Response<Body>, NodeError> {
    sender.ready().await.map_err(|_| NodeError::NoPath)?;
    let sent = sender.send_request(request).await;
    Ok(sent.map_err(|e| NodeError::Broken(format!("the connection of node {node_id} broke: {e}")))?.map(Body::new))
}

pub(crate) fn failed(e: CallError) -> NodeError {
    match e {
        CallError::Unreachable(_) => NodeError::NoPath,
        CallError::Lost(text) => NodeError::Broken(text),
        CallError::Refused(e) => NodeError::Refused(e.into()),
    }
}

/// A connection in the table, until it ends.
struct Entry<'a> {
    links: &'a NodeLinks,
    node_id: &'a str,
    serial: u64,
}

impl<'a> Entry<'a> {
    fn new(links: &'a NodeLinks, node_id: &'a str, sender: Sender) -> Entry<'a> {
        let serial = links.0.serial.fetch_add(1, Ordering::Relaxed);
        let mut open = links.0.open.lock();
        let of_node = open.entry(node_id.to_string()).or_default();
        if of_node.len() >= OF_ONE_NODE {
            of_node.remove(0);
        }
        of_node.push((serial, sender));
        Entry { links, node_id, serial }
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut open = self.links.0.open.lock();
        if let Some(of_node) = open.get_mut(self.node_id) {
            of_node.retain(|(serial, _)| *serial != self.serial);
            if of_node.is_empty() {
                open.remove(self.node_id);
            }
        }
    }
}

/// The answer of a server to a call that it should pass on to a node.
pub(crate) fn answer_of(result: Result<NodeReply, NodeError>) -> Result<NodeReply, Error> {
    result.map_err(|e| match e {
        NodeError::NoPath => Error::not_found(NO_PATH),
        NodeError::Broken(text) => Error::internal(text),
        NodeError::Refused(e) => Error::new(ErrorKind::of_status(e.status), e.message),
    })
}
