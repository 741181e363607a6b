//! The components of the loops, created from the `autoscaling` block (`docs/spec/cluster-scaling.md §1.1`).

use std::path::PathBuf;
use std::sync::Arc;

use encamp_autoscale::cluster::Cluster;
use encamp_autoscale::driver::{Autoscaler, Clock, Providers, Settings};
use encamp_autoscale::jobs::driver::{self as jobs, JobScaler};
use encamp_autoscale::notify::sender::Sender;
use encamp_autoscale::notify::{BackendError, Nobody, Notify};
use encamp_autoscale::params::ProviderKind;
use encamp_autoscale::provider::aws::Aws;
use encamp_autoscale::provider::command::{Command, CommandSettings};
use encamp_autoscale::provider::local::{Local, LocalGroup, LocalSettings};
use encamp_model::quoted;
use encamp_telemetry::Metrics;
use thiserror::Error;

use crate::config::InvalidNotify;
use crate::config::autoscaling::{self, Autoscaling, Provider, backend};

/// A component of the loops that cannot be set up.
#[derive(Debug, Error)]
pub enum PartsError {
    /// The settings of a receiver of notifications.
    #[error(transparent)]
    Notify(#[from] InvalidNotify),
    /// A receiver of notifications.
    #[error("notify {}: {source}", quoted(.name))]
    Backend {
        /// Its name.
        name: String,
        /// The problem.
        source: BackendError,
    },
    /// The provider `local` cannot start this program again.
    #[error("provider \"local\": this program is not found: {0}")]
    Program(#[source] std::io::Error),
    /// The path of the configuration of a group of the provider `local`.
    #[error("provider \"local\": group {}: config: {source}", quoted(.pool))]
    GroupConfig {
        /// The group's pool.
        pool: String,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// The working directory and servers of the provider `local`.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// The directory of its groups.
    pub directory: PathBuf,
    /// RPC addresses of the servers that its instances join.
    pub servers: Vec<String>,
}

/// The components of the loops, except the cluster.
pub struct Parts {
    /// The intervals and the concurrency.
    pub settings: Settings,
    providers: Providers,
    /// The provider `local`, which only checks its instances when it is called.
    local: Option<Arc<Local>>,
    notifier: Arc<dyn Notify>,
    metrics: Metrics,
    own_alloc: Option<String>,
    now: Clock,
}

impl Parts {
    /// Creates the components. Must be called inside a runtime. `own_alloc`: the allocation that this process runs in.
    ///
    /// # Errors
    /// A provider or a backend for notifications cannot be set up.
    pub fn new(
        a: &Autoscaling,
        place: Place,
        metrics: Metrics,
        own_alloc: Option<String>,
    ) -> Result<Parts, PartsError> {
        let settings = Settings {
            cluster_interval: a.cluster_interval,
            job_interval: a.job_interval,
            concurrency: usize::try_from(a.concurrency).unwrap_or(1),
            drain_deadline: a.drain_deadline,
            job_scaling: a.job_scaling,
        };
        let backends = a.notify.iter().map(|(name, n)| backend(name, n)).collect::<Result<Vec<_>, _>>()?;
        let notifier: Arc<dyn Notify> = match backends.is_empty() {
            true => Arc::new(Nobody),
            false => {
                let sender = Sender::new(backends, metrics.clone());
                Arc::new(sender.map_err(|(name, source)| PartsError::Backend { name, source })?)
            }
        };
        let local = a.provider.get(ProviderKind::Local.name()).map(|p| local_settings(p, place)).transpose()?;
        let local = local.map(|settings| Arc::new(Local::new(settings)));
        let providers = providers(a, local.clone());
        let now: Clock = Arc::new(encamp_host::ids::now);
        Ok(Parts { settings, providers, local, notifier, metrics, own_alloc, now })
    }

    /// The clock of the loops.
    pub fn now(&self) -> Clock {
        self.now.clone()
    }

    /// The provider `local`, if it is configured.
    pub fn local(&self) -> Option<Arc<Local>> {
        self.local.clone()
    }

    /// The loop over worker pools.
    pub fn autoscaler(&self, cluster: Arc<dyn Cluster>) -> Autoscaler {
        Autoscaler::new(
            self.settings,
            cluster,
            self.providers.clone(),
            self.notifier.clone(),
            self.metrics.clone(),
            self.own_alloc.clone(),
            self.now.clone(),
        )
    }

    /// The loop over job groups.
    pub fn job_scaler(&self, cluster: Arc<dyn Cluster>) -> JobScaler {
        let settings = jobs::Settings { interval: self.settings.job_interval, concurrency: self.settings.concurrency };
        JobScaler::new(settings, cluster, self.notifier.clone(), self.metrics.clone(), self.now.clone())
    }
}

/// The available providers: `aws` always, the others if they are configured.
fn providers(a: &Autoscaling, local: Option<Arc<Local>>) -> Providers {
    let mut providers = Providers::new();
    providers.insert(ProviderKind::Aws, Arc::new(Aws::new()));
    let command = a.provider.get(ProviderKind::Command.name());
    if let Some(settings) = command.and_then(|p| CommandSettings::new(&p.command)) {
        providers.insert(ProviderKind::Command, Arc::new(Command::new(settings)));
    }
    if let Some(local) = local {
        providers.insert(ProviderKind::Local, local);
    }
    providers
}

fn local_settings(p: &Provider, place: Place) -> Result<LocalSettings, PartsError> {
    let program = std::env::current_exe().map_err(PartsError::Program)?;
    let group = |(pool, g): (&String, &autoscaling::LocalGroup)| {
        let config = std::path::absolute(&g.config);
        let config = config.map_err(|source| PartsError::GroupConfig { pool: pool.clone(), source })?;
        let group = LocalGroup {
            min: g.min,
            max: g.max.unwrap_or(g.min),
            desired: g.desired.unwrap_or(g.min),
            config,
            servers: place.servers.clone(),
        };
        Ok((pool.clone(), group))
    };
    let groups = p.group.iter().map(group).collect::<Result<_, PartsError>>()?;
    Ok(LocalSettings { directory: place.directory.clone(), program, groups })
}

/// The allocation that this process runs in, from its environment.
pub fn own_alloc<'v>(var: impl Fn(&str) -> Option<&'v str>) -> Option<String> {
    var("NOMAD_ALLOC_ID").filter(|id| !id.is_empty()).map(String::from)
}
