//! The supervisor process of a task, which lets the task outlive the agent: it starts the task, writes its output to
//! log files, waits for its exit, kills the processes that the task left running, and records the exit.
//!
//! The agent starts it as `<program> task-supervisor` and sends an [`Order`] on its standard input; the first line on
//! its standard output is a [`Report`]. Nothing of the task's environment is on a command line or on disk.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::process::WaitOptions;
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::exec::init::{self, InitError};
use super::exec::{self, Inside};
use super::{Exit, LogSettings, StartTask};
use crate::cgroups::TaskGroups;
use crate::directory::{Directory, Links};
use crate::logs::rotate::Rotator;
use crate::{netns, processes};

/// First argument of the program that makes it a supervisor.
pub(crate) const ARGUMENT: &str = "task-supervisor";
/// First argument of the program that makes it run a command in the terminal that is its standard input.
pub(crate) const TERMINAL_ARGUMENT: &str = "task-terminal";
/// The exit code of a process that was killed, or whose child was.
const OOM_CODE: i64 = 128 + 9;
/// How long processes that a task left behind may take to die.
const LEFTOVERS: Duration = Duration::from_secs(15);

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
    pub(super) fn of(task: &StartTask) -> Order {
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

/// Where a supervisor writes how a task ended: in the task's directory, which the task may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ExitFile(PathBuf);

impl ExitFile {
    /// The file of a run of a task.
    pub(crate) fn new(task_dir: &Path, run: &str) -> ExitFile {
        ExitFile(task_dir.join("private").join(format!("{run}.exit")))
    }

    fn name(&self) -> &str {
        self.0.file_name().and_then(|n| n.to_str()).unwrap_or_default()
    }

    /// The directory of the file. The allocation's is the agent's own, what is below is not.
    fn open(&self) -> io::Result<Directory> {
        let mut above = self.0.ancestors().skip(2);
        let (Some(task), Some(alloc)) = (above.next().and_then(Path::file_name), above.next()) else {
            return Err(io::Error::other(format!("{} is in no allocation", self.0.display())));
        };
        Ok(Directory::open(alloc)?.open_dir(Path::new(task).join("private"), Links::Refused)?)
    }

    /// Notes which process is the supervisor, until a later run of the task.
    fn note_supervisor(&self) -> io::Result<()> {
        let me = std::process::id();
        let note = (me, processes::stat(me).map_or(0, |s| s.starttime));
        Ok(self.open()?.replace(NOTE, &serde_json::to_vec(&note)?, 0o600, None)?)
    }

    /// The supervisor of the last run of the task, and its start in ticks.
    pub(crate) fn supervisor(&self) -> Option<(u32, u64)> {
        let (file, _) = self.open().ok()?.open_file(NOTE, Links::Refused).ok()?;
        serde_json::from_reader(file).ok()
    }

    /// How the task ended; none if nobody wrote it down.
    pub(crate) fn read(&self) -> Option<Exit> {
        let (file, _) = self.open().ok()?.open_file(self.name(), Links::Refused).ok()?;
        serde_json::from_reader(file).ok()
    }

    /// Removes it.
    pub(crate) fn remove(&self) {
        let _ = self.open().and_then(|d| d.remove_file(self.name()));
    }
}

/// The file in which a supervisor notes its process.
const NOTE: &str = "supervisor";

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

/// Why a supervisor could not start its task, or not record its exit.
#[derive(Debug, thiserror::Error)]
enum SuperviseError {
    /// The order can't be read.
    #[error(transparent)]
    Input(io::Error),
    /// The order is no JSON of its type, or the exit has no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Processes that the task leaves behind would not become children of the supervisor.
    #[error("can't adopt orphans: {0}")]
    Orphans(#[source] rustix::io::Errno),
    /// A file or directory of the allocation can't be used.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The network namespace can't be entered.
    #[error("failed to enter the network namespace: {0}")]
    Namespace(#[source] io::Error),
    /// The groups of the task can't be entered.
    #[error("failed to enter the cgroups of the task: {0}")]
    Cgroups(#[source] io::Error),
    /// The task can't be isolated, or does not start then.
    #[error(transparent)]
    Inside(#[from] InitError),
    /// The command does not start.
    #[error("failed to launch command {}: {source}", command.display())]
    Launch {
        /// The executable.
        command: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl SuperviseError {
    fn file(path: impl Into<PathBuf>, e: impl Into<io::Error>) -> SuperviseError {
        SuperviseError::File { path: path.into(), source: e.into() }
    }
}

/// The whole life of a supervisor, or of a helper that runs a command in a terminal; `None` if the arguments ask for
/// neither.
pub fn main() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let first = args.next()?;
    if first == TERMINAL_ARGUMENT {
        return Some(in_terminal(args.collect()));
    }
    if first != ARGUMENT {
        return exec::init::main().or_else(exec::enter::main);
    }
    Some(match read_order().and_then(|order| supervise(&order)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            report(&Report::Failed(e.to_string()));
            ExitCode::FAILURE
        }
    })
}

fn read_order() -> Result<Order, SuperviseError> {
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(SuperviseError::Input)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Makes standard input the controlling terminal and becomes the command.
fn in_terminal(args: Vec<std::ffi::OsString>) -> ExitCode {
    catch_ignored_signals();
    let _ = rustix::process::setsid();
    let _ = rustix::process::ioctl_tiocsctty(io::stdin());
    let Some((program, args)) = args.split_first() else { return ExitCode::FAILURE };
    let error = Command::new(program).args(args).exec();
    eprintln!("{}: {error}", program.display());
    ExitCode::from(127)
}

/// Has programs that are started from here begin with all signals at their defaults. What is ignored, as interrupts are
/// in background jobs of a shell, stays ignored in them; what is caught does not. Blocked signals and broken pipes are
/// seen to wherever a program is started.
fn catch_ignored_signals() {
    const BROKEN_PIPE: u64 = 1 << (13 - 1);
    let Ok(status) = Process::myself().and_then(|p| p.status()) else { return };
    let ignored = status.sigign & !BROKEN_PIPE;
    if ignored == 0 {
        return;
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _entered = runtime.enter();
    for number in (1..=64).filter(|n| ignored >> (n - 1) & 1 == 1) {
        // The handler stays when nobody listens any more. Some signals can't have one: those of faults.
        let _ = signal(SignalKind::from_raw(number));
    }
}

fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        // An agent that is gone reads nothing.
        let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    }
}

/// Has no program that is started from here inherit open files, apart from standard input, output and error: what
/// started the agent may have left some open.
pub(crate) fn close_inherited() {
    close_fds::set_fds_cloexec(3, &[]);
}

fn supervise(order: &Order) -> Result<(), SuperviseError> {
    catch_ignored_signals();
    close_inherited();
    // A session of its own: signals from a terminal don't reach it. Orphans of the task become its children.
    let _ = rustix::process::setsid();
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me)).map_err(SuperviseError::Orphans)?;
    // Opened before the task can put something else in their place.
    let wrong = |e: io::Error| SuperviseError::file(&order.alloc_dir, e);
    order.exit_file.note_supervisor().map_err(wrong)?;
    let root = Directory::open(&order.alloc_dir).map_err(wrong)?;
    let logs = root.open_dir("alloc/logs", Links::Refused).map_err(|e| wrong(e.into()))?;
    let private = order.exit_file.open().map_err(wrong)?;
    let (out, out_done) = stream(order, &logs, "stdout")?;
    let (err, err_done) = stream(order, &logs, "stderr")?;
    if let Some(namespace) = &order.network_namespace {
        netns::enter(namespace).map_err(SuperviseError::Namespace)?;
    }
    let oom_before = order.groups.as_ref().map_or(0, TaskGroups::oom_kills);
    let mut task = start(order, out, err)?;
    let (pid, ticks, init) = match &task {
        Running::Bare { pid, ticks } => (*pid, *ticks, None),
        Running::Inside(task) => (task.pid, task.ticks, Some(Init { pid: task.init, ticks: task.init_ticks })),
    };
    report(&Report::Started { pid, ticks, init });
    let mut exit = match &mut task {
        Running::Bare { pid, .. } => wait_for(*pid),
        Running::Inside(task) => task.wait(),
    };
    end_leftovers(pid);
    if let Some(groups) = &order.groups {
        // The task was killed for lack of memory, or passed on the exit code of a process that was.
        exit.oom = exit.code == OOM_CODE && groups.oom_kills() > oom_before;
        groups.remove();
    }
    for done in [out_done, err_done].into_iter().flatten() {
        let _ = done.recv_timeout(Duration::from_secs(2));
    }
    let text = serde_json::to_vec(&exit)?;
    let written = private.replace(order.exit_file.name(), &text, 0o600, None);
    written.map_err(|e| SuperviseError::file(&order.exit_file.0, e))
}

/// A task that was started.
enum Running {
    /// A child of the supervisor.
    Bare {
        /// Its process.
        pid: u32,
        /// When it started, in ticks.
        ticks: u64,
    },
    /// A child of its init process.
    Inside(init::Started),
}

/// Starts the task, which writes to `out` and `err`.
fn start(order: &Order, out: Stdio, err: Stdio) -> Result<Running, SuperviseError> {
    if let Some(inside) = &order.inside {
        return Ok(Running::Inside(init::start(order, inside, out, err)?));
    }
    let mut command = Command::new(&order.command);
    command.args(&order.args).env_clear().envs(order.env.iter().map(|(k, v)| (k, v))).current_dir(&order.dir);
    command.stdin(Stdio::null()).stdout(out).stderr(err).process_group(0);
    if let Some((uid, gid)) = order.user {
        command.uid(uid).gid(gid);
    }
    let spawned = within(order.groups.as_ref(), || command.spawn())?;
    let child = spawned.map_err(|source| SuperviseError::Launch { command: order.command.clone(), source })?;
    // The writing ends belong to the task alone, so that reading ends with it.
    drop(command);
    let pid = child.id();
    if order.oom_score_adj != 0 {
        // Lowering needs a right that the agent may not have.
        let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), order.oom_score_adj.to_string());
    }
    Ok(Running::Bare { pid, ticks: processes::stat(pid).map_or(0, |s| s.starttime) })
}

/// Does something inside the task's groups.
fn within<T>(groups: Option<&TaskGroups>, work: impl FnOnce() -> T) -> Result<T, SuperviseError> {
    let Some(groups) = groups else { return Ok(work()) };
    let entered = groups.enter().map_err(SuperviseError::Cgroups);
    let done = entered.map(|()| work());
    if let Err(e) = groups.leave() {
        eprintln!("failed to leave the cgroups of the task: {e}");
    }
    done
}

/// Reaps children until the task has ended.
pub(crate) fn wait_for(pid: u32) -> Exit {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((done, status))) if u32::try_from(done.as_raw_nonzero().get()).is_ok_and(|p| p == pid) => {
                return match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Exit { code: code.into(), ..Exit::default() },
                    (None, Some(signal)) => {
                        Exit { code: i64::from(signal) + 128, signal: signal.into(), ..Exit::default() }
                    }
                    (None, None) => continue,
                };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Exit { code: 1, message: format!("lost the process: {e}"), ..Exit::default() },
        }
    }
}

