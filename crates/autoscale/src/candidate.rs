//! Chooses the node to remove first when a pool scales in (`docs/spec/cluster-scaling.md §6`).

use std::cmp::Ordering;

use crate::view::{Metric, NodeView, PoolView};

/// Most candidates that are kept (`docs/spec/cluster-scaling.md §8`, `eligible_nodes`).
pub const MOST_CANDIDATES: usize = 10;

/// The nodes that may be removed, best first, [`MOST_CANDIDATES`] at most. Nodes without allocations of other than
/// system jobs come first, then the lowest consumed share of the metric (CPU without one); ties are decided by fewer
/// allocations, then by node ID. Protected nodes are left out.
pub fn candidates(view: &PoolView, metric: Option<Metric>) -> Vec<&NodeView> {
    let metric = metric.unwrap_or(Metric::Cpu);
    let mut nodes: Vec<&NodeView> = view.nodes.iter().filter(|n| n.protected.is_none()).collect();
    nodes.sort_by(|a, b| {
        let occupied = |n: &NodeView| n.allocations > 0;
        occupied(a)
            .cmp(&occupied(b))
            .then_with(|| compare_shares(a, b, metric))
            .then_with(|| a.allocations.cmp(&b.allocations))
            .then_with(|| a.id.cmp(&b.id))
    });
    nodes.truncate(MOST_CANDIDATES);
    nodes
}

fn compare_shares(a: &NodeView, b: &NodeView, metric: Metric) -> Ordering {
    let ((used_a, of_a), (used_b, of_b)) = (share(a, metric), share(b, metric));
    (used_a * of_b).cmp(&(used_b * of_a))
}

/// The usage and the capacity. A node without capacity is idle or, if something is used, full beyond measure.
fn share(node: &NodeView, metric: Metric) -> (i128, i128) {
    match (node.consumed.get(metric), node.capacity.get(metric)) {
        (used, offered) if offered > 0 => (used.into(), offered.into()),
        (used, _) if used > 0 => (i64::MAX.into(), 1),
        (_, _) => (0, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Amounts;

    fn node(id: &str, consumed: i64, capacity: i64, allocations: usize) -> NodeView {
        let amounts = |n: i64| Amounts { cpu: n, memory: 100 - n, disk: 0 };
        NodeView {
            id: id.into(),
            name: format!("name-{id}"),
            instance_id: None,
            capacity: Amounts { cpu: capacity, memory: capacity, disk: 0 },
            consumed: amounts(consumed),
            allocations,
            protected: None,
        }
    }

    fn order(nodes: Vec<NodeView>, metric: Option<Metric>) -> Vec<String> {
        let view = PoolView { nodes, ..PoolView::default() };
        candidates(&view, metric).into_iter().map(|n| n.id.clone()).collect()
    }

    #[test]
    fn the_least_allocated_node_comes_first() {
        let nodes = vec![node("a", 50, 100, 1), node("b", 60, 200, 9), node("c", 40, 100, 1)];
        assert_eq!(order(nodes.clone(), Some(Metric::Cpu)), ["b", "c", "a"], "0.3, 0.4, 0.5");
        assert_eq!(order(nodes.clone(), None), ["b", "c", "a"], "CPU without a metric");
        assert_eq!(order(nodes, Some(Metric::Memory)), ["b", "a", "c"], "0.2, 0.5, 0.6");
    }

    #[test]
    fn nodes_with_system_jobs_alone_come_before_all_others() {
        let nodes = vec![node("a", 1, 100, 1), node("b", 90, 100, 0), node("c", 80, 100, 0)];
        assert_eq!(order(nodes, Some(Metric::Cpu)), ["c", "b", "a"]);
    }

    #[test]
    fn ties_go_by_allocations_then_by_id() {
        let nodes = vec![node("d", 10, 100, 3), node("c", 20, 200, 2), node("b", 10, 100, 3), node("a", 30, 300, 4)];
        assert_eq!(order(nodes, Some(Metric::Cpu)), ["c", "b", "d", "a"]);
    }

    #[test]
    fn a_node_that_offers_nothing_is_full_unless_it_is_idle() {
        let nodes = vec![node("a", 5, 0, 1), node("b", 99, 100, 1), node("c", 0, 0, 1)];
        assert_eq!(order(nodes, Some(Metric::Cpu)), ["c", "b", "a"]);
    }

    #[test]
    fn protected_nodes_are_left_out_and_the_rest_is_cut_off() {
        let mut nodes: Vec<NodeView> = (10..30).map(|n| node(&n.to_string(), n, 100, 1)).collect();
        nodes[0].protected = Some(crate::protection::ProtectedBy::Job);
        let found = order(nodes, Some(Metric::Cpu));
        assert_eq!(found, (11..21).map(|n| n.to_string()).collect::<Vec<_>>());
    }
}
