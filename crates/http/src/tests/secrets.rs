//! No answer of any route and no event contains a secret.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::server::TestServer;
use crate::agent::state::HttpSettings;
use crate::routes::find;
use axum::body::Body;
use axum::extract::{ConnectInfo, State};
use axum::http::Request;
use encamp_model::*;
use encamp_ops::{AclChange, Operation, codec};
use encamp_server::Server;
use encamp_server::nodes::node_rpc;
use encamp_server::storage::persist;
use futures_util::StreamExt;
use serde_json::{Value, json};

const NODE: &str = "86825d37-5264-effb-1a7c-30be40b9a44c";
const EVAL: &str = "0b9a5f3e-86a8-4bcb-8b6e-2d0c7a9f4e11";
const VOLUME: &str = "vol";
/// Part of every secret of the test state.
const NEEDLE: &str = "WALK-SECRET";

fn secret(name: &str) -> SecretString {
    format!("{NEEDLE}-{name}").into()
}

/// A node, an evaluation, a volume and a job, with all secrets they can have.
async fn fill(s: &TestServer) {
    let mut store = (*s.server.snapshot()).clone();
    let secrets = [("key".to_string(), secret("volume"))].into();
    let volume = CsiVolume { id: VOLUME.into(), namespace: "default".into(), secrets, ..CsiVolume::default() };
    store.put_csi_volume(Arc::new(volume));
    let mut state = Vec::new();
    persist::write(&store, &mut state).expect("a snapshot");
    s.server.restore(Bytes(state)).await.expect("restored");
    let stored = s.server.snapshot().state().csi_volume("default", VOLUME).expect("a volume").secrets.clone();
    assert_eq!(stored, [("key".to_string(), secret("volume"))].into(), "the snapshot carries secrets");

    let node = Node {
        id: NODE.into(),
        secret_id: secret("node"),
        name: "node-1".into(),
        datacenter: "dc1".into(),
        attributes: [("os.name".to_string(), "linux".to_string())].into(),
        status: NodeStatus::Ready,
        ..Node::default()
    };
    node_rpc::register(&s.server, node, "").await.expect("registered");
    let job = json!({"Job": {"ID": "web", "Datacenters": ["dc1"], "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [
        {"Name": "t", "Driver": "raw_exec", "Config": {"command": "true"}}]}]}});
    assert_eq!(s.put("/v1/jobs", job).await.status, 200);
    let eval = Evaluation {
        id: EVAL.into(),
        namespace: "default".into(),
        job_id: "web".into(),
        r#type: JobType::Service,
        status: EvalStatus::Complete,
        leader_acl: secret("leader"),
        ..Evaluation::default()
    };
    s.server.commit(Operation::EvalUpdate { evals: vec![eval] }).await.expect("written");
    assert_eq!(s.put("/v1/var/a/b", json!({"Path": "a/b", "Items": {"k": "v"}})).await.status, 200);
}

/// The secrets of the state as texts that an answer could contain.
fn secrets(server: &Server) -> Vec<String> {
    let mut texts = vec![NEEDLE.to_string()];
    for key in server.snapshot().root_keys() {
        for part in [&key.kek, &key.data_key, &key.rsa_key] {
            assert!(!part.is_empty());
            let text = serde_json::to_string(&Bytes(part.expose().to_vec())).expect("base64");
            texts.push(text.trim_matches('"').to_string());
        }
    }
    assert!(texts.len() > 3, "there is a root key");
    texts
}

/// Everything that an answer says within a moment: status line, headers and body.
async fn answer(s: &TestServer, method: &str, path: &str, body: &str) -> String {
    answer_to(s, "", method, path, body).await
}

/// The same for the caller with a token.
async fn answer_to(s: &TestServer, token: &str, method: &str, path: &str, body: &str) -> String {
    let request = Request::builder().method(method).uri(path).header("content-length", body.len());
    let mut request = request.header("x-nomad-token", token).body(Body::from(body.to_string())).expect("a request");
    request.extensions_mut().insert(ConnectInfo(std::net::SocketAddr::from(([127, 0, 0, 1], 9))));
    let mut said = String::new();
    let all = async {
        let response = crate::routes::entry::answer(State(s.app.clone()), request).await;
        said.push_str(&format!("{} {:?}\n", response.status().as_u16(), response.headers()));
        let mut chunks = response.into_body().into_data_stream();
        while let Some(Ok(chunk)) = chunks.next().await {
            said.push_str(&String::from_utf8_lossy(&chunk));
        }
    };
    // Streams do not end.
    let _ = tokio::time::timeout(Duration::from_secs(1), all).await;
    said
}

