//! Logins of users at an OpenID provider: the address that a browser is sent to, and the code that it comes back with
//! (authorization code flow, OpenID Connect Core 1.0 §3.1).
//!
//! The crate `oauth2` builds the requests and reads the answers; [`Fetcher`](crate::identity_providers::fetch::Fetcher) sends them.

use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::{
    AuthType, AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, ExtraTokenFields, PkceCodeChallenge,
    PkceCodeVerifier, RedirectUrl, RequestTokenError, Scope, StandardRevocableToken, StandardTokenResponse,
    TokenResponse, TokenUrl,
};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fetch::{FetchError, UrlError, origin};
use super::pending::PendingLogin;
use super::provider::{Known, Provider, ProviderError, present};
use super::token::Refused;
use encamp_model::{AclAuthMethodConfig, SecretString};

/// The scope that makes a request one of OpenID Connect.
const OPENID: &str = "openid";
/// The type of a client assertion (RFC 7523 §2.2).
const ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Why a login of a user fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OidcError {
    /// The provider is of no use.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The client assertion cannot be made.
    #[error("the client assertion of the auth method cannot be made: {0}")]
    Assertion(#[from] crate::identity_providers::assertion::AssertionError),
    /// The provider does not accept the code or the client.
    #[error("the identity provider refuses the code: {0}")]
    Code(String),
    /// The answer to the code has no ID token.
    #[error("the identity provider answered the code without an ID token")]
    NoIdToken,
    /// The ID token is not accepted.
    #[error("unable to validate the ID token: {0}")]
    Token(#[from] Refused),
    /// The claims of the user are about another one.
    #[error("the user information of the identity provider is about another subject")]
    Subject,
}

impl From<FetchError> for OidcError {
    fn from(e: FetchError) -> OidcError {
        OidcError::Provider(e.into())
    }
}

impl From<UrlError> for OidcError {
    fn from(e: UrlError) -> OidcError {
        OidcError::Provider(e.into())
    }
}

/// What OpenID Connect adds to the answer to a code.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct IdTokenField {
    id_token: Option<SecretString>,
}

impl ExtraTokenFields for IdTokenField {}

/// A client of the provider, without addresses.
type OidcClient = oauth2::Client<
    BasicErrorResponse,
    StandardTokenResponse<IdTokenField, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
>;

/// Whether the provider may send users back to an address. Programs of users listen on any port of their own machine
/// (RFC 8252 §7.3); other addresses have to be equal.
pub(crate) fn is_allowed_redirect(allowed: &[String], asked: &str) -> bool {
    let own_machine = |text: &str| {
        let mut url = Url::parse(text).ok()?;
        let local = url.scheme() == "http" && matches!(url.host_str()?, "127.0.0.1" | "[::1]" | "localhost");
        (local && url.username().is_empty() && url.password().is_none() && url.set_port(None).is_ok()).then_some(url)
    };
    let asked_here = own_machine(asked);
    allowed.iter().any(|a| a == asked || (asked_here.is_some() && own_machine(a) == asked_here))
}

/// The address to which the browser of a user is sent. `state` finds the login again.
pub(crate) fn authorization_url(
    config: &AclAuthMethodConfig,
    provider: &Provider,
    known: &Known,
    login: &PendingLogin,
    state: String,
) -> Result<Url, OidcError> {
    let endpoint = present(&known.metadata.authorization_endpoint, "authorization_endpoint")?;
    let endpoint = provider.fetcher().named(endpoint)?;
    let client = OidcClient::new(ClientId::new(config.oidc_client_id.clone()))
        .set_auth_uri(AuthUrl::from_url(endpoint))
        .set_redirect_uri(redirect(login)?);
    let mut request = client
        .authorize_url(|| CsrfToken::new(state))
        .add_scope(Scope::new(OPENID.into()))
        .add_extra_param("nonce", login.client_nonce.expose().to_string());
    let scopes = config.oidc_scopes.iter().filter(|s| *s != OPENID);
    request = request.add_scopes(scopes.map(|s| Scope::new(s.clone())));
    if config.oidc_enable_pkce {
        let verifier = PkceCodeVerifier::new(login.verifier.expose().into());
        request = request.set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier));
    }
    Ok(request.url().0)
}

fn redirect(login: &PendingLogin) -> Result<RedirectUrl, UrlError> {
    RedirectUrl::new(login.redirect_uri.clone()).map_err(|e| UrlError::Syntax(e.to_string()))
}

/// The tokens that a code stands for.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// Says who the user is.
    pub id: SecretString,
    /// Reads more about the user.
    pub access: SecretString,
}

