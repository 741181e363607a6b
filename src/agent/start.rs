//! The running agent: all configured components, which are started, reloaded and stopped together.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::autoscale::leader;
use super::autoscale::loops::Current;
use super::config::{Config, addresses, check_start};
use super::control::Control;
use super::local_client::Local;
use super::log::{Level, Logs};
use super::network::{self, Network, Sockets};
use super::workplace::Workplace;
use super::{client_settings, server_settings};
use encamp_client::Client;
use encamp_client::servers::Servers;
use encamp_host::ids;
use encamp_http::app::{API_VERSION, AppState, HttpSettings};
use encamp_http::error::multi_error;
use encamp_http::listener::{Listener, ListenerSettings, Serving, TlsHandle};
use encamp_http::local::LocalClient;
use encamp_http::tls::{self, TlsFiles};
use encamp_rpc::gossip::Gossip;
use encamp_rpc::membership::Members;
use encamp_rpc::nodes::{self, Remote};
use encamp_rpc::service::Service;
use encamp_server::Server;
use encamp_telemetry::{Metrics, runtime};

/// Why an agent does not start or reload. Its display text is the line that is printed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct StartError(pub String);

/// Requests a reload of the running agent; clones refer to the same agent.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<oneshot::Sender<Result<(), String>>>);

/// The requests of a [`Reloader`], each with a channel for its response.
pub type ReloadRequests = mpsc::Receiver<oneshot::Sender<Result<(), String>>>;

impl Reloader {
    /// Creates a reloader and the receiver of its requests.
    pub fn new() -> (Reloader, ReloadRequests) {
        let (sender, requests) = mpsc::channel(8);
        (Reloader(sender), requests)
    }

    /// Reloads the configuration, as SIGHUP does. The error states why the old one remains in force.
    pub async fn request(&self) -> Result<(), String> {
        let gone = |_| "the agent is stopping".to_string();
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.map_err(|_| gone(()))?;
        answered.await.map_err(|_| gone(()))?
    }
}

/// A running agent.
pub struct Agent {
    config: Config,
    logs: Logs,
    addresses: Vec<SocketAddr>,
    serving: Serving,
    tls: Option<TlsHandle>,
    sampler: JoinHandle<()>,
    rpc: Option<encamp_rpc::listener::Serving>,
    parts: Parts,
}

impl Agent {
    /// Starts all configured components. The addresses must be normalised. Must be called inside a runtime.
    ///
    /// A free port is chosen for port 0; [`Agent::config`] returns the chosen ports.
    pub async fn start(
        mut config: Config,
        logs: Logs,
        metrics: Metrics,
        reloader: Reloader,
    ) -> Result<Agent, StartError> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        check_start(&config, cpus).map_err(StartError)?;
        prepare_data_dir(&config).map_err(|e| StartError(format!("Error starting agent: {e}")))?;

        let http_error = |e: String| StartError(format!("Error starting http server: {e}"));
        let settings = listener_settings(&config).map_err(http_error)?;
        let tls = settings.tls.clone();
        let sockets = sockets(&config.addresses.http, config.ports.http).map_err(http_error)?;
        let listener = Listener::bind(&sockets).await.map_err(|e| http_error(format!("1 error occurred: {e}")))?;
        let addresses = listener.addresses();
        choose_port(&mut config, &addresses);
        let start_error = |e: String| StartError(format!("Error starting agent: {e}"));
        let mut bound = Sockets::bind(&mut config).await.map_err(start_error)?;
        let network = Network::new(&config).map_err(start_error)?;
        let mut agent = Parts::default();
        if let Err(e) = agent.start(&config, &metrics, &network, &mut bound).await {
            agent.stop(None).await;
            return Err(e);
        }
        let control = Control { config: config.json(), logs: logs.clone(), reloader };
        let local = agent.client.as_ref().map(|c| Arc::new(Local(c.handle())) as Arc<dyn LocalClient>);
        let scaled = agent.scale(&config, local.clone(), &metrics);
        let app =
            AppState::new(http_settings(&config), agent.server.clone(), local, Arc::new(control), metrics.clone());
        match scaled {
            Ok(Some(pools)) => app.autoscaling_by(pools),
            Ok(None) => {}
            Err(e) => {
                agent.stop(None).await;
                return Err(start_error(e));
            }
        }
        let rpc = network.open(bound, agent.service.clone(), agent.servers.clone(), &app);
        if let Err(e) = agent.join(&config, &network, &app).await {
            agent.stop(rpc).await;
            return Err(e);
        }
        let serving = listener.serve(encamp_http::router(app), settings, metrics.clone());
        let sampler = tokio::spawn(sample(metrics, config.telemetry.collection_interval));
        tracing::info!(target: "agent", http = %config.advertise.http, "agent started");
        Ok(Agent { config, logs, addresses, serving, rpc, tls, sampler, parts: agent })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The addresses of the HTTP interface.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Applies the settings that can be reloaded (`docs/spec/agent-config.md §9.2`): log level, certificates. The error
    /// states why nothing was changed.
    pub async fn reload(&mut self, config: &Config) -> Result<(), StartError> {
        let level = Level::parse(&config.log_level);
        let level = level.ok_or_else(|| StartError(format!("Invalid log level: {}", config.log_level)))?;
        if let Some(handle) = &self.tls {
            let new = tls::server_config(&tls_files(config)).map_err(StartError)?;
            handle.set(new);
        }
        if config.tls.http != self.config.tls.http {
            tracing::warn!(target: "agent", "a change of tls.http requires a restart");
        }
        if let Some(server) = &self.parts.server {
            let (count, names) = (server_settings::workers(config), server_settings::schedulers(config));
            if let Err(text) = server.set_workers(count, names) {
                tracing::info!(target: "agent", error = text.as_str(), "the number of workers is unchanged");
            }
        }
        self.logs.set_level(level);
        self.config.settings.log_level = config.log_level.clone();
        self.config.files = config.files.clone();
        tracing::info!(target: "agent", log_level = level.name(), "configuration reloaded");
        Ok(())
    }

