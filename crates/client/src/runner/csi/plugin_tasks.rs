//! Tasks that are storage plugins: their sockets, and the supervision of their health. The CSI volumes of allocations
//! (`docs/spec/client.md §24.2`).

use std::path::Path;
use std::time::{Duration, Instant};

use encamp_csi::{Limits, Plugin};

use super::super::Shared;
use super::super::alloc::AllocRunner;
use super::super::error::HookError;
use super::super::task::TaskRunner;
use super::mount::{self, MountError};
use crate::clock;
use crate::csi::dirs::SOCKET;
use crate::csi::readiness::{NotReady, look};
use crate::csi::registry::{Change, PluginTask};
use crate::drivers::{Driver, Mount, Propagation, VolumeMounts};
use crate::events;
use crate::policy::csi::health_timeout;
use encamp_model::{CsiServices, Task, TaskCsiPluginConfig, TaskEventType};

/// The variable that tells a plugin where to listen.
const ENDPOINT: &str = "CSI_ENDPOINT";
/// Between two probes of a plugin that has not been healthy yet.
const FIRST_PROBES: Duration = Duration::from_millis(500);
/// Between two probes of one that was.
const LATER_PROBES: Duration = Duration::from_secs(30);
/// Where a plugin with a file system of its own has the directory of its socket, unless the job says so.
const MOUNT_DIR: &str = "/csi";

/// Where a plugin with a file system of its own has the directory of its socket.
fn mount_dir(config: &TaskCsiPluginConfig) -> &str {
    if config.mount_dir.is_empty() { MOUNT_DIR } else { &config.mount_dir }
}

/// Why the task of a plugin is killed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the plugin did not become healthy within {limit:?}{}", last.as_ref().map(|e| format!(": {e}")).unwrap_or_default())]
pub(in crate::runner) struct PluginFailure {
    /// How long it may take.
    limit: Duration,
    /// The last error; `None`: the first probe did not end.
    last: Option<NotReady>,
}

/// The plugin is shown as long as this exists.
struct Registered<'a> {
    shared: &'a Shared,
    of: PluginTask,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shared.csi.registry.remove(&self.of);
        self.shared.show_csi_plugins();
    }
}

impl Shared {
    /// Shows the storage plugins in the node as they are now; servers learn of changes.
    pub(in crate::runner) fn show_csi_plugins(&self) {
        let mut node = self.node.write();
        // Taken with the lock held, so that a newer state is not replaced by an older one.
        let shown = self.csi.registry.shown();
        if node.csi_controller_plugins == shown.controllers && node.csi_node_plugins == shown.nodes {
            return;
        }
        node.csi_controller_plugins = shown.controllers;
        node.csi_node_plugins = shown.nodes;
        drop(node);
        self.node_changed.notify_one();
    }
}

impl AllocRunner {
    /// Whether one of its tasks is a storage plugin.
    pub(crate) fn runs_csi_plugin(&self) -> bool {
        self.tasks.iter().any(|t| t.task().csi_plugin_config.is_some())
    }

    /// The mounted CSI volumes, by the name that the group gives them.
    pub fn volume_mounts(&self) -> VolumeMounts {
        self.volumes.lock().clone()
    }

    /// Claims and mounts the CSI volumes of the group; false if the allocation is to end, or the agent stops.
    pub(in crate::runner) async fn mount_volumes(&self) -> Result<bool, MountError> {
        let alloc = self.alloc();
        let wanted = mount::wanted(&alloc);
        if wanted.is_empty() {
            return Ok(true);
        }
        let begin = Instant::now();
        let (mut stopping, mut going) = (self.stopping.subscribe(), self.shutdown_signal());
        let mounted = tokio::select! {
            mounted = self.shared.mount_csi_volumes(&wanted) => mounted.map(Some),
            _ = async { stopping.wait_for(|s| *s).await.is_ok() } => Ok(None),
            _ = async { going.wait_for(|s| *s).await.is_ok() } => Ok(None),
        };
        self.shared.hook("alloc_hook.prerun", "csi_hook", &alloc, begin, mounted.is_ok());
        let Some(mounts) = mounted? else { return Ok(false) };
        *self.volumes.lock() = mounts;
        Ok(true)
    }

    /// Unmounts and releases the CSI volumes of the allocation. Waits for that, but not when the agent stops.
    pub(in crate::runner) async fn unmount_volumes(&self) {
        let mut going = self.shutdown_signal();
        tokio::select! {
            () = self.shared.unmount_csi_volumes(&self.id) => {}
            _ = async { going.wait_for(|s| *s).await.is_ok() } => {}
        }
    }
}

