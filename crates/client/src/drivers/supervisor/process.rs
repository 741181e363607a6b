//! The life of a supervisor.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::super::exec::enter;
use super::super::exec::init::{self, InitError};
use super::children::{catch_ignored_signals, close_inherited, end_leftovers, wait_for};
use super::order::{ARGUMENT, Init, Order, Report, TERMINAL_ARGUMENT};
use crate::cgroups::TaskGroups;
use crate::directory::{Directory, Links};
use crate::logs::rotate::Rotator;
use crate::{netns, processes};

/// The exit code of a process that was killed, or whose child was.
const OOM_CODE: i64 = 128 + 9;

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
        return init::main().or_else(enter::main);
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

fn report(report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        // An agent that is gone reads nothing.
        let _ = io::stdout().write_all(&line).and_then(|()| io::stdout().flush());
    }
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
    written.map_err(|e| SuperviseError::file(order.exit_file.path(), e))
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
    command.stdin(no_input()).stdout(out).stderr(err).process_group(0);
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

/// An input that is at its end. An empty root has no `/dev/null`: there it is a pipe that nobody writes to.
fn no_input() -> Stdio {
    match std::io::pipe() {
        Ok((end, _)) if !Path::new("/dev/null").exists() => end.into(),
        Ok(_) | Err(_) => Stdio::null(),
    }
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
