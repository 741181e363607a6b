//! Tests of all paths: routing, methods, redirects, CORS, compression, and the first endpoints.

use std::io::Read;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use serde_json::json;

use super::server::TestServer;
use crate::access::right::Right;
use crate::agent::state::HttpSettings;
use crate::routes::route::Methods;
use crate::routes::table::routes;
use encamp_model::{JobType, Node, NodeStatus};
use encamp_server::endpoints::node_rpc;

#[tokio::test(flavor = "multi_thread")]
async fn paths_methods_and_headers() {
    let s = TestServer::start().await;
    for (method, path, status, text, location) in [
        ("GET", "/", 307, "<a href=\"/ui/\">Temporary Redirect</a>.\n\n", Some("/ui/")),
        ("GET", "/?a=b", 307, "<a href=\"/ui/?a=b\">Temporary Redirect</a>.\n\n", Some("/ui/?a=b")),
        ("GET", "/v1/nothing", 404, "", None),
        ("GET", "/nothing", 404, "", None),
        ("GET", "/v1", 404, "", None),
        ("GET", "/v1/quotas", 501, "Nomad Enterprise only endpoint", None),
        ("DELETE", "/v1/sentinel/policies", 501, "Nomad Enterprise only endpoint", None),
        ("GET", "/v1/operator/utilization", 405, "Invalid method", None),
        ("POST", "/v1/operator/utilization", 501, "Nomad Enterprise only endpoint", None),
        ("GET", "//v1/regions", 307, "<a href=\"/v1/regions\">Temporary Redirect</a>.\n\n", Some("/v1/regions")),
        (
            "GET",
            "/v1/x/../regions?a=1",
            307,
            "<a href=\"/v1/regions?a=1\">Temporary Redirect</a>.\n\n",
            Some("/v1/regions?a=1"),
        ),
        ("PUT", "/ui", 307, "", Some("/ui/")),
        ("HEAD", "/v1/regions", 405, "Invalid method", None),
        ("OPTIONS", "/v1/regions", 405, "Invalid method", None),
        ("GET", "/debug/pprof/heap", 404, "", None),
        ("GET", "/v1/operator/license", 204, "", None),
        ("PUT", "/v1/agent/servers", 501, "Invalid method", None),
        ("GET", "/v1/agent/pprof/", 404, "Invalid method", None),
        ("GET", "/v1/agent/keyring/list", 500, "1/1 nodes reported failure", None),
        ("GET", "/v1/agent/keyring/xyz", 404, "resource not found", None),
        ("PUT", "/v1/agent/join", 400, "missing address to join", None),
        ("PUT", "/v1/agent/force-leave", 400, "missing node to force leave", None),
        ("PUT", "/v1/agent/force-leave?node=x.global", 200, "", None),
        ("POST", "/v1/agent/self", 405, "Invalid method", None),
        ("GET", "/v1/status/peers?region=nowhere", 500, "No path to region", None),
    ] {
        let a = s.send(method, path, &[], None).await;
        assert_eq!(a.status_and_text(), (status, text.to_string()), "{method} {path}");
        assert_eq!(a.header("location"), location, "{method} {path}");
        assert_eq!(a.header("vary"), Some("Accept-Encoding"), "{method} {path}");
    }
    s.stop().await;
}

/// Routes that answer callers without rights, because there is nothing to see: unknown objects have no namespace, lists
/// without a type are empty, and errors about files have status 200.
const NOTHING_TO_SEE: [&str; 5] = [
    "/v1/deployment/allocations/{*id}",
    "/v1/evaluation/{*id}/allocations",
    "/v1/volumes",
    "/v1/plugins",
    "/v1/client/fs/",
];

