//! Makes and removes the container that holds the network namespace of an allocation, which the containers of its
//! tasks share (`docs/spec/client.md §15.1`, `§23.3`).
//!
//! The namespace also gets the name that it would have if the agent made it: a process ID may stand for another
//! process later.

use std::collections::HashMap;
use std::path::PathBuf;

use bollard::models::{ContainerCreateBody, HostConfig, HostConfigLogConfig};
use bollard::query_parameters::InspectContainerOptions;
use serde_json::Value;

use super::super::network::{MadeNamespace, WantedNamespace};
use super::super::{DriverError, StartFailure, StartTask};
use super::connect::SHORT;
use super::container_state;
use super::create::{ALLOC_LABEL, NODE_LABEL};
use super::driver::{Docker, Taken};
use super::driver_state::{Shared, Unfinished};
use super::network_holder::Holder;
use super::task_config::TaskConfig;
use crate::netns;

/// The name of the container.
fn name(alloc_id: &str) -> String {
    format!("nomad_init_{alloc_id}")
}

/// The container as the daemon is to make it: it needs no rights.
fn body(shared: &Shared, wanted: &WantedNamespace, image: &str) -> ContainerCreateBody {
    let logging = &shared.config.logging;
    let labels = [(ALLOC_LABEL, wanted.alloc_id.clone()), (NODE_LABEL, shared.node_id())];
    let labels: HashMap<String, String> = labels.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
    ContainerCreateBody {
        image: Some(image.into()),
        hostname: Some(wanted.hostname.clone()).filter(|h| !h.is_empty()),
        labels: Some(labels),
        host_config: Some(HostConfig {
            network_mode: Some("none".into()),
            cap_drop: Some(vec!["ALL".into()]),
            readonly_rootfs: Some(true),
            log_config: Some(HostConfigLogConfig {
                typ: Some(logging.driver.clone()),
                config: Some(logging.options.clone().into_iter().collect()),
            }),
            ..HostConfig::default()
        }),
        ..ContainerCreateBody::default()
    }
}

fn unable(error: impl Into<StartFailure>) -> DriverError {
    DriverError::Namespace(error.into())
}

impl Docker {
    /// Makes the namespace of an allocation; a container that runs already is taken over.
    pub(super) async fn make_network(&self, wanted: &WantedNamespace) -> Result<MadeNamespace, DriverError> {
        let shared = &self.shared;
        if !shared.daemon.is_local() {
            return Err(unable(StartFailure::fatal("the container daemon is not one of this host")));
        }
        let holder_name = name(&wanted.alloc_id);
        let config = TaskConfig {
            image: shared.config.infra_image.clone(),
            pull_timeout: Some(shared.config.infra_image_pull_timeout),
            ..TaskConfig::default()
        };
        let mut start = StartTask { id: holder_name.clone(), ..StartTask::default() };
        start.names.alloc_id = wanted.alloc_id.clone();
        shared.track(&holder_name);
        let mut made =
            Unfinished { shared, name: &holder_name, image: None, container: None, task: &holder_name, done: false };
        let image = shared.images.get(&shared.config, &config, &start).await.map_err(unable)?;
        shared.images.take(&image, &holder_name);
        made.image = Some(image.clone());
        let body = body(shared, wanted, &image);
        let container = self.create(&holder_name, &config, &start, body, Taken::Kept).await.map_err(unable)?;
        made.container = Some(container.clone());
        self.run(&container).await?;
        let path = self.name_namespace(&container, &wanted.alloc_id).await?;
        made.done = true;
        drop(made);
        let holder = Holder { holder: container, holder_name, holder_image: image };
        Ok(MadeNamespace { path, state: serde_json::to_value(holder)? })
    }

    async fn pid(&self, container: &str) -> Result<u32, DriverError> {
        let call = self.shared.daemon.call("inspect the container", SHORT, |d| async move {
            d.inspect_container(container, None::<InspectContainerOptions>).await
        });
        let state = call.await?.state.unwrap_or_default();
        let pid = state.pid.filter(|_| state.running == Some(true)).and_then(|p| u32::try_from(p).ok());
        pid.filter(|p| *p > 1).ok_or_else(|| {
            unable(StartFailure::fatal("the container that holds it has ended: check infra_image of plugin \"docker\""))
        })
    }

    async fn name_namespace(&self, container: &str, alloc_id: &str) -> Result<PathBuf, DriverError> {
        let (pid, id) = (self.pid(container).await?, alloc_id.to_string());
        let named = tokio::task::spawn_blocking(move || netns::name_that_of(pid, &id)).await;
        let path = named.map_err(std::io::Error::other).and_then(|named| named);
        let path = path.map_err(|e| unable(StartFailure::fatal(e)))?;
        // The number may have become that of another process meanwhile.
        if self.pid(container).await? == pid { Ok(path) } else { Err(DriverError::Gone) }
    }

    /// Removes the namespace of an allocation.
    pub(super) async fn remove_network(&self, alloc_id: &str, state: &Value) -> Result<(), DriverError> {
        let (shared, name, id) = (&self.shared, name(alloc_id), alloc_id.to_string());
        let unnamed = tokio::task::spawn_blocking(move || netns::remove(&id)).await;
        let unnamed = unnamed.map_err(std::io::Error::other).and_then(|removed| removed);
        let removed = container_state::remove(&shared.daemon, &name).await;
        // One that can't be removed now is removed as those of no task are.
        shared.untrack(&name);
        removed?;
        if let Some(holder) = Holder::of(state) {
            shared.images.release(&shared.config, &holder.holder_image, &name);
        }
        unnamed.map_err(|e| unable(StartFailure::fatal(e)))
    }
}
