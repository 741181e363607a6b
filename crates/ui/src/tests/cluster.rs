//! A cluster whose answers a test writes down.

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Response, StatusCode, header};
use encamp_model::SecretString;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::{Cluster, CommandOutput, Entrance, NoCommand, Source, Unreachable, router};

/// What a request of the pages was: method, path with parameters, body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    pub method: String,
    pub uri: String,
    pub body: String,
}

#[derive(Debug)]
struct Answer {
    method: String,
    path: String,
    status: StatusCode,
    next_token: String,
    body: String,
}

/// A cluster of canned answers. What it has no answer for does not exist: 404.
#[derive(Debug)]
pub(crate) struct Canned {
    source: Source,
    answers: Vec<Answer>,
    output: CommandOutput,
    sent: Arc<Mutex<Vec<Sent>>>,
    ran: Arc<Mutex<Vec<Vec<String>>>>,
}

/// What a page answered.
#[derive(Debug)]
pub(crate) struct Shown {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: String,
}

impl Shown {
    /// Fails unless the page contains each text.
    #[track_caller]
    pub(crate) fn has(&self, texts: &[&str]) {
        for text in texts {
            assert!(self.body.contains(text), "no {text:?} in {}", self.body);
        }
    }

    /// Fails if the page contains one of the texts.
    #[track_caller]
    pub(crate) fn has_not(&self, texts: &[&str]) {
        for text in texts {
            assert!(!self.body.contains(text), "{text:?} in {}", self.body);
        }
    }

    /// Where the browser is sent.
    pub(crate) fn location(&self) -> &str {
        self.headers.get(header::LOCATION).and_then(|v| v.to_str().ok()).unwrap_or_default()
    }
}

impl Canned {
    fn of(source: Source) -> Canned {
        let (sent, ran) = (Arc::default(), Arc::default());
        Canned { source, answers: Vec::new(), output: CommandOutput::default(), sent, ran }
    }

    /// A running cluster.
    pub(crate) fn live() -> Canned {
        Canned::of(Source::Agent { region: "global".into(), acl: false })
    }

    /// A running cluster that checks tokens.
    pub(crate) fn with_access_control() -> Canned {
        Canned::of(Source::Agent { region: "global".into(), acl: true })
    }

    /// A snapshot file.
    pub(crate) fn file() -> Canned {
        Canned::of(Source::File { name: "backup.snap".into(), taken: 1_700_000_000_000_000_000 })
    }

    /// With the answer to reads of a path (without parameters).
    pub(crate) fn get(self, path: &str, body: Value) -> Canned {
        self.answer("GET", path, StatusCode::OK, body)
    }

    /// With the answer to a method and a path (without parameters).
    pub(crate) fn answer(mut self, method: &str, path: &str, status: StatusCode, body: Value) -> Canned {
        let body = match body {
            Value::String(text) if !status.is_success() => text,
            other => other.to_string(),
        };
        let (method, path) = (method.to_string(), path.to_string());
        self.answers.push(Answer { method, path, status, next_token: String::new(), body });
        self
    }

    /// With the answer to reads of a path that is text.
    pub(crate) fn text(mut self, path: &str, text: &str) -> Canned {
        self = self.get(path, Value::Null);
        self.answers.last_mut().expect("an answer").body = text.to_string();
        self
    }

    /// With another answer to a path that has one.
    pub(crate) fn instead(mut self, path: &str, body: Value) -> Canned {
        let answer = self.answers.iter_mut().find(|a| a.path == path).expect("an answer");
        answer.body = body.to_string();
        self
    }

    /// The last answer is a page of a list that another one follows.
    pub(crate) fn followed_by(mut self, next_token: &str) -> Canned {
        self.answers.last_mut().expect("an answer").next_token = next_token.to_string();
        self
    }

    /// With the output of commands.
    pub(crate) fn prints(mut self, code: i32, stdout: &str, stderr: &str) -> Canned {
        self.output = CommandOutput { code, stdout: stdout.into(), stderr: stderr.to_string() };
        self
    }

    /// Opens a page, as a browser without cookies does.
    pub(crate) async fn open(self, address: &str) -> Shown {
        Browser::of(self).open(address).await
    }
}

impl Cluster for Canned {
    fn source(&self) -> &Source {
        &self.source
    }

