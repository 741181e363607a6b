//! The running agent: all configured components, which are started, reloaded and stopped together.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::autoscale::leader::{self, LeaderError};
use super::autoscale::loops::Current;
use super::client_settings;
use super::config::{Config, RefusedStart, check_start, reason};
use super::control::{Control, ShownConfig};
use super::disk_reads::Agents;
use super::external_plugins;
use super::local_client::Local;
use super::log::{Level, Logs};
use super::network::{self, Network, NetworkError, SocketError, Sockets};
use super::server_settings::{self, ServerIdError};
use super::tls::{AgentTls, NewTls, TlsError};
use super::vital_signs::VitalSigns;
use super::web_ui::{WebUi, WebUiError};
use super::workplace::{Workplace, WorkplaceError};
use encamp_audit::AuditLog;
use encamp_audit::event::NodeMeta;
use encamp_client::servers::Servers;
use encamp_client::{AgentServices, Client};
use encamp_host::ids;
use encamp_http::agent::local_client::LocalClient;
use encamp_http::agent::state::{API_VERSION, AppState, HttpSettings};
use encamp_http::error::multi_error;
use encamp_http::serve::http1::{Headers, Http1};
use encamp_http::serve::listener::{AcceptSettings, Listener, Serving};
use encamp_http::task_api::TaskSockets;
use encamp_rpc::gossip::Gossip;
use encamp_rpc::membership::Members;
use encamp_rpc::nodes::{self, Remote};
use encamp_rpc::service::Service;
use encamp_server::Server;
use encamp_telemetry::{Metrics, runtime};

