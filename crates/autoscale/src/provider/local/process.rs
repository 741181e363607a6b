//! Processes of instances: starts, finds and terminates them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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

/// The facts in `/proc/<pid>/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    parent: u32,
    ended: bool,
    start: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(text: &str) -> Option<Stat> {
    // The name in parentheses may hold anything; what follows begins with field 3 of proc(5).
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ended = matches!(fields.first(), Some(&("Z" | "X")));
    Some(Stat { parent: fields.get(1)?.parse().ok()?, ended, start: fields.get(19)?.parse().ok()? })
}

impl Process {
    /// The process of that ID, unless it has ended.
    pub(super) fn of(pid: u32) -> Option<Process> {
        stat(pid).filter(|s| !s.ended).map(|s| Process { pid, start: s.start })
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
    let mut table: BTreeMap<u32, Stat> = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok());
        if let Some((pid, stat)) = pid.and_then(|p| Some((p, stat(p)?))).filter(|(_, s)| !s.ended) {
            table.insert(pid, stat);
        }
    }
    let own = std::process::id();
    let mut found: BTreeSet<u32> =
        table.keys().copied().filter(|pid| *pid != own && belongs(*pid, program, directory)).collect();
    // Whatever descends from one of them.
    loop {
        let more: Vec<u32> =
            table.iter().filter(|(p, s)| !found.contains(p) && found.contains(&s.parent)).map(|(p, _)| *p).collect();
        if more.is_empty() {
            break;
        }
        found.extend(more);
    }
    let processes = table.iter().filter(|(pid, _)| found.contains(pid));
    let (descendants, roots): (Vec<_>, Vec<_>) = processes.partition(|(_, s)| found.contains(&s.parent));
    let process = |(pid, stat): (&u32, &Stat)| Process { pid: *pid, start: stat.start };
    (roots.into_iter().map(process).collect(), descendants.into_iter().map(process).collect())
}

fn belongs(pid: u32, program: &Path, directory: &Path) -> bool {
    let link = |name: &str| std::fs::read_link(format!("/proc/{pid}/{name}")).ok();
    let mark = [MARK.as_bytes(), b"=", directory.as_os_str().as_encoded_bytes()].concat();
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|b| *b == 0).any(|v| v == mark)
        || link("exe").is_some_and(|exe| exe == program) && link("cwd").is_some_and(|cwd| cwd.starts_with(directory))
}

/// The path by which the system knows a program.
pub(super) fn resolved(program: &Path) -> PathBuf {
    std::fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let text = "12 (a) b (c) S 7 12 12 0 -1 4194304 1 2 3 4 50 60 0 0 20 0 1 0 999 1000 321";
        assert_eq!(parse(text), Some(Stat { parent: 7, ended: false, start: 999 }));
        assert_eq!(parse("12 (x) Z"), None);
    }

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
