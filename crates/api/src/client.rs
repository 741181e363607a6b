//! The client: requests and responses.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};

use super::attempts::{Attempts, Failed};
use super::config::Config;
use super::error::{AnswerError, ApiError, RequestError};
use super::json;
use super::retry;
use super::servers::{Server, Servers};

/// The largest answer that is read into memory, decompressed. Lists come in pages that are far smaller.
pub(super) const MAX_ANSWER: usize = 256 << 20;
/// From this length on, an answer gets room for the longest one: growing by doubling would take three times as much
/// memory.
const LONG_ANSWER: usize = 32 << 20;
/// The same for the text of an error.
pub(super) const MAX_ERROR: usize = 1 << 20;
/// Bytes that have to arrive in a second, on average, once an answer has had twice the time in which something must
/// arrive.
const MIN_RATE: u64 = 1 << 10;
/// The wait that servers assume for a blocking read that names none.
const DEFAULT_WAIT: Duration = Duration::from_secs(300);
/// Rows asked for at once where a list has pages.
const PAGE: u32 = 5000;

/// Parameters of a read besides region and namespace of the client.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Instead of the client's own; `*` for all.
    pub namespace: Option<String>,
    /// Answer when the state is newer than this index.
    pub index: Option<u64>,
    /// How long to wait for that.
    pub wait: Option<Duration>,
    /// The answer may take that long: the server waits for something else than an index.
    pub answer_after: Option<Duration>,
    /// A follower may answer.
    pub stale: bool,
    /// Further parameters, in this order.
    pub parameters: Vec<(Cow<'static, str>, String)>,
}

impl Query {
    /// A query for all namespaces.
    pub(crate) fn all_namespaces() -> Query {
        Query { namespace: Some("*".into()), ..Query::default() }
    }

    /// A query in one namespace.
    pub fn in_namespace(namespace: &str) -> Query {
        Query { namespace: Some(namespace.into()), ..Query::default() }
    }

    /// Adds a parameter.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Query {
        self.parameters.push((Cow::Borrowed(name), value.into()));
        self
    }
}

/// Metadata from the response headers (`docs/spec/http-api.md §1.4`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meta {
    /// Index of the data; 0 where there is none.
    pub index: u64,
    /// Milliseconds since the server heard from the leader.
    pub last_contact: u64,
    /// Whether the server knows a leader.
    pub known_leader: bool,
    /// Where the next page begins, if there is one.
    pub next_token: Option<String>,
}

impl Meta {
    fn new(headers: &HeaderMap) -> Meta {
        let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
        let number = |name: &str| text(name).and_then(|v| v.trim().parse().ok()).unwrap_or(0);
        Meta {
            index: number("x-nomad-index"),
            last_contact: number("x-nomad-lastcontact"),
            known_leader: text("x-nomad-knownleader") == Some("true"),
            next_token: text("x-nomad-nexttoken").filter(|t| !t.is_empty()).map(str::to_string),
        }
    }
}

/// Takes lines about requests that are retried.
pub(super) struct Note(Arc<dyn Fn(&str) + Send + Sync>);

impl Note {
    /// Passes a line on.
    pub(super) fn say(&self, line: &str) {
        (self.0)(line);
    }
}

impl fmt::Debug for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Note")
    }
}

/// A client of one cluster. Requests can be made at the same time.
#[derive(Debug)]
pub struct Client {
    pub(super) servers: Servers,
    config: Config,
    requests: AtomicU64,
    /// The cluster has answered before, so that failing to connect is news.
    pub(super) answered: AtomicBool,
    /// The last attempt at a request failed, and a note was printed.
    pub(super) troubled: AtomicBool,
    /// Where notes are printed.
    pub(super) note: Note,
}

/// One exchange.
pub(super) struct Call<'a, B: ?Sized> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) query: &'a Query,
    pub(super) body: Option<&'a B>,
}

impl Client {
    /// A client for the settings; connects with the first request.
    pub fn new(config: Config) -> Result<Client, ApiError> {
        let servers = Servers::new(&config)?;
        let (requests, answered, troubled) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        Ok(Client { servers, config, requests, answered, troubled, note: Note(Arc::new(|_| {})) })
    }

