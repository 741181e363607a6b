//! Processes of instances: starts, finds and terminates them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use procfs::process::Stat;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// The variable in the environment of an instance's processes that holds its directory. Tasks inherit it.
const MARK: &str = "ENCAMP_LOCAL_INSTANCE";
/// How often leftovers are looked for in one go, and the pause in between.
const ROUNDS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);
/// From this round on, processes without a parent among those of the instance are killed, too.
const ROOTS: u32 = 5;

/// A process that no other one is mistaken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Process {
    /// Its ID.
    #[serde(rename = "PID")]
    pub pid: u32,
    /// When it started, in ticks since the host did.
    pub start: u64,
}

/// The status of a process that has not ended.
fn running(process: &procfs::process::Process) -> Option<Stat> {
    process.stat().ok().filter(|s| !matches!(s.state, 'Z' | 'X'))
}

impl Process {
    /// The process of that ID, unless it has ended.
    pub(super) fn of(pid: u32) -> Option<Process> {
        let process = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?;
        running(&process).map(|s| Process { pid, start: s.starttime })
    }

    /// It has not ended.
    pub(super) fn runs(self) -> bool {
        Process::of(self.pid) == Some(self)
    }

    /// Sends a signal, unless it has ended.
    pub(super) fn signal(self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        // The descriptor is that of one process, whatever becomes of its ID after the look at the start.
        if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty())
            && self.runs()
        {
            // It may have ended since.
            let _ = pidfd_send_signal(descriptor, signal);
        }
    }
}

/// Starts an agent in a process group of its own, where no terminal's signals reach it, so that it outlives this
/// process. Its standard error goes to the file `errors`; what it prints besides is in its log, too.
///
/// # Errors
/// The program or the file cannot be opened.
pub(super) fn start(program: &Path, directory: &Path, configs: [&Path; 2], errors: &Path) -> io::Result<Child> {
    let errors = OpenOptions::new().create(true).append(true).open(errors)?;
    Command::new(program)
        .args(["agent", "-client"])
        .args(configs.iter().flat_map(|c| [Path::new("-config"), *c]))
        .current_dir(directory)
        .env(MARK, directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .process_group(0)
        .spawn()
}

/// Kills every process of the instance in that directory: those that carry its mark, those that run `program` inside of
/// it (the supervisors of tasks, whose environment is empty), and what descends from them. True once there is none.
pub(super) fn end_leftovers(program: &Path, directory: &Path) -> bool {
    for round in 0..ROUNDS {
        let (roots, descendants) = find(program, directory);
        if roots.is_empty() && descendants.is_empty() {
            return true;
        }
        for process in &descendants {
            process.signal(Signal::KILL);
        }
        // A supervisor adopts what its task leaves behind, removes what the task had, and ends by itself.
        for process in roots.iter().filter(|_| round >= ROOTS) {
            process.signal(Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
    let (roots, descendants) = find(program, directory);
    roots.is_empty() && descendants.is_empty()
}

/// The processes of an instance: those without a parent among them, and the others.
fn find(program: &Path, directory: &Path) -> (Vec<Process>, Vec<Process>) {
    let mut table: BTreeMap<i32, Stat> = BTreeMap::new();
    let mut found: BTreeSet<i32> = BTreeSet::new();
    let own = i32::try_from(std::process::id()).ok();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        let Some(stat) = running(&process) else { continue };
        if own != Some(process.pid()) && belongs(&process, program, directory) {
            found.insert(process.pid());
        }
        table.insert(process.pid(), stat);
    }
    // Whatever descends from one of them.
    loop {
        let more: Vec<i32> =
            table.iter().filter(|(p, s)| !found.contains(p) && found.contains(&s.ppid)).map(|(p, _)| *p).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    let processes = table.iter().filter(|(pid, _)| found.contains(pid));
    let (descendants, roots): (Vec<_>, Vec<_>) = processes.partition(|(_, s)| found.contains(&s.ppid));
    let process = |(pid, stat): (&i32, &Stat)| Some(Process { pid: u32::try_from(*pid).ok()?, start: stat.starttime });
    (roots.into_iter().filter_map(process).collect(), descendants.into_iter().filter_map(process).collect())
}

fn belongs(process: &procfs::process::Process, program: &Path, directory: &Path) -> bool {
    process.environ().is_ok_and(|e| e.get(OsStr::new(MARK)).is_some_and(|marked| marked == directory.as_os_str()))
        || process.exe().is_ok_and(|exe| exe == program) && process.cwd().is_ok_and(|cwd| cwd.starts_with(directory))
}

/// The path by which the system knows a program.
pub(super) fn resolved(program: &Path) -> PathBuf {
    std::fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let process = Process::of(child.id()).unwrap();
        let later = Process { start: process.start + 1, ..process };
        assert!(process.runs() && !later.runs());
        later.signal(Signal::KILL);
        assert_eq!(child.try_wait().unwrap(), None, "another process of that ID is left alone");
        process.signal(Signal::KILL);
        assert!(!child.wait().unwrap().success());
        assert!(!process.runs());
    }
}
