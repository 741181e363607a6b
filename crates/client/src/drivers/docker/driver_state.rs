//! What the driver and its tasks share: the daemon, images, and the containers that belong to tasks.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::super::StartFailure;
use super::connect::{Daemon, DaemonError};
use super::container_state;
use super::images::Images;
use crate::config::docker::DockerConfig;

/// What the driver and its tasks share.
pub(super) struct Shared {
    pub config: DockerConfig,
    pub daemon: Arc<Daemon>,
    pub images: Images,
    /// Names of the containers that belong to tasks.
    pub tracked: Mutex<BTreeSet<String>>,
    /// Containers whose removal failed.
    pub to_remove: Mutex<BTreeSet<String>>,
    pub node_id: OnceLock<String>,
}

impl Shared {
    pub(super) fn track(&self, name: &str) {
        self.tracked.lock().insert(name.into());
    }

    pub(super) fn untrack(&self, name: &str) {
        self.tracked.lock().remove(name);
    }

    pub(super) fn tracked(&self) -> BTreeSet<String> {
        self.tracked.lock().clone()
    }

    pub(super) fn node_id(&self) -> String {
        self.node_id.get().cloned().unwrap_or_default()
    }

    /// Removes a container when the daemon answers again.
    pub(super) fn remove_later(&self, container: String) {
        self.to_remove.lock().insert(container);
    }

    /// Removes the containers whose removal failed. Returns the last error; those containers are tried again.
    pub(super) async fn remove_left(&self) -> Result<(), DaemonError> {
        let left = self.to_remove.lock().clone();
        let mut removed = Ok(());
        for container in left {
            match container_state::remove(&self.daemon, &container).await {
                Ok(()) => drop(self.to_remove.lock().remove(&container)),
                Err(error) => removed = Err(error),
            }
        }
        removed
    }
}

/// A container that is made, and not known to anybody yet: it goes if its start does not succeed.
pub(super) struct Unfinished<'a> {
    pub shared: &'a Arc<Shared>,
    pub name: &'a str,
    pub image: Option<String>,
    pub container: Option<String>,
    pub task: &'a str,
    /// The start succeeded.
    pub done: bool,
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if let Some(container) = self.container.take() {
            let shared = self.shared.clone();
            tokio::spawn(async move {
                if container_state::remove(&shared.daemon, &container).await.is_err() {
                    shared.remove_later(container);
                }
            });
        }
        self.shared.untrack(self.name);
        if let Some(image) = self.image.take() {
            self.shared.images.release(&self.shared.config, &image, self.task);
        }
    }
}

/// The failure of a start because of the daemon.
pub(super) fn failed(error: DaemonError) -> StartFailure {
    StartFailure::Failed { recoverable: error.is_temporary(), text: error.to_string() }
}
