//! The routes of an area of pages.

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use futures_util::future::BoxFuture;

use super::Done;
use crate::error::PageError;
use crate::layout::Page;
use crate::visit::Visit;

/// Makes a page: `GET`.
pub(crate) type PageHandler = for<'a> fn(&'a Visit) -> BoxFuture<'a, Result<Page, PageError>>;
/// Carries out the action of a form: `POST`. Pages of a file have none.
pub(crate) type ActionHandler = for<'a> fn(&'a Visit) -> BoxFuture<'a, Result<Done, PageError>>;
/// Answers by a stream, a WebSocket or a download.
pub(crate) type StreamHandler = fn(Visit, Request) -> BoxFuture<'static, Result<Response<Body>, PageError>>;

/// The routes of an area: paths with their handlers. A path may contain names, `/ui/jobs/{job}`.
#[derive(Clone, Copy)]
pub(crate) struct Routes {
    pub pages: &'static [(&'static str, PageHandler)],
    pub actions: &'static [(&'static str, ActionHandler)],
    pub streams: &'static [(&'static str, StreamHandler)],
}

/// The handler of a page or an action: `handler!(jobs::list)`.
macro_rules! handler {
    ($function:path) => {
        |visit| Box::pin($function(visit))
    };
}

/// The handler of a stream.
macro_rules! stream {
    ($function:path) => {
        |visit, request| Box::pin($function(visit, request))
    };
}

pub(crate) use {handler, stream};
