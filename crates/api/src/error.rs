//! Errors of requests.

use std::error::Error;
use std::io;
use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;

use super::json::JsonError;
use super::outcome::ErrorMeaning;
use super::stream::FrameError;
use super::tls::TlsError;

/// Why there is no answer, or not the wanted one. No text holds a token or a password.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The client can't be built from its settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The request can't be sent as it is.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The request did not reach the server, or the answer did not arrive (`docs/spec/cli.md §4.3`).
    #[error("{method} {url:?}: {problem}")]
    Transport {
        /// `Get`, `Put`, `Post` or `Delete`.
        method: &'static str,
        /// Address, path and the parameters of the request itself.
        url: String,
        /// The error of the operating system.
        problem: String,
        /// Whether the connection was never made.
        connecting: bool,
        /// What kind of failure it is.
        kind: TransportFailure,
    },
    /// The server answered with another status than 200.
    #[error("Unexpected response code: {status}{}", parenthesised(body))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The text of the answer.
        body: String,
    },
    /// A write may have been carried out, and nothing that came later says so. The last failure.
    #[error("outcome unknown, the request may have been carried out: {0}")]
    Unknown(Box<ApiError>),
    /// The answer is not what the endpoint answers.
    #[error("{method} {url:?}: the response can't be read: {problem}")]
    Answer {
        /// `Get`, `Put`, `Post` or `Delete`.
        method: &'static str,
        /// Address, path and the parameters of the request itself.
        url: String,
        /// The problem and its location.
        problem: AnswerError,
    },
    /// The server accepted a stream, but not one of the protocol.
    #[error("the server's answer is not that of a WebSocket")]
    NotWebSocket,
}

/// The kinds of failures between a client and a server, as far as they call for different actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportFailure {
    /// No connection: no server listens at the address, or the address is of no host.
    Unreachable,
    /// No answer in time.
    Late,
    /// The client uses TLS, and the server does not.
    ServerWithoutTls,
    /// The client does not use TLS, and the server seems to.
    ServerWithTls,
    /// The client does not accept the certificate of the server.
    ServerCertificate,
    /// The server does not accept the certificate of the client, or there is none.
    ClientCertificate,
    /// Anything else.
    Other,
}

/// Why a client can't be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The address is no URL.
    #[error("invalid address {address:?}: {source}")]
    Address {
        /// The address as it was given.
        address: String,
        /// What is wrong with it.
        source: <Url as FromStr>::Err,
    },
    /// The address has no scheme that the client knows.
    #[error(
        "invalid address {address:?}: it has to start with http://, https:// or unix://{}",
        meant.as_ref().map(|url| format!("; did you mean {url:?}?")).unwrap_or_default()
    )]
    Scheme {
        /// The address as it was given.
        address: String,
        /// The address with a scheme, if that makes it one.
        meant: Option<String>,
    },
    /// The system has no sockets in the file system.
    #[cfg(not(unix))]
    #[error("invalid address \"unix://{0}\": this system has no such sockets; use http:// or https://")]
    Socket(String),
    /// The address holds a user or a password.
    #[error("the address must not hold a password: use NOMAD_HTTP_AUTH")]
    Password,
    /// A secret can't be the value of a header.
    #[error("the {0} holds characters that can't be sent")]
    Secret(&'static str),
    /// A file or a name of the TLS settings is wrong.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The HTTP client refuses the settings.
    #[error(transparent)]
    Client(reqwest::Error),
}

/// Why a request can't be sent as it is.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The method is no token of HTTP.
    #[error("{0:?} is not a method of HTTP")]
    Method(String),
    /// The name or the value of a header is invalid.
    #[error("the header {0:?} can't be sent")]
    Header(String),
    /// The body has no JSON form.
    #[error("the request can't be written: {0}")]
    Body(#[source] serde_json::Error),
    /// The HTTP client refuses it.
    #[error(transparent)]
    Build(reqwest::Error),
}

/// Why the body of a response can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// It exceeds the limit.
    #[error("it is larger than {} MiB, the limit", limit >> 20)]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// So little arrives that there is no end to it.
    #[error("it arrives too slowly: after {after:?} less than {rate} bytes in a second")]
    TooSlow {
        /// How long it may arrive at any rate.
        after: Duration,
        /// The least number of bytes in a second after that.
        rate: u64,
    },
    /// It is not the JSON of its type.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A stream of frames is cut off.
    #[error("it ends in the middle of a frame")]
    CutOff,
    /// A frame exceeds the limit.
    #[error("a frame is too large")]
    LargeFrame,
    /// A stream of frames holds something else: errors found while a file is sent arrive as plain text.
    #[error("{problem}: {received}")]
    Frame {
        /// What is wrong with it.
        problem: FrameError,
        /// What has arrived.
        received: String,
    },
}