    fn send(&self, request: Request<Body>) -> BoxFuture<'_, Result<Response<Body>, Unreachable>> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.map_err(|e| Unreachable(e.to_string()))?;
            let body = String::from_utf8_lossy(&body).into_owned();
            let method = parts.method.to_string();
            let found = self.answers.iter().find(|a| a.method == method && a.path == parts.uri.path());
            self.sent.lock().expect("not poisoned").push(Sent { method, uri: parts.uri.to_string(), body });
            let (status, next, text) = match found {
                Some(a) => (a.status, a.next_token.clone(), a.body.clone()),
                None => (StatusCode::NOT_FOUND, String::new(), format!("nothing at {}", parts.uri.path())),
            };
            let response = Response::builder().status(status).header("x-nomad-index", "7");
            let response = response.header("x-nomad-nexttoken", next);
            response.body(Body::from(text)).map_err(|e| Unreachable(e.to_string()))
        })
    }

    fn run(
        &self,
        _: SecretString,
        arguments: Vec<String>,
        _: Vec<u8>,
    ) -> BoxFuture<'_, Result<CommandOutput, NoCommand>> {
        self.ran.lock().expect("not poisoned").push(arguments);
        let output = self.output.clone();
        Box::pin(async move { Ok(output) })
    }
}

/// A browser with its cookies.
pub(crate) struct Browser {
    router: axum::Router,
    cookies: Vec<(String, String)>,
    sent: Arc<Mutex<Vec<Sent>>>,
    ran: Arc<Mutex<Vec<Vec<String>>>>,
}

impl Browser {
    pub(crate) fn of(cluster: Canned) -> Browser {
        let (sent, ran) = (cluster.sent.clone(), cluster.ran.clone());
        let router = router(Arc::new(cluster), Entrance::Open).expect("random numbers");
        Browser { router, cookies: Vec::new(), sent, ran }
    }

    /// Opens a page.
    pub(crate) async fn open(&mut self, address: &str) -> Shown {
        self.request(Request::get(address), String::new()).await
    }

    /// Opens a page as the script does that reads an open page again.
    pub(crate) async fn reopen(&mut self, address: &str) -> Shown {
        self.request(Request::get(address).header("x-encamp-live", "1"), String::new()).await
    }

    /// Asks for a WebSocket.
    pub(crate) async fn upgrade(&mut self, address: &str) -> Shown {
        let request = Request::get(address).header(header::UPGRADE, "websocket").header(header::CONNECTION, "upgrade");
        self.request(request, String::new()).await
    }

    /// Sends a form of the page at `from`, whose `action` it is, with fields besides the form's token.
    pub(crate) async fn submit(&mut self, from: &str, action: &str, fields: &[(&str, &str)]) -> Shown {
        let page = self.open(from).await;
        page.has(&[&format!("action=\"{action}\"")]);
        let token = page.body.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        let token = token.unwrap_or_else(|| panic!("no form in {}", page.body));
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("form_token", token).extend_pairs(fields);
        self.post(action, form.finish()).await
    }

    /// Sends the body of a form.
    pub(crate) async fn post(&mut self, action: &str, body: String) -> Shown {
        let request = Request::post(action).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        self.request(request, body).await
    }

    /// Sends a form without fields from a page of this origin, as browsers name it.
    pub(crate) async fn post_from(&mut self, origin: &str, action: &str) -> Shown {
        self.request(Request::post(action).header(header::ORIGIN, origin), String::new()).await
    }

    /// The requests to the API since the last call.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        std::mem::take(&mut self.sent.lock().expect("not poisoned"))
    }

    /// The commands since the last call.
    pub(crate) fn ran(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.ran.lock().expect("not poisoned"))
    }

    async fn request(&mut self, request: axum::http::request::Builder, body: String) -> Shown {
        let cookies: Vec<_> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let request = request.header(header::HOST, "encamp.test").header(header::COOKIE, cookies.join("; "));
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        for cookie in parts.headers.get_all(header::SET_COOKIE) {
            let cookie = cookie.to_str().expect("text").split(';').next().and_then(|pair| pair.split_once('='));
            let (name, value) = cookie.expect("a name and a value");
            self.cookies.retain(|(known, _)| known != name);
            self.cookies.push((name.to_string(), value.to_string()));
        }
        let body = to_bytes(body, usize::MAX).await.expect("a body");
        Shown { status: parts.status, headers: parts.headers, body: String::from_utf8(body.to_vec()).expect("UTF-8") }
    }
}
