//! Requests to identity providers: bounded in time and size, without redirections, with the certificate authorities of
//! the auth method.

use std::pin::Pin;
use std::time::Duration;

use axum::http;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use reqwest::{Certificate, Client, Url, redirect};
use serde::de::DeserializeOwned;

use encamp_model::SecretString;

/// How long a provider may take for a whole answer.
pub(crate) const TIME: Duration = Duration::from_secs(10);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// The largest answer, in bytes.
pub(crate) const LARGEST: usize = 1 << 20;
/// The longest cause of a failed connection that is reported, in characters.
const CAUSE: usize = 200;

/// Why a provider did not answer as it should. The texts name scheme, host and port alone: paths, queries and bodies
/// may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    /// An address cannot be used.
    #[error("{0}")]
    Url(#[from] UrlError),
    /// The certificates to trust are none.
    #[error("the certificates of the auth method are not in PEM format")]
    Certificates,
    /// There is no HTTP client: a certificate cannot be used.
    #[error("the certificates to trust cannot be used: {0}")]
    Client(String),
    /// The answer took too long.
    #[error("{0} did not answer within {limit} s", limit = TIME.as_secs())]
    Timeout(String),
    /// There is no connection.
    #[error("no connection to {origin}: {cause}")]
    Connect {
        /// Scheme, host and port.
        origin: String,
        /// The innermost cause.
        cause: String,
    },
    /// The connection ended early.
    #[error("the answer of {0} ended early")]
    Interrupted(String),
    /// The provider wants the request at another address.
    #[error("{0} redirects, which is not followed: the auth method needs the final address")]
    Redirect(String),
    /// The provider refuses.
    #[error("{origin} answered with status {status}")]
    Status {
        /// Scheme, host and port.
        origin: String,
        /// The status.
        status: u16,
    },
    /// The answer is too large.
    #[error("the answer of {0} is larger than {limit} KiB", limit = LARGEST >> 10)]
    TooLarge(String),
    /// The answer is something else than what was asked for.
    #[error("the answer of {origin} is not {wanted}")]
    Content {
        /// Scheme, host and port.
        origin: String,
        /// What was asked for.
        wanted: &'static str,
    },
}

/// Why an address of a provider cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UrlError {
    /// It cannot be read.
    #[error("an address of the provider is invalid: {0}")]
    Syntax(String),
    /// It is not one of HTTP.
    #[error("an address of the provider does not begin with https:// or http://")]
    Scheme,
    /// It contains a user name or a password.
    #[error("an address of the provider contains a user name or a password")]
    Password,
    /// It is not encrypted, unlike the one that leads to it.
    #[error("the provider names an address without https:// although its own address has it")]
    Unencrypted,
}

/// An address that requests may go to.
pub(crate) fn parse_url(text: &str) -> Result<Url, UrlError> {
    let url = Url::parse(text).map_err(|e| UrlError::Syntax(e.to_string()))?;
    if !matches!(url.scheme(), "https" | "http") || url.host_str().is_none_or(str::is_empty) {
        return Err(UrlError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlError::Password);
    }
    Ok(url)
}

/// The certificates of a text in PEM format.
pub(crate) fn certificates(pem: &str) -> Result<Vec<Certificate>, FetchError> {
    let found = Certificate::from_pem_bundle(pem.as_bytes()).map_err(|_| FetchError::Certificates)?;
    if found.is_empty() { Err(FetchError::Certificates) } else { Ok(found) }
}

/// Sends requests to one provider.
#[derive(Debug)]
pub(crate) struct Fetcher {
    client: Client,
    /// Whether the configured address is encrypted: then all have to be.
    encrypted: bool,
}

impl Fetcher {
    /// For the provider at a configured address. `authorities`: PEM certificates to trust; none: those of the system.
    pub(crate) fn new(base: &Url, authorities: &[String]) -> Result<Fetcher, FetchError> {
        let mut trusted = Vec::new();
        for pem in authorities {
            trusted.extend(certificates(pem)?);
        }
        let builder = match trusted.is_empty() {
            true => encamp_tls::client_builder(),
            false => encamp_tls::client_builder_trusting(trusted),
        };
        let builder = builder
            .connect_timeout(CONNECT)
            .timeout(TIME)
            .no_proxy()
            .redirect(redirect::Policy::none())
            .user_agent(concat!("encamp/", env!("CARGO_PKG_VERSION")));
        let client = builder.build().map_err(|e| FetchError::Client(cause(&e)))?;
        Ok(Fetcher { client, encrypted: base.scheme() == "https" })
    }

