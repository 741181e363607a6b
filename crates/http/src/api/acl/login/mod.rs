//! Logins with identities of other systems (`docs/spec/http-api.md §7.9`).
//!
//! [`identity_providers`](crate::identity_providers) checks the tokens of a login, [`bindings`] is what the binding
//! rules give for the claims of one. The leader answers all requests: the state of logins is in its memory.

mod bindings;
mod check;

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::audited::{Audited, NamesObjects};
use crate::api::acl::{enabled, with_secret};
use crate::error::Error;
use crate::identity_providers::keys::VerifyingKeys;
use crate::identity_providers::oidc::OidcError;
use crate::identity_providers::pending::PendingLogin;
use crate::identity_providers::provider::{ProviderError, Source};
use crate::identity_providers::token::{Refused, check_id_token, verified};
use crate::identity_providers::{Logins, assertion, oidc, provider};
use crate::request::Request;
use crate::request::response::{Outcome, Response};
use bindings::{Identity, bindings};
pub(super) use check::check_config;
use encamp_host::{ids, threads};
use encamp_model::json::or_default;
use encamp_model::*;
use encamp_server::endpoints::acl::tokens;
use encamp_server::keyring::{KEY_WAIT, Keyring};
use encamp_state::StateStore;
use subtle::ConstantTimeEq;

