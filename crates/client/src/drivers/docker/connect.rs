//! The connection to the daemon: where it answers, calls with a limit of time, and their errors.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bollard::{ClientVersion, Docker};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::super::config_block::ConfigError;

/// The socket of Docker.
const DOCKER: &str = "/var/run/docker.sock";
/// The socket of Podman, for the whole host.
const PODMAN: &str = "/run/podman/podman.sock";
/// Versions of the interface that are tried, newest first; a daemon that knows one of them tells its own newest one.
const VERSIONS: [(usize, usize); 4] = [(1, 47), (1, 44), (1, 41), (1, 24)];
/// How long a call may take that the daemon answers from memory.
pub(crate) const SHORT: Duration = Duration::from_secs(10);
/// How long a call may take that works on containers.
pub(crate) const LONG: Duration = Duration::from_secs(60);
/// Seconds until the client gives up by itself: later than any call that is bounded here.
const CLIENT: u64 = 3600;
/// How much of a daemon's message is passed on.
const MESSAGE: usize = 1000;

/// Where a daemon answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A socket of this host.
    Unix(PathBuf),
    /// An address without TLS.
    Tcp(String),
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "unix://{}", path.display()),
            Endpoint::Tcp(address) => write!(f, "tcp://{address}"),
        }
    }
}

impl Endpoint {
    /// The endpoint of a text; none if it is empty.
    fn parse(text: &str) -> Result<Option<Endpoint>, ConfigError> {
        if text.is_empty() {
            return Ok(None);
        }
        if let Some(path) = text.strip_prefix("unix://").filter(|p| p.starts_with('/')) {
            return Ok(Some(Endpoint::Unix(path.into())));
        }
        let address = text.strip_prefix("tcp://").or_else(|| text.strip_prefix("http://"));
        match address.filter(|a| !a.is_empty()) {
            Some(address) => Ok(Some(Endpoint::Tcp(address.into()))),
            None => Err(ConfigError::value("endpoint", "it has to be unix:///path/of/socket or tcp://host:port")),
        }
    }

    /// The endpoint that is set, or the socket that is there: that of Docker, of Podman for the host, of Podman for the
    /// agent's user.
    fn find(set: &str) -> Endpoint {
        if let Ok(Some(endpoint)) = Endpoint::parse(set) {
            return endpoint;
        }
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(|d| Path::new(&d).join("podman/podman.sock"));
        let known = [Some(DOCKER.into()), Some(PODMAN.into()), own];
        let found = known.into_iter().flatten().find(|p: &PathBuf| p.exists());
        Endpoint::Unix(found.unwrap_or_else(|| DOCKER.into()))
    }
}

/// Checks an endpoint of the configuration.
pub(super) fn check(text: &str) -> Result<(), ConfigError> {
    Endpoint::parse(text).map(drop)
}

/// Why a call to the daemon did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DaemonError {
    /// Nobody answers.
    #[error(
        "failed to {call}: no container daemon answers at {endpoint}: {reason}; check that it runs and that the agent may connect to it"
    )]
    Unreachable {
        /// What the call was for.
        call: &'static str,
        /// Where the daemon should be.
        endpoint: String,
        /// The error of the connection.
        reason: String,
    },
    /// The answer takes too long.
    #[error("failed to {call}: the container daemon did not answer within {limit:?}; check whether it hangs")]
    Slow {
        /// What the call was for.
        call: &'static str,
        /// How long the call could take.
        limit: Duration,
    },
    /// The daemon answers with an error.
    #[error("failed to {call}: {message}")]
    Refused {
        /// What the call was for.
        call: &'static str,
        /// The status of the answer.
        status: u16,
        /// The message of the daemon.
        message: String,
    },
    /// The answer ended early, or is none.
    #[error("failed to {call}: the answer of the container daemon can't be used: {reason}")]
    Garbled {
        /// What the call was for.
        call: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

impl DaemonError {
    /// What is asked for is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, DaemonError::Refused { status: 404, .. })
    }

    /// What is there is in the way.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, DaemonError::Refused { status: 409, .. })
    }

    /// The daemon says that the fault is not one of the request.
    pub(crate) fn is_fault_of_daemon(&self) -> bool {
        matches!(self, DaemonError::Refused { status: 500.., .. })
    }

    /// Another try, later, may help.
    pub(crate) fn is_temporary(&self) -> bool {
        match self {
            DaemonError::Unreachable { .. } | DaemonError::Slow { .. } | DaemonError::Garbled { .. } => true,
            DaemonError::Refused { status, .. } => *status == 429 || *status >= 502,
        }
    }
}

/// The start of a text that somebody else wrote, in one line.
pub(super) fn short(text: &str) -> String {
    let line = text.trim().replace(['\n', '\r'], " ");
    match line.char_indices().nth(MESSAGE) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line,
    }
}

/// The daemon. Connections are made by call.
pub(crate) struct Daemon {
    set: String,
    client: Mutex<Option<(Endpoint, Docker)>>,
    /// A call found nobody.
    pub(super) lost: Notify,
}

impl Daemon {
    /// The daemon of an endpoint; empty: one of the usual ones.
    pub(crate) fn new(set: &str) -> Daemon {
        Daemon { set: set.into(), client: Mutex::new(None), lost: Notify::new() }
    }

