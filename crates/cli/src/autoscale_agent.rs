//! `autoscale agent`: an external autoscaler for the worker pools of a cluster (`docs/spec/cluster-scaling.md §1.1`).

use std::sync::Arc;
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::data::typed;
use super::environment_variables::PROVIDER_CREDENTIALS;
use super::flags::parse_int;
use super::prelude::*;
use encamp_agent::Logs;
use encamp_agent::autoscale::http_cluster::HttpCluster;
use encamp_agent::autoscale::lock::{LeaderLock, LockLost};
use encamp_agent::autoscale::loops::Loops;
use encamp_agent::autoscale::parts::{Parts, Place, own_alloc};
use encamp_agent::config::autoscaling::{self, Autoscaling, AutoscalingFile};
use encamp_agent::config::kinds::{Nanos, Open};
use encamp_agent::config::{self, Config, SettingsFile, Sources};
use encamp_agent::log::{Level, LogSettings, Output};
use encamp_api::types::AgentSelf;
use encamp_api::{Client, Query};
use encamp_autoscale::params::ProviderKind;
use encamp_autoscale::paths::NAMESPACE;
use encamp_host::platform::process::host_name;
use encamp_model::duration::parse_duration;
use encamp_telemetry::Metrics;

/// The time limit for the current step when the loops must end.
const STEP: Duration = Duration::from_secs(35);
/// The interval at which servers that scale the cluster themselves are polled.
const SERVERS_SCALE: Duration = Duration::from_secs(30);
/// The delay before loops that ended unexpectedly are restarted.
const PAUSE: Duration = Duration::from_secs(1);

/// Run an autoscaler for the worker pools of a cluster
///
/// Watches the nodes whose metadata names a worker pool, and scales each pool to the size that its jobs require, until
/// it receives SIGINT or SIGTERM. If several such processes run, only the holder of the lock of the variable
/// encamp/autoscale/leader acts; the others wait for the lock. The autoscaler works with every cluster that provides
/// the HTTP API of Nomad.
///
/// If the servers scale worker pools themselves (their configuration has an enabled autoscaling block), the autoscaler
/// stays idle.
///
/// Configure notifications and providers in the autoscaling block of a configuration file (-config), as for an agent.
/// Flags take precedence.
///
/// Log messages are written to standard error.
#[derive(Debug, clap::Parser)]
pub struct AutoscaleAgent {
    /// Configuration file or directory with an autoscaling block. Can be given several times; later ones take
    /// precedence
    #[arg(long, value_name = "path")]
    pub config: Vec<String>,
    /// Interval of the evaluation of worker pools. Default: 10s
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub cluster_interval: Option<i64>,
    /// Interval of the evaluation of job groups. Default: 10s
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub job_interval: Option<i64>,
    /// Number of pools that are evaluated concurrently. Default: 10
    #[arg(long, value_name = "number", value_parser = parse_int)]
    pub concurrency: Option<i64>,
    /// Drain deadline of nodes that are removed. Default: 15m
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub drain_deadline: Option<i64>,
    /// Scale job groups as well
    #[arg(long)]
    pub job_scaling: bool,
    /// Log level: TRACE, DEBUG, INFO, WARN, ERROR or OFF. Default: INFO
    #[arg(long, value_name = "level")]
    pub log_level: Option<String>,
    /// Log as JSON
    #[arg(long)]
    pub log_json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl AutoscaleAgent {
    /// The configuration files, overridden by the flags.
    fn sources(&self) -> Sources {
        let mut flags = SettingsFile::default();
        let mut own = AutoscalingFile::default();
        own.cluster_interval.0 = self.cluster_interval.map(Nanos);
        own.job_interval.0 = self.job_interval.map(Nanos);
        own.concurrency.0 = self.concurrency;
        own.drain_deadline.0 = self.drain_deadline.map(Nanos);
        own.job_scaling.0 = self.job_scaling.then_some(true);
        flags.autoscaling = Open(Some(own));
        flags.log_level.0.clone_from(&self.log_level);
        flags.log_json.0 = self.log_json.then_some(true);
        Sources { paths: self.config.clone(), flags, ..Sources::default() }
    }

    /// Returns the validated configuration. Only the autoscaling block and the log settings are used.
    fn read(&self, mut warn: impl FnMut(&str)) -> CommandResult<(Config, Autoscaling)> {
        for (flag, given) in [
            ("cluster-interval", self.cluster_interval),
            ("job-interval", self.job_interval),
            ("drain-deadline", self.drain_deadline),
        ] {
            if given.is_some_and(|nanos| nanos <= 0) {
                return Err(CommandError::new(format!("-{flag} must be greater than zero")));
            }
        }
        let loaded = config::load(&self.sources())?;
        loaded.warnings.iter().for_each(|w| warn(w));
        let config = loaded.config;
        let block = config.autoscaling.clone().unwrap_or_default();
        autoscaling::check(&block, !config.data_dir.is_empty())?;
        config::level(&config.log_level)?;
        Ok((config, block))
    }

    /// The client of the cluster, for the namespace of the Variables.
    fn client(&self, env: &Environment) -> CommandResult<Client> {
        let client = self.general.client(env).map_err(CommandError::new)?;
        Ok(Client::new(encamp_api::Config { namespace: Some(NAMESPACE.into()), ..client.config().clone() })?)
    }

    fn scale(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let (config, block) = self.read(|line| context.ui.warn(line))?;
        open_logs(&config)?;
        let client = self.client(context.env)?;
        let metrics = Metrics::new(config.telemetry_settings()?);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|e| CommandError::new(format!("Error starting the runtime: {e}")))?;
        context.env.terminal.handle_signals_in_command();
        let process = Process::new(config, block, client, metrics, context.env);
        let done = runtime.block_on(process.run());
        // Tasks that still run must not delay the exit.
        runtime.shutdown_background();
        done.map(|()| 0)
    }
}

