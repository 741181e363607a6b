//! The overview.

use axum::http::StatusCode;
use serde_json::json;

use super::cluster::Canned;
use super::sample::{ALLOC, DEPLOYMENT, EVAL, NODE, deployment, fill};

#[tokio::test]
async fn what_needs_attention_comes_first() {
    let page = fill(Canned::live(), "web").open("/ui/").await;
    let places =
        ["Unplaced", "Failing allocations", "Clients that are not ready", "Active deployments", "Servers", "Latest"];
    let found: Vec<_> = places.iter().map(|text| page.body.find(&format!("<h2>{text}"))).collect();
    assert!(found.iter().all(Option::is_some) && found.is_sorted(), "{found:?}");
    page.has(&[ALLOC, DEPLOYMENT, EVAL, NODE, "memory (2 nodes)"]);
}

#[tokio::test]
async fn a_cluster_without_problems_says_so() {
    let lists = ["/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/deployments", "/v1/nodes"];
    let calm = lists.iter().fold(Canned::live(), |cluster, path| cluster.get(path, json!([])));
    calm.open("/ui/").await.has(&["Nothing needs attention.", "Nothing happened yet."]);
}

#[tokio::test]
async fn a_token_that_may_see_nothing_sees_an_overview_of_nothing() {
    let lists = ["/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/deployments", "/v1/nodes"];
    let denied = json!("Permission denied");
    let cluster = lists
        .iter()
        .fold(Canned::live(), |cluster, path| cluster.answer("GET", path, StatusCode::FORBIDDEN, denied.clone()));
    let page = cluster.open("/ui/").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&["Your token may not see everything"]);
    page.has(&["<b>-</b>"]);
    page.has_not(&["Nothing needs attention.", "<b>0</b>"]);
}

#[tokio::test]
async fn deployments_that_wait_for_an_operator_come_before_those_that_go_on() {
    let mut all: Vec<_> = (0..20)
        .map(|i| {
            let mut d = deployment(&format!("job{i}"));
            d["TaskGroups"] = json!({});
            d
        })
        .collect();
    all.push(deployment("waiting"));
    let page = fill(Canned::live(), "web").instead("/v1/deployments", json!(all)).open("/ui/").await;
    page.has(&["/ui/jobs/waiting@waiting", "/ui/jobs/job8@job8", "<b>1</b><small>wait for an operator"]);
    page.has_not(&["/ui/jobs/job9@job9"]);
}
