//! Replays recorded calls about jobs against a server with a node whose tasks always run. Responses must have the same
//! status, the same error text and the same shape; the values of IDs and times do not matter.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::json_shapes::{differences, same_text};
use super::server::TestServer;
use encamp_host::ids;
use encamp_model::*;
use encamp_server::endpoints::node_rpc;
use encamp_test_support::recorded;

pub(crate) const NODE: &str = "86825d37-5264-effb-1a7c-30be40b9a44c";
pub(crate) const SECRET: &str = "11111111-5264-effb-1a7c-30be40b9a44c";

/// Values that depend on tasks that really run, or on parts of the server that are not there yet: a piece of the path
/// to the value.
const NOT_OURS: [&str; 3] = [".TaskStates", ".SigningKeyID", ".NetworkStatus"];

pub(crate) fn node() -> Node {
    let attributes = [
        ("kernel.name", "linux"),
        ("nomad.version", "2.0.5"),
        ("nomad.service_discovery", "true"),
        ("driver.raw_exec", "1"),
    ];
    let network =
        NetworkResource { mode: "host".into(), device: "lo".into(), ip: "127.0.0.1".into(), ..Default::default() };
    let address = NodeNetworkAddress { alias: "default".into(), address: "127.0.0.1".into(), ..Default::default() };
    let node_network = NodeNetworkResource {
        mode: "host".into(),
        device: "lo".into(),
        addresses: vec![address],
        ..Default::default()
    };
    let resources = NodeResources {
        processors: NodeProcessorResources {
            topology: Some(Topology { override_total_compute: 4000, ..Default::default() }),
        },
        memory: NodeMemoryResources { memory_mb: 4096 },
        disk: NodeDiskResources { disk_mb: 40_000 },
        networks: vec![network],
        node_networks: Some(vec![node_network]),
        min_dynamic_port: 20_000,
        max_dynamic_port: 32_000,
        ..Default::default()
    };
    Node {
        id: NODE.into(),
        secret_id: SECRET.into(),
        name: "node-1".into(),
        datacenter: "dc1".into(),
        status: NodeStatus::Initializing,
        attributes: attributes.map(|(k, v)| (k.to_string(), v.to_string())).into(),
        drivers: [("raw_exec".to_string(), DriverInfo { detected: true, healthy: true, ..Default::default() })].into(),
        node_resources: Some(resources.into()),
        ..Default::default()
    }
}

/// Reports task states: tasks start at once, are healthy, and exit when asked to stop.
async fn report(s: &TestServer) -> bool {
    let store = s.server.snapshot();
    let mut reports = Vec::new();
    for entry in store.state().allocs_of_node(NODE) {
        let a = &entry.alloc;
        let status = match (&a.desired_status, &a.client_status) {
            (DesiredStatus::Run, ClientStatus::Pending) => ClientStatus::Running,
            (DesiredStatus::Stop | DesiredStatus::Evict, ClientStatus::Pending | ClientStatus::Running) => {
                ClientStatus::Complete
            }
            _ => continue,
        };
        let mut new = Allocation { client_status: status, ..Allocation::clone(a) };
        if new.client_status == ClientStatus::Running && !a.deployment_id.is_empty() {
            let status = new.deployment_status.get_or_insert_default();
            (status.healthy, status.timestamp) = (Some(true), Time::from_unix_nanos(ids::now()));
        }
        reports.push(new);
    }
    if reports.is_empty() {
        return false;
    }
    node_rpc::update_allocs(&s.server, NODE, &SECRET.into(), reports).await.expect("a report");
    true
}

