//! The list of jobs, and the pages and actions of one.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::cluster::{Browser, Canned, Sent};
use super::sample::{ALLOC, EVAL, fill, job};

fn web() -> Canned {
    fill(Canned::live(), "web")
}

/// The one request that is no read, and its body.
fn changed(browser: &Browser) -> (Sent, Value) {
    let mut changes: Vec<Sent> = browser.sent().into_iter().filter(|s| s.method != "GET").collect();
    assert_eq!(changes.len(), 1, "{changes:?}");
    let sent = changes.remove(0);
    let body = serde_json::from_str(&sent.body).unwrap_or_default();
    (sent, body)
}

#[tokio::test]
async fn the_list_asks_the_api_for_one_page_of_what_the_filter_names() {
    let mut browser = Browser::of(Canned::live().get("/v1/jobs", json!([job("web")])).followed_by("default.x"));
    let page = browser.open("/ui/jobs?q=a%22b&status=running&type=batch&namespace=prod").await;
    page.has(&["href=\"/ui/jobs/web@web\"", "1 unplaced", "1 failed", "1 running", "next_token=default.x"]);
    let uri = &browser.sent()[0].uri;
    let query: Vec<(String, String)> =
        form_urlencoded::parse(uri.split_once('?').map(|(_, q)| q).unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    let of = |name: &str| query.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
    assert_eq!(of("per_page"), Some("100"));
    assert_eq!(of("namespace"), Some("prod"));
    let filter = "(Type == \"batch\") and (Status == \"running\") and (ID contains \"a\\\"b\") and (ParentID == \"\")";
    assert_eq!(of("filter"), Some(filter));
}

#[tokio::test]
async fn an_empty_list_says_what_to_do_and_a_bad_filter_what_is_wrong() {
    Canned::live().get("/v1/jobs", json!([])).open("/ui/jobs").await.has(&["No jobs match", "encamp job run FILE"]);
    let bad = Canned::live().answer("GET", "/v1/jobs", StatusCode::BAD_REQUEST, json!("1:3: no match found"));
    let page = bad.open("/ui/jobs?filter=a+b").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has(&["1:3: no match found", "value=\"a b\""]);
    let broken =
        Canned::live().answer("GET", "/v1/jobs", StatusCode::INTERNAL_SERVER_ERROR, json!("No cluster leader"));
    let page = broken.open("/ui/jobs").await;
    assert_eq!(page.status, StatusCode::INTERNAL_SERVER_ERROR);
    page.has(&["No cluster leader"]);
}

#[tokio::test]
async fn a_job_says_why_allocations_are_unplaced_and_links_to_what_belongs_to_it() {
    let page = web().open("/ui/jobs/web@web").await;
    page.has(&[
        "Why allocations are unplaced",
        "Group web: 2 unplaced",
        "memory",
        &format!("/ui/evaluations?currentEval={EVAL}"),
        &format!("/ui/allocations/{ALLOC}"),
        "action=\"/ui/jobs/web@web/scale\"",
        "data-topics=\"Job%3Aweb Allocation%3Aweb Deployment%3Aweb Evaluation%3Aweb\"",
        "/ui/jobs/web@web/action?action=web&amp;group=web&amp;task=web",
    ]);
    let missing = web().open("/ui/jobs/nothing").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    missing.has(&["There is no job nothing."]);
}

#[tokio::test]
async fn tabs_mark_the_page_also_where_the_address_has_no_namespace() {
    let cluster = || fill(Canned::live(), "web");
    for address in ["/ui/jobs/web/versions", "/ui/jobs/web@web/versions", "/ui/jobs/web%40web/versions"] {
        cluster().open(address).await.has(&[&format!("href=\"{address}\" aria-current=\"page\"")]);
    }
}

#[tokio::test]
async fn the_definition_is_the_source_or_the_job_as_json() {
    web().open("/ui/jobs/web/definition").await.has(&["The source of version 3", "<pre>web</pre>"]);
    web().open("/ui/jobs/web/definition?format=json").await.has(&["&quot;TaskGroups&quot;"]);
    let without =
        Canned::live().get("/v1/job/web", job("web")).get("/v1/job/web/versions", json!({ "Versions": [job("web")] }));
    without
        .open("/ui/jobs/web/definition")
        .await
        .has(&["The cluster has no source of version 3", "&quot;TaskGroups&quot;"]);
}

#[tokio::test]
async fn versions_show_their_changes_and_can_be_reverted_to() {
    let answers =
        web().answer("PUT", "/v1/job/web/revert", StatusCode::OK, json!({ "EvalID": EVAL, "Warnings": "old" }));
    let mut old = job("web");
    old["Version"] = json!(1);
    let versions = json!({ "Versions": [job("web"), old], "Diffs": [{ "Type": "Edited", "Fields": [
        { "Type": "Edited", "Name": "Priority", "Old": "40", "New": "50" },
        { "Type": "None", "Name": "Region", "Old": "global", "New": "global" },
    ] }] });
    let mut browser = Browser::of(answers.instead("/v1/job/web/versions", versions));
    let page = browser.open("/ui/jobs/web/versions").await;
    page.has(&["1 change since the version before", "Priority", "Revert to version 1"]);
    page.has_not(&["Region", "Revert to version 3"]);
    browser.sent();
    let done = browser.submit("/ui/jobs/web/versions", "/ui/jobs/web@web/revert", &[("version", "1")]).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/ui/jobs/web@web"));
    let (sent, body) = changed(&browser);
    assert_eq!(sent.uri, "/v1/job/web/revert?namespace=web");
    assert_eq!(body, json!({ "JobID": "web", "JobVersion": 1 }));
    browser.open("/ui/jobs/web@web").await.has(&["The job is as it was in version 1. old"]);
}

#[tokio::test]
async fn a_group_is_scaled_and_a_job_is_stopped_and_started() {
    let ok = |path: &str, method: &str| web().answer(method, path, StatusCode::OK, json!({ "EvalID": EVAL }));
    let mut browser = Browser::of(ok("/v1/job/web/scale", "PUT"));
    browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/scale", &[("group", "web"), ("count", "5")]).await;
    let (sent, body) = changed(&browser);
    assert_eq!(sent.uri, "/v1/job/web/scale?namespace=web");
    assert_eq!((&body["Count"], &body["Target"]["Group"]), (&json!(5), &json!("web")));
    let bad = browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/scale", &[("group", "web"), ("count", "x")]).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
    bad.has(&["The count is not a number that fits here: x"]);

    let mut browser = Browser::of(ok("/v1/job/web", "DELETE"));
    let done = browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/stop", &[("purge", "true")]).await;
    assert_eq!(done.location(), "/ui/jobs");
    assert_eq!(changed(&browser).0.uri, "/v1/job/web?namespace=web&purge=true&no_shutdown_delay=false");

    let mut stopped = job("web");
    stopped["Stop"] = json!(true);
    let mut browser = Browser::of(ok("/v1/jobs", "PUT").instead("/v1/job/web", stopped));
    browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/start", &[]).await;
    let (_, body) = changed(&browser);
    assert_eq!((&body["Job"]["Stop"], &body["Submission"]["Source"]), (&json!(false), &json!("web")));
}

#[tokio::test]
async fn a_restart_tells_how_many_allocations_it_reached() {
    let path = format!("/v1/client/allocation/{ALLOC}/restart");
    let mut browser = Browser::of(web().answer("PUT", &path, StatusCode::OK, json!({ "Index": 0 })));
    browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/restart", &[]).await;
    browser.open("/ui/jobs/web@web").await.has(&["1 of 1 running allocations were restarted."]);
    let mut browser = Browser::of(web());
    let failed = browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/restart", &[]).await;
    assert_eq!(failed.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn jobs_that_launch_others_are_dispatched_and_forced() {
    let mut parent = job("web");
    parent["ParameterizedJob"] = json!({ "Payload": "optional", "MetaRequired": ["source"], "MetaOptional": null });
    parent["Periodic"] = json!({ "Enabled": true, "Spec": "", "Specs": ["@daily"] });
    let answer = json!({ "DispatchedJobID": "web/dispatch-1", "EvalID": EVAL });
    let cluster = web().instead("/v1/job/web", parent);
    let cluster = cluster.answer("PUT", "/v1/job/web/dispatch", StatusCode::OK, answer);
    let cluster = cluster.answer("PUT", "/v1/job/web/periodic/force", StatusCode::OK, json!({ "EvalID": EVAL }));
    let mut browser = Browser::of(cluster);
    let fields = [("meta_source", "a.mp4"), ("payload", "hi")];
    let done = browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/dispatch", &fields).await;
    assert_eq!(done.location(), "/ui/jobs/web%2Fdispatch-1@web");
    let (_, body) = changed(&browser);
    assert_eq!((&body["Meta"], &body["Payload"]), (&json!({ "source": "a.mp4" }), &json!("aGk=")));
    browser.submit("/ui/jobs/web@web", "/ui/jobs/web@web/force", &[]).await;
    browser.open("/ui/jobs/web@web").await.has(&["The job was launched: evaluation 33333333.", "@daily"]);
}

#[tokio::test]
async fn pages_of_a_file_offer_no_action_and_carry_none_out() {
    let mut browser = Browser::of(fill(Canned::file(), "web"));
    for page in ["", "/versions", "/definition", "/deployments"] {
        let page = browser.open(&format!("/ui/jobs/web@web{page}")).await;
        assert_eq!(page.status, StatusCode::OK);
        page.has_not(&["method=\"post\"", "data-topics", "/exec", "/logs", "action?"]);
    }
}

#[tokio::test]
async fn the_allocations_of_a_job_with_many_are_read_page_by_page() {
    let mut browser =
        Browser::of(web().instead("/v1/job/web/summary", json!({ "Summary": { "web": { "Complete": 5000 } } })));
    browser.open("/ui/jobs/web@web").await.has(&[ALLOC]);
    let uris: Vec<String> = browser.sent().into_iter().map(|s| s.uri).collect();
    assert!(uris.iter().any(|u| u.starts_with("/v1/allocations?") && u.contains("per_page=10")), "{uris:?}");
    assert!(!uris.iter().any(|u| u.contains("/v1/job/web/allocations")), "{uris:?}");
    browser.open("/ui/jobs/web@web/allocations").await.has(&[ALLOC]);
    assert!(browser.sent().iter().any(|s| s.uri.contains("JobID%20%3D%3D%20%22web%22")));
}
