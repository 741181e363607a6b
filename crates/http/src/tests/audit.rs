//! The rows of requests, without a listener.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

use super::server::TestServer;
use crate::agent::servers::FromAgent;
use crate::agent::state::HttpSettings;
use encamp_audit::event::NodeMeta;
use encamp_audit::{AuditLog, FileSettings, Filter, Filters, Guarantee, Settings, SinkSettings, Stage};

/// A server with an audit log, and the path of the log.
async fn start(filters: Vec<Filter>, acl_enabled: bool) -> (TestServer, PathBuf) {
    let s = TestServer::with_settings(None, HttpSettings { acl_enabled, ..HttpSettings::default() }).await;
    let path = s.data_dir().join("audit.log");
    let (rotate_duration, mode) = (Duration::ZERO, 0o600);
    let file = FileSettings { path: path.clone(), rotate_bytes: 0, rotate_duration, rotate_max_files: 0, mode };
    let sink = SinkSettings { name: "file".into(), guarantee: Guarantee::Enforced, file };
    let settings = Settings { sinks: vec![sink], filters: Filters(filters), key: None, node: NodeMeta::default() };
    s.app.audited_by(Arc::new(AuditLog::open(settings, s.app.metrics()).expect("an audit log")));
    (s, path)
}

/// The contents of all rows.
fn rows(path: &PathBuf) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the log");
    text.lines().map(|l| serde_json::from_str::<Value>(l).expect("JSON")["payload"].clone()).collect()
}

fn stages(rows: &[Value]) -> Vec<(&str, &str)> {
    rows.iter()
        .map(|r| (r["stage"].as_str().unwrap_or_default(), r["request"]["endpoint"].as_str().unwrap_or_default()))
        .collect()
}

const BOTH: [&str; 2] = ["OperationReceived", "OperationComplete"];

#[tokio::test(flavor = "multi_thread")]
async fn filters_leave_out_rows() {
    let reads = |endpoint: &str, stages: Vec<Stage>| Filter {
        endpoints: vec![endpoint.into()],
        stages,
        operations: vec!["GET".into()],
    };
    let left_out = vec![reads("/v1/metrics", Vec::new()), reads("/v1/node*", vec![Stage::OperationReceived])];
    let (s, path) = start(left_out, false).await;
    for request in ["/v1/metrics", "/v1/nodes", "/v1/jobs"] {
        assert_eq!(s.get(request).await.status, 200, "{request}");
    }
    let [received, complete] = BOTH;
    let want = [(complete, "/v1/nodes"), (received, "/v1/jobs"), (complete, "/v1/jobs")];
    assert_eq!(stages(&rows(&path)), want);
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_session_may_wait_with_its_first_row() {
    let (s, path) = start(Vec::new(), false).await;
    let upgrade = [
        ("upgrade", "websocket"),
        ("connection", "Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    // With an audit log that fails, the request below would be carried out if it counted as a session.
    std::fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink("/dev/full", &path).expect("a link");
    s.app.audit().expect("a log").reopen();
    let refused = s.send("PUT", "/v1/namespace/x?ws_handshake=true", &upgrade, Some(r#"{"Name":"x"}"#)).await;
    assert_eq!(refused.status, 500);
    assert!(refused.text().starts_with("The request was not carried out"), "{}", refused.text());
    assert!(s.server.snapshot().state().namespace("x").is_none());
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_of_other_agents_count_on_their_port_alone() {
    let (s, path) = start(Vec::new(), true).await;
    let id = "02f0ac35-c7e8-4871-9a58-ee9dbc0a70ea";
    for from_agent in [false, true] {
        let mut request = Request::get("/v1/jobs")
            .header("x-encamp-request-id", id)
            .header("x-encamp-received-from", "10.9.8.7:1")
            .header("x-nomad-token", "5ec2e7aa-0000-4000-8000-000000000bad")
            .body(Body::empty())
            .expect("a request");
        if from_agent {
            request.extensions_mut().insert(FromAgent);
        }
        assert_eq!(s.ask(request).await.status, 403);
    }
    let all = rows(&path);
    let of = |n: usize| {
        let request = &all[n]["request"];
        (request["id"] == id, request["request_meta"]["remote_address"].as_str().unwrap_or_default().to_string())
    };
    assert_eq!([of(0), of(1)], [(false, String::new()), (false, String::new())]);
    assert_eq!([of(2), of(3)], [(true, "10.9.8.7:1".into()), (true, "10.9.8.7:1".into())]);
    let hash = all[0]["auth"]["token_hmac"].as_str().expect("a hash");
    assert!(hash.starts_with("hmac-sha256:") && all.iter().all(|r| r["auth"]["token_hmac"] == hash), "{all:?}");
    s.stop().await;
}
