//! Blocked evaluations: evaluations without sufficient capacity wait here until capacity becomes available
//! (`docs/spec/server.md §8`).
//!
//! - This file: [`BlockedEvals`], the tracker. Times (Unix nanoseconds) are parameters, evaluations to enqueue are the
//!   results. Calls must be made in the order of the log entries that cause them.
//! - `unblocks`: recent unblocks. [`stats`]: statistics.

pub mod stats;
mod unblocks;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use encamp_model::{EvalTrigger, Evaluation, JobKey, JobType, MINUTE, Text};

use stats::Sums;
pub use stats::{BlockedStats, Lacking, Place};
use unblocks::Unblocks;

/// How often evaluations that exceeded their plan attempts are retried, in nanoseconds.
pub(crate) const FAILED_UNBLOCK_INTERVAL: i64 = MINUTE;
/// How often old unblocks and zero sums are removed, in nanoseconds.
pub(crate) const PRUNE_INTERVAL: i64 = 5 * MINUTE;

/// Evaluations for the broker, each with the token of its delivery if it may still be outstanding
/// ([`crate::evals::broker::Broker::enqueue_all`]).
pub(crate) type Released = Vec<(Arc<Evaluation>, Option<String>)>;

/// Classes that an evaluation cannot use, ascending. Evaluations with the same list are unblocked together.
type Ineligible = Arc<[String]>;

#[derive(Debug)]
struct Tracked {
    eval: Arc<Evaluation>,
    token: Option<String>,
    /// `None` for an evaluation that escapes classes.
    ineligible: Option<Ineligible>,
}

/// The tracker. A new tracker is disabled; then every call does nothing.
#[derive(Debug, Default)]
pub struct BlockedEvals {
    enabled: bool,
    tracked: HashMap<Arc<str>, Tracked>,
    escaped: BTreeSet<Arc<str>>,
    captured: HashMap<Ineligible, BTreeSet<Arc<str>>>,
    /// Evaluations of system jobs by node.
    by_node: HashMap<Text, BTreeSet<Arc<str>>>,
    /// By namespace and job ID; then by node for evaluations of system jobs, else by the empty string. One evaluation
    /// each.
    jobs: HashMap<JobKey, BTreeMap<String, Arc<str>>>,
    /// Escaped evaluations by the resources that they miss other than nodes.
    by_resource: HashMap<String, BTreeSet<Arc<str>>>,
    /// Evaluations with trigger `max-plan-attempts`.
    conflicted: BTreeSet<Arc<str>>,
    unblocks: Unblocks,
    duplicates: Vec<Arc<Evaluation>>,
    sums: Sums,
    next_failed: i64,
    next_prune: i64,
}

/// The key within a job: a job has one blocked evaluation, a system job one per node. Escaped evaluations count for the
/// full job.
fn seat(eval: &Evaluation) -> &str {
    if by_node(eval) { &eval.node_id } else { "" }
}

fn by_node(eval: &Evaluation) -> bool {
    eval.r#type == JobType::System && !eval.escaped_computed_class
}

/// The index of the newest state that an evaluation has seen.
fn knows(eval: &Evaluation) -> u64 {
    eval.create_index.max(eval.snapshot_index)
}

impl BlockedEvals {
    /// Returns a disabled tracker.
    pub fn new() -> BlockedEvals {
        BlockedEvals::default()
    }

    /// Whether the tracker is enabled.
    pub fn enabled(&self) -> bool {
        self.enabled
    }

    /// Enables or disables the tracker. Disabling drops all evaluations.
    pub fn set_enabled(&mut self, enabled: bool, now: i64) {
        if !enabled {
            *self = BlockedEvals::default();
        } else if !self.enabled {
            self.enabled = true;
            self.next_failed = now.saturating_add(FAILED_UNBLOCK_INTERVAL);
            self.next_prune = now.saturating_add(PRUNE_INTERVAL);
        }
    }

    /// Tracks a blocked evaluation, with the token of its delivery (`None` if it is not outstanding). Returns it
    /// instead if capacity that may help became available meanwhile.
    pub fn block(&mut self, eval: Arc<Evaluation>, token: Option<String>, now: i64) -> Released {
        if !self.enabled {
            return Vec::new();
        }
        // The evaluation is blocked again: its tracked state is outdated.
        self.forget(&eval.id, now);
        let seats = self.jobs.get(&eval.job_key());
        if let Some(id) = seats.and_then(|s| s.get(seat(&eval))).cloned() {
            let tracked = self.tracked.get(&id).map(|t| &t.eval);
            if tracked.is_some_and(|old| knows(old) > knows(&eval)) {
                self.duplicates.push(eval);
                return Vec::new();
            }
            if let Some(old) = self.forget(&id, now) {
                self.duplicates.push(old.eval);
            }
        }
        if self.unblocks.missed_by(&eval) {
            return vec![(eval, token)];
        }
        self.track(eval, token, now);
        Vec::new()
    }

    fn track(&mut self, eval: Arc<Evaluation>, token: Option<String>, now: i64) {
        let id: Arc<str> = Arc::from(eval.id.as_str());
        self.jobs.entry(eval.job_key()).or_default().insert(seat(&eval).to_string(), id.clone());
        self.sums.count(&eval, 1, now);
        let mut ineligible = None;
        if eval.escaped_computed_class {
            self.escaped.insert(id.clone());
            for key in &eval.missing_non_node_resources {
                self.by_resource.entry(key.clone()).or_default().insert(id.clone());
            }
        } else {
            let not = eval.class_eligibility.iter().filter(|(_, eligible)| !**eligible);
            let list: Ineligible = not.map(|(class, _)| class.clone()).collect();
            self.captured.entry(list.clone()).or_default().insert(id.clone());
            ineligible = Some(list);
            if by_node(&eval) {
                self.by_node.entry(eval.node_id.clone()).or_default().insert(id.clone());
            }
        }
        if eval.triggered_by == EvalTrigger::MaxPlanAttempts {
            self.conflicted.insert(id.clone());
        }
        self.tracked.insert(id, Tracked { eval, token, ineligible });
    }

