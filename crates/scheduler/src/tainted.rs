//! Tainted nodes, which can't be relied on to run their allocations (`docs/spec/reconciliation.md §4`, steps 2 and 3).

use std::collections::HashMap;
use std::sync::Arc;

use super::descriptions;
use super::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::{IdHash, NodeEntry, Snapshot};

/// Nodes by ID that are gone (`None`), down, disconnected or draining. A merely ineligible node is not among them.
pub(crate) type TaintedNodes = HashMap<String, Option<Arc<NodeEntry>>, IdHash>;

/// The tainted ones among the nodes of a job's allocations, which are given.
pub(crate) fn tainted_nodes<'a>(
    snapshot: &Snapshot,
    (namespace, job_id): (&str, &str),
    allocs: impl IntoIterator<Item = &'a Arc<Allocation>>,
) -> TaintedNodes {
    let (nodes, gone) = snapshot.nodes_of_job(namespace, job_id);
    let mut out: TaintedNodes =
        nodes.into_iter().filter(|n| tainted(&n.node)).map(|n| (n.node.id.clone(), Some(n.clone()))).collect();
    if gone {
        let missing = allocs.into_iter().filter(|a| snapshot.node(&a.node_id).is_none());
        out.extend(missing.map(|a| (a.node_id.to_string(), None)));
    }
    out
}

fn tainted(n: &Node) -> bool {
    matches!(n.status, NodeStatus::Down | NodeStatus::Disconnected) || n.drain_strategy.is_some()
}

/// Plans `lost` for allocations that were already being stopped when their node went down or away.
pub(crate) fn stop_lost<'a>(
    plan: &mut WorkingPlan,
    tainted: &TaintedNodes,
    allocs: impl IntoIterator<Item = &'a Arc<Allocation>>,
) {
    for a in allocs {
        let live = matches!(a.client_status, ClientStatus::Running | ClientStatus::Pending);
        let down = |node: &Option<Arc<NodeEntry>>| node.as_ref().is_none_or(|n| n.node.status == NodeStatus::Down);
        if live && a.server_terminal() && tainted.get(&*a.node_id).is_some_and(down) {
            plan.append_stop(a, descriptions::LOST, ClientStatus::Lost, "");
        }
    }
}
