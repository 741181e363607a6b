//! Connections to other agents: one per address and use, shared by all calls, recreated when it breaks.

use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;

use super::call::Call;
use super::listener::HEADER_TABLE;
use super::prover::Prover;
use super::tls::{CallTls, CallTlsSettings};
use super::wire::{self, CallError};
use encamp_raft::ServerId;

/// An idle connection with open calls is pinged after the first time, and closed if no pong arrives within the second.
const PING: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));

/// How other agents are reached.
#[derive(Clone)]
pub struct PoolSettings {
    /// TLS. New settings are for new connections; calls that are open go on with the old ones.
    pub tls: CallTls,
    /// Longest wait for a connection (`rpc.dial_timeout`).
    pub dial_timeout: Duration,
    /// The address that connections come from; `None`: the one that the system chooses.
    pub source: Option<IpAddr>,
    /// The credentials of this agent's server, once known.
    pub prover: Arc<OnceLock<Prover>>,
}

impl Default for PoolSettings {
    fn default() -> Self {
        PoolSettings {
            tls: CallTls::default(),
            dial_timeout: Duration::from_secs(10),
            source: None,
            prover: Arc::default(),
        }
    }
}

type Sender = http2::SendRequest<Body>;
type Slot = Arc<tokio::sync::Mutex<Option<Dialled>>>;

/// A connection.
struct Dialled {
    sender: Sender,
    /// The settings that it was made with.
    tls: Arc<CallTlsSettings>,
}

/// Connections; clones share them.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    settings: PoolSettings,
    slots: Mutex<HashMap<String, Slot>>,
}

/// The operating system gives no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system has no randomness")]
pub struct NoRandomness;

impl Pool {
    /// Without connections yet.
    pub fn new(settings: PoolSettings) -> Pool {
        Pool(Arc::new(Inner { settings, slots: Mutex::default() }))
    }

    /// Connections of their own with the same settings, for calls that must not wait behind others.
    pub fn another(&self) -> Pool {
        Pool::new(self.0.settings.clone())
    }

    /// As [`Pool::another`], with connections that come from another address.
    pub fn another_from(&self, source: IpAddr) -> Pool {
        Pool::new(PoolSettings { source: Some(source), ..self.0.settings.clone() })
    }

    /// From now on calls to servers prove that they come from this one.
    ///
    /// # Errors
    /// See [`NoRandomness`].
    pub fn prove_as(&self, id: ServerId) -> Result<(), NoRandomness> {
        let prover = Prover::new(id).ok_or(NoRandomness)?;
        let _ = self.0.settings.prover.set(prover);
        Ok(())
    }

    /// TLS, as it is now.
    pub(crate) fn tls(&self) -> Arc<CallTlsSettings> {
        self.0.settings.tls.get()
    }

    /// The credentials of this agent's server.
    pub(crate) fn prover(&self) -> Option<&Prover> {
        self.0.settings.prover.get()
    }

    /// The head's part that proves to a server that this one calls.
    pub(crate) fn proof_for(&self, to: ServerId) -> Option<(ServerId, String)> {
        self.prover().map(|own| (own.id(), own.text_for(to)))
    }