    /// An address that the provider names.
    pub(crate) fn named(&self, text: &str) -> Result<Url, UrlError> {
        let url = parse_url(text)?;
        if self.encrypted && url.scheme() != "https" { Err(UrlError::Unencrypted) } else { Ok(url) }
    }

    /// Reads a JSON document. `bearer`: the access token that it needs.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        url: Url,
        bearer: Option<&SecretString>,
        wanted: &'static str,
    ) -> Result<T, FetchError> {
        let origin = origin(&url);
        let mut request = self.client.get(url).header(ACCEPT, "application/json");
        if let Some(token) = bearer {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.expose()));
            let mut value =
                value.map_err(|_| FetchError::Content { origin: origin.clone(), wanted: "a bearer token" })?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        let (status, body) = answer(&origin, request.send().await).await?;
        if status != http::StatusCode::OK {
            return Err(FetchError::Status { origin, status: status.as_u16() });
        }
        serde_json::from_slice(&body).map_err(|_| FetchError::Content { origin, wanted })
    }

    /// Sends a request and gives the answer, whatever its status is.
    async fn send(&self, request: http::Request<Vec<u8>>) -> Result<http::Response<Vec<u8>>, FetchError> {
        let unusable = |e: reqwest::Error| UrlError::Syntax(cause(&e));
        let request = reqwest::Request::try_from(request).map_err(unusable)?;
        let origin = origin(request.url());
        let (status, body) = answer(&origin, self.client.execute(request).await).await?;
        let mut response = http::Response::new(body);
        *response.status_mut() = status;
        // The body is JSON or it is refused where it is read.
        Ok(response)
    }
}

impl<'c> oauth2::AsyncHttpClient<'c> for Fetcher {
    type Error = FetchError;
    type Future = Pin<Box<dyn Future<Output = Result<oauth2::HttpResponse, FetchError>> + Send + 'c>>;

    fn call(&'c self, request: oauth2::HttpRequest) -> Self::Future {
        Box::pin(self.send(request))
    }
}

/// Scheme, host and port of an address.
pub(crate) fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// Status and body of an answer.
async fn answer(
    origin: &str,
    sent: reqwest::Result<reqwest::Response>,
) -> Result<(http::StatusCode, Vec<u8>), FetchError> {
    let failed = |e: reqwest::Error| match () {
        () if e.is_timeout() => FetchError::Timeout(origin.into()),
        () if e.is_connect() => FetchError::Connect { origin: origin.into(), cause: cause(&e) },
        () => FetchError::Interrupted(origin.into()),
    };
    let mut response = sent.map_err(failed)?;
    if response.status().is_redirection() {
        return Err(FetchError::Redirect(origin.into()));
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len().saturating_add(chunk.len()) > LARGEST {
            return Err(FetchError::TooLarge(origin.into()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}

/// The innermost cause of an error. It comes from the resolver, a socket or TLS, which know no more than host and
/// port; errors further out may hold the URL.
fn cause(e: &reqwest::Error) -> String {
    encamp_tls::cause(e).chars().filter(|c| !c.is_control()).take(CAUSE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_checked() {
        for (text, want) in [
            ("https://idp.test/a", Ok(())),
            ("http://127.0.0.1:8080", Ok(())),
            ("ftp://idp.test", Err(UrlError::Scheme)),
            ("file:///etc/passwd", Err(UrlError::Scheme)),
            ("https://user@idp.test", Err(UrlError::Password)),
            ("https://user:hush@idp.test", Err(UrlError::Password)),
        ] {
            assert_eq!(parse_url(text).map(drop), want, "{text}");
        }
        assert!(matches!(parse_url("idp.test"), Err(UrlError::Syntax(_))));
        let base = parse_url("https://idp.test").expect("a URL");
        let encrypted = Fetcher::new(&base, &[]).expect("a client");
        assert_eq!(encrypted.named("http://idp.test/jwks").map(drop), Err(UrlError::Unencrypted));
        assert!(encrypted.named("https://keys.test/jwks").is_ok());
        assert_eq!(certificates("no certificate").map(drop), Err(FetchError::Certificates));
    }
}
