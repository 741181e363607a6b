//! The task API: the HTTP API on Unix sockets of tasks (`docs/spec/http-api.md §7.10`).
//!
//! A request on such a socket needs a token, also without access control: everybody on the host may connect to the
//! socket, and many an operator protects the TCP port by a firewall only.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::agent::state::AppState;
use crate::routes::dispatch::answer_here_or_there;
use crate::routes::entry::router;
use crate::serve::http1::{Headers, Http1, Peer};
use encamp_client::TaskApi;
use encamp_client::task_api::TaskName;
use encamp_client::templates::{ApiAnswer, ApiReads, NoAnswer};
use encamp_model::SecretString;

/// Open connections to the socket of one task, where the agent's setting has no limit.
const CONNECTIONS: usize = 1024;
/// The longest answer to a read of a template, in bytes.
const MAX_READ: usize = 4 << 20;
/// The pause after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The sockets of an agent's tasks. They listen from the start of a task on, and are answered once the agent serves its
/// HTTP API.
#[derive(Clone)]
pub struct TaskSockets {
    runtime: Handle,
    /// What answers; none before the agent has started, and after it has stopped.
    api: watch::Sender<Option<Arc<Http1>>>,
    /// What answers the reads of templates.
    reads: watch::Sender<Option<AppState>>,
    connections: usize,
}

impl std::fmt::Debug for TaskSockets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskSockets").field("connections", &self.connections).finish_non_exhaustive()
    }
}

impl TaskSockets {
    /// Sockets that are not answered yet. `connections`: the most that are open on one socket; 0 for the default.
    /// Further ones wait. Must be called inside a runtime.
    pub fn new(connections: usize) -> TaskSockets {
        let connections = if connections == 0 { CONNECTIONS } else { connections };
        TaskSockets {
            runtime: Handle::current(),
            api: watch::channel(None).0,
            reads: watch::channel(None).0,
            connections,
        }
    }

    /// Answers by the API of an agent.
    pub fn open(&self, app: AppState, headers: Headers) {
        let metrics = app.metrics().clone();
        self.reads.send_replace(Some(app.clone()));
        self.api.send_replace(Some(Arc::new(Http1::new(router(app), headers, metrics))));
    }

    /// Ends open requests, and answers no more.
    pub fn close(&self) {
        self.api.send_replace(None);
        self.reads.send_replace(None);
    }
}

impl TaskApi for TaskSockets {
    fn serve(&self, socket: UnixListener, task: TaskName) -> io::Result<Box<dyn Send + Sync>> {
        let mut tasks = JoinSet::new();
        let socket = {
            let _inside = self.runtime.enter();
            tokio::net::UnixListener::from_std(socket)?
        };
        tasks.spawn_on(accept(socket, Arc::new(task), self.api.subscribe(), self.connections), &self.runtime);
        Ok(Box::new(tasks))
    }
}

impl ApiReads for TaskSockets {
    fn read<'a>(&'a self, path: &'a str, token: &'a SecretString) -> BoxFuture<'a, Result<ApiAnswer, NoAnswer>> {
        Box::pin(async move {
            // Tasks of an earlier run are found again before the agent serves its API. A failure would delay the next try.
            let mut reads = self.reads.subscribe();
            let app = reads.wait_for(Option::is_some).await.ok().and_then(|app| app.clone());
            let app = app.ok_or(NoAnswer::NotServed)?;
            let mut request = axum::extract::Request::get(path);
            if !token.is_empty() {
                request = request.header("x-nomad-token", token.expose());
            }
            let request = request.body(Body::empty()).map_err(|_| NoAnswer::Unreadable)?;
            // The agent itself asks, for a task: no audit device records that.
            let response = answer_here_or_there(app, request).await;
            let (parts, body) = response.into_parts();
            let index = parts.headers.get("x-nomad-index").and_then(|v| v.to_str().ok()?.parse().ok());
            let body = axum::body::to_bytes(body, MAX_READ).await.map_err(|_| NoAnswer::Unreadable)?;
            Ok(ApiAnswer { status: parts.status.as_u16(), index: index.unwrap_or(0), body: body.to_vec() })
        })
    }
}

/// Accepts connections of a task, and serves them.
async fn accept(
    socket: tokio::net::UnixListener,
    task: Arc<TaskName>,
    mut api: watch::Receiver<Option<Arc<Http1>>>,
    connections: usize,
) {
    let Ok(Some(http)) = api.wait_for(Option::is_some).await.map(|http| http.clone()) else { return };
    let places = Arc::new(Semaphore::new(connections));
    let mut open = JoinSet::new();
    loop {
        while open.try_join_next().is_some() {}
        let next = async {
            let place = places.clone().acquire_owned().await;
            socket.accept().await.map(|(stream, _)| (stream, place))
        };
        let accepted = tokio::select! {
            accepted = next => accepted,
            _ = api.wait_for(Option::is_none) => break,
        };
        match accepted {
            Ok((stream, place)) => {
                let (http, peer, mut api) = (http.clone(), Peer::of_task(task.clone()), api.clone());
                open.spawn(async move {
                    let stopped = async { drop(api.wait_for(Option::is_none).await) };
                    http.serve_stream(Box::new(stream), peer, Box::new(place), stopped).await;
                });
            }
            Err(error) => {
                tracing::error!(target: "http", %error, from = %task, "cannot accept a connection");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    while open.join_next().await.is_some() {}
}
