//! The container that holds the network namespace of an allocation, as the containers of its tasks need it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{StartFailure, StartTask};
use super::container_state::{self, Found};
use super::driver_state::{Shared, failed};
use super::task_config::TaskConfig;

/// What the driver keeps of a namespace that it made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// ID of the container.
    pub holder: String,
    /// Its name, which also stands for it as the user of its image.
    pub holder_name: String,
    /// ID of its image.
    pub holder_image: String,
}

impl Holder {
    /// The one of a stored value.
    pub(super) fn of(value: &Value) -> Option<Holder> {
        serde_json::from_value(value.clone()).ok()
    }

    /// The one that the container of a task is to join; none: the task has another network.
    pub(super) fn of_task(task: &TaskConfig, start: &StartTask) -> Option<Holder> {
        if task.network_mode.is_empty() { Holder::of(&start.network.made) } else { None }
    }

    /// The container belongs to an allocation that is there.
    pub(super) fn track(&self, shared: &Shared) {
        shared.track(&self.holder_name);
        shared.images.take(&self.holder_image, &self.holder_name);
    }

    /// Refuses the start of a task if the container has ended.
    pub(super) async fn check(&self, shared: &Shared) -> Result<(), StartFailure> {
        match container_state::look(&shared.daemon, &self.holder).await.map_err(failed)? {
            Found::Running => Ok(()),
            Found::Ended(_) | Found::NotStarted | Found::Gone => Err(StartFailure::Failed {
                text: format!("container {:?}, which holds the network of the allocation, has ended", self.holder_name),
                recoverable: true,
            }),
        }
    }
}
