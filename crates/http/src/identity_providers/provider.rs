//! Identity providers: what they say about themselves, and their keys, which are kept for a while.
//!
//! One request for the keys of a provider is in flight at a time; logins that need its answer wait for it. No lock is
//! held meanwhile but the turn to ask.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use reqwest::Url;
use serde::Deserialize;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::fetch::{FetchError, Fetcher, TIME, UrlError, parse_url};
use super::keys::{KeySetError, VerifyingKeys};
use encamp_host::ids::now;
use encamp_model::json::or_default;
use encamp_model::token_bucket::TokenBucket;
use encamp_model::{AclAuthMethodConfig, HOUR, MINUTE, SECOND};

/// How long keys are used without asking again, in nanoseconds.
const FRESH: i64 = 10 * MINUTE;
/// How long keys are used while the provider does not answer.
const USABLE: i64 = HOUR;
/// How long a failure answers for those who ask next.
const FAILED: i64 = 2 * SECOND;
/// How many times the keys are read again because of unknown keys: at once, and one more in this time.
const AGAIN: (f64, i64) = (4.0, 15 * SECOND);
/// The most requests of logins to one provider at a time.
const REQUESTS: usize = 8;
/// The most providers that are remembered.
const PROVIDERS: usize = 64;

/// Why a provider is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProviderError {
    /// It does not answer as it should.
    #[error("the identity provider cannot be used: {0}")]
    Fetch(#[from] FetchError),
    /// Its keys cannot be used.
    #[error("the keys of the identity provider cannot be used: {0}")]
    Keys(#[from] KeySetError),
    /// It says that it is another one.
    #[error("the identity provider says that its issuer is {said:?}, but the auth method names {wanted:?}")]
    Issuer {
        /// The issuer that it names, shortened.
        said: String,
        /// The address of the auth method.
        wanted: String,
    },
    /// It does not have what logins of users need.
    #[error("the identity provider names no {0}")]
    Missing(&'static str),
    /// Too many logins wait for it.
    #[error("too many logins wait for the identity provider; try again later")]
    Busy,
    /// Its keys were read again too often.
    #[error("the keys of the identity provider were read a short time ago; try again later")]
    TooOften,
}

impl From<UrlError> for ProviderError {
    fn from(e: UrlError) -> ProviderError {
        ProviderError::Fetch(e.into())
    }
}

/// Where a method has its keys from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Source {
    /// A JSON Web Key Set.
    KeySet {
        /// Its address.
        url: String,
        /// PEM certificates to trust; none: those of the system.
        authorities: Vec<String>,
    },
    /// A provider that describes itself (OpenID Connect Discovery 1.0).
    Discovery {
        /// The issuer.
        url: String,
        /// PEM certificates to trust; none: those of the system.
        authorities: Vec<String>,
    },
}

impl Source {
    /// That of a method; `None` if its keys are in the method itself.
    pub(crate) fn of(config: &AclAuthMethodConfig) -> Option<Source> {
        if !config.oidc_discovery_url.is_empty() {
            let (url, authorities) = (config.oidc_discovery_url.clone(), config.discovery_ca_pem.clone());
            return Some(Source::Discovery { url, authorities });
        }
        let authorities = Some(config.jwks_ca_cert.clone()).filter(|pem| !pem.is_empty());
        let url = Some(config.jwks_url.clone()).filter(|url| !url.is_empty())?;
        Some(Source::KeySet { url, authorities: authorities.into_iter().collect() })
    }
}

/// What a provider says about itself: the part of OpenID Connect Discovery 1.0 §3 that is used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    /// The `iss` of its tokens.
    #[serde(deserialize_with = "or_default")]
    pub issuer: String,
    /// Where its keys are.
    #[serde(deserialize_with = "or_default")]
    pub jwks_uri: String,
    /// Where users log in.
    #[serde(deserialize_with = "or_default")]
    pub authorization_endpoint: String,
    /// Where codes become tokens.
    #[serde(deserialize_with = "or_default")]
    pub token_endpoint: String,
    /// Where more claims about a user are.
    #[serde(deserialize_with = "or_default")]
    pub userinfo_endpoint: String,
    /// How clients may prove who they are; empty: `client_secret_basic`.
    #[serde(deserialize_with = "or_default")]
    pub token_endpoint_auth_methods_supported: Vec<String>,
}