/// The longest token or code, in bytes.
const LONGEST: usize = 64 << 10;
/// The longest nonce of a client, in bytes.
const LONGEST_NONCE: usize = 256;

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct LoginRequest {
    #[serde(deserialize_with = "or_default")]
    auth_method_name: String,
    #[serde(deserialize_with = "or_default")]
    login_token: SecretString,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct AuthUrlRequest {
    #[serde(deserialize_with = "or_default")]
    auth_method_name: String,
    #[serde(rename = "RedirectURI", deserialize_with = "or_default")]
    redirect_uri: String,
    #[serde(deserialize_with = "or_default")]
    client_nonce: SecretString,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct CompleteAuthRequest {
    #[serde(deserialize_with = "or_default")]
    auth_method_name: String,
    #[serde(deserialize_with = "or_default")]
    client_nonce: SecretString,
    #[serde(deserialize_with = "or_default")]
    state: String,
    #[serde(deserialize_with = "or_default")]
    code: SecretString,
    #[serde(rename = "RedirectURI", deserialize_with = "or_default")]
    redirect_uri: String,
}

/// Why a token of another system gives none of this cluster.
#[derive(Debug, thiserror::Error)]
enum LoginError {
    #[error("{0}")]
    Refused(#[from] Refused),
    #[error("{0}")]
    Provider(#[from] ProviderError),
}

impl From<LoginError> for Error {
    fn from(e: LoginError) -> Error {
        match e {
            LoginError::Refused(e) => Error::new(401, format!("unable to validate provided token: {e}")),
            LoginError::Provider(e) => e.into(),
        }
    }
}

impl From<ProviderError> for Error {
    fn from(e: ProviderError) -> Error {
        match e {
            ProviderError::Busy | ProviderError::TooOften => Error::new(429, e),
            ProviderError::Fetch(_)
            | ProviderError::Keys(_)
            | ProviderError::Issuer { .. }
            | ProviderError::Missing(_) => Error::internal(e),
        }
    }
}

impl From<OidcError> for Error {
    fn from(e: OidcError) -> Error {
        match e {
            OidcError::Provider(e) => e.into(),
            OidcError::Code(_) | OidcError::Token(_) | OidcError::Subject => Error::new(401, e),
            OidcError::Assertion(_) | OidcError::NoIdToken => Error::internal(e),
        }
    }
}

/// `PUT /v1/acl/login`.
pub(crate) async fn login(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: LoginRequest = request.json().await?;
    let method = method_of(&request, &body.auth_method_name, &AuthMethodType::Jwt).await?;
    check_length("login token", body.login_token.len(), LONGEST)?;
    let config = method.config.clone().unwrap_or_default();
    let claims = match Source::of(&config) {
        None => {
            let keys = VerifyingKeys::of_pem(&config.jwt_validation_pub_keys).map_err(Refused::from);
            let keys = keys.map_err(LoginError::from)?;
            verified(&config, &keys, None, body.login_token.expose(), ids::now()).map_err(LoginError::from)?
        }
        Some(source) => {
            let logins = request.app().logins();
            logged(&method, by_provider(logins, &config, &source, body.login_token.expose()).await.map(|(c, _)| c))?
        }
    };
    finish(&request, &method, &claims).await
}

/// `PUT /v1/acl/oidc/auth-url`.
pub(crate) async fn auth_url(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: AuthUrlRequest = request.json().await?;
    let method = method_of(&request, &body.auth_method_name, &AuthMethodType::Oidc).await?;
    check_given("ClientNonce", body.client_nonce.is_empty())?;
    check_length("ClientNonce", body.client_nonce.len(), LONGEST_NONCE)?;
    let config = method.config.clone().unwrap_or_default();
    if !oidc::is_allowed_redirect(&config.allowed_redirect_uris, &body.redirect_uri) {
        let text = format!("RedirectURI {} is not one of the auth method", quoted(&body.redirect_uri));
        return Err(Error::bad(text));
    }
    let source = Source::of(&config).ok_or_else(|| Error::bad("the auth method has no OIDCDiscoveryURL"))?;
    let logins = request.app().logins();
    let provider = logins.providers.get(&source)?;
    let known = logged(&method, provider.known().await)?;
    let login = PendingLogin {
        method: method.name.clone(),
        version: method.modify_index,
        redirect_uri: body.redirect_uri,
        client_nonce: body.client_nonce,
        verifier: random_text()?.into(),
    };
    let state = random_text()?;
    let url = oidc::authorization_url(&config, &provider, &known, &login, state.clone())?;
    logins.pending.lock().add(state, login, ids::now());
    Response::json(&json!({ "AuthURL": url.as_str() }))
}

/// `PUT /v1/acl/oidc/complete-auth`.
pub(crate) async fn complete_auth(mut request: Request) -> Outcome {
    request.check_region()?;
    let body: CompleteAuthRequest = request.json().await?;
    let method = method_of(&request, &body.auth_method_name, &AuthMethodType::Oidc).await?;
    for (name, empty) in [
        ("State", body.state.is_empty()),
        ("Code", body.code.is_empty()),
        ("ClientNonce", body.client_nonce.is_empty()),
    ] {
        check_given(name, empty)?;
    }
    check_length("Code", body.code.len(), LONGEST)?;
    let logins = request.app().logins();
    let pending = logins.pending.lock().take(&body.state, ids::now());
    let same = |p: &PendingLogin| {
        let nonce = p.client_nonce.expose().as_bytes().ct_eq(body.client_nonce.expose().as_bytes());
        bool::from(nonce) && p.method == method.name && p.redirect_uri == body.redirect_uri
    };
    let unknown = "no login with this state has begun here, or it took too long: begin again";
    let pending = pending.filter(same).ok_or_else(|| Error::bad(unknown))?;
    if pending.version != method.modify_index {
        return Err(Error::bad("the auth method was changed since the login began: begin again"));
    }
    let claims =
        logged(&method, of_user(logins, request.server()?.keyring().clone(), &method, &pending, &body.code).await)?;
    finish(&request, &method, &claims).await
}

/// The claims of a user who came back with a code.
async fn of_user(
    logins: &Logins,
    keyring: Arc<Keyring>,
    method: &AclAuthMethod,
    pending: &PendingLogin,
    code: &SecretString,
) -> Result<Value, OidcError> {
    let config = method.config.clone().unwrap_or_default();
    let source = Source::of(&config).ok_or(ProviderError::Missing("OIDCDiscoveryURL"))?;
    let provider = logins.providers.get(&source)?;
    let known = provider.known().await?;
    let assertion = {
        if assertion::needs_keyring(&config) {
            keyring.wait_active(KEY_WAIT).await;
        }
        let config = config.clone();
        let signed = threads::unblock(move || assertion::signed(&config, &keyring, ids::now(), ids::uuid())).await;
        signed.map_err(|_| assertion::AssertionError::Unsigned)??
    };
    let _room = provider.room().await?;
    let tokens = oidc::exchange(&config, &provider, &known, pending, code, assertion).await?;
    let verified = by_provider(logins, &config, &source, tokens.id.expose()).await;
    let (mut claims, issuer) = verified.map_err(|e| match e {
        LoginError::Refused(e) => OidcError::Token(e),
        LoginError::Provider(e) => OidcError::Provider(e),
    })?;
    check_id_token(&claims, &issuer, &config.oidc_client_id, pending.client_nonce.expose())?;
    if !config.oidc_disable_user_info && !known.metadata.userinfo_endpoint.is_empty() {
        oidc::add_user_info(&mut claims, &provider, &known, &tokens.access).await?;
    }
    Ok(claims)
}

/// The claims of a token that a provider signed, and the issuer that the provider is. Unknown keys are asked for once.
async fn by_provider(
    logins: &Logins,
    config: &AclAuthMethodConfig,
    source: &Source,
    token: &str,
) -> Result<(Value, String), LoginError> {
    let provider = logins.providers.get(source)?;
    let known = provider.known().await?;
    let check = |known: &provider::Known| {
        let issuer = Some(known.metadata.issuer.as_str()).filter(|issuer| !issuer.is_empty());
        let claims = verified(config, &known.keys, issuer, token, ids::now())?;
        Ok::<_, Refused>((claims, known.metadata.issuer.clone()))
    };
    match check(&known) {
        Err(e) if e.may_be_new_key() => match provider.known_after(&known).await {
            Ok(newer) => Ok(check(&newer)?),
            // The keys are those of a moment ago: the token is bad.
            Err(ProviderError::TooOften) => Err(e.into()),
            Err(failed) => Err(failed.into()),
        },
        answer => Ok(answer?),
    }
}

/// Tells operators why a login failed.
fn logged<T, E: std::fmt::Display>(method: &AclAuthMethod, answer: Result<T, E>) -> Result<T, E> {
    if let Err(e) = &answer {
        tracing::warn!(target: "nomad.acl", auth_method = %method.name, error = %e, "a login failed");
    }
    answer
}

/// The answer to somebody with these claims: a token of this cluster.
async fn finish(request: &Request, method: &AclAuthMethod, claims: &Value) -> Outcome {
    let server = request.server()?;
    let config = method.config.clone().unwrap_or_default();
    let identity = Identity::of(claims, &config);
    if config.verbose_logging {
        let (value, list) = (&identity.value, &identity.list);
        tracing::debug!(target: "nomad.acl", auth_method = %method.name, ?value, ?list, "the mapped claims of a login");
    }
    // Rules and methods may have changed while the provider was asked.
    let snapshot = server.snapshot();
    if snapshot.acl_auth_method(&method.name).is_none_or(|m| m.modify_index != method.modify_index) {
        return Err(Error::bad("the auth method was changed since the login began: begin again"));
    }
    let token = bindings(&snapshot, method, &identity)?;
    let (token, index) = tokens::upsert(server, token).await?;
    request.audit(&*token);
    Ok(with_secret(&token)?.index(index))
}

/// The auth method that a body names.
struct NamedMethod<'a>(&'a str);

impl NamesObjects for NamedMethod<'_> {
    fn name_of(&self, object: Audited) -> Option<&str> {
        (object == Audited::AuthMethod).then_some(self.0)
    }
}

/// The method of a login, as this server knows it once it is ready.
async fn method_of(request: &Request, name: &str, kind: &AuthMethodType) -> Result<Arc<AclAuthMethod>, Error> {
    request.audit(&NamedMethod(name));
    enabled(request)?;
    let server = request.server()?;
    server.wait_ready().await?;
    find(&server.snapshot(), name, kind)
}

/// The method of a login; of no name, the default one.
fn find(store: &StateStore, name: &str, kind: &AuthMethodType) -> Result<Arc<AclAuthMethod>, Error> {
    let fits = |m: &&Arc<AclAuthMethod>| m.r#type == *kind;
    let found = match name {
        "" => store.acl_auth_methods().filter(fits).find(|m| m.default),
        name => store.acl_auth_method(name).filter(fits),
    };
    found.cloned().ok_or_else(|| Error::bad(format!("auth-method {} not found", quoted(name))))
}

fn check_given(name: &str, empty: bool) -> Result<(), Error> {
    if empty { Err(Error::bad(format!("{name} is missing"))) } else { Ok(()) }
}

fn check_length(name: &str, length: usize, longest: usize) -> Result<(), Error> {
    if length <= longest {
        return Ok(());
    }
    Err(Error::new(413, format!("the {name} is longer than {longest} bytes")))
}

/// 32 random bytes as text, which nobody can guess.
fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    ids::secret(&mut bytes).map_err(|e| Error::internal(format!("no random numbers: {e}")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
