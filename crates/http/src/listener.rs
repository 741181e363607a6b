//! The listener of the HTTP interface: sockets, limits of connections, TLS (`docs/spec/http-api.md §1.1, §11`).
//!
//! HTTP/1.1 only. Connections are counted by the address they come from; those beyond the limit get one raw answer.
//! With TLS, handshakes run beside each other and have a time limit. Certificates are exchanged while running by
//! [`TlsHandle::set`].

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::serve::IncomingStream;
use parking_lot::{Mutex, RwLock};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::turn::{Closing, Turn};
use encamp_telemetry::Metrics;

const REFUSAL: &str = "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
/// Refusals in a second, and at once.
const REFUSALS: (f64, f64) = (10.0, 100.0);
/// Longest time from the first byte of a request to the end of its head.
const HEAD: Duration = Duration::from_secs(30);
/// How long open requests may go on when the listener stops.
const GRACE: Duration = Duration::from_millis(500);

/// How connections are taken in.
#[derive(Clone, Default)]
pub struct ListenerSettings {
    /// Connections from one address; 0 for no limit.
    pub max_connections_per_client: usize,
    /// Longest TLS handshake; 0 for no limit.
    pub handshake_timeout: Duration,
    /// TLS, if it is spoken.
    pub tls: Option<TlsHandle>,
    /// Headers that every answer below `/v1/` gets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// The TLS settings of a listener that runs.
#[derive(Clone)]
pub struct TlsHandle(Arc<RwLock<Arc<ServerConfig>>>);

impl TlsHandle {
    /// A handle on settings.
    pub fn new(config: Arc<ServerConfig>) -> TlsHandle {
        TlsHandle(Arc::new(RwLock::new(config)))
    }

    /// New settings, for new connections.
    pub fn set(&self, config: Arc<ServerConfig>) {
        *self.0.write() = config;
    }

    fn get(&self) -> Arc<ServerConfig> {
        self.0.read().clone()
    }
}

/// The peer of a connection; handlers get it by `ConnectInfo<Peer>`.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The certificate it showed, in DER; with `verify_https_client` there always is one.
    pub certificate: Option<Arc<[u8]>>,
    /// Whether it waits for an answer.
    turn: Turn,
}

/// Sockets that listen.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Binds all addresses. The error names the one that failed.
    pub async fn bind(addresses: &[SocketAddr]) -> io::Result<Listener> {
        let mut sockets = Vec::new();
        for address in addresses {
            let socket = TcpListener::bind(address).await;
            sockets.push(
                socket.map_err(|e| io::Error::new(e.kind(), format!("listen tcp {address}: {}", bind_reason(&e))))?,
            );
        }
        Ok(Listener { sockets })
    }

    /// The addresses, with the ports that were chosen where 0 was asked for.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|s| s.local_addr().ok()).collect()
    }

    /// Serves until [`Serving::stop`]. Must be called inside of a runtime.
    pub fn serve(self, router: Router, settings: ListenerSettings, metrics: Metrics) -> Serving {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let router = router.layer(middleware::from_fn_with_state(Arc::new(settings.headers.clone()), add_headers));
        let router = router.layer(middleware::from_fn(take_turns));
        let gate = Arc::new(Gate { limit: settings.max_connections_per_client, ..Gate::default() });
        for socket in self.sockets {
            let Ok(local) = socket.local_addr() else { continue };
            // Connections that are ready wait here only until the next task takes them.
            let (sender, ready) = mpsc::channel(64);
            let acceptor =
                Acceptor { settings: settings.clone(), gate: gate.clone(), metrics: metrics.clone(), sender };
            tasks.spawn(acceptor.run(socket, stopped.clone()));
            let service = router.clone().into_make_service_with_connect_info::<Peer>();
            let mut until = stopped.clone();
            let signal = async move {
                let _ = until.wait_for(|s| *s).await;
            };
            tasks.spawn(async move {
                let served = axum::serve(Ready { local, ready }, service).with_graceful_shutdown(signal).await;
                if let Err(e) = served {
                    tracing::error!(target: "http", error = %e, "the listener ended");
                }
            });
        }
        Serving { stop, tasks }
    }
}