/// What is known about a provider.
#[derive(Debug)]
pub(crate) struct Known {
    /// What it says about itself; empty where the method names its keys.
    pub metadata: Metadata,
    /// Its keys.
    pub keys: VerifyingKeys,
    /// When it was asked, in Unix nanoseconds.
    at: i64,
}

#[derive(Debug)]
struct State {
    known: Option<Arc<Known>>,
    /// The last failure, if nothing succeeded since.
    failed: Option<(i64, ProviderError)>,
    again: TokenBucket,
}

/// A provider.
#[derive(Debug)]
pub(crate) struct Provider {
    base: Url,
    source: Source,
    fetcher: Fetcher,
    state: Mutex<State>,
    /// The turn to ask for keys.
    turn: tokio::sync::Mutex<()>,
    requests: Semaphore,
}

impl Provider {
    fn new(source: Source) -> Result<Provider, ProviderError> {
        let (Source::KeySet { url, authorities } | Source::Discovery { url, authorities }) = &source;
        let base = parse_url(url)?;
        let fetcher = Fetcher::new(&base, authorities)?;
        let again = TokenBucket::every(AGAIN.1, AGAIN.0);
        let state = Mutex::new(State { known: None, failed: None, again });
        let requests = Semaphore::new(REQUESTS);
        Ok(Provider { base, source, fetcher, state, turn: tokio::sync::Mutex::default(), requests })
    }

    /// The connection to it.
    pub(crate) fn fetcher(&self) -> &Fetcher {
        &self.fetcher
    }

    /// Waits until there is room for another request of a login.
    pub(crate) async fn room(&self) -> Result<SemaphorePermit<'_>, ProviderError> {
        let permit = timeout(TIME, self.requests.acquire()).await;
        permit.map_err(|_| ProviderError::Busy)?.map_err(|_| ProviderError::Busy)
    }

    /// What is known, asked for if that is old.
    pub(crate) async fn known(&self) -> Result<Arc<Known>, ProviderError> {
        let before = self.state.lock().known.clone();
        match &before {
            Some(known) if now().saturating_sub(known.at) < FRESH => return Ok(known.clone()),
            _ => {}
        }
        match (self.asked(before.as_ref()).await, before) {
            (Err(e), Some(known)) if now().saturating_sub(known.at) < USABLE => {
                tracing::warn!(target: "nomad.acl", error = %e, "old keys of an identity provider are used");
                Ok(known)
            }
            (answer, _) => answer,
        }
    }

    /// What is known after a token with a key that `before` does not have.
    pub(crate) async fn known_after(&self, before: &Arc<Known>) -> Result<Arc<Known>, ProviderError> {
        {
            let mut state = self.state.lock();
            match &state.known {
                Some(known) if !Arc::ptr_eq(known, before) => return Ok(known.clone()),
                _ => {}
            }
            if !state.again.try_take(now()) {
                return Err(ProviderError::TooOften);
            }
        }
        self.asked(Some(before)).await
    }

    /// Asks, unless somebody else does so at the same time.
    async fn asked(&self, before: Option<&Arc<Known>>) -> Result<Arc<Known>, ProviderError> {
        let turn = timeout(TIME.saturating_mul(2), self.turn.lock()).await;
        let _turn = turn.map_err(|_| ProviderError::Busy)?;
        {
            let state = self.state.lock();
            match (&state.known, before) {
                (Some(known), None) => return Ok(known.clone()),
                (Some(known), Some(before)) if !Arc::ptr_eq(known, before) => return Ok(known.clone()),
                _ => {}
            }
            match &state.failed {
                Some((at, e)) if now().saturating_sub(*at) < FAILED => return Err(e.clone()),
                _ => {}
            }
        }
        let answer = self.ask().await.map(Arc::new);
        let mut state = self.state.lock();
        match &answer {
            Ok(known) => (state.known, state.failed) = (Some(known.clone()), None),
            Err(e) => state.failed = Some((now(), e.clone())),
        }
        answer
    }

    /// Asks for everything.
    async fn ask(&self) -> Result<Known, ProviderError> {
        let (metadata, keys) = match &self.source {
            Source::KeySet { .. } => (Metadata::default(), self.base.clone()),
            Source::Discovery { url, .. } => {
                let metadata = self.describe(url).await?;
                let keys = self.fetcher.named(present(&metadata.jwks_uri, "jwks_uri")?)?;
                (metadata, keys)
            }
        };
        let keys = self.fetcher.json(keys, None, "a JSON Web Key Set").await?;
        Ok(Known { metadata, keys: VerifyingKeys::of_set(keys)?, at: now() })
    }

    /// Reads what the provider says about itself. It has to be the one that the method names.
    async fn describe(&self, issuer: &str) -> Result<Metadata, ProviderError> {
        let trimmed = issuer.trim_end_matches('/');
        let url = parse_url(&format!("{trimmed}/.well-known/openid-configuration"))?;
        let metadata: Metadata = self.fetcher.json(url, None, "a description of an OpenID provider").await?;
        // Users write the issuer with or without the slash at its end.
        if metadata.issuer.trim_end_matches('/') != trimmed {
            let said = metadata.issuer.chars().take(200).collect();
            return Err(ProviderError::Issuer { said, wanted: issuer.into() });
        }
        Ok(metadata)
    }
}

