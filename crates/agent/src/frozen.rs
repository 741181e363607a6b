//! The HTTP API over a state that never changes, such as that of a snapshot file, within the process.

use std::path::PathBuf;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use encamp_host::ids;
use encamp_http::AppState;
use encamp_http::agent::control::{AgentControl, AgentStats, LogSource, LogWatch, Profile, ProfileKind};
use encamp_http::agent::pending::{ByteStream, Pending};
use encamp_http::agent::state::HttpSettings;
use encamp_http::error::Error;
use encamp_raft::StartError;
use encamp_server::Server;
use encamp_server::settings::Settings;
use encamp_state::StateStore;
use encamp_telemetry::Metrics;
use serde_json::Value;

use super::web_ui::with_length;

const NO_AGENT: &str = "This is a snapshot file: there is no agent.";

/// The API of a state. It ends with [`FrozenApi::stop`].
pub struct FrozenApi {
    app: AppState,
    server: Server,
    /// Consensus keeps its files here; they hold nothing of the state.
    scratch: PathBuf,
}

impl FrozenApi {
    /// Answers from a state as of a time (Unix nanoseconds). Must be called inside a runtime.
    ///
    /// # Errors
    /// The temporary directory cannot be used.
    pub async fn start(state: StateStore, as_of: i64) -> Result<FrozenApi, StartError> {
        let scratch = std::env::temp_dir().join(format!("encamp-frozen-{}", ids::uuid()));
        let region = state.state().jobs().map(|j| j.current.region.clone()).find(|r| !r.is_empty());
        let mut settings = Settings::new(&ids::uuid(), "snapshot", scratch.clone());
        settings.as_of = Some(as_of);
        settings.region = region.unwrap_or(settings.region);
        let http = HttpSettings { region: settings.region.clone(), name: "snapshot".into(), ..HttpSettings::default() };
        let metrics = Metrics::default();
        let server = match Server::frozen(settings, state, metrics.clone()).await {
            Ok(server) => server,
            Err(e) => {
                let _ = std::fs::remove_dir_all(&scratch);
                return Err(e);
            }
        };
        let app = AppState::new(http, Some(server.clone()), None, std::sync::Arc::new(NoAgent), metrics);
        Ok(FrozenApi { app, server, scratch })
    }

    /// Answers a request: writes are refused.
    pub async fn respond(&self, request: Request<Body>) -> Response<Body> {
        encamp_http::respond_read_only(self.app.clone(), with_length(request)).await
    }

    /// Stops the server and removes its files.
    pub async fn stop(&self) {
        self.server.shutdown().await;
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

/// What the API says about the agent: there is none.
struct NoAgent;

impl AgentControl for NoAgent {
    fn config(&self) -> Value {
        Value::Object(serde_json::Map::new())
    }

    fn stats(&self) -> AgentStats {
        AgentStats::new()
    }

    fn reload(&self) -> Pending<'_, Result<(), Error>> {
        Box::pin(async { Err(Error::new(403, NO_AGENT)) })
    }

    fn watch_logs(&self, _: &str, _: bool, _: bool) -> Option<Box<dyn LogWatch>> {
        None
    }

    fn export_logs(&self, _: LogSource) -> Pending<'_, Result<ByteStream, Error>> {
        Box::pin(async { Err(Error::new(403, NO_AGENT)) })
    }

    fn profile(&self, _: ProfileKind, _: Duration, _: bool) -> Pending<'_, Result<Profile, Error>> {
        Box::pin(async { Err(Error::new(403, NO_AGENT)) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use axum::body::to_bytes;

    use super::*;

    async fn ask(api: &FrozenApi, method: &str, path: &str, body: &str) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path);
        let answer = api.respond(request.body(Body::from(body.to_string())).expect("a request")).await;
        let status = answer.status().as_u16();
        let body = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        (status, serde_json::from_slice(&body).unwrap_or_else(|_| String::from_utf8_lossy(&body).into()))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_file_answers_reads_and_plans_and_refuses_the_rest() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/demo/cluster.json");
        let snapshot =
            encamp_snapshot::load(&file, encamp_snapshot::archive::Options { lenient: false }).expect("a file");
        let now = snapshot.now(0);
        let api = FrozenApi::start(StateStore::of_state(snapshot.state), now).await.expect("it starts");
        let (status, jobs) = ask(&api, "GET", "/v1/jobs?namespace=*", "").await;
        let jobs = jobs.as_array().cloned().unwrap_or_default();
        assert!(status == 200 && jobs.len() > 3, "{status} {jobs:?}");
        // The counts of a job are not in the file: they are those of its allocations.
        let running = jobs.iter().filter_map(|j| j["JobSummary"]["Summary"].as_object());
        let running: i64 = running.flat_map(|groups| groups.values()).filter_map(|g| g["Running"].as_i64()).sum();
        assert!(running > 10, "{running}");
        assert_eq!(ask(&api, "GET", "/v1/status/leader", "").await.0, 200);
        let (_, web) = ask(&api, "GET", "/v1/job/web", "").await;
        let plan = serde_json::json!({"Job": web, "Diff": true}).to_string();
        let (status, planned) = ask(&api, "PUT", "/v1/job/web/plan", &plan).await;
        assert!(status == 200 && planned["Annotations"].is_object(), "{status} {planned}");
        let (status, found) = ask(&api, "POST", "/v1/search", r#"{"Prefix": "we", "Context": "jobs"}"#).await;
        assert_eq!((status, &found["Matches"]["jobs"][0]), (200, &"web".into()), "{found}");
        for (method, path) in [("PUT", "/v1/jobs"), ("DELETE", "/v1/job/web"), ("PUT", "/v1/system/gc")] {
            assert_eq!(ask(&api, method, path, &plan).await.0, 403, "{method} {path}");
        }
        // The server itself refuses them as well.
        let written = Request::put("/v1/system/reconcile/summaries").body(Body::empty()).expect("a request");
        let refused = encamp_http::respond(api.app.clone(), written).await;
        assert_eq!(refused.status(), 403);
        let scratch = api.scratch.clone();
        api.stop().await;
        assert!(!scratch.exists());
    }
}
