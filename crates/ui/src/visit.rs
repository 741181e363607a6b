//! One request of a browser for a page or an action, and the API calls that it makes.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Extensions, Method, Request, Response, StatusCode, header};
use encamp_acl::{Acl, Capability, Need};
use encamp_model::SecretString;
use futures_util::StreamExt as _;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::appearance::Label;
use crate::cluster::{Cluster, CommandOutput, Source, Unreachable};
use crate::error::PageError;
use crate::rights::Rights;

/// The longest answer that a page is made of, in bytes.
const MAX_ANSWER: usize = 256 << 20;
/// The longest text of an error that is shown.
const MAX_ERROR: usize = 16 << 10;
/// The time in which the cluster has to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What stays as it is in a part of a path or a value of a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The parameters of an API request, by name.
pub(crate) type Query<'a> = &'a [(&'a str, &'a str)];

/// What the headers of an answer say about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReadMeta {
    /// The index of the data.
    pub index: u64,
    /// Where the next page begins, if there is one.
    pub next_token: Option<String>,
}

/// One request of a browser.
#[derive(Clone)]
pub(crate) struct Visit {
    cluster: Arc<dyn Cluster>,
    token: SecretString,
    /// What the person may do.
    rights: Rights,
    /// What the server knows of the browser's connection: API requests have it too.
    connection: Extensions,
    /// The path of the page, as the browser sent it.
    pub path: String,
    /// The names in the path: `job` of `/ui/jobs/{job}`.
    names: Vec<(String, String)>,
    /// The parameters of the address.
    parameters: Vec<(String, String)>,
    /// The fields of the form that was sent; empty for a page.
    fields: Vec<(String, String)>,
    /// What forms of the page have to contain.
    pub form_token: String,
    /// The time of the request, or that of the file, Unix nanoseconds.
    pub now: i64,
}

impl Visit {
    pub(crate) fn new(
        cluster: Arc<dyn Cluster>,
        token: SecretString,
        path: String,
        parameters: Vec<(String, String)>,
        form_token: String,
        now: i64,
    ) -> Visit {
        let (names, fields, connection) = (Vec::new(), Vec::new(), Extensions::new());
        Visit { cluster, token, rights: None, connection, path, names, parameters, fields, form_token, now }
    }

    /// The same with what the server knows of the browser's connection.
    pub(crate) fn with_connection(mut self, connection: Extensions) -> Visit {
        self.connection = connection;
        self
    }

    /// The same with the names in its path.
    pub(crate) fn with_names(mut self, names: Vec<(String, String)>) -> Visit {
        self.names = names;
        self
    }

    /// A name in the path of the page: `job` of `/ui/jobs/{job}`.
    pub(crate) fn name(&self, name: &str) -> &str {
        find(&self.names, name).unwrap_or_default()
    }

    /// The same with the fields of a form.
    pub(crate) fn with_fields(mut self, fields: Vec<(String, String)>) -> Visit {
        self.fields = fields;
        self
    }

    /// The same with another token.
    pub(crate) fn with_token(&self, token: SecretString) -> Visit {
        Visit { token, rights: None, ..self.clone() }
    }

    /// The same with what the person may do.
    pub(crate) fn with_rights(mut self, rights: Rights) -> Visit {
        self.rights = rights;
        self
    }

    /// What the pages are about.
    pub(crate) fn source(&self) -> &Source {
        self.cluster.source()
    }

    /// The label of the cluster, if it has one.
    pub(crate) fn label(&self) -> Option<&Label> {
        self.cluster.appearance().and_then(|a| a.label.as_ref())
    }

    /// Whether the person has given an API token.
    pub(crate) fn is_signed_in(&self) -> bool {
        !self.token.is_empty()
    }