/// Opens the log of the process on standard error.
fn open_logs(config: &Config) -> CommandResult<()> {
    let settings = LogSettings {
        level: Level::parse(&config.log_level).unwrap_or(Level::Info),
        json: config.log_json,
        location: false,
        output: Output::Error,
        file: None,
        syslog: None,
    };
    let logs = Logs::open(&settings)?;
    logs.install().map_err(|e| CommandError::new(format!("Error setting up logs: {e}")))?;
    logs.release();
    Ok(())
}

impl Run for AutoscaleAgent {
    const META: Meta = Meta::new("autoscale agent")
        .environment(&[
            ("NOMAD_ALLOC_ID", "Name of this autoscaler in the election of a leader."),
            PROVIDER_CREDENTIALS,
        ])
        .exit_status(&[(0, "A signal stopped the autoscaler."), (1, "An error occurred.")])
        .examples(&[
            ("Scale the worker pools of the cluster, with the default settings", "encamp autoscale agent"),
            (
                "Scale worker pools and job groups, with providers from a file",
                "encamp autoscale agent -config autoscaling.hcl -job-scaling",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.attempt(|context| self.scale(context))
    }
}

/// Interrupt and termination.
struct Signals(Signal, Signal);

impl Signals {
    fn new() -> std::io::Result<Signals> {
        Ok(Signals(signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?))
    }

    async fn stop(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// Why the loops ended.
enum Ended {
    /// A signal was received.
    Signal,
    /// The lock was lost, with the reason.
    LockLost(LockLost),
    /// The loops ended.
    Loops,
}

/// The process.
struct Process {
    config: Config,
    block: Autoscaling,
    client: Arc<Client>,
    lock: Arc<LeaderLock>,
    metrics: Metrics,
    own_alloc: Option<String>,
}

impl Process {
    fn new(config: Config, block: Autoscaling, client: Client, metrics: Metrics, env: &Environment) -> Process {
        let client = Arc::new(client);
        let own_alloc = own_alloc(|name| env.var(name));
        let holder = format!("{} pid {}", host_name(), std::process::id());
        let holder = own_alloc.as_ref().map_or(holder.clone(), |alloc| format!("{holder} allocation {alloc}"));
        let lock = Arc::new(LeaderLock::new(client.clone(), holder));
        Process { config, block, client, lock, metrics, own_alloc }
    }

    /// Runs until a signal is received.
    async fn run(self) -> CommandResult<()> {
        let signals = Signals::new();
        let mut signals = signals.map_err(|e| CommandError::new(format!("Error listening for signals: {e}")))?;
        tracing::info!(target: "autoscale", address = self.client.address(), "autoscaler started");
        let mut made: Option<(Parts, Arc<HttpCluster>)> = None;
        loop {
            tokio::select! {
                () = self.lock.acquire() => {}
                () = signals.stop() => return self.end().await,
            }
            if self.servers_scale().await {
                tracing::warn!(target: "autoscale", "the servers scale this cluster themselves; waiting");
                self.give_back().await;
                tokio::select! {
                    () = tokio::time::sleep(SERVERS_SCALE) => continue,
                    () = signals.stop() => return self.end().await,
                }
            }
            tracing::info!(target: "autoscale", "acquired the lock: this instance scales the worker pools");
            // Everything that depends on the cluster is created when the cluster is reached for the first time.
            let (parts, cluster) = match made.take() {
                Some(made) => made,
                None => match self.make().await {
                    Ok(made) => made,
                    Err(e) => {
                        let _ = self.lock.release().await;
                        return Err(e);
                    }
                },
            };
            let ended = self.act(&Loops::new(&parts, cluster.clone()), &mut signals).await;
            made = Some((parts, cluster));
            match ended {
                Ended::Signal => return self.end().await,
                Ended::LockLost(why) => {
                    tracing::warn!(target: "autoscale", %why, "lost the lock; waiting for it");
                }
                Ended::Loops => self.give_back().await,
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = signals.stop() => return self.end().await,
            }
        }
    }

    /// Runs the loops while the lock is held. The current step is always completed, within a time limit.
    async fn act(&self, loops: &Loops, signals: &mut Signals) -> Ended {
        let mut run = std::pin::pin!(loops.run());
        let ended = tokio::select! {
            () = run.as_mut() => return Ended::Loops,
            why = self.lock.keep() => Ended::LockLost(why),
            () = signals.stop() => Ended::Signal,
        };
        self.lock.stop_acting();
        let last = tokio::time::timeout(STEP, run);
        match &ended {
            // After a second signal, the process does not wait for the step.
            Ended::Signal => tokio::select! {
                _ = last => {}
                () = signals.stop() => {}
            },
            Ended::LockLost(_) | Ended::Loops => drop(last.await),
        }
        ended
    }

    async fn end(&self) -> CommandResult<()> {
        match self.lock.release().await {
            Ok(()) => tracing::info!(target: "autoscale", "autoscaler stopped"),
            Err(error) => {
                tracing::warn!(target: "autoscale", %error, "autoscaler stopped without releasing the lock");
            }
        }
        Ok(())
    }

    async fn give_back(&self) {
        if let Err(error) = self.lock.release().await {
            tracing::warn!(target: "autoscale", %error, "the lock was not released");
        }
    }

    /// Whether the servers scale worker pools themselves. Servers that do not, and Nomad servers, do not have this
    /// path.
    async fn servers_scale(&self) -> bool {
        self.client.get::<serde_json::Value>("/v1/autoscale/pools", &Query::default()).await.is_ok()
    }

    /// Creates the components of the loops and the cluster from the cluster's own description.
    async fn make(&self) -> CommandResult<(Parts, Arc<HttpCluster>)> {
        let place = self.place().await?;
        let parts = Parts::new(&self.block, place, self.metrics.clone(), self.own_alloc.clone())?;
        let cluster = HttpCluster::new(self.client.clone(), self.lock.clone(), self.region().await, parts.now());
        Ok((parts, Arc::new(cluster)))
    }

    /// The region of the requests: the configured one, or that of the contacted agent.
    async fn region(&self) -> String {
        if let Some(region) = &self.client.config().region {
            return region.clone();
        }
        let agent =
            self.client.agent_self().await.ok().and_then(|(agent, _)| typed::<AgentSelf<IgnoredAny>>(&agent).ok());
        agent.and_then(|agent| agent.config.region).unwrap_or_else(|| "global".to_string())
    }

    /// The working directory and servers of the provider `local`.
    async fn place(&self) -> CommandResult<Place> {
        if !self.block.provider.contains_key(ProviderKind::Local.name()) {
            return Ok(Place::default());
        }
        let servers = self.client.servers_of_cluster().await;
        let unread = |e| CommandError::new(format!("the addresses of the servers cannot be read: {e}"));
        let (servers, _) = servers.map_err(unread)?;
        Ok(Place { directory: self.config.autoscale_dir(), servers })
    }
}