fn parenthesised(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        text => format!(" ({text})"),
    }
}

impl ApiError {
    /// The status of the answer, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            ApiError::Status { status, .. } => Some(*status),
            ApiError::Config(_)
            | ApiError::Request(_)
            | ApiError::Transport { .. }
            | ApiError::Unknown(_)
            | ApiError::Answer { .. }
            | ApiError::NotWebSocket => None,
        }
    }

    /// Whether the server says that there is no such thing.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(404)
    }

    /// Whether the token may not do this, or there is none.
    pub fn is_denied(&self) -> bool {
        matches!(self.status(), Some(401 | 403))
    }

    /// Whether the same request may succeed a little later.
    pub fn is_temporary(&self) -> bool {
        match self {
            ApiError::Transport { .. } => true,
            ApiError::Status { status: 429 | 502 | 503 | 504, .. } => true,
            // Elections take a moment.
            ApiError::Status { status: 500, body } => ErrorMeaning::of(body) == ErrorMeaning::NoLeader,
            ApiError::Unknown(last) => last.is_temporary(),
            ApiError::Config(_)
            | ApiError::Request(_)
            | ApiError::Status { .. }
            | ApiError::Answer { .. }
            | ApiError::NotWebSocket => false,
        }
    }

    /// Nothing came in time.
    pub(super) fn late(method: &'static str, url: String) -> ApiError {
        let kind = TransportFailure::Late;
        ApiError::Transport { method, url, problem: "no answer in time".into(), connecting: false, kind }
    }

    /// From a failed exchange.
    pub(super) fn transport(method: &'static str, url: &str, e: &reqwest::Error) -> ApiError {
        let (problem, kind) = cause(e);
        ApiError::Transport { method, url: url.to_string(), problem, connecting: e.is_connect(), kind }
    }
}

/// The kind of a failure of TLS.
fn kind_of_tls(e: &rustls::Error) -> TransportFailure {
    use rustls::AlertDescription as Alert;
    match e {
        rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType) => TransportFailure::ServerWithoutTls,
        rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
            TransportFailure::ServerCertificate
        }
        rustls::Error::AlertReceived(
            Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown
            | Alert::UnknownCA
            | Alert::AccessDenied
            | Alert::CertificateRequired,
        ) => TransportFailure::ClientCertificate,
        _ => TransportFailure::Other,
    }
}

/// The explanation of an error that occurs when only one side uses TLS.
fn other_protocol(e: &(dyn Error + 'static)) -> Option<(&'static str, TransportFailure)> {
    if encamp_tls::tls_error(e).map(kind_of_tls) == Some(TransportFailure::ServerWithoutTls) {
        let text =
            "http: server gave HTTP response to HTTPS client; it does not use TLS: give its address with http://";
        return Some((text, TransportFailure::ServerWithoutTls));
    }
    let text = "the response is not HTTP; if the server uses TLS, give its address with https://";
    let http = e.downcast_ref::<hyper::Error>()?;
    http.is_parse().then_some((text, TransportFailure::ServerWithTls))
}

/// The innermost cause, and its kind; refused connections read as other tools of the field show them.
fn cause(e: &reqwest::Error) -> (String, TransportFailure) {
    if e.is_timeout() {
        let text = if e.is_connect() { "connecting took too long" } else { "no answer in time" };
        return (text.into(), TransportFailure::Late);
    }
    if let Some(explanation) = encamp_tls::missing_authorities(e) {
        return (explanation.into(), TransportFailure::ServerCertificate);
    }
    let mut innermost: &dyn Error = e;
    let mut found = None;
    while let Some(next) = innermost.source() {
        innermost = next;
        if let Some((text, kind)) = other_protocol(next) {
            return (text.into(), kind);
        }
        found = innermost.downcast_ref::<io::Error>().map(io::Error::kind).or(found);
    }
    let kind = match encamp_tls::tls_error(e).map(kind_of_tls) {
        Some(kind) => kind,
        None if e.is_connect() => TransportFailure::Unreachable,
        None => TransportFailure::Other,
    };
    let peer = e.url().and_then(|u| Some(format!("{}:{}", u.host_str()?, u.port_or_known_default()?)));
    let text = match (found, peer) {
        (Some(io::ErrorKind::ConnectionRefused), Some(peer)) => {
            format!("dial tcp {peer}: connect: connection refused")
        }
        _ => innermost.to_string(),
    };
    (text, kind)
}