/// Exchanges a code for tokens. `assertion`: what proves who the client is, instead of its secret.
pub(crate) async fn exchange(
    config: &AclAuthMethodConfig,
    provider: &Provider,
    known: &Known,
    login: &PendingLogin,
    code: &SecretString,
    assertion: Option<SecretString>,
) -> Result<Tokens, OidcError> {
    let endpoint = present(&known.metadata.token_endpoint, "token_endpoint")?;
    let endpoint = provider.fetcher().named(endpoint)?;
    let from = origin(&endpoint);
    let supported = &known.metadata.token_endpoint_auth_methods_supported;
    let names = |method: &str| supported.iter().any(|m| m == method);
    let basic = supported.is_empty() || names("client_secret_basic") || !names("client_secret_post");
    let mut client = OidcClient::new(ClientId::new(config.oidc_client_id.clone()))
        .set_auth_type(if basic { AuthType::BasicAuth } else { AuthType::RequestBody })
        .set_redirect_uri(redirect(login)?);
    if assertion.is_none() && !config.oidc_client_secret.is_empty() {
        client = client.set_client_secret(ClientSecret::new(config.oidc_client_secret.expose().into()));
    }
    let client = client.set_token_uri(TokenUrl::from_url(endpoint));
    let mut request = client.exchange_code(AuthorizationCode::new(code.expose().into()));
    if config.oidc_enable_pkce {
        request = request.set_pkce_verifier(PkceCodeVerifier::new(login.verifier.expose().into()));
    }
    if let Some(assertion) = &assertion {
        request = request.add_extra_param("client_assertion_type", ASSERTION);
        request = request.add_extra_param("client_assertion", assertion.expose());
    }
    let answer = request.request_async(provider.fetcher()).await;
    let answer = answer.map_err(|e| match e {
        RequestTokenError::ServerResponse(refusal) => OidcError::Code(refusal_code(refusal.error())),
        RequestTokenError::Request(e) => e.into(),
        // The answer may hold tokens.
        RequestTokenError::Parse(..) | RequestTokenError::Other(_) => {
            FetchError::Content { origin: from, wanted: "a token answer" }.into()
        }
    })?;
    let id = answer.extra_fields().id_token.clone().filter(|t| !t.is_empty()).ok_or(OidcError::NoIdToken)?;
    Ok(Tokens { id, access: answer.access_token().secret().as_str().into() })
}

/// The code of a refusal. Its description is the provider's own text, and not repeated.
fn refusal_code(error: &BasicErrorResponseType) -> String {
    match error {
        BasicErrorResponseType::InvalidClient => "invalid_client".into(),
        BasicErrorResponseType::InvalidGrant => "invalid_grant".into(),
        BasicErrorResponseType::InvalidRequest => "invalid_request".into(),
        BasicErrorResponseType::InvalidScope => "invalid_scope".into(),
        BasicErrorResponseType::UnauthorizedClient => "unauthorized_client".into(),
        BasicErrorResponseType::UnsupportedGrantType => "unsupported_grant_type".into(),
        BasicErrorResponseType::Extension(_) => "another error".into(),
    }
}

/// Reads what else the provider says about a user, and adds it to the claims of the ID token, which come first.
pub(crate) async fn add_user_info(
    claims: &mut Value,
    provider: &Provider,
    known: &Known,
    access: &SecretString,
) -> Result<(), OidcError> {
    let url = provider.fetcher().named(&known.metadata.userinfo_endpoint)?;
    let said: Map<String, Value> = provider.fetcher().json(url, Some(access), "user information").await?;
    merge(claims, said)
}

/// Adds claims about the same subject.
fn merge(claims: &mut Value, said: Map<String, Value>) -> Result<(), OidcError> {
    if claims.get("sub").is_none() || claims.get("sub") != said.get("sub") {
        return Err(OidcError::Subject);
    }
    if let Value::Object(own) = claims {
        for (name, value) in said {
            own.entry(name).or_insert(value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn redirections_go_to_allowed_addresses() {
        let allowed = ["http://localhost:4649/oidc/callback", "https://ui.test/ui/settings/tokens"].map(String::from);
        for (asked, want) in [
            ("http://localhost:4649/oidc/callback", true),
            ("http://localhost:1234/oidc/callback", true),
            ("http://localhost/oidc/callback", true),
            ("http://127.0.0.1:4649/oidc/callback", false),
            ("http://localhost:4649/other", false),
            ("http://localhost:4649/oidc/callback?x=1", false),
            ("https://localhost:4649/oidc/callback", false),
            ("http://a@localhost:4649/oidc/callback", false),
            ("http://localhost.evil.test:4649/oidc/callback", false),
            ("https://ui.test/ui/settings/tokens", true),
            ("https://ui.test:8443/ui/settings/tokens", false),
            ("https://ui.test/ui/settings/tokens/../x", false),
            ("", false),
        ] {
            assert_eq!(is_allowed_redirect(&allowed, asked), want, "{asked}");
        }
    }

    #[test]
    fn user_information_adds_to_the_id_token() {
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let mut claims = json!({"sub": "a", "email": "signed"});
        merge(&mut claims, object(json!({"sub": "a", "email": "other", "groups": ["x"]}))).expect("the same subject");
        assert_eq!(claims, json!({"sub": "a", "email": "signed", "groups": ["x"]}));
        for said in [json!({"sub": "b"}), json!({}), json!({"sub": null})] {
            assert_eq!(merge(&mut claims, object(said)), Err(OidcError::Subject));
        }
        assert_eq!(merge(&mut json!({}), object(json!({}))), Err(OidcError::Subject));
    }

    #[test]
    fn texts_of_providers_are_not_repeated() {
        let evil = BasicErrorResponseType::Extension("your secret is hush".into());
        assert_eq!(refusal_code(&evil), "another error");
        assert_eq!(refusal_code(&BasicErrorResponseType::InvalidGrant), "invalid_grant");
    }
}