    /// Where it answers.
    pub(crate) fn endpoint(&self) -> Endpoint {
        let known = self.client.lock().as_ref().map(|(endpoint, _)| endpoint.clone());
        known.unwrap_or_else(|| Endpoint::find(&self.set))
    }

    /// Whether it is one of this host.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self.endpoint(), Endpoint::Unix(_))
    }

    /// Looks for the daemon anew with the next call: another one may answer by then.
    fn forget(&self) {
        *self.client.lock() = None;
        self.lost.notify_one();
    }

    fn wrong(call: &'static str, endpoint: &Endpoint, error: bollard::errors::Error) -> DaemonError {
        use bollard::errors::Error;
        let unreachable =
            |reason: String| DaemonError::Unreachable { call, endpoint: endpoint.to_string(), reason: short(&reason) };
        match error {
            Error::DockerResponseServerError { status_code, message } => {
                DaemonError::Refused { call, status: status_code, message: short(&message) }
            }
            // In the middle of a stream there is no status.
            Error::DockerStreamError { error } => DaemonError::Refused { call, status: 500, message: short(&error) },
            Error::RequestTimeoutError => DaemonError::Slow { call, limit: Duration::from_secs(CLIENT) },
            Error::SocketNotFoundError(path) => unreachable(format!("{path} does not exist")),
            Error::HyperLegacyError { err } => {
                let mut reason = err.to_string();
                let mut source = std::error::Error::source(&err);
                while let Some(cause) = source {
                    reason = cause.to_string();
                    source = cause.source();
                }
                if err.is_connect() { unreachable(reason) } else { DaemonError::Garbled { call, reason } }
            }
            other => DaemonError::Garbled { call, reason: short(&other.to_string()) },
        }
    }

    /// The client, with the version of the interface that both sides know.
    async fn client(&self, call: &'static str) -> Result<(Endpoint, Docker), DaemonError> {
        if let Some(known) = self.client.lock().clone() {
            return Ok(known);
        }
        let endpoint = Endpoint::find(&self.set);
        let mut error = None;
        for (major_version, minor_version) in VERSIONS {
            let version = ClientVersion { major_version, minor_version };
            let connected = match &endpoint {
                Endpoint::Unix(path) => Docker::connect_with_unix(path.to_str().unwrap_or_default(), CLIENT, &version),
                Endpoint::Tcp(address) => Docker::connect_with_http(address, CLIENT, &version),
            };
            let wrong = |e| Self::wrong(call, &endpoint, e);
            let negotiated = tokio::time::timeout(SHORT, connected.map_err(wrong)?.negotiate_version()).await;
            match negotiated.map_err(|_| DaemonError::Slow { call, limit: SHORT })?.map_err(wrong) {
                Ok(client) => {
                    *self.client.lock() = Some((endpoint.clone(), client.clone()));
                    return Ok((endpoint, client));
                }
                // The daemon knows no such version, not even to be asked for its own.
                Err(refused @ DaemonError::Refused { status: 400, .. }) => error = Some(refused),
                Err(error) => return Err(error),
            }
        }
        let none = || DaemonError::Garbled { call, reason: "no version of the interface is left to try".into() };
        Err(error.unwrap_or_else(none))
    }

    /// Makes a call that may take some time. `what` says what it is for, after `failed to`.
    pub(crate) async fn call<T, F>(
        &self,
        what: &'static str,
        limit: Duration,
        make: impl FnOnce(Docker) -> F,
    ) -> Result<T, DaemonError>
    where
        F: Future<Output = Result<T, bollard::errors::Error>>,
    {
        let outcome = async {
            let (endpoint, client) = self.client(what).await?;
            let answer = tokio::time::timeout(limit, make(client)).await;
            answer.map_err(|_| DaemonError::Slow { call: what, limit })?.map_err(|e| Self::wrong(what, &endpoint, e))
        }
        .await;
        if let Err(DaemonError::Unreachable { .. } | DaemonError::Slow { .. }) = &outcome {
            self.forget();
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints() {
        let parse = |t: &str| Endpoint::parse(t).map(|e| e.map(|e| e.to_string()));
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("unix:///run/d.sock"), Ok(Some("unix:///run/d.sock".into())));
        assert_eq!(parse("tcp://h:2375"), Ok(Some("tcp://h:2375".into())));
        for wrong in ["unix://relative", "tcp://", "/run/d.sock", "https://h"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Endpoint::find("unix:///x").to_string(), "unix:///x");
    }

    #[test]
    fn long_messages_are_cut() {
        assert_eq!(short(" a\nb \n"), "a b");
        assert_eq!(short(&"x".repeat(5000)).chars().count(), MESSAGE + 1);
    }

    #[tokio::test]
    async fn a_daemon_that_is_not_there_is_named() {
        let daemon = Daemon::new("unix:///nonexistent/docker.sock");
        let error = daemon.call("look at it", SHORT, |d| async move { d.ping().await }).await.unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("failed to look at it: no container daemon answers at unix:///nonexistent/docker.sock")
        );
        assert!(error.is_temporary() && !error.is_not_found());
    }
}
