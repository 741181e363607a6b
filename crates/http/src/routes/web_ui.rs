//! The web UI: the paths below `/ui/` have a service of their own, where the agent has set one.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, Method, header};
use axum::response::Response;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use crate::agent::state::AppState;
use crate::request::body::unread;
use crate::request::response;
use crate::serve::encode::{self, Encoding};
use crate::serve::http1::Origin;

/// The beginning of the paths.
const BELOW: &str = "/ui/";
/// The longest form, in bytes.
const MAX_FORM: usize = 8 << 20;

/// The service of the web UI, if the request is for it. Tasks have no pages on their sockets.
pub(super) fn pages_for(app: &AppState, request: &Request, from: Option<&Origin>) -> Option<Router> {
    let pages = app.web_ui()?;
    let from_task = matches!(from, Some(Origin::Task(_)));
    (request.uri().path().starts_with(BELOW) && !from_task).then(|| pages.clone())
}

/// Has the web UI answer. A form is read within the memory that the interface has for bodies.
pub(super) async fn answer(
    app: &AppState,
    pages: Router,
    mut request: Request,
    from: Option<&Origin>,
    encoding: Option<Encoding>,
) -> Response {
    let mut held = None;
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let (parts, body) = request.into_parts();
        match app.bodies().read(body, MAX_FORM, from).await {
            Ok((form, memory)) => {
                held = Some(memory);
                request = Request::from_parts(parts, Body::from(form));
            }
            Err(e) => return response::Response::error(unread(e)).finish(false, encoding),
        }
    }
    let Ok(response) = TowerToHyperService::new(pages).call(request).await;
    drop(held);
    compressed(response, encoding)
}

/// Compresses a text, unless it is a stream of events.
fn compressed(response: Response, encoding: Option<Encoding>) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let text = ["text/html", "text/css", "text/javascript", "image/svg+xml"].iter().any(|t| kind.starts_with(t));
    let Some(encoding) = encoding.filter(|_| text && !response.headers().contains_key(header::CONTENT_ENCODING)) else {
        return response;
    };
    let mut response = response.map(|body| encode::stream(encoding, body));
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_LENGTH);
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}
