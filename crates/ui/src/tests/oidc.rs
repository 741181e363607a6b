//! Signing in at an identity provider.

use axum::http::{StatusCode, header};
use serde_json::{Value, json};

use super::cluster::{Browser, Canned};

fn cluster() -> Canned {
    Canned::live()
        .get("/v1/acl/auth-methods", json!([{ "Name": "corp", "Type": "OIDC" }, { "Name": "ci", "Type": "JWT" }]))
        .answer("PUT", "/v1/acl/oidc/auth-url", StatusCode::OK, json!({ "AuthURL": "https://idp.test/auth?x=1&y=2" }))
        .answer("PUT", "/v1/acl/oidc/complete-auth", StatusCode::OK, json!({ "SecretID": "s3cret", "Name": "me" }))
}

/// The address of the button of the provider.
async fn button(browser: &mut Browser) -> String {
    let page = browser.open("/ui/settings/tokens").await;
    page.has(&["Sign in with corp"]);
    page.has_not(&["Sign in with ci"]);
    let action = page.body.split("action=\"").find(|rest| rest.starts_with("/ui/oidc/begin")).expect("a form");
    action.split('"').next().expect("an address").replace("&amp;", "&")
}

#[tokio::test]
async fn a_person_goes_to_the_provider_and_comes_back_with_a_token() {
    let mut browser = Browser::of(cluster());
    let begin = button(&mut browser).await;
    browser.sent();
    let page = browser.post_from("http://encamp.test", &begin).await;
    page.has(&["0;url=https://idp.test/auth?x=1&amp;y=2"]);
    let asked: Value = serde_json::from_str(&browser.sent().pop().expect("a request").body).expect("JSON");
    assert_eq!(asked["RedirectURI"], "http://encamp.test/ui/settings/tokens");
    let back = browser.open("/ui/settings/tokens?state=st&code=co&session_state=no").await;
    back.has(&["0;url=/ui/oidc/complete?state=st&amp;code=co\""]);
    assert_eq!(browser.sent(), []);
    let done = browser.open("/ui/oidc/complete?state=st&code=co").await;
    done.has(&["0;url=/ui/"]);
    assert!(done.headers.get_all(header::SET_COOKIE).iter().any(|c| c.to_str().is_ok_and(|c| c.contains("s3cret"))));
    let completed: Value = serde_json::from_str(&browser.sent().pop().expect("a request").body).expect("JSON");
    assert_eq!((&completed["State"], &completed["Code"]), (&json!("st"), &json!("co")));
    assert_eq!(completed["ClientNonce"], asked["ClientNonce"]);
    assert_eq!(completed["RedirectURI"], asked["RedirectURI"]);
}

#[tokio::test]
async fn a_sign_in_that_did_not_begin_here_is_refused() {
    let mut browser = Browser::of(cluster());
    let refused = browser.open("/ui/oidc/complete?state=st&code=co").await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(browser.sent(), []);
    let other = browser.post_from("http://evil.test", "/ui/oidc/begin?method=corp&form_token=x").await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
}
