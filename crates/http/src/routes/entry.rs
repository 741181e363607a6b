//! The entry of all requests.

use std::time::Instant;

use axum::Router;
use axum::extract::State;

use super::audit;
use super::dispatch::answer_here_or_there;
use crate::agent::state::AppState;
use crate::request::params;
use encamp_model::format_duration;

/// The service that answers all requests.
pub fn router(app: AppState) -> Router {
    Router::new().fallback(answer).with_state(app)
}

/// Answers a request that the service received.
pub(crate) async fn answer(State(app): State<AppState>, request: axum::extract::Request) -> axum::response::Response {
    respond(app, request).await
}

/// Answers any request, or has another server answer it.
pub async fn respond(app: AppState, request: axum::extract::Request) -> axum::response::Response {
    if !tracing::event_enabled!(target: "http", tracing::Level::DEBUG) {
        return answer_audited(app, request).await;
    }
    let (begin, method, uri) = (Instant::now(), request.method().clone(), request.uri().clone());
    let response = answer_audited(app, request).await;
    let nanos = i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX);
    let (code, duration) = (response.status().as_u16(), format_duration(nanos));
    let path = &*params::without_token(&uri);
    tracing::debug!(target: "http", method = method.as_str(), path, code, duration, "request complete");
    response
}

async fn answer_audited(app: AppState, request: axum::extract::Request) -> axum::response::Response {
    match app.audit().cloned() {
        Some(log) => audit::respond(app, log, request).await,
        None => answer_here_or_there(app, request).await,
    }
}
