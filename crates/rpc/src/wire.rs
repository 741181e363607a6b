//! How calls look: names, bodies, errors.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::calls::Call;
use encamp_ops::codec;
use encamp_server::Error;

/// What the paths of calls begin with. The number changes when old agents could misread new messages.
const PREFIX: &str = "/rpc/v1/";
/// Longest message that is read into memory, in bytes: a piece of a snapshot or a large plan fits well.
pub const MAX_MESSAGE: usize = 256 << 20;
/// Longest arguments of a call that is no server's, in bytes.
pub const LONGEST_CALL: usize = 16 << 20;
/// Says that a follower passed the request on; it is not passed on again.
pub const FORWARDED: &str = "x-encamp-forwarded";

/// Why a call gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nobody was reached; nothing happened there.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke or the answer was late: the call may have been carried out.
    #[error("{0}")]
    Lost(String),
    /// The other side's refusal.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// The request of a call.
///
/// # Errors
/// The arguments can't be written, or the address is none.
pub fn request<C: Call>(address: &str, call: &C) -> Result<Request<Body>, CallError> {
    let body = codec::encode(call).map_err(|e| Error::internal(format!("{}: {e}", C::METHOD)))?;
    raw_request(address, C::METHOD, body)
}

/// The request of a call whose arguments are written already.
///
/// # Errors
/// The address is none.
pub fn raw_request(address: &str, method: &str, body: Vec<u8>) -> Result<Request<Body>, CallError> {
    let request = Request::builder().method(Verb::POST).uri(format!("http://{address}{PREFIX}{method}"));
    let request = request.header(header::CONTENT_TYPE, "application/msgpack").body(Body::from(body));
    request.map_err(|e| CallError::Unreachable(format!("{address} is no address: {e}")))
}

/// The method that a path names, if it is that of a call.
pub fn method(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}

/// The whole of a message.
///
/// # Errors
/// The connection broke, or the message is too long.
pub async fn whole(body: Body) -> Result<Bytes, String> {
    at_most(body, MAX_MESSAGE).await
}

/// The whole of a message that has at most so many bytes.
///
/// # Errors
/// The connection broke, or the message is longer.
pub async fn at_most(body: Body, longest: usize) -> Result<Bytes, String> {
    axum::body::to_bytes(body, longest).await.map_err(|e| e.to_string())
}

/// The arguments or the result in a message.
///
/// # Errors
/// 400: it is something else.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    codec::decode(bytes).map_err(|e| Error::bad(format!("a message can't be read: {e}")))
}

/// The answer to a call.
pub fn response<T: Serialize>(result: Result<T, Error>) -> Response<Body> {
    let encoded = result.and_then(|v| codec::encode(&v).map_err(Error::internal));
    let (status, body) = match encoded {
        Ok(bytes) => (StatusCode::OK, Body::from(bytes)),
        Err(e) => (StatusCode::from_u16(e.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), Body::from(e.message)),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/msgpack"));
    response
}

/// The result in an answer.
///
/// # Errors
/// The refusal it tells of, or the connection broke meanwhile.
pub async fn result<T: DeserializeOwned>(response: Response<Body>) -> Result<T, CallError> {
    let (parts, body) = response.into_parts();
    let bytes = whole(body).await.map_err(CallError::Lost)?;
    if parts.status == StatusCode::OK {
        return Ok(read(&bytes)?);
    }
    Err(Error::new(parts.status.as_u16(), String::from_utf8_lossy(&bytes)).into())
}
