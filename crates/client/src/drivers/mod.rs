//! Task drivers (`docs/spec/client.md §23`).
//!
//! - [`raw_exec`]: processes of the host, each under a supervisor process of its own ([`supervisor`]). [`mock`]:
//!   simulated tasks.
//! - [`exec`], [`java`]: processes with a root of their own. [`launch`]: starts tasks that have a supervisor.
//! - [`docker`]: containers of a daemon that speaks Docker's interface.
//! - [`signals`]: names of signals. [`config`]: values of a task's `config` block.
//! - [`network`]: networks of allocations.

pub mod config;
pub mod docker;
pub mod exec;
pub(crate) mod java;
mod launch;
pub mod mock;
pub mod network;
pub mod raw_exec;
pub(crate) mod raw_handle;
pub mod signals;
pub mod supervisor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use self::config::ConfigError;
use self::network::{MadeNamespace, TaskNetwork, WantedNamespace};
use super::cgroups::Limits;
use super::processes::Table;
use encamp_model::stats::TaskResourceUsage;
use encamp_model::{AllocatedPortMapping, TaskEvent};

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
    /// True when the task is to end: a start that lasts is given up. None: it never is.
    pub killed: Option<watch::Receiver<bool>>,
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

/// How the output of a task is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct LogSettings {
    /// Files per stream.
    pub max_files: u64,
    /// Bytes per file.
    pub max_bytes: u64,
}

/// A task that was started.
pub struct Started {
    /// The task.
    pub handle: Arc<dyn RunningTask>,
    /// Its own network, if the driver made one.
    pub network: Option<DriverNetwork>,
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
    Daemon(#[from] docker::DaemonError),
    /// The name is that of no signal.
    #[error("failed to parse signal: {0:?} is no signal")]
    UnknownSignal(String),
}

/// Why a command beside a task did not start.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// There is no command.
    #[error("command is not present")]
    NoCommand,
    /// There is no terminal.
    #[error("failed to open a terminal: {0}")]
    Terminal(#[from] rustix::io::Errno),
    /// The descriptor of a terminal can't be copied.
    #[error(transparent)]
    Descriptor(std::io::Error),
    /// The program does not start.
    #[error("failed to run {program}: {source}")]
    Run {
        /// The program.
        program: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The task is simulated, and no command beside it is.
    #[error("mock_driver: no exec_command is configured")]
    NotSimulated,
    /// The daemon that holds the task did not do it.
    #[error(transparent)]
    Daemon(#[from] docker::DaemonError),
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

/// A command to be run beside a task.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ExecRequest {
    /// Program and arguments.
    pub command: Vec<String>,
    /// The environment; may hold secrets.
    pub env: BTreeMap<String, String>,
    /// In a terminal.
    pub tty: bool,
}

/// A running command: its input and its output. Dropping it ends the command.
pub struct ExecSession {
    /// The input of the command.
    pub input: mpsc::Sender<ExecInput>,
    /// The output of the command; closed after [`ExecOutput::Exited`].
    pub output: mpsc::Receiver<ExecOutput>,
}

/// The input of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecInput {
    /// Bytes to read.
    Stdin(Vec<u8>),
    /// No more bytes.
    CloseStdin,
    /// Size of its terminal.
    Resize {
        /// Rows.
        height: u16,
        /// Columns.
        width: u16,
    },
}

/// The output of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecOutput {
    /// Bytes.
    Stdout(Vec<u8>),
    /// Bytes.
    Stderr(Vec<u8>),
    /// No more bytes.
    StdoutClosed,
    /// No more bytes.
    StderrClosed,
    /// It ended.
    Exited {
        /// Its code.
        code: i64,
        /// The signal that ended it, 0: none.
        signal: i64,
    },
}
