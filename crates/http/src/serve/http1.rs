//! HTTP/1.1 on accepted connections: what the port of the HTTP API speaks (`docs/spec/http-api.md §1.1`).
//!
//! Connections beyond the limit of their address get one raw answer, at a bounded rate. `turn` says whether client or
//! server has the turn on a connection.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::listener::{Connection, Duplex, Failure, Protocol, Stopped};
use super::turn::{Closing, Turn};
use encamp_client::task_api::TaskName;
use encamp_model::token_bucket::TokenBucket;
use encamp_telemetry::Metrics;

const REFUSAL: &str = "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
/// Refusals in a second, and at once.
const REFUSALS: (f64, f64) = (10.0, 100.0);
/// Longest time from the first byte of a request to the end of its head.
const HEAD: Duration = Duration::from_secs(30);

/// Additional headers of answers.
pub type Headers = Vec<(HeaderName, HeaderValue)>;

/// Where a connection comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This address.
    Address(IpAddr),
    /// A task of this node, on its own socket.
    Task(Arc<TaskName>),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Some(address) => address.fmt(f),
            None => self.origin.fmt(f),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Address(address) => address.fmt(f),
            Origin::Task(task) => task.fmt(f),
        }
    }
}

/// The peer of a connection; handlers get it by `ConnectInfo<Peer>`.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where the connection comes from.
    pub origin: Origin,
    /// Its address, with the port; none for a task.
    pub address: Option<SocketAddr>,
    /// The certificate it showed, in DER; with `verify_https_client` there always is one.
    pub certificate: Option<Arc<[u8]>>,
    /// Whether it waits for an answer.
    turn: Turn,
}

/// The protocol of the HTTP API.
pub struct Http1 {
    router: Router,
    metrics: Metrics,
    /// The time that refusals are counted from.
    begun: Instant,
    refusals: Mutex<TokenBucket>,
}

impl Http1 {
    /// Answers by a router; every answer below `/v1/` gets the headers.
    pub fn new(router: Router, headers: Headers, metrics: Metrics) -> Http1 {
        let router = router.layer(middleware::from_fn_with_state(Arc::new(headers), add_headers));
        let router = router.layer(middleware::from_fn(take_turns));
        let refusals = Mutex::new(TokenBucket::per_second(REFUSALS.0, REFUSALS.1));
        Http1 { router, metrics, begun: Instant::now(), refusals }
    }

    /// Whether one more refusal may be answered.
    fn may_refuse(&self, now: Instant) -> bool {
        let nanos = now.saturating_duration_since(self.begun).as_nanos();
        let mut refusals = self.refusals.lock();
        refusals.try_take(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl Protocol for Http1 {
    fn counted(&self, open: usize) {
        self.metrics.gauge("nomad.agent.http.connections", open as f64, &[]);
    }

    fn refuse(&self, connection: TcpStream, _: SocketAddr) -> Option<BoxFuture<'static, ()>> {
        self.metrics.count("nomad.agent.http.exceeded", 1, &[]);
        if self.may_refuse(Instant::now()) { Some(Box::pin(refuse(connection))) } else { None }
    }

    fn failed(&self, failure: Failure) {
        match failure {
            Failure::Accept(e) => tracing::error!(target: "http", error = %e, "cannot accept a connection"),
            Failure::Handshake(address, e) => {
                tracing::debug!(target: "http", from = %address, error = %e, "TLS handshake failed");
            }
        }
    }

    fn serve(self: Arc<Self>, connection: Connection, mut stopped: Stopped) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Connection { stream, address, certificate, place, .. } = connection;
            let certificate = certificate.map(|c| Arc::from(c.as_ref()));
            let peer = Peer {
                origin: Origin::Address(address.ip()),
                address: Some(address),
                certificate,
                turn: Turn::default(),
            };
            self.serve_stream(stream, peer, Box::new(place), stopped.wait()).await;
        })
    }
}

impl Peer {
    /// A task on its own socket.
    pub(crate) fn of_task(task: Arc<TaskName>) -> Peer {
        Peer { origin: Origin::Task(task), address: None, certificate: None, turn: Turn::default() }
    }
}

impl Http1 {
    /// Serves a connection until it is closed; its open requests end once `stopped` does. `place` is dropped with the
    /// connection.
    pub(crate) async fn serve_stream(
        &self,
        stream: Box<dyn Duplex>,
        peer: Peer,
        place: Box<dyn Send>,
        stopped: impl Future<Output = ()>,
    ) {
        let io = TokioIo::new(Turned::new(stream, peer.turn.clone(), place));
        let router = TowerToHyperService::new(self.router.clone());
        let answer = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(peer.clone()));
            router.call(request)
        });
        let mut serving = std::pin::pin!(http1::Builder::new().serve_connection(io, answer).with_upgrades());
        tokio::select! {
            // Errors are those of the client or of its network.
            _ = serving.as_mut() => return,
            () = stopped => serving.as_mut().graceful_shutdown(),
        }
        let _ = serving.await;
    }
}

/// Notes from when to when the client waits for its answer.
async fn take_turns(request: Request, next: Next) -> Response {
    let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<Peer>>() else {
        return next.run(request).await;
    };
    let turn = peer.turn.clone();
    let ours = turn.ours();
    let response = next.run(request.map(|body| turn.asked(body))).await;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        turn.free();
    }
    response.map(|body| ours.until_sent(body))
}

async fn add_headers(
    State(headers): State<Arc<Vec<(HeaderName, HeaderValue)>>>,
    request: Request,
    next: Next,
) -> Response {
    let wanted = request.uri().path().starts_with("/v1/");
    let mut response = next.run(request).await;
    if wanted {
        for (name, value) in headers.iter() {
            response.headers_mut().insert(name.clone(), value.clone());
        }
    }
    response
}