/// A system's error as Nomad words it.
fn bind_reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::AddrInUse => "bind: address already in use".into(),
        io::ErrorKind::AddrNotAvailable => "bind: cannot assign requested address".into(),
        io::ErrorKind::PermissionDenied => "bind: permission denied".into(),
        _ => format!("bind: {e}"),
    }
}

/// A listener that serves.
pub struct Serving {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Serving {
    /// Takes in no more connections, lets open requests end for a moment, and closes what is left.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Anything still open then is a stream that never ends by itself.
        let _ = tokio::time::timeout(GRACE, all).await;
        self.tasks.abort_all();
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

/// Counts connections and refusals.
#[derive(Default)]
struct Gate {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    by_ip: HashMap<IpAddr, usize>,
    total: usize,
    /// Refusals that may be answered now, and since when more have been earned; none before the first.
    tokens: Option<(f64, Instant)>,
}

/// A connection slot, released when the connection closes.
struct Place {
    gate: Arc<Gate>,
    ip: IpAddr,
    metrics: Metrics,
}

impl Gate {
    fn enter(self: &Arc<Gate>, ip: IpAddr, metrics: &Metrics) -> Option<Place> {
        let mut open = self.open.lock();
        let count = open.by_ip.entry(ip).or_default();
        if self.limit > 0 && *count >= self.limit {
            return None;
        }
        *count += 1;
        open.total += 1;
        metrics.gauge("nomad.agent.http.connections", open.total as f64, &[]);
        Some(Place { gate: self.clone(), ip, metrics: metrics.clone() })
    }

    /// Whether one more refusal may be answered.
    fn may_answer(&self, now: Instant) -> bool {
        let (rate, burst) = REFUSALS;
        let mut open = self.open.lock();
        let (left, since) = open.tokens.unwrap_or((burst, now));
        let left = (left + now.saturating_duration_since(since).as_secs_f64() * rate).min(burst);
        let answer = left >= 1.0;
        open.tokens = Some((if answer { left - 1.0 } else { left }, now));
        answer
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.gate.open.lock();
        open.total = open.total.saturating_sub(1);
        if let Some(count) = open.by_ip.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                open.by_ip.remove(&self.ip);
            }
        }
        self.metrics.gauge("nomad.agent.http.connections", open.total as f64, &[]);
    }
}

/// Takes connections in and makes them ready.
struct Acceptor {
    settings: ListenerSettings,
    gate: Arc<Gate>,
    metrics: Metrics,
    sender: mpsc::Sender<(Connection, Peer)>,
}

