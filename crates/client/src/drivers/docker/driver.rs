//! The driver: starts containers, and finds them again.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bollard::models::ContainerCreateBody;
use bollard::query_parameters::{CreateContainerOptions, InspectContainerOptions, StartContainerOptions};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;

use super::super::network::{MadeNamespace, WantedNamespace};
use super::super::{
    Capabilities, Driver, DriverError, DriverNetwork, Fingerprint, Isolation, RunningTask, StartFailure, StartTask,
    Started,
};
use super::connect::{Daemon, DaemonError, LONG, SHORT};
use super::container_state::{self, Found};
use super::driver_state::{Shared, Unfinished, failed};
use super::images::Images;
use super::logs::Logger;
use super::network_holder::Holder;
use super::running_container::{self, RunningContainer, State};
use super::task_config::TaskConfig;
use super::{create, dangling, fingerprint, leftovers, log_process};
use crate::config::docker::DockerConfig;

/// The first pause before a container whose name is taken is made again; it doubles.
const NAME_PAUSE: Duration = Duration::from_millis(50);
/// How often a container is started.
const START_TRIES: u32 = 3;

/// The driver.
pub(crate) struct Docker {
    pub(super) shared: Arc<Shared>,
    /// The program that collects output: it calls [`log_process::main`].
    program: PathBuf,
    found: watch::Sender<Fingerprint>,
}

/// What becomes of a container of the same allocation that has the name of a new one, and does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It makes way.
    Replaced,
    /// It is used again where it can't be removed: Podman keeps one as long as others are to share its network.
    Kept,
}

impl Docker {
    /// A driver whose containers' output is collected by `program`, which calls [`log_process::main`].
    pub(crate) fn new(config: DockerConfig, program: PathBuf) -> Docker {
        let daemon = Arc::new(Daemon::new(&config.endpoint));
        let shared = Arc::new(Shared {
            images: Images::new(daemon.clone()),
            config,
            daemon,
            tracked: Mutex::default(),
            to_remove: Mutex::default(),
            node_id: OnceLock::new(),
        });
        Docker { shared, program, found: watch::channel(fingerprint::missing(false)).0 }
    }

    async fn start_task(&self, task: StartTask) -> Result<Started, StartFailure> {
        let shared = &self.shared;
        let config = TaskConfig::read(&task.config)?;
        let name = create::name(&task.task, &task.names.alloc_id);
        // What is not allowed is refused before anything is pulled.
        create::container(&shared.config, &config, &task, "", "")?;
        let holder = Holder::of_task(&config, &task);
        if let Some(holder) = &holder {
            holder.track(shared);
            holder.check(shared).await?;
        }
        // An earlier run of the agent may have made it already.
        shared.track(&name);
        let mut made = Unfinished { shared, name: &name, image: None, container: None, task: &task.id, done: false };
        let image = shared.images.get(&shared.config, &config, &task).await?;
        shared.images.take(&image, &task.id);
        made.image = Some(image.clone());
        let body = create::container(&shared.config, &config, &task, &image, &shared.node_id())?;
        let container = self.create(&name, &config, &task, body, Taken::Replaced).await?;
        made.container = Some(container.clone());
        self.run(&container).await.map_err(failed)?;
        let logger = self.collect_output(&container, &task).await;
        let network = self.network(&container, &config, &task).await;
        made.done = true;
        drop(made);
        let state = State { task: task.id.clone(), container, name, image, logger: None, network: holder };
        Ok(Started { handle: RunningContainer::new(shared.clone(), state, logger), network })
    }

