//! What tokens with one policy may do, compared with the recorded answers
//! (`tests/oracle/http/reference-2.0.5-acl`, groups `acl-enforce` and `acl-reject`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::acl::{ask, bootstrap, done, start, text};
use super::server::Answer;
use encamp_test_support::recorded;

const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// The calls of the recorder that need no body, but for `agent-servers`, which needs a node agent.
const CALLS: [(&str, &str, &str); 46] = [
    ("jobs", "GET", "/v1/jobs"),
    ("jobs-star", "GET", "/v1/jobs?namespace=*"),
    ("jobs-apps", "GET", "/v1/jobs?namespace=apps"),
    ("jobs-apps-prod", "GET", "/v1/jobs?namespace=apps-prod"),
    ("job-get", "GET", "/v1/job/nope"),
    ("stop", "DELETE", "/v1/job/nope"),
    ("purge", "DELETE", "/v1/job/nope?purge=true"),
    ("evaluate", "PUT", "/v1/job/nope/evaluate"),
    ("periodic-force", "PUT", "/v1/job/nope/periodic/force"),
    ("allocs", "GET", "/v1/allocations"),
    ("alloc-stop", "PUT", "/v1/allocation/00000000-0000-0000-0000-000000000000/stop"),
    ("evals", "GET", "/v1/evaluations"),
    ("deployments", "GET", "/v1/deployments"),
    ("nodes", "GET", "/v1/nodes"),
    ("node-pools", "GET", "/v1/node/pools"),
    ("namespaces", "GET", "/v1/namespaces"),
    ("vars", "GET", "/v1/vars"),
    ("vars-star", "GET", "/v1/vars?namespace=*"),
    ("var-app", "GET", "/v1/var/app/one"),
    ("var-secret", "GET", "/v1/var/secret/one"),
    ("var-delete", "DELETE", "/v1/var/app/none"),
    ("services", "GET", "/v1/services"),
    ("scaling", "GET", "/v1/scaling/policies"),
    ("volumes-host", "GET", "/v1/volumes?type=host"),
    ("volumes-csi", "GET", "/v1/volumes?type=csi"),
    ("plugins", "GET", "/v1/plugins?type=csi"),
    ("agent-self", "GET", "/v1/agent/self"),
    ("agent-members", "GET", "/v1/agent/members"),
    ("agent-reload", "PUT", "/v1/agent/reload"),
    ("agent-health", "GET", "/v1/agent/health"),
    ("metrics", "GET", "/v1/metrics"),
    ("leader", "GET", "/v1/status/leader"),
    ("regions", "GET", "/v1/regions"),
    ("sched-get", "GET", "/v1/operator/scheduler/configuration"),
    ("raft", "GET", "/v1/operator/raft/configuration"),
    ("autopilot", "GET", "/v1/operator/autopilot/configuration"),
    ("keyring", "GET", "/v1/operator/keyring/keys"),
    ("snapshot", "GET", "/v1/operator/snapshot"),
    ("gc", "PUT", "/v1/system/gc"),
    ("client-gc", "PUT", "/v1/client/gc"),
    ("client-stats", "GET", "/v1/client/stats"),
    ("acl-policies", "GET", "/v1/acl/policies"),
    ("acl-tokens", "GET", "/v1/acl/tokens"),
    ("acl-self", "GET", "/v1/acl/token/self"),
    ("acl-policy-self", "GET", "/v1/acl/policy/self"),
    ("acl-roles", "GET", "/v1/acl/roles"),
];

/// Calls that need more than a server: whether they are refused is compared alone.
const OF_AGENTS: [&str; 9] = [
    "agent-self",
    "agent-members",
    "agent-reload",
    "agent-health",
    "metrics",
    "snapshot",
    "client-gc",
    "client-stats",
    "node-drain",
];

/// The calls with a body.
fn bodies(job: &Value) -> Vec<(&'static str, &'static str, String, Value)> {
    let call = |name, method, path: &str, body| (name, method, path.to_string(), body);
    let hcl = "job \"parsed\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"raw_exec\"\n    }\n  }\n}\n";
    vec![
        call("plan", "POST", "/v1/job/pl/plan", json!({"Job": job, "Diff": false})),
        call("validate", "PUT", "/v1/validate/job", json!({ "Job": job })),
        call("parse", "POST", "/v1/jobs/parse", json!({ "JobHCL": hcl })),
        call("dispatch", "PUT", "/v1/job/nope/dispatch", json!({})),
        call("scale", "PUT", "/v1/job/nope/scale", json!({"Count": 1, "Target": {"Group": "g"}})),
        call("revert", "PUT", "/v1/job/nope/revert", json!({"JobID": "nope", "JobVersion": 1})),
        call("evals-delete", "DELETE", "/v1/evaluations", json!({"EvalIDs": [NOBODY]})),
        call("node-drain", "PUT", &format!("/v1/node/{NOBODY}/drain"), json!({ "DrainSpec": null })),
        call("node-pool-put", "PUT", "/v1/node/pools", json!({"Name": "np1"})),
        call("namespace-put", "PUT", "/v1/namespace", json!({"Name": "zz"})),
        call("var-put", "PUT", "/v1/var/app/two", json!({"Items": {"k": "v"}})),
        call("search", "POST", "/v1/search", json!({"Prefix": "a", "Context": "all"})),
        call("search-nodes", "POST", "/v1/search", json!({"Prefix": "a", "Context": "nodes"})),
        call("fuzzy-star", "POST", "/v1/search/fuzzy?namespace=*", json!({"Text": "apps", "Context": "all"})),
    ]
}

