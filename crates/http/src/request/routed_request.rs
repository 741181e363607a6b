//! A request as passed to handlers: parameters, body, blocking reads (`docs/spec/http-api.md §4`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap, Method, Uri, header};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::access::audit_trail::Trail;
use crate::access::authorization::Authorization;
use crate::access::right::{Access, Need, Right, Subject};
use crate::agent::state::AppState;
use crate::error::Error;
use crate::request::forward::PassedOn;
use crate::request::json;
use crate::request::params::{Query, decimal_int, decimal_uint, parse_bool};
use crate::request::response::Meta;
use crate::routes::route::{AnsweredBy, Route};
use crate::routes::table::Matched;
use crate::serve::bodies::{BodyError, Held};
use crate::serve::http1::{Origin, Peer};
use encamp_host::ids;
use encamp_model::duration::parse_duration;
use encamp_model::outcome::NO_LEADER;
use encamp_server::Server;
use encamp_server::acl::Caller;
use encamp_server::storage::watch::WatchKey;
use encamp_state::{StateStore, Table};

/// The largest body that is kept in memory. Nomad has no limit; memory has one.
const MAX_BODY: usize = 32 << 20;
/// How many times larger than its text JSON is in memory, for bodies that matter.
const GROWTH: usize = 4;
/// Bodies up to this length do not matter.
const SMALL: usize = 64 << 10;
/// The most values in a JSON body: in memory each takes many times the room of its text.
const MAX_VALUES: usize = 500_000;
/// The longest time a read waits.
const MAX_WAIT: Duration = Duration::from_secs(300);

/// The parameters that all reads know (`docs/spec/http-api.md §4.1`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// `namespace`, `default` if it is not given; `*` for all.
    pub namespace: String,
    /// `prefix`.
    pub prefix: String,
    /// `stale`: no leader is needed.
    pub stale: bool,
    /// `per_page`; 0: all rows.
    pub per_page: i32,
    /// `next_token`.
    pub next_token: String,
    /// `filter`.
    pub filter: String,
    /// `reverse`.
    pub reverse: bool,
    /// `wait`, at most five minutes.
    pub wait: Duration,
    /// `index`: wait until there is something newer.
    pub index: u64,
}

impl ReadOptions {
    /// Reads the parameters in their order of checks.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn parse(query: &Query, own_region: &str) -> Result<ReadOptions, Error> {
        known_region(query.get("region"), own_region)?;
        let stale = match (query.has("stale"), query.get("stale")) {
            (false, _) => false,
            (true, "") => true,
            (true, text) => parse_bool(text)
                .map_err(|_| Error::bad("Expect `true` or `false` for `stale` query string parameter"))?,
        };
        let per_page = match query.get("per_page") {
            "" => 0,
            text => decimal_int(text)
                .ok()
                .and_then(|n| i32::try_from(n).ok())
                .ok_or_else(|| Error::bad("Expect a number for `per_page` query string parameter"))?,
        };
        let wait = match query.get("wait") {
            "" => 0,
            text => parse_duration(text).map_err(|_| Error::bad("Invalid wait time"))?,
        };
        let wait = u64::try_from(wait).ok().filter(|w| *w > 0).map_or(MAX_WAIT, Duration::from_nanos);
        let index = match query.get("index") {
            "" => 0,
            text => decimal_uint(text).map_err(|_| Error::bad("Invalid index"))?,
        };
        Ok(ReadOptions {
            namespace: namespace_of(query),
            prefix: query.get("prefix").into(),
            stale,
            per_page,
            next_token: query.get("next_token").into(),
            filter: query.get("filter").into(),
            reverse: query.get("reverse") == "true",
            wait: wait.min(MAX_WAIT),
            index,
        })
    }

    /// Whether the namespace is `*`.
    pub(crate) fn all_namespaces(&self) -> bool {
        self.namespace == "*"
    }

    /// Whether rows of a namespace are asked for.
    pub fn in_namespace(&self, namespace: &str) -> bool {
        self.all_namespaces() || self.namespace == namespace
    }
}

