//! Directories that could not be removed, and when they are tried again (`docs/spec/client.md §27.5`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Wait after the first failure; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The directory of an allocation that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    /// The first entry that is still there.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub tries: u32,
    /// The first failure, in Unix nanoseconds.
    pub since: i64,
    /// The next try; none while one is under way.
    pub next: Option<Instant>,
}

/// All directories of a node that could not be removed, by ID of the allocation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leftovers(BTreeMap<String, Leftover>);

impl Leftovers {
    /// Notes a failure; `since`: now, in Unix nanoseconds. True for the first one of an allocation.
    pub(crate) fn failed(&mut self, id: &str, path: PathBuf, reason: String, now: Instant, since: i64) -> bool {
        let old = self.0.get(id);
        let tries = old.map_or(0, |o| o.tries).saturating_add(1);
        let since = old.map_or(since, |o| o.since);
        let next = Some(now + wait(tries));
        self.0.insert(id.into(), Leftover { path, reason, tries, since, next });
        tries == 1
    }

    /// Notes that the directory is gone; gives how often that failed before.
    pub(crate) fn removed(&mut self, id: &str) -> Option<u32> {
        self.0.remove(id).map(|old| old.tries)
    }

    /// When the next one is tried.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.values().filter_map(|l| l.next).min()
    }

    /// Takes those whose time has come: each has to be followed by [`Leftovers::failed`] or [`Leftovers::removed`].
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<String> {
        let due = self.0.iter_mut().filter(|(_, l)| l.next.is_some_and(|at| at <= now));
        let take = |(id, leftover): (&String, &mut Leftover)| {
            leftover.next = None;
            id.clone()
        };
        due.map(take).collect()
    }

    /// All of them, by ID of the allocation.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = (&String, &Leftover)> {
        self.0.iter()
    }
}

/// The wait after so many failures.
fn wait(failures: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let waits: Vec<u64> = (1..=12).map(|n| wait(n).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        assert_eq!(wait(u32::MAX), LONGEST_WAIT);
    }

    #[test]
    fn each_is_tried_again_at_its_time_until_it_is_gone() {
        let (mut all, start) = (Leftovers::default(), Instant::now());
        let second = |n| start + Duration::from_secs(n);
        let fail =
            |all: &mut Leftovers, id: &str, at: u64| all.failed(id, id.into(), "busy".into(), second(at), at as i64);
        assert!(fail(&mut all, "a", 0) && fail(&mut all, "b", 5));
        assert_eq!((all.next(), all.take_due(start)), (Some(second(1)), vec![]));
        assert_eq!(all.take_due(second(1)), ["a"]);
        assert_eq!((all.take_due(second(1)), all.next()), (vec![], Some(second(6))), "it is being tried");
        assert!(!fail(&mut all, "a", 4));
        assert_eq!(all.take_due(second(6)), ["a", "b"]);
        assert_eq!((all.removed("a"), all.removed("a")), (Some(2), None));
        let left: Vec<_> = all.all().map(|(id, l)| (id.as_str(), l.tries, l.since, l.next)).collect();
        assert_eq!(left, [("b", 1, 5, None)]);
    }
}
