//! Requests to the HTTP API of a server whose state never changes: the demo cluster. Writes pass all checks of their
//! bodies and are then refused.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use encamp_host::ids;
use encamp_http::AppState;
use encamp_http::agent::control::{AgentControl, AgentStats, LogSource, LogWatch, Profile, ProfileKind};
use encamp_http::agent::pending::{ByteStream, Pending};
use encamp_http::agent::state::HttpSettings;
use encamp_http::error::Error;
use encamp_http::request::filter::{Filter, schema};
use encamp_server::Server;
use encamp_server::settings::Settings;
use encamp_snapshot::archive::Options;
use encamp_state::StateStore;
use encamp_telemetry::Metrics;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::pieces::Pieces;
use crate::scratch::Scratch;

/// Bodies of requests: method and path.
const WRITES: &[(&str, &str)] = &[
    ("PUT", "/v1/jobs"),
    ("PUT", "/v1/jobs/parse"),
    ("PUT", "/v1/validate/job"),
    ("PUT", "/v1/job/web/plan"),
    ("PUT", "/v1/job/web"),
    ("PUT", "/v1/job/web/dispatch"),
    ("PUT", "/v1/job/web/scale"),
    ("PUT", "/v1/job/web/revert"),
    ("PUT", "/v1/job/web/stable"),
    ("PUT", "/v1/job/web/evaluate"),
    ("PUT", "/v1/job/web/versions/a/tag"),
    ("POST", "/v1/jobs/statuses"),
    ("PUT", "/v1/search"),
    ("PUT", "/v1/search/fuzzy"),
    ("PUT", "/v1/node/00000001-0000-4000-8000-000000000001/drain"),
    ("PUT", "/v1/node/00000001-0000-4000-8000-000000000001/eligibility"),
    ("PUT", "/v1/node/pools"),
    ("PUT", "/v1/node/pool/p"),
    ("PUT", "/v1/namespace"),
    ("PUT", "/v1/namespace/default"),
    ("PUT", "/v1/var/a/b"),
    ("PUT", "/v1/volumes"),
    ("PUT", "/v1/volume/csi/v/create"),
    ("PUT", "/v1/volume/host/create"),
    ("PUT", "/v1/volume/host/register"),
    ("PUT", "/v1/volumes/snapshot"),
    ("PUT", "/v1/operator/scheduler/configuration"),
    ("PUT", "/v1/operator/autopilot/configuration"),
    ("PUT", "/v1/operator/snapshot"),
    ("PUT", "/v1/acl/policy/p"),
    ("PUT", "/v1/acl/token"),
    ("PUT", "/v1/acl/role"),
    ("PUT", "/v1/acl/auth-method"),
    ("PUT", "/v1/acl/binding-rule"),
    ("PUT", "/v1/acl/login"),
    ("PUT", "/v1/acl/oidc/auth-url"),
    ("PUT", "/v1/acl/oidc/complete-auth"),
    ("PUT", "/v1/acl/identity/client-introduction-token"),
    ("PUT", "/v1/deployment/promote/d0000000-0000-4000-8000-000000000028"),
    ("PUT", "/v1/deployment/pause/d0000000-0000-4000-8000-000000000028"),
    ("PUT", "/v1/deployment/allocation-health/d0000000-0000-4000-8000-000000000028"),
    ("DELETE", "/v1/evaluations"),
];

/// Lists and objects that parameters choose from.
const READS: &[&str] = &[
    "/v1/jobs",
    "/v1/jobs/statuses",
    "/v1/allocations",
    "/v1/evaluations",
    "/v1/deployments",
    "/v1/nodes",
    "/v1/node/pools",
    "/v1/namespaces",
    "/v1/vars",
    "/v1/services",
    "/v1/volumes",
    "/v1/scaling/policies",
    "/v1/job/web",
    "/v1/job/web/versions",
    "/v1/job/web/allocations",
    "/v1/event/stream",
    "/v1/acl/policies",
    "/v1/system/gc/plan",
    "/v1/system/gc/explain",
    "/v1/metrics",
    "/v1/operator/autopilot/health",
    "/v1/client/fs/logs/a0280001-0000-4000-8000-000000000001",
    "/v1/agent/members",
];