    /// The same client, with a place for a line when a request failed and is tried for longer than a moment.
    pub fn noting(self, note: impl Fn(&str) + Send + Sync + 'static) -> Client {
        Client { note: Note(Arc::new(note)), ..self }
    }

    /// The address as it was given; of several, the one that requests go to now.
    pub fn address(&self) -> &str {
        &self.servers.get(self.servers.current()).shown
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// How many requests were sent, repeated ones included.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Reads one object or list. Tried again where that may help.
    pub async fn get<T: DeserializeOwned>(&self, path: &str, query: &Query) -> Result<(T, Meta), ApiError> {
        let call = Call::<()> { method: Method::GET, path, query, body: None };
        let (bytes, meta) = self.exchange(&call).await?;
        Ok((self.parse(&call, &bytes)?, meta))
    }

    /// Reads all pages of a list; the index is the smallest of the pages'.
    pub async fn list<T: DeserializeOwned>(&self, path: &str, query: &Query) -> Result<(Vec<T>, Meta), ApiError> {
        let mut all = Vec::new();
        let mut query = query.clone().with("per_page", PAGE.to_string());
        let parameters = query.parameters.len();
        let mut first: Option<Meta> = None;
        loop {
            let (page, meta): (Option<Vec<T>>, Meta) = self.get(path, &query).await?;
            let page = page.unwrap_or_default();
            let empty = page.is_empty();
            all.extend(page);
            let index = first.as_ref().map_or(meta.index, |f| f.index.min(meta.index));
            let next = meta.next_token.clone();
            first = Some(Meta { index, next_token: None, ..meta });
            match next {
                // A server that repeats a token without rows would never end.
                Some(token) if !empty => {
                    query.parameters.truncate(parameters);
                    query.parameters.push((Cow::Borrowed("next_token"), token));
                }
                _ => return Ok((all, first.unwrap_or_default())),
            }
        }
    }

    /// Writes; `null` or an empty answer gives the default. Tried again where that can't do it twice.
    pub async fn put<B, T>(&self, path: &str, query: &Query, body: &B) -> Result<(T, Meta), ApiError>
    where
        B: Serialize + ?Sized,
        T: DeserializeOwned + Default,
    {
        self.write(Call { method: Method::PUT, path, query, body: Some(body) }).await
    }

    /// Deletes; `null` or an empty answer gives the default.
    pub async fn delete<T: DeserializeOwned + Default>(
        &self,
        path: &str,
        query: &Query,
    ) -> Result<(T, Meta), ApiError> {
        self.write(Call::<()> { method: Method::DELETE, path, query, body: None }).await
    }

    /// Deletes what the body names; `null` or an empty answer gives the default.
    pub(crate) async fn delete_with<B, T>(&self, path: &str, query: &Query, body: &B) -> Result<(T, Meta), ApiError>
    where
        B: Serialize + ?Sized,
        T: DeserializeOwned + Default,
    {
        self.write(Call { method: Method::DELETE, path, query, body: Some(body) }).await
    }

    pub(super) async fn write<B, T>(&self, call: Call<'_, B>) -> Result<(T, Meta), ApiError>
    where
        B: Serialize + ?Sized,
        T: DeserializeOwned + Default,
    {
        let (bytes, meta) = self.exchange(&call).await?;
        if bytes.is_empty() {
            return Ok((T::default(), meta));
        }
        Ok((self.parse::<_, Option<T>>(&call, &bytes)?.unwrap_or_default(), meta))
    }

    /// Sends a request and reads the whole answer; again after failures that pass.
    async fn exchange<B: Serialize + ?Sized>(&self, call: &Call<'_, B>) -> Result<(Vec<u8>, Meta), ApiError> {
        let mut attempts = Attempts::new(self, call);
        loop {
            match self.attempt(attempts.server(), call).await {
                Ok(answer) => {
                    attempts.succeeded();
                    return Ok(answer);
                }
                Err(failed) => attempts.failed(failed).await?,
            }
        }
    }

    async fn attempt<B>(&self, to: &Server, call: &Call<'_, B>) -> Result<(Vec<u8>, Meta), Failed>
    where
        B: Serialize + ?Sized,
    {
        let late = || ApiError::late(title(&call.method), url(to, call));
        let transport = |e: reqwest::Error| ApiError::transport(title(&call.method), &url(to, call), &e);
        let patience = self.patience(call.query);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let sent = timeout(patience, self.request(to, call)?.send()).await.map_err(|_| late())?;
        let mut response = sent.map_err(transport)?;
        self.answered.store(true, Ordering::Relaxed);
        let status = response.status().as_u16();
        let (meta, retry_after) = (Meta::new(response.headers()), response.headers().get("retry-after").cloned());
        let limit = if status == 200 { MAX_ANSWER } else { MAX_ERROR };
        let mut bytes = Vec::new();
        let mut pace = Pace::new(patience);
        while let Some(chunk) = timeout(patience, response.chunk()).await.map_err(|_| late())?.map_err(transport)? {
            if bytes.len() + chunk.len() > limit {
                return Err(unreadable(url(to, call), call, AnswerError::TooLarge { limit }).into());
            }
            if bytes.len() >= LONG_ANSWER && bytes.len() + chunk.len() > bytes.capacity() {
                bytes.reserve_exact(limit - bytes.len());
            }
            bytes.extend_from_slice(&chunk);
            pace.arrived(chunk.len()).map_err(|problem| unreadable(url(to, call), call, problem))?;
        }
        if matches!(status, 200 | 201 | 204) {
            return Ok((bytes, meta));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let retry_after = retry::asked(retry_after.as_ref().and_then(|v| v.to_str().ok()));
        Err(Failed { error: ApiError::Status { status, body: text }, retry_after })
    }

    /// Turns the connection of a request into a stream. Also what the answer's header of that name says.
    ///
    /// # Errors
    /// The request failed, or its answer is not that the protocol changes.
    pub async fn upgrade(
        &self,
        path: &str,
        query: &Query,
        headers: &[(&str, &str)],
        name: &str,
    ) -> Result<(reqwest::Upgraded, String), ApiError> {
        let call = Call::<()> { method: Method::GET, path, query, body: None };
        let mut attempts = Attempts::new(self, &call);
        loop {
            match self.attempt_upgrade(attempts.server(), &call, headers, name).await {
                Ok(upgraded) => {
                    attempts.succeeded();
                    return Ok(upgraded);
                }
                Err(error) => attempts.failed(error.into()).await?,
            }
        }
    }

    async fn attempt_upgrade(
        &self,
        to: &Server,
        call: &Call<'_, ()>,
        headers: &[(&str, &str)],
        name: &str,
    ) -> Result<(reqwest::Upgraded, String), ApiError> {
        let transport = |e: reqwest::Error| ApiError::transport(title(&call.method), &url(to, call), &e);
        let mut request = self.request(to, call)?;
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let late = |_| ApiError::late(title(&call.method), url(to, call));
        let sent = timeout(self.patience(call.query), request.send()).await.map_err(late)?;
        let response = sent.map_err(transport)?;
        let status = response.status().as_u16();
        if status != 101 {
            let (mut response, mut text) = (response, Vec::new());
            while text.len() < MAX_ERROR
                && let Some(chunk) = timeout(self.patience(call.query), response.chunk())
                    .await
                    .map_err(|_| ApiError::late(title(&call.method), url(to, call)))?
                    .map_err(transport)?
            {
                text.extend_from_slice(&chunk);
            }
            text.truncate(MAX_ERROR);
            return Err(ApiError::Status { status, body: String::from_utf8_lossy(&text).into_owned() });
        }
        let answered = response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_string();
        Ok((response.upgrade().await.map_err(transport)?, answered))
    }

    pub(super) fn request<B>(&self, to: &Server, call: &Call<'_, B>) -> Result<RequestBuilder, ApiError>
    where
        B: Serialize + ?Sized,
    {
        let query = call.query;
        let mut url = to.base.clone();
        url.set_path(call.path);
        {
            let mut pairs = url.query_pairs_mut();
            for (name, value) in &query.parameters {
                pairs.append_pair(name, value);
            }
            for (name, value) in [("region", &self.config.region), ("namespace", &self.config.namespace)] {
                let value =
                    if name == "namespace" { query.namespace.as_ref().or(value.as_ref()) } else { value.as_ref() };
                if let Some(value) = value {
                    pairs.append_pair(name, value);
                }
            }
            if query.stale {
                pairs.append_pair("stale", "");
            }
            if let Some(index) = query.index {
                pairs.append_pair("index", &index.to_string());
                let wait = query.wait.unwrap_or(DEFAULT_WAIT);
                pairs.append_pair("wait", &format!("{}ms", wait.as_millis()));
            }
        }
        if url.query() == Some("") {
            url.set_query(None);
        }
        let mut request = to.http.request(call.method.clone(), url);
        if let Some(body) = call.body {
            let json = serde_json::to_vec(body).map_err(RequestError::Body)?;
            request = request.header(CONTENT_TYPE, "application/json").body(json);
        }
        Ok(request)
    }

    /// How long nothing may arrive. Servers answer blocking reads up to a sixteenth late.
    fn patience(&self, query: &Query) -> Duration {
        let wait = query.index.map(|_| query.wait.unwrap_or(DEFAULT_WAIT)).or(query.answer_after).unwrap_or_default();
        self.config.read_timeout + wait + wait / 16
    }

    /// Parses an answer.
    fn parse<B: ?Sized, T: DeserializeOwned>(&self, call: &Call<'_, B>, bytes: &[u8]) -> Result<T, ApiError> {
        json::from_slice(bytes).map_err(|problem| {
            // The one that answered is the one that the next request goes to.
            unreadable(url(self.servers.get(self.servers.current()), call), call, problem.into())
        })
    }
}

/// How fast an answer arrives.
pub(super) struct Pace {
    begun: Instant,
    patience: Duration,
    bytes: u64,
}

impl Pace {
    /// Of an answer that begins now.
    pub(super) fn new(patience: Duration) -> Pace {
        Pace { begun: Instant::now(), patience, bytes: 0 }
    }

    /// Something arrived.
    ///
    /// # Errors
    /// So little that there is no end to it.
    pub(super) fn arrived(&mut self, bytes: usize) -> Result<(), AnswerError> {
        self.bytes += bytes as u64;
        if self.begun.elapsed() <= self.patience * 2 + Duration::from_secs(self.bytes / MIN_RATE) {
            return Ok(());
        }
        Err(AnswerError::TooSlow { after: self.patience * 2, rate: MIN_RATE })
    }
}

/// The request as errors name it: without region and namespace, which every request has.
pub(super) fn url<B: ?Sized>(to: &Server, call: &Call<'_, B>) -> String {
    let mut pairs = to.base.clone();
    pairs.query_pairs_mut().clear().extend_pairs(&call.query.parameters);
    let query = pairs.query().filter(|q| !q.is_empty()).map(|q| format!("?{q}")).unwrap_or_default();
    format!("{}{}{query}", to.shown, call.path)
}

fn unreadable<B: ?Sized>(url: String, call: &Call<'_, B>, problem: AnswerError) -> ApiError {
    ApiError::Answer { method: title(&call.method), url, problem }
}

/// How the field's tools write a method in errors.
pub(super) fn title(method: &Method) -> &'static str {
    match *method {
        Method::PUT => "Put",
        Method::POST => "Post",
        Method::DELETE => "Delete",
        _ => "Get",
    }
}

/// The bytes of a part of a path that are escaped: all but the unreserved ones of RFC 3986.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A path with a part that may hold anything.
pub fn path(before: &str, part: &str, after: &str) -> String {
    format!("{before}{}{after}", utf8_percent_encode(part, &ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn answers_that_trickle_are_given_up() {
        let patience = Duration::from_secs(60);
        let mut slow = Pace::new(patience);
        let mut steps = 0;
        while slow.arrived(1).is_ok() {
            tokio::time::advance(Duration::from_secs(10)).await;
            steps += 1;
        }
        assert_eq!(steps, 13, "two minutes, and no more");
        let mut steady = Pace::new(patience);
        for _ in 0..1000 {
            tokio::time::advance(Duration::from_secs(10)).await;
            assert_eq!(steady.arrived(10 << 10), Ok(()));
        }
    }
}
