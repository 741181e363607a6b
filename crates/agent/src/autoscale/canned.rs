//! A cluster for tests: an HTTP server on a free port with canned responses.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use encamp_api::{Client, Config};

/// A request as it came: method, path, body.
type Seen = Arc<Mutex<Vec<(String, String, String)>>>;

/// The server; it ends with the test's runtime.
pub(super) struct Canned {
    address: String,
    seen: Seen,
}

impl Canned {
    /// Answers by method, path and query with a status and a text.
    pub(super) async fn start(
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Clone + Send + Sync + 'static,
    ) -> Canned {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Seen::default();
        let log = seen.clone();
        let handle = move |request: Request<Body>| {
            let (answer, log) = (answer.clone(), log.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, 1 << 20).await.expect("a body");
                let (method, path) = (parts.method.as_str(), parts.uri.path());
                let text = String::from_utf8_lossy(&body).into_owned();
                log.lock().expect("the log").push((method.into(), path.into(), text));
                let (status, text) = answer(method, path, parts.uri.query().unwrap_or_default());
                let response = Response::builder().status(status).header("X-Nomad-Index", "5");
                response.body(Body::from(text)).expect("an answer")
            }
        };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(handle)).await });
        Canned { address, seen }
    }

    /// A client of it.
    pub(super) fn client(&self) -> Arc<Client> {
        let config = Config { address: self.address.clone(), namespace: Some("default".into()), ..Config::default() };
        Arc::new(Client::new(config).expect("a client"))
    }

    /// The number of requests to a path.
    pub(super) fn count(&self, method: &str, path: &str) -> usize {
        let seen = self.seen.lock().expect("the log");
        seen.iter().filter(|(m, p, _)| m == method && p == path).count()
    }

    /// The last body sent to a path.
    pub(super) fn last_body(&self, path: &str) -> String {
        let seen = self.seen.lock().expect("the log");
        seen.iter().rev().find(|(_, p, _)| p == path).map(|(_, _, body)| body.clone()).expect("a request")
    }
}

/// An object of JSON values.
pub(super) fn json(members: &[(&str, &str)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}
