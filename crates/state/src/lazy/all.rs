//! Decodes all rows of a state at once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use crate::tables::State;

/// So many nodes are decoded by a thread at a time.
const AT_ONCE: u32 = 32;
/// More threads than that gain little.
const MOST_THREADS: usize = 16;

impl State {
    /// Decodes all rows that nobody has read yet, in several threads: for callers that read most of them anyway, one
    /// after the other. A state whose rows are all there is left as it is.
    pub fn decode_all(&self) {
        let Some(rows) = &self.allocs.rows else { return };
        rows.expect_all();
        let slots = u32::try_from(self.slot_count()).unwrap_or(u32::MAX);
        let next = AtomicU32::new(0);
        let nodes = || {
            loop {
                let first = next.fetch_add(AT_ONCE, Ordering::Relaxed);
                if first >= slots {
                    return;
                }
                for slot in first..first.saturating_add(AT_ONCE).min(slots) {
                    self.decode_node(slot);
                }
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        thread::scope(|scope| {
            (1..threads).for_each(|_| drop(scope.spawn(nodes)));
            self.jobs.tree();
            self.deployments.tree();
            self.allocs.orphaned.tree();
            self.allocs.slots.tree();
            self.allocs.by_job.tree();
            nodes();
        });
    }

    fn decode_node(&self, slot: u32) {
        let Some(entry) = self.node_at(slot) else { return };
        entry.node.decode();
        entry.allocs.tree();
    }
}
