//! The init process of an isolated task: the first one in its PID namespace, and the parent of the task's command.
//!
//! The supervisor starts it with a socket as its standard input, over which both speak lines of JSON. It makes the
//! task's root, takes on the task's user and capabilities, starts the command and tells how it ended. It has no
//! privileges meanwhile, and with it all processes of the task end.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use procfs::process::Process;
use rustix::mount::{MountFlags, MountPropagationFlags, mount_bind, mount_change, mount_remount};
use rustix::process::Signal;
use rustix::thread::UnshareFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::inside::Inside;
use super::privileges::{PrivilegeError, renounce};
use super::root::{self, RootError};
use crate::cgroups::TaskGroups;
use crate::config::exec::NamespaceMode;
use crate::drivers::Exit;
use crate::drivers::supervisor::children::{close_inherited, wait_for};
use crate::drivers::supervisor::order::Order;
use crate::processes;

/// First argument of the program that makes it the init process of a task.
pub(crate) const ARGUMENT: &str = "task-init";
/// The same, when it has been started from where the task can't change it.
const PROTECTED: &str = "task-init-protected";
/// How long the preparations of a task may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Where a program without a path is looked for.
const PATH: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];
/// The exit of a task whose init process was killed.
const KILLED: i64 = 128 + 9;

/// What the init process tells.
#[derive(Serialize, Deserialize)]
enum Word {
    /// All is prepared.
    Ready,
    /// The command runs; its process in the namespace.
    Started(u32),
    /// The command does not run.
    Failed(String),
    /// The command has ended.
    Ended(Exit),
}

/// What the supervisor tells.
#[derive(Serialize, Deserialize)]
enum Reply {
    /// The init process is in the groups of the task: the command is to begin there.
    Start,
    /// The init process has left them.
    Left,
}