    /// Waits until a part of the agent has stopped unexpectedly, so that the process must exit as well; returns the
    /// reason.
    pub fn failed(&self) -> impl Future<Output = String> + Send + use<> {
        let server = self.parts.server.clone();
        async move {
            match server {
                Some(server) => server.consensus().ended().await,
                None => std::future::pending().await,
            }
        }
    }

    /// Leaves the cluster gracefully, before [`Agent::shutdown`].
    pub async fn leave(&mut self) {
        tracing::info!(target: "agent", "leaving");
        if let Some(client) = &self.parts.client
            && let Err(text) = client.leave().await
        {
            tracing::error!(target: "agent", error = text.as_str(), "client leave failed");
        }
        if let Some(members) = &self.parts.members {
            members.leave().await;
        }
    }

    /// Stops everything.
    pub async fn shutdown(self) {
        tracing::info!(target: "agent", "shutting down");
        self.sampler.abort();
        self.serving.stop().await;
        self.parts.stop(self.rpc).await;
    }
}

/// The components of an agent, except its HTTP interface.
#[derive(Default)]
struct Parts {
    /// The threads of the server.
    workplace: Option<Workplace>,
    server: Option<Server>,
    service: Option<Service>,
    gossip: Option<Gossip>,
    members: Option<Members>,
    /// Joining, and the membership of consensus.
    looking_after: JoinSet<()>,
    client: Option<Client>,
    /// The connection of a node without a server in its agent.
    servers: Option<Arc<Remote>>,
    /// Scales worker pools while the server is the leader.
    autoscaling: Option<leader::Running>,
    /// The log directory of a development server; removed when it stops.
    scratch: Option<PathBuf>,
}

impl Parts {
    async fn start(
        &mut self,
        config: &Config,
        metrics: &Metrics,
        network: &Network,
        sockets: &mut Sockets,
    ) -> Result<(), StartError> {
        let failed = |e: &dyn std::fmt::Display| StartError(format!("Error starting agent: {e}"));
        if config.server.enabled {
            let dir = match config.server_dir() {
                dir if dir.as_os_str().is_empty() => {
                    let dir = std::env::temp_dir().join(format!("encamp-dev-{}", ids::uuid()));
                    self.scratch = Some(dir.clone());
                    dir
                }
                dir => dir,
            };
            let id = server_settings::server_id(&dir).map_err(|e| failed(&e))?;
            let settings = server_settings::settings(config, &id, &dir);
            let own = id.parse().map_err(|_| failed(&"server setup failed: the server's ID is no UUID"))?;
            let gossip = network.gossip(sockets, config, own).await.map_err(|e| failed(&e))?;
            self.gossip = Some(gossip.clone());
            let workplace = Workplace::new().map_err(|e| failed(&format!("server setup failed: {e}")))?;
            let joined = workplace.run(Server::join(settings, metrics.clone(), network.links(config, &gossip))).await;
            self.workplace = Some(workplace);
            let server = match joined {
                Ok(server) => server.map_err(|e| failed(&format!("server setup failed: {e}")))?,
                Err(e) => return Err(failed(&format!("server setup failed: {e}"))),
            };
            self.service = Some(network.service(&server, gossip));
            self.server = Some(server);
        }
        if config.client.enabled {
            let servers: Arc<dyn Servers> = if let Some(service) = &self.service {
                Arc::new(nodes::Local(service.clone()))
            } else {
                let remote = Arc::new(network.remote(network::servers(config)));
                self.servers = Some(remote.clone());
                remote
            };
            let settings = encamp_client::Config { metrics: metrics.clone(), ..client_settings::settings(config) };
            self.client = Some(Client::start(settings, servers).await.map_err(|e| failed(&e))?);
        }
        Ok(())
    }

