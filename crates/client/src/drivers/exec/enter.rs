//! Runs a command in a running isolated task: in its namespaces and cgroups, with its user, capabilities and filter of
//! system calls (`docs/spec/client.md §26.2`).
//!
//! The agent starts a process for it, which stays outside of the task's PID namespace and waits for the command. Asked
//! to end (SIGTERM), it kills the command.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

use super::init::{InitError, protected};
use super::privileges::{PrivilegeError, Privileges};
use crate::cgroups::TaskGroups;
use crate::processes;

/// First argument of the program that makes it run a command in a task; the next one is an [`Entry`].
pub(crate) const ARGUMENT: &str = "task-enter";
/// The same, when it has been started from where the task can't change it.
const PROTECTED: &str = "task-enter-protected";
/// The exit of a command that can't be run.
const NOT_RUN: u8 = 127;

/// The task to enter.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The init process of the task, and its start.
    pub init: u32,
    /// See there.
    pub init_ticks: u64,
    /// What the command may do.
    pub privileges: Privileges,
    /// Its working directory, from the root of the task on.
    pub dir: PathBuf,
    /// The groups of the task.
    pub groups: Option<TaskGroups>,
    /// Standard input is the terminal of the command.
    pub tty: bool,
}

/// Why a command does not run in a task.
#[derive(Debug, thiserror::Error)]
enum EnterError {
    /// There is no task to enter.
    #[error("the task is not running")]
    Gone,
    /// The arguments are none.
    #[error("the arguments are wrong")]
    Arguments,
    /// Namespaces or groups can't be entered.
    #[error("failed to enter the task: {0}")]
    Enter(#[from] io::Error),
    /// This program can't be protected from the task.
    #[error(transparent)]
    Program(#[from] InitError),
    /// Privileges are left.
    #[error(transparent)]
    Privileges(#[from] PrivilegeError),
    /// The command does not start.
    #[error("{program}: {source}")]
    Launch {
        /// The command.
        program: String,
        /// The error of the system.
        source: io::Error,
    },
}

/// The whole life of a process that runs a command in a task; `None` if the arguments ask for something else.
pub(crate) fn main() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let first = args.next()?;
    let done = if first == ARGUMENT {
        Err(protected(PROTECTED, args).into())
    } else if first == PROTECTED {
        run(args)
    } else {
        return None;
    };
    Some(done.unwrap_or_else(|e| {
        eprintln!("{e}");
        ExitCode::from(NOT_RUN)
    }))
}

fn run(mut args: impl Iterator<Item = std::ffi::OsString>) -> Result<ExitCode, EnterError> {
    let entry = args.next().and_then(|text| serde_json::from_str::<Entry>(text.to_str()?).ok());
    let (entry, program) = (entry.ok_or(EnterError::Arguments)?, args.next().ok_or(EnterError::Arguments)?);
    if entry.tty {
        let _ = rustix::process::setsid();
        let _ = rustix::process::ioctl_tiocsctty(io::stdin());
    }
    enter(&entry)?;
    entry.privileges.assume()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut command = Command::new(&program);
    command.args(args).current_dir(Path::new("/").join(&entry.dir));
    if !entry.tty {
        command.process_group(0);
    }
    let launched = |source| EnterError::Launch { program: program.to_string_lossy().into_owned(), source };
    runtime.block_on(async {
        let mut end = signal(SignalKind::terminate())?;
        // Keys of the terminal are for the command.
        let _keys = [SignalKind::interrupt(), SignalKind::quit(), SignalKind::hangup()].map(signal);
        let mut child = command.spawn().map_err(launched)?;
        let status = tokio::select! {
            status = child.wait() => status?,
            _ = end.recv() => {
                if let Some(pid) = child.id() {
                    processes::kill(pid);
                    processes::kill_group(pid);
                }
                child.wait().await?
            }
        };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(NOT_RUN)))
    })
}

/// Moves this process, which has one thread, into the groups and namespaces of the task.
fn enter(entry: &Entry) -> Result<(), EnterError> {
    if !processes::is_alive(entry.init, entry.init_ticks) {
        return Err(EnterError::Gone);
    }
    let namespace = |name: &str| File::open(format!("/proc/{}/ns/{name}", entry.init));
    let kinds = [
        ("ipc", LinkNameSpaceType::InterProcessCommunication),
        ("net", LinkNameSpaceType::Network),
        ("pid", LinkNameSpaceType::ProcessID),
        ("uts", LinkNameSpaceType::HostNameAndNISDomainName),
        // The last one: what the others are opened by is gone after it.
        ("mnt", LinkNameSpaceType::Mount),
    ];
    let files = kinds.iter().map(|(name, kind)| Ok((namespace(name)?, *kind))).collect::<io::Result<Vec<_>>>()?;
    // The number may have become another process's since.
    if !processes::is_alive(entry.init, entry.init_ticks) {
        return Err(EnterError::Gone);
    }
    entry.groups.as_ref().map_or(Ok(()), TaskGroups::enter)?;
    for (file, kind) in files {
        move_into_link_name_space(file.as_fd(), Some(kind)).map_err(io::Error::from)?;
    }
    Ok(())
}
