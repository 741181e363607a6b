//! The processes of the host, as `/proc` has them.

use std::collections::{BTreeMap, BTreeSet};

use procfs::process::{Process, Stat};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// The ID of a process as the system takes it; `None` if it can be none.
pub(crate) fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Kills a process, which may have ended.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = to_pid(pid) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// Kills all processes of a group, which may have ended.
pub(crate) fn kill_group(leader: u32) {
    if let Some(leader) = to_pid(leader) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

/// The process with this ID, if there is one.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    Process::new(i32::try_from(pid).ok()?).and_then(|p| p.stat()).ok()
}

/// Whether the process has ended, and its parent has not waited for it yet.
pub(crate) fn is_zombie(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X')
}

/// Whether the process with this ID is the one that started at that tick, and has not ended.
pub(crate) fn is_alive(pid: u32, start: u64) -> bool {
    stat(pid).is_some_and(|s| !is_zombie(&s) && (start == 0 || s.starttime == start))
}

/// All processes at one time.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<i32, Stat>);

impl Table {
    /// Reads all processes.
    pub fn read() -> Table {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        Table(all.filter_map(|p| Some((p.pid(), p.stat().ok()?))).collect())
    }

    /// The processes that descend from one, itself not counted.
    pub(crate) fn descendants(&self, of: u32) -> Vec<(u32, &Stat)> {
        let Ok(of) = i32::try_from(of) else { return Vec::new() };
        let mut found = BTreeSet::from([of]);
        let mut parents = vec![of];
        while let Some(parent) = parents.pop() {
            // IDs are reused: the table, which takes time to read, may contain circles.
            let children = self.0.iter().filter(|(_, s)| s.ppid == parent).map(|(pid, _)| *pid);
            parents.extend(children.filter(|pid| found.insert(*pid)));
        }
        let descendants = self.0.iter().filter(|(pid, _)| **pid != of && found.contains(pid));
        descendants.filter_map(|(pid, stat)| Some((u32::try_from(*pid).ok()?, stat))).collect()
    }
}

/// Bytes of swap a process uses.
pub(crate) fn swap(pid: u32) -> u64 {
    let process = i32::try_from(pid).ok().and_then(|pid| Process::new(pid).ok());
    let kib = process.and_then(|p| p.status().ok()?.vmswap);
    kib.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let start = stat(pid).unwrap().starttime;
        assert!(Table::read().descendants(std::process::id()).iter().any(|(p, _)| *p == pid));
        assert!(is_alive(pid, start) && !is_alive(pid, start + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(pid, start));
    }
}
