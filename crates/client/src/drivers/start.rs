//! A task to be started: what it gets, and what became of the start (`docs/spec/client.md §23`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use encamp_model::{AllocatedPortMapping, TaskEvent};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::config_block::ConfigError;
use super::network::TaskNetwork;
use crate::cgroups::Limits;
use crate::logs::rotate::LogSettings;

/// A task to be started.
#[derive(Clone, Default)]
pub struct StartTask {
    /// `<alloc id>/<task>/<8 hex>`.
    pub id: String,
    /// Name of the task.
    pub task: String,
    /// The `config` block, interpolated.
    pub config: BTreeMap<String, Value>,
    /// The environment; may hold secrets.
    pub env: BTreeMap<String, String>,
    /// The user to run as, empty: the driver's choice.
    pub user: String,
    /// The allocation's directory.
    pub alloc_dir: PathBuf,
    /// The resources that the task may use.
    pub limits: Limits,
    /// The network namespace to run in; none: the host's.
    pub network_namespace: Option<PathBuf>,
    /// What is to be mounted in the task, in order; only for drivers with the capability `mounts`.
    pub mounts: Vec<Mount>,
    /// The network of the allocation, for tasks with a file system of their own.
    pub network: TaskNetwork,
    /// How the output is kept; none: it is not.
    pub logs: Option<LogSettings>,
    /// The names of what the task belongs to.
    pub names: Names,
    /// The ports of the allocation.
    pub ports: Vec<AllocatedPortMapping>,
    /// The processors of the node.
    pub compute: Compute,
    /// Takes events of a start that lasts.
    pub events: Events,
    /// Ends when the task is to end: a start that lasts is given up.
    pub killed: Killed,
}

/// The names of what a task belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// ID of the allocation.
    pub alloc_id: String,
    /// ID of the job.
    pub job_id: String,
    /// Name of the job.
    pub job_name: String,
    /// ID of the job that this one was made from; empty: none.
    pub parent_job_id: String,
    /// Name of the group.
    pub group: String,
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the node.
    pub node_name: String,
}

/// The processors of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compute {
    /// MHz that tasks may use together; 0: unknown.
    pub mhz: i64,
    /// Processors.
    pub cores: u32,
}

/// Takes task events of a driver; by default, drops them.
#[derive(Clone, Default)]
pub struct Events(Option<Arc<dyn Fn(TaskEvent) + Send + Sync>>);

impl Events {
    /// Gives them to a function.
    pub(crate) fn to(take: impl Fn(TaskEvent) + Send + Sync + 'static) -> Events {
        Events(Some(Arc::new(take)))
    }

    /// Passes an event on.
    pub(crate) fn emit(&self, event: TaskEvent) {
        if let Some(take) = &self.0 {
            take(event);
        }
    }
}

/// The wait for the end of a task that is being started; by default, it lasts for ever.
#[derive(Clone, Default)]
pub struct Killed(Option<Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>>);

impl Killed {
    /// The wait that a function makes.
    pub(crate) fn when(wait: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Killed {
        Killed(Some(Arc::new(wait)))
    }

    /// Waits.
    pub(crate) async fn wait(&self) {
        match &self.0 {
            Some(wait) => wait().await,
            None => std::future::pending().await,
        }
    }
}

/// A directory or file of the host that a task gets.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Mount {
    /// The path on the host.
    pub host: PathBuf,
    /// The path in the task; a relative one begins at the root of the task.
    pub task: PathBuf,
    /// The task only reads.
    pub read_only: bool,
    /// Which later mounts below are seen on both sides.
    pub propagation: Propagation,
}

/// Which mounts below a mounted directory are seen on both sides (`propagation_mode` of a `volume_mount` block).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Propagation {
    /// None that are made later.
    #[default]
    Private,
    /// Those of the host are seen in the task.
    HostToTask,
    /// Those of each are seen in the other one.
    Bidirectional,
}

impl Propagation {
    /// The one of a job's word; `None` for an unknown word.
    pub(crate) fn of_word(word: &str) -> Option<Propagation> {
        match word {
            "" | "private" => Some(Propagation::Private),
            "host-to-task" => Some(Propagation::HostToTask),
            "bidirectional" => Some(Propagation::Bidirectional),
            _ => None,
        }
    }
}

/// The mounted CSI volumes of an allocation, by the name that its group gives them (`docs/spec/client.md §24.2`).
pub type VolumeMounts = BTreeMap<String, MountedVolume>;

/// A CSI volume that is mounted for an allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedVolume {
    /// Where, on the host: a directory, or the file of a block device.
    pub path: PathBuf,
    /// The allocation only reads.
    pub read_only: bool,
}

impl StartTask {
    /// The task's directory.
    pub(crate) fn task_dir(&self) -> PathBuf {
        self.alloc_dir.join(&self.task)
    }
}

/// Why a task did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartFailure {
    /// The `config` block is wrong.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// It was tried.
    #[error("{text}")]
    Failed {
        /// The error.
        text: String,
        /// Whether another try may help.
        recoverable: bool,
    },
    /// It was given up because the task is to end.
    #[error("the start was given up: the task is to end")]
    Killed,
}

impl StartFailure {
    /// A failure that another try does not mend.
    pub(crate) fn fatal(error: impl ToString) -> StartFailure {
        StartFailure::Failed { text: error.to_string(), recoverable: false }
    }
}

/// A network that a driver made for a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DriverNetwork {
    /// Address of the task.
    pub ip: String,
    /// Whether services are to be found there.
    pub advertise: bool,
    /// Ports by label.
    pub ports: BTreeMap<String, i64>,
}