pub(crate) fn namespace_of(query: &Query) -> String {
    match query.get("namespace") {
        "" => "default".into(),
        name => name.into(),
    }
}

fn known_region(asked: &str, own: &str) -> Result<(), Error> {
    if asked.is_empty() || asked == own { Ok(()) } else { Err(Error::internal("No path to region")) }
}

/// A request.
#[derive(Debug)]
pub struct Request {
    app: AppState,
    method: Method,
    path: String,
    route: &'static Route,
    /// The values of the path's parameters.
    parameters: Vec<String>,
    query: Query,
    query_text: String,
    uri: Uri,
    headers: HeaderMap,
    extensions: Extensions,
    peer: Option<SocketAddr>,
    /// The token of a message, where the headers have none.
    message_token: String,
    /// Behind a lock because bodies are not shared between threads, and requests are.
    body: Mutex<Option<Body>>,
    /// Memory for the body.
    held: Held,
    authorization: Arc<Authorization>,
}

/// The rows that a caller may see: those of the namespace that is asked for, or, of all namespaces, those in which the
/// caller has the right of the route.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    access: Access,
    right: Right,
    namespace: String,
}

impl Seen {
    /// Whether rows of a namespace are shown.
    pub(crate) fn in_namespace(&self, namespace: &str) -> bool {
        match self.namespace.as_str() {
            "*" => self.access.has(self.right, Subject::Namespace(namespace)),
            asked => asked == namespace,
        }
    }
}

/// The token of a request (`docs/spec/http-api.md §4.3`); empty for the anonymous one.
pub(crate) fn token_of(headers: &HeaderMap) -> &str {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    if let Some(token) = text("x-nomad-token").map(str::trim).filter(|t| !t.is_empty()) {
        return token;
    }
    let mut words = text("authorization").unwrap_or_default().split_whitespace();
    match (words.next(), words.next()) {
        (Some(scheme), Some(token)) if scheme.eq_ignore_ascii_case("bearer") => token,
        _ => "",
    }
}

impl Request {
    /// A request of a route.
    pub(crate) fn new(
        app: AppState,
        request: axum::extract::Request,
        path: String,
        Matched { route, parameters }: Matched,
        peer: Option<SocketAddr>,
        authorization: Arc<Authorization>,
    ) -> Request {
        let (parts, body) = request.into_parts();
        let query_text = parts.uri.query().unwrap_or_default().to_string();
        let query = Query::parse(&query_text);
        let (method, uri, headers, extensions) = (parts.method, parts.uri, parts.headers, parts.extensions);
        Request {
            app,
            method,
            path,
            route,
            parameters,
            query,
            query_text,
            uri,
            headers,
            extensions,
            peer,
            message_token: String::new(),
            body: Mutex::new(Some(body)),
            held: Held::default(),
            authorization,
        }
    }

    /// The agent.
    pub fn app(&self) -> &AppState {
        &self.app
    }

