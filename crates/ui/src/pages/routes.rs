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

/// Answers the form of a question: `POST`, because a form may be long. Pages of a file have such forms, too.
pub(crate) type QuestionHandler = for<'a> fn(&'a Visit) -> BoxFuture<'a, Result<Reply, PageError>>;

/// What follows a question.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A page.
    Page(Page),
    /// The browser goes to another page.
    Done(Done),
    /// A file.
    File(Download),
}

/// A file for the person at the browser.
#[derive(Debug)]
pub(crate) struct Download {
    /// The name under which the browser stores it: without quotation marks.
    pub name: &'static str,
    /// Its media type.
    pub kind: &'static str,
    pub content: Vec<u8>,
}

/// The routes of an area: paths with their handlers. A path may contain names, `/ui/jobs/{job}`.
#[derive(Clone, Copy)]
pub(crate) struct Routes {
    pub pages: &'static [(&'static str, PageHandler)],
    pub actions: &'static [(&'static str, ActionHandler)],
    pub streams: &'static [(&'static str, StreamHandler)],
}

/// The handler of a page, an action or a question: `handler!(jobs::list)`.
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
