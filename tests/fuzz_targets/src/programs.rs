//! What other programs answer: container daemons, storage plugins and network plugins.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use encamp_csi::{Limits, ListSnapshots, PageRequest, Plugin, VolumeId};
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::Runtime;

use crate::pieces::Pieces;
use crate::scratch::Scratch;

/// The answers that are left.
type Answers = Arc<Mutex<VecDeque<Vec<u8>>>>;

/// A program that listens on a socket, and its answers.
struct Program {
    socket: PathBuf,
    answers: Answers,
    runtime: Runtime,
    _scratch: Scratch,
}

fn next(answers: &Answers) -> Vec<u8> {
    answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or_default()
}

impl Program {
    /// `serve` answers on a connection.
    fn new<F>(of: &str, serve: fn(UnixStream, Answers) -> F) -> Program
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let scratch = Scratch::new(of).expect("a directory");
        let socket = scratch.path().join("s");
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let answers = Answers::default();
        let (path, theirs) = (socket.clone(), answers.clone());
        let listener = runtime.block_on(async move { UnixListener::bind(path) }).expect("a socket");
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, theirs.clone()));
            }
        });
        Program { socket, answers, runtime, _scratch: scratch }
    }

    fn will_answer(&self, answers: impl IntoIterator<Item = Vec<u8>>) {
        let mut theirs = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        *theirs = answers.into_iter().collect();
    }
}

/// Answers one request of HTTP/1.1: the first byte chooses the status, or says that the rest is all that is sent.
async fn docker_answer(mut stream: UnixStream, answers: Answers) {
    let (mut request, mut chunk) = (Vec::new(), [0; 4096]);
    while !request.windows(4).any(|w| w == b"\r\n\r\n") {
        match stream.read(&mut chunk).await {
            Ok(n) if n > 0 => request.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            _ => return,
        }
    }
    // The version of the interface is agreed upon first.
    let asks_version = request.windows(8).any(|w| w == b"/version");
    let answer = if asks_version { b"\0{\"ApiVersion\":\"1.47\"}".to_vec() } else { next(&answers) };
    let (kind, body) = answer.split_first().unwrap_or((&0, &[]));
    let status = match kind % 6 {
        5 => {
            let _ = stream.write_all(body).await;
            return;
        }
        n => ["200 OK", "404 Not Found", "409 Conflict", "500 Internal Server Error", "204 No Content"]
            .get(usize::from(n))
            .copied()
            .unwrap_or_default(),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
}

/// The answers of a container daemon, each with its length in front.
pub(crate) fn docker(data: &[u8]) -> bool {
    static DAEMON: OnceLock<Program> = OnceLock::new();
    let daemon = DAEMON.get_or_init(|| Program::new("docker", docker_answer));
    let mut pieces = Pieces(data);
    let mut answers = Vec::new();
    while let Some(answer) = pieces.part() {
        answers.push(answer.to_vec());
    }
    daemon.will_answer(answers);
    let endpoint = format!("unix://{}", daemon.socket.display());
    daemon.runtime.block_on(encamp_client::drivers::docker::ask(&endpoint))
}

/// Answers calls of a storage plugin: the first byte is the status, the second one says whether the rest is a message or
/// the bytes with its prefix.
async fn csi_answer(stream: UnixStream, answers: Answers) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let answers = answers.clone();
        async move {
            let _ = request.into_body().collect().await;
            let answer = next(&answers);
            let mut pieces = Pieces(&answer);
            let (status, raw) = (pieces.byte() % 17, pieces.byte() % 2 == 1);
            let mut body = Vec::new();
            if !raw {
                body.push(0);
                body.extend(u32::try_from(pieces.0.len()).unwrap_or(u32::MAX).to_be_bytes());
            }
            body.extend_from_slice(pieces.0);
            let mut trailers = HeaderMap::new();
            trailers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from(u16::from(status)));
            if let Ok(text) = HeaderValue::from_bytes(pieces.0.get(..64).unwrap_or(pieces.0)) {
                trailers.insert(HeaderName::from_static("grpc-message"), text);
            }
            let body = Full::new(Bytes::from(body)).with_trailers(async { Some(Ok::<_, Infallible>(trailers)) });
            let mut response = hyper::Response::new(Box::pin(body));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
            Ok::<_, Infallible>(response)
        }
    });
    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

/// The answers of a storage plugin to one kind of call, which the first byte chooses, each with its length in front.
pub(crate) fn csi(data: &[u8]) -> bool {
    static PLUGIN: OnceLock<(Program, Plugin)> = OnceLock::new();
    let (program, plugin) = PLUGIN.get_or_init(|| {
        let program = Program::new("csi", csi_answer);
        let limit = Duration::from_secs(20);
        let limits = Limits { question: limit, operation: limit, entries: 1000, ..Limits::default() };
        let plugin = Plugin::new(&program.socket, limits);
        (program, plugin)
    });
    let mut pieces = Pieces(data);
    let call = pieces.byte() % 9;
    let mut answers = Vec::new();
    while let Some(answer) = pieces.part() {
        answers.push(answer.to_vec());
    }
    program.will_answer(answers);
    program.runtime.block_on(ask(plugin, call))
}

async fn ask(plugin: &Plugin, call: u8) -> bool {
    let volume = VolumeId::new("v");
    let failed = match call {
        0 => plugin.probe().await.err(),
        1 => plugin.plugin_info().await.err(),
        2 => plugin.plugin_capabilities().await.err(),
        3 => plugin.controller_capabilities().await.err(),
        4 => plugin.node_capabilities().await.err(),
        5 => plugin.node_info().await.err(),
        6 => plugin.list_volumes(PageRequest::default()).await.err(),
        7 => plugin.list_snapshots(ListSnapshots::default()).await.err(),
        _ => plugin.delete_volume(&volume, Default::default()).await.err(),
    };
    let Some(error) = failed else { return true };
    assert!(error.to_string().len() < 16 << 10, "a text of a plugin is passed on whole");
    false
}

/// A file of a network with its length in front, and what its plugins print.
pub(crate) fn network(data: &[u8]) -> bool {
    let mut pieces = Pieces(data);
    let file = pieces.part().unwrap_or_default();
    encamp_client::network::read_foreign(file, pieces.0)
}
