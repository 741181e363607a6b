//! Edits of the cluster: more nodes, and batch work that has ended.

use std::sync::Arc;

use encamp_model::*;
use encamp_state::State;

use crate::what_if::copy_of;

/// Adds empty nodes like the one of this name; false if there is none.
pub(super) fn add_nodes(state: &mut State, count: i64, like: &str) -> bool {
    let Some(model) = state.nodes().find(|e| e.node.name == like).map(|e| e.node.clone()) else { return false };
    let taken = |state: &State, name: &str| state.nodes().any(|e| e.node.name == name);
    let mut number = 0_i64;
    for _ in 0..count {
        number += 1;
        while taken(state, &format!("{like}-new-{number}")) {
            number += 1;
        }
        state.index += 1;
        let mut node =
            copy_of(&model, &format!("{like}-new-{number}"), &format!("ffffffff-0000-4000-8000-{:012x}", state.index));
        (node.create_index, node.modify_index) = (state.index, state.index);
        state.upsert_node(Arc::new(node));
    }
    true
}

/// Ends allocations as their `max_run_duration` does; false if there are none.
pub(super) fn end(state: &mut State, ids: &[String]) -> bool {
    let ended: Vec<Arc<Allocation>> = ids
        .iter()
        .filter_map(|id| state.alloc(id))
        .map(|e| Arc::new(Allocation { client_status: ClientStatus::Complete, ..Allocation::clone(&e.alloc) }))
        .collect();
    let some = !ended.is_empty();
    state.upsert_allocs(ended);
    some
}

/// An allocation that ends by its `max_run_duration`.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    /// When, Unix nanoseconds.
    pub at: i64,
    /// Its ID.
    pub id: String,
    /// Its job.
    pub job: String,
}

/// The batch allocations that are going to end by themselves, in the order of their ends.
pub(super) fn endings(state: &State, now: i64) -> Vec<Ending> {
    let live = state.allocs().filter(|e| !e.phase.terminal());
    let mut all: Vec<Ending> = live
        .filter_map(|e| {
            let job = e.alloc.job.as_ref().filter(|j| matches!(j.r#type, JobType::Batch | JobType::Sysbatch))?;
            let longest = job.task_groups.iter().find(|g| g.name == e.alloc.task_group)?.max_run_duration?;
            let at = e.alloc.create_time.saturating_add(longest).max(now);
            (longest > 0).then(|| Ending { at, id: e.alloc.id.to_string(), job: e.alloc.job_id.to_string() })
        })
        .collect();
    all.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
    all
}
