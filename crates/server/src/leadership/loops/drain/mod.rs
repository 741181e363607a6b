//! The node drainer (`docs/spec/server.md §12`): migrates allocations from draining nodes a few at a time and ends
//! drains.
//!
//! - [`rules`]: selects the allocations to migrate, and those a drain waits for. [`deadlines`]: drain deadlines.
//! - [`nodes::drain`](crate::nodes::drain) starts, updates and cancels drains.
//!
//! All decisions follow from the store, except for the batched marks. A new leader therefore continues where the old
//! one stopped, and after a failed write the decision is made again.

pub mod deadlines;
pub mod rules;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::driver::Machine;
use crate::nodes::drain::event;
use crate::storage::watch::{WatchKey, row_key};
use encamp_model::*;
use encamp_ops::{DrainUpdate, NodeDrain, Operation};
use encamp_state::{StateStore, Table};

/// How long migration marks are batched, from the first one on.
const GATHER: i64 = SECOND;
/// Maximum number of allocation IDs in one log entry.
const IDS: usize = 7281;

/// The drainer.
#[derive(Debug, Default)]
pub struct Drainer {
    /// Allocations chosen to migrate, but not yet written.
    chosen: BTreeSet<String>,
    /// When the first of them was chosen.
    since: Option<i64>,
    /// The next deadline.
    deadline: Option<i64>,
    nodes: BTreeSet<String>,
    jobs: BTreeSet<JobKey>,
}

/// A drain that is ending.
struct Ending<'a> {
    node: &'a Node,
    strategy: &'a DrainStrategy,
    deadline_reached: bool,
}

impl Machine for Drainer {
    const NAME: &'static str = "drainer";

    fn look(&mut self, store: &StateStore, now: i64, new_id: &mut dyn FnMut() -> String) -> Vec<Operation> {
        let draining: BTreeMap<&str, (&Node, &DrainStrategy)> = store
            .state()
            .nodes()
            .filter_map(|n| Some((n.node.id.as_str(), (&**n.node, n.node.drain_strategy.as_ref()?))))
            .collect();
        let deadlines = draining.iter().filter_map(|(id, (_, s))| Some((*id, deadlines::deadline(s)?)));
        let (over, deadline) = deadlines::due(deadlines, now);
        self.deadline = deadline;
        let ending: Vec<Ending> = draining
            .values()
            .filter_map(|(node, strategy)| {
                let done = rules::is_done(store, &node.id);
                (done || over.contains(&node.id.as_str())).then_some(Ending { node, strategy, deadline_reached: !done })
            })
            .collect();
        let ends = |id: &str| ending.iter().any(|e| e.node.id == id);
        self.nodes = draining.keys().map(|id| id.to_string()).collect();
        self.jobs = draining.keys().filter(|id| !ends(id)).flat_map(|id| rules::jobs_on(store, id)).collect();
        let left = |id: &String| {
            let alloc = store.state().alloc(id).map(|e| &e.alloc);
            alloc.is_none_or(|a| a.client_terminal() || !draining.contains_key(a.node_id.as_str()) || ends(&a.node_id))
        };
        self.chosen.retain(|id| !left(id));
        for key in &self.jobs {
            let leave = rules::movable(store, key, &|n| draining.contains_key(n), &|id| self.chosen.contains(id));
            // Allocations on nodes whose drain ends are migrated at once, below.
            let new = leave.iter().filter(|a| !ends(&a.node_id)).map(|a| a.id.to_string());
            self.chosen.extend(new);
        }
        let mut marks: Vec<Arc<Allocation>> =
            ending.iter().flat_map(|e| rules::remaining(store, &e.node.id, e.strategy)).collect();
        if self.chosen.is_empty() {
            self.since = None;
        } else if *self.since.get_or_insert(now) + GATHER <= now {
            let chosen = std::mem::take(&mut self.chosen);
            marks.extend(chosen.iter().filter_map(|id| store.state().alloc(id).map(|e| e.alloc.clone())));
            self.since = None;
        }
        let mut work = marking(store, marks, IDS, now, new_id);
        work.extend(completion(&ending, now));
        work
    }

    fn next(&self) -> Option<i64> {
        let gathered = self.since.map(|t| t.saturating_add(GATHER));
        gathered.into_iter().chain(self.deadline).min()
    }

    fn keys(&self) -> Vec<WatchKey> {
        let of_nodes = self.nodes.iter().map(|id| WatchKey::OfNode(id.clone()));
        let of_jobs = self.jobs.iter().flat_map(|job| {
            let key = row_key(&job.namespace, &job.id);
            [WatchKey::OfJob(Table::Allocs, key.clone()), WatchKey::Row(Table::Jobs, key)]
        });
        [WatchKey::Table(Table::Nodes)].into_iter().chain(of_nodes).chain(of_jobs).collect()
    }

    fn failed(&mut self) {
        (self.chosen, self.since) = (BTreeSet::new(), None);
    }
}

/// The mark of an allocation that has to leave its node. Allocations of batch jobs are stopped and not replaced.
fn mark(job: Option<&Job>) -> DesiredTransition {
    DesiredTransition {
        migrate: Some(true),
        migrate_disable_placement: job.is_some_and(|j| j.r#type == JobType::Batch).then_some(true),
        ..Default::default()
    }
}

/// Log entries that mark allocations, at most `most` in each; the evaluation of a job is in the entry with the last of
/// its allocations.
fn marking(
    store: &StateStore,
    marks: Vec<Arc<Allocation>>,
    most: usize,
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<Operation> {
    let mut by_job: BTreeMap<JobKey, Vec<Arc<Allocation>>> = BTreeMap::new();
    for a in marks {
        by_job.entry(a.job_key()).or_default().push(a);
    }
    let mut out = Vec::new();
    let (mut transitions, mut evals) = (BTreeMap::new(), Vec::new());
    let mut close = |transitions: &mut BTreeMap<_, _>, evals: &mut Vec<_>| {
        let (transitions, evals) = (std::mem::take(transitions), std::mem::take(evals));
        out.push(Operation::AllocTransition { transitions, evals });
    };
    for allocs in by_job.into_values() {
        if !transitions.is_empty() && transitions.len() + allocs.len() > most {
            close(&mut transitions, &mut evals);
        }
        let job = allocs.iter().find_map(|a| rules::job_of(store, a)).cloned();
        for a in allocs {
            if transitions.len() >= most {
                close(&mut transitions, &mut evals);
            }
            transitions.insert(a.id.to_string(), mark(job.as_deref()));
        }
        evals.extend(job.map(|job| Evaluation::pending(&job, EvalTrigger::NodeDrain, now, new_id())));
    }
    if !transitions.is_empty() {
        close(&mut transitions, &mut evals);
    }
    out
}

/// Returns the log entry that ends drains. The nodes stay ineligible.
fn completion(ending: &[Ending], now: i64) -> Option<Operation> {
    if ending.is_empty() {
        return None;
    }
    let mut drain = NodeDrain { nodes: BTreeMap::new(), events: BTreeMap::new(), updated_at: now };
    for e in ending {
        let mut event = event("Node drain complete", now);
        if e.deadline_reached {
            event.details.insert("deadline_reached".into(), "true".into());
        }
        drain.events.insert(e.node.id.clone(), event);
        drain.nodes.insert(e.node.id.clone(), DrainUpdate { complete: true, ..Default::default() });
    }
    Some(Operation::NodeDrain(drain))
}
