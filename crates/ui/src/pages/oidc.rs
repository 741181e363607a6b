//! Signing in at an identity provider.
//!
//! The provider sends the browser back to `/ui/settings/tokens`, the address that Nomad's UI uses and that auth methods
//! allow. Browsers do not send our cookies with a request that another site began, so that address answers by a page
//! that goes on to `/ui/oidc/complete` by itself, with the cookies.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response, header};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use encamp_model::acl::{AclAuthMethod, AclToken};
use encamp_model::status::AuthMethodType;
use maud::{Markup, html};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::data::answers;
use super::routes::{Routes, stream};
use crate::error::PageError;
use crate::layout::onward;
use crate::session;
use crate::visit::{Visit, with_query};

pub(crate) const ROUTES: Routes = Routes {
    pages: &[],
    actions: &[],
    streams: &[("/ui/oidc/begin", stream!(begin)), ("/ui/oidc/complete", stream!(complete))],
};

/// Where providers send browsers back to.
const RETURN: &str = "/ui/settings/tokens";

/// A sign-in that has begun: what a cookie of the browser keeps until the provider has answered.
#[derive(Debug, Serialize, Deserialize)]
struct Begun {
    method: String,
    nonce: String,
    redirect: String,
}

answers! {
    /// Where the provider is.
    At {
        #[serde(rename = "AuthURL")]
        url: String,
    }
}

/// Buttons for the providers of the cluster; nothing if it has none, or does not tell.
pub(crate) async fn buttons(visit: &Visit) -> Markup {
    let methods: Vec<AclAuthMethod> = visit.read("/v1/acl/auth-methods", &[]).await.unwrap_or_default();
    let at_provider = methods.iter().filter(|m| m.r#type == AuthMethodType::Oidc);
    html! {
        @for method in at_provider {
            form method="post" action=(with_query("/ui/oidc/begin", &[("form_token", &visit.form_token), ("method", &method.name)])) {
                button type="submit" { "Sign in with " (method.name) }
            }
        }
    }
}

/// `POST /ui/oidc/begin?method=…`: leads to the provider.
async fn begin(visit: Visit, request: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    let missing = || PageError::Input("The auth method is missing.".into());
    let method = visit.parameter("method").filter(|_| request.method() == Method::POST).ok_or_else(missing)?;
    let redirect = format!("{}{RETURN}", origin(request.headers())?);
    let begun = Begun { method: method.to_string(), nonce: session::random_id(), redirect };
    let body = json!({ "AuthMethodName": begun.method, "RedirectURI": begun.redirect, "ClientNonce": begun.nonce });
    let at: At = visit.write(Method::PUT, "/v1/acl/oidc/auth-url", &[], &body).await?;
    if !at.url.starts_with("https://") && !at.url.starts_with("http://") {
        return Err(PageError::Input("The address of the identity provider is no web address.".into()));
    }
    let mut response = onward(&at.url, "Going to the identity provider");
    let kept = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&begun).unwrap_or_default());
    response.headers_mut().extend(session::oidc_cookie(request.headers(), &kept).map(|c| (header::SET_COOKIE, c)));
    Ok(response)
}

/// The scheme, host and port that the browser uses.
fn origin(headers: &HeaderMap) -> Result<&str, PageError> {
    let text = headers.get(header::ORIGIN).and_then(|v| v.to_str().ok()).filter(|origin| *origin != "null");
    text.ok_or_else(|| PageError::Input("The browser does not say which address it uses.".into()))
}

/// The page that goes on with our cookies, if a request comes back from a provider.
pub(crate) fn returned(request: &Request) -> Option<Response<Body>> {
    let uri = request.uri();
    if uri.path() != RETURN || request.method() != Method::GET {
        return None;
    }
    let query = uri.query()?;
    let pairs: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let has = |name: &str| pairs.iter().any(|(n, _)| n == name);
    if !has("state") || !(has("code") || has("error")) {
        return None;
    }
    let kept = ["state", "code", "error", "error_description"];
    let pairs: Vec<_> =
        pairs.iter().filter(|(n, _)| kept.contains(&n.as_str())).map(|(n, v)| (n.as_str(), v.as_str())).collect();
    Some(onward(&with_query("/ui/oidc/complete", &pairs), "Signing in"))
}

/// `/ui/oidc/complete?state=…&code=…`: gets the token for the provider's answer.
async fn complete(visit: Visit, request: Request) -> Result<Response<Body>, PageError> {
    visit.live_only()?;
    if let Some(error) = visit.parameter("error") {
        let more = visit.parameter("error_description").unwrap_or_default();
        return Err(PageError::Input(format!("The identity provider refused: {error} {more}")));
    }
    let begun = session::oidc(request.headers()).and_then(|kept| URL_SAFE_NO_PAD.decode(kept).ok());
    let begun = begun.and_then(|bytes| serde_json::from_slice::<Begun>(&bytes).ok());
    let late = || PageError::Input("No sign-in has begun in this browser, or it took too long. Begin again.".into());
    let begun = begun.ok_or_else(late)?;
    let body = json!({
        "AuthMethodName": begun.method, "ClientNonce": begun.nonce, "RedirectURI": begun.redirect,
        "State": visit.parameter("state").unwrap_or_default(), "Code": visit.parameter("code").unwrap_or_default(),
    });
    let token: AclToken = visit.write(Method::PUT, "/v1/acl/oidc/complete-auth", &[], &body).await?;
    let mut response = onward("/ui/", "Signed in");
    let cookies =
        [session::token_cookie(request.headers(), &token.secret_id), session::oidc_cookie(request.headers(), "")];
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}
