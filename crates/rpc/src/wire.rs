//! The wire format of calls: names, bodies, errors.

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::call::Call;
use super::caller::Head;
use encamp_ops::codec::{self, CodecError};
use encamp_raft::ServerId;
use encamp_server::Error;
use encamp_server::error::ErrorKind;

/// The prefix of the paths of calls. The number changes when old agents could misread new messages.
const PREFIX: &str = "/rpc/v2/";
/// Longest message that is read into memory, in bytes: a piece of a snapshot or a large plan fits well.
pub(crate) const MAX_MESSAGE: usize = 256 << 20;
/// Says that a follower passed the request on; it is not passed on again.
pub(crate) const FORWARDED: &str = "x-encamp-forwarded";
/// The kind of the error in the answer to a refused call.
const ERROR: &str = "x-encamp-error";
/// Why a call gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// No server was reached; nothing was done.
    #[error("{0}")]
    Unreachable(String),
    /// The connection broke or the answer was late: the call may have been carried out.
    #[error("{0}")]
    Lost(String),
    /// The other side's refusal.
    #[error(transparent)]
    Refused(#[from] Error),
}

/// The request of a call; `server` is the server that calls, and what proves it.
///
/// # Errors
/// The arguments can't be written, or the address is none.
pub fn request<C: Call>(
    address: &str,
    call: &C,
    server: Option<(ServerId, String)>,
) -> Result<Request<Body>, CallError> {
    let body = arguments(call).map_err(|e| Error::internal(format!("{}: {e}", C::METHOD)))?;
    raw_request(address, C::METHOD, &Head { node: call.node(), server, level: None }, body)
}

/// The request of a call whose arguments are written already.
///
/// # Errors
/// The address is none.
pub(crate) fn raw_request(address: &str, method: &str, head: &Head, body: Vec<u8>) -> Result<Request<Body>, CallError> {
    let request = Request::builder().method(Verb::POST).uri(format!("http://{address}{PREFIX}{method}"));
    let request = request.header(header::CONTENT_TYPE, "application/msgpack").body(Body::from(body));
    let mut request = request.map_err(|e| CallError::Unreachable(format!("{address} is not an address: {e}")))?;
    head.write(request.headers_mut())?;
    Ok(request)
}

/// The method that a path names, if it is that of a call.
pub fn method(path: &str) -> Option<&str> {
    path.strip_prefix(PREFIX)
}

/// The whole of a message.
///
/// # Errors
/// The connection broke, or the message is too long.
pub async fn whole(body: Body) -> Result<Bytes, axum::Error> {
    axum::body::to_bytes(body, MAX_MESSAGE).await
}

/// The arguments or the result in a message.
///
/// # Errors
/// 400: it is something else.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    codec::decode(bytes).map_err(|e| Error::bad(format!("a message can't be read: {e}")))
}

/// Encodes the arguments of a call.
///
/// # Errors
/// They have no encoding.
pub(crate) fn arguments<C: Call>(call: &C) -> Result<Vec<u8>, CodecError> {
    encode::<C>(call)
}

fn encode<C: Call>(value: &impl Serialize) -> Result<Vec<u8>, CodecError> {
    if C::SECRETS { codec::encode(value) } else { codec::encode_without_secrets(value) }
}

/// The answer to a call.
pub fn response<C: Call>(result: Result<C::Result, Error>) -> Response<Body> {
    match result.and_then(|v| Ok(encode::<C>(&v)?)) {
        Ok(bytes) => message(StatusCode::OK, bytes),
        Err(e) => refusal(e),
    }
}

/// The answer to a refused call: its kind is in the header, its text in the body.
pub fn refusal(e: Error) -> Response<Body> {
    let status = StatusCode::from_u16(e.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = message(status, e.message.into_bytes());
    response.headers_mut().insert(ERROR, HeaderValue::from_static(e.kind.code()));
    response
}

fn message(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
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
    let bytes = whole(body).await.map_err(|e| CallError::Lost(e.to_string()))?;
    if parts.status == StatusCode::OK {
        return Ok(read(&bytes)?);
    }
    Err(refusal_in(&parts, &bytes).into())
}

/// The refusal in an answer that has no result.
pub(crate) async fn refused(response: Response<Body>) -> CallError {
    let (parts, body) = response.into_parts();
    match whole(body).await {
        Ok(bytes) => refusal_in(&parts, &bytes).into(),
        Err(e) => CallError::Lost(e.to_string()),
    }
}

fn refusal_in(parts: &axum::http::response::Parts, text: &[u8]) -> Error {
    let code = parts.headers.get(ERROR).and_then(|v| v.to_str().ok());
    let kind = code.and_then(ErrorKind::of_code).unwrap_or_else(|| ErrorKind::of_status(parts.status.as_u16()));
    Error::new(kind, String::from_utf8_lossy(text))
}
