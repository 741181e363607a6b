//! Reads information about processes from `/proc`.

use std::collections::{BTreeMap, BTreeSet};

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Its parent.
    pub parent: u32,
    /// It has ended and nobody asked for its end yet.
    pub zombie: bool,
    /// Ticks in user mode, 100 per second.
    pub user: u64,
    /// Ticks in the kernel.
    pub system: u64,
    /// When it started, in ticks since the host did.
    pub start: u64,
    /// Pages in memory.
    pub rss_pages: u64,
}

/// The process of a number, if there is one.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(text: &str) -> Option<Stat> {
    // The name in parentheses may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The list begins with field 3 of proc(5).
    let number = |n: usize| fields.get(n.checked_sub(3)?)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(4)?).ok()?,
        zombie: matches!(fields.first(), Some(&("Z" | "X"))),
        user: number(14)?,
        system: number(15)?,
        start: number(22)?,
        rss_pages: number(24).unwrap_or(0),
    })
}

/// Whether the process of a number is the one that started at that tick, and has not ended.
pub(crate) fn is_alive(pid: u32, start: u64) -> bool {
    stat(pid).is_some_and(|s| !s.zombie && (start == 0 || s.start == start))
}

/// All processes, as of one look.
#[derive(Debug, Default)]
pub struct Table(BTreeMap<u32, Stat>);

impl Table {
    /// Looks at all processes.
    pub fn read() -> Table {
        let Ok(dir) = std::fs::read_dir("/proc") else { return Table::default() };
        let pids = dir.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
        Table(pids.filter_map(|pid| Some((pid, stat(pid)?))).collect())
    }

    /// The processes that descend from one, itself not counted.
    pub(crate) fn descendants(&self, of: u32) -> Vec<(u32, Stat)> {
        let mut found = BTreeSet::from([of]);
        let mut out: Vec<(u32, Stat)> = Vec::new();
        let mut parents = vec![of];
        while let Some(parent) = parents.pop() {
            for (pid, stat) in self.0.iter().filter(|(_, s)| s.parent == parent) {
                // Numbers are used again: a look that takes time may see circles.
                if found.insert(*pid) {
                    out.push((*pid, *stat));
                    parents.push(*pid);
                }
            }
        }
        out.sort_by_key(|(pid, _)| *pid);
        out
    }
}

/// Bytes of swap a process uses.
pub(crate) fn swap(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|l| l.strip_prefix("VmSwap:"));
    let kb = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kb.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_hold_anything() {
        let s =
            parse("12 (a) b (c) S 7 12 12 0 -1 4194304 1 2 3 4 50 60 0 0 20 0 1 0 999 1000 321 18446744073709551615")
                .unwrap();
        assert_eq!(s, Stat { parent: 7, zombie: false, user: 50, system: 60, start: 999, rss_pages: 321 });
        assert_eq!(parse("12 (x) Z"), None);
    }

    #[test]
    fn children_are_found() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let start = stat(pid).unwrap().start;
        assert!(Table::read().descendants(std::process::id()).iter().any(|(p, _)| *p == pid));
        assert!(is_alive(pid, start) && !is_alive(pid, start + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(pid, start));
    }
}
