//! What a route is: a row of the [table](super::table).

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use axum::http::Method;

use super::metric::Metric;
use crate::access::audited::Audited;
use crate::access::permission::Permission;
use crate::request::Request;
use crate::request::answered_by::AnsweredBy;
use crate::request::response::Outcome;

/// A handler at work.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// Answers requests.
pub(crate) type Handler = fn(Request) -> Answering;

/// A route. Every field has to be given: no route is without a permission or an entry for metrics.
#[derive(Debug)]
pub(crate) struct Route {
    /// The methods.
    pub(crate) methods: Methods,
    /// The paths.
    pub(crate) path: RoutePath,
    /// Answers the requests.
    pub(crate) handler: Handler,
    /// The agents that can answer.
    pub(crate) answered_by: AnsweredBy,
    /// The permission that the caller needs, and on what and when it is checked.
    pub(crate) permission: Permission,
    /// The objects that the audit log names, besides the parameters of the path.
    pub(crate) audited: &'static [Audited],
    /// What the requests are counted as.
    pub(crate) metric: Metric,
}

/// The paths of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoutePath {
    /// This path.
    At(&'static str),
    /// The paths that begin with a prefix, which ends in a slash, and go on as a pattern says
    /// ([`pattern`](crate::request::pattern)).
    Below(&'static str, &'static str),
}

impl RoutePath {
    /// The path, or the beginning of the paths.
    pub(crate) fn prefix(self) -> &'static str {
        let (RoutePath::At(prefix) | RoutePath::Below(prefix, _)) = self;
        prefix
    }

    /// The pattern of the rest of the path behind the prefix.
    pub(crate) fn rest(self) -> &'static str {
        match self {
            RoutePath::At(_) => "",
            RoutePath::Below(_, rest) => rest,
        }
    }
}

impl fmt::Display for RoutePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.prefix(), self.rest())
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
pub(super) use handler;