    /// A parameter of the address that is not empty.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        find(&self.parameters, name)
    }

    /// All parameters of the address, in order.
    pub(crate) fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// A field of the form that is not empty.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        find(&self.fields, name)
    }

    /// A field of the form that has to be filled in.
    ///
    /// # Errors
    /// [`PageError::Input`] if it is not.
    pub(crate) fn required(&self, name: &'static str, label: &str) -> Result<&str, PageError> {
        self.field(name).ok_or_else(|| PageError::Input(format!("{label} is missing.")))
    }

    /// A field of the form with a number, if it is filled in.
    ///
    /// # Errors
    /// [`PageError::Input`] if it is no number of its kind.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str, label: &str) -> Result<Option<N>, PageError> {
        let Some(text) = self.field(name) else { return Ok(None) };
        let number = text.trim().parse();
        number.map(Some).map_err(|_| PageError::Input(format!("{label} is not a number that fits here: {text}")))
    }

    /// All fields of the form, in order.
    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// The namespace of the page's lists: `*` for all, if the address names none.
    pub(crate) fn namespace(&self) -> &str {
        self.parameter("namespace").unwrap_or("*")
    }

    /// The address of this page with one parameter changed; none removes it.
    pub(crate) fn address_with(&self, name: &str, value: Option<&str>) -> String {
        let kept = self.parameters.iter().filter(|(n, v)| n != name && !v.is_empty());
        let kept = kept.map(|(n, v)| (n.as_str(), v.as_str()));
        let pairs: Vec<_> = kept.chain(value.map(|v| (name, v))).collect();
        with_query(&self.path, &pairs)
    }

    /// Reads JSON from the API.
    ///
    /// # Errors
    /// [`PageError`], as the cluster answers.
    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str, query: Query<'_>) -> Result<T, PageError> {
        Ok(self.read_page(path, query).await?.0)
    }

    /// Reads JSON from the API, and what the headers say about it.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn read_page<T: DeserializeOwned>(
        &self,
        path: &str,
        query: Query<'_>,
    ) -> Result<(T, ReadMeta), PageError> {
        let response = self.call(Method::GET, path, query, Body::empty()).await?;
        let meta = read_meta(&response);
        Ok((self.json(path, response).await?, meta))
    }

    /// Reads a list from the API, row by row as its answer comes, so that a long list is never kept as a whole.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn read_rows<T: DeserializeOwned>(
        &self,
        path: &str,
        query: Query<'_>,
        mut each: impl FnMut(T) + Send,
    ) -> Result<(), PageError> {
        let problem = |problem: String| PageError::Answer { path: path.to_string(), problem };
        let mut chunks = self.call(Method::GET, path, query, Body::empty()).await?.into_body().into_data_stream();
        let mut rows = Rows::default();
        let late = |_| Unreachable(format!("its answer paused for {} seconds", PATIENCE.as_secs()));
        while let Some(chunk) = timeout(PATIENCE, chunks.next()).await.map_err(late)? {
            let chunk = chunk.map_err(|e| Unreachable(e.to_string()))?;
            rows.add(&chunk, &mut each).map_err(|e| problem(e.to_string()))?;
        }
        if rows.ended { Ok(()) } else { Err(problem("the list has no end".into())) }
    }

    /// Reads text from the API.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn read_text(&self, path: &str, query: Query<'_>) -> Result<String, PageError> {
        let response = self.call(Method::GET, path, query, Body::empty()).await?;
        Ok(String::from_utf8_lossy(&whole(response).await?).into_owned())
    }

    /// Reads an object that may not exist: nothing if the API answers 404.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn find<T: DeserializeOwned>(&self, path: &str, query: Query<'_>) -> Result<Option<T>, PageError> {
        match self.read(path, query).await {
            Ok(found) => Ok(Some(found)),
            Err(PageError::Api { status: StatusCode::NOT_FOUND, .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Reads JSON whatever the status of the answer is: the health of servers has its own.
    ///
    /// # Errors
    /// The cluster did not answer, or with something else.
    pub(crate) async fn read_any<T: DeserializeOwned>(&self, path: &str, query: Query<'_>) -> Result<T, PageError> {
        let request = Request::get(with_query(path, query)).body(Body::empty());
        let response = self.forward(request.map_err(|e| PageError::Input(e.to_string()))?).await?;
        self.json(path, response).await
    }

    /// Writes JSON to the API, and reads its answer.
    ///
    /// # Errors
    /// As [`Visit::read`]; [`PageError::ReadOnly`] for a file.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: Query<'_>,
        body: &impl Serialize,
    ) -> Result<T, PageError> {
        self.live_only()?;
        self.post(method, path, query, body).await
    }

    /// Asks a question of the API whose parameters are a body: nothing changes by it, so files answer it too.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: Query<'_>,
        body: &impl Serialize,
    ) -> Result<T, PageError> {
        let unreadable = |e: serde_json::Error| PageError::Input(e.to_string());
        let body = serde_json::to_vec(body).map_err(unreadable)?;
        let response = self.call(method, path, query, Body::from(body)).await?;
        self.json(path, response).await
    }

    /// Whether the person may do everything, and the cluster says so: with a management token, or without access control.
    pub(crate) fn may_manage(&self) -> bool {
        self.source().is_live() && self.rights.as_deref().is_some_and(Acl::is_management)
    }

    /// Whether a page offers an action: in a live cluster, unless the person lacks the right that the action needs.
    pub(crate) fn offers(&self, need: &Need<'_>) -> bool {
        self.source().is_live() && self.rights.as_deref().is_none_or(|acl| acl.allows(need))
    }

    /// The same for an action that needs one of some capabilities in a namespace.
    pub(crate) fn offers_in(&self, namespace: &str, any_of: &[Capability]) -> bool {
        self.offers(&Need::Namespace(namespace, any_of))
    }

    /// # Errors
    /// [`PageError::ReadOnly`] if the pages are about a file.
    pub(crate) fn live_only(&self) -> Result<(), PageError> {
        if self.source().is_live() { Ok(()) } else { Err(PageError::ReadOnly) }
    }

    /// Sends a request to the API as the person at the browser. Answers with an error status are errors.
    ///
    /// # Errors
    /// As [`Visit::read`].
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        query: Query<'_>,
        body: Body,
    ) -> Result<Response<Body>, PageError> {
        let request = Request::builder().method(method).uri(with_query(path, query));
        let request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        let request = request.map_err(|e| PageError::Input(e.to_string()))?;
        let sent = timeout(PATIENCE, self.forward(request)).await;
        let response = sent.map_err(|_| Unreachable(format!("no answer within {} seconds", PATIENCE.as_secs())))??;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status();
        let text = whole(response).await.unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(..MAX_ERROR).unwrap_or(&text)).trim().to_string();
        let text = if text.is_empty() { format!("The cluster answered {status}.") } else { text };
        Err(PageError::Api { status, text })
    }

    /// Sends a request as the person at the browser, whatever the answer: streams and WebSockets as well.
    ///
    /// # Errors
    /// The cluster did not answer.
    pub(crate) async fn forward(&self, mut request: Request<Body>) -> Result<Response<Body>, Unreachable> {
        if !self.token.is_empty() {
            let bad = |_| Unreachable("the token has characters that cannot be sent".into());
            let mut value = header::HeaderValue::from_str(self.token.expose()).map_err(bad)?;
            value.set_sensitive(true);
            request.headers_mut().insert("x-nomad-token", value);
        }
        request.extensions_mut().extend(self.connection.clone());
        self.cluster.send(request).await
    }

    /// Runs a command about the cluster as the person at the browser.
    ///
    /// # Errors
    /// [`PageError::Command`].
    pub(crate) async fn run(&self, arguments: Vec<String>, input: Vec<u8>) -> Result<CommandOutput, PageError> {
        // A command's requests come from the agent itself: who guesses tokens has to do it from their own address.
        if self.is_signed_in() && matches!(self.source(), Source::Agent { acl: true, .. }) {
            let _: serde::de::IgnoredAny = self.read("/v1/acl/token/self", &[]).await?;
        }
        Ok(self.cluster.run(self.token.clone(), arguments, input).await?)
    }

    async fn json<T: DeserializeOwned>(&self, path: &str, response: Response<Body>) -> Result<T, PageError> {
        let body = whole(response).await?;
        // Some writes are answered by nothing at all.
        let body: &[u8] = if body.is_empty() { b"null" } else { &body };
        let problem = |e: serde_json::Error| PageError::Answer { path: path.to_string(), problem: e.to_string() };
        serde_json::from_slice(body).map_err(problem)
    }
}

