//! Faults of Nomad that advisories describe (`SECURITY.md`), tried here as their attackers would.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::Request;
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::{Value, json};

use super::acl::{ask, bootstrap, done, start, text};
use super::server::TestServer;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{AclChange, Operation};
use encamp_server::storage::persist;

const CLAIM: &str = "3a3a3a3a-1111-4222-8333-444455556666";
/// The longest wait for what has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The secret of a token with a policy of these rules.
async fn token(s: &TestServer, root: &str, name: &str, rules: &str) -> String {
    done(s, root, "PUT", &format!("/v1/acl/policy/{name}"), json!({"Name": name, "Rules": rules})).await;
    let body = json!({"Name": name, "Type": "client", "Policies": [name]});
    text(&done(s, root, "PUT", "/v1/acl/token", body).await, "SecretID")
}

async fn stream(s: &TestServer, secret: &str, query: &str) -> Response {
    let request = Request::get(format!("/v1/event/stream?{query}")).header("x-nomad-token", secret);
    let response = crate::routes::entry::answer(State(s.app.clone()), request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status().as_u16(), 200);
    response
}

async fn register(s: &TestServer, root: &str, namespace: &str, id: &str) {
    let task = json!({"Name": "t", "Driver": "raw_exec", "Config": {"command": "true"}});
    let job = json!({"ID": id, "Name": id, "Namespace": namespace, "Type": "batch", "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [task]}]});
    done(s, root, "PUT", &format!("/v1/jobs?namespace={namespace}"), json!({ "Job": job })).await;
}

/// Puts objects into the state that only nodes make.
async fn put(s: &TestServer, with: impl FnOnce(&mut encamp_state::StateStore)) {
    let mut store = (*s.server.snapshot()).clone();
    with(&mut store);
    let mut state = Vec::new();
    persist::write(&store, &mut state).expect("a snapshot");
    s.server.restore(Bytes(state)).await.expect("restored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_all_namespaces_shows_those_that_the_caller_may_read() {
    let s = start().await;
    let root = bootstrap(&s).await;
    done(&s, &root, "PUT", "/v1/namespace", json!({"Name": "other"})).await;
    let reader = token(&s, &root, "reader", "namespace \"default\" { policy = \"read\" }").await;
    let mut lines = stream(&s, &reader, "topic=Job&topic=Evaluation&namespace=*").await.into_body().into_data_stream();
    register(&s, &root, "other", "foreign").await;
    register(&s, &root, "default", "own").await;
    let mut seen = String::new();
    let all = async {
        while !seen.contains("\"own\"") {
            let line = lines.next().await.expect("a line").expect("bytes");
            seen.push_str(&String::from_utf8_lossy(&line));
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("the event of the own job");
    assert!(!seen.contains("foreign"), "{seen}");
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_when_its_token_expires() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let secret = "5c5c5c5c-7777-4777-8777-777777777777";
    let token = AclToken {
        accessor_id: "5d5d5d5d-7777-4777-8777-777777777777".into(),
        secret_id: SecretString::new(secret),
        r#type: AclTokenType::Management,
        expiration_time: Some(Time::from_unix_nanos(ids::now() + 2 * SECOND)),
        ..Default::default()
    };
    let change = AclChange::TokenUpsert(vec![token]);
    s.server.commit(Operation::Acl(Box::new(change))).await.expect("written");
    let stream = stream(&s, secret, "topic=Job").await;
    let said = tokio::time::timeout(PATIENCE, to_bytes(stream.into_body(), usize::MAX)).await;
    said.expect("the stream ends although the token was not collected").expect("a body");
    let stored = s.server.snapshot().acl_token_by_secret(secret).is_some();
    assert!(stored, "the token is still in the state");
    assert_eq!(ask(&s, secret, "GET", "/v1/jobs", Value::Null).await.status, 403);
    assert_eq!(ask(&s, &root, "GET", "/v1/jobs", Value::Null).await.status, 200);
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn volumes_of_another_namespace_need_a_right_there() {
    let s = start().await;
    let root = bootstrap(&s).await;
    done(&s, &root, "PUT", "/v1/namespace", json!({"Name": "other"})).await;
    let rules = "namespace \"default\" { capabilities = [\"csi-write-volume\", \"host-volume-write\"] }\n\
                 plugin { policy = \"read\" }";
    let writer = token(&s, &root, "writer", rules).await;
    let volume = |namespace: &str| {
        json!({"ID": "v", "Name": "v", "Namespace": namespace, "PluginID": "p",
            "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]})
    };
    for path in ["/v1/volume/csi/v", "/v1/volume/csi/v/create"] {
        let own = ask(&s, &writer, "PUT", path, json!({"Volumes": [volume("default")]})).await;
        assert_ne!(own.status, 403, "{path}: {}", own.text());
        let both = json!({"Volumes": [volume("default"), volume("other")]});
        assert_eq!(ask(&s, &writer, "PUT", path, both).await.status, 403, "{path}");
    }
    for path in ["/v1/volume/host/register", "/v1/volume/host/create"] {
        let foreign = json!({"Volume": {"Name": "v", "Namespace": "other", "PluginID": "mkdir"}});
        assert_eq!(ask(&s, &writer, "PUT", path, foreign).await.status, 403, "{path}");
    }
    assert!(s.server.snapshot().state().csi_volume("other", "v").is_none());
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_deleted_with_the_right_in_its_own_namespace() {
    let s = start().await;
    let root = bootstrap(&s).await;
    let delete = "namespace \"default\" { capabilities = [\"host-volume-delete\"] }";
    let caller = token(&s, &root, "deletes", delete).await;
    put(&s, |store| {
        let claim = TaskGroupHostVolumeClaim {
            id: CLAIM.into(),
            namespace: "other".into(),
            job_id: "web".into(),
            task_group_name: "g".into(),
            volume_name: "data".into(),
            ..Default::default()
        };
        store.put_host_volume_claim(Arc::new(claim));
    })
    .await;
    for query in ["", "?namespace=default", "?namespace=other", "?namespace=*"] {
        let answer = ask(&s, &caller, "DELETE", &format!("/v1/volumes/claim/{CLAIM}{query}"), Value::Null).await;
        assert_eq!(answer.status, 403, "{query}: {}", answer.text());
    }
    assert_eq!(s.server.snapshot().state().host_volume_claims().count(), 1);
    done(&s, &root, "DELETE", &format!("/v1/volumes/claim/{CLAIM}"), Value::Null).await;
    assert_eq!(s.server.snapshot().state().host_volume_claims().count(), 0);
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_storage_plugins_are_found_with_their_right_alone() {
    let s = start().await;
    let root = bootstrap(&s).await;
    put(&s, |store| store.put_csi_plugin(Arc::new(CsiPlugin { id: "hidden".into(), ..Default::default() }))).await;
    let without = token(&s, &root, "without", "namespace \"*\" { policy = \"write\" }").await;
    let with = token(&s, &root, "with", "plugin { policy = \"list\" }\nnamespace \"*\" { policy = \"read\" }").await;
    for (path, body) in [
        ("/v1/search", json!({"Prefix": "hid", "Context": "all"})),
        ("/v1/search", json!({"Prefix": "hid", "Context": "plugins"})),
        ("/v1/search/fuzzy", json!({"Text": "hidden", "Context": "all"})),
        ("/v1/search/fuzzy", json!({"Text": "hidden", "Context": "plugins"})),
    ] {
        for secret in ["", &without] {
            let answer = ask(&s, secret, "PUT", path, body.clone()).await;
            assert!(!answer.text().contains("hidden"), "{path} {body}: {}", answer.text());
        }
        let found = done(&s, &with, "PUT", path, body.clone()).await;
        assert!(found.to_string().contains("hidden"), "{path} {body}: {found}");
    }
    s.stop().await;
}
