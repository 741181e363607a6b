//! Decisions of local collection: whether an allocation has to be removed, why, and which one (`docs/spec/client.md
//! §27.2`, `§27.4`).

use std::collections::{BTreeSet, HashMap};

use crate::config::GcConfig;
use encamp_model::{Allocation, ClientStatus, EphemeralDisk, MINUTE};

/// The moments at which allocations are marked for collection: each is later than all before it, whatever the clock
/// says.
#[derive(Debug, Clone, Default)]
pub struct Marks {
    latest: i64,
}

impl Marks {
    /// The moment of the next mark, by the clock (Unix nanoseconds) if that went on.
    pub(crate) fn next(&mut self, now: i64) -> i64 {
        self.latest = now.max(self.latest.saturating_add(1));
        self.latest
    }

    /// A mark of an earlier run of the agent; later ones come after it.
    pub(crate) fn seen(&mut self, at: i64) {
        self.latest = self.latest.max(at);
    }
}

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

    /// Takes the allocation that was marked first, of several at one moment the one with the least ID; pinned ones keep
    /// their places.
    pub(crate) fn pop(&mut self, pinned: &BTreeSet<String>) -> Option<String> {
        let next = self.order.iter().find(|(_, id)| !pinned.contains(id)).cloned()?;
        self.order.remove(&next);
        self.marked.remove(&next.1);
        Some(next.1)
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
    /// Runners that are not destroyed and are not being removed.
    pub live: usize,
}

/// The removals that are under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnderWay {
    /// Removals whose end is near.
    pub removals: usize,
    /// Whether a removal has ended since the disk was measured.
    pub outdated: bool,
    /// How many more can begin.
    pub free_slots: usize,
}

/// What a pass does next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Step {
    /// Nothing: no limit is exceeded.
    Enough,
    /// Nothing until a removal ends, which is followed by a pass.
    Wait,
    /// Measures the disk again: the figures do not show what was freed meanwhile.
    Measure,
    /// Removes the oldest allocation.
    Remove(Cause),
}

/// Decides what a pass does next (`docs/spec/client.md §27.4`): it removes no more than necessary.
pub(crate) fn step(now: &Pressure, limits: &GcConfig, under_way: &UnderWay) -> Step {
    let Some(cause) = cause(now, limits) else { return Step::Enough };
    let on_disk = cause.waits_for_removals();
    if under_way.free_slots == 0 || on_disk && under_way.removals > 0 {
        Step::Wait
    } else if on_disk && under_way.outdated {
        Step::Measure
    } else {
        Step::Remove(cause)
    }
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
        /// Runners that are not destroyed and are not being removed.
        live: usize,
        /// `client.gc_max_allocs`.
        limit: usize,
    },
}

