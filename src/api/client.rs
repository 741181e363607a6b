//! Requests and answers.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::config::Config;
use super::error::ApiError;
use super::{retry, tls};

/// The largest answer that is read into memory, decompressed.
const MAX_ANSWER: usize = 2 << 30;
/// The same for the text of an error.
const MAX_ERROR: usize = 1 << 20;
/// What servers take for the wait of a blocking read that has none.
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
    /// A follower may answer.
    pub stale: bool,
    /// Further parameters, in this order.
    pub parameters: Vec<(Cow<'static, str>, String)>,
}

impl Query {
    /// A query for all namespaces.
    pub fn all_namespaces() -> Query {
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

/// What the headers of an answer say (`spec/http-api.md §1.4`).
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

/// A client of one cluster. Requests can be made at the same time.
#[derive(Debug)]
pub struct Client {
    http: reqwest::Client,
    config: Config,
    /// What requests go to.
    base: Url,
    /// What errors name.
    shown: String,
    requests: AtomicU64,
    /// The cluster has answered before, so that failing to connect is news.
    answered: AtomicBool,
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
        Self::build(config).map_err(ApiError::Config)
    }

    fn build(config: Config) -> Result<Client, String> {
        // There may be one already: a server's, or that of an earlier client.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .connect_timeout(config.connect_timeout)
            .no_proxy()
            .user_agent(concat!("encamp/", env!("CARGO_PKG_VERSION")))
            .default_headers(credentials(&config)?);
        let (base, shown) = match config.address.strip_prefix("unix://") {
            Some(path) => {
                builder = builder.unix_socket(path);
                (Url::parse("http://127.0.0.1").map_err(|e| e.to_string())?, config.address.clone())
            }
            None => {
                let address = config.address.trim_end_matches('/');
                let mut url = Url::parse(address).map_err(|e| format!("invalid address {:?}: {e}", config.address))?;
                if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
                    return Err(format!(
                        "invalid address {:?}: it has to start with http://, https:// or unix://",
                        config.address
                    ));
                }
                if !url.username().is_empty() || url.password().is_some() {
                    return Err("the address must not hold a password: use NOMAD_HTTP_AUTH".into());
                }
                builder = tls::apply(builder, &config.tls, &mut url)?;
                (url, address.to_string())
            }
        };
        let http = builder.build().map_err(|e| e.to_string())?;
        let (requests, answered) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Client { http, config, base, shown, requests, answered })
    }

    /// The address as it was given.
    pub fn address(&self) -> &str {
        &self.shown
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
        let (bytes, meta) = self.read(&call).await?;
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

    /// Writes; `null` or an empty answer gives the default.
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
    pub async fn delete_with<B, T>(&self, path: &str, query: &Query, body: &B) -> Result<(T, Meta), ApiError>
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
        let (bytes, meta) = self.exchange(&call).await.map_err(|failed| failed.error)?;
        if bytes.is_empty() {
            return Ok((T::default(), meta));
        }
        Ok((self.parse::<_, Option<T>>(&call, &bytes)?.unwrap_or_default(), meta))
    }

    /// A read, tried again after failures that pass.
    async fn read(&self, call: &Call<'_, ()>) -> Result<(Vec<u8>, Meta), ApiError> {
        let mut attempt = 1;
        loop {
            let failed = match self.exchange(call).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let unheard = matches!(failed.error, ApiError::Transport { connecting: true, .. })
                && !self.answered.load(Ordering::Relaxed);
            if attempt >= retry::ATTEMPTS || unheard || !failed.error.is_temporary() {
                return Err(failed.error);
            }
            tokio::time::sleep(retry::pause(attempt, failed.retry_after)).await;
            attempt += 1;
        }
    }

    /// Sends a request and reads the whole answer.
    async fn exchange<B: Serialize + ?Sized>(&self, call: &Call<'_, B>) -> Result<(Vec<u8>, Meta), Failed> {
        let late = || ApiError::Transport {
            method: title(&call.method),
            url: self.url(call),
            problem: "no answer in time".into(),
            connecting: false,
        };
        let transport = |e: reqwest::Error| ApiError::transport(title(&call.method), &self.url(call), &e);
        let patience = self.patience(call.query);
        self.requests.fetch_add(1, Ordering::Relaxed);
        let sent = timeout(patience, self.request(call)?.send()).await.map_err(|_| late())?;
        let mut response = sent.map_err(transport)?;
        self.answered.store(true, Ordering::Relaxed);
        let status = response.status().as_u16();
        let (meta, retry_after) = (Meta::new(response.headers()), response.headers().get("retry-after").cloned());
        let limit = if status == 200 { MAX_ANSWER } else { MAX_ERROR };
        let mut bytes = Vec::new();
        while let Some(chunk) = timeout(patience, response.chunk()).await.map_err(|_| late())?.map_err(transport)? {
            if bytes.len() + chunk.len() > limit {
                return Err(self.unreadable(call, format!("it is larger than {limit} bytes")).into());
            }
            bytes.extend_from_slice(&chunk);
        }
        if matches!(status, 200 | 201 | 204) {
            return Ok((bytes, meta));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let retry_after = retry::asked(retry_after.as_ref().and_then(|v| v.to_str().ok()));
        Err(Failed { error: ApiError::Status { status, body: text }, retry_after })
    }

    /// Turns the connection of a request into a stream. Also what the answer's header of that name says.
    pub(super) async fn upgrade(
        &self,
        path: &str,
        query: &Query,
        headers: &[(&'static str, &str)],
        name: &str,
    ) -> Result<(reqwest::Upgraded, String), ApiError> {
        let call = Call::<()> { method: Method::GET, path, query, body: None };
        let transport = |e: reqwest::Error| ApiError::transport(title(&call.method), &self.url(&call), &e);
        let mut request = self.request(&call)?;
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let late = || ApiError::Transport {
            method: title(&call.method),
            url: self.url(&call),
            problem: "no answer in time".into(),
            connecting: false,
        };
        let sent = timeout(self.patience(query), request.send()).await.map_err(|_| late())?;
        let response = sent.map_err(transport)?;
        let status = response.status().as_u16();
        if status != 101 {
            let body = response.bytes().await.map_err(transport)?;
            let body = String::from_utf8_lossy(body.get(..MAX_ERROR.min(body.len())).unwrap_or_default()).into_owned();
            return Err(ApiError::Status { status, body });
        }
        let answered = response.headers().get(name).and_then(|v| v.to_str().ok()).unwrap_or_default().to_string();
        Ok((response.upgrade().await.map_err(transport)?, answered))
    }

    pub(super) fn request<B: Serialize + ?Sized>(&self, call: &Call<'_, B>) -> Result<RequestBuilder, ApiError> {
        let query = call.query;
        let mut url = self.base.clone();
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
        let mut request = self.http.request(call.method.clone(), url);
        if let Some(body) = call.body {
            let json =
                serde_json::to_vec(body).map_err(|e| ApiError::Config(format!("the request can't be written: {e}")))?;
            request = request.header(CONTENT_TYPE, "application/json").body(json);
        }
        Ok(request)
    }

    /// How long nothing may arrive. Servers answer blocking reads up to a sixteenth late.
    fn patience(&self, query: &Query) -> Duration {
        let wait = query.index.map(|_| query.wait.unwrap_or(DEFAULT_WAIT)).unwrap_or_default();
        self.config.read_timeout + wait + wait / 16
    }

    /// What errors call the request: without region and namespace, which every request has.
    pub(super) fn url<B: ?Sized>(&self, call: &Call<'_, B>) -> String {
        let mut pairs = self.base.clone();
        pairs.query_pairs_mut().clear().extend_pairs(&call.query.parameters);
        let query = pairs.query().filter(|q| !q.is_empty()).map(|q| format!("?{q}")).unwrap_or_default();
        format!("{}{}{query}", self.shown, call.path)
    }

    fn unreadable<B: ?Sized>(&self, call: &Call<'_, B>, problem: String) -> ApiError {
        ApiError::Answer { method: title(&call.method), url: self.url(call), problem }
    }

    /// Parses an answer; where it does not fit a second pass finds the place.
    fn parse<B: ?Sized, T: DeserializeOwned>(&self, call: &Call<'_, B>, bytes: &[u8]) -> Result<T, ApiError> {
        serde_json::from_slice(bytes).map_err(|first| {
            let mut again = serde_json::Deserializer::from_slice(bytes);
            let problem = match serde_path_to_error::deserialize::<_, T>(&mut again) {
                Err(e) if e.path().to_string() != "." => format!("{}: {}", e.path(), e.inner()),
                _ => first.to_string(),
            };
            self.unreadable(call, problem)
        })
    }
}

/// A failed attempt, and when the server wants the next.
struct Failed {
    error: ApiError,
    retry_after: Option<Duration>,
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Failed {
        Failed { error, retry_after: None }
    }
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

/// A path with a part that may hold anything.
pub fn path(before: &str, part: &str, after: &str) -> String {
    let mut out = before.to_string();
    for byte in part.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out + after
}

/// Headers that say who asks.
fn credentials(config: &Config) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    let mut add = |name: HeaderName, value: &str, what: &str| -> Result<(), String> {
        let mut value =
            HeaderValue::from_str(value).map_err(|_| format!("the {what} holds characters that can't be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(())
    };
    if let Some(token) = &config.token {
        add(HeaderName::from_static("x-nomad-token"), token.reveal().trim(), "token")?;
    }
    if let Some((user, password)) = &config.http_auth {
        let password = password.as_ref().map(|p| p.reveal()).unwrap_or_default();
        let encoded = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
        add(AUTHORIZATION, &format!("Basic {encoded}"), "password")?;
    }
    Ok(headers)
}
