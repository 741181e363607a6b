//! What a route is. All routes are in the table of [`routes`](crate::routes::table).

use std::future::Future;
use std::pin::Pin;

use axum::http::Method;

use crate::access::right::Right;
use crate::error::Error;
use crate::request::response::Response;
use crate::request::routed_request::Request;
use crate::routes::metric::Metric;

/// The result of a handler.
pub type Outcome = Result<Response, Error>;
/// A handler at work.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// Answers requests.
pub type Handler = fn(Request) -> Answering;

/// A route. Every field has to be given: no route is without a right or an entry for metrics.
#[derive(Debug)]
pub struct Route {
    /// The methods.
    pub(crate) methods: Methods,
    /// The path, or, if it ends in a slash, the beginning of the paths. Nothing longer is a prefix of them.
    pub(crate) prefix: &'static str,
    /// The pattern of the rest of the path behind the prefix ([`pattern`](crate::request::pattern)).
    pub(crate) rest: &'static str,
    /// Answers the requests.
    pub(crate) handler: Handler,
    /// The agents that can answer.
    pub(crate) by: AnsweredBy,
    /// What the caller has to be allowed.
    pub(crate) right: Right,
    /// What the requests are counted as.
    pub(crate) metric: Metric,
}

impl Route {
    /// Whether the leader's token is accepted: to read the usage of an allocation, and to ask what the token may do
    /// (`docs/spec/server.md §2.2`).
    pub(crate) fn serves_leader(&self) -> bool {
        matches!((self.prefix, self.rest), ("/v1/client/allocation/", "{id}/stats") | ("/v1/acl/access", ""))
    }

    /// Whether its requests have a token that is none of access control: the migrate token of an allocation
    /// (`docs/spec/http-api.md §5.4`).
    pub(crate) fn has_own_token(&self) -> bool {
        (self.prefix, self.rest) == ("/v1/client/allocation/", "{id}/snapshot")
    }

    /// Whether its requests open a session over a websocket, which has its own first message.
    pub(crate) fn opens_session(&self) -> bool {
        [("/v1/job/", "{*id}/action"), ("/v1/client/allocation/", "{id}/exec")].contains(&(self.prefix, self.rest))
    }
}

/// The methods of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Methods {
    /// Only these.
    Only(&'static [Method]),
    /// Every method.
    Any,
}

impl Methods {
    /// Whether a method is among them.
    pub(crate) fn hold(self, method: &Method) -> bool {
        match self {
            Methods::Only(methods) => methods.contains(method),
            Methods::Any => true,
        }
    }
}

/// Where a request names its allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NamedIn {
    /// In its path.
    Path,
    /// In a parameter.
    Query(&'static str),
}

/// The agents that can answer a request; others forward it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// Every agent, for itself.
    Agent,
    /// The agent of the node that the parameter `node_id` names; without it, every agent for itself.
    Node,
    /// The agent of the node that has the allocation.
    NodeOfAlloc(NamedIn),
    /// Every server, for itself.
    Server,
    /// The leader, and reads of old data by every server.
    Leader,
    /// The leader, however old the data may be.
    OnlyLeader,
}

/// A handler: an `async fn(Request) -> Outcome`, or, with `id`, one that gets the first parameter of the path, too.
macro_rules! handler {
    ($handler:path) => {
        |request| Box::pin($handler(request))
    };
    ($handler:path, id) => {
        |request| {
            let id = request.id().to_string();
            Box::pin($handler(request, id))
        }
    };
}
pub(crate) use handler;
