//! The listener of the agent's TCP ports: it accepts connections, counts them by address, makes TLS handshakes within
//! a time limit, and closes what is left when it stops (`docs/spec/http-api.md §1.1, §11`).
//!
//! A [`Protocol`] says what is spoken on a connection: HTTP/1.1 for the HTTP API ([`http1`](crate::serve::http1)), HTTP/2 for
//! calls between agents (`encamp_rpc::listener`).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long open requests may go on when the listener stops.
const GRACE: Duration = Duration::from_millis(500);
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;
/// The pause after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of accepted connections, and TLS.
#[derive(Clone, Default)]
pub struct AcceptSettings {
    /// Connections from one address; 0 for no limit.
    pub max_connections_per_client: usize,
    /// Longest TLS handshake; 0 for no limit.
    pub handshake_timeout: Duration,
    /// Whether TLS is spoken. It is read for each accepted connection.
    pub tls: TlsHandle,
}

/// Which connections a port accepts (`docs/spec/http-api.md §11`).
#[derive(Debug, Clone, Default)]
pub enum TlsMode {
    /// Those without TLS.
    #[default]
    Plain,
    /// Those with TLS.
    Tls(Arc<ServerConfig>),
    /// Both: the first byte of a connection tells (`tls.rpc_upgrade_mode`).
    Either(Arc<ServerConfig>),
}

impl TlsMode {
    /// Whether connections with TLS are accepted, or those without it.
    fn accepts(&self, tls: bool) -> bool {
        match self {
            TlsMode::Plain => !tls,
            TlsMode::Tls(_) => tls,
            TlsMode::Either(_) => true,
        }
    }
}

/// The TLS mode of a port, which may change while the port is open; clones share it.
#[derive(Debug, Clone)]
pub struct TlsHandle(Arc<watch::Sender<TlsMode>>);

impl Default for TlsHandle {
    fn default() -> TlsHandle {
        TlsHandle::new(TlsMode::default())
    }
}

impl TlsHandle {
    /// A port that begins with a mode.
    pub fn new(mode: TlsMode) -> TlsHandle {
        TlsHandle(Arc::new(watch::Sender::new(mode)))
    }

    /// Sets the mode of new connections. Open ones that the mode would not accept (without TLS where it is required now,
    /// or the reverse) end with the requests that they have open; all others go on.
    pub fn set(&self, mode: TlsMode) {
        self.0.send_replace(mode);
    }

    fn get(&self) -> TlsMode {
        self.0.borrow().clone()
    }
}

/// What is spoken on accepted connections.
pub trait Protocol: Send + Sync + 'static {
    /// A connection was accepted, within its limit or not.
    fn accepted(&self) {}

    /// The number of open connections has changed.
    fn counted(&self, _open: usize) {}

    /// A connection is beyond the limit of its address. It is closed with the future, or at once.
    fn refuse(&self, connection: TcpStream, from: SocketAddr) -> Option<BoxFuture<'static, ()>>;

    /// Something failed.
    fn failed(&self, failure: Failure);

    /// Serves a connection. Open requests should end once `stopped` does.
    fn serve(self: Arc<Self>, connection: Connection, stopped: Stopped) -> BoxFuture<'static, ()>;
}

/// A failure that a [`Protocol`] logs.
#[derive(Debug)]
pub enum Failure {
    /// The system cannot accept connections: it is out of descriptors or memory.
    Accept(io::Error),
    /// A TLS handshake failed or took too long.
    Handshake(SocketAddr, io::Error),
}

/// A bidirectional stream of bytes.
pub trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Duplex for T {}

/// An accepted connection, after its TLS handshake.
pub struct Connection {
    /// The plain bytes.
    pub stream: Box<dyn Duplex>,
    /// The address of the client.
    pub address: SocketAddr,
    /// Whether TLS is spoken.
    pub tls: bool,
    /// The certificate that the client has shown.
    pub certificate: Option<CertificateDer<'static>>,
    /// To be dropped when the connection is closed.
    pub place: Place,
}

/// Tells when a connection has to end: its listener stops, or no longer accepts connections of its kind.
#[derive(Clone)]
pub struct Stopped {
    listener: watch::Receiver<bool>,
    /// The mode of the port, and whether the connection has TLS.
    mode: Option<(watch::Receiver<TlsMode>, bool)>,
}

impl Stopped {
    /// Waits for it.
    pub async fn wait(&mut self) {
        let Stopped { listener, mode } = self;
        let refused = async {
            let Some((mode, tls)) = mode else { return std::future::pending().await };
            if mode.wait_for(|mode| !mode.accepts(*tls)).await.is_err() {
                // The mode cannot change any more.
                std::future::pending().await
            }
        };
        tokio::select! {
            // Without a sender there is no listener any more.
            _ = listener.wait_for(|stopped| *stopped) => {}
            () = refused => {}
        }
    }

    /// The same for an accepted connection.
    fn of_connection(self, handle: &TlsHandle, tls: bool) -> Stopped {
        Stopped { mode: Some((handle.0.subscribe(), tls)), ..self }
    }
}

/// Sockets that listen.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
}

