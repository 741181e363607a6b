//! Chooses the terminal allocation to remove, and gives the reason (`docs/spec/client.md §27`).

use std::collections::{BTreeSet, HashMap};

use crate::config::GcConfig;

/// Terminal allocations, the one marked first in front.
#[derive(Debug, Clone, Default)]
pub(crate) struct GcQueue {
    order: BTreeSet<(i64, String)>,
    marked: HashMap<String, i64>,
}

impl GcQueue {
    /// Marks an allocation at a moment (Unix nanoseconds). False if it was marked already; it keeps its place then.
    pub(crate) fn mark(&mut self, id: &str, now: i64) -> bool {
        if self.marked.contains_key(id) {
            return false;
        }
        self.marked.insert(id.into(), now);
        self.order.insert((now, id.into()))
    }

    /// Takes the allocation that was marked first; of several at one moment the one with the least ID.
    pub(crate) fn pop(&mut self) -> Option<String> {
        let (_, id) = self.order.pop_first()?;
        self.marked.remove(&id);
        Some(id)
    }

    /// Takes an allocation out; false if it is not in.
    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.marked.remove(id).is_some_and(|at| self.order.remove(&(at, id.into())))
    }

    /// How many there are.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// The input of a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pressure {
    /// Percent used of the allocations' file system.
    pub disk: f64,
    /// Percent used of its inodes.
    pub inodes: f64,
    /// Runners that are not destroyed.
    pub live: usize,
}

/// Why something has to be removed. Its text is what the log says.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The file system is full, in percent.
    #[error("disk usage of {used:.0} is over gc threshold of {limit:.0}")]
    Disk {
        /// Used bytes of the file system, in percent.
        used: f64,
        /// `client.gc_disk_usage_threshold`, in percent.
        limit: f64,
    },
    /// It has hardly any inode left, in percent.
    #[error("inode usage of {used:.0} is over gc threshold of {limit:.0}")]
    Inodes {
        /// Used inodes of the file system, in percent.
        used: f64,
        /// `client.gc_inode_usage_threshold`, in percent.
        limit: f64,
    },
    /// Too many allocations have their files here.
    #[error("number of allocations ({live}) is over the limit ({limit})")]
    Allocations {
        /// Runners that are not destroyed.
        live: usize,
        /// `client.gc_max_allocs`.
        limit: usize,
    },
}

impl Cause {
    /// Whether removals that are under way tell only in the end what they brought.
    pub(crate) fn waits_for_removals(&self) -> bool {
        match self {
            Cause::Disk { .. } | Cause::Inodes { .. } => true,
            Cause::Allocations { .. } => false,
        }
    }
}

/// Why something has to be removed; `None`: nothing has to be.
pub fn cause(now: &Pressure, limits: &GcConfig) -> Option<Cause> {
    let (disk, inodes) = (limits.disk_usage_threshold, limits.inode_usage_threshold);
    if now.disk > disk {
        Some(Cause::Disk { used: now.disk, limit: disk })
    } else if now.inodes > inodes {
        Some(Cause::Inodes { used: now.inodes, limit: inodes })
    } else if now.live > limits.max_allocs {
        Some(Cause::Allocations { live: now.live, limit: limits.max_allocs })
    } else {
        None
    }
}

/// Whether a pass that finds nothing to remove is worth a warning: not while only the count is over, by less than
/// twice.
pub(crate) fn warns(now: &Pressure, limits: &GcConfig) -> bool {
    now.disk > limits.disk_usage_threshold
        || now.inodes > limits.inode_usage_threshold
        || now.live >= limits.max_allocs.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_mark_goes_first() {
        let mut q = GcQueue::default();
        assert!(q.mark("c", 5) && q.mark("b", 7) && q.mark("a", 7) && !q.mark("c", 1));
        assert!(q.remove("b") && !q.remove("b"));
        assert_eq!((q.len(), q.pop(), q.pop(), q.pop()), (2, Some("c".into()), Some("a".into()), None));
        assert!(q.is_empty() && q.mark("c", 9), "a popped one may be marked again");
    }

    #[test]
    fn thresholds_are_strict_and_ordered() {
        let limits = GcConfig { max_allocs: 3, ..GcConfig::default() };
        let see = |disk, inodes, live| cause(&Pressure { disk, inodes, live }, &limits).map(|c| c.to_string());
        assert_eq!(see(80.0, 70.0, 3), None);
        assert_eq!(see(85.4, 90.0, 9).unwrap(), "disk usage of 85 is over gc threshold of 80");
        assert_eq!(see(20.0, 90.0, 1).unwrap(), "inode usage of 90 is over gc threshold of 70");
        assert_eq!(see(20.0, 20.0, 4).unwrap(), "number of allocations (4) is over the limit (3)");
        let warn = |disk, live| warns(&Pressure { disk, inodes: 0.0, live }, &limits);
        assert!(!warn(20.0, 4) && warn(20.0, 6) && warn(99.0, 1));
    }
}
