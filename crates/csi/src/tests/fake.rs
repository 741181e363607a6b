//! A plugin whose answers a test writes, down to the frames of HTTP/2.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use prost::Message;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

use crate::plugin::{Limits, Plugin};

/// The bytes of an answer, one entry per frame.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) data: Vec<Vec<u8>>,
    pub(super) trailers: Option<HeaderMap>,
    /// After the data nothing follows.
    pub(super) hangs: bool,
}

fn pairs(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pair =
        |(name, value): &(&'static str, &str)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(pair).collect()
}

/// A message as it is sent.
pub(super) fn framed(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let mut out = vec![0];
    out.extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_be_bytes());
    out.extend(bytes);
    out
}

impl Answer {
    /// Frames of data, then the status `OK`.
    pub(super) fn data(data: Vec<Vec<u8>>) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        let trailers = Some(pairs(&[("grpc-status", "0")]));
        Answer { status: StatusCode::OK, headers, data, trailers, hangs: false }
    }

    pub(super) fn message(message: &impl Message) -> Answer {
        Answer::data(vec![framed(message)])
    }

    /// The plugin's error.
    pub(super) fn error(code: i32, text: &str) -> Answer {
        let trailers = pairs(&[("grpc-status", &code.to_string()), ("grpc-message", text)]);
        Answer { trailers: Some(trailers), ..Answer::data(Vec::new()) }
    }

    /// Nothing but headers.
    pub(super) fn hang() -> Answer {
        Answer { hangs: true, trailers: None, ..Answer::data(Vec::new()) }
    }
}

struct Frames {
    frames: VecDeque<Frame<Bytes>>,
    hangs: bool,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.frames.pop_front() {
            Some(frame) => Poll::Ready(Some(Ok(frame))),
            None if self.hangs => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

type Calls = Arc<Mutex<Vec<(String, Bytes)>>>;

/// A listening plugin. It stops when it is dropped.
pub(super) struct Fake {
    socket: PathBuf,
    calls: Calls,
    listener: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.listener.abort();
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// A path for a socket that nothing else uses.
pub(super) fn socket() -> PathBuf {
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("encamp-csi-{}-{number}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Bounds for tests.
pub(super) fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        question: Duration::from_secs(20),
        operation: Duration::from_secs(20),
        ..Limits::default()
    }
}

impl Fake {
    /// A plugin that answers each call, given its path and message.
    pub(super) fn start(answer: impl Fn(&str, &[u8]) -> Answer + Send + Sync + 'static) -> Fake {
        Fake::at(socket(), answer)
    }

    pub(super) fn at(path: PathBuf, answer: impl Fn(&str, &[u8]) -> Answer + Send + Sync + 'static) -> Fake {
        let listener = UnixListener::bind(&path).unwrap();
        let calls = Calls::default();
        let (seen, answer) = (calls.clone(), Arc::new(answer));
        let listener = tokio::spawn(async move {
            // Connections end with the plugin.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (seen.clone(), answer.clone());
                let service = service_fn(move |request: Request<Incoming>| {
                    let (seen, answer) = (seen.clone(), answer.clone());
                    async move {
                        let path = request.uri().path().to_string();
                        let Ok(body) = request.into_body().collect().await else { panic!("no body") };
                        let body = body.to_bytes().slice(5..);
                        let answer = answer(&path, &body);
                        seen.lock().push((path, body));
                        Ok::<_, Infallible>(response(answer))
                    }
                });
                connections.spawn(async move {
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Fake { socket: path, calls, listener }
    }

    /// Ends the plugin with its connections.
    pub(super) async fn stop(mut self) {
        self.listener.abort();
        let _ = (&mut self.listener).await;
    }

    pub(super) fn plugin(&self) -> Plugin {
        Plugin::new(&self.socket, limits())
    }

    /// The message of the only call.
    pub(super) fn only<M: Message + Default>(&self, path: &str) -> M {
        let calls = self.calls.lock();
        let [(called, message)] = calls.as_slice() else { panic!("{} calls", calls.len()) };
        assert_eq!(called, path);
        M::decode(message.clone()).unwrap()
    }

    pub(super) fn count(&self) -> usize {
        self.calls.lock().len()
    }
}

fn response(answer: Answer) -> Response<Frames> {
    let data = answer.data.into_iter().map(|d| Frame::data(Bytes::from(d)));
    let frames = data.chain(answer.trailers.map(Frame::trailers)).collect();
    let mut response = Response::new(Frames { frames, hangs: answer.hangs });
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response
}
