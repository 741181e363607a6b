//! Route declarations of a module: patterns and handlers. All of them are listed in [`routes`](super::routes).

use std::future::Future;
use std::pin::Pin;

use super::error::Error;
use super::request::Request;
use super::response::Response;

/// The result of a handler.
pub type Outcome = Result<Response, Error>;
/// A handler at work.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Outcome> + Send>>;
/// Answers requests.
pub type Handler = fn(Request) -> Answering;
/// A pattern and its handler.
pub(crate) type Route = (&'static str, Handler);

/// A route whose handler is an `async fn(Request) -> Outcome`.
macro_rules! route {
    ($pattern:literal, $handler:path) => {
        ($pattern, |request| Box::pin($handler(request)))
    };
}
pub(super) use route;
