//! Starts tasks that have a supervisor, and finds them again.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::supervised_task::{State, SupervisedTask};
use super::supervisor::exit_file::ExitFile;
use super::supervisor::order::{ARGUMENT, Order, Report};
use super::{DriverError, RunningTask, StartFailure, StartTask, Started};
use crate::cgroups::{Cgroups, Limits, TaskGroups};
use crate::directory::{Directory, Links};
use crate::processes;

/// How long an earlier run of a task may take to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the drivers of processes share.
pub(super) struct Launcher {
    program: PathBuf,
    cgroups: Arc<Cgroups>,
}

impl Launcher {
    /// `program`: one that calls [`main`](crate::drivers::supervisor::main). `cgroups`: what bounds the tasks.
    pub(super) fn new(program: PathBuf, cgroups: Arc<Cgroups>) -> Launcher {
        Launcher { program, cgroups }
    }

    /// Whether tasks are bounded.
    pub(super) fn has_cgroups(&self) -> bool {
        self.cgroups.are_usable()
    }

    /// The groups of the host.
    pub(super) fn cgroups(&self) -> &Cgroups {
        &self.cgroups
    }

    /// Ends the run of a task that an agent started and did not get to remember, as it was killed: two runs would share
    /// files and groups.
    pub(super) async fn end_unknown(&self, task: &StartTask) -> Result<(), StartFailure> {
        let file = ExitFile::new(&task.task_dir(), "");
        let work = tokio::task::spawn_blocking(move || {
            let Some((pid, ticks)) = file.supervisor() else { return Ok(()) };
            let until = Instant::now() + PATIENCE;
            while processes::is_alive(pid, ticks) {
                if Instant::now() > until {
                    return Err(StartFailure::fatal("an earlier run of the task does not end"));
                }
                let table = processes::Table::read();
                // The supervisor first: it would remove the groups when the task has ended.
                let below = table.descendants(pid);
                processes::kill(pid);
                below.into_iter().for_each(|(pid, _)| processes::kill(pid));
                std::thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        });
        work.await.map_err(StartFailure::fatal)?
    }

    /// Makes the groups of a task.
    pub(super) fn groups(&self, task: &StartTask, limits: &Limits) -> Result<Option<TaskGroups>, StartFailure> {
        let alloc_id = task.alloc_dir.file_name().unwrap_or_default().to_string_lossy();
        let made = self.cgroups.create(&alloc_id, &task.task, limits);
        made.map_err(|e| StartFailure::fatal(format!("failed to create the cgroups of the task: {e}")))
    }

    /// Starts the supervisor, which starts the task. The groups of a task that does not start are removed.
    pub(super) async fn start(&self, task: &StartTask, order: Order) -> Result<Started, StartFailure> {
        let groups = order.groups.clone();
        let started = self.supervise(task, order).await;
        if let (Err(_), Some(groups)) = (&started, groups) {
            self.cgroups.release(&groups);
            let _ = tokio::task::spawn_blocking(move || groups.remove()).await;
        }
        started
    }

    async fn supervise(&self, task: &StartTask, order: Order) -> Result<Started, StartFailure> {
        let fatal = |e: std::io::Error| StartFailure::fatal(format!("failed to start the supervisor of the task: {e}"));
        let own = Directory::open(&task.alloc_dir).and_then(|d| Ok(d.open_dir(&task.task, Links::Refused)?));
        let own = own.map_err(fatal)?;
        own.make_dir("private", 0o700, None).map_err(|e| fatal(e.into()))?;
        let log = own.append("executor.out", 0o644).map_err(fatal)?;
        let text = serde_json::to_vec(&order).map_err(StartFailure::fatal)?;
        let mut child = tokio::process::Command::new(&self.program)
            .arg(ARGUMENT)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(log))
            .kill_on_drop(false)
            .spawn()
            .map_err(fatal)?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&text).await.map_err(fatal)?;
            // Closes it: the order is complete.
            drop(stdin);
        }
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).await.map_err(fatal)?;
        }
        let keeper = child.id().unwrap_or(0);
        match serde_json::from_str(&line) {
            Ok(Report::Started { pid, ticks, init }) => {
                let state = State {
                    pid,
                    ticks,
                    supervisor: keeper,
                    supervisor_ticks: processes::stat(keeper).map_or(0, |s| s.starttime),
                    exit_file: order.exit_file,
                    dir: order.dir,
                    user: order.user,
                    network_namespace: order.network_namespace,
                    groups: order.groups,
                    init: init.zip(order.inside).map(|(init, inside)| init.of(inside.privileges)),
                };
                let handle = SupervisedTask::new(state, self.program.clone(), self.cgroups.clone(), Some(child));
                Ok(Started { handle, network: None })
            }
            Ok(Report::Failed(text)) => {
                let _ = child.wait().await;
                Err(StartFailure::fatal(text))
            }
            Err(_) => {
                let _ = child.wait().await;
                Err(StartFailure::fatal("the supervisor of the task ended before the task started"))
            }
        }
    }

    /// Finds a task again.
    pub(super) fn recover(&self, state: &Value) -> Result<Arc<dyn RunningTask>, DriverError> {
        let state: State = serde_json::from_value(state.clone())?;
        if !state.can_be_found() {
            return Err(DriverError::Gone);
        }
        if let Some(groups) = &state.groups {
            self.cgroups.reserve(groups);
        }
        Ok(SupervisedTask::new(state, self.program.clone(), self.cgroups.clone(), None))
    }

    /// Ends what is left of a task that can't be found again.
    pub(super) async fn forget(&self, state: &Value) {
        if let Ok(state) = serde_json::from_value::<State>(state.clone()) {
            state.end().await;
        }
    }
}
