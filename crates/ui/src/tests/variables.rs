//! Variables, namespaces, storage, services and access.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::cluster::{Browser, Canned};

const PATH: &str = "/ui/variables/var/nomad%2Fjobs%2Fweb@default";

fn variable() -> Canned {
    let body = json!({ "Namespace": "default", "Path": "nomad/jobs/web", "ModifyIndex": 9, "Items": { "key": "s3cret<b>" },
        "Lock": { "ID": "l1", "TTL": "15s", "LockDelay": "15s" } });
    Canned::live().get("/v1/var/nomad%2Fjobs%2Fweb", body)
}

#[tokio::test]
async fn values_are_hidden_until_a_person_asks() {
    let mut browser = Browser::of(variable());
    for path in [PATH, "/ui/variables/var/nomad/jobs/web@default"] {
        let page = browser.open(path).await;
        page.has(&["key", "hidden", "held by"]);
        page.has_not(&["s3cret"]);
    }
    browser.open(&format!("{PATH}?values=shown")).await.has(&["s3cret&lt;b&gt;"]);
}

#[tokio::test]
async fn a_change_names_the_index_that_was_seen_and_a_conflict_repeats_no_value() {
    let conflict = json!("{\"Items\":{\"key\":\"other\"}}");
    let mut browser =
        Browser::of(variable().answer("PUT", "/v1/var/nomad%2Fjobs%2Fweb", StatusCode::CONFLICT, conflict));
    let fields = [
        ("index", "9"),
        ("path", "nomad/jobs/web"),
        ("namespace", "default"),
        ("key", "a"),
        ("value", "1\r\n2"),
        ("key", ""),
        ("value", ""),
    ];
    let refused = browser.submit("/ui/variables/var/nomad/jobs/web@default/edit", "/ui/variables/save", &fields).await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    refused.has(&["was changed since you opened it"]);
    refused.has_not(&["other"]);
    let sent = browser.sent().pop().expect("a request");
    assert!(sent.uri.ends_with("?namespace=default&cas=9"), "{}", sent.uri);
    let body: Value = serde_json::from_str(&sent.body).expect("JSON");
    assert_eq!(body["Items"], json!({ "a": "1\n2" }));
}

#[tokio::test]
async fn a_namespace_keeps_what_the_form_does_not_have() {
    let namespace = json!({ "Name": "a", "Quota": "q", "Meta": null });
    let cluster = Canned::live()
        .get("/v1/namespace/a", namespace)
        .answer("PUT", "/v1/namespace/a", StatusCode::OK, Value::Null)
        .get("/v1/acl/token/self", json!({ "Type": "management" }));
    let mut browser = Browser::of(cluster);
    let done = browser
        .submit("/ui/namespaces/a", "/ui/namespaces", &[("name", "a"), ("description", "d"), ("meta", "x=1\ny=2=3")])
        .await;
    assert_eq!(done.location(), "/ui/namespaces/a");
    let body: Value = serde_json::from_str(&browser.sent().pop().expect("a request").body).expect("JSON");
    assert_eq!(body, json!({ "Name": "a", "Quota": "q", "Description": "d", "Meta": { "x": "1", "y": "2=3" } }));
}

#[tokio::test]
async fn a_policy_is_explained() {
    let policy = json!({ "Name": "p", "Rules": "…", "RulesJSON": { "Namespaces": [{ "Name": "prod-*", "Policy": "read",
        "Capabilities": ["list-jobs"], "Variables": { "Paths": [{ "PathSpec": "a/*", "Capabilities": ["read"] }] } }],
        "NodePools": null, "Node": { "Policy": "write" }, "Agent": null } });
    let page = Canned::live().get("/v1/acl/policy/p", policy).open("/ui/access-control/policies/p").await;
    page.has(&["<code>prod-*</code>", "list-jobs", "<code>a/*</code>", "nodes", "write"]);
}

#[tokio::test]
async fn a_cluster_without_acls_says_so() {
    let off = Canned::live().answer("GET", "/v1/acl/tokens", StatusCode::BAD_REQUEST, json!("ACL support disabled"));
    let page = off.open("/ui/access-control/tokens").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&["ACL support disabled", "enabled = true"]);
}

#[tokio::test]
async fn the_secret_of_a_token_is_shown_when_asked_for() {
    let token = json!({ "AccessorID": "a1", "SecretID": "s3cret", "Name": "ci", "Type": "client" });
    let mut browser = Browser::of(Canned::live().get("/v1/acl/token/a1", token));
    browser.open("/ui/access-control/tokens/a1").await.has_not(&["s3cret"]);
    browser.open("/ui/access-control/tokens/a1?secret=shown").await.has(&["s3cret"]);
}

#[tokio::test]
async fn storage_shows_states_and_hostile_names() {
    let evil = "<img src=x>";
    let rows = json!([{ "ID": "v1", "Name": evil, "Namespace": "default", "State": "unavailable", "NodeID": "n1", "CapacityBytes": 1_073_741_824 }]);
    let page = Canned::live().get("/v1/volumes", rows).open("/ui/storage").await;
    page.has(&["&lt;img src=x&gt;", "unavailable", "1 GiB", "href=\"/ui/storage/volumes/host/v1@default\""]);
    page.has_not(&["<img"]);
    let missing = Canned::live().open("/ui/storage/volumes/host/v9@default").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn services_link_to_their_registrations() {
    let services = json!([{ "Namespace": "default", "Services": [{ "ServiceName": "a/b", "Tags": ["<i>"] }] }]);
    let mut browser = Browser::of(Canned::live().get("/v1/services", services).get("/v1/service/a%2Fb",
        json!([{ "ID": "r1", "ServiceName": "a/b", "Namespace": "default", "Address": "10.0.0.1", "Port": 80, "JobID": "web" }])));
    browser.open("/ui/services").await.has(&["href=\"/ui/services/a%2Fb@default\"", "&lt;i&gt;"]);
    browser.open("/ui/services/a%2Fb@default").await.has(&["10.0.0.1:80", "href=\"/ui/jobs/web@default\""]);
}

#[tokio::test]
async fn forms_of_access_are_shown_to_those_who_may_manage_it() {
    let roles = |cluster: Canned| cluster.get("/v1/acl/roles", json!([]));
    let client = roles(Canned::with_access_control()).get("/v1/acl/token/self", json!({ "Type": "client" }));
    client.open("/ui/access-control/roles").await.has_not(&["New role"]);
    let unknown = roles(Canned::with_access_control());
    unknown.open("/ui/access-control/roles").await.has_not(&["New role"]);
    let all = roles(Canned::with_access_control()).get("/v1/acl/token/self", json!({ "Type": "management" }));
    all.open("/ui/access-control/roles").await.has(&["New role"]);
    roles(Canned::live()).open("/ui/access-control/roles").await.has(&["New role"]);
}
