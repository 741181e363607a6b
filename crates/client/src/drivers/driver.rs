//! What a driver is, and what a task is that it started (`docs/spec/client.md §23`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::command::{ExecError, ExecRequest, ExecSession};
use super::docker::DaemonError;
use super::network::{MadeNamespace, WantedNamespace};
use super::start::{DriverNetwork, StartFailure, StartTask};
use crate::processes::Table;
use encamp_model::stats::TaskResourceUsage;

/// A kind of task.
pub trait Driver: Send + Sync + 'static {
    /// Its name, as jobs spell it.
    fn name(&self) -> &'static str;

    /// The capabilities of the driver.
    fn capabilities(&self) -> Capabilities;

    /// How it is doing.
    fn fingerprint(&self) -> Fingerprint;

    /// How often to look.
    fn fingerprint_period(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// The user whose tasks say nothing of a user; empty: the driver can't tell, or the agent's.
    fn default_user(&self) -> &'static str {
        ""
    }

    /// Ends when [`Driver::fingerprint`] is no longer what it was, before the period is over.
    fn changed<'a>(&'a self, _from: &'a Fingerprint) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }

    /// A task, or a network, of an earlier run of the agent is going to be found again: what belongs to it stays.
    fn expect(&self, _state: &Value) {}

    /// The driver may look at what it depends on from now on; it works for that node.
    fn begin(&self, _node_id: &str) {}

    /// Removes what is left of tasks after all of them were destroyed, because the agent ends in development mode. Ends
    /// when nothing is left, or after a bounded wait.
    fn remove_leftovers(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Starts a task.
    fn start(&self, task: StartTask) -> BoxFuture<'_, Result<Started, StartFailure>>;

    /// Finds a task again that an earlier run of the agent, or of the driver, had started.
    fn recover<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, Result<Arc<dyn RunningTask>, DriverError>>;

    /// Removes what is left of a task that can't be found again.
    fn forget<'a>(&'a self, state: &'a Value) -> BoxFuture<'a, ()>;

    /// Whether its tasks run only in network namespaces that it makes (`docs/spec/client.md §15.1`).
    fn creates_network(&self) -> bool {
        false
    }

    /// Makes the network namespace of an allocation; one that is there is used again. Only if
    /// [`Driver::creates_network`]. It may be given up at any time: [`Driver::destroy_network`] follows.
    fn create_network<'a>(&'a self, _wanted: &'a WantedNamespace) -> BoxFuture<'a, Result<MadeNamespace, DriverError>> {
        Box::pin(async { Err(DriverError::NoNetwork) })
    }

    /// Removes the network namespace of an allocation; one that is not there is fine. `state`: that of
    /// [`MadeNamespace`]; null: its making did not end.
    fn destroy_network<'a>(&'a self, _alloc_id: &'a str, _state: &'a Value) -> BoxFuture<'a, Result<(), DriverError>> {
        Box::pin(async { Ok(()) })
    }
}

/// The names of the drivers of this program (`docs/spec/client.md §23`).
pub const BUILT_IN: [&str; 5] = ["docker", "exec", "java", "mock_driver", "raw_exec"];

/// A started task.
pub trait RunningTask: Send + Sync + 'static {
    /// The state that [`Driver::recover`] needs.
    fn state(&self) -> Value;

    /// Ends when the task has ended; may be called again.
    fn wait(&self) -> BoxFuture<'_, Exit>;

    /// Asks the task to end, and forces it after the timeout.
    fn stop<'a>(&'a self, signal: &'a str, timeout: Duration) -> BoxFuture<'a, Result<(), DriverError>>;

    /// Sends a signal.
    fn signal<'a>(&'a self, signal: &'a str) -> BoxFuture<'a, Result<(), DriverError>>;

    /// Removes what is left after the end; a task that still runs is ended at once.
    fn destroy(&self) -> BoxFuture<'_, ()>;

    /// The current usage; the previous sample gives the time base. `mhz_per_core` turns percent into MHz.
    fn usage(&self, processes: &Table, mhz_per_core: f64) -> Option<TaskResourceUsage>;

    /// Runs a command beside the task.
    fn exec(&self, request: ExecRequest) -> BoxFuture<'_, Result<ExecSession, ExecError>>;
}