    /// The server of this agent.
    ///
    /// # Errors
    /// 500: this agent has none.
    pub fn server(&self) -> Result<&Server, Error> {
        self.app.server().ok_or_else(|| Error::internal(NO_LEADER))
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The path, decoded.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The rest of the path behind the route's prefix: below `/v1/job/`, the ID and all that follows it.
    pub fn rest(&self) -> &str {
        self.path.get(self.route.prefix.len()..).unwrap_or_default()
    }

    /// The first parameter of the path; empty where the route has none.
    pub fn id(&self) -> &str {
        self.parameter(0)
    }

    /// A parameter of the path by its position.
    pub(crate) fn parameter(&self, position: usize) -> &str {
        self.parameters.get(position).map_or("", String::as_str)
    }

    /// The query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// The query as it was sent, without its question mark.
    pub(crate) fn query_text(&self) -> &str {
        &self.query_text
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Connection details from the listener.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The agents that can answer.
    pub(crate) fn route_by(&self) -> AnsweredBy {
        self.route.by
    }

    /// Whether the request opens a session over a websocket.
    pub(crate) fn opens_session(&self) -> bool {
        self.route.opens_session()
    }

    /// Whether another agent has decided that this one answers.
    pub(crate) fn is_passed_on(&self) -> bool {
        self.extensions.get::<PassedOn>().is_some()
    }

    /// The request as it arrived, for another agent.
    pub(crate) fn into_http(mut self) -> axum::extract::Request {
        let mut request = axum::extract::Request::new(self.take_body());
        *request.method_mut() = self.method;
        *request.uri_mut() = self.uri;
        *request.headers_mut() = self.headers;
        *request.extensions_mut() = self.extensions;
        request
    }

    /// Where the request comes from.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    // ---- methods

    /// Whether the method is GET.
    pub(crate) fn is_get(&self) -> bool {
        self.method == Method::GET
    }

    // ---- parameters

    /// The parameters of a read.
    ///
    /// # Errors
    /// The first that is wrong.
    pub(crate) fn read_options(&self) -> Result<ReadOptions, Error> {
        ReadOptions::parse(&self.query, &self.app.settings().region)
    }

    /// A write names no region but ours.
    ///
    /// # Errors
    /// 500 `No path to region`.
    pub(crate) fn check_region(&self) -> Result<(), Error> {
        known_region(self.query.get("region"), &self.app.settings().region)
    }

    /// The namespace of the query, `default` if it is not given.
    pub fn namespace(&self) -> String {
        namespace_of(&self.query)
    }

    /// A boolean of the query; false if it is not given.
    ///
    /// # Errors
    /// 500, as Nomad answers.
    pub fn flag(&self, name: &str) -> Result<bool, Error> {
        self.query.bool(name).map(Option::unwrap_or_default).map_err(|e| Error::internal(e.to_string()))
    }

    /// The token (`docs/spec/http-api.md §4.3`); empty for the anonymous one.
    pub fn token(&self) -> &str {
        match token_of(&self.headers) {
            "" => &self.message_token,
            token => token,
        }
    }

    // ---- rights

    /// The right that the route requires.
    pub(crate) fn right(&self) -> Right {
        self.route.right
    }

    /// The check of rights, which goes on while the request lasts.
    pub(crate) fn authorization(&self) -> &Arc<Authorization> {
        &self.authorization
    }

    /// The request in the audit log, if there is one.
    pub(crate) fn trail(&self) -> Option<&Trail> {
        self.authorization.trail()
    }

    /// Tells the audit log of an object that the path does not name: its kind, and its name or ID.
    pub(crate) fn concerns(&self, kind: &str, name: &str) {
        if let Some(trail) = self.trail() {
            trail.note(kind, name);
        }
    }

    /// Takes the token of a message, where the headers have none.
    pub(crate) async fn set_token(&mut self, token: &str) {
        self.message_token = token.into();
        self.authorization =
            Arc::new(Authorization::begin(&self.app, self.token(), self.authorization.trail().cloned()).await);
    }

    /// Who calls.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn caller(&self) -> Result<Caller, Error> {
        self.authorization.caller()
    }

    /// The caller, as named in the metadata of drains.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn accessor(&self) -> Result<String, Error> {
        Ok(self.caller()?.name())
    }

