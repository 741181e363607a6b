//! HTTP/2 over the Unix socket of a plugin, and the checks of an answer before it is decoded.
//!
//! The generated clients only encode and decode messages. Whatever else can be wrong with an answer is found here, as a
//! [`Failure`] that keeps apart what the plugin said and what went wrong with it: a message that is too long must not
//! look like the plugin's own `OUT_OF_RANGE`.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body_util::combinators::WithTrailers;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::{Code, Status};

use crate::plugin::Limits;

/// The bytes before a message: whether it is compressed, and its length.
const PREFIX: usize = 5;
/// Bytes that a plugin may send before they are read.
const WINDOW: u32 = 1 << 20;
/// The longest headers and trailers of an answer in bytes; of longer trailers the rest is ignored.
const HEADERS: u32 = 16 << 10;
/// The header with the code of a status.
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
/// The longest path of a Unix socket in bytes.
const LONGEST_PATH: usize = 107;

/// A checked message, and trailers with the status `OK`.
pub(crate) type Answer = WithTrailers<Full<Bytes>, Ready<Option<Result<HeaderMap, Infallible>>>>;

/// Why there is no answer to decode. It has no source, so that [`Status`] keeps it as it is.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Failure {
    /// The path can't be one of a socket.
    #[error("the path {0:?} of the socket has {1} bytes; at most {LONGEST_PATH} are possible")]
    Path(PathBuf, usize),
    /// The call was not sent.
    #[error("{0}")]
    Unreachable(String),
    /// The connection ended after the call was sent.
    #[error("{0}")]
    Interrupted(String),
    /// The answer breaks the protocol.
    #[error("{0}")]
    Violation(String),
    /// The plugin's error.
    #[error("{1}")]
    Refused(Code, String),
}

/// An HTTP/2 connection. It ends with its last user.
struct Connection {
    requests: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// The socket of a plugin, with its current connection.
struct Socket {
    path: PathBuf,
    limits: Limits,
    current: Mutex<Option<Arc<Connection>>>,
}

/// Sends calls to the socket of a plugin. It connects when it has to; clones share a connection.
#[derive(Clone)]
pub(crate) struct Transport(Arc<Socket>);

impl Transport {
    pub(crate) fn new(path: PathBuf, limits: Limits) -> Transport {
        Transport(Arc::new(Socket { path, limits, current: Mutex::new(None) }))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    /// The next call uses a new connection. Calls in progress keep theirs.
    pub(crate) fn reconnect(&self) {
        *self.0.current.lock() = None;
    }
}

impl Service<Request<Body>> for Transport {
    type Response = Response<Answer>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let socket = self.0.clone();
        Box::pin(async move { socket.exchange(request).await })
    }
}

impl Socket {
    /// Sends a call and reads its answer. A connection of an earlier call may have ended meanwhile, such as when the
    /// plugin restarted: then the call is sent once more, on a new one. Calls of the protocol are idempotent.
    async fn exchange(&self, request: Request<Body>) -> Result<Response<Answer>, Failure> {
        let (parts, body) = request.into_parts();
        let message = body.collect().await.map_err(|status| refused(&status))?.to_bytes();
        let request = || Request::from_parts(parts.clone(), Full::new(message.clone()));
        let open = self.current.lock().clone().filter(|c| !c.requests.is_closed());
        let ended = match open {
            Some(connection) => match send(&connection, request()).await {
                Ok(response) => return answer(response, self.limits.message).await,
                Err(ended @ (Failure::Interrupted(_) | Failure::Unreachable(_))) => Some(ended),
                Err(failure) => return Err(failure),
            },
            None => None,
        };
        let again = async { send(&self.connect().await?, request()).await };
        match (again.await, ended) {
            (Ok(response), _) => answer(response, self.limits.message).await,
            // The call may have had an effect before the first connection ended.
            (Err(Failure::Unreachable(_)), Some(interrupted @ Failure::Interrupted(_))) => Err(interrupted),
            (Err(failure), _) => Err(failure),
        }
    }

    /// Connects and makes the connection the current one.
    async fn connect(&self) -> Result<Arc<Connection>, Failure> {
        let length = self.path.as_os_str().len();
        if length > LONGEST_PATH {
            return Err(Failure::Path(self.path.clone(), length));
        }
        let unreachable = |e: io::Error| Failure::Unreachable(format!("{}: {e}", self.path.display()));
        let connecting = tokio::time::timeout(self.limits.connect, UnixStream::connect(&self.path));
        let stream = connecting.await.map_err(|_| unreachable(io::ErrorKind::TimedOut.into()))?.map_err(unreachable)?;
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(Some(WINDOW)).initial_connection_window_size(Some(WINDOW));
        builder.max_header_list_size(HEADERS);
        // Sends the preface; the plugin's settings are not waited for.
        let (requests, driver) = builder
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|e| Failure::Unreachable(format!("{}: {e}", self.path.display())))?;
        let driver = tokio::spawn(async move {
            // How the connection ended is what its calls return.
            let _ = driver.await;
        });
        let connection = Arc::new(Connection { requests, driver });
        *self.current.lock() = Some(connection.clone());
        Ok(connection)
    }
}