    /// Makes a container. One of the same name that runs for the same allocation is taken over; others make way.
    pub(super) async fn create(
        &self,
        name: &str,
        config: &TaskConfig,
        task: &StartTask,
        body: ContainerCreateBody,
        taken: Taken,
    ) -> Result<String, StartFailure> {
        let daemon = &self.shared.daemon;
        let attempts = config.exists_attempts.unwrap_or(self.shared.config.container_exists_attempts).max(1);
        let mut pause = NAME_PAUSE;
        for left in (0..attempts).rev() {
            let options = CreateContainerOptions { name: Some(name.into()), ..CreateContainerOptions::default() };
            let body = body.clone();
            let call = daemon
                .call("create the container", LONG, |d| async move { d.create_container(Some(options), body).await });
            // Podman says of a taken name that something went wrong.
            let error = match call.await {
                Ok(made) => return Ok(made.id),
                Err(e @ DaemonError::Refused { status: 409 | 500, .. }) => e,
                Err(e) => return Err(failed(e)),
            };
            let found = daemon.call("inspect the container", SHORT, |d| async move {
                d.inspect_container(name, None::<InspectContainerOptions>).await
            });
            let found = match found.await {
                Ok(found) => found,
                Err(e) if e.is_not_found() && error.is_conflict() && left > 0 => continue,
                Err(_) => return Err(failed(error)),
            };
            let labels = found.config.and_then(|c| c.labels).unwrap_or_default();
            if labels.get(create::ALLOC_LABEL) != Some(&task.names.alloc_id) {
                let text = format!("{error}; container {name:?} is not of this allocation: remove it");
                return Err(StartFailure::Failed { text, recoverable: true });
            }
            let id = found.id.unwrap_or_else(|| name.into());
            if matches!(container_state::look(daemon, &id).await, Ok(Found::Running)) {
                return Ok(id);
            }
            if left == 0 {
                return Err(failed(error));
            }
            match (container_state::remove(daemon, &id).await, taken) {
                (Ok(()), _) => {}
                (Err(DaemonError::Refused { .. }), Taken::Kept) => return Ok(id),
                (Err(e), _) => return Err(failed(e)),
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        Err(StartFailure::fatal(format!("failed to create container {name:?} in {attempts} attempts")))
    }

    /// Starts a container; one that runs already is fine.
    pub(super) async fn run(&self, container: &str) -> Result<(), DaemonError> {
        let mut pause = NAME_PAUSE;
        let mut left = START_TRIES;
        loop {
            left -= 1;
            let call = self.shared.daemon.call("start the container", LONG, |d| async move {
                d.start_container(container, None::<StartContainerOptions>).await
            });
            match call.await {
                Err(DaemonError::Refused { status: 304, .. }) => return Ok(()),
                // Podman refuses a start while another one changes the same rules of the firewall.
                Err(e) if left > 0 && (e.is_temporary() || e.is_fault_of_daemon()) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                done => return done,
            }
        }
    }

    /// Starts the log process of a container. Without one, the task runs all the same.
    async fn collect_output(&self, container: &str, task: &StartTask) -> Option<Logger> {
        let settings = task.logs.filter(|_| !self.shared.config.disable_log_collection)?;
        let order = log_process::Order {
            endpoint: self.shared.daemon.endpoint().to_string(),
            container: container.into(),
            alloc_dir: task.alloc_dir.clone(),
            task: task.task.clone(),
            run: task.id.rsplit('/').next().unwrap_or("task").into(),
            logs: settings,
        };
        match Logger::start(&self.program, order).await {
            Ok(logger) => Some(logger),
            Err(error) => {
                tracing::warn!(target: "client.driver_mgr.docker", task = task.task, %error, "the output of the container is not collected");
                None
            }
        }
    }

    /// The address of a container, as its first network gives it.
    async fn network(&self, container: &str, config: &TaskConfig, task: &StartTask) -> Option<DriverNetwork> {
        let call = self.shared.daemon.call("inspect the container", SHORT, |d| async move {
            d.inspect_container(container, None::<InspectContainerOptions>).await
        });
        let networks = call.await.ok()?.network_settings?.networks?;
        let sorted: std::collections::BTreeMap<_, _> = networks.into_iter().collect();
        let set = |text: Option<String>| text.filter(|t| !t.is_empty());
        let (name, ip) = sorted.into_iter().find_map(|(name, found)| {
            let v6 = set(found.global_ipv6_address).filter(|_| config.advertise_ipv6);
            Some((name, v6.or_else(|| set(found.ip_address))?))
        })?;
        // Podman's name of the network that Docker calls bridge.
        let own = !matches!(name.as_str(), "bridge" | "podman");
        let advertise = config.advertise_ipv6 || own;
        Some(DriverNetwork { ip, advertise, ports: create::port_map(config, task) })
    }
}

impl Driver for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            signals: true,
            exec: true,
            isolation: Isolation::Image,
            own_network: true,
            mounts: true,
            local_processes: self.shared.daemon.is_local(),
        }
    }

    fn fingerprint(&self) -> Fingerprint {
        self.found.borrow().clone()
    }

    fn changed<'a>(&'a self, from: &'a Fingerprint) -> BoxFuture<'a, ()> {
        let mut found = self.found.subscribe();
        Box::pin(async move { drop(found.wait_for(|now| now != from).await) })
    }

    fn expect(&self, state: &Value) {
        if let Ok(state) = serde_json::from_value::<State>(state.clone()) {
            self.shared.track(&state.name);
            if let Some(holder) = state.network {
                holder.track(&self.shared);
            }
        } else if let Some(holder) = Holder::of(state) {
            holder.track(&self.shared);
        }
    }

    fn creates_network(&self) -> bool {
        true
    }

    fn create_network<'a>(&'a self, wanted: &'a WantedNamespace) -> BoxFuture<'a, Result<MadeNamespace, DriverError>> {
        Box::pin(self.make_network(wanted))
    }

    fn destroy_network<'a>(&'a self, alloc_id: &'a str, state: &'a Value) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(self.remove_network(alloc_id, state))
    }

    fn begin(&self, node_id: &str) {
        if self.shared.node_id.set(node_id.into()).is_err() {
            return;
        }
        tokio::spawn(fingerprint::look_forever(Arc::downgrade(&self.shared), self.found.clone()));
        let dangling = self.shared.config.gc.dangling.clone();
        if dangling.enabled {
            tokio::spawn(dangling::remove_forever(Arc::downgrade(&self.shared), dangling));
        }
    }

    fn remove_leftovers(&self) -> BoxFuture<'_, ()> {
        Box::pin(leftovers::remove(&self.shared, self.fingerprint().healthy))
    }

    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>> {
        Box::pin(self.start_task(task))
    }

    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>> {
        Box::pin(async move {
            let state: State = serde_json::from_value(state.clone())?;
            let found = running_container::recover(&self.shared, &self.program, state).await?;
            Ok(found as Arc<dyn RunningTask>)
        })
    }

    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if let Ok(state) = serde_json::from_value::<State>(state.clone()) {
                running_container::forget(&self.shared, &state).await;
            }
        })
    }
}