/// The paths that fit a pattern: with every ID of the state, and with what handlers know below one.
fn paths(server: &Server, pattern: &str) -> Vec<String> {
    if !pattern.ends_with('/') {
        return vec![pattern.to_string()];
    }
    let snapshot = server.snapshot();
    let mut ids: BTreeSet<String> =
        [NODE, EVAL, VOLUME, "web", "default", "all", "a/b", "list", "keys", "configuration", "self", "peers"]
            .map(String::from)
            .into();
    ids.extend(snapshot.root_keys().map(|k| k.meta.key_id.clone()));
    ids.extend(snapshot.evals_by_create().map(|e| e.id.to_string()));
    let below = [
        "",
        "/allocations",
        "/evaluations",
        "/versions",
        "/submission",
        "/summary",
        "/deployments",
        "/deployment",
        "/scale",
        "/services",
        "/actions",
        "/nodes",
        "/jobs",
        "/stats",
        "/drain",
        "/eligibility",
        "/evaluate",
    ];
    let deep = ["/v1/job/", "/v1/node/", "/v1/allocation/", "/v1/evaluation/", "/v1/node/pool/"].contains(&pattern);
    let below = if deep { &below[..] } else { &below[..1] };
    let all = ids.iter().flat_map(|id| below.iter().map(move |b| format!("{pattern}{id}{b}")));
    std::iter::once(pattern.to_string()).chain(all).collect()
}

