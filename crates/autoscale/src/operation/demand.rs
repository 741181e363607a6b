//! Whether a pool needs the node back that is being removed from it (`docs/spec/cluster-scaling.md §6`).

use std::collections::BTreeSet;

use encamp_model::{Node, NodeStatus};

use super::Observation;
use super::scale_out::in_pool;
use crate::arithmetic::Arithmetic;
use crate::params::PoolParameters;
use crate::protection::Protection;
use crate::record::{Direction, Operation};
use crate::registry::Pool;
use crate::view::{JobCache, Metric, PoolView, view};

/// Why the pool needs `node` back, as a sentence; none if it does not, or if the node would be of no use: it is down,
/// does not belong to the pool any more, or its instance has left the group.
pub(crate) fn needs_back(
    seen: &Observation<'_>,
    operation: &Operation,
    parameters: &PoolParameters,
    node: &Node,
) -> Option<String> {
    let has_instance = operation.instance_ids.first().is_some_and(|own| seen.group.active().any(|i| i.id == *own));
    let name = &parameters.worker_pool;
    if node.status != NodeStatus::Ready || !in_pool(node, name) || !has_instance {
        return None;
    }
    let others = seen.state.nodes().map(|e| &e.node).filter(|n| n.ready() && n.id != node.id && in_pool(n, name));
    let mut nodes: BTreeSet<String> = others.map(|n| n.id.clone()).collect();
    let left = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
    let min = parameters.min;
    if left < min {
        return Some(format!("without it {left} nodes are left, of at least {min}"));
    }
    nodes.insert(node.id.clone());
    let pool = Pool { name: name.clone(), parameters: parameters.clone(), nodes, disagreements: Vec::new() };
    grows(view(seen.state, &JobCache::default(), &pool, &Protection::default()), &node.id, &pool)
}

/// Why the pool would grow without one of its nodes.
fn grows(view: PoolView, node: &str, pool: &Pool) -> Option<String> {
    let left = view.without(node);
    if left.nodes.is_empty() {
        let in_use = Metric::ALL.into_iter().any(|m| left.consumed.get(m) > 0);
        return in_use.then(|| "it is the last node of the pool and has allocations".to_string());
    }
    let figures = Arithmetic::new(&left, &pool.parameters);
    let metric = figures.metric.filter(|_| figures.direction == Direction::Out)?;
    let (used, allowed) = (figures.consumed.get(metric), figures.max_allowed);
    Some(format!("without it {used} of {allowed} allowed {} of {} are used", metric.unit(), metric.name()))
}