    /// Calls the agent at an address.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn call<C: Call>(&self, address: &str, call: &C) -> Result<C::Result, CallError> {
        self.exchange(address, call, None).await
    }

    async fn exchange<C: Call>(
        &self,
        address: &str,
        call: &C,
        proof: Option<(ServerId, String)>,
    ) -> Result<C::Result, CallError> {
        let answer = self.send(address, wire::request(address, call, proof)?).await?;
        wire::result(answer).await
    }

    /// [`Pool::call`], given up after a time.
    ///
    /// # Errors
    /// See [`CallError`].
    pub(crate) async fn call_within<C: Call>(
        &self,
        limit: Duration,
        address: &str,
        call: &C,
    ) -> Result<C::Result, CallError> {
        within(limit, C::METHOD, address, self.call(address, call)).await
    }

    /// Calls a server as the server of this agent, given up after a time.
    ///
    /// # Errors
    /// See [`CallError`].
    pub(crate) async fn call_server<C: Call>(
        &self,
        limit: Duration,
        to: ServerId,
        address: &str,
        call: &C,
    ) -> Result<C::Result, CallError> {
        within(limit, C::METHOD, address, self.exchange(address, call, self.proof_for(to))).await
    }

    /// Sends any request; its answer may go on after its head.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn send(&self, address: &str, mut request: Request<Body>) -> Result<Response<Body>, CallError> {
        // A connection may have broken since it was last used; a request that did not leave is sent again.
        for _ in 0..2 {
            let mut sender = self.connection(address).await?;
            let ready = sender.ready().await;
            if ready.is_err() {
                self.forget(address);
                continue;
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response.map(Body::new)),
                Err(mut failed) => {
                    self.forget(address);
                    match failed.take_message() {
                        Some(unsent) => request = unsent,
                        None => return Err(CallError::Lost(format!("{address}: {}", failed.into_error()))),
                    }
                }
            }
        }
        Err(CallError::Unreachable(format!("{address}: the connection was closed immediately")))
    }

    /// Makes sure that there is a connection to an address.
    ///
    /// # Errors
    /// Nobody answers there.
    pub async fn reach(&self, address: &str) -> Result<(), CallError> {
        for _ in 0..2 {
            if self.connection(address).await?.ready().await.is_ok() {
                return Ok(());
            }
            self.forget(address);
        }
        Err(CallError::Unreachable(format!("{address}: the connection was closed immediately")))
    }

    /// Whether the machine at an address answers that nobody listens there.
    pub(crate) async fn is_refused(&self, address: &str) -> bool {
        let tried = match self.0.settings.source {
            None => TcpStream::connect(address).await,
            Some(source) => connect_from(source, address).await,
        };
        tried.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionRefused)
    }

    /// Closes the connection to an address when its calls have ended.
    pub fn forget(&self, address: &str) {
        self.0.slots.lock().remove(address);
    }

    async fn connection(&self, address: &str) -> Result<Sender, CallError> {
        let slot = {
            let mut slots = self.0.slots.lock();
            slots.entry(address.to_string()).or_default().clone()
        };
        // Callers that come together wait for one connection.
        let mut slot = slot.lock().await;
        let tls = self.0.settings.tls.get();
        if let Some(open) = slot.as_ref().filter(|s| !s.sender.is_closed() && Arc::ptr_eq(&s.tls, &tls)) {
            return Ok(open.sender.clone());
        }
        let dialled = dial(address, self.0.settings.source, &tls);
        let dialled = tokio::time::timeout(self.0.settings.dial_timeout, dialled).await;
        let sender = dialled.map_err(|_| CallError::Unreachable(format!("dial tcp {address}: i/o timeout")))??;
        *slot = Some(Dialled { sender: sender.clone(), tls });
        Ok(sender)
    }
}

async fn dial(address: &str, source: Option<IpAddr>, tls: &CallTlsSettings) -> Result<Sender, CallError> {
    let failed = |e: &dyn std::fmt::Display| CallError::Unreachable(format!("dial tcp {address}: {e}"));
    let stream = match source {
        None => TcpStream::connect(address).await,
        Some(source) => connect_from(source, address).await,
    };
    let stream = stream.map_err(|e| failed(&reason(&e)))?;
    let _ = stream.set_nodelay(true);
    match &tls.outgoing {
        None => handshake(stream).await.map_err(|e| failed(&e)),
        Some((config, name)) => {
            let connector = TlsConnector::from(config.clone());
            let stream = connector.connect(name.clone(), stream).await.map_err(|e| failed(&e))?;
            handshake(stream).await.map_err(|e| failed(&e))
        }
    }
}

async fn connect_from(source: IpAddr, address: &str) -> std::io::Result<TcpStream> {
    let mut failure = std::io::ErrorKind::AddrNotAvailable.into();
    for to in tokio::net::lookup_host(address).await?.filter(|to| to.is_ipv4() == source.is_ipv4()) {
        let socket = if to.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.bind((source, 0).into())?;
        match socket.connect(to).await {
            Ok(stream) => return Ok(stream),
            Err(e) => failure = e,
        }
    }
    Err(failure)
}

async fn within<T>(
    limit: Duration,
    method: &str,
    address: &str,
    called: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let late = || CallError::Lost(format!("{method}: no answer from {address} within {limit:?}"));
    tokio::time::timeout(limit, called).await.unwrap_or_else(|_| Err(late()))
}

/// A system's error in the words of the field.
fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        std::io::ErrorKind::NetworkUnreachable => "connect: network is unreachable".into(),
        std::io::ErrorKind::HostUnreachable => "connect: no route to host".into(),
        _ => e.to_string(),
    }
}

async fn handshake<S>(stream: S) -> Result<Sender, hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING.0)
        .keep_alive_timeout(PING.1)
        .max_concurrent_reset_streams(1024)
        .header_table_size(HEADER_TABLE)
        .handshake(TokioIo::new(stream))
        .await?;
    // Ends when the last sender is dropped and its calls have ended, or when the connection breaks.
    tokio::spawn(quiet(connection));
    Ok(sender)
}

async fn quiet(connection: impl Future<Output = Result<(), hyper::Error>>) {
    if let Err(e) = connection.await {
        tracing::debug!(target: "rpc", error = %e, "a connection broke");
    }
}