#[tokio::test(flavor = "multi_thread")]
async fn routes_with_rights_refuse_callers_without() {
    let settings = HttpSettings { acl_enabled: true, ..HttpSettings::default() };
    let s = TestServer::with_settings(None, settings).await;
    let mut refused = 0;
    for route in routes().filter(|r| !matches!(r.permission.right(), Right::Anonymous | Right::Rows(_))) {
        let pattern = route.path.to_string();
        if NOTHING_TO_SEE.iter().any(|p| pattern == *p || p.ends_with('/') && pattern.starts_with(p)) {
            continue;
        }
        let rest = ["{*id}", "{id}", "{*name}", "{name}", "{*path}"].into_iter();
        let path = rest.fold(pattern.clone(), |path, parameter| path.replace(parameter, NODE));
        let methods = match route.methods {
            Methods::Only(methods) => methods.iter().map(|m| m.as_str()).collect(),
            Methods::Any => vec!["GET", "PUT"],
        };
        for method in methods {
            let body = (method != "GET").then_some("{}");
            let answer = s.send(method, &path, &[], body).await;
            assert!(answer.status >= 400, "{method} {path}: {} {}", answer.status, answer.text());
            refused += usize::from(answer.status == 403);
        }
    }
    assert!(refused > 60, "{refused} routes were refused by rights alone");
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sites_and_encodings() {
    let s = TestServer::start().await;
    let asks = [("origin", "http://example.test"), ("access-control-request-method", "PUT")];
    let a = s.send("OPTIONS", "/v1/var/x", &asks, None).await;
    assert_eq!(a.status_and_text(), (204, String::new()));
    assert_eq!(a.header("access-control-allow-origin"), Some("*"));
    assert_eq!(a.header("access-control-allow-methods"), Some("PUT"));
    assert_eq!(a.header("access-control-allow-credentials"), Some("true"));
    let a = s.send("OPTIONS", "/v1/vars", &asks, None).await;
    assert_eq!((a.status, a.header("access-control-allow-methods")), (204, None));
    let a = s.send("OPTIONS", "/v1/regions", &asks, None).await;
    assert_eq!((a.status, a.header("access-control-allow-origin")), (405, None));

    let a = s.send("GET", "/v1/regions", &[("accept-encoding", "br, gzip")], None).await;
    assert_eq!((a.header("content-encoding"), a.header("content-type")), (Some("gzip"), Some("application/json")));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&a.body[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, "[\"global\"]");
    let a = s.get("/v1/regions?pretty").await;
    assert_eq!(a.text(), "[\n    \"global\"\n]\n");
    assert_eq!(s.get("/v1/regions?pretty=0").await.text(), "[\"global\"]");
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_tells_about_itself() {
    let s = TestServer::start().await;
    assert_eq!(s.get("/v1/status/leader").await.json(), json!("127.0.0.1:4647"));
    assert_eq!(s.get("/v1/status/peers").await.json(), json!(["127.0.0.1:4647"]));
    let me = s.get("/v1/agent/self").await.json();
    assert_eq!(me["config"]["Version"]["Version"], "2.0.5");
    assert_eq!((&me["member"]["Name"], &me["stats"]["nomad"]["leader"]), (&json!("node-1.global"), &json!("true")));
    let members = s.get("/v1/agent/members").await.json();
    assert_eq!(members["Members"][0]["Tags"]["bootstrap"], "1");
    assert_eq!(s.get("/v1/agent/health").await.json(), json!({"server": {"ok": true, "message": "ok"}}));
    let a = s.get("/v1/agent/health?type=client").await;
    assert_eq!(
        a.status_and_text(),
        (500, json!({"client": {"ok": false, "message": "client not enabled"}}).to_string())
    );
    assert_eq!(s.get("/v1/agent/health?type=xyz").await.json(), json!({}));

    let all = JobType::ALL;
    let want = json!({"server_id": "node-1.global", "num_schedulers": 1, "enabled_schedulers": all});
    assert_eq!(s.get("/v1/agent/schedulers/config").await.json(), want);
    let bad = json!({"num_schedulers": 1, "enabled_schedulers": ["nope"]});
    assert_eq!(s.put("/v1/agent/schedulers/config", bad).await.status_and_text(), (400, "Invalid request".into()));
    let a = s.send("PUT", "/v1/agent/schedulers/config", &[], Some("{")).await;
    assert_eq!(a.status_and_text(), (400, "Invalid request: unexpected EOF".into()));
    let a = s.put("/v1/agent/schedulers/config", json!({"num_schedulers": 0, "enabled_schedulers": all})).await;
    assert_eq!((a.status, &a.json()["num_schedulers"]), (200, &json!(0)));
    assert_eq!(s.get("/v1/agent/schedulers").await.json(), json!({"server_id": "node-1.global", "schedulers": []}));
    assert!(s.get("/v1/metrics?format=prometheus").await.text().contains("# TYPE nomad_nomad_"));
    s.stop().await;
}

fn a_node(id: &str) -> Node {
    Node {
        id: id.into(),
        secret_id: "s3cret".into(),
        name: "node-1".into(),
        datacenter: "dc1".into(),
        attributes: [("os.name".to_string(), "linux".to_string())].into(),
        status: NodeStatus::Ready,
        ..Default::default()
    }
}

const NODE: &str = "86825d37-5264-effb-1a7c-30be40b9a44c";

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_drained_and_removed() {
    let s = TestServer::start().await;
    node_rpc::register(&s.server, a_node(NODE), "").await.expect("registered");
    let list = s.get("/v1/nodes?os=true&prefix=8682").await;
    assert_eq!(
        (&list.json()[0]["Attributes"], list.header("x-nomad-knownleader")),
        (&json!({"os.name": "linux"}), Some("true"))
    );
    let path = format!("/v1/node/{NODE}");
    let node = s.get(&path).await;
    assert!(!node.text().contains("s3cret") && node.json()["Drain"] == false, "{}", node.text());

    let drain = json!({"DrainSpec": {"Deadline": 60_000_000_000i64}, "Meta": {"message": "x"}});
    let a = s.put(&format!("{path}/drain"), drain).await;
    assert_eq!((a.status, &a.json()["NodeModifyIndex"]), (200, &a.json()["Index"]));
    // The node is empty: the drain may be over already.
    let node = s.get(&path).await.json();
    assert_eq!(node["LastDrain"]["AccessorID"], json!("token:acls-disabled"));
    assert_eq!(node["LastDrain"]["Meta"], json!({"message": "x"}));
    assert_eq!(node["SchedulingEligibility"], "ineligible");
    let a = s.put(&format!("{path}/drain"), json!({"DrainSpec": null, "MarkEligible": true})).await;
    assert_eq!(a.status, 200);
    let back = s.get(&path).await.json();
    assert_eq!(back["SchedulingEligibility"], "eligible");
    let a = s.put(&format!("{path}/drain"), json!({"DrainSpec": null})).await;
    assert_eq!(a.status, 200);
    assert_eq!(s.get(&path).await.json()["Events"], back["Events"], "no drain ended");

    let a = s.put(&format!("{path}/purge"), json!({})).await;
    assert_eq!((a.status, s.get(&path).await.status_and_text()), (200, (404, "node not found".into())));
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_wait_for_what_concerns_them() {
    let s = TestServer::start().await;
    let list = s.get("/v1/namespaces").await;
    let index: u64 = list.header("x-nomad-index").and_then(|i| i.parse().ok()).expect("an index");
    let started = Instant::now();
    let held = s.get(&format!("/v1/namespaces?index={index}&wait=200ms")).await;
    assert!(started.elapsed() >= Duration::from_millis(200) && held.status == 200);
    let started = Instant::now();
    let path = format!("/v1/namespaces?index={index}&wait=60s");
    let write = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        s.put("/v1/namespace", json!({"Name": "apps", "Meta": {"team": "x"}})).await
    };
    let (woken, written) = tokio::join!(s.get(&path), write);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
    assert_eq!((woken.status, written.status, woken.json().as_array().map(Vec::len)), (200, 200, Some(2)));
    assert_eq!(woken.header("x-nomad-index"), written.header("x-nomad-index"));
    let missing = s.get("/v1/namespace/nope?index=99999&wait=50ms").await;
    assert_eq!(
        (missing.status_and_text(), missing.header("x-nomad-knownleader")),
        ((404, "Namespace not found".into()), Some("true"))
    );
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_streamed_line_by_line() {
    let s = TestServer::start().await;
    node_rpc::register(&s.server, a_node(NODE), "").await.expect("registered");
    let request = axum::http::Request::builder()
        .uri(format!("/v1/event/stream?topic=Node:{NODE}"))
        .header("accept-encoding", "gzip")
        .body(axum::body::Body::empty())
        .expect("a request");
    let response = crate::routes::entry::answer(axum::extract::State(s.app.clone()), request).await;
    assert_eq!(response.headers().get("connection").map(|v| v.as_bytes()), Some(&b"close"[..]));
    assert!(response.headers().get("content-encoding").is_none());
    let mut lines = response.into_body().into_data_stream();
    let mut next = async || {
        let line = tokio::time::timeout(Duration::from_secs(20), lines.next()).await.expect("in time");
        line.expect("a line").expect("bytes")
    };
    assert_eq!(next().await, "{}\n");
    let line: serde_json::Value = serde_json::from_slice(&next().await).expect("JSON");
    let event = &line["Events"][0];
    assert_eq!(
        (&event["Topic"], &event["Type"], &event["Key"]),
        (&json!("Node"), &json!("NodeRegistration"), &json!(NODE))
    );
    assert_eq!((&event["Payload"]["Node"]["SecretID"], &event["FilterKeys"]), (&json!(""), &json!(null)));
    s.put(&format!("/v1/node/{NODE}/eligibility"), json!({"Eligibility": "ineligible"})).await;
    let line: serde_json::Value = serde_json::from_slice(&next().await).expect("JSON");
    assert_eq!(line["Events"][0]["Type"], "NodeEligibility");
    s.stop().await;
}
