//! A server with its HTTP API, for tests: one voter with a data directory of its own, the API on a free port.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::control::{AgentControl, AgentStats, LogSource, LogWatch, Profile, ProfileKind};
use crate::agent::local_client::LocalClient;
use crate::agent::pending::{ByteStream, Pending};
use crate::agent::state::{AppState, HttpSettings};
use crate::error::Error;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request};
use encamp_host::ids;
use encamp_server::Server;
use encamp_server::settings::Settings;
use encamp_telemetry::Metrics;
use serde_json::Value;

/// An agent that has nothing to say.
pub(crate) struct QuietAgent;

impl AgentControl for QuietAgent {
    fn config(&self) -> Value {
        serde_json::json!({})
    }
    fn stats(&self) -> AgentStats {
        AgentStats::new()
    }
    fn reload(&self) -> Pending<'_, Result<(), Error>> {
        Box::pin(async { Ok(()) })
    }
    fn watch_logs(&self, level: &str, _: bool, _: bool) -> Option<Box<dyn LogWatch>> {
        let known = ["trace", "debug", "info", "warn", "error"].contains(&level.to_lowercase().as_str());
        known.then(|| Box::new(Silence) as Box<dyn LogWatch>)
    }
    fn export_logs(&self, _: LogSource) -> Pending<'_, Result<ByteStream, Error>> {
        Box::pin(async { Err(Error::bad("this agent has no log file")) })
    }
    fn profile(&self, kind: ProfileKind, length: Duration, text: bool) -> Pending<'_, Result<Profile, Error>> {
        let bytes = format!("{kind:?} {length:?} {text}").into_bytes();
        Box::pin(async { Ok(Profile { content_type: "application/octet-stream", bytes }) })
    }
}

struct Silence;

impl LogWatch for Silence {
    fn next(&mut self) -> Pending<'_, Option<String>> {
        Box::pin(std::future::pending())
    }
}

/// An answer.
pub(crate) struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|v| v.to_str().ok())
    }
    /// Status and text.
    pub(crate) fn status_and_text(&self) -> (u16, String) {
        (self.status, self.text())
    }
}

/// A server with its interface.
pub(crate) struct TestServer {
    pub app: AppState,
    pub server: Server,
    dir: std::path::PathBuf,
}

impl TestServer {
    pub(crate) async fn start() -> TestServer {
        TestServer::with(None).await
    }

    pub(crate) async fn with(client: Option<Arc<dyn LocalClient>>) -> TestServer {
        TestServer::with_settings(client, HttpSettings::default()).await
    }

    pub(crate) async fn with_settings(client: Option<Arc<dyn LocalClient>>, http: HttpSettings) -> TestServer {
        let dir = std::env::temp_dir().join(format!("encamp-http-{}", ids::uuid()));
        let mut settings = Settings::new(&ids::uuid(), "node-1", dir.clone());
        settings.num_schedulers = 1;
        settings.acl.enabled = http.acl_enabled;
        let metrics = Metrics::default();
        let server = Server::start(settings, metrics.clone()).await.expect("a server");
        let ready =
            tokio::time::timeout(Duration::from_secs(30), async { while server.wait_ready().await.is_err() {} });
        ready.await.expect("ready in time");
        let app = AppState::new(http, Some(server.clone()), client, Arc::new(QuietAgent), metrics);
        TestServer { app, server, dir }
    }

    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).expect("a method")).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(b) = body {
            request = request.header("content-length", b.len());
        }
        self.ask(request.body(Body::from(body.unwrap_or_default().to_string())).expect("a request")).await
    }

    pub(crate) async fn ask(&self, mut request: Request<Body>) -> Answer {
        let peer: SocketAddr = ([127, 0, 0, 1], 9).into();
        request.extensions_mut().insert(axum::extract::ConnectInfo(peer));
        let response = crate::routes::entry::answer(State(self.app.clone()), request).await;
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.expect("a body").to_vec();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, &[], Some(&body.to_string())).await
    }

    /// The server's data directory.
    pub(crate) fn data_dir(&self) -> &std::path::Path {
        &self.dir
    }

    pub(crate) async fn stop(self) {
        self.server.shutdown().await;
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