/// Sends a request and waits for the head of the answer.
async fn send(connection: &Arc<Connection>, request: Request<Full<Bytes>>) -> Result<Response<Held>, Failure> {
    match connection.requests.clone().try_send_request(request).await {
        Ok(response) => Ok(response.map(|body| Held { body, _connection: connection.clone() })),
        Err(mut e) => Err(match (e.take_message(), broken(e.error())) {
            // The plugin certainly did not get a request that is returned.
            (Some(_), Failure::Interrupted(text)) => Failure::Unreachable(text),
            (_, failure) => failure,
        }),
    }
}

/// The body of an answer; keeps its connection open.
struct Held {
    body: Incoming,
    _connection: Arc<Connection>,
}

/// Why a connection or a stream of it ended.
fn broken(error: &hyper::Error) -> Failure {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    let mut protocol = false;
    while let Some(e) = cause {
        text.push_str(": ");
        text.push_str(&e.to_string());
        // What the plugin ends, such as by GOAWAY, is no violation.
        protocol |= e.downcast_ref::<h2::Error>().is_some_and(|e| e.is_library() && !e.is_remote());
        cause = e.source();
    }
    if protocol { Failure::Violation(text) } else { Failure::Interrupted(text) }
}

/// Reads and checks an answer: exactly one message of bounded length, and the status `OK`.
async fn answer(response: Response<Held>, longest: usize) -> Result<Response<Answer>, Failure> {
    let (mut parts, mut held) = response.into_parts();
    check_head(&parts)?;
    let mut message = BytesMut::new();
    let mut trailers = None;
    while let Some(frame) = held.body.frame().await {
        match frame.map_err(|e| broken(&e))?.into_data() {
            Ok(data) => {
                message.extend_from_slice(&data);
                check_frame(&message, longest)?;
            }
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    let status = trailers.as_ref().and_then(Status::from_header_map);
    match status.or_else(|| Status::from_header_map(&parts.headers)) {
        Some(status) if status.code() == Code::Ok => {}
        Some(status) => return Err(refused(&status)),
        None => return Err(Failure::Violation("the answer ended without a status".into())),
    }
    if message.len() < PREFIX || message.len() < PREFIX + declared(&message) {
        return Err(Failure::Violation("the answer ended before its message".into()));
    }
    parts.headers = HeaderMap::new();
    let ok = HeaderMap::from_iter([(STATUS, HeaderValue::from_static("0"))]);
    Ok(Response::from_parts(parts, Full::new(message.freeze()).with_trailers(ready(Some(Ok(ok))))))
}

fn refused(status: &Status) -> Failure {
    Failure::Refused(status.code(), status.message().into())
}

/// Checks status and headers of an answer.
fn check_head(parts: &Parts) -> Result<(), Failure> {
    if parts.status != StatusCode::OK {
        return Err(Failure::Violation(format!("the answer has the HTTP status {}", parts.status.as_u16())));
    }
    let kind = parts.headers.get(CONTENT_TYPE).map(|v| v.as_bytes());
    if !kind.is_some_and(|kind| kind.starts_with(b"application/grpc")) {
        return Err(Failure::Violation("the answer is not of the type application/grpc".into()));
    }
    match Status::from_header_map(&parts.headers) {
        Some(status) if status.code() != Code::Ok => Err(refused(&status)),
        Some(_) | None => Ok(()),
    }
}

/// The length of a message that its prefix declares.
fn declared(message: &[u8]) -> usize {
    match message {
        [_, a, b, c, d, ..] => usize::try_from(u32::from_be_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX),
        _ => 0,
    }
}

/// Checks what there is of a message so far.
fn check_frame(message: &[u8], longest: usize) -> Result<(), Failure> {
    if message.len() < PREFIX {
        return Ok(());
    }
    if message.first() != Some(&0) {
        return Err(Failure::Violation("the message is compressed, which was not asked for".into()));
    }
    let declared = declared(message);
    if declared > longest {
        let text = format!("the message has {declared} bytes; at most {longest} are accepted");
        return Err(Failure::Violation(text));
    }
    if message.len() > PREFIX.saturating_add(declared) {
        return Err(Failure::Violation("the answer goes on after its message".into()));
    }
    Ok(())
}