impl Listener {
    /// Binds all addresses.
    ///
    /// # Errors
    /// The system's, with the address that failed.
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
    pub fn serve(self, protocol: Arc<dyn Protocol>, settings: AcceptSettings) -> Serving {
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared { protocol, settings, open: Mutex::default() });
        let mut tasks = JoinSet::new();
        for socket in self.sockets {
            tasks.spawn(accept(shared.clone(), socket, Stopped { listener: stopped.clone(), mode: None }));
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
    /// Accepts no more connections, lets open requests end for a moment, and closes what is left.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let all = async { while self.tasks.join_next().await.is_some() {} };
        // Anything still open then is a stream that never ends by itself.
        let _ = tokio::time::timeout(GRACE, all).await;
        self.tasks.abort_all();
    }
}

/// What the tasks of a listener share.
struct Shared {
    protocol: Arc<dyn Protocol>,
    settings: AcceptSettings,
    open: Mutex<Open>,
}

/// Open connections.
#[derive(Default)]
struct Open {
    by_ip: HashMap<IpAddr, usize>,
    total: usize,
}

/// A connection's place among those of its address, released when it is dropped.
pub struct Place {
    shared: Arc<Shared>,
    ip: IpAddr,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }

    fn enter(self: &Arc<Shared>, ip: IpAddr) -> Option<Place> {
        let limit = self.settings.max_connections_per_client;
        let mut open = self.open();
        let count = open.by_ip.entry(ip).or_default();
        if limit > 0 && *count >= limit {
            return None;
        }
        *count += 1;
        open.total += 1;
        self.protocol.counted(open.total);
        Some(Place { shared: self.clone(), ip })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.shared.open();
        open.total = open.total.saturating_sub(1);
        if let Some(count) = open.by_ip.get_mut(&self.ip) {
            *count -= 1;
            if *count == 0 {
                open.by_ip.remove(&self.ip);
            }
        }
        self.shared.protocol.counted(open.total);
    }
}

async fn accept(shared: Arc<Shared>, socket: TcpListener, mut stopped: Stopped) {
    let until = stopped.clone();
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = socket.accept() => accepted,
            () = stopped.wait() => break,
        };
        match accepted {
            Ok((stream, address)) => {
                let _ = stream.set_nodelay(true);
                shared.protocol.accepted();
                if let Some(place) = shared.enter(address.ip()) {
                    connections.spawn(establish(shared.clone(), stream, address, place, until.clone()));
                } else if let Some(refusal) = shared.protocol.refuse(stream, address) {
                    connections.spawn(refusal);
                }
            }
            Err(e) if is_of_connection(&e) => {}
            Err(e) => {
                shared.protocol.failed(Failure::Accept(e));
                // Others have to end first.
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    // The socket is closed before the last requests end: others go elsewhere.
    drop(socket);
    while connections.join_next().await.is_some() {}
}

/// Whether only that connection failed.
fn is_of_connection(e: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(e.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Makes the TLS handshake, and has the protocol serve the connection.
async fn establish(shared: Arc<Shared>, stream: TcpStream, address: SocketAddr, place: Place, stopped: Stopped) {
    let protocol = shared.protocol.clone();
    let (handle, limit) = (&shared.settings.tls, shared.settings.handshake_timeout);
    let (stream, certificate, tls): (Box<dyn Duplex>, _, _) = match within(limit, handshake(handle.get(), stream)).await
    {
        Ok(Secured::Plain(stream)) => (Box::new(stream), None, false),
        Ok(Secured::Tls(stream)) => {
            let certificate = stream.get_ref().1.peer_certificates().and_then(|c| c.first());
            let certificate = certificate.map(|c| c.clone().into_owned());
            (stream, certificate, true)
        }
        Err(e) => return protocol.failed(Failure::Handshake(address, e)),
    };
    let stopped = stopped.of_connection(handle, tls);
    protocol.serve(Connection { stream, address, tls, certificate, place }, stopped).await;
}

/// An accepted stream, with or without TLS.
enum Secured {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Finds out whether TLS is spoken, and makes its handshake.
async fn handshake(mode: TlsMode, stream: TcpStream) -> io::Result<Secured> {
    let config = match mode {
        TlsMode::Plain => return Ok(Secured::Plain(stream)),
        TlsMode::Either(_) if !begins_with_tls(&stream).await? => return Ok(Secured::Plain(stream)),
        TlsMode::Either(config) | TlsMode::Tls(config) => config,
    };
    Ok(Secured::Tls(Box::new(TlsAcceptor::from(config).accept(stream).await?)))
}

/// Whether a client begins with a TLS handshake; no request begins with that byte.
async fn begins_with_tls(stream: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    let read = stream.peek(&mut first).await?;
    Ok(read == 1 && first[0] == TLS_HANDSHAKE)
}

async fn within<T>(limit: Duration, done: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match limit {
        Duration::ZERO => done.await,
        limit => tokio::time::timeout(limit, done).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_port_in_use_is_named() {
        let first = Listener::bind(&[SocketAddr::from(([127, 0, 0, 1], 0))]).await.expect("a port");
        let address = first.addresses()[0];
        let error = Listener::bind(&[address]).await.expect_err("in use").to_string();
        assert_eq!(error, format!("listen tcp {address}: bind: address already in use"));
    }
}