impl Acceptor {
    async fn run(self, socket: TcpListener, mut stopped: watch::Receiver<bool>) {
        let mut handshakes = JoinSet::new();
        loop {
            while handshakes.try_join_next().is_some() {}
            let accepted = tokio::select! {
                accepted = socket.accept() => accepted,
                _ = stopped.wait_for(|s| *s) => return,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(e) if gone(&e) => continue,
                Err(e) => {
                    // Out of descriptors or memory: others have to end first.
                    tracing::error!(target: "http", error = %e, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let Some(place) = self.gate.enter(address.ip(), &self.metrics) else {
                self.metrics.count("nomad.agent.http.exceeded", 1, &[]);
                if self.gate.may_answer(Instant::now()) {
                    handshakes.spawn(refuse(stream));
                }
                continue;
            };
            match &self.settings.tls {
                None => {
                    let peer = Peer { address, certificate: None, turn: Turn::default() };
                    let connection = Connection::new(Io::Plain(stream), &peer, place);
                    if self.sender.send((connection, peer)).await.is_err() {
                        return;
                    }
                }
                Some(tls) => {
                    let accept = TlsAcceptor::from(tls.get()).accept(stream);
                    handshakes.spawn(handshake(
                        accept,
                        address,
                        place,
                        self.settings.handshake_timeout,
                        self.sender.clone(),
                    ));
                }
            }
        }
    }
}

/// Whether only that connection failed.
fn gone(e: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(e.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
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

async fn handshake(
    accept: tokio_rustls::Accept<TcpStream>,
    address: SocketAddr,
    place: Place,
    limit: Duration,
    sender: mpsc::Sender<(Connection, Peer)>,
) {
    let done = if limit.is_zero() {
        accept.await
    } else {
        tokio::time::timeout(limit, accept).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    };
    match done {
        Ok(stream) => {
            let first = stream.get_ref().1.peer_certificates().and_then(|c| c.first());
            let certificate = first.map(|c| Arc::from(c.as_ref()));
            let peer = Peer { address, certificate, turn: Turn::default() };
            let connection = Connection::new(Io::Tls(Box::new(stream)), &peer, place);
            // Nobody takes it any more when the listener stops.
            let _ = sender.send((connection, peer)).await;
        }
        Err(e) => tracing::debug!(target: "http", from = %address, error = %e, "TLS handshake failed"),
    }
}

/// Connections that are ready, in axum's form.
struct Ready {
    local: SocketAddr,
    ready: mpsc::Receiver<(Connection, Peer)>,
}

impl axum::serve::Listener for Ready {
    type Io = Connection;
    type Addr = Peer;

    async fn accept(&mut self) -> (Connection, Peer) {
        match self.ready.recv().await {
            Some(next) => next,
            // The listener stops; axum hears of it by its own signal.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<Peer> {
        Ok(Peer { address: self.local, certificate: None, turn: Turn::default() })
    }
}

impl Connected<IncomingStream<'_, Ready>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Ready>) -> Peer {
        stream.remote_addr().clone()
    }
}

/// A connection, and its place among those of its client.
struct Connection {
    io: Io,
    closing: Closing,
    turn: Turn,
    /// Until when the head of a request has to be there, once it has begun.
    head: Option<Pin<Box<Sleep>>>,
    _place: Place,
}

impl Connection {
    fn new(io: Io, peer: &Peer, place: Place) -> Connection {
        let turn = peer.turn.clone();
        Connection { io, closing: Closing::new(turn.clone()), turn, head: None, _place: place }
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

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let own = self.get_mut();
        if own.late(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        let Connection { io, closing, .. } = own;
        let read = |cx: &mut Context<'_>, buf: &mut ReadBuf<'_>| match io {
            Io::Plain(s) => Pin::new(s).poll_read(cx, buf),
            Io::Tls(s) => Pin::new(s).poll_read(cx, buf),
        };
        let done = closing.poll_read(cx, buf, read);
        if done.is_pending() && own.late(cx) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        done
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_write(cx, buf),
            Io::Tls(s) => Pin::new(s).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_flush(cx),
            Io::Tls(s) => Pin::new(s).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_shutdown(cx),
            Io::Tls(s) => Pin::new(s).poll_shutdown(cx),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.io {
            Io::Plain(s) => s.is_write_vectored(),
            Io::Tls(s) => s.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.get_mut().io {
            Io::Plain(s) => Pin::new(s).poll_write_vectored(cx, bufs),
            Io::Tls(s) => Pin::new(s).poll_write_vectored(cx, bufs),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use tokio::io::AsyncReadExt;

    async fn start(settings: ListenerSettings) -> (SocketAddr, Serving, Metrics) {
        let metrics = Metrics::default();
        let listener = Listener::bind(&[SocketAddr::from(([127, 0, 0, 1], 0))]).await.expect("a port");
        let address = listener.addresses()[0];
        let router = Router::new()
            .route("/v1/peer", get(|ConnectInfo(peer): ConnectInfo<Peer>| async move { peer.address.ip().to_string() }))
            .route("/x", get(|| async { "x" }));
        (address, listener.serve(router, settings, metrics.clone()), metrics)
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
        let (address, serving, _) =
            start(ListenerSettings { headers: vec![header], ..ListenerSettings::default() }).await;
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
        let settings = ListenerSettings { max_connections_per_client: 2, ..ListenerSettings::default() };
        let (address, _serving, metrics) = start(settings).await;
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

    #[test]
    fn refusals_are_answered_at_a_bounded_rate() {
        let gate = Gate::default();
        let now = Instant::now();
        assert_eq!((0..500).filter(|_| gate.may_answer(now)).count(), 100);
        let later = now + Duration::from_secs(2);
        assert_eq!((0..500).filter(|_| gate.may_answer(later)).count(), 20);
    }

    #[tokio::test]
    async fn a_port_in_use_is_named() {
        let first = Listener::bind(&[SocketAddr::from(([127, 0, 0, 1], 0))]).await.expect("a port");
        let address = first.addresses()[0];
        let error = Listener::bind(&[address]).await.expect_err("in use").to_string();
        assert_eq!(error, format!("listen tcp {address}: bind: address already in use"));
    }
}