/// What the recorder keeps of rows: the paths of variables, the names of what has no namespace.
fn row_names(call: &str, body: &Value) -> Option<Value> {
    let named = ["namespaces", "node-pools", "acl-policies"].contains(&call);
    let name = |row: &Value| {
        let name = row["Path"].as_str().or_else(|| row["Name"].as_str().filter(|_| named))?;
        Some(name.to_string())
    };
    let names: BTreeSet<String> = body.as_array()?.iter().filter_map(name).collect();
    (!names.is_empty()).then(|| json!(names))
}

/// How an answer differs from the recorded one.
fn difference(call: &str, want: &Value, got: &Answer) -> Option<String> {
    let refused = want["status"] == 403;
    if refused != (got.status == 403) {
        return Some(format!("{} ({}), recorded {want}", got.status, got.text()));
    }
    if refused || OF_AGENTS.contains(&call) {
        return None;
    }
    let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
    let contexts = body["Truncations"].as_object().map(|all| {
        let mut names: Vec<&String> = all.keys().collect();
        names.sort_unstable();
        json!(names)
    });
    let contexts = contexts.filter(|_| ["search", "fuzzy-star"].contains(&call)).unwrap_or_default();
    let ours = (json!(got.status), row_names(call, &body).unwrap_or_default(), contexts);
    let theirs = (want["status"].clone(), want["names"].clone(), want["contexts"].clone());
    (ours != theirs).then(|| format!("{ours:?}, recorded {theirs:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_rights() {
    let Some(folder) = recorded::folder("http/reference-2.0.5-acl") else { return };
    let files = recorded::files(&folder, ".json").into_iter();
    let exchanges: Vec<Value> = files.filter_map(|(_, path)| recorded::json_at(&path)).collect();
    let find = |group: &str, name: &str| exchanges.iter().find(|e| e["group"] == group && e["name"] == name);
    let (Some(dev), Some(plan)) = (find("acl-policy", "create"), find("acl-reject", "management-may")) else { return };
    let job = &plan["request"]["body"]["Job"];
    let s = start().await;
    assert!(s.server.keyring().wait_active(std::time::Duration::from_secs(60)).await);
    let root = bootstrap(&s).await;
    done(&s, &root, "PUT", "/v1/acl/policy/dev", dev["request"]["body"].clone()).await;
    done(&s, &root, "PUT", "/v1/acl/role", json!({"Name": "developers", "Policies": [{"Name": "dev"}]})).await;
    for name in ["apps", "apps-prod", "web-qa"] {
        done(&s, &root, "PUT", "/v1/namespace", json!({ "Name": name })).await;
    }
    for path in ["/v1/var/app/one", "/v1/var/secret/one"] {
        done(&s, &root, "PUT", path, json!({"Items": {"k": "v"}})).await;
    }
    let (mut total, mut wrong) = (0, Vec::new());
    for exchange in exchanges.iter().filter(|e| e["group"] == "acl-enforce") {
        let name = text(exchange, "name");
        let token = match (name.as_str(), exchange["request"]["body"].as_str()) {
            ("role-dev", _) => json!({"Type": "client", "Roles": [{"Name": "developers"}]}),
            (name, Some(rules)) => {
                done(&s, &root, "PUT", &format!("/v1/acl/policy/{name}"), json!({"Name": name, "Rules": rules})).await;
                json!({"Type": "client", "Policies": [name]})
            }
            (_, None) => Value::Null,
        };
        let secret = match token {
            Value::Null => String::new(),
            token => text(&done(&s, &root, "PUT", "/v1/acl/token", token).await, "SecretID"),
        };
        let plain = CALLS.iter().map(|(n, m, p)| (*n, *m, (*p).to_string(), Value::Null));
        // Reads of variables and pools come before the writes of the same token, as they were recorded.
        for (call, method, path, body) in plain.chain(bodies(job)) {
            total += 1;
            let got = ask(&s, &secret, method, &path, body).await;
            let want = &exchange["response"]["body"][call];
            if let Some(difference) = difference(call, want, &got) {
                wrong.push(format!("{name} {call}: {difference}"));
            }
        }
    }
    println!("{} of {total} recorded rights are equal", total - wrong.len());
    assert!(total > 1200 || recorded::replaced(), "{total}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recorded_refusals_of_jobs() {
    let Some(folder) = recorded::folder("http/reference-2.0.5-acl") else { return };
    let files = recorded::files(&folder, ".json").into_iter();
    let exchanges: Vec<Value> = files.filter_map(|(_, path)| recorded::json_at(&path)).collect();
    let s = start().await;
    let root = bootstrap(&s).await;
    let configuration = "/v1/operator/scheduler/configuration";
    done(&s, &root, "PUT", configuration, json!({"RejectJobRegistration": true})).await;
    let rules = json!({"Name": "write", "Rules": "namespace \"default\" { policy = \"write\" }"});
    done(&s, &root, "PUT", "/v1/acl/policy/write", rules).await;
    let token = json!({"Type": "client", "Policies": ["write"]});
    let client = text(&done(&s, &root, "PUT", "/v1/acl/token", token).await, "SecretID");
    for exchange in exchanges.iter().filter(|e| e["group"] == "acl-reject") {
        let name = text(exchange, "name");
        let secret = if name.starts_with("management") { &root } else { &client };
        let (request, want) = (&exchange["request"], &exchange["response"]);
        let got = ask(&s, secret, &text(request, "method"), &text(request, "path"), request["body"].clone()).await;
        assert_eq!(want["status"], got.status, "{name}: {}", got.text());
        if let Some(want) = want["body"].as_str() {
            assert_eq!(got.text(), want, "{name}");
        }
    }
    s.stop().await;
}
