//! The part of a login that happens in a browser: this program opens the address of the identity provider, and listens
//! on an address of this machine for the browser to come back with a code (RFC 8252 §7.3).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::web::opener;
use encamp_model::{SecretString, quoted};

/// The path to which the provider sends the browser back.
const PATH: &str = "/oidc/callback";
/// How long a user may take: the servers remember a login as long.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long the last answer to the browser may take.
const GRACE: Duration = Duration::from_secs(2);
/// The longest error code of a provider that is shown, in characters.
const LONGEST_CODE: usize = 100;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrowserError {
    /// The address to listen on is none.
    #[error("{} is not an address to listen on: -oidc-callback-addr needs a host and a port, such as 127.0.0.1:4649", quoted(.0))]
    Address(String),
    /// Nothing can listen there.
    #[error("can't listen on {address} for the browser: {source}; choose another address with -oidc-callback-addr")]
    Listen {
        /// The address.
        address: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The server sends the user to something else than a web page.
    #[error("the address that the server gave for the login is not usable")]
    Url,
    /// The provider refuses.
    #[error("the identity provider refused the login: {0}")]
    Refused(String),
    /// The user did not come back.
    #[error("the login was not completed at the identity provider within {} minutes; run the command again", PATIENCE.as_secs() / 60)]
    Patience,
    /// The listener ended.
    #[error("the listener for the browser ended: {0}")]
    Ended(String),
}

/// Waits for the browser.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    redirect_uri: String,
}

impl Callback {
    /// Listens on an address: a host and a port, 0 for any. `localhost` is 127.0.0.1.
    pub(super) async fn listen(address: &str) -> Result<Callback, BrowserError> {
        let wrong = || BrowserError::Address(address.into());
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        let port: u16 = port.parse().map_err(|_| wrong())?;
        let bound = match host {
            "" => return Err(wrong()),
            "localhost" => TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], port))).await,
            _ => TcpListener::bind(address).await,
        };
        let failed = |source| BrowserError::Listen { address: address.into(), source };
        let listener = bound.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Callback { listener, redirect_uri: format!("http://{host}:{port}{PATH}") })
    }

    /// The address to which the provider has to send the browser back.
    pub(super) fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits for the browser with the state of this login. Gives the code.
    pub(super) async fn code(self, state: &str) -> Result<SecretString, BrowserError> {
        let (done, came) = oneshot::channel();
        let (end, ended) = oneshot::channel::<()>();
        let expected = Arc::new(Expected { state: state.into(), done: Mutex::new(Some(done)) });
        let router = Router::new().route(PATH, get(come_back)).with_state(expected);
        let served = axum::serve(self.listener, router).with_graceful_shutdown(async move {
            // Dropping the sender ends it as well.
            let _ = ended.await;
        });
        let serving = tokio::spawn(async move { served.await });
        let answer = timeout(PATIENCE, came).await;
        drop(end);
        // The browser gets its page before the program ends.
        let _ = timeout(GRACE, serving).await;
        let answer = answer.map_err(|_| BrowserError::Patience)?;
        answer.map_err(|e| BrowserError::Ended(e.to_string()))?
    }
}

/// The login that the browser has to belong to.
struct Expected {
    state: String,
    done: Mutex<Option<oneshot::Sender<Result<SecretString, BrowserError>>>>,
}

/// What the provider adds to the address (RFC 6749 §4.1.2).
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    state: String,
    #[serde(default)]
    code: SecretString,
    #[serde(default)]
    error: String,
}

async fn come_back(State(expected): State<Arc<Expected>>, Query(answer): Query<Answer>) -> impl IntoResponse {
    let (status, text) = match (answer.state == expected.state, answer.error.as_str(), answer.code.is_empty()) {
        // Another page may send the browser here: the login goes on.
        (false, _, _) => (StatusCode::BAD_REQUEST, "This is not the login that was begun."),
        (true, "", true) => (StatusCode::BAD_REQUEST, "The identity provider gave no code."),
        (true, "", false) => {
            send(&expected, Ok(answer.code));
            (StatusCode::OK, "You can close this page: the login goes on in the terminal.")
        }
        (true, error, _) => {
            let shown = error.chars().filter(|c| c.is_ascii_graphic()).take(LONGEST_CODE).collect();
            send(&expected, Err(BrowserError::Refused(shown)));
            (StatusCode::OK, "The identity provider refused the login.")
        }
    };
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::CONNECTION, "close")];
    (status, headers, format!("{text}\n"))
}

fn send(expected: &Expected, answer: Result<SecretString, BrowserError>) {
    if let Some(done) = expected.done.lock().take() {
        // The program may have stopped waiting.
        let _ = done.send(answer);
    }
}

/// The state in the address of a provider.
pub(super) fn state_of(url: &str) -> Result<String, BrowserError> {
    // What begins otherwise is no web page, and perhaps a flag of the browser.
    if !url.starts_with("https://") && !url.starts_with("http://") {
        return Err(BrowserError::Url);
    }
    let address = url.split('#').next().unwrap_or_default();
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let state = pairs.find(|(name, value)| name == "state" && !value.is_empty());
    state.map(|(_, state)| state.into_owned()).ok_or(BrowserError::Url)
}

/// Opens a browser and does not wait for it.
pub(super) fn open(url: &str) -> std::io::Result<()> {
    opener(url).spawn().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_providers_have_a_state() {
        for (url, want) in [
            ("https://idp.test/authorize?client_id=a&state=a%2Bb&nonce=n", Some("a+b")),
            ("http://127.0.0.1:1/?state=s#x", Some("s")),
            ("https://idp.test/authorize#?state=s", None),
            ("https://idp.test/authorize?state=", None),
            ("https://idp.test", None),
            ("file:///etc/passwd?state=s", None),
            ("--help?state=s", None),
        ] {
            assert_eq!(state_of(url).ok().as_deref(), want, "{url}");
        }
    }
}
