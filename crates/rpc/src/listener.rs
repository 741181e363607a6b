//! The listener of the RPC port.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::tls;

/// Calls that one connection may have open. Blocking ones are open for minutes.
const STREAMS: u32 = 4096;
/// Longest head of a request, in bytes.
const LONGEST_HEAD: u32 = 16 << 10;
/// The data that a connection may send before it is read, in bytes: of one call, and of all.
const WINDOWS: (u32, u32) = (256 << 10, 1 << 20);
/// An idle connection is pinged after the first time, and closed if no pong arrives within the second.
const PING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));
/// How long open calls may go on when the listener stops.
const GRACE: Duration = Duration::from_millis(500);

/// The peer of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// The address.
    pub address: SocketAddr,
    /// The names in its certificate; `None` without TLS.
    pub names: Option<Arc<[String]>>,
}

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    /// A connection was taken in.
    fn accepted(&self) {}

    /// One request; the answer's body may be a stream.
    fn answer(self: Arc<Self>, peer: Peer, request: Request<Body>) -> BoxFuture<'static, Response<Body>>;
}

/// How connections are taken in.
#[derive(Clone, Default)]
pub struct ListenerSettings {
    /// TLS, if it is spoken.
    pub tls: Option<Arc<ServerConfig>>,
    /// Longest TLS handshake (`limits.rpc_handshake_timeout`); 0 for no limit.
    pub handshake_timeout: Duration,
    /// Connections from one address (`limits.rpc_max_conns_per_client`); 0 for no limit.
    pub max_connections_per_client: usize,
}

/// A socket that listens.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// Binds an address.
    ///
    /// # Errors
    /// The system's, with the address.
    pub async fn bind(address: SocketAddr) -> io::Result<Listener> {
        let bound = TcpListener::bind(address).await;
        bound.map(Listener).map_err(|e| io::Error::new(e.kind(), format!("listen tcp {address}: {e}")))
    }

    /// The address, with the port that was chosen where 0 was asked for.
    ///
    /// # Errors
    /// The system's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Serves until [`Serving::stop`].
    pub fn serve(self, handler: Arc<dyn Handler>, settings: ListenerSettings) -> Serving {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(self.0, handler, settings, stopped));
        Serving { stop, tasks }
    }
}

/// A listener that serves.
pub struct Serving {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Serving {
    /// Takes in no more connections, lets open calls end for a moment, and closes what is left.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(GRACE, all).await;
        self.tasks.abort_all();
    }
}

type Counts = Arc<Mutex<HashMap<IpAddr, usize>>>;

/// A connection slot of an address, released when the connection closes.
struct Place(Counts, IpAddr);

impl Place {
    fn take(counts: &Counts, ip: IpAddr, limit: usize) -> Option<Place> {
        let mut open = counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(ip).or_default();
        if limit > 0 && *count >= limit {
            return None;
        }
        *count += 1;
        Some(Place(counts.clone(), ip))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.1);
            }
        }
    }
}

async fn accept(
    socket: TcpListener,
    handler: Arc<dyn Handler>,
    settings: ListenerSettings,
    mut stopped: watch::Receiver<bool>,
) {
    let counts = Counts::default();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            _ = stopped.wait_for(|s| *s) => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let _ = stream.set_nodelay(true);
                handler.accepted();
                let Some(place) = Place::take(&counts, peer.ip(), settings.max_connections_per_client) else {
                    tracing::warn!(target: "rpc", from = %peer.ip(), "too many connections from one address");
                    continue;
                };
                let (handler, settings, stopped) = (handler.clone(), settings.clone(), stopped.clone());
                connections.spawn(async move {
                    let _place = place;
                    if let Err(error) = connection(stream, peer, handler, &settings, stopped).await {
                        tracing::debug!(target: "rpc", from = %peer, %error, "a connection broke");
                    }
                });
            }
            Err(e) => {
                tracing::error!(target: "rpc", error = %e, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    // The socket is closed before the last calls end: others go elsewhere.
    drop(socket);
    while connections.join_next().await.is_some() {}
}

/// Why a connection ended early.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    /// The TLS handshake failed.
    #[error(transparent)]
    Handshake(#[from] io::Error),
    /// The HTTP/2 connection failed.
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    handler: Arc<dyn Handler>,
    settings: &ListenerSettings,
    stopped: watch::Receiver<bool>,
) -> Result<(), ConnectionError> {
    let Some(tls) = &settings.tls else {
        return serve(stream, Peer { address: peer, names: None }, handler, stopped).await;
    };
    let accepting = TlsAcceptor::from(tls.clone()).accept(stream);
    let accepted = match settings.handshake_timeout {
        Duration::ZERO => accepting.await,
        limit => tokio::time::timeout(limit, accepting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
    };
    let accepted = accepted?;
    let certificate = accepted.get_ref().1.peer_certificates().and_then(|c| c.first());
    let names = certificate.map_or_else(Vec::new, tls::names);
    serve(accepted, Peer { address: peer, names: Some(names.into()) }, handler, stopped).await
}

async fn serve<S>(
    stream: S,
    peer: Peer,
    handler: Arc<dyn Handler>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), ConnectionError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = handler.clone().answer(peer.clone(), request.map(Body::new));
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    builder.keep_alive_interval(PING.0).keep_alive_timeout(PING.1);
    builder.max_header_list_size(LONGEST_HEAD);
    builder.initial_stream_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        done = serving.as_mut() => return Ok(done?),
        _ = stopped.wait_for(|s| *s) => serving.as_mut().graceful_shutdown(),
    }
    Ok(serving.await?)
}