/// A task that was started.
pub struct Started {
    /// The task.
    pub handle: Arc<dyn RunningTask>,
    /// Its own network, if the driver made one.
    pub network: Option<DriverNetwork>,
}

/// The capabilities of a driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Takes signals.
    pub signals: bool,
    /// Runs commands beside tasks.
    pub exec: bool,
    /// Which files its tasks see.
    pub isolation: Isolation,
    /// Runs tasks in a network of their own.
    pub own_network: bool,
    /// Mounts volumes.
    pub mounts: bool,
    /// Tasks are processes of this host: they can connect to its sockets.
    pub local_processes: bool,
}

/// Which files the tasks of a driver see (`docs/spec/client.md §17`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Those of the host.
    #[default]
    None,
    /// The task's directory is the root; files of the host are linked or copied into it.
    Chroot,
    /// The root is an image. The task's directories are mounted there.
    Image,
}

impl Isolation {
    /// Whether tasks see other files than the host does.
    pub fn isolates(self) -> bool {
        match self {
            Isolation::None => false,
            Isolation::Chroot | Isolation::Image => true,
        }
    }
}

/// How a driver is doing (`docs/spec/client.md §4.5`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// It is there.
    pub detected: bool,
    /// It works.
    pub healthy: bool,
    /// Why not.
    pub description: String,
    /// Further attributes of the node, such as the version of what the driver uses; only of a driver that is detected.
    pub attributes: BTreeMap<String, String>,
}

impl Fingerprint {
    /// It works.
    pub fn healthy() -> Fingerprint {
        Fingerprint { detected: true, healthy: true, description: "Healthy".into(), attributes: BTreeMap::new() }
    }

    /// It is there and does not work.
    pub(crate) fn unhealthy(description: &str) -> Fingerprint {
        Fingerprint { detected: true, healthy: false, description: description.into(), attributes: BTreeMap::new() }
    }

    /// It is not there.
    pub(crate) fn undetected(description: &str) -> Fingerprint {
        Fingerprint { detected: false, healthy: false, description: description.into(), attributes: BTreeMap::new() }
    }
}

/// Why a driver can't find, stop or signal a task.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The driver is not there any more.
    #[error("the driver is gone")]
    NoDriver,
    /// What is stored about the task can't be read.
    #[error("unreadable handle: {0}")]
    Handle(#[from] serde_json::Error),
    /// Nothing is left of the task.
    #[error("the task is gone")]
    Gone,
    /// The driver makes no network namespaces.
    #[error("the driver makes no network namespaces")]
    NoNetwork,
    /// The driver did not make or remove a network namespace.
    #[error("network namespace: {0}")]
    Namespace(#[source] StartFailure),
    /// The process of the task has ended.
    #[error("the process has ended")]
    Ended,
    /// The ID of the process is none.
    #[error("not a process")]
    NoProcess,
    /// The system does not send the signal.
    #[error(transparent)]
    Signal(#[from] rustix::io::Errno),
    /// The task was killed and still runs.
    #[error("the task did not end after it was killed")]
    StillRunning,
    /// The task is simulated, and so is its failure.
    #[error("{0}")]
    Simulated(String),
    /// The daemon that holds the task did not do it.
    #[error(transparent)]
    Daemon(#[from] DaemonError),
    /// The name is that of no signal.
    #[error("failed to parse signal: {0:?} is no signal")]
    UnknownSignal(String),
}

/// How a task ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Exit {
    /// Exit code; 128 and the signal's number after a signal.
    pub code: i64,
    /// The signal that ended it, 0: none.
    pub signal: i64,
    /// It used too much memory.
    pub oom: bool,
    /// Further details.
    pub message: String,
    /// Not the task ended but the driver's hold of it.
    pub lost: bool,
}

impl Exit {
    /// Code 0, no signal, no message.
    pub fn success(&self) -> bool {
        self.code == 0 && self.signal == 0 && self.message.is_empty()
    }
}