/// A backup contains the state as servers store it.
const WITH_SECRETS: &str = "/v1/operator/snapshot";

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_of_any_route_contains_a_secret() {
    let s = TestServer::start().await;
    assert!(s.server.keyring().wait_active(Duration::from_secs(60)).await);
    fill(&s).await;
    let hidden = secrets(&s.server);
    let leaked = |said: &str| hidden.iter().any(|text| said.contains(text.as_str()));
    let node = s.server.snapshot().state().node(NODE).expect("a node").node.clone();
    assert!(leaked(&String::from_utf8_lossy(&codec::encode(&node).expect("encoded"))), "the log carries secrets");

    let events = answer(&s, "GET", "/v1/event/stream?namespace=*&index=0", "").await;
    let lines = events.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let topics: BTreeSet<String> = lines
        .flat_map(|l| l["Events"].as_array().cloned().unwrap_or_default())
        .filter_map(|e| e["Topic"].as_str().map(String::from))
        .collect();
    assert!(!leaked(&events), "{events}");
    for topic in ["Node", "Evaluation", "Job", "Variable"] {
        assert!(topics.contains(topic), "{topic}: {topics:?}");
    }

    let (mut found, mut successes) = (Vec::new(), 0);
    let query = "?resources=true&os=true&task_states=true&verbose=true&diffs=true&namespace=default&pretty=true";
    for method in ["GET", "PUT", "DELETE"] {
        for pattern in find::prefixes().filter(|p| *p != WITH_SECRETS) {
            for path in paths(&s.server, pattern) {
                // Endless streams are the event stream, which was read, and the logs.
                if ["/v1/event/stream", "/v1/agent/monitor"].contains(&path.as_str()) {
                    continue;
                }
                let said = answer(&s, method, &format!("{path}{query}"), if method == "GET" { "" } else { "{}" }).await;
                successes += usize::from(said.starts_with("200 "));
                if leaked(&said) {
                    found.push(format!("{method} {path}: {said}"));
                }
            }
            if method == "GET" {
                assert!(s.server.snapshot().state().node(NODE).is_some(), "{pattern}: reads change nothing");
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(successes > 100, "{successes} answers with content");
    s.stop().await;
}

/// Writes ACL objects with all secrets they can have. Returns a management token.
async fn fill_acl(s: &TestServer) -> String {
    let token = |accessor: &str| AclToken {
        accessor_id: accessor.into(),
        secret_id: secret(accessor),
        r#type: AclTokenType::Management,
        ..Default::default()
    };
    let assertion = OidcClientAssertion {
        client_secret: secret("assertion"),
        private_key: Some(OidcClientAssertionKey { pem_key: secret("pem"), ..Default::default() }),
        ..Default::default()
    };
    let config = AclAuthMethodConfig {
        oidc_client_secret: secret("client"),
        oidc_client_assertion: Some(assertion),
        ..Default::default()
    };
    let method = AclAuthMethod { name: "sso".into(), config: Some(config), ..Default::default() };
    let policy = AclPolicy { name: "dev".into(), ..Default::default() };
    let links = vec![AclRolePolicyLink { name: "dev".into() }];
    let role = AclRole { id: ROLE.into(), name: "developers".into(), policies: links, ..Default::default() };
    let rule = AclBindingRule { id: RULE.into(), auth_method: "sso".into(), ..Default::default() };
    let once = OneTimeToken {
        one_time_secret_id: secret("once"),
        accessor_id: OTHER.into(),
        expires_at: Time::from_unix_nanos(i64::MAX),
        ..Default::default()
    };
    // The token of the walk has a secret of its own, which answers may repeat to it.
    let caller = AclToken { secret_id: NODE.into(), ..token("caller") };
    for change in [
        AclChange::Bootstrap { token: caller, reset_index: 0 },
        AclChange::TokenUpsert(vec![token(OTHER)]),
        AclChange::PolicyUpsert(vec![policy]),
        AclChange::RoleUpsert(vec![role]),
        AclChange::AuthMethodUpsert(vec![method]),
        AclChange::BindingRuleUpsert(vec![rule]),
        AclChange::OneTimeUpsert(once),
    ] {
        s.server.commit(Operation::Acl(Box::new(change))).await.expect("written");
    }
    NODE.into()
}

/// The IDs of a token, a role and a binding rule.
const OTHER: &str = "0fb1b38a-5f7a-4a1c-9d69-000000000001";
const ROLE: &str = "0fb1b38a-5f7a-4a1c-9d69-000000000002";
const RULE: &str = "0fb1b38a-5f7a-4a1c-9d69-000000000003";
/// The only answer with the secret of another caller: a token, for who may make tokens.
const SHOWN: &str = "/v1/acl/token/0fb1b38a-5f7a-4a1c-9d69-000000000001";

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_acl_objects_are_in_answers_about_one_token_alone() {
    let settings = HttpSettings { acl_enabled: true, ..HttpSettings::default() };
    let s = TestServer::with_settings(None, settings).await;
    let root = fill_acl(&s).await;
    let events = answer_to(&s, &root, "GET", "/v1/event/stream?topic=*&namespace=*&index=0", "").await;
    assert!(!events.contains(NEEDLE), "{events}");
    for topic in ["ACLToken", "ACLPolicy", "ACLRole", "ACLAuthMethod", "ACLBindingRule"] {
        assert!(events.contains(&format!("\"Topic\":\"{topic}\"")), "{topic}: {events}");
    }
    let (mut found, mut successes) = (Vec::new(), 0);
    for pattern in find::prefixes().filter(|p| *p != WITH_SECRETS) {
        let ids = ["", OTHER, "self", "dev", ROLE, "name/developers", "sso", RULE, "configuration", "members"];
        let ids = if pattern.ends_with('/') { &ids[..] } else { &ids[..1] };
        for path in ids.iter().map(|id| format!("{pattern}{id}")) {
            if ["/v1/event/stream", "/v1/agent/monitor"].contains(&path.as_str()) {
                continue;
            }
            let said = answer_to(&s, &root, "GET", &path, "").await;
            successes += usize::from(said.starts_with("200 ") && path.starts_with("/v1/acl/"));
            if said.contains(NEEDLE) != (path == SHOWN) {
                found.push(format!("{path}: {said}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(successes >= 12, "{successes} answers about ACL objects");
    s.stop().await;
}
