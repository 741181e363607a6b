//! Pages offer what the person may do, as far as the cluster tells.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::cluster::{Browser, Canned};
use super::sample::fill;

/// A cluster whose person has a token with a policy `mine` and a role with a policy `team`.
fn with_policies(mine: &str, team: &str) -> Canned {
    let token = json!({ "Type": "client", "Policies": ["mine", "gone"], "Roles": [{ "ID": "r1", "Name": "team" }] });
    fill(Canned::with_access_control(), "web")
        .get("/v1/acl/token/self", token)
        .get("/v1/acl/role/r1", json!({ "ID": "r1", "Policies": [{ "Name": "team" }] }))
        .get("/v1/acl/policy/mine", json!({ "Name": "mine", "Rules": mine }))
        .get("/v1/acl/policy/team", json!({ "Name": "team", "Rules": team }))
}

/// The labels of buttons on a page of a job, of those that change it.
const CHANGES: [&str; 4] = ["Stop job", "Evaluate job", "Restart allocations", "aria-label=\"Count of group"];

async fn offered(cluster: Canned) -> Vec<&'static str> {
    let page = cluster.open("/ui/jobs/web@web").await;
    assert_eq!(page.status, StatusCode::OK);
    CHANGES.into_iter().filter(|label| page.body.contains(label)).collect()
}

#[tokio::test]
async fn a_job_is_changed_by_those_who_may() {
    let read = "namespace \"*\" { policy = \"read\" }";
    assert_eq!(offered(with_policies(read, read)).await, [""; 0]);
    let evaluate = "namespace \"web\" { capabilities = [\"evaluate-job\"] }";
    assert_eq!(offered(with_policies(read, evaluate)).await, ["Evaluate job"]);
    let write = "namespace \"web\" { policy = \"write\" }";
    assert_eq!(offered(with_policies(write, read)).await, CHANGES);
    let elsewhere = "namespace \"other\" { policy = \"write\" }";
    assert_eq!(offered(with_policies(read, elsewhere)).await, [""; 0]);
    let denied = "namespace \"web\" { policy = \"deny\" }";
    assert_eq!(offered(with_policies(write, denied)).await, [""; 0]);
}

#[tokio::test]
async fn all_is_offered_where_the_cluster_does_not_tell() {
    let unknown = fill(Canned::with_access_control(), "web");
    assert_eq!(offered(unknown).await, CHANGES);
    let read = "namespace \"*\" { policy = \"read\" }";
    // A policy of a newer version.
    assert_eq!(offered(with_policies(read, "planet \"mars\" { policy = \"read\" }")).await, CHANGES);
    let token = json!({ "Type": "client", "Policies": ["secret"] });
    let secret = fill(Canned::with_access_control(), "web").get("/v1/acl/token/self", token).answer(
        "GET",
        "/v1/acl/policy/secret",
        StatusCode::FORBIDDEN,
        Value::String("Permission denied".into()),
    );
    assert_eq!(offered(secret).await, CHANGES);
}

#[tokio::test]
async fn policies_are_read_once_for_several_pages() {
    let write = "namespace \"web\" { policy = \"write\" }";
    let mut browser = Browser::of(with_policies(write, write));
    for _ in 0..3 {
        browser.open("/ui/jobs/web@web").await.has(&["Stop job"]);
    }
    let asked = browser.sent();
    assert_eq!(asked.iter().filter(|s| s.uri.starts_with("/v1/acl/")).count(), 5, "{asked:?}");
}