    /// Removes an evaluation from all maps.
    fn forget(&mut self, id: &str, now: i64) -> Option<Tracked> {
        let t = self.tracked.remove(id)?;
        self.sums.count(&t.eval, -1, now);
        let key = t.eval.job_key();
        if let Some(seats) = self.jobs.get_mut(&key) {
            seats.remove(seat(&t.eval));
            if seats.is_empty() {
                self.jobs.remove(&key);
            }
        }
        match &t.ineligible {
            Some(list) => {
                take_from(&mut self.captured, list, id);
                if by_node(&t.eval) {
                    take_from(&mut self.by_node, t.eval.node_id.as_str(), id);
                }
            }
            None => {
                self.escaped.remove(id);
                t.eval.missing_non_node_resources.iter().for_each(|key| take_from(&mut self.by_resource, key, id));
            }
        }
        self.conflicted.remove(id);
        Some(t)
    }

    fn release(&mut self, ids: impl IntoIterator<Item = Arc<str>>, now: i64) -> Released {
        let mut out: Released =
            ids.into_iter().filter_map(|id| self.forget(&id, now)).map(|t| (t.eval, t.token)).collect();
        out.sort_by(|(a, _), (b, _)| (a.create_index, &a.id).cmp(&(b.create_index, &b.id)));
        out
    }

    /// Removes an evaluation that has ended in the store: its job was placed in full, or is gone.
    pub(crate) fn untrack(&mut self, id: &str, now: i64) {
        self.forget(id, now);
    }

    /// Handles capacity that became available on nodes of a computed class at an index: unblocks all evaluations except
    /// those known not to be able to use the class.
    pub(crate) fn unblock_class(&mut self, class: &str, index: u64, now: i64) -> Released {
        if !self.enabled {
            return Vec::new();
        }
        self.unblocks.record(class, index, now);
        let usable = self.captured.iter().filter(|(list, _)| list.binary_search_by(|c| c.as_str().cmp(class)).is_err());
        let captured = usable.flat_map(|(_, ids)| ids.iter().cloned());
        let ids: Vec<Arc<str>> = self.escaped.iter().cloned().chain(captured).collect();
        self.release(ids, now)
    }

    /// Handles capacity that became available on a node: unblocks the evaluations of system jobs that wait for this
    /// node.
    pub(crate) fn unblock_node(&mut self, node_id: &str, now: i64) -> Released {
        let ids = self.by_node.get(node_id).cloned().unwrap_or_default();
        self.release(ids, now)
    }

    /// Handles resources other than nodes (`csi-volume:<namespace>:<id>`) that became available at an index: unblocks
    /// the evaluations that miss any of them.
    pub(crate) fn unblock_resources<S: AsRef<str>>(&mut self, keys: &[S], index: u64, now: i64) -> Released {
        if !self.enabled {
            return Vec::new();
        }
        let mut ids = BTreeSet::new();
        for key in keys.iter().map(AsRef::as_ref) {
            self.unblocks.record(key, index, now);
            ids.extend(self.by_resource.get(key).into_iter().flatten().cloned());
        }
        self.release(ids, now)
    }

    /// Unblocks the evaluations whose plans were rejected too often. [`BlockedEvals::tick`] does so every minute.
    pub(crate) fn unblock_failed(&mut self, now: i64) -> Released {
        let ids = self.conflicted.clone();
        self.release(ids, now)
    }

    /// Takes the evaluations made redundant by others of the same job; the caller cancels them in the store.
    pub fn take_duplicates(&mut self) -> Vec<Arc<Evaluation>> {
        std::mem::take(&mut self.duplicates)
    }

    /// Returns duplicates that could not be cancelled.
    pub(crate) fn put_back_duplicates(&mut self, mut evals: Vec<Arc<Evaluation>>) {
        if self.enabled {
            evals.append(&mut self.duplicates);
            self.duplicates = evals;
        }
    }

    /// When to call [`BlockedEvals::tick`] next.
    pub fn next_deadline(&self) -> Option<i64> {
        self.enabled.then(|| self.next_failed.min(self.next_prune))
    }

    /// Processes due work: retries rejected plans and removes old entries.
    pub fn tick(&mut self, now: i64) -> Released {
        if !self.enabled {
            return Vec::new();
        }
        if now >= self.next_prune {
            self.next_prune = now.saturating_add(PRUNE_INTERVAL);
            self.unblocks.prune(now);
            self.sums.prune(now);
        }
        if now < self.next_failed {
            return Vec::new();
        }
        self.next_failed = now.saturating_add(FAILED_UNBLOCK_INTERVAL);
        self.unblock_failed(now)
    }

    /// Returns the statistics.
    pub fn stats(&self) -> BlockedStats {
        self.sums.stats(self.tracked.len(), self.escaped.len())
    }
}

/// Removes an ID from the set of a key, and the set once it is empty.
fn take_from<K, Q>(map: &mut HashMap<K, BTreeSet<Arc<str>>>, key: &Q, id: &str)
where
    K: std::borrow::Borrow<Q> + std::hash::Hash + Eq,
    Q: std::hash::Hash + Eq + ?Sized,
{
    if let Some(ids) = map.get_mut(key) {
        ids.remove(id);
        if ids.is_empty() {
            map.remove(key);
        }
    }
}