    /// Joins other servers, now and whenever they appear.
    async fn join(&mut self, config: &Config, network: &Network, app: &AppState) -> Result<(), StartError> {
        let Some(service) = &self.service else { return Ok(()) };
        let members = network.members(config, service);
        app.members_by(Arc::new(members.clone()));
        let first = Network::start_join(config);
        if !first.is_empty() {
            tracing::info!(target: "agent", "joining cluster");
            let (joined, errors) = members.join_all(&first).await;
            if joined == 0 {
                return Err(StartError(multi_error(&errors)));
            }
        }
        self.looking_after = members.start();
        self.members = Some(members);
        Ok(())
    }

    /// Starts the scaling of worker pools while the server is the leader, if the configuration enables it.
    fn scale(
        &mut self,
        config: &Config,
        local: Option<Arc<dyn LocalClient>>,
        metrics: &Metrics,
    ) -> Result<Option<Arc<Current>>, String> {
        let (Some(server), Some(gossip)) = (&self.server, self.gossip.clone()) else { return Ok(None) };
        let known = Arc::new(move || gossip.known());
        let Some((pools, running)) = leader::start(config, server, known, local, metrics)? else { return Ok(None) };
        self.autoscaling = Some(running);
        Ok(Some(pools))
    }

    async fn stop(mut self, rpc: Option<encamp_rpc::listener::Serving>) {
        if let Some(autoscaling) = self.autoscaling {
            autoscaling.stop().await;
        }
        if let Some(client) = self.client {
            client.shutdown().await;
        }
        self.looking_after.abort_all();
        if let Some(gossip) = &self.gossip {
            gossip.stop();
        }
        if let Some(rpc) = rpc {
            rpc.stop().await;
        }
        if let Some(server) = self.server {
            server.shutdown().await;
        }
        if let Some(dir) = self.scratch {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

fn http_settings(config: &Config) -> HttpSettings {
    HttpSettings {
        region: config.region.clone(),
        datacenter: config.datacenter.clone(),
        name: config.name.clone(),
        debug: config.enable_debug,
        acl_enabled: config.acl.enabled,
        dev: config.dev,
        version: API_VERSION.into(),
    }
}

/// Creates the data directory and checks that it is writable.
fn prepare_data_dir(config: &Config) -> Result<(), String> {
    if config.data_dir.is_empty() {
        return Ok(());
    }
    let dir = Path::new(&config.data_dir);
    let what = if config.server.enabled { "server" } else { "client" };
    let failed = |e: std::io::Error| {
        format!("{what} setup failed: data_dir {} cannot be used: {}", dir.display(), super::config::reason(&e))
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let probe = dir.join(format!(".write-test-{}", std::process::id()));
    std::fs::write(&probe, b"").map_err(failed)?;
    std::fs::remove_file(&probe).map_err(failed)
}

/// The sockets to bind.
fn sockets(addresses: &str, port: i64) -> Result<Vec<SocketAddr>, String> {
    let wrong =
        |ip: &str| format!("1 error occurred: listen tcp: address {}: invalid port", addresses::join_port(ip, port));
    let one = |ip: &str| {
        let port = u16::try_from(port).map_err(|_| wrong(ip))?;
        let ip: IpAddr = ip.parse().map_err(|_| format!("{ip} is not an IP address"))?;
        Ok(SocketAddr::new(ip, port))
    };
    addresses.split_whitespace().map(one).collect()
}

/// Replaces port 0 by the chosen port.
fn choose_port(config: &mut Config, bound: &[SocketAddr]) {
    let Some(port) = bound.first().map(SocketAddr::port).filter(|_| config.ports.http == 0) else { return };
    config.ports.http = port.into();
    if let Some(host) = config.advertise.http.strip_suffix(":0") {
        config.advertise.http = format!("{host}:{port}");
    }
}

pub(super) fn tls_files(config: &Config) -> TlsFiles {
    let t = &config.tls;
    TlsFiles {
        ca: t.ca_file.clone(),
        cert: t.cert_file.clone(),
        key: t.key_file.clone(),
        verify_client: t.verify_https_client,
        min_version: t.tls_min_version.clone(),
        cipher_suites: t.tls_cipher_suites.clone(),
    }
}

/// How the HTTP interface accepts connections.
pub fn listener_settings(config: &Config) -> Result<ListenerSettings, String> {
    let tls = config.tls.http.then(|| tls::server_config(&tls_files(config)).map(TlsHandle::new)).transpose()?;
    let header = |(name, value): (&String, &String)| {
        let wrong = || format!("http_api_response_headers: {name} is no header");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        let value = HeaderValue::from_str(value).map_err(|_| format!("http_api_response_headers: value of {name}"))?;
        Ok::<_, String>((name, value))
    };
    Ok(ListenerSettings {
        max_connections_per_client: usize::try_from(config.limits.http_max_conns_per_client).unwrap_or(0),
        handshake_timeout: config.limits.https_handshake_timeout,
        tls,
        headers: config.http_api_response_headers.iter().map(header).collect::<Result<_, _>>()?,
    })
}

/// Measures the process periodically.
async fn sample(metrics: Metrics, interval: Duration) {
    let mut ticks = tokio::time::interval(interval.max(Duration::from_millis(100)));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        runtime::record(&metrics);
    }
}
