//! HTTP/2 on accepted connections: what the RPC port speaks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::tls;
use encamp_http::serve::listener::{Connection, Failure, Protocol, Stopped};

/// Bytes of header values that both ends of a connection remember. A node calls a few times in minutes: remembered
/// values would be most of what a connection takes.
pub(crate) const HEADER_TABLE: u32 = 0;
/// Calls that one connection may have open. Blocking ones are open for minutes.
const STREAMS: u32 = 4096;
/// Longest head of a request, in bytes.
const LONGEST_HEAD: u32 = 16 << 10;
/// The data that a connection may send before it is read, in bytes: of one call, and of all.
const WINDOWS: (u32, u32) = (256 << 10, 1 << 20);
/// An idle connection is pinged after the first time, and closed if no pong arrives within the second.
const PING: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(20));

/// How long the open calls of a connection may go on that has to end: blocking calls take minutes. A peer that goes on
/// with new calls cannot keep it longer.
const LAST_CALLS: Duration = Duration::from_secs(600);

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

/// The protocol of the RPC port.
pub struct Http2(pub Arc<dyn Handler>);

impl Protocol for Http2 {
    fn accepted(&self) {
        self.0.accepted();
    }

    fn refuse(&self, _: TcpStream, from: SocketAddr) -> Option<BoxFuture<'static, ()>> {
        tracing::warn!(target: "rpc", from = %from.ip(), "too many connections from one address");
        None
    }

    fn failed(&self, failure: Failure) {
        match failure {
            Failure::Accept(e) => tracing::error!(target: "rpc", error = %e, "cannot accept a connection"),
            Failure::Handshake(from, error) => broken(from, &error),
        }
    }

    fn serve(self: Arc<Self>, connection: Connection, stopped: Stopped) -> BoxFuture<'static, ()> {
        let handler = self.0.clone();
        Box::pin(async move {
            let from = connection.address;
            if let Err(error) = serve(connection, handler, stopped).await {
                broken(from, &error);
            }
        })
    }
}

fn broken(from: SocketAddr, error: &dyn std::error::Error) {
    tracing::debug!(target: "rpc", from = %from.ip(), %error, "a connection broke");
}

async fn serve(connection: Connection, handler: Arc<dyn Handler>, mut stopped: Stopped) -> Result<(), hyper::Error> {
    let Connection { stream, address, tls, certificate, place: _place } = connection;
    let names = tls.then(|| certificate.as_ref().map_or_else(Vec::new, tls::names).into());
    let peer = Peer { address, names };
    let answer = service_fn(move |request: Request<Incoming>| {
        let answer = handler.clone().answer(peer.clone(), request.map(Body::new));
        async move { Ok::<_, std::convert::Infallible>(answer.await) }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.timer(TokioTimer::new()).max_concurrent_streams(STREAMS);
    builder.keep_alive_interval(PING.0).keep_alive_timeout(PING.1);
    builder.max_header_list_size(LONGEST_HEAD);
    builder.header_table_size(HEADER_TABLE);
    builder.initial_stream_window_size(WINDOWS.0).initial_connection_window_size(WINDOWS.1);
    let mut serving = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), answer));
    tokio::select! {
        done = serving.as_mut() => return done,
        () = stopped.wait() => serving.as_mut().graceful_shutdown(),
    }
    tokio::time::timeout(LAST_CALLS, serving).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::super::call::{Call, Rule, Ruled};
    use super::super::rules::INTERFACE;
    use super::*;
    use crate::calls::Ping;
    use crate::pool::{Pool, PoolSettings};
    use crate::wire::{self, CallError};
    use encamp_http::serve::listener::{AcceptSettings, Listener, Serving};
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

    async fn bound(address: SocketAddr) -> (String, Listener) {
        let listener = Listener::bind(&[address]).await.expect("a port");
        (listener.addresses()[0].to_string(), listener)
    }

    async fn start(settings: AcceptSettings) -> (String, Serving) {
        let (address, listener) = bound(([127, 0, 0, 1], 0).into()).await;
        (address, listener.serve(Arc::new(Http2(Arc::new(Echo))), settings))
    }

    async fn echo(pool: &Pool, address: &str, text: &str) -> Result<String, CallError> {
        pool.call(address, &Say(text.into())).await
    }

    #[tokio::test]
    async fn calls_go_there_and_back() {
        let (address, _serving) = start(AcceptSettings::default()).await;
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
        let (address, serving) = start(AcceptSettings::default()).await;
        let pool = Pool::new(PoolSettings::default());
        assert_eq!(echo(&pool, &address, "a").await.as_deref(), Ok("a"));
        serving.stop().await;
        let gone = echo(&pool, &address, "b").await.expect_err("gone");
        assert!(!matches!(gone, CallError::Refused(_)), "{gone}");
        let (_, again) = bound(address.parse().expect("an address")).await;
        let _serving = again.serve(Arc::new(Http2(Arc::new(Echo))), AcceptSettings::default());
        assert_eq!(echo(&pool, &address, "c").await.as_deref(), Ok("c"));
    }

    #[tokio::test]
    async fn an_address_has_only_so_many_connections() {
        let (address, _serving) =
            start(AcceptSettings { max_connections_per_client: 1, ..AcceptSettings::default() }).await;
        let (first, second) = (Pool::new(PoolSettings::default()), Pool::new(PoolSettings::default()));
        assert!(echo(&first, &address, "a").await.is_ok());
        assert!(echo(&second, &address, "b").await.is_err());
        drop(first);
        let served = async { while echo(&second, &address, "c").await.is_err() {} };
        tokio::time::timeout(Duration::from_secs(20), served).await.expect("slots are released");
    }
}
