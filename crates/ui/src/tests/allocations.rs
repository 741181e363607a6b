//! Allocations, tasks, logs, files.

use axum::http::StatusCode;
use serde_json::json;

use super::cluster::{Browser, Canned};
use super::sample::{ALLOC, EVAL, NODE, OTHER, allocation, fill};

fn web() -> Canned {
    fill(Canned::live(), "web")
}

#[tokio::test]
async fn an_allocation_says_what_preempted_it_and_why_its_client_was_chosen() {
    let page = web().open(&format!("/ui/allocations/{ALLOC}")).await;
    page.has(&[
        "Preempted by",
        &format!("/ui/allocations/{OTHER}"),
        "Why this client",
        "web 0.500",
        &format!("/ui/clients/{NODE}"),
        &format!("/ui/allocations/{ALLOC}/web/logs"),
        &format!("data-usage=\"/ui/usage/{ALLOC}\""),
        "graph.js",
    ]);
}

#[tokio::test]
async fn a_shortened_id_leads_to_the_allocation_unless_it_fits_several() {
    web().open("/ui/allocations/1111111").await.has(&["Allocation web"]);
    let none = web().open("/ui/allocations/9999").await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let no_id = web().open("/ui/allocations/nothing").await;
    no_id.has(&["There is no allocation nothing."]);
    let mut other = allocation("web");
    other["ID"] = json!("11111112-aaaa-4aaa-8aaa-111111111111");
    let two = web().instead("/v1/allocations", json!([allocation("web"), other]));
    two.open("/ui/allocations/1111").await.has(&["The ID of more than one allocation begins with 1111."]);
}

#[tokio::test]
async fn an_allocation_is_stopped_restarted_and_signalled() {
    let client = |action: &str| format!("/v1/client/allocation/{ALLOC}/{action}");
    let page = format!("/ui/allocations/{ALLOC}");
    let cluster = web()
        .answer("PUT", &format!("/v1/allocation/{ALLOC}/stop"), StatusCode::OK, json!({ "EvalID": EVAL }))
        .answer("PUT", &client("restart"), StatusCode::OK, json!({ "Index": 0 }))
        .answer("PUT", &client("signal"), StatusCode::INTERNAL_SERVER_ERROR, json!("Task not found"));
    let mut browser = Browser::of(cluster);
    browser.submit(&page, &format!("{page}/action/stop"), &[]).await;
    browser.open(&page).await.has(&["The allocation is being stopped: evaluation 33333333."]);
    browser.sent();
    browser.submit(&page, &format!("{page}/action/restart"), &[("task", "web")]).await;
    assert!(browser.sent().iter().any(|s| s.method == "PUT" && s.body == "{\"TaskName\":\"web\"}"));
    let failed = browser.submit(&page, &format!("{page}/action/signal"), &[("signal", "SIGHUP")]).await;
    failed.has(&["Task not found"]);
}

#[tokio::test]
async fn a_log_is_shown_followed_and_downloaded() {
    let at = format!("/ui/allocations/{ALLOC}/web/logs");
    let mut browser = Browser::of(web());
    let page = browser.open(&format!("{at}?type=stderr")).await;
    page.has(&[&format!("data-log=\"{at}/text?type=stderr&amp;follow=true\""), "logs.js", "download=true"]);
    page.has_not(&["data-topics"]);
    browser.sent();
    let text = browser.open(&format!("{at}/text?type=stderr&download=true")).await;
    assert_eq!(text.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(text.headers["content-disposition"], "attachment; filename*=UTF-8''web.stderr.log");
    let wanted = format!("/v1/client/fs/logs/{ALLOC}?task=web&type=stderr&plain=true");
    assert_eq!(browser.sent()[0].uri, wanted);
}

#[tokio::test]
async fn files_are_listed_shown_and_downloaded() {
    let file = json!({ "Name": "a.txt", "IsDir": false, "Size": 3, "FileMode": "-rw-r--r--" });
    let at = format!("/ui/allocations/{ALLOC}/web/fs");
    web().open(&at).await.has(&["allocation", "path=%2Fweb%2Fweb"]);
    let cluster = web().instead(&format!("/v1/client/fs/stat/{ALLOC}"), file);
    let cluster = cluster.text(&format!("/v1/client/fs/readat/{ALLOC}"), "a<b");
    let page = cluster.open(&format!("{at}?path=%2Fweb%2Fa.txt")).await;
    page.has(&[">a&lt;b</pre>", &format!("/ui/allocations/{ALLOC}/fs/download?path=%2Fweb%2Fa.txt")]);
}

#[tokio::test]
async fn a_terminal_needs_the_token_of_its_page() {
    let at = format!("/ui/allocations/{ALLOC}/web/exec");
    let mut browser = Browser::of(web());
    browser.open(&at).await.has(&["terminal.js", "data-socket", "form_token="]);
    browser.sent();
    let forged = browser.upgrade(&format!("{at}/socket?command=%2Fbin%2Fsh")).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert_eq!(browser.sent(), []);
}

#[tokio::test]
async fn a_file_has_allocations_but_no_logs_files_and_terminals() {
    let mut browser = Browser::of(fill(Canned::file(), "web"));
    browser.open(&format!("/ui/allocations/{ALLOC}")).await.has_not(&[
        "/logs",
        "/fs",
        "/exec",
        "data-usage",
        "method=\"post\"",
    ]);
    for part in ["web/logs", "web/fs", "web/exec", "fs", "fs/download", "web/logs/text"] {
        let refused = browser.open(&format!("/ui/allocations/{ALLOC}/{part}")).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{part}");
    }
}

#[tokio::test]
async fn tasks_may_have_the_names_of_actions() {
    for name in ["stop", "restart", "signal", "usage", "action"] {
        let page = fill(Canned::live(), name).open(&format!("/ui/allocations/{ALLOC}/{name}")).await;
        assert_eq!(page.status, StatusCode::OK, "{name}");
        page.has(&[&format!("Task {name}")]);
    }
}