/// Why a task does not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InitError {
    /// The namespaces can't be made.
    #[error("failed to make the namespaces of the task: {0}")]
    Namespaces(#[source] io::Error),
    /// The program can't be protected from the task.
    #[error("failed to protect the program of the agent from the task: {0}")]
    Program(#[source] io::Error),
    /// The init process does not start.
    #[error("failed to start the init process of the task: {0}")]
    Spawn(#[source] io::Error),
    /// It does not answer.
    #[error("the init process of the task does not answer: {0}")]
    Connection(#[source] io::Error),
    /// The process of the command is not found.
    #[error("the process of the task is not found")]
    NoProcess,
    /// It says why there is no task.
    #[error("{0}")]
    Reported(String),
    /// The groups of the task can't be used.
    #[error("failed to enter the cgroups of the task: {0}")]
    Cgroups(#[source] io::Error),
    /// There is no root.
    #[error(transparent)]
    Root(#[from] RootError),
    /// Privileges are left.
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    /// There is nothing to run.
    #[error("binary \"{}\" could not be found", .0.display())]
    NotFound(PathBuf),
    /// The command does not start.
    #[error("failed to launch command {}: {source}", command.display())]
    Launch {
        /// The command.
        command: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// One end of the connection between supervisor and init process.
struct Line(BufReader<UnixStream>);

impl Line {
    fn send(&mut self, what: &impl Serialize) -> Result<(), InitError> {
        let mut text = serde_json::to_vec(what).map_err(|e| InitError::Connection(e.into()))?;
        text.push(b'\n');
        self.0.get_mut().write_all(&text).map_err(InitError::Connection)
    }

    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, InitError> {
        let mut text = String::new();
        let read = self.0.read_line(&mut text).map_err(InitError::Connection)?;
        if read == 0 {
            return Err(InitError::Connection(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&text).map_err(|e| InitError::Connection(e.into()))
    }
}

/// A task behind its init process.
pub(crate) struct Started {
    /// The process of the command, and its start in ticks.
    pub pid: u32,
    /// See there.
    pub ticks: u64,
    /// The init process, and its start.
    pub init: u32,
    /// See there.
    pub init_ticks: u64,
    line: Line,
    _child: Child,
}

/// Starts a task with an init process; `out` and `err` are for the output of the task. In the supervisor, whose children
/// are in the new namespace from now on.
pub(crate) fn start(order: &Order, task: &Inside, out: Stdio, err: Stdio) -> Result<Started, InitError> {
    let (ours, theirs) = UnixStream::pair().map_err(InitError::Spawn)?;
    ours.set_read_timeout(Some(PATIENCE)).map_err(InitError::Spawn)?;
    let program = std::env::current_exe().map_err(InitError::Spawn)?;
    if task.pids == NamespaceMode::Private {
        unshare(UnshareFlags::NEWPID).map_err(InitError::Namespaces)?;
    }
    let mut command = Command::new(program);
    command.arg(ARGUMENT).env_clear().stdin(OwnedFd::from(theirs)).stdout(out).stderr(err);
    let child = command.spawn().map_err(InitError::Spawn)?;
    drop(command);
    let init = child.id();
    let init_ticks = processes::stat(init).map_or(0, |s| s.starttime);
    let mut line = Line(BufReader::new(ours));
    match prepare(&mut line, order, init) {
        Ok((pid, ticks)) => {
            line.0.get_ref().set_read_timeout(None).map_err(InitError::Spawn)?;
            Ok(Started { pid, ticks, init, init_ticks, line, _child: child })
        }
        Err(e) => {
            let mut child = child;
            // It may have ended; what it said counts.
            let _ = child.kill();
            let _ = child.wait();
            Err(e)
        }
    }
}

/// Gives the order, and has the command begin in the groups of the task; gives its process.
fn prepare(line: &mut Line, order: &Order, init: u32) -> Result<(u32, u64), InitError> {
    line.send(order)?;
    expect_ready(line)?;
    let groups = order.groups.as_ref();
    groups.map_or(Ok(()), |g| g.admit(init)).map_err(InitError::Cgroups)?;
    line.send(&Reply::Start)?;
    let inner = match line.receive()? {
        Word::Started(pid) => pid,
        Word::Failed(text) => return Err(InitError::Reported(text)),
        Word::Ready | Word::Ended(_) => return Err(InitError::NoProcess),
    };
    // It has not been waited for, so it is still there.
    let pid = child_of(init, inner).ok_or(InitError::NoProcess)?;
    let ticks = processes::stat(pid).map_or(0, |s| s.starttime);
    if let Err(e) = groups.map_or(Ok(()), |g: &TaskGroups| g.dismiss(init)) {
        eprintln!("the init process stays in the cgroups of the task: {e}");
    }
    line.send(&Reply::Left)?;
    Ok((pid, ticks))
}

fn expect_ready(line: &mut Line) -> Result<(), InitError> {
    match line.receive()? {
        Word::Ready => Ok(()),
        Word::Failed(text) => Err(InitError::Reported(text)),
        Word::Started(_) | Word::Ended(_) => Err(InitError::NoProcess),
    }
}

/// The child of a process that has this number in its own namespace.
fn child_of(parent: u32, inner: u32) -> Option<u32> {
    let table = processes::Table::read();
    let mut children = table.descendants(parent).into_iter().map(|(pid, _)| pid);
    children.find(|pid| {
        let status = i32::try_from(*pid).ok().and_then(|p| Process::new(p).and_then(|p| p.status()).ok());
        let last = status.and_then(|s| s.nspid?.last().copied());
        last.and_then(|n| u32::try_from(n).ok()) == Some(inner)
    })
}

impl Started {
    /// Waits for the end of the command.
    pub(crate) fn wait(&mut self) -> Exit {
        match self.line.receive() {
            Ok(Word::Ended(exit)) => exit,
            Ok(_) | Err(_) => Exit { code: KILLED, signal: 9, ..Exit::default() },
        }
    }
}

/// Gives this thread, and what it starts, a new namespace.
#[expect(deprecated, reason = "what the newer function warns of concerns shared open files alone")]
pub(super) fn unshare(which: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(which)?)
}

/// Starts this program again, from a read-only mount that no task can get rid of: a task that gets hold of the program
/// by `/proc` can't write to it. Returns only if that fails.
pub(super) fn protected(argument: &str, rest: impl Iterator<Item = std::ffi::OsString>) -> InitError {
    let again = || -> io::Result<std::convert::Infallible> {
        unshare(UnshareFlags::NEWNS)?;
        mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
        let program = std::env::current_exe()?;
        mount_bind(&program, &program)?;
        mount_remount(&program, MountFlags::BIND | MountFlags::RDONLY, c"")?;
        close_inherited();
        Err(Command::new(&program).arg(argument).args(rest).exec())
    };
    match again() {
        Err(e) => InitError::Program(e),
        Ok(never) => match never {},
    }
}

/// The whole life of an init process; `None` if the arguments ask for something else.
pub(crate) fn main() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let first = args.next()?;
    if first != ARGUMENT && first != PROTECTED {
        return None;
    }
    let Ok(stream) = io::stdin().as_fd().try_clone_to_owned() else { return Some(ExitCode::FAILURE) };
    let mut line = Line(BufReader::new(UnixStream::from(stream)));
    let done = if first == ARGUMENT { Err(protected(PROTECTED, args)) } else { run(&mut line) };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // A supervisor that is gone reads nothing.
            let _ = line.send(&Word::Failed(e.to_string()));
            ExitCode::FAILURE
        }
    })
}

fn run(line: &mut Line) -> Result<(), InitError> {
    let order: Order = line.receive()?;
    let task = order.inside.as_ref().ok_or(InitError::NoProcess)?;
    let mut namespaces = UnshareFlags::NEWNS;
    if task.ipc == NamespaceMode::Private {
        namespaces |= UnshareFlags::NEWIPC;
    }
    if !task.hostname.is_empty() {
        namespaces |= UnshareFlags::NEWUTS;
    }
    unshare(namespaces).map_err(InitError::Namespaces)?;
    if !task.hostname.is_empty() {
        rustix::system::sethostname(task.hostname.as_bytes()).map_err(|e| InitError::Namespaces(e.into()))?;
    }
    // Orphans of a task that sees the processes of the host become children of this process as well.
    let me = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(me)).map_err(|e| InitError::Namespaces(e.into()))?;
    root::enter(task, &order.alloc_dir)?;
    let program = find(&order.command, task)?;
    task.privileges.assume()?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| InitError::Spawn(e.into()))?;
    line.send(&Word::Ready)?;
    let Reply::Start = line.receive()? else { return Err(InitError::NoProcess) };
    let launched = |source| InitError::Launch { command: order.command.clone(), source };
    let dir = Path::new("/").join(&order.dir);
    let mut command = Command::new(&program);
    command.args(&order.args).env_clear().envs(order.env.iter().map(|(k, v)| (k, v))).current_dir(dir);
    let child = command.stdin(Stdio::null()).process_group(0).spawn().map_err(launched)?;
    drop(command);
    renounce()?;
    line.send(&Word::Started(child.id()))?;
    let Reply::Left = line.receive()? else { return Err(InitError::NoProcess) };
    // Only the task has its output open: reading it ends with the task.
    close_output().map_err(InitError::Spawn)?;
    let exit = wait_for(child.id());
    line.send(&Word::Ended(exit))
}

/// Replaces standard output and error by nothing.
fn close_output() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(rustix::stdio::dup2_stderr(&null)?)
}

/// The program of a command inside the root, which is the one of this process by now.
fn find(command: &Path, task: &Inside) -> Result<PathBuf, InitError> {
    let relative = command.strip_prefix("/").unwrap_or(command);
    let root = Path::new("/");
    let volumes = task.mounts.iter().map(|m| root.join(&m.task).join(relative));
    let mut own = [root.join("local").join(relative), root.join(relative)].into_iter().chain(volumes);
    if let Some(path) = own.find(|p| p.is_file()) {
        make_executable(&path);
        return Ok(path);
    }
    let bare = command.components().count() == 1;
    let found = PATH.iter().map(|dir| Path::new(dir).join(command)).find(|p| p.is_file());
    found.filter(|_| bare).ok_or_else(|| InitError::NotFound(command.to_path_buf()))
}

/// Makes a file of the task executable. One that is shared with the host can't be changed, and stays as it is.
fn make_executable(path: &Path) {
    if let Ok(found) = path.metadata() {
        let mut mode = found.permissions();
        if mode.mode() & 0o111 != 0o111 {
            mode.set_mode(mode.mode() | 0o111);
            // The start tells if that did not help.
            let _ = std::fs::set_permissions(path, mode);
        }
    }
}