impl TaskRunner {
    /// Prepares the socket of a task that is a storage plugin. Gives what such a task needs in its own file system.
    pub(in crate::runner) fn prepare_csi_plugin(
        &self,
        owner: &AllocRunner,
        task: &Task,
        driver: &dyn Driver,
    ) -> Result<Vec<Mount>, HookError> {
        let Some(config) = &task.csi_plugin_config else { return Ok(Vec::new()) };
        if CsiServices::of_type(&config.r#type).is_none() {
            return Err(HookError::PluginType(config.r#type.clone()));
        }
        let able = driver.capabilities();
        if able.isolation.isolates() && !able.mounts {
            return Err(HookError::PluginDriver(task.driver.clone()));
        }
        let dirs = &self.shared.csi.dirs;
        dirs.prepare_socket(&owner.id, &self.name)?;
        if !able.isolation.isolates() {
            return Ok(Vec::new());
        }
        let mut mounts = Vec::new();
        if let Some(dir) = dirs.socket(&owner.id, &self.name).parent() {
            mounts.push(Mount {
                host: dir.into(),
                task: mount_dir(config).into(),
                read_only: false,
                propagation: Propagation::Private,
            });
        }
        // Calls have paths of the host. What the plugin mounts there is to be seen by the host.
        for dir in dirs.prepare_mounts()? {
            mounts.push(Mount {
                task: dir.clone(),
                host: dir,
                read_only: false,
                propagation: Propagation::Bidirectional,
            });
        }
        Ok(mounts)
    }

    /// The variables of a task that is a storage plugin.
    pub(in crate::runner) fn csi_variables(&self, owner: &AllocRunner, task: &Task) -> Option<(String, String)> {
        let config = task.csi_plugin_config.as_ref()?;
        let socket = match self.isolation().isolates() {
            true => Path::new(mount_dir(config)).join(SOCKET),
            false => self.shared.csi.dirs.socket(&owner.id, &self.name),
        };
        Some((ENDPOINT.into(), format!("unix://{}", socket.display())))
    }

    /// Supervises the plugin of a running task; for other tasks, nothing. The plugin is registered while the future is
    /// polled, until it is dropped. It ends when the task is to be killed.
    pub(in crate::runner) async fn supervise_csi_plugin(&self) -> PluginFailure {
        let task = self.task();
        let config = task.csi_plugin_config.as_ref();
        let plugin_task = config.and_then(|config| {
            let (services, owner) = (CsiServices::of_type(&config.r#type)?, self.owner.upgrade()?);
            let (alloc_id, task) = (owner.id.clone(), self.name.clone());
            Some((config, PluginTask { alloc_id, task, plugin_id: config.id.clone(), services }))
        });
        let Some((config, of)) = plugin_task else { return std::future::pending().await };
        let socket = self.shared.csi.dirs.socket(&of.alloc_id, &of.task);
        let plugin = Plugin::new(socket, Limits::default());
        let limit = health_timeout(config);
        let mut last = None;
        let first = async {
            loop {
                match look(&plugin, of.services).await {
                    Ok(found) => return found,
                    Err(error) => last = Some(error),
                }
                tokio::time::sleep(FIRST_PROBES).await;
            }
        };
        let Ok(found) = tokio::time::timeout(limit, first).await else {
            return PluginFailure { limit, last };
        };
        let registered = Registered { shared: &self.shared, of };
        self.plugin_changed(self.shared.csi.registry.answered(&registered.of, &plugin, found, clock::now()), None);
        loop {
            tokio::time::sleep(LATER_PROBES).await;
            let (change, error) = match look(&plugin, registered.of.services).await {
                Ok(found) => (self.shared.csi.registry.answered(&registered.of, &plugin, found, clock::now()), None),
                Err(error) => {
                    let change = self.shared.csi.registry.failed(&registered.of, error.to_string(), clock::now());
                    (change, Some(error))
                }
            };
            self.plugin_changed(change, error);
        }
    }

    /// Shows the result of a probe.
    fn plugin_changed(&self, change: Change, error: Option<NotReady>) {
        match change {
            Change::None => {}
            Change::Healthy => self.emit(events::message(TaskEventType::PluginBecameHealthy, "The plugin answers")),
            Change::Unhealthy => {
                let text = error.map(|e| e.to_string()).unwrap_or_default();
                tracing::warn!(target: "client.csi", task = self.name, error = text, "a storage plugin does not answer");
                self.emit(events::message(TaskEventType::PluginBecameUnhealthy, text));
            }
        }
        // Capabilities may change without the health.
        self.shared.show_csi_plugins();
    }

    /// Tells why the task of a plugin is killed.
    pub(in crate::runner) fn plugin_failed(&self, failure: &PluginFailure) {
        tracing::warn!(target: "client.csi", task = self.name, error = %failure, "killing the task of a storage plugin");
        self.emit(events::message(TaskEventType::PluginBecameUnhealthy, format!("Killing the task: {failure}")));
    }
}
