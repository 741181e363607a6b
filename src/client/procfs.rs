//! What `/proc` tells about processes.

use std::collections::BTreeMap;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
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
pub fn stat(pid: u32) -> Option<Stat> {
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
pub fn is_alive(pid: u32, start: u64) -> bool {
    stat(pid).is_some_and(|s| !s.zombie && (start == 0 || s.start == start))
}

/// All processes.
fn all() -> BTreeMap<u32, Stat> {
    let Ok(dir) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = dir.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, stat(pid)?))).collect()
}

/// The processes that descend from one, itself not counted.
pub fn descendants(of: u32) -> Vec<u32> {
    let processes = all();
    let mut found = vec![of];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        at += 1;
        // A process never becomes the parent of its parent, but numbers are used again.
        let children = processes.iter().filter(|(pid, s)| s.parent == parent && **pid != of).map(|(pid, _)| *pid);
        let new: Vec<u32> = children.filter(|c| !found.contains(c)).collect();
        found.extend(new);
    }
    found.split_off(1)
}

/// Bytes of swap a process uses.
pub fn swap(pid: u32) -> u64 {
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
        assert!(descendants(std::process::id()).contains(&pid) && is_alive(pid, start) && !is_alive(pid, start + 1));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_alive(pid, start));
    }
}
