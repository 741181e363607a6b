//! Search.

use serde_json::json;

use super::cluster::{Browser, Canned};
use super::sample::{NODE, fill};

#[tokio::test]
async fn ids_and_names_lead_to_their_pages() {
    let mut browser = Browser::of(fill(Canned::live(), "web"));
    browser.open("/ui/search?q=we").await.has(&[
        &format!("/ui/clients/{NODE}"),
        "href=\"/ui/jobs/web@web\"",
        "/ui/variables?namespace=web&amp;path=web",
        "/ui/storage/plugins/web",
    ]);
    browser.sent();
    browser.open("/ui/search?q=w").await;
    assert!(browser.sent().iter().all(|s| !s.uri.contains("fuzzy")), "one character is too short");
    browser.open("/ui/search").await.has(&["Type a name"]);
    let none =
        fill(Canned::live(), "web").instead("/v1/search", json!({ "Matches": {} })).instead("/v1/jobs", json!([]));
    let none = none.instead("/v1/search/fuzzy", json!({ "Matches": null }));
    none.open("/ui/search?q=xyz").await.has(&["Nothing is named", "xyz"]);
}
