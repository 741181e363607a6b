//! The listener of the agent's TCP ports: it accepts connections, counts them by address, makes TLS handshakes within
//! a time limit, and closes what is left when it stops (`docs/spec/http-api.md §1.1, §11`).
//!
//! A [`Protocol`] says what is spoken on a connection: HTTP/1.1 for the HTTP API ([`http1`](super::http1)), HTTP/2 for
//! calls between agents (`encamp_rpc::listener`).

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard, RwLock};
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
/// The pause after the system could not accept a connection.
const PAUSE: Duration = Duration::from_millis(100);

/// The limits of accepted connections, and TLS.
#[derive(Clone, Default)]
pub struct AcceptSettings {
    /// Connections from one address; 0 for no limit.
    pub max_connections_per_client: usize,
    /// Longest TLS handshake; 0 for no limit.
    pub handshake_timeout: Duration,
    /// TLS, if it is spoken.
    pub tls: Option<TlsHandle>,
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

/// Tells when a listener stops.
#[derive(Clone)]
pub struct Stopped(watch::Receiver<bool>);

impl Stopped {
    /// Waits for it.
    pub async fn wait(&mut self) {
        // Without a sender there is no listener any more.
        let _ = self.0.wait_for(|stopped| *stopped).await;
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
            tasks.spawn(accept(shared.clone(), socket, Stopped(stopped.clone())));
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
    let connection = match &shared.settings.tls {
        None => Connection { stream: Box::new(stream), address, tls: false, certificate: None, place },
        Some(tls) => match handshake(tls.get(), stream, shared.settings.handshake_timeout).await {
            Ok(stream) => {
                let certificate = stream.get_ref().1.peer_certificates().and_then(|c| c.first());
                let certificate = certificate.map(|c| c.clone().into_owned());
                Connection { stream: Box::new(stream), address, tls: true, certificate, place }
            }
            Err(e) => return protocol.failed(Failure::Handshake(address, e)),
        },
    };
    protocol.serve(connection, stopped).await;
}

async fn handshake(tls: Arc<ServerConfig>, stream: TcpStream, limit: Duration) -> io::Result<TlsStream<TcpStream>> {
    let accepting = TlsAcceptor::from(tls).accept(stream);
    match limit {
        Duration::ZERO => accepting.await,
        limit => tokio::time::timeout(limit, accepting).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
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
