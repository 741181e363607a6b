//! Permissions of callers on agents without a server: a server says what a token may do (`GET /v1/acl/access`,
//! `docs/spec/http-api.md §5.16`), and the answer is kept for a short time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use sha2::{Digest, Sha256};

use crate::agent::state::AppState;
use encamp_acl::Acl;
use encamp_model::responses::AclAccess;
use encamp_server::acl::{Access, Caller, Denied};

/// The longest answer.
const LONGEST: usize = 8 << 20;
/// How long a server may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Has a server say what a token may do. Where no server can be asked, nothing is allowed.
pub(crate) async fn resolve(app: &AppState, token: &str) -> Result<Access, Denied> {
    let key: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    if let Some(answer) = app.remote_permissions().get(&key) {
        return answer;
    }
    let asked = tokio::time::timeout(PATIENCE, ask(app, token)).await;
    let answer = match asked {
        Ok(Some(answer)) => answer,
        // Not kept: the next request tries again.
        Ok(None) | Err(_) => return Err(Denied::Unreachable),
    };
    app.remote_permissions().put(key, answer.clone());
    answer
}

/// The answer of a server; none if there is no server.
async fn ask(app: &AppState, token: &str) -> Option<Result<Access, Denied>> {
    let mut request = Request::get("/v1/acl/access?stale").body(Body::empty()).ok()?;
    if !token.is_empty() {
        request.headers_mut().insert("x-nomad-token", token.parse().ok()?);
    }
    let response = app.forward()?.forward(request).await.ok()?;
    match response.status().as_u16() {
        200 => {}
        403 => return Some(Err(Denied::Unknown)),
        _ => return None,
    }
    let body = axum::body::to_bytes(response.into_body(), LONGEST).await.ok()?;
    let answer: AclAccess = serde_json::from_slice(&body).ok()?;
    let acl = Arc::new(Acl::of_answer(&answer));
    Some(Ok(Access::new(Caller::Remote { name: answer.caller }, acl)))
}
