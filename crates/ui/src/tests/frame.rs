//! What surrounds pages: messages, forms, headers.

use axum::http::StatusCode;
use serde_json::json;

use super::cluster::{Browser, Canned};

#[tokio::test]
async fn a_page_names_nothing_inline_and_nobody_may_frame_it() {
    let page = Canned::live().open("/ui/settings/tokens").await;
    assert_eq!(page.status, StatusCode::OK);
    page.has_not(&[" style=", "<style", "onclick", "<script>", "javascript:"]);
    let policy = page.headers["content-security-policy"].to_str().expect("text");
    assert!(policy.contains("script-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
}

#[tokio::test]
async fn a_message_is_shown_once_and_not_to_a_page_that_is_read_again() {
    let mut browser = Browser::of(Canned::live().get("/v1/acl/token/self", json!({ "Name": "me" })));
    let done = browser.submit("/ui/settings/tokens", "/ui/sign-in", &[("token", "s3cret")]).await;
    assert_eq!((done.status, done.location()), (StatusCode::SEE_OTHER, "/ui/"));
    browser.reopen("/ui/settings/tokens").await.has_not(&["You are signed in as me."]);
    browser.open("/ui/settings/tokens").await.has(&["You are signed in as me."]);
    browser.open("/ui/settings/tokens").await.has_not(&["You are signed in as me."]);
}

#[tokio::test]
async fn a_form_without_its_token_changes_nothing() {
    let mut browser = Browser::of(Canned::live());
    browser.open("/ui/settings/tokens").await;
    browser.sent();
    for body in ["token=s3cret", "form_token=x&token=s3cret"] {
        let refused = browser.post("/ui/sign-in", body.to_string()).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN);
        assert_eq!(browser.sent(), []);
    }
}

#[tokio::test]
async fn events_become_lines_for_the_script_and_a_refusal_is_one_of_them() {
    let event = r#"{"Topic":"Job","Key":"a\nb","Namespace":"default","Payload":{}}"#;
    let lines = format!("{{}}\n{{\"Index\":9,\"Events\":[{event}]}}\n{{");
    let events = Canned::live().text("/v1/event/stream", &lines).open("/ui/live?topic=Job:web").await;
    assert_eq!(events.headers["content-type"], "text/event-stream");
    let sent = r#"[{"key":"a\nb","namespace":"default","topic":"Job"}]"#;
    assert_eq!(events.body, format!(": heartbeat\n\nid: 9\ndata: {sent}\n\n"));
    let denied = Canned::live().answer("GET", "/v1/event/stream", StatusCode::FORBIDDEN, json!("Permission denied"));
    assert_eq!(denied.open("/ui/live?topic=Job:web").await.body, "event: denied\ndata: -\n\n");
}

#[tokio::test]
async fn times_of_a_file_stay_as_they_are() {
    let open = async |cluster: Canned| cluster.open("/ui/nothing").await;
    open(Canned::live()).await.has(&["<main id=\"main\" tabindex=\"-1\" data-live"]);
    open(Canned::file()).await.has_not(&["data-live", "data-topics"]);
}

#[tokio::test]
async fn an_open_page_whose_object_is_removed_says_so() {
    let mut browser = Browser::of(Canned::live());
    assert_eq!(browser.open("/ui/pools/gpu").await.status, StatusCode::NOT_FOUND);
    let again = browser.reopen("/ui/pools/gpu").await;
    assert_eq!(again.status, StatusCode::OK);
    again.has(&["Not found"]);
}
