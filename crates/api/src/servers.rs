//! The addresses of a client, and the connections to each.

use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{ClientBuilder, Url, redirect};

use super::config::Config;
use super::error::ConfigError;
use super::tls;

/// One address.
#[derive(Debug)]
pub(crate) struct Server {
    /// The connections to it.
    pub http: reqwest::Client,
    /// The base URL of requests.
    pub base: Url,
    /// The address that errors show.
    pub shown: String,
}

impl Server {
    fn new(address: &str, config: &Config) -> Result<Server, ConfigError> {
        let wrong = |source| ConfigError::Address { address: address.to_string(), source };
        let (mut builder, base, shown) = match address.strip_prefix("unix://") {
            Some(path) => (through_socket(path)?, Url::parse("http://127.0.0.1").map_err(wrong)?, address.to_string()),
            None => {
                let trimmed = address.trim_end_matches('/');
                let mut url = match Url::parse(trimmed) {
                    Ok(url) if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() => url,
                    Err(e) if trimmed.contains("://") => return Err(wrong(e)),
                    _ => return Err(without_scheme(address)),
                };
                if !url.username().is_empty() || url.password().is_some() {
                    return Err(ConfigError::Password);
                }
                (tls::builder(&config.tls, &mut url)?, url, trimmed.to_string())
            }
        };
        builder = builder
            .connect_timeout(config.connect_timeout)
            .no_proxy()
            .redirect(redirect::Policy::custom(follow))
            .user_agent(concat!("encamp/", env!("CARGO_PKG_VERSION")))
            .default_headers(credentials(config)?);
        Ok(Server { http: builder.build().map_err(ConfigError::Client)?, base, shown })
    }
}

/// Settings of connections through a socket of the file system.
#[cfg(unix)]
fn through_socket(path: &str) -> Result<ClientBuilder, ConfigError> {
    Ok(encamp_tls::client_builder_trusting(Vec::new()).unix_socket(path))
}

/// There are no such connections on this system.
#[cfg(not(unix))]
fn through_socket(path: &str) -> Result<ClientBuilder, ConfigError> {
    Err(ConfigError::Socket(path.to_string()))
}

/// Redirections that are followed, one after the other.
const MOST_REDIRECTIONS: usize = 10;

/// Follows redirections to the same server alone: the token goes with the request.
fn follow(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let origin =
        |url: &Url| (url.scheme().to_string(), url.host_str().map(str::to_string), url.port_or_known_default());
    let same = attempt.previous().last().is_some_and(|last| origin(last) == origin(attempt.url()));
    if !same {
        let to = attempt.url().origin().ascii_serialization();
        return attempt
            .error(format!("the server redirects to {to}, which is not followed: the token is for this server"));
    }
    if attempt.previous().len() > MOST_REDIRECTIONS {
        return attempt.error(format!("the server redirects more than {MOST_REDIRECTIONS} times"));
    }
    attempt.follow()
}

/// All addresses of a client, at least one. Requests begin with the one that answered last.
#[derive(Debug)]
pub(crate) struct Servers {
    first: Server,
    others: Vec<Server>,
    current: AtomicUsize,
}

impl Servers {
    /// Those of the settings.
    pub(crate) fn new(config: &Config) -> Result<Servers, ConfigError> {
        let mut addresses = config.addresses();
        let first = Server::new(addresses.next().unwrap_or_default(), config)?;
        let others = addresses.map(|a| Server::new(a, config)).collect::<Result<_, _>>()?;
        Ok(Servers { first, others, current: AtomicUsize::new(0) })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.others.len() + 1
    }

    /// The one with this number; numbers go round.
    pub(crate) fn get(&self, number: usize) -> &Server {
        let others = number % self.count();
        others.checked_sub(1).and_then(|n| self.others.get(n)).unwrap_or(&self.first)
    }

    /// The number of the one to begin with.
    pub(crate) fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// This one has answered.
    pub(crate) fn answered(&self, number: usize) {
        self.current.store(number % self.count(), Ordering::Relaxed);
    }
}

/// Headers that say who asks.
fn credentials(config: &Config) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, value: &str, what| -> Result<(), ConfigError> {
        let mut value = HeaderValue::from_str(value).map_err(|_| ConfigError::Secret(what))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    if let Some(token) = &config.token {
        add(HeaderName::from_static("x-nomad-token"), token.expose().trim(), "token")?;
    }
    if let Some((user, password)) = &config.http_auth {
        let password = password.as_ref().map(|p| p.expose()).unwrap_or_default();
        let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        add(AUTHORIZATION, &format!("Basic {encoded}"), "password")?;
    }
    Ok(headers)
}

/// Why an address that does not say how to get there is none.
fn without_scheme(address: &str) -> ConfigError {
    let meant = format!("http://{address}");
    let near = !address.is_empty() && !address.contains("://") && Url::parse(&meant).is_ok();
    ConfigError::Scheme { address: address.to_string(), meant: near.then_some(meant) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(address: &str) -> Result<Servers, ConfigError> {
        Servers::new(&Config { address: address.into(), ..Config::default() })
    }

    #[test]
    fn addresses_go_round() {
        let three = servers("http://a:1/, unix:///run/b.sock,http://c:3,").unwrap();
        let shown: Vec<&str> = (0..4).map(|n| three.get(n).shown.as_str()).collect();
        assert_eq!(shown, ["http://a:1", "unix:///run/b.sock", "http://c:3", "http://a:1"]);
        three.answered(5);
        assert_eq!(three.get(three.current()).shown, "http://c:3");
    }

    #[test]
    fn each_address_must_be_one() {
        let wrong = |address| servers(address).unwrap_err().to_string();
        assert!(wrong("http://a:1,ftp://x").starts_with("invalid address \"ftp://x\": it has to start with"));
        assert!(wrong("").starts_with("invalid address \"\""));
        for address in ["127.0.0.1:4646", "localhost:4646", "nomad.example"] {
            let hint = format!("it has to start with http://, https:// or unix://; did you mean \"http://{address}\"?");
            assert!(wrong(address).ends_with(&hint), "{}", wrong(address));
        }
        assert!(wrong("http://a,http://me:hush@b").starts_with("the address must not hold a password"));
    }
}