impl Cause {
    /// Whether only the end of a removal shows how much it freed.
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

/// Whether the disk of an allocation outlives it: its replacement takes the data over (`docs/spec/client.md §9.3`). What
/// moves to other nodes also stays on its own.
fn is_sticky(alloc: &Allocation) -> bool {
    disk(alloc).is_some_and(|disk| disk.sticky || disk.migrate)
}

/// Whether the disk of an allocation comes with it from another node.
pub(crate) fn migrates(alloc: &Allocation) -> bool {
    disk(alloc).is_some_and(|disk| disk.migrate)
}

fn disk(alloc: &Allocation) -> Option<&EphemeralDisk> {
    alloc.group()?.ephemeral_disk.as_ref()
}

/// How long the disk of an allocation that ended is kept for a node that has not read it yet, in nanoseconds.
const HOLD: i64 = 5 * MINUTE;

/// Whether a node that gets the replacement of an allocation that ended is going to read its disk, as far as can be
/// known here. `marked`: when it was marked for collection. `taken`: its disk was read, or taken over on this node.
pub(crate) fn is_held(alloc: &Allocation, ended: &ClientStatus, marked: i64, taken: bool, now: i64) -> bool {
    let replaced = alloc.server_terminal() || *ended == ClientStatus::Failed;
    migrates(alloc) && replaced && !taken && now.saturating_sub(marked) < HOLD
}

/// The allocation whose disk an allocation that runs takes over; `taken`: it did, or it does not get it any more.
pub(crate) fn awaited_disk(alloc: &Allocation, taken: bool) -> Option<&str> {
    Some(alloc.previous_allocation.as_str()).filter(|id| !taken && !id.is_empty() && is_sticky(alloc))
}

/// Whether the servers are going to replace an allocation that ended, and have not done so: they postponed it.
pub(crate) fn is_replaced_later(alloc: &Allocation) -> bool {
    let postponed = !alloc.followup_eval_id.is_empty() && alloc.next_allocation.is_empty();
    postponed && !alloc.server_terminal() && is_sticky(alloc)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use encamp_model::{DesiredStatus, Job, TaskGroup, Text};

    #[test]
    fn the_oldest_mark_goes_first() {
        let mut q = GcQueue::default();
        let none = BTreeSet::new();
        assert!(q.mark("c", 5) && q.mark("b", 7) && q.mark("a", 7) && !q.mark("c", 1));
        assert!(q.remove("b") && !q.remove("b"));
        assert_eq!((q.len(), q.pop(&none), q.pop(&none), q.pop(&none)), (2, Some("c".into()), Some("a".into()), None));
        assert!(q.is_empty() && q.mark("c", 9), "a popped one may be marked again");
    }

    #[test]
    fn pinned_ones_keep_their_places() {
        let mut q = GcQueue::default();
        assert!(q.mark("a", 1) && q.mark("b", 2) && q.mark("c", 3));
        let pinned = BTreeSet::from(["a".to_string(), "b".to_string()]);
        assert_eq!((q.pop(&pinned), q.pop(&pinned), q.len()), (Some("c".into()), None, 2));
        assert_eq!(q.pop(&BTreeSet::new()), Some("a".into()));
    }

    #[test]
    fn marks_follow_each_other_also_if_the_clock_goes_back() {
        let mut marks = Marks::default();
        marks.seen(100);
        marks.seen(90);
        assert_eq!([marks.next(50), marks.next(50), marks.next(200), marks.next(200)], [101, 102, 200, 201]);
        marks.seen(i64::MAX);
        assert_eq!((marks.next(1), marks.next(1)), (i64::MAX, i64::MAX), "the IDs decide then");
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

    #[test]
    fn a_pass_waits_for_the_removals_that_decide() {
        let limits = GcConfig { max_allocs: 3, ..GcConfig::default() };
        let after = |disk, inodes, live, removals, outdated, free_slots| {
            let (now, under_way) = (Pressure { disk, inodes, live }, UnderWay { removals, outdated, free_slots });
            match step(&now, &limits, &under_way) {
                Step::Enough => "enough",
                Step::Wait => "wait",
                Step::Measure => "measure",
                Step::Remove(_) => "remove",
            }
        };
        let decide = |disk, inodes, live, removals, free_slots| after(disk, inodes, live, removals, false, free_slots);
        assert_eq!(decide(80.0, 70.0, 3, 0, 2), "enough");
        assert_eq!(decide(20.0, 20.0, 4, 0, 2), "remove");
        assert_eq!(decide(20.0, 20.0, 4, 1, 1), "remove", "what is being removed is not counted");
        assert_eq!(decide(20.0, 20.0, 4, 2, 0), "wait", "no slot");
        assert_eq!(decide(20.0, 20.0, 4, 0, 0), "wait", "all slots are blocked");
        for (disk, inodes) in [(80.1, 0.0), (0.0, 70.1)] {
            assert_eq!(decide(disk, inodes, 1, 0, 2), "remove");
            assert_eq!(decide(disk, inodes, 9, 1, 1), "wait", "its end shows how much it freed");
            assert_eq!(decide(disk, inodes, 1, 0, 1), "remove", "one that is blocked is not waited for");
            assert_eq!(after(disk, inodes, 1, 0, true, 2), "measure", "one has ended meanwhile");
            assert_eq!(after(disk, inodes, 1, 1, true, 1), "wait");
        }
        assert_eq!(after(80.0, 70.0, 4, 0, true, 2), "remove", "the count is exact");
        assert_eq!(after(80.0, 70.0, 3, 0, true, 2), "enough");
    }

    #[test]
    fn disks_are_pinned_until_their_replacement_has_them() {
        let with = |sticky, migrate| {
            let disk = EphemeralDisk { sticky, migrate, ..EphemeralDisk::default() };
            let group = TaskGroup { name: "g".into(), ephemeral_disk: Some(disk), ..TaskGroup::default() };
            let job = Job { task_groups: vec![group], ..Job::default() };
            Allocation {
                task_group: "g".into(),
                job: Some(Arc::new(job)),
                previous_allocation: "old".into(),
                followup_eval_id: "later".into(),
                desired_status: DesiredStatus::Run,
                ..Allocation::default()
            }
        };
        let alloc = |sticky| with(sticky, false);
        let waiting = alloc(true);
        assert_eq!(awaited_disk(&with(false, true), false), Some("old"), "what migrates is sticky");
        assert!(migrates(&with(false, true)) && !migrates(&waiting));
        assert_eq!((awaited_disk(&waiting, false), awaited_disk(&waiting, true)), (Some("old"), None));
        assert_eq!(awaited_disk(&alloc(false), false), None);
        let stopped = |migrate| Allocation { desired_status: DesiredStatus::Stop, ..with(true, migrate) };
        let held = |alloc: &Allocation, ended, taken, now| is_held(alloc, &ended, 1, taken, now);
        assert!(held(&stopped(true), ClientStatus::Complete, false, HOLD));
        assert!(held(&with(true, true), ClientStatus::Failed, false, HOLD), "the servers may replace it");
        assert!(!held(&with(true, true), ClientStatus::Complete, false, 1), "nothing replaces it");
        assert!(!held(&stopped(false), ClientStatus::Complete, false, 1));
        assert!(!held(&stopped(true), ClientStatus::Complete, true, 1), "it was read");
        assert!(!held(&stopped(true), ClientStatus::Complete, false, HOLD + 1), "nobody reads it");
        assert_eq!(awaited_disk(&Allocation { previous_allocation: Text::default(), ..waiting.clone() }, false), None);
        assert!(is_replaced_later(&waiting) && !is_replaced_later(&alloc(false)));
        let replaced = Allocation { next_allocation: "new".into(), ..waiting.clone() };
        let stopped = Allocation { desired_status: DesiredStatus::Stop, ..waiting.clone() };
        let finished = Allocation { followup_eval_id: Text::default(), ..waiting };
        assert!([replaced, stopped, finished].iter().all(|a| !is_replaced_later(a)));
    }
}
