//! How well a planned job fits a cluster, in a few figures: to compare clusters.

use encamp_scheduler::candidates::covers;
use serde::Serialize;

use super::apply::apply;
use super::dry_run::DryRun;
use super::what_if::headroom::{Room, ready};

/// The figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Fit {
    /// New allocations that servers would accept, replacements among them.
    pub placed: usize,
    /// The mean of the scores of their nodes; `None` without new allocations.
    pub score: Option<f64>,
    /// The capacity of the ready nodes in the job's node pool and datacenters, and what is free of it after the plan.
    pub free: Room,
}

/// The figures of a plan that is made at `now` (Unix nanoseconds).
pub fn fit(run: &DryRun, now: i64) -> Fit {
    let plan = run.accepted();
    let new = plan.node_allocation.values().flatten().filter(|a| run.state.alloc(&a.id).is_none());
    let (mut placed, mut scores) = (0_usize, Vec::new());
    for a in new {
        placed = placed.saturating_add(1);
        let own = a.metrics.iter().flat_map(|m| m.unpack().score_meta_data).find(|s| s.node_id == a.node_id);
        scores.extend(own.map(|s| s.norm_score));
    }
    let score = (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    let after = apply(&run.state, &plan, now);
    Fit { placed, score, free: ready(&after, |node| covers(&run.job, node)) }
}
