//! The agent of a node at the other end of the connection over which servers send it requests ([`super::node_links`]).

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http2 as server;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};

use super::call::Call;
use super::calls::CallNode;
use super::node_links::{WINDOWS, answer_of};
use super::passing::{self, Interface};
use super::wire;
use encamp_http::AppState;
use encamp_http::agent::node_connections::{NO_PATH, NodeError, NodeReply};
use encamp_http::serve::duplex::Connection;
use encamp_server::Error;

/// Requests that one node answers at the same time. Further ones wait for one to end.
const STREAMS: u32 = 1024;
/// Largest message of a call to a node, in bytes.
const LONGEST_CALL: usize = 4 << 20;
/// How often a node looks whether it should be connected to another server.
const REBALANCE: Duration = Duration::from_secs(30);
/// How long open requests go on after a node has connected to another server.
const LAST_REQUESTS: Duration = Duration::from_secs(3600);

/// The agent of a node, as servers ask it over its connection.
pub struct LinkedAgent(pub AppState);

impl Interface for LinkedAgent {
    fn answer(&self, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
        let app = self.0.clone();
        Box::pin(async move {
            match wire::method(request.uri().path()) {
                Some(CallNode::METHOD) => wire::response::<CallNode>(call(&app, request.into_body()).await),
                Some(method) => wire::refusal(Error::not_found(format!("rpc: can't find method {method}"))),
                None => passing::answer(app, request).await,
            }
        })
    }
}

async fn call(app: &AppState, body: Body) -> Result<NodeReply, Error> {
    let bytes = axum::body::to_bytes(body, LONGEST_CALL).await.map_err(|e| Error::bad(e.to_string()))?;
    let CallNode { node_id, call } = wire::read(&bytes)?;
    let client = app.client().filter(|c| c.node_id() == node_id).ok_or_else(|| Error::not_found(NO_PATH))?;
    answer_of(call.carry_out(client).await.map_err(NodeError::Refused))
}

/// Answers the requests of a server until the connection ends. `moved` tells whether the node should be connected to
/// another server: then it ends after its open requests, and this returns at once.
pub(crate) async fn serve(io: Connection, agent: Arc<dyn Interface>, moved: impl Fn() -> bool) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = agent.answer(request.map(Body::new));
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let mut builder = server::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    builder.initial_stream_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
    let mut serving = Box::pin(builder.serve_connection(TokioIo::new(io), answer));
    let mut looks = tokio::time::interval(REBALANCE);
    loop {
        tokio::select! {
            done = &mut serving => {
                if let Err(error) = done {
                    tracing::debug!(target: "rpc", %error, "the connection to a server broke");
                }
                return;
            }
            _ = looks.tick() => if moved() {
                serving.as_mut().graceful_shutdown();
                tokio::spawn(tokio::time::timeout(LAST_REQUESTS, serving));
                return;
            }
        }
    }
}
