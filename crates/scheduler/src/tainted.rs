//! Tainted nodes, which can't be relied on to run their allocations (`docs/spec/reconciliation.md §4`, steps 2 and 3).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::descriptions;
use super::working_plan::WorkingPlan;
use encamp_model::*;
use encamp_state::{NodeEntry, Snapshot};

/// Nodes by ID that are gone (`None`), down, disconnected or draining. A merely ineligible node is not among them.
pub(crate) type TaintedNodes = HashMap<String, Option<Arc<NodeEntry>>>;

/// The tainted ones among the nodes of the given allocations.
pub(crate) fn tainted_nodes<'a>(
    snapshot: &Snapshot,
    allocs: impl IntoIterator<Item = &'a Arc<Allocation>>,
) -> TaintedNodes {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut out = TaintedNodes::new();
    for a in allocs {
        if !seen.insert(&a.node_id) {
            continue;
        }
        match snapshot.node(&a.node_id) {
            None => {
                out.insert(a.node_id.clone(), None);
            }
            Some(n) if tainted(&n.node) => {
                out.insert(a.node_id.clone(), Some(n.clone()));
            }
            Some(_) => {}
        }
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
        let gone =
            tainted.get(&a.node_id).is_some_and(|n| n.as_ref().is_none_or(|n| n.node.status == NodeStatus::Down));
        let live = matches!(a.client_status, ClientStatus::Running | ClientStatus::Pending);
        if gone && live && a.server_terminal() {
            plan.append_stop(a, descriptions::LOST, ClientStatus::Lost, "");
        }
    }
}
