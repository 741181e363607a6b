//! Deliberate bugs in the servers, of tests alone, to verify that the checks find them. Most bugs are in the simulated
//! machines instead: see [`Bug`].

use encamp_host::simulation;
use encamp_model::Plan;
use encamp_ops::Operation;
use encamp_scheduler::plan_check::Checked;

use super::sim::{Bug, has};

/// Whether this server passes over an entry of the log.
pub(crate) fn skips(index: u64) -> bool {
    has(Bug::SkippedEntry) && simulation::machine() == Some(1) && index.is_multiple_of(97)
}

/// Whether this server applies an entry twice.
pub(crate) fn applies_twice(index: u64) -> bool {
    has(Bug::AppliedTwice) && simulation::machine() == Some(0) && index.is_multiple_of(7)
}

/// Whether those who wait for the changes of an operation are not woken.
pub(crate) fn forgets_to_wake(op: &Operation) -> bool {
    has(Bug::ForgottenWake) && matches!(op, Operation::JobRegister(_))
}

/// How often events are published.
pub(crate) fn publications(index: u64) -> usize {
    match index % 37 {
        0 if has(Bug::LostEvent) => 0,
        0 if has(Bug::DoubledEvent) => 2,
        _ => 1,
    }
}

/// A plan as if all nodes accepted it.
pub(crate) fn unchecked(plan: &Plan) -> Checked {
    Checked {
        node_update: plan.node_update.clone(),
        node_allocation: plan.node_allocation.clone(),
        node_preemptions: plan.node_preemptions.clone(),
        deployment: plan.deployment.clone(),
        deployment_updates: plan.deployment_updates.clone(),
        rejected: Vec::new(),
    }
}
