//! Chooses the next allocations to migrate from draining nodes (`docs/spec/server.md §12`).
//!
//! Servers migrate services as their `migrate` blocks allow, wait for batch allocations until the deadline, and stop
//! system and plugin allocations last. A what-if computes the final state: replacements count as healthy at once, and
//! the deadline passes when nothing else is left to do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::edit::{JobKey, Trigger, Triggers};
use encamp_model::*;
use encamp_state::State;

/// The next allocations to mark for migration, and the evaluations that follow; empty when the drain is complete.
pub(crate) fn next(state: &State, draining: &BTreeSet<String>) -> (Vec<Arc<Allocation>>, Triggers) {
    let mut left: Vec<&Arc<Allocation>> = Vec::new();
    for entry in draining.iter().filter_map(|id| state.node(id)) {
        let stays = |a: &Allocation| *kind(a) == JobType::System && ignores_system_jobs(&entry.node);
        let allocs = entry.allocs.iter().map(|e| &e.alloc);
        left.extend(allocs.filter(|a| !a.terminal() && !a.desired_transition.should_migrate() && !stays(a)));
    }
    let mut turn = in_turn(state, &left);
    if turn.is_empty() {
        turn = left.iter().filter(|a| !last(a)).copied().collect();
    }
    if turn.is_empty() {
        turn = left;
    }
    mark(state, &turn)
}

/// The services that may go now: of each group as many as its `migrate` block allows at a time.
fn in_turn<'a>(state: &State, left: &[&'a Arc<Allocation>]) -> Vec<&'a Arc<Allocation>> {
    let mut room: BTreeMap<(&str, &str, &str), i64> = BTreeMap::new();
    let mut out = Vec::new();
    for a in left.iter().filter(|a| *kind(a) == JobType::Service && !last(a)) {
        let at_once = || {
            let group = state.job(&a.namespace, &a.job_id)?.lookup_group(&a.task_group)?;
            Some(group.migrate.as_ref()?.max_parallel)
        };
        let room = room.entry((&a.namespace, &a.job_id, &a.task_group)).or_insert_with(|| at_once().unwrap_or(0));
        if *room > 0 {
            *room -= 1;
            out.push(*a);
        }
    }
    out
}

/// System and plugin allocations stay until all else is gone.
fn last(a: &Allocation) -> bool {
    let plugin = || a.group().is_some_and(|g| g.tasks.iter().any(|t| t.csi_plugin_config.is_some()));
    *kind(a) == JobType::System || plugin()
}

fn ignores_system_jobs(node: &Node) -> bool {
    node.drain_strategy.as_ref().is_some_and(|s| s.ignore_system_jobs)
}

fn kind(a: &Allocation) -> &JobType {
    a.job.as_ref().map_or(&JobType::Service, |j| &j.r#type)
}

fn mark(state: &State, turn: &[&Arc<Allocation>]) -> (Vec<Arc<Allocation>>, Triggers) {
    let mut triggers = Triggers::new();
    let mut marked = Vec::with_capacity(turn.len());
    for a in turn {
        let mut a = Allocation::clone(a);
        a.desired_transition.migrate = Some(true);
        if a.of_batch_job() {
            a.desired_transition.migrate_disable_placement = Some(true);
        }
        a.modify_index = state.index + 1;
        let key: JobKey = (a.namespace.to_string(), a.job_id.to_string());
        let job = a.job.as_ref();
        triggers.entry(key).or_insert_with(|| Trigger {
            reason: EvalTrigger::NodeDrain,
            r#type: kind(&a).clone(),
            priority: job.map_or(50, |j| j.priority),
        });
        marked.push(Arc::new(a));
    }
    (marked, triggers)
}
