//! Connections to other agents: sockets, connection pool, servers (`docs/spec/agent-config.md §8`).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::UdpSocket;

use super::Config;
use super::config::addresses::join_port;
use super::config::reason;
use super::csi_plugins::CsiPlugins;
use super::tls::AgentTls;
use encamp_client::servers::Servers;
use encamp_host::ids;
use encamp_http::AppState;
use encamp_http::agent::node_connections::NodeConnections;
use encamp_http::serve::listener::{AcceptSettings, Listener, Serving};
use encamp_model::{GossipKey, InvalidGossipKey};
use encamp_raft::ServerId;
use encamp_rpc::forward::{Forwarder, PassedRequests, Target};
use encamp_rpc::gossip::{Gossip, Identity, KEYRING_FILE, Keyring, KeyringFileError};
use encamp_rpc::listener::Http2;
use encamp_rpc::membership::{Joining, Members, with_port};
use encamp_rpc::node_link::{LinkedAgent, NodeRoutes};
use encamp_rpc::nodes::{RPC_PORT, Remote};
use encamp_rpc::pool::{Pool, PoolSettings};
use encamp_rpc::raft::RaftTransport;
use encamp_rpc::service::{Port, Service};
use encamp_server::Server;
use encamp_server::handle::Links;

/// The gossip port of addresses without a port.
const SERF_PORT: u16 = 4648;

/// The network of an agent cannot be set up.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The socket for RPC.
    #[error("server setup failed: Failed to start RPC layer: {0}")]
    RpcSocket(#[source] SocketError),
    /// The server cannot prove its identity to others; the text is the reason.
    #[error("server setup failed: Failed to start RPC layer: {0}")]
    RpcIdentity(String),
    /// The socket for gossip.
    #[error("server setup failed: Failed to start serf: {0}")]
    SerfSocket(#[source] SocketError),
    /// The socket for gossip is already in use.
    #[error("server setup failed: Failed to start serf: there is no socket")]
    NoSerfSocket,
    /// Gossip cannot start with the advertised address.
    #[error("server setup failed: Failed to start serf: {address}: {source}")]
    Gossip {
        /// The advertised address.
        address: String,
        /// The problem.
        source: GossipError,
    },
    /// The key in the configuration cannot be used.
    #[error("server setup failed: Invalid encryption key: {0}")]
    Key(#[from] InvalidGossipKey),
    /// The file with the gossip keys cannot be used.
    #[error(
        "server setup failed: the gossip keyring {} can't be used: {source}. Correct the file, or remove it to start \
         with server.encrypt",
        .path.display()
    )]
    Keyring {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: KeyringFileError,
    },
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(encamp_rpc::tls::TlsError),
}