/// The rows of a list in JSON that comes in pieces.
#[derive(Default)]
struct Rows {
    /// What has come of rows that are not complete.
    rest: Vec<u8>,
    begun: bool,
    ended: bool,
}

impl Rows {
    /// Reads the rows that are complete with a further piece.
    fn add<T: DeserializeOwned>(&mut self, piece: &[u8], each: &mut impl FnMut(T)) -> serde_json::Result<()> {
        self.rest.extend_from_slice(piece);
        let mut at = 0;
        loop {
            let rest = self.rest.get(at..).unwrap_or_default();
            let blank = rest.iter().take_while(|b| b.is_ascii_whitespace() || (self.begun && **b == b',')).count();
            at += blank;
            let rest = rest.get(blank..).unwrap_or_default();
            match rest.first() {
                None => break,
                Some(b'[') if !self.begun => (self.begun, at) = (true, at + 1),
                Some(b']') if self.begun => (self.ended, at) = (true, at + 1),
                // A list without rows may be null.
                Some(_) if !self.begun => {
                    serde_json::from_slice::<Option<Vec<()>>>(rest)?;
                    (self.ended, at) = (true, self.rest.len());
                }
                Some(_) => {
                    let mut rows = serde_json::Deserializer::from_slice(rest).into_iter::<T>();
                    match rows.next() {
                        Some(Err(e)) if e.is_eof() && self.rest.len() < MAX_ANSWER => break,
                        Some(Err(e)) => return Err(e),
                        Some(Ok(row)) => each(row),
                        None => break,
                    }
                    at += rows.byte_offset();
                }
            }
        }
        self.rest.drain(..at);
        Ok(())
    }
}

