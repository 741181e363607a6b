//! The ways to other agents: sockets, connections, who is asked (`spec/agent-config.md §8`).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use super::Config;
use super::config::addresses::join_port;
use super::start::tls_files;
use crate::client::servers::Servers;
use crate::http::AppState;
use crate::rpc::forward::{Forwarder, PassedRequests, Target};
use crate::rpc::listener::{Listener, ListenerSettings, Serving};
use crate::rpc::nodes::Remote;
use crate::rpc::pool::{Pool, PoolSettings};
use crate::rpc::raft::RaftTransport;
use crate::rpc::service::{Port, Service};
use crate::rpc::tls;
use crate::server::Server;
use crate::server::handle::Links;

/// The port of the internal protocol where an address names none.
const RPC_PORT: i64 = 4647;

/// What a server listens on besides the HTTP interface; nothing for an agent without one.
#[derive(Default)]
pub struct Sockets {
    rpc: Option<Listener>,
}

impl Sockets {
    /// Binds what the configuration asks for. Ports that are 0 are chosen freely and noted.
    ///
    /// # Errors
    /// An address that is taken or not ours.
    pub async fn bind(config: &mut Config) -> Result<Sockets, String> {
        if !config.server.enabled {
            return Ok(Sockets::default());
        }
        let failed = |e: String| format!("server setup failed: Failed to start RPC layer: {e}");
        let address = socket(&config.addresses.rpc, config.ports.rpc).map_err(failed)?;
        let rpc = Listener::bind(address).await.map_err(|e| failed(e.to_string()))?;
        let port = rpc.address().map_err(|e| failed(e.to_string()))?.port();
        let settings = &mut config.settings;
        chosen(&mut settings.ports.rpc, &mut settings.advertise.rpc, port);
        Ok(Sockets { rpc: Some(rpc) })
    }
}

fn socket(ip: &str, port: i64) -> Result<SocketAddr, String> {
    let wrong = || format!("listen tcp: address {}: invalid port", join_port(ip, port));
    let port = u16::try_from(port).map_err(|_| wrong())?;
    let ip: IpAddr = ip.parse().map_err(|_| format!("{ip} is not an IP address"))?;
    Ok(SocketAddr::new(ip, port))
}

/// Puts the port that was chosen in the place of 0.
fn chosen(configured: &mut i64, advertised: &mut String, port: u16) {
    if *configured == 0 {
        *configured = port.into();
        if let Some(host) = advertised.strip_suffix(":0") {
            *advertised = format!("{host}:{port}");
        }
    }
}

/// The servers that a node is told of by its configuration, with ports.
pub fn servers(config: &Config) -> Vec<String> {
    let mut list = config.client.servers.clone();
    list.extend(config.client.server_join.retry_join.iter().cloned());
    list.iter().map(|s| with_port(s, RPC_PORT)).collect()
}

/// The address with a port.
fn with_port(address: &str, port: i64) -> String {
    let bare = address.trim_matches(['[', ']']);
    if bare.parse::<std::net::Ipv6Addr>().is_ok() {
        return join_port(bare, port);
    }
    let given = address.rsplit_once(':').is_some_and(|(_, p)| p.parse::<u16>().is_ok());
    if given { address.to_string() } else { join_port(address, port) }
}

/// Connections to other agents.
pub struct Network {
    pool: Pool,
    listener: ListenerSettings,
}

impl Network {
    /// As the configuration wants it; nobody is connected yet.
    ///
    /// # Errors
    /// Files for TLS that can't be used.
    pub fn new(config: &Config) -> Result<Network, String> {
        let mut pool = PoolSettings { tls: None, dial_timeout: config.rpc.dial_timeout.max(Duration::from_millis(1)) };
        let mut listener = ListenerSettings {
            tls: None,
            handshake_timeout: config.limits.rpc_handshake_timeout,
            max_connections_per_client: usize::try_from(config.limits.rpc_max_conns_per_client).unwrap_or(0),
        };
        if config.tls.rpc {
            let files = tls_files(config);
            pool.tls = Some(tls::client_config(&files, &config.region, config.tls.verify_server_hostname)?);
            listener.tls = Some(tls::server_config(&files)?);
        }
        Ok(Network { pool: Pool::new(pool), listener })
    }

    /// What connects the server of this agent with others.
    pub fn links(&self, config: &Config) -> Links {
        let alone = config.dev || config.server.bootstrap_expect == 1;
        Links { transport: Arc::new(RaftTransport::new(&self.pool)), alone }
    }

    /// What answers calls to the server of this agent.
    pub fn service(&self, server: &Server) -> Service {
        Service::new(server.clone(), self.pool.clone())
    }

    /// The servers as a node without one asks them.
    pub fn remote(&self, servers: Vec<String>) -> Remote {
        Remote::new(self.pool.clone(), servers)
    }

    /// Begins to answer others, and lets the HTTP interface pass on what others have to answer.
    pub fn open(
        &self,
        sockets: Sockets,
        service: Option<Service>,
        servers: Option<Arc<Remote>>,
        app: &AppState,
    ) -> Option<Serving> {
        let target = match (&service, servers) {
            (Some(service), _) => Target::LeaderOf(Box::new(service.server().clone())),
            (None, Some(servers)) => Target::Any(Arc::new(move || servers.known())),
            (None, None) => return None,
        };
        app.forward_by(Arc::new(Forwarder::new(&self.pool, target)));
        let port = Port { service: service?, interface: Arc::new(PassedRequests(app.clone())) };
        Some(sockets.rpc?.serve(Arc::new(port), self.listener.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_get_the_port_they_lack() {
        for (given, want) in [
            ("10.0.0.1", "10.0.0.1:4647"),
            ("10.0.0.1:80", "10.0.0.1:80"),
            ("a.example", "a.example:4647"),
            ("::1", "[::1]:4647"),
            ("[::1]", "[::1]:4647"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(with_port(given, RPC_PORT), want, "{given}");
        }
    }
}
