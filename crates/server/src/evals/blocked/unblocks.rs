//! Recent unblocks (`docs/spec/server.md §8.3`): an evaluation that was scheduled on an older state missed them.

use std::collections::{BTreeSet, HashMap};

use encamp_model::{Evaluation, MINUTE};

/// How long an entry is retained, in nanoseconds.
pub(crate) const KEEP: i64 = 15 * MINUTE;

/// The last unblock of every computed class and volume: index and time of the change.
#[derive(Debug, Default)]
pub(super) struct Unblocks {
    by_key: HashMap<String, (u64, i64)>,
    by_index: BTreeSet<(u64, String)>,
}

impl Unblocks {
    /// Records that capacity for this key became available.
    pub(crate) fn record(&mut self, key: &str, index: u64, now: i64) {
        let (old, _) = self.by_key.get(key).copied().unwrap_or_default();
        let newest = old.max(index);
        self.by_key.insert(key.to_string(), (newest, now));
        self.by_index.remove(&(old, key.to_string()));
        self.by_index.insert((newest, key.to_string()));
    }

    /// Whether capacity that the evaluation may use became available after the state it was scheduled on.
    pub(crate) fn missed_by(&self, eval: &Evaluation) -> bool {
        let Some(later) = eval.snapshot_index.checked_add(1) else { return false };
        self.by_index.range((later, String::new())..).any(|(_, key)| {
            eval.escaped_computed_class
                || eval.missing_non_node_resources.contains(key)
                || eval.class_eligibility.get(key) != Some(&false)
        })
    }

    /// Removes entries older than [`KEEP`].
    pub(crate) fn prune(&mut self, now: i64) {
        let oldest = now.saturating_sub(KEEP);
        let by_index = &mut self.by_index;
        self.by_key.retain(|key, (index, time)| {
            let keep = *time >= oldest;
            if !keep {
                by_index.remove(&(*index, key.clone()));
            }
            keep
        });
    }
}
