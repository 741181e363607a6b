//! Endpoints of access control (`docs/spec/http-api.md §5.16`), besides those that are the same for each kind of objects
//! ([`objects`](super::objects)).

use serde_json::json;

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use super::received::Received;
use encamp_model::responses::AclAccess;
use encamp_model::{AclPolicy, AclRole, AclToken, SecretString};

type Answer<T> = Result<(T, Meta), ApiError>;

impl Client {
    /// Makes the first management token. An empty secret: the servers choose one.
    pub async fn acl_bootstrap(&self, secret: &str) -> Answer<Received<AclToken>> {
        let body = if secret.is_empty() { json!({}) } else { json!({ "BootstrapSecret": secret }) };
        self.put("/v1/acl/bootstrap", &Query::default(), &body).await
    }

    /// A role by its name.
    pub async fn acl_role_by_name(&self, name: &str) -> Answer<Received<AclRole>> {
        self.get(&path("/v1/acl/role/name/", name, ""), &Query::default()).await
    }

    /// The token of the requests.
    pub async fn acl_token_self(&self) -> Answer<Received<AclToken>> {
        self.get("/v1/acl/token/self", &Query::default()).await
    }

    /// The policies of the token of the requests.
    pub async fn acl_policies_self(&self) -> Answer<Option<Vec<Received<AclPolicy>>>> {
        self.get("/v1/acl/policy/self", &Query::default()).await
    }

    /// What the caller may do.
    pub async fn acl_access(&self) -> Answer<AclAccess> {
        self.get("/v1/acl/access", &Query::default()).await
    }

    /// Logs in with a token of another system.
    pub async fn acl_login(&self, method: &str, token: &str) -> Answer<Received<AclToken>> {
        let body = json!({ "AuthMethodName": method, "LoginToken": token });
        self.put("/v1/acl/login", &Query::default(), &body).await
    }

    /// Begins the login of a user at an OpenID provider: the address where the user proves who they are. `nonce` is a
    /// secret of this login.
    pub async fn acl_oidc_auth_url(&self, method: &str, redirect_uri: &str, nonce: &SecretString) -> Answer<String> {
        #[derive(Default, serde::Deserialize)]
        struct AuthUrl {
            #[serde(rename = "AuthURL")]
            url: String,
        }
        let body = json!({ "AuthMethodName": method, "RedirectURI": redirect_uri, "ClientNonce": nonce.expose() });
        let (answer, meta): (AuthUrl, Meta) = self.put("/v1/acl/oidc/auth-url", &Query::default(), &body).await?;
        Ok((answer.url, meta))
    }

    /// Ends the login of a user with the code that the provider gave.
    pub async fn acl_oidc_complete_auth(&self, login: &OidcCallback<'_>) -> Answer<Received<AclToken>> {
        let body = json!({
            "AuthMethodName": login.method, "RedirectURI": login.redirect_uri, "ClientNonce": login.nonce.expose(),
            "State": login.state, "Code": login.code.expose(),
        });
        self.put("/v1/acl/oidc/complete-auth", &Query::default(), &body).await
    }
}

/// What a user comes back with from an OpenID provider.
#[derive(Debug, Clone, Copy)]
pub struct OidcCallback<'a> {
    /// The name of the auth method.
    pub method: &'a str,
    /// The address that the provider sent the user back to.
    pub redirect_uri: &'a str,
    /// The secret of the login.
    pub nonce: &'a SecretString,
    /// The state of the login.
    pub state: &'a str,
    /// The code of the provider.
    pub code: &'a SecretString,
}
