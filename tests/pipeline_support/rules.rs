//! Invariants after every log entry, computed from the records only.

use std::collections::BTreeSet;

use encamp_model::*;
use encamp_scheduler::plan_check::Checked;
use encamp_server::fsm::Change;
use encamp_state::{State, StateStore};

use super::Verdict;
use encamp_test_support::count::within_capacity;

/// Checks the nodes affected by changes.
pub fn after(store: &StateStore, changes: &[Change]) -> Verdict {
    let mut nodes = BTreeSet::new();
    for change in changes {
        match change {
            Change::Alloc(a) => drop(nodes.insert(a.node_id.as_str())),
            Change::Node(id, Some(_)) => drop(nodes.insert(id.as_str())),
            _ => {}
        }
    }
    for id in nodes {
        within_capacity(store.state(), id).map_err(|e| format!("node {id}: {e}"))?;
    }
    Ok(())
}

/// The accepted parts of a plan must be possible in the current state.
pub fn accepted(store: &StateStore, plan: &Plan, checked: &Checked) -> Verdict {
    let state = store.state();
    for (id, placements) in &checked.node_allocation {
        for a in placements {
            let stored = state.alloc(&a.id).map(|e| &e.alloc);
            placeable(state, id, a, stored.is_none_or(|s| s.terminal()))
                .map_err(|e| format!("evaluation {}, allocation {} on node {id}: {e}", plan.eval_id, a.id))?;
        }
    }
    for a in checked.node_preemptions.values().flatten() {
        let Some(victim) = state.alloc(&a.id).map(|e| &e.alloc) else { return Err(format!("{} is no victim", a.id)) };
        if victim.terminal() {
            return Err(format!("{} is evicted, though it is over", a.id));
        }
        let (mine, other) = (plan.priority, victim.job.as_ref().map_or(50, |j| j.priority));
        // Priorities may have changed since the scheduler saw them, and are not checked again.
        let as_seen = victim.modify_index == a.modify_index && same_priority(state, plan);
        if as_seen && other + 10 > mine {
            return Err(format!("{} of priority {other} is evicted by one of priority {mine}", a.id));
        }
    }
    Ok(())
}

/// Whether the job has always had the priority of the evaluation.
fn same_priority(state: &State, plan: &Plan) -> bool {
    let entry = plan.job.as_ref().and_then(|j| state.job_entry(&j.namespace, &j.id));
    entry.is_some_and(|e| e.versions.values().all(|v| v.priority == plan.priority))
}

/// Only non-terminal evaluations may be cancelled. The purge of a job ends its evaluations
/// (`docs/spec/garbage-collection.md §4.4`).
pub fn cancellable(store: &StateStore, e: &Evaluation) -> Verdict {
    let Some(stored) = store.eval(&e.id) else { return Ok(()) };
    let purged = stored.status == EvalStatus::Complete && stored.status_description.ends_with(" deleted");
    let open = matches!(stored.status, EvalStatus::Pending | EvalStatus::Blocked | EvalStatus::Canceled);
    if open || purged { Ok(()) } else { Err(format!("evaluation {} is cancelled, but {}", e.id, stored.status)) }
}

fn placeable(state: &State, node: &str, a: &Allocation, new: bool) -> Verdict {
    let Some(n) = state.node(node).map(|n| &n.node) else { return Err("the node is gone".into()) };
    let gone = matches!(a.client_status, ClientStatus::Unknown | ClientStatus::Lost);
    match &n.status {
        NodeStatus::Ready => {}
        NodeStatus::Down | NodeStatus::Disconnected if gone => return Ok(()),
        other => return Err(format!("the node is {other}")),
    }
    if new && (n.scheduling_eligibility != NodeEligibility::Eligible || n.drain_strategy.is_some()) {
        return Err("the node takes none".into());
    }
    Ok(())
}
