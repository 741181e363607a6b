//! Signing in with an API token.

use encamp_model::SecretString;
use maud::html;
use serde::Deserialize;

use super::routes::{Routes, handler};
use super::{Done, oidc};
use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::form;
use crate::parts::table::facts;
use crate::visit::Visit;

pub(crate) const ROUTES: Routes =
    Routes { pages: &[("/ui/settings/tokens", handler!(page))], actions: &[], streams: &[] };

/// What the page shows of a token.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Token {
    #[serde(rename = "AccessorID")]
    accessor_id: String,
    name: String,
    #[serde(rename = "Type")]
    kind: String,
}

/// `/ui/settings/tokens`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    if !visit.source().is_live() {
        let body = html! { p.empty { "A snapshot file needs no token: these pages show all that it holds." } };
        return Ok(Page::new(Area::Other, "Sign in", body));
    }
    let body = if visit.is_signed_in() {
        let token: Token = visit.read("/v1/acl/token/self", &[]).await?;
        html! {
            (facts(&[
                ("Name", html! { (token.name) }),
                ("Type", html! { (token.kind) }),
                ("Accessor ID", html! { code { (token.accessor_id) } }),
            ]))
            (form::action(visit, "/ui/sign-out", &html! { button type="submit" { "Sign out" } }))
        }
    } else {
        html! {
            p { "The pages show and change what your token allows. The token is kept in a cookie that scripts cannot read." }
            (form::action(visit, "/ui/sign-in", &html! {
                // Password managers keep a name with each secret.
                input type="text" name="name" value="token" autocomplete="username" hidden;
                label.field { span { "Secret ID of the token" } input type="password" name="token" autocomplete="current-password" required; }
                button type="submit" { "Sign in" }
            }))
            (oidc::buttons(visit).await)
        }
    };
    Ok(Page::new(Area::Other, "Sign in", body))
}

/// Signs in: the token, and the page that follows.
///
/// # Errors
/// The cluster does not know the token.
pub(crate) async fn sign_in(visit: &Visit) -> Result<(SecretString, Done), PageError> {
    let token = SecretString::from(visit.required("token", "The secret ID")?.trim().to_string());
    let known: Token = visit.with_token(token.clone()).read("/v1/acl/token/self", &[]).await?;
    Ok((token, Done::new("/ui/", format!("You are signed in as {}.", known.name))))
}
