//! Endpoints of access control (`docs/spec/http-api.md §5.16`). Objects are read as [`Value`]s, so that no member is lost
//! when one is written back.

use serde_json::{Value, json};

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use encamp_model::SecretString;
use encamp_model::responses::AclAccess;

type Answer<T> = Result<(T, Meta), ApiError>;

/// A kind of ACL objects: the path of one, of the list, and what it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclKind {
    /// Policies, by name.
    Policy,
    /// Tokens, by accessor.
    Token,
    /// Roles, by ID.
    Role,
    /// Auth methods, by name.
    AuthMethod,
    /// Binding rules, by ID.
    BindingRule,
}

impl AclKind {
    fn one(self) -> &'static str {
        match self {
            AclKind::Policy => "/v1/acl/policy",
            AclKind::Token => "/v1/acl/token",
            AclKind::Role => "/v1/acl/role",
            AclKind::AuthMethod => "/v1/acl/auth-method",
            AclKind::BindingRule => "/v1/acl/binding-rule",
        }
    }

    fn all(self) -> &'static str {
        match self {
            AclKind::Policy => "/v1/acl/policies",
            AclKind::Token => "/v1/acl/tokens",
            AclKind::Role => "/v1/acl/roles",
            AclKind::AuthMethod => "/v1/acl/auth-methods",
            AclKind::BindingRule => "/v1/acl/binding-rules",
        }
    }
}

impl Client {
    /// Makes the first management token. An empty secret: the servers choose one.
    pub async fn acl_bootstrap(&self, secret: &str) -> Answer<Value> {
        let body = if secret.is_empty() { json!({}) } else { json!({ "BootstrapSecret": secret }) };
        self.put("/v1/acl/bootstrap", &Query::default(), &body).await
    }

    /// All objects of a kind that the token may see.
    pub async fn acl_objects(&self, kind: AclKind) -> Answer<Vec<Value>> {
        self.rows(kind.all(), &Query::default()).await
    }

    /// An object: a policy or auth method by its name, a token by its accessor, others by their ID.
    pub async fn acl_object(&self, kind: AclKind, id: &str) -> Answer<Value> {
        self.get(&path(&format!("{}/", kind.one()), id, ""), &Query::default()).await
    }

    /// A role by its name.
    pub async fn acl_role_by_name(&self, name: &str) -> Answer<Value> {
        self.get(&path("/v1/acl/role/name/", name, ""), &Query::default()).await
    }

    /// Creates an object whose ID the servers choose; an auth method.
    pub async fn create_acl_object(&self, kind: AclKind, object: &Value) -> Answer<Value> {
        self.put(kind.one(), &Query::default(), object).await
    }

    /// Writes an object at its ID or name.
    pub async fn put_acl_object(&self, kind: AclKind, id: &str, object: &Value) -> Answer<Value> {
        self.put(&path(&format!("{}/", kind.one()), id, ""), &Query::default(), object).await
    }

    /// Deletes an object.
    pub async fn delete_acl_object(&self, kind: AclKind, id: &str) -> Answer<Value> {
        self.delete(&path(&format!("{}/", kind.one()), id, ""), &Query::default()).await
    }

    /// The token of the requests.
    pub async fn acl_token_self(&self) -> Answer<Value> {
        self.get("/v1/acl/token/self", &Query::default()).await
    }

    /// The policies of the token of the requests.
    pub async fn acl_policies_self(&self) -> Answer<Option<Vec<Value>>> {
        self.get("/v1/acl/policy/self", &Query::default()).await
    }

    /// What the caller may do.
    pub async fn acl_access(&self) -> Answer<AclAccess> {
        self.get("/v1/acl/access", &Query::default()).await
    }

    /// Logs in with a token of another system.
    pub async fn acl_login(&self, method: &str, token: &str) -> Answer<Value> {
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
    pub async fn acl_oidc_complete_auth(&self, login: &OidcCallback<'_>) -> Answer<Value> {
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
