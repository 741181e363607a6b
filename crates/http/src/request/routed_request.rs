//! A request for which a route was found, as passed to handlers: path, query, headers (`docs/spec/http-api.md §4`).
//! Its body, its rights and its reads are in [`body`](super::body), [`permission`](super::permission) and
//! [`blocking_read`](super::blocking_read).

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use parking_lot::Mutex;

use super::params::Query;
use super::read_options::{ReadOptions, known_region, namespace_of};
use super::token::token_of;
use crate::access::audited::Audited;
use crate::access::authorization::Authorization;
use crate::access::permission::Permission;
use crate::agent::servers::PassedOn;
use crate::agent::state::AppState;
use crate::error::Error;
use crate::serve::bodies::Held;
use encamp_model::outcome::NO_LEADER;
use encamp_server::Server;

/// What the row of its route says about a request.
#[derive(Debug)]
pub(crate) struct Target {
    /// The beginning of the path, behind which the parameters are.
    pub(crate) prefix: &'static str,
    /// The values of the path's parameters.
    pub(crate) parameters: Vec<String>,
    /// The permission that the request needs.
    pub(crate) permission: Permission,
    /// The objects that the audit log names besides the parameters.
    pub(crate) audited: &'static [Audited],
}

/// A request.
#[derive(Debug)]
pub struct Request {
    pub(super) app: AppState,
    method: Method,
    path: String,
    pub(super) target: Target,
    query: Query,
    query_text: String,
    read_options: OnceLock<Result<ReadOptions, Error>>,
    uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) extensions: Extensions,
    peer: Option<SocketAddr>,
    /// The token of a message, where the headers have none.
    pub(super) message_token: String,
    /// Behind a lock because bodies are not shared between threads, and requests are.
    pub(super) body: Mutex<Option<Body>>,
    /// Memory for the body.
    pub(super) held: Held,
    pub(super) authorization: Arc<Authorization>,
}

impl Request {
    /// A request of a route.
    pub(crate) fn new(
        app: AppState,
        request: axum::extract::Request,
        path: String,
        target: Target,
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
            target,
            query,
            query_text,
            read_options: OnceLock::new(),
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
        self.path.get(self.target.prefix.len()..).unwrap_or_default()
    }

    /// The first parameter of the path; empty where the route has none.
    pub fn id(&self) -> &str {
        self.parameter(0)
    }

    /// The first parameter of the path, if the route has one.
    pub(crate) fn path_id(&self) -> Option<&str> {
        self.target.parameters.first().map(String::as_str)
    }

    /// A parameter of the path by its position.
    pub(crate) fn parameter(&self, position: usize) -> &str {
        self.target.parameters.get(position).map_or("", String::as_str)
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

    /// Whether the method is GET.
    pub(crate) fn is_get(&self) -> bool {
        self.method == Method::GET
    }

    /// The parameters of a read.
    ///
    /// # Errors
    /// The first that is wrong.
    pub(crate) fn read_options(&self) -> Result<ReadOptions, Error> {
        let parse = || ReadOptions::parse(&self.query, &self.app.settings().region);
        self.read_options.get_or_init(parse).clone()
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
}
