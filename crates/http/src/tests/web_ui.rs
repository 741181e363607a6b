//! The paths below `/ui/`, which have a service of their own.

use std::io::Read;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use axum::response::IntoResponse;
use encamp_client::task_api::TaskName;

use super::server::TestServer;
use crate::serve::http1::Peer;

/// Pages that repeat the path, the parameters and the form of a request.
fn pages() -> Router {
    Router::new().fallback(async |request: Request| {
        let (path, query) = (request.uri().path().to_string(), request.uri().query().unwrap_or("-").to_string());
        let form = to_bytes(request.into_body(), usize::MAX).await.expect("a form");
        let text = format!("{path} {query} {}", String::from_utf8_lossy(&form));
        ([(CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_ui_answers_below_its_path() {
    let s = TestServer::start().await;
    let without = s.get("/ui/jobs").await;
    assert!(without.status == 200 && without.text().contains("is disabled"), "{}", without.text());
    s.app.web_ui_by(pages());
    for (method, path, want) in [
        ("GET", "/ui/", "/ui/ - "),
        ("GET", "/ui/jobs/a%2F%2Fb@x?page=2", "/ui/jobs/a%2F%2Fb@x page=2 "),
        ("POST", "/ui/a/../b", "/ui/a/../b - field=1"),
    ] {
        let body = (method == "POST").then_some("field=1");
        let answer = s.send(method, path, &[], body).await;
        assert_eq!(answer.status_and_text(), (200, want.to_string()), "{method} {path}");
    }
    assert_eq!(s.get("/ui").await.header("location"), Some("/ui/"));
    assert_eq!(s.get("/uix").await.status, 404);
    let compressed = s.send("GET", "/ui/x", &[("accept-encoding", "gzip")], None).await;
    assert_eq!(compressed.header(CONTENT_ENCODING.as_str()), Some("gzip"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_string(&mut text).expect("gzip");
    assert_eq!(text, "/ui/x - ");
    let long = s.send("POST", "/ui/x", &[], Some(&"x".repeat(9 << 20))).await;
    assert_eq!(long.status_and_text(), (413, "Request body is larger than 8 MiB".to_string()));
    s.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_have_no_pages_on_their_sockets() {
    let s = TestServer::start().await;
    s.app.web_ui_by(pages());
    let mut request = Request::get("/ui/").body(Body::empty()).expect("a request");
    let task = TaskName { alloc_id: "a".into(), task: "t".into() };
    request.extensions_mut().insert(ConnectInfo(Peer::of_task(Arc::new(task))));
    let answer = s.ask(request).await;
    assert_ne!(answer.text(), "/ui/ - ", "{}", answer.status);
    s.stop().await;
}
