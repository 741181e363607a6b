//! Evaluations, and why they left allocations unplaced.

use super::cluster::{Browser, Canned};
use super::sample::{EVAL, fill};

#[tokio::test]
async fn an_evaluation_says_why_and_asks_for_suggestions_when_a_person_does() {
    let address = format!("/ui/evaluations?currentEval={EVAL}");
    let mut browser = Browser::of(fill(Canned::live(), "web").prints(0, "lower memory to 64", ""));
    let page = browser.open(&address).await;
    page.has(&["Group web: 2 unplaced", "Missing: web", "Rejected by nodes", "Suggest edits", "Related evaluations"]);
    assert!(browser.ran().is_empty());
    browser.open(&format!("{address}&suggest=true")).await.has(&["lower memory to 64"]);
    assert_eq!(browser.ran(), [["eval", "explain", "-suggest", "-no-color", EVAL]]);
    browser.open("/ui/evaluations?currentEval=3333").await.has(&[EVAL]);
}