/// A socket that cannot be bound.
#[derive(Debug, Error)]
pub enum SocketError {
    /// No port has this number.
    #[error("listen tcp: address {}: invalid port", join_port(.ip, *.port))]
    Port {
        /// The address.
        ip: String,
        /// The number.
        port: i64,
    },
    /// The text is not an IP address.
    #[error("{0} is not an IP address")]
    NotIp(String),
    /// The system refuses the address.
    #[error(transparent)]
    Listen(#[from] io::Error),
    /// The system refuses the address of a UDP socket.
    #[error("listen udp {address}: {}", reason(.source))]
    ListenUdp {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// Gossip that cannot start.
#[derive(Debug, Error)]
pub enum GossipError {
    /// The name of the advertised address cannot be resolved.
    #[error(transparent)]
    Lookup(#[from] io::Error),
    /// The name of the advertised address has no IP address.
    #[error("no such host")]
    NoHost,
}

/// The keys that encrypt gossip: those in the data directory of the server, or that of `server.encrypt`. A development
/// server keeps its key in memory.
fn keyring(config: &Config, dir: &Path) -> Result<Keyring, NetworkError> {
    let encrypt = &config.server.encrypt;
    let configured = if encrypt.is_empty() { None } else { Some(GossipKey::parse(encrypt.expose())?) };
    let opened = if config.dev { Keyring::in_memory(configured) } else { Keyring::open(dir, configured) };
    opened.map_err(|source| NetworkError::Keyring { path: dir.join(KEYRING_FILE), source })
}

/// Whether the server bootstraps a cluster by itself.
fn alone(config: &Config) -> bool {
    config.dev || config.server.bootstrap_expect == 1
}

/// The sockets of a server besides the HTTP interface; empty for an agent without a server.
#[derive(Default)]
pub struct Sockets {
    rpc: Option<Listener>,
    serf: Option<UdpSocket>,
}

impl Sockets {
    /// Binds the configured addresses. Free ports are chosen for port 0 and written back to the configuration.
    ///
    /// # Errors
    /// An address is in use or not available on this host.
    pub async fn bind(config: &mut Config) -> Result<Sockets, NetworkError> {
        if !config.server.enabled {
            return Ok(Sockets::default());
        }
        let (rpc, port) = rpc(&config.addresses.rpc, config.ports.rpc).await.map_err(NetworkError::RpcSocket)?;
        let settings = &mut config.settings;
        chosen(&mut settings.ports.rpc, &mut settings.advertise.rpc, port);
        let serf = serf(&settings.addresses.serf, settings.ports.serf).await;
        let (serf, port) = serf.map_err(NetworkError::SerfSocket)?;
        chosen(&mut settings.ports.serf, &mut settings.advertise.serf, port);
        Ok(Sockets { rpc: Some(rpc), serf: Some(serf) })
    }
}

/// The socket for RPC and its port.
async fn rpc(ip: &str, port: i64) -> Result<(Listener, u16), SocketError> {
    let listener = Listener::bind(&[socket(ip, port)?]).await?;
    let port = listener.addresses().first().map_or(0, SocketAddr::port);
    Ok((listener, port))
}

/// The socket for gossip and its port.
async fn serf(ip: &str, port: i64) -> Result<(UdpSocket, u16), SocketError> {
    let address = socket(ip, port)?;
    let socket = UdpSocket::bind(address).await.map_err(|source| SocketError::ListenUdp { address, source })?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// The address of a socket to bind.
///
/// # Errors
/// The text is no IP address, or there is no such port.
pub(super) fn socket(ip: &str, port: i64) -> Result<SocketAddr, SocketError> {
    let number = u16::try_from(port).map_err(|_| SocketError::Port { ip: ip.into(), port })?;
    let ip: IpAddr = ip.parse().map_err(|_| SocketError::NotIp(ip.into()))?;
    Ok(SocketAddr::new(ip, number))
}

/// Replaces port 0 by the chosen port.
fn chosen(configured: &mut i64, advertised: &mut String, port: u16) {
    if *configured == 0 {
        *configured = port.into();
        if let Some(host) = advertised.strip_suffix(":0") {
            *advertised = format!("{host}:{port}");
        }
    }
}

/// The servers in the configuration of a node, with ports.
pub fn servers(config: &Config) -> Vec<String> {
    let mut list = config.client.servers.clone();
    list.extend(config.client.server_join.retry_join.iter().cloned());
    list.iter().map(|s| with_port(s, RPC_PORT)).collect()
}

/// Connections to other agents.
pub struct Network {
    pool: Pool,
    accepted: AcceptSettings,
}

impl Network {
    /// Creates the network of the configuration, without any connection.
    pub fn new(config: &Config, tls: &AgentTls) -> Network {
        let pool = PoolSettings {
            tls: tls.calls.clone(),
            dial_timeout: config.rpc.dial_timeout.max(Duration::from_millis(1)),
            ..PoolSettings::default()
        };
        let accepted = AcceptSettings {
            tls: tls.rpc.clone(),
            handshake_timeout: config.limits.rpc_handshake_timeout,
            max_connections_per_client: usize::try_from(config.limits.rpc_max_conns_per_client).unwrap_or(0),
        };
        Network { pool: Pool::new(pool), accepted }
    }

    /// Makes the server of this agent known to others.
    ///
    /// # Errors
    /// An advertised address that has no IP address, a bad key, or a keyring file in `dir`, the data directory of the
    /// server, that cannot be used.
    pub async fn gossip(
        &self,
        sockets: &mut Sockets,
        config: &Config,
        id: ServerId,
        dir: &Path,
    ) -> Result<Gossip, NetworkError> {
        self.pool.prove_as(id).map_err(|e| NetworkError::RpcIdentity(e.to_string()))?;
        let socket = sockets.serf.take().ok_or(NetworkError::NoSerfSocket)?;
        let wrong = |source| NetworkError::Gossip { address: config.advertise.serf.clone(), source };
        let mut found = tokio::net::lookup_host(&config.advertise.serf).await.map_err(|e| wrong(e.into()))?;
        let addr = found.next().ok_or_else(|| wrong(GossipError::NoHost))?;
        let own = Identity {
            bump: u64::try_from(ids::now() / 1_000_000).unwrap_or_default(),
            id,
            name: config.name.clone(),
            region: config.region.clone(),
            datacenter: config.datacenter.clone(),
            rpc: config.advertise.rpc.clone(),
            expect: if alone(config) { 1 } else { u32::try_from(config.server.bootstrap_expect).unwrap_or(0) },
            ..Identity::at(addr)
        };
        Ok(Gossip::start(socket, own, keyring(config, dir)?))
    }

    /// The links between the server of this agent and others.
    pub fn links(&self, config: &Config, gossip: &Gossip) -> Links {
        let transport = Arc::new(RaftTransport::new(&self.pool, gossip.clone()));
        Links { others: transport.clone(), transport, alone: alone(config) }
    }

    /// The service that answers RPC calls to the server of this agent.
    pub fn service(&self, server: &Server, gossip: Gossip) -> Service {
        Service::new(server.clone(), self.pool.clone(), gossip)
    }

    /// The component that manages the membership of servers.
    pub fn members(&self, config: &Config, service: &Service) -> Members {
        let (old, new) = (&config.server, &config.server.server_join);
        let retry = if new.retry_join.is_empty() { &old.retry_join } else { &new.retry_join };
        let most = if new.retry_join.is_empty() { old.retry_max } else { new.retry_max };
        let interval = if old.retry_interval.is_zero() { new.retry_interval } else { old.retry_interval };
        let joining = Joining {
            retry: retry.clone(),
            most: u64::try_from(most).unwrap_or(0),
            interval,
            expect: service.gossip().own().expect,
            default_port: SERF_PORT,
        };
        Members::new(service.clone(), &self.pool, joining)
    }

    /// The servers that must be joined when this one starts (`start_join`).
    pub fn start_join(config: &Config) -> Vec<String> {
        let (old, new) = (&config.server.start_join, &config.server.server_join.start_join);
        if new.is_empty() { old.clone() } else { new.clone() }
    }

    /// The servers, as contacted by a node without a server in its agent.
    pub fn remote(&self, servers: Vec<String>) -> Remote {
        Remote::new(self.pool.clone(), servers)
    }

    /// Starts to answer other agents, and lets the HTTP interface forward requests to them.
    pub fn open(
        &self,
        sockets: Sockets,
        service: Option<Service>,
        servers: Option<Arc<Remote>>,
        app: &AppState,
    ) -> Option<Serving> {
        if let Some(service) = &service {
            if let Some(client) = app.client() {
                service.links().set_local(client.clone());
            }
            let nodes: Arc<dyn NodeConnections> = Arc::new(NodeRoutes::new(service.clone()));
            let local = app.client().map(Arc::downgrade);
            service.server().ask_csi_plugins_by(Arc::new(CsiPlugins { local, nodes: Arc::downgrade(&nodes) }));
            app.nodes_by(nodes);
        } else if let Some(servers) = &servers {
            servers.answer_by(Arc::new(LinkedAgent(app.clone())));
        }
        let target = match (&service, servers) {
            (Some(service), _) => Target::LeaderOf(Box::new(service.server().clone())),
            (None, Some(servers)) => Target::Any(Arc::new(move || servers.known())),
            (None, None) => return None,
        };
        app.forward_by(Arc::new(Forwarder::new(&self.pool, target)));
        let port = Port { service: service?, interface: Arc::new(PassedRequests(app.clone())) };
        Some(sockets.rpc?.serve(Arc::new(Http2(Arc::new(port))), self.accepted.clone()))
    }
}