#[cfg(test)]
mod tests {
    use super::super::rules::{INTERFACE, Rule, Ruled};
    use super::*;
    use crate::calls::{Call, Ping};
    use crate::pool::{Pool, PoolSettings};
    use crate::wire::{self, CallError};
    use encamp_server::Error;

    /// Gives back what it got.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Say(String);

    impl Ruled for Say {
        const RULE: Rule = INTERFACE;
    }

    impl Call for Say {
        const METHOD: &'static str = "Echo";
        type Result = String;
    }

    /// Asks for what nobody answers.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Never;

    impl Ruled for Never {
        const RULE: Rule = INTERFACE;
    }

    impl Call for Never {
        const METHOD: &'static str = "Never";
        type Result = ();
    }

    struct Echo;

    impl Handler for Echo {
        fn answer(self: Arc<Self>, _: Peer, request: Request<Body>) -> BoxFuture<'static, Response<Body>> {
            Box::pin(async move {
                let method = wire::method(request.uri().path()).unwrap_or_default().to_string();
                let bytes = wire::whole(request.into_body()).await.expect("a body");
                match method.as_str() {
                    "Echo" => wire::response::<Say>(wire::read::<Say>(&bytes).map(|s| s.0)),
                    "Never" => std::future::pending().await,
                    other => wire::refusal(Error::not_found(format!("no method {other}"))),
                }
            })
        }
    }

    async fn start(settings: ListenerSettings) -> (String, Serving) {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a port");
        let address = listener.address().expect("an address").to_string();
        (address, listener.serve(Arc::new(Echo), settings))
    }

    async fn echo(pool: &Pool, address: &str, text: &str) -> Result<String, CallError> {
        pool.call(address, &Say(text.into())).await
    }

    #[tokio::test]
    async fn calls_go_there_and_back() {
        let (address, _serving) = start(ListenerSettings::default()).await;
        let pool = Pool::new(PoolSettings::default());
        let long = "x".repeat(3 << 20);
        let (a, b) = tokio::join!(echo(&pool, &address, "one"), echo(&pool, &address, &long));
        assert_eq!((a.expect("an answer").as_str(), b.expect("an answer").len()), ("one", long.len()));
        let refused = pool.call(&address, &Ping {}).await.expect_err("refused");
        assert_eq!(refused, CallError::Refused(Error::not_found("no method Status.Ping")));
        let limit = Duration::from_millis(50);
        let late = pool.call_within(limit, &address, &Never).await.expect_err("late");
        assert!(matches!(late, CallError::Lost(_)), "{late}");
    }

    #[tokio::test]
    async fn connections_are_made_anew_when_the_other_side_was_away() {
        let (address, serving) = start(ListenerSettings::default()).await;
        let pool = Pool::new(PoolSettings::default());
        assert_eq!(echo(&pool, &address, "a").await.as_deref(), Ok("a"));
        serving.stop().await;
        let gone = echo(&pool, &address, "b").await.expect_err("gone");
        assert!(!matches!(gone, CallError::Refused(_)), "{gone}");
        let again = Listener::bind(address.parse().expect("an address")).await.expect("the same port");
        let _serving = again.serve(Arc::new(Echo), ListenerSettings::default());
        assert_eq!(echo(&pool, &address, "c").await.as_deref(), Ok("c"));
    }

    #[tokio::test]
    async fn an_address_has_only_so_many_connections() {
        let (address, _serving) =
            start(ListenerSettings { max_connections_per_client: 1, ..ListenerSettings::default() }).await;
        let (first, second) = (Pool::new(PoolSettings::default()), Pool::new(PoolSettings::default()));
        assert!(echo(&first, &address, "a").await.is_ok());
        assert!(echo(&second, &address, "b").await.is_err());
        drop(first);
        let served = async { while echo(&second, &address, "c").await.is_err() {} };
        tokio::time::timeout(Duration::from_secs(20), served).await.expect("slots are released");
    }
}
