//! Errors of requests.

use std::error::Error;
use std::io;

use encamp_model::outcome;

/// Why there is no answer, or not the wanted one. No text holds a token or a password.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The client can't be built from its settings.
    #[error("{0}")]
    Config(String),
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
        problem: String,
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
            _ => None,
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
            ApiError::Status { status: 500, body } => outcome::is_without_leader(body),
            ApiError::Unknown(last) => last.is_temporary(),
            _ => false,
        }
    }

    /// Nothing came in time.
    pub(super) fn late(method: &'static str, url: String) -> ApiError {
        ApiError::Transport { method, url, problem: "no answer in time".into(), connecting: false }
    }

    /// From a failed exchange.
    pub(super) fn transport(method: &'static str, url: &str, e: &reqwest::Error) -> ApiError {
        ApiError::Transport { method, url: url.to_string(), problem: cause(e), connecting: e.is_connect() }
    }
}

/// What it means when one side speaks TLS and the other one does not.
fn other_protocol(e: &(dyn Error + 'static)) -> Option<&'static str> {
    // What the stream below TLS reports is wrapped into errors of input and output, more than once.
    let mut inner = e;
    while let Some(wrapped) = inner.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        inner = wrapped;
    }
    let tls = inner.downcast_ref::<rustls::Error>();
    if matches!(tls, Some(rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType))) {
        return Some(
            "http: server gave HTTP response to HTTPS client; it does not use TLS: give its address with http://",
        );
    }
    let http = e.downcast_ref::<hyper::Error>()?;
    http.is_parse().then_some("the response is not HTTP; if the server uses TLS, give its address with https://")
}

/// The innermost cause; refused connections read as other tools of the field show them.
fn cause(e: &reqwest::Error) -> String {
    if e.is_timeout() {
        return if e.is_connect() { "connecting took too long" } else { "no answer in time" }.into();
    }
    let mut innermost: &dyn Error = e;
    let mut found = None;
    while let Some(next) = innermost.source() {
        innermost = next;
        if let Some(text) = other_protocol(next) {
            return text.into();
        }
        found = innermost.downcast_ref::<io::Error>().map(io::Error::kind).or(found);
    }
    let peer = e.url().and_then(|u| Some(format!("{}:{}", u.host_str()?, u.port_or_known_default()?)));
    match (found, peer) {
        (Some(io::ErrorKind::ConnectionRefused), Some(peer)) => {
            format!("dial tcp {peer}: connect: connection refused")
        }
        _ => innermost.to_string(),
    }
}