/// A path of the API with names of objects in it: `path("/v1/job/", id, "/plan")`.
pub(crate) fn path(before: &str, name: &str, after: &str) -> String {
    format!("{before}{}{after}", encoded(name))
}

/// A text as a part of a path or a value of a query.
pub(crate) fn encoded(text: &str) -> Cow<'_, str> {
    utf8_percent_encode(text, PLAIN).into()
}

/// An address with parameters.
pub(crate) fn with_query(path: &str, query: Query<'_>) -> String {
    let mut out = path.to_string();
    for (i, (name, value)) in query.iter().enumerate() {
        out.push(if i == 0 { '?' } else { '&' });
        out.push_str(&encoded(name));
        out.push('=');
        out.push_str(&encoded(value));
    }
    out
}

fn find<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(found, value)| found == name && !value.is_empty()).map(|(_, value)| value.as_str())
}

async fn whole(response: Response<Body>) -> Result<axum::body::Bytes, Unreachable> {
    let late = |_| Unreachable(format!("its answer did not end within {} seconds", PATIENCE.as_secs()));
    let read = timeout(PATIENCE, to_bytes(response.into_body(), MAX_ANSWER)).await.map_err(late)?;
    read.map_err(|e| Unreachable(e.to_string()))
}

fn read_meta(response: &Response<Body>) -> ReadMeta {
    let text = |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok());
    ReadMeta {
        index: text("x-nomad-index").and_then(|v| v.parse().ok()).unwrap_or(0),
        next_token: text("x-nomad-nexttoken").filter(|t| !t.is_empty()).map(str::to_string),
    }
}