/// Ends the task's process group and every process that descends from it.
fn end_leftovers(pid: u32) {
    processes::kill_group(pid);
    let until = Instant::now() + LEFTOVERS;
    while Instant::now() < until {
        for (child, _) in processes::Table::read().descendants(std::process::id()) {
            processes::kill(child);
        }
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // No children are left.
            Err(_) => return,
        }
    }
}

/// Where the task writes one stream, and what tells that all of it is in the log files.
fn stream(order: &Order, logs: &Directory, which: &str) -> Result<(Stdio, Option<mpsc::Receiver<()>>), SuperviseError> {
    let Some(settings) = order.logs else { return Ok((Stdio::null(), None)) };
    let name = format!("{}.{which}", order.name);
    let pipe = format!(".{name}.fifo");
    let wrong = |e: io::Error| SuperviseError::file(&pipe, e);
    let mut rotator = Rotator::open(logs.clone(), name, settings).map_err(wrong)?;
    let (reader, writer) = logs.make_pipe(&pipe).map_err(|e| wrong(e.into()))?;
    let (done, is_done) = mpsc::channel();
    std::thread::spawn(move || {
        pump(reader, &mut rotator);
        let _ = done.send(());
    });
    Ok((Stdio::from(writer), Some(is_done)))
}

/// Reads to the end. What can't be written (a full disk) is dropped: the task must not stand still for it.
fn pump(mut from: File, to: &mut Rotator) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => {
                if let Err(e) = to.write(buffer.get(..n).unwrap_or_default()) {
                    eprintln!("log: {e}");
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => {
                eprintln!("log: {e}");
                return;
            }
        }
    }
}

/// Writes a file that is there completely or not at all.
pub(crate) fn write_whole(path: &Path, text: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(text)?;
    file.sync_data()?;
    std::fs::rename(&new, path)
}