/// Waits until nothing is to be done any more, for ten seconds at most.
pub(crate) async fn settle(s: &TestServer) {
    node_rpc::update_status(&s.server, NODE, &SECRET.into(), "", NodeStatus::Ready).await.expect("a heartbeat");
    let mut quiet = 0;
    for _ in 0..400 {
        let reported = report(s).await;
        let store = s.server.snapshot();
        let pending = store.evals_by_create().any(|e| e.status == EvalStatus::Pending);
        let rollout =
            store.state().deployments().any(|d| d.status == DeploymentStatus::Running && !d.requires_promotion());
        quiet = if reported || pending { 0 } else { quiet + 1 };
        if quiet > if rollout { 40 } else { 2 } {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
}

struct Recorded {
    file: String,
    group: String,
    method: String,
    path: String,
    body: Option<String>,
    status: u16,
    headers: Vec<String>,
    answer: Value,
    text: bool,
}

fn calls(dir: &Path, groups: &[&str]) -> Vec<Recorded> {
    let mut out = Vec::new();
    for (file, path) in recorded::files(dir, ".json") {
        if !groups.iter().any(|g| file.get(4..).is_some_and(|f| f.starts_with(&format!("-{g}-")))) {
            continue;
        }
        let v: Value = recorded::json_at(&path).expect("a file");
        let text = |v: &Value| v.as_str().unwrap_or_default().to_string();
        let body = match &v["request"]["body"] {
            Value::Null => None,
            Value::String(t) => Some(t.clone()),
            other => Some(other.to_string()),
        };
        let headers = v["response"]["headers"].as_object().expect("headers");
        out.push(Recorded {
            group: text(&v["group"]),
            method: text(&v["request"]["method"]),
            path: text(&v["request"]["path"]),
            body,
            status: u16::try_from(v["response"]["status"].as_u64().unwrap_or_default()).expect("a status"),
            headers: headers.keys().map(|k| k.to_lowercase()).filter(|k| k.starts_with("x-")).collect(),
            answer: v["response"]["body"].clone(),
            text: v["response"]["body_kind"] == "text",
            file,
        });
    }
    out
}

/// Whether an exchange can be repeated as it stands: no IDs that were made while it was recorded.
fn repeatable(r: &Recorded) -> bool {
    let made = |t: &str| t.contains("periodic-") || t.contains("dispatch-") || has_uuid(t);
    // Some answers were summed up before they were written down.
    let whole = !matches!(r.answer, Value::Bool(_) | Value::Number(_));
    whole && !made(&r.path) && r.body.as_deref().is_none_or(|b| !made(b))
}

fn has_uuid(text: &str) -> bool {
    text.as_bytes().windows(36).any(|w| {
        w.iter()
            .enumerate()
            .all(|(i, b)| if matches!(i, 8 | 13 | 18 | 23) { *b == b'-' } else { b.is_ascii_hexdigit() })
            && w.iter().any(|b| *b != b'0' && *b != b'-')
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_calls_have_the_same_answers() {
    let Some(dir) = recorded::folder("http/reference-2.0.5") else { return };
    let s = TestServer::start().await;
    node_rpc::register(&s.server, node(), "").await.expect("a node");
    node_rpc::update_status(&s.server, NODE, &SECRET.into(), "", NodeStatus::Ready).await.expect("ready");
    let (mut compared, mut wrong) = (BTreeMap::<String, u32>::new(), Vec::new());
    for r in calls(&dir, &["params", "jobs", "deploy", "scale", "batch", "paging"]).iter().filter(|r| repeatable(r)) {
        // Other endpoints have tests of their own.
        if r.path.starts_with("/v1/vars") || r.path.starts_with("/v1/node") {
            continue;
        }
        let answer = s.send(&r.method, &r.path, &[], r.body.as_deref()).await;
        if r.method != "GET" && answer.status == 200 {
            settle(&s).await;
        }
        // The results of these groups depend on calls that name IDs and were left out; their errors do not, but for the
        // rollout of canaries that were never promoted.
        let follows = matches!(r.group.as_str(), "params" | "jobs");
        if !follows && (!r.text || r.file.contains("modify-index-conflict")) {
            continue;
        }
        *compared.entry(r.group.clone()).or_default() += 1;
        let mut differing = Vec::new();
        if answer.status != r.status {
            differing.push(format!("status {}, not {}: {}", answer.status, r.status, answer.text()));
        } else if r.text {
            let want = r.answer.as_str().unwrap_or_default();
            // The words of decoders are no interface.
            let free = want.starts_with("json: ") || want.contains("no match found, expected");
            if !free && !same_text(want, &answer.text()) {
                differing.push(format!("{:?}, not {want:?}", answer.text()));
            }
        } else {
            differing.extend(differences(&r.answer, &answer.json(), &NOT_OURS));
        }
        for h in &r.headers {
            if answer.header(h).is_none() {
                differing.push(format!("no header {h}"));
            }
        }
        wrong.extend(differing.into_iter().map(|t| format!("{} {} {}: {t}", r.file, r.method, r.path)));
    }
    println!("repeated: {compared:?}; differences: {}", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.stop().await;
}
