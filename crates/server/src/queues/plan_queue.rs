//! The order in which submitted plans are applied (`docs/spec/server.md §7.1`).

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::error::{Error, ErrorKind};

/// The text of [`PlanQueueDisabled`].
const DISABLED: &str = "plan queue is disabled";

/// This server is not the leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", DISABLED)]
pub struct PlanQueueDisabled;

impl From<PlanQueueDisabled> for Error {
    fn from(_: PlanQueueDisabled) -> Error {
        Error::new(ErrorKind::PlanQueueDisabled, DISABLED)
    }
}

#[derive(Debug)]
struct Waiting<T> {
    priority: i64,
    number: u64,
    item: T,
}

impl<T> Waiting<T> {
    fn rank(&self) -> (i64, Reverse<u64>) {
        (self.priority, Reverse(self.number))
    }
}

impl<T> PartialEq for Waiting<T> {
    fn eq(&self, other: &Self) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for Waiting<T> {}

impl<T> Ord for Waiting<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl<T> PartialOrd for Waiting<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The queue of plans to be applied, ordered by priority, then by arrival. `T` is a plan together with the channel that
/// its submitter waits on. A new queue is disabled.
#[derive(Debug)]
pub struct PlanQueue<T> {
    enabled: bool,
    waiting: BinaryHeap<Waiting<T>>,
    next_number: u64,
}

impl<T> Default for PlanQueue<T> {
    fn default() -> Self {
        PlanQueue { enabled: false, waiting: BinaryHeap::new(), next_number: 0 }
    }
}

impl<T> PlanQueue<T> {
    /// A disabled queue.
    pub fn new() -> Self {
        PlanQueue::default()
    }

    /// Whether the queue accepts plans.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Enables or disables the queue. Disabling returns the queued plans, to be answered with
    /// [`PipelineError::Flushed`](super::error::PipelineError::Flushed).
    pub fn set_enabled(&mut self, enabled: bool) -> Vec<T> {
        self.enabled = enabled;
        if enabled { Vec::new() } else { self.waiting.drain().map(|w| w.item).collect() }
    }

    /// Adds a plan.
    pub(crate) fn enqueue(&mut self, priority: i64, item: T) -> Result<(), PlanQueueDisabled> {
        if !self.enabled {
            return Err(PlanQueueDisabled);
        }
        self.waiting.push(Waiting { priority, number: self.next_number, item });
        self.next_number += 1;
        Ok(())
    }

    /// Takes the next plan, if there is one.
    pub fn dequeue(&mut self) -> Result<Option<T>, PlanQueueDisabled> {
        if self.enabled { Ok(self.waiting.pop().map(|w| w.item)) } else { Err(PlanQueueDisabled) }
    }

    /// The number of queued plans (gauge `plan.queue_depth`).
    pub fn depth(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priority_then_arrival() {
        let mut q = PlanQueue::new();
        assert_eq!(q.enqueue(50, "x").unwrap_err().to_string(), "plan queue is disabled");
        assert_eq!(q.dequeue(), Err(PlanQueueDisabled));
        assert!(q.set_enabled(true).is_empty() && q.enabled());
        for (priority, name) in [(50, "a"), (80, "b"), (50, "c"), (80, "d"), (1, "e")] {
            q.enqueue(priority, name).unwrap();
        }
        assert_eq!(q.depth(), 5);
        let order: Vec<_> = std::iter::from_fn(|| q.dequeue().unwrap()).collect();
        assert_eq!(order, ["b", "d", "a", "c", "e"]);
        q.enqueue(1, "f").unwrap();
        assert_eq!(q.set_enabled(false), ["f"]);
        assert_eq!((q.depth(), q.dequeue()), (0, Err(PlanQueueDisabled)));
    }
}