/// How long requests may take that wait for changes, which never come.
const WAIT: Duration = Duration::from_millis(100);
/// How long other requests may take, on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// The most of an answer that is read.
const MOST_ANSWER: usize = 16 << 20;

/// The server of the targets.
struct Api {
    runtime: Runtime,
    app: AppState,
    _scratch: Scratch,
}

impl Api {
    fn get() -> &'static Api {
        static API: OnceLock<Api> = OnceLock::new();
        API.get_or_init(Api::new)
    }

    fn new() -> Api {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/demo/cluster.json");
        let snapshot = encamp_snapshot::load(&demo, Options::default()).expect("the fixture");
        let scratch = Scratch::new("api").expect("a directory");
        let mut settings = Settings::new(&ids::uuid(), "fuzz", scratch.path().to_path_buf());
        settings.as_of = Some(snapshot.now(0));
        let (state, metrics) = (StateStore::of_state(snapshot.state), Metrics::default());
        let server = runtime.block_on(Server::frozen(settings, state, metrics.clone())).expect("a server");
        let app = AppState::new(HttpSettings::default(), Some(server), None, Arc::new(NoAgent), metrics);
        Api { runtime, app, _scratch: scratch }
    }

    /// The status of the answer and its body; `None` if the request waits for longer than `limit`.
    fn ask(&self, request: Request<Body>, limit: Duration) -> Option<(u16, Vec<u8>)> {
        let answer = async {
            let answer = encamp_http::respond(self.app.clone(), request).await;
            let status = answer.status().as_u16();
            let body = to_bytes(answer.into_body(), MOST_ANSWER).await.map(|b| b.to_vec()).unwrap_or_default();
            (status, body)
        };
        self.runtime.block_on(async { tokio::time::timeout(limit, answer).await.ok() })
    }
}

/// The body of a request, whose method and path the first byte chooses.
pub(crate) fn body(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let Some((method, path)) = pieces.choose(WRITES) else { return false };
    let method = Method::from_bytes(method.as_bytes()).expect("a method");
    let request = Request::builder().method(method).uri(path).header("content-length", pieces.0.len());
    let request = request.body(Body::from(pieces.0.to_vec())).expect("a request");
    let (status, text) = Api::get().ask(request, LIMIT).expect("an answer");
    if status == 500 {
        let text = String::from_utf8_lossy(&text);
        assert!(!text.contains("panic"), "{path}: {text}");
    }
    // Writes that are right are refused because the state never changes.
    status == 200 || status == 403
}

/// The parameters of a read, whose path the first byte chooses, as a query and as a filter.
pub(crate) fn parameters(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let (path, is_filter) = (pieces.choose(READS), pieces.byte() % 2 == 1);
    let (Some(path), Ok(text)) = (path, std::str::from_utf8(pieces.0)) else { return false };
    let query = if is_filter {
        filter(text);
        let encoded: String = text.bytes().map(|b| format!("%{b:02X}")).collect();
        format!("filter={encoded}")
    } else {
        text.to_string()
    };
    let Ok(request) = Request::builder().uri(format!("{path}?{query}")).body(Body::empty()) else { return false };
    let waits = !is_filter || path == "/v1/event/stream";
    let answered = Api::get().ask(request, if waits { WAIT } else { LIMIT });
    assert!(waits || answered.is_some(), "{path}: no answer");
    answered.is_some_and(|(status, _)| status == 200)
}

/// A filter that can be read ends on every object.
fn filter(text: &str) {
    let Ok(filter) = Filter::parse(text) else { return };
    for object in ["Job", "Node", "Allocation", "Evaluation"] {
        let _ = schema::object(object);
        let _ =
            filter.matches(object, &serde_json::json!({"ID": "web", "Name": "x", "Meta": {"a": "b"}, "Priority": 50}));
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
        Box::pin(async { Err(Error::new(403, "no agent")) })
    }

    fn watch_logs(&self, _: &str, _: bool, _: bool) -> Option<Box<dyn LogWatch>> {
        None
    }

    fn export_logs(&self, _: LogSource) -> Pending<'_, Result<ByteStream, Error>> {
        Box::pin(async { Err(Error::new(403, "no agent")) })
    }

    fn profile(&self, _: ProfileKind, _: Duration, _: bool) -> Pending<'_, Result<Profile, Error>> {
        Box::pin(async { Err(Error::new(403, "no agent")) })
    }
}