/// Says that there are too many connections, without reading what was asked.
async fn refuse(mut stream: TcpStream) {
    let answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{REFUSAL}",
        REFUSAL.len()
    );
    let say = async {
        if stream.write_all(answer.as_bytes()).await.is_ok() {
            let _ = stream.shutdown().await;
            // Closing with unread bytes would reset the connection and take the answer with it.
            let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), say).await;
}

/// A connection that knows whose turn it is.
struct Turned {
    io: Box<dyn Duplex>,
    closing: Closing,
    turn: Turn,
    /// Until when the head of a request has to be there, once it has begun.
    head: Option<Pin<Box<Sleep>>>,
    _place: Box<dyn Send>,
}

impl Turned {
    fn new(io: Box<dyn Duplex>, turn: Turn, place: Box<dyn Send>) -> Turned {
        Turned { io, closing: Closing::new(turn.clone()), turn, head: None, _place: place }
    }

    /// Whether the head of a request is taking too long. Wakes the reader when it will.
    fn late(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.turn.begun() {
            self.head = None;
            return false;
        }
        self.head.get_or_insert_with(|| Box::pin(sleep(HEAD))).as_mut().poll(cx).is_ready()
    }
}

impl AsyncRead for Turned {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        if own.late(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let Turned { io, closing, .. } = own;
        let done = closing.poll_read(cx, buf, |cx, buf| Pin::new(io).poll_read(cx, buf));
        if done.is_pending() && own.late(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl AsyncWrite for Turned {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::listener::{AcceptSettings, Listener, Serving};
    use axum::routing::get;
    use tokio::io::AsyncReadExt;

    async fn start(settings: AcceptSettings, headers: Headers) -> (SocketAddr, Serving, Metrics) {
        let metrics = Metrics::default();
        let listener = Listener::bind(&[SocketAddr::from(([127, 0, 0, 1], 0))]).await.expect("a port");
        let address = listener.addresses()[0];
        let router = Router::new()
            .route("/v1/peer", get(|ConnectInfo(peer): ConnectInfo<Peer>| async move { peer.origin.to_string() }))
            .route("/x", get(|| async { "x" }));
        let protocol = Arc::new(Http1::new(router, headers, metrics.clone()));
        (address, listener.serve(protocol, settings), metrics)
    }

    async fn ask(stream: &mut TcpStream, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.expect("written");
        rest(stream).await
    }

    async fn rest(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        let read = stream.read_to_string(&mut text);
        tokio::time::timeout(Duration::from_secs(20), read).await.expect("in time").expect("an answer");
        text
    }

    #[tokio::test]
    async fn handlers_know_the_peer_and_answers_get_headers() {
        let header = (HeaderName::from_static("x-extra"), HeaderValue::from_static("1"));
        let (address, serving, _) = start(AcceptSettings::default(), vec![header]).await;
        let connect = || TcpStream::connect(address);
        let got = ask(&mut connect().await.expect("a connection"), "/v1/peer").await;
        assert!(
            got.starts_with("HTTP/1.1 200 OK") && got.contains("x-extra: 1") && got.ends_with("127.0.0.1"),
            "{got}"
        );
        let got = ask(&mut connect().await.expect("a connection"), "/x").await;
        assert!(!got.contains("x-extra"), "{got}");
        let got = ask(&mut connect().await.expect("a connection"), "/v1/nosuch").await;
        assert!(got.starts_with("HTTP/1.1 404") && got.contains("x-extra: 1"), "{got}");
        serving.stop().await;
        assert!(connect().await.is_err(), "nothing listens any more");
    }

    #[tokio::test]
    async fn too_many_connections_get_a_raw_answer() {
        let settings = AcceptSettings { max_connections_per_client: 2, ..AcceptSettings::default() };
        let (address, _serving, metrics) = start(settings, Headers::new()).await;
        let connect = || async { TcpStream::connect(address).await.expect("a connection") };
        let (first, mut second) = (connect().await, connect().await);
        let refused = rest(&mut connect().await).await;
        assert!(refused.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{refused}");
        assert!(
            refused.ends_with(
                "\r\n\r\nYour IP is issuing too many concurrent connections, please rate limit your calls\n"
            )
        );
        assert!(ask(&mut second, "/x").await.ends_with('x'));
        drop((first, second));
        let served = async {
            loop {
                let mut stream = connect().await;
                // A refused connection may be closed before the request is written.
                let _ = stream.write_all(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
                let mut text = String::new();
                if stream.read_to_string(&mut text).await.is_ok() && text.starts_with("HTTP/1.1 200") {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), served).await.expect("slots are released");
        assert!(metrics.prometheus().expect("kept").contains("nomad_nomad_agent_http_exceeded "));
    }

    #[tokio::test]
    async fn http_2_is_not_spoken() {
        let (address, _serving, _) = start(AcceptSettings::default(), Headers::new()).await;
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        stream.write_all(&[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..]].concat()).await.expect("written");
        stream.shutdown().await.expect("the end");
        let mut got = Vec::new();
        // The connection may be reset instead.
        let _ = stream.read_to_end(&mut got).await;
        assert!(got.is_empty() || got.starts_with(b"HTTP/1.1 400"), "{got:?}");
    }

    #[test]
    fn refusals_are_answered_at_a_bounded_rate() {
        let http = Http1::new(Router::new(), Headers::new(), Metrics::default());
        let now = Instant::now();
        assert_eq!((0..500).filter(|_| http.may_refuse(now)).count(), 100);
        let later = now + Duration::from_secs(2);
        assert_eq!((0..500).filter(|_| http.may_refuse(later)).count(), 20);
    }
}
