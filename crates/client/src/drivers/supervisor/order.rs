//! What the agent and a supervisor say to each other.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::exec::inside::Inside;
use super::super::{LogSettings, StartTask};
use super::exit_file::ExitFile;
use crate::cgroups::TaskGroups;

/// First argument of the program that makes it a supervisor.
pub(crate) const ARGUMENT: &str = "task-supervisor";
/// First argument of the program that makes it run a command in the terminal that is its standard input.
pub(crate) const TERMINAL_ARGUMENT: &str = "task-terminal";

/// The command to run, and how to run it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Order {
    /// The executable, with its path.
    pub command: PathBuf,
    /// The arguments, without the executable's name.
    pub args: Vec<String>,
    /// The whole environment; the agent's own is not inherited.
    pub env: Vec<(String, String)>,
    /// The working directory.
    pub dir: PathBuf,
    /// User and group to become.
    pub user: Option<(u32, u32)>,
    /// Written to `/proc/<pid>/oom_score_adj`.
    pub oom_score_adj: i64,
    /// The directory of the allocation; log files are in `alloc/logs` below.
    pub alloc_dir: PathBuf,
    /// Log files are `<name>.stdout.<n>` and `<name>.stderr.<n>`.
    pub name: String,
    /// Size and number of the log files; none: the output is dropped.
    pub logs: Option<LogSettings>,
    /// Where to write how the task ended, as JSON of [`Exit`].
    pub exit_file: ExitFile,
    /// The groups that bound what the task uses.
    pub groups: Option<TaskGroups>,
    /// The network namespace that the task runs in; none: the host's.
    pub network_namespace: Option<PathBuf>,
    /// What isolates the task; none: nothing. The command and the working directory are inside.
    pub inside: Option<Inside>,
}

impl Order {
    /// The order of a task in its own directory, as the agent's user, without its command.
    pub(in crate::drivers) fn of(task: &StartTask) -> Order {
        let run = task.id.rsplit('/').next().unwrap_or("task");
        Order {
            command: PathBuf::new(),
            args: Vec::new(),
            env: task.env.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            dir: task.task_dir(),
            user: None,
            oom_score_adj: 0,
            alloc_dir: task.alloc_dir.clone(),
            name: task.task.clone(),
            logs: task.logs,
            exit_file: ExitFile::new(&task.task_dir(), run),
            groups: None,
            network_namespace: task.network_namespace.clone(),
            inside: None,
        }
    }
}

/// How the start went.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The task runs.
    Started {
        /// Its process, which leads a group of its own.
        pid: u32,
        /// When that process started, in ticks since the host did: tells it from a later one of the same number.
        ticks: u64,
        /// Its init process, if it is isolated.
        init: Option<Init>,
    },
    /// It does not.
    Failed(String),
}

/// The init process of an isolated task.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Init {
    /// Its process.
    pub pid: u32,
    /// When it started, in ticks.
    pub ticks: u64,
}