/// An address that the provider has to name.
pub(crate) fn present<'a>(url: &'a str, name: &'static str) -> Result<&'a str, ProviderError> {
    if url.is_empty() { Err(ProviderError::Missing(name)) } else { Ok(url) }
}

/// The providers that were asked lately.
#[derive(Debug, Default)]
pub(crate) struct Providers(Mutex<HashMap<Source, (Arc<Provider>, i64)>>);

impl Providers {
    /// The provider of a source.
    pub(crate) fn get(&self, source: &Source) -> Result<Arc<Provider>, ProviderError> {
        if let Some((provider, used)) = self.0.lock().get_mut(source) {
            *used = now();
            return Ok(provider.clone());
        }
        // Reads the certificates of the system.
        let made = Arc::new(Provider::new(source.clone())?);
        let mut all = self.0.lock();
        let longest = all.iter().min_by_key(|(_, (_, used))| *used).map(|(s, _)| s.clone());
        if let Some(longest) = longest.filter(|_| all.len() >= PROVIDERS) {
            all.remove(&longest);
        }
        // Somebody else may have been faster.
        Ok(all.entry(source.clone()).or_insert((made, now())).0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_one_source() {
        let config = AclAuthMethodConfig::default();
        assert_eq!(Source::of(&config), None);
        let jwks = AclAuthMethodConfig { jwks_url: "https://a".into(), jwks_ca_cert: "pem".into(), ..config.clone() };
        let set = Source::KeySet { url: "https://a".into(), authorities: vec!["pem".into()] };
        assert_eq!(Source::of(&jwks), Some(set));
        let pem = vec!["pem".to_string()];
        let found =
            AclAuthMethodConfig { oidc_discovery_url: "https://b".into(), discovery_ca_pem: pem.clone(), ..config };
        assert_eq!(Source::of(&found), Some(Source::Discovery { url: "https://b".into(), authorities: pem }));
    }

    #[test]
    fn the_number_of_providers_is_bounded() {
        let providers = Providers::default();
        let source = |n: usize| Source::KeySet { url: format!("http://127.0.0.1:{n}"), authorities: Vec::new() };
        let first = providers.get(&source(1)).expect("a provider");
        assert!(Arc::ptr_eq(&first, &providers.get(&source(1)).expect("a provider")));
        for n in 2..PROVIDERS + 10 {
            providers.get(&source(n)).expect("a provider");
        }
        assert_eq!(providers.0.lock().len(), PROVIDERS);
        assert!(providers.get(&Source::KeySet { url: "no URL".into(), authorities: Vec::new() }).is_err());
    }
}
