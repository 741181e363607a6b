//! Deployments and what can be done with them.

use axum::http::StatusCode;
use serde_json::json;

use super::cluster::{Browser, Canned};
use super::sample::{DEPLOYMENT, deployment, fill};

#[tokio::test]
async fn a_deployment_is_promoted_paused_and_failed_through_the_api() {
    let page = format!("/ui/deployments/{DEPLOYMENT}");
    for (action, of_api, body) in [
        ("promote", "promote", json!({ "DeploymentID": DEPLOYMENT, "All": true })),
        ("pause", "pause", json!({ "DeploymentID": DEPLOYMENT, "Pause": true })),
        ("fail", "fail", json!({})),
    ] {
        let path = format!("/v1/deployment/{of_api}/{DEPLOYMENT}");
        let cluster = fill(Canned::live(), "web").answer("PUT", &path, StatusCode::OK, json!({}));
        let mut browser = Browser::of(cluster);
        let done = browser.submit(&page, &format!("{page}/{action}"), &[]).await;
        assert_eq!(done.location(), page);
        let sent = browser.sent().into_iter().find(|s| s.method == "PUT").expect("a change");
        assert_eq!((sent.uri, sent.body), (path, body.to_string()));
    }
}

#[tokio::test]
async fn a_deployment_offers_what_fits_its_status() {
    let open = async |status: &str, promoted: bool| {
        let mut d = deployment("web");
        d["Status"] = json!(status);
        d["TaskGroups"]["web"]["Promoted"] = json!(promoted);
        let cluster = fill(Canned::live(), "web").instead(&format!("/v1/deployment/{DEPLOYMENT}"), d);
        cluster.open("/ui/deployments/4444").await
    };
    let running = open("running", false).await;
    running.has(&["/promote\"", "/pause\"", "/fail\"", "The canaries wait"]);
    running.has_not(&["/resume\""]);
    let paused = open("paused", true).await;
    paused.has(&["/resume\"", "/fail\""]);
    paused.has_not(&["/promote\"", "/pause\""]);
    open("successful", true).await.has_not(&["/resume\"", "/promote\"", "/pause\"", "/fail\""]);
}