    /// What the caller may do.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn access(&self) -> Result<Access, Error> {
        self.authorization.access()
    }

    /// Whether the caller has the right that the route requires; what else it may do.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize(&self) -> Result<Access, Error> {
        self.authorization.grant(self.route.right, Subject::Cluster)
    }

    /// As [`Request::authorize`], for a right in a namespace; `*`: in any. Gives which rows the caller may see.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_in(&self, namespace: &str) -> Result<Seen, Error> {
        let access = self.authorization.grant(self.route.right, Subject::Namespace(namespace))?;
        Ok(Seen { access, right: self.route.right, namespace: namespace.into() })
    }

    /// The rows that the caller may see, where everybody may ask and gets what is allowed.
    ///
    /// # Errors
    /// 403: the token is not valid.
    pub(crate) fn seen_in(&self, namespace: &str) -> Result<Seen, Error> {
        Ok(Seen { access: self.access()?, right: self.route.right, namespace: namespace.into() })
    }

    /// As [`Request::authorize`], for a right on a node pool.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_pool(&self, pool: &str) -> Result<Access, Error> {
        self.authorization.grant(self.route.right, Subject::Pool(pool))
    }

    /// As [`Request::authorize`], for a right on a variable.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_variable(&self, namespace: &str, path: &str) -> Result<Access, Error> {
        self.authorization.grant(self.route.right, Subject::Variable(namespace, path))
    }

    /// As [`Request::authorize`], for a right that the route does not name.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn authorize_as(&self, right: Right, of: Subject<'_>) -> Result<Access, Error> {
        self.authorization.grant(right, of)
    }

    /// Whether the caller may do something that depends on more than the route; what else it may do.
    ///
    /// # Errors
    /// 403.
    pub(crate) fn need(&self, need: &Need<'_>) -> Result<Access, Error> {
        let access = self.access()?;
        let allowed = access.allows(need);
        if let Some(trail) = self.trail() {
            trail.decided_need(&need.to_string(), allowed);
        }
        if allowed { Ok(access) } else { Err(Error::denied()) }
    }

    // ---- body

    /// The whole body. The memory reserved for it is returned when the request is answered.
    ///
    /// # Errors
    /// The connection broke, the body is too large or too slow, or others take too much memory.
    pub async fn bytes(&mut self) -> Result<Bytes, Error> {
        let body = self.take_body();
        if self.length().is_some_and(|n| n > MAX_BODY) {
            return Err(unread(BodyError::Long(MAX_BODY)));
        }
        let read = self.app.bodies().read(body, MAX_BODY, self.origin().as_ref()).await;
        let (bytes, held) = read.map_err(unread)?;
        self.held.join(held);
        Ok(bytes)
    }

    /// The length that was announced for the body.
    pub fn length(&self) -> Option<usize> {
        self.headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    /// Where the request comes from; `None` if another agent has passed it on.
    pub(crate) fn origin(&self) -> Option<Origin> {
        self.extensions.get::<ConnectInfo<Peer>>().map(|c| c.0.origin.clone())
    }

    /// The body as it comes.
    pub(crate) fn take_body(&mut self) -> Body {
        self.body.get_mut().take().unwrap_or_default()
    }

    /// Whether a body was announced.
    pub(crate) fn has_body(&self) -> bool {
        match self.headers.get(header::CONTENT_LENGTH) {
            Some(length) => length != "0",
            None => self.headers.contains_key(header::TRANSFER_ENCODING),
        }
    }

    /// A body that shall be JSON, not read yet.
    ///
    /// # Errors
    /// 400: there is none. 413: it is too large, or holds too many values.
    pub(crate) async fn json_bytes(&mut self) -> Result<Bytes, Error> {
        if !self.has_body() {
            return Err(Error::bad("Request body is empty"));
        }
        let bytes = self.bytes().await?;
        if json::holds_more_than(&bytes, MAX_VALUES) {
            return Err(Error::new(413, format!("Request body holds more than {MAX_VALUES} values")));
        }
        if bytes.len() > SMALL {
            let held = self.app.bodies().take(GROWTH * bytes.len(), self.origin().as_ref()).await;
            self.held.join(held.map_err(unread)?);
        }
        Ok(bytes)
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// 400: there is none, or it is something else. 413: it is too large.
    pub async fn json<T: DeserializeOwned>(&mut self) -> Result<T, Error> {
        Ok(json::decode(&self.json_bytes().await?)?)
    }

    // ---- reading

    /// The response metadata of a read.
    pub fn meta(&self, index: u64) -> Meta {
        let Some(server) = self.app.server() else {
            return Meta { index, known_leader: false, last_contact: 0 };
        };
        let contact = server.consensus().stats().last_contact.unwrap_or_default();
        let last_contact = u64::try_from(contact.as_millis()).unwrap_or(u64::MAX);
        Meta { index, known_leader: server.leader_address().is_some(), last_contact }
    }

    /// Reads state, and waits for something newer than `options.index` (`docs/spec/http-api.md §4.4`). `read` gives the
    /// index of what it read, and may run often; `keys` are what it depends on.
    ///
    /// # Errors
    /// There is no leader, or what `read` gives.
    pub async fn blocking<T>(
        &self,
        options: &ReadOptions,
        mut keys: Vec<WatchKey>,
        mut read: impl FnMut(&StateStore) -> Result<(u64, T), Error>,
    ) -> Result<(T, Meta), Error> {
        let server = self.server()?;
        server.metrics().count("nomad.rpc.query", 1, &[]);
        if !options.stale {
            server.wait_ready().await?;
        }
        if options.index == 0 {
            let (index, value) = read(&server.snapshot())?;
            return Ok((value, self.meta(index)));
        }
        let jitter = u64::try_from(options.wait.as_nanos() / 16).unwrap_or_default();
        let deadline = Instant::now() + options.wait + Duration::from_nanos(ids::random_below(jitter));
        if self.app.settings().acl_enabled {
            keys.extend([Table::AclToken, Table::AclPolicy, Table::AclRoles].map(WatchKey::Table));
        }
        let read = |store: &StateStore| {
            // The token may have been revoked since the wait began.
            self.authorization.check_again()?;
            read(store)
        };
        let (index, value) = server.store().read_newer(keys, options.index, deadline, read).await?;
        Ok((value, self.meta(index)))
    }
}

/// Why a body was not read, as an answer.
pub fn unread(e: BodyError) -> Error {
    match e {
        BodyError::Long(limit) => Error::new(413, format!("Request body is larger than {} MiB", limit >> 20)),
        BodyError::Slow => Error::new(408, "Request body arrives too slowly"),
        BodyError::Busy => Error::new(503, "Too many large requests at the same time; try again later"),
        BodyError::Broken => Error::bad("unexpected EOF"),
    }
}

/// An object for [`Request::blocking`], with the index of the answer: its own, or that of the table if there is none.
pub fn indexed<T>(
    store: &StateStore,
    table: Table,
    object: Option<T>,
    index: impl FnOnce(&T) -> u64,
) -> (u64, Option<T>) {
    (object.as_ref().map_or(store.index_of(table).max(1), index), object)
}

/// The object that was read, or 404 with the headers of the read.
///
/// # Errors
/// 404.
pub fn found<T>((value, meta): (Option<T>, Meta), missing: &str) -> Result<(T, Meta), Error> {
    match value {
        Some(v) => Ok((v, meta)),
        None => Err(Error::not_found(missing).with(meta)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_parameter_answers() {
        let parse = |q: &str| ReadOptions::parse(&Query::parse(q), "global").map_err(|e| (e.status, e.message));
        let stale = "Expect `true` or `false` for `stale` query string parameter";
        let number = "Expect a number for `per_page` query string parameter";
        for (query, status, text) in [
            ("stale=maybe&index=abc", 400, stale),
            ("wait=xyz&index=1", 400, "Invalid wait time"),
            ("wait=10", 400, "Invalid wait time"),
            ("index=abc", 400, "Invalid index"),
            ("index=-1", 400, "Invalid index"),
            ("per_page=x", 400, number),
            ("per_page=9999999999", 400, number),
            ("region=nowhere", 500, "No path to region"),
        ] {
            assert_eq!(parse(query), Err((status, text.into())), "{query}");
        }
        let o = parse("stale&region=global&namespace=*&wait=90s&index=7&reverse=true&consistent").unwrap();
        assert!(o.stale && o.reverse && o.all_namespaces());
        assert_eq!((o.wait, o.index), (Duration::from_secs(90), 7));
        assert_eq!(parse("wait=10m").unwrap().wait, MAX_WAIT);
        assert_eq!(parse("wait=-1s").unwrap().wait, MAX_WAIT);
        assert_eq!(parse("").unwrap().namespace, "default");
    }
}