/// An agent that did not start. The text is the line that is printed.
#[derive(Debug, Error)]
pub enum StartError {
    /// A setting.
    #[error(transparent)]
    Config(#[from] RefusedStart),
    /// The data directory cannot be used.
    #[error(
        "Error starting agent: {role} setup failed: data_dir {} cannot be used: {}",
        path.display(),
        reason(.source)
    )]
    DataDir {
        /// `server` or `client`.
        role: &'static str,
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The audit log.
    #[error("Error starting agent: audit setup failed: {0}")]
    Audit(#[from] encamp_audit::OpenError),
    /// The web UI.
    #[error("Error starting agent: {0}")]
    WebUi(#[from] WebUiError),
    /// The environment.
    #[error("Error starting agent: {0}")]
    Level(#[from] encamp_host::capability::UnsupportedLevel),
    /// The HTTP interface.
    #[error("Error starting http server: {0}")]
    Http(#[from] HttpError),
    /// The connections to other agents.
    #[error("Error starting agent: {0}")]
    Network(#[from] NetworkError),
    /// The server's ID.
    #[error("Error starting agent: {0}")]
    ServerId(#[from] ServerIdError),
    /// The threads of the server cannot be created.
    #[error("Error starting agent: server setup failed: {0}")]
    Threads(#[source] io::Error),
    /// The threads of the server ended while it started.
    #[error("Error starting agent: server setup failed: {0}")]
    Workplace(#[from] WorkplaceError),
    /// The server.
    #[error("Error starting agent: server setup failed: {0}")]
    Server(#[from] encamp_raft::StartError),
    /// The client.
    #[error("Error starting agent: {0}")]
    Client(#[from] encamp_client::StartError),
    /// The scaling of worker pools.
    #[error("Error starting agent: {0}")]
    Autoscaling(#[from] LeaderError),
    /// None of the servers to join could be joined; the text lists the reasons.
    #[error("{0}")]
    Join(String),
}

/// The HTTP interface of an agent cannot be used.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The TLS files cannot be used.
    #[error(transparent)]
    Tls(encamp_http::serve::tls::TlsError),
    /// The name of an additional response header.
    #[error("http_api_response_headers: {0} is no header")]
    HeaderName(String),
    /// The value of an additional response header, whose name this is.
    #[error("http_api_response_headers: value of {0}")]
    HeaderValue(HeaderName),
    /// An address to bind is no IP address.
    #[error(transparent)]
    Address(SocketError),
    /// An address cannot be bound.
    #[error("1 error occurred: {0}")]
    Bind(#[source] SocketError),
}

impl From<TlsError> for StartError {
    fn from(error: TlsError) -> StartError {
        match error {
            TlsError::Http(e) => HttpError::Tls(e).into(),
            TlsError::Rpc(e) => NetworkError::Tls(e).into(),
        }
    }
}

impl From<SocketError> for HttpError {
    fn from(error: SocketError) -> HttpError {
        match error {
            SocketError::NotIp(_) => HttpError::Address(error),
            SocketError::Port { .. } | SocketError::Listen(_) | SocketError::ListenUdp { .. } => HttpError::Bind(error),
        }
    }
}

/// A reload that did not happen: the old configuration remains in force.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReloadError {
    /// The new configuration is refused; the text is the line that is printed.
    #[error("{0}")]
    Config(String),
    /// No such log level.
    #[error("Invalid log level: {0}")]
    LogLevel(String),
    /// The TLS files cannot be used; the text is the reason.
    #[error("{0}")]
    Tls(String),
    /// The agent stops.
    #[error("the agent is stopping")]
    Stopping,
    /// The agent did not respond in time.
    #[error("the configuration could not be read again in time")]
    TimedOut,
}

/// The channel for the response to a request of a [`Reloader`].
pub type ReloadAnswer = oneshot::Sender<Result<(), ReloadError>>;

/// The requests of a [`Reloader`], each with a channel for its response.
pub type ReloadRequests = mpsc::Receiver<ReloadAnswer>;

/// Requests a reload of the running agent; clones refer to the same agent.
#[derive(Debug, Clone)]
pub struct Reloader(mpsc::Sender<ReloadAnswer>);

impl Reloader {
    /// Creates a reloader and the receiver of its requests.
    pub fn new() -> (Reloader, ReloadRequests) {
        let (sender, requests) = mpsc::channel(8);
        (Reloader(sender), requests)
    }

    /// Reloads the configuration, as SIGHUP does.
    ///
    /// # Errors
    /// The new configuration is refused, or the agent stops.
    pub async fn request(&self) -> Result<(), ReloadError> {
        let (answer, answered) = oneshot::channel();
        self.0.send(answer).await.map_err(|_| ReloadError::Stopping)?;
        answered.await.map_err(|_| ReloadError::Stopping)?
    }
}

/// A running agent.
pub struct Agent {
    config: Config,
    logs: Logs,
    addresses: Vec<SocketAddr>,
    serving: Serving,
    tls: AgentTls,
    /// The effective configuration as `agent/self` shows it, without secrets.
    shown: ShownConfig,
    task_sockets: TaskSockets,
    sampler: JoinHandle<()>,
    rpc: Option<Serving>,
    audit: Option<Arc<AuditLog>>,
    parts: Parts,
}

impl Agent {
    /// Starts all configured components. The addresses must be normalised. Must be called inside a runtime.
    ///
    /// A free port is chosen for port 0; [`Agent::config`] returns the chosen ports.
    ///
    /// # Errors
    /// A component cannot be started.
    pub async fn start(
        mut config: Config,
        logs: Logs,
        metrics: Metrics,
        reloader: Reloader,
    ) -> Result<Agent, StartError> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        check_start(&config, cpus)?;
        encamp_host::capability::check()?;
        prepare_data_dir(&config)?;

        let tls = AgentTls::new(&config)?;
        let settings = accept_settings(&config, &tls);
        let headers = response_headers(&config)?;
        let listener = listen(&config.addresses.http, config.ports.http).await?;
        let addresses = listener.addresses();
        choose_port(&mut config, &addresses);
        let mut bound = Sockets::bind(&mut config).await?;
        let network = Network::new(&config, &tls);
        let mut agent = Parts::default();
        let task_sockets = TaskSockets::new(settings.max_connections_per_client);
        if let Err(e) = agent.start(&config, &metrics, &network, &mut bound, &task_sockets).await {
            agent.stop(None).await;
            return Err(e);
        }
        let shown = ShownConfig::new(config.json());
        let control = Control { config: shown.clone(), logs: logs.clone(), reloader };
        let local = agent.client.as_ref().map(|c| Arc::new(Local(c.handle())) as Arc<dyn LocalClient>);
        let scaled = agent.scale(&config, local.clone(), &metrics);
        let app =
            AppState::new(http_settings(&config), agent.server.clone(), local, Arc::new(control), metrics.clone());
        let equipped = scaled.map_err(StartError::from).and_then(|pools| {
            if let Some(pools) = pools {
                app.autoscaling_by(pools);
            }
            if let Some((web_ui, pages)) = WebUi::new(&config, &app)? {
                app.web_ui_by(pages);
                agent.web_ui = Some(web_ui);
            }
            open_audit(&config, &metrics).map_err(StartError::from)
        });
        let audit = match equipped {
            Ok(audit) => audit,
            Err(e) => {
                agent.stop(None).await;
                return Err(e);
            }
        };
        if let Some(audit) = &audit {
            app.audited_by(audit.clone());
            audit.note("start", "process", "");
        }
        let rpc = agent.open(&network, bound, &app);
        if let Err(e) = agent.join(&config, &network, &app).await {
            agent.stop(rpc).await;
            return Err(e);
        }
        task_sockets.open(app.clone(), headers.clone());
        let protocol = Http1::new(encamp_http::router(app), headers, metrics.clone());
        let serving = listener.serve(Arc::new(protocol), settings);
        let sampler = tokio::spawn(sample(metrics, config.telemetry.collection_interval));
        tracing::info!(target: "agent", http = %config.advertise.http, "agent started");
        Ok(Agent { config, logs, addresses, serving, rpc, tls, shown, task_sockets, sampler, audit, parts: agent })
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The addresses of the HTTP interface.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Applies the settings that can be reloaded (`docs/spec/agent-config.md §9.2`): log level, TLS, the
    /// workers of a server, the plugins of host volumes and networks.
    ///
    /// # Errors
    /// One of them cannot be used; nothing was changed.
    pub async fn reload(&mut self, config: &Config) -> Result<(), ReloadError> {
        let level = Level::parse(&config.log_level);
        let level = level.ok_or_else(|| ReloadError::LogLevel(config.log_level.clone()))?;
        let tls = NewTls::read(config).map_err(|e| ReloadError::Tls(e.to_string()))?;
        // Nothing is refused from here on.
        let tls_changed = self.tls.set(tls);
        if tls_changed {
            self.config.settings.tls = config.tls.clone();
            self.parts.tls_changed(&self.config);
            tracing::info!(target: "agent", "new connections use the new TLS settings");
        }
        if config.audit != self.config.audit {
            tracing::warn!(target: "agent", "a change of audit requires a restart");
        }
        if let Some(server) = &self.parts.server {
            let (count, names) = (server_settings::workers(config), server_settings::schedulers(config));
            if let Err(error) = server.set_workers(count, names) {
                tracing::info!(target: "agent", %error, "the number of workers is unchanged");
            }
        }
        if let Some(client) = &self.parts.client {
            let node = client.handle();
            // Programs may take seconds to answer; the reload does not wait for them.
            drop(tokio::task::spawn_blocking(move || {
                node.fingerprint_volume_plugins();
                node.fingerprint_networks();
            }));
        }
        self.logs.set_level(level);
        self.config.settings.log_level = config.log_level.clone();
        self.config.files = config.files.clone();
        self.shown.set(self.config.json());
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

    /// What tells whether this agent still works; it outlives borrows of the agent.
    pub fn vital_signs(&self) -> VitalSigns {
        VitalSigns::new(&self.addresses, [&self.parts.workplace, &self.parts.reception])
    }

    /// Leaves the cluster gracefully, before [`Agent::shutdown`].
    pub async fn leave(&mut self) {
        tracing::info!(target: "agent", "leaving");
        if let Some(client) = &self.parts.client
            && let Err(error) = client.leave().await
        {
            tracing::error!(target: "agent", %error, "client leave failed");
        }
        if let Some(members) = &self.parts.members {
            members.leave().await;
        }
    }

    /// Stops everything.
    pub async fn shutdown(self) {
        tracing::info!(target: "agent", "shutting down");
        self.sampler.abort();
        self.task_sockets.close();
        self.serving.stop().await;
        self.parts.stop(self.rpc).await;
        if let Some(audit) = &self.audit {
            audit.flush().await;
        }
    }

    /// The audit log, if there is one.
    pub fn audit(&self) -> Option<&Arc<AuditLog>> {
        self.audit.as_ref()
    }
}

/// The components of an agent, except its HTTP interface.
#[derive(Default)]
struct Parts {
    /// The threads of the server.
    workplace: Option<Workplace>,
    /// The threads on which the server answers other agents.
    reception: Option<Workplace>,
    server: Option<Server>,
    service: Option<Service>,
    gossip: Option<Gossip>,
    members: Option<Members>,
    /// Joining, and the membership of consensus.
    looking_after: JoinSet<()>,
    client: Option<Client>,
    /// The connection of a node without a server in its agent.
    servers: Option<Arc<Remote>>,
    /// Reads disks from other nodes.
    disk_reads: Option<Arc<Agents>>,
    /// Scales worker pools while the server is the leader.
    autoscaling: Option<leader::Running>,
    /// The pages.
    web_ui: Option<WebUi>,
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
        task_sockets: &TaskSockets,
    ) -> Result<(), StartError> {
        if config.server.enabled {
            let dir = match config.server_dir() {
                dir if dir.as_os_str().is_empty() => {
                    let dir = std::env::temp_dir().join(format!("encamp-dev-{}", ids::uuid()));
                    self.scratch = Some(dir.clone());
                    dir
                }
                dir => dir,
            };
            let id = server_settings::server_id(&dir)?;
            let settings = server_settings::settings(config, &id.to_string(), &dir);
            let gossip = network.gossip(sockets, config, id, &dir).await?;
            self.gossip = Some(gossip.clone());
            let workplace = Workplace::new("server").map_err(StartError::Threads)?;
            self.reception = Some(Workplace::new("agents").map_err(StartError::Threads)?);
            let joined = workplace.run(Server::join(settings, metrics.clone(), network.links(config, &gossip))).await;
            self.workplace = Some(workplace);
            let server = joined??;
            self.service = Some(network.service(&server, gossip));
            self.server = Some(server);
        }
        if config.client.enabled {
            external_plugins::warn(config);
            let servers: Arc<dyn Servers> = if let Some(service) = &self.service {
                Arc::new(nodes::Local(service.clone()))
            } else {
                let remote = Arc::new(network.remote(network::servers(config)));
                self.servers = Some(remote.clone());
                remote
            };
            let services = AgentServices {
                servers,
                task_api: Some(Arc::new(task_sockets.clone())),
                api_reads: Some(Arc::new(task_sockets.clone())),
                disk_reads: Some(self.disk_reads.insert(Arc::new(Agents::new(config))).clone()),
                metrics: metrics.clone(),
            };
            self.client = Some(Client::start(client_settings::settings(config), services).await?);
        }
        Ok(())
    }

    /// Starts to answer other agents.
    fn open(&self, network: &Network, sockets: Sockets, app: &AppState) -> Option<Serving> {
        let open = || network.open(sockets, self.service.clone(), self.servers.clone(), app);
        match &self.reception {
            Some(threads) => threads.start(open),
            None => open(),
        }
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
                return Err(StartError::Join(multi_error(&errors)));
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
    ) -> Result<Option<Arc<Current>>, LeaderError> {
        let (Some(server), Some(gossip)) = (&self.server, self.gossip.clone()) else { return Ok(None) };
        let known = Arc::new(move || gossip.known());
        let Some((pools, running)) = leader::start(config, server, known, local, metrics)? else { return Ok(None) };
        self.autoscaling = Some(running);
        Ok(Some(pools))
    }

    /// Tells the parts that depend on TLS settings about new ones.
    fn tls_changed(&self, config: &Config) {
        if let Some(client) = &self.client {
            client.handle().set_tls_enabled(config.tls.http);
        }
        if let Some(agents) = &self.disk_reads {
            agents.tls_changed(config);
        }
        if let Some(autoscaling) = &self.autoscaling {
            autoscaling.tls_changed(config);
        }
        if let Some(web_ui) = &self.web_ui {
            web_ui.tls_changed(config);
        }
    }

    async fn stop(mut self, rpc: Option<Serving>) {
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
        if let Some(web_ui) = &self.web_ui {
            web_ui.stop();
        }
        if let Some(dir) = self.scratch {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

/// Opens the audit log, if the configuration enables it (`docs/spec/agent-config.md §5.13`).
///
/// # Errors
/// A file cannot be used.
fn open_audit(config: &Config, metrics: &Metrics) -> Result<Option<Arc<AuditLog>>, encamp_audit::OpenError> {
    if !config.audit.is_enabled() {
        return Ok(None);
    }
    let folder = config.audit_dir();
    let settings = encamp_audit::Settings {
        sinks: config.audit.sinks(&folder),
        filters: config.audit.filters(),
        key: (!folder.as_os_str().is_empty()).then(|| folder.join("hmac.key")),
        node: NodeMeta { ip: config.advertise.http.clone(), name: config.name.clone() },
    };
    AuditLog::open(settings, metrics).map(Arc::new).map(Some)
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
fn prepare_data_dir(config: &Config) -> Result<(), StartError> {
    if config.data_dir.is_empty() {
        return Ok(());
    }
    let dir = Path::new(&config.data_dir);
    let role = if config.server.enabled { "server" } else { "client" };
    let failed = |source| StartError::DataDir { role, path: dir.into(), source };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let probe = dir.join(format!(".write-test-{}", std::process::id()));
    std::fs::write(&probe, b"").map_err(failed)?;
    std::fs::remove_file(&probe).map_err(failed)
}

/// Binds the addresses of the HTTP interface.
async fn listen(addresses: &str, port: i64) -> Result<Listener, HttpError> {
    let sockets = addresses.split_whitespace().map(|ip| network::socket(ip, port)).collect::<Result<Vec<_>, _>>()?;
    Ok(Listener::bind(&sockets).await.map_err(SocketError::Listen)?)
}

/// Replaces port 0 by the chosen port.
fn choose_port(config: &mut Config, bound: &[SocketAddr]) {
    let Some(port) = bound.first().map(SocketAddr::port).filter(|_| config.ports.http == 0) else { return };
    config.ports.http = port.into();
    if let Some(host) = config.advertise.http.strip_suffix(":0") {
        config.advertise.http = format!("{host}:{port}");
    }
}

/// How the HTTP interface accepts connections.
fn accept_settings(config: &Config, tls: &AgentTls) -> AcceptSettings {
    AcceptSettings {
        max_connections_per_client: usize::try_from(config.limits.http_max_conns_per_client).unwrap_or(0),
        handshake_timeout: config.limits.https_handshake_timeout,
        tls: tls.http.clone(),
    }
}

/// The additional headers of answers.
///
/// # Errors
/// A name or value cannot stand in a header.
fn response_headers(config: &Config) -> Result<Headers, HttpError> {
    let header = |(name, value): (&String, &String)| {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| HttpError::HeaderName(name.clone()))?;
        match HeaderValue::from_str(value) {
            Ok(value) => Ok((name, value)),
            Err(_) => Err(HttpError::HeaderValue(name)),
        }
    };
    config.http_api_response_headers.iter().map(header).collect()
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
