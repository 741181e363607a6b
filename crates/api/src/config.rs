//! Configuration of the client: addresses, credentials, TLS (`docs/spec/cli.md §2.4`).

use std::path::PathBuf;
use std::time::Duration;

use encamp_model::SecretString;

/// Where an agent listens if nothing else is said.
pub(crate) const DEFAULT_ADDRESS: &str = "http://127.0.0.1:4646";

/// How servers are verified, and how this client shows who it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// File with certificates of authorities; wins over the directory.
    pub ca_cert: Option<PathBuf>,
    /// Directory with certificates of authorities.
    pub ca_path: Option<PathBuf>,
    /// Certificate of this client (PEM), with its key.
    pub client_cert: Option<PathBuf>,
    /// Key of the certificate (PEM).
    pub client_key: Option<PathBuf>,
    /// The name the server's certificate has to have, if not that of the address.
    pub server_name: Option<String>,
    /// Accept any certificate.
    pub skip_verify: bool,
}

/// Settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `http://…`, `https://…` or `unix://PATH`; or several with commas between them, of which one has to answer.
    pub address: String,
    /// Sent with every request, if set.
    pub region: Option<String>,
    /// Sent with every request that does not name one, if set.
    pub namespace: Option<String>,
    /// Sent with every request, if set.
    pub token: Option<SecretString>,
    /// User and password of HTTP basic authentication.
    pub http_auth: Option<(String, Option<SecretString>)>,
    /// Only for `https`.
    pub tls: Tls,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long nothing may arrive. Blocking reads add their own wait.
    pub read_timeout: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            address: DEFAULT_ADDRESS.into(),
            region: None,
            namespace: None,
            token: None,
            http_auth: None,
            tls: Tls::default(),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(60),
        }
    }
}

impl Config {
    /// The addresses one by one; an empty one where none is given.
    pub(super) fn addresses(&self) -> impl Iterator<Item = &str> {
        let several = self.address.contains(',');
        self.address.split(',').map(str::trim).filter(move |a| !several || !a.is_empty())
    }

    /// Settings from environment variables, looked up by name; empty ones count as unset. `ENCAMP_…` wins over
    /// `NOMAD_…`.
    pub fn from_env<'v>(var: impl Fn(&str) -> Option<&'v str>) -> Config {
        let get = |name: &str| {
            let set = |prefix: &str| var(&format!("{prefix}{name}")).filter(|v| !v.is_empty());
            set("ENCAMP_").or_else(|| set("NOMAD_")).map(str::to_string)
        };
        let path = |name: &str| get(name).map(PathBuf::from);
        let http_auth = get("HTTP_AUTH").map(|auth| match auth.split_once(':') {
            Some((user, password)) => (user.to_string(), Some(SecretString::new(password))),
            None => (auth, None),
        });
        Config {
            address: get("ADDR").unwrap_or_else(|| DEFAULT_ADDRESS.into()),
            region: get("REGION"),
            namespace: get("NAMESPACE"),
            token: get("TOKEN").map(SecretString::new),
            http_auth,
            tls: Tls {
                ca_cert: path("CACERT"),
                ca_path: path("CAPATH"),
                client_cert: path("CLIENT_CERT"),
                client_key: path("CLIENT_KEY"),
                server_name: get("TLS_SERVER_NAME"),
                skip_verify: get("SKIP_VERIFY").is_some_and(|v| encamp_model::parse_bool(&v) == Some(true)),
            },
            ..Config::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_sets_everything_and_secrets_stay_hidden() {
        let vars = [
            ("NOMAD_ADDR", "https://a:1"),
            ("NOMAD_TOKEN", "hush"),
            ("NOMAD_REGION", ""),
            ("NOMAD_NAMESPACE", "old"),
            ("ENCAMP_NAMESPACE", "new"),
            ("NOMAD_HTTP_AUTH", "me:hush:hush"),
            ("NOMAD_SKIP_VERIFY", "true"),
            ("NOMAD_CACERT", "ca.pem"),
        ];
        let config = Config::from_env(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| *v));
        assert_eq!(config.address, "https://a:1");
        assert_eq!((config.region.as_deref(), config.namespace.as_deref()), (None, Some("new")));
        assert_eq!(config.http_auth, Some(("me".into(), Some(SecretString::new("hush:hush")))));
        assert!(config.tls.skip_verify && config.tls.ca_cert == Some("ca.pem".into()));
        assert!(!format!("{config:?}").contains("hush"));
        assert_eq!(Config::from_env(|_| None), Config::default());
    }
}
