//! The computations of an evaluation (`docs/spec/cluster-scaling.md §3`, steps 5 to 7).

use serde::Serialize;

use crate::params::PoolParameters;
use crate::record::Direction;
use crate::view::{Amounts, Metric, PoolView};

/// Most percent of the bound that may be used after a removal; this share itself is too much
/// (`docs/spec/cluster-scaling.md §4`, check 1).
pub const REMOVAL_PERCENT: i64 = 90;

/// The figures of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Arithmetic {
    /// Registered nodes.
    pub nodes: i64,
    /// Their capacity.
    pub total: Amounts,
    /// Their usage.
    pub consumed: Amounts,
    /// The resources that scalable groups need to grow by one allocation each.
    pub reserve: Amounts,
    /// The resource with the highest share of its total; none if nothing is used.
    pub metric: Option<Metric>,
    /// Capacity of an average node, in the metric's unit (CPU without a metric).
    pub average_node: i64,
    /// Nodes whose capacity is held back.
    pub fault_tolerance: i64,
    /// The most that may be used, in the metric's unit; at least 0.
    pub max_allowed: i64,
    /// The pool is too small for its tolerance: the bound was negative and counts as 0.
    pub too_small: bool,
    /// Where the pool should go.
    pub direction: Direction,
    /// How many nodes the operation adds or removes; 0: it is at its bound.
    pub step: i64,
}

/// The figures of one resource with one average node less (`docs/spec/cluster-scaling.md §4`, check 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Removal {
    /// The resource.
    pub metric: Metric,
    /// Nodes that are left.
    pub nodes: i64,
    /// The usage, in the resource's unit.
    pub consumed: i64,
    /// The most that may be used with the nodes that are left; may be negative.
    pub max_allowed: i64,
    /// The resulting decision.
    pub verdict: Verdict,
}

/// Whether a resource allows to remove a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Less than [`REMOVAL_PERCENT`] of the bound is used.
    Allowed,
    /// Too much is used, or nothing would be left to use.
    Denied,
    /// The pool has none of it.
    Skipped,
}

impl Removal {
    /// The usage as percent of the bound, rounded down; `None` where the bound is 0 or less.
    pub fn percent(&self) -> Option<i64> {
        let percent = i128::from(self.consumed).checked_mul(100)?.checked_div(i128::from(self.max_allowed))?;
        (self.max_allowed > 0).then(|| to_i64(percent))
    }
}

impl Arithmetic {
    /// Steps 5 to 7 of `docs/spec/cluster-scaling.md §3` for a pool with at least one node. Nothing overflows: what
    /// does not fit in 64 bits counts as the largest or smallest number that does.
    pub fn new(view: &PoolView, parameters: &PoolParameters) -> Arithmetic {
        let nodes = i64::try_from(view.nodes.len()).unwrap_or(i64::MAX);
        let metric = prioritised(&view.consumed, &view.total);
        let of = metric.unwrap_or(Metric::Cpu);
        let average_node = average(view.total.get(of), nodes);
        let tolerance = parameters.node_fault_tolerance;
        let bound = bound(view.total.get(of).into(), view.reserve.get(of), average_node, tolerance);
        let max_allowed = to_i64(bound.max(0));
        // Without a metric nothing is used: an idle pool never grows, however small it is.
        let direction = match metric {
            Some(metric) if view.consumed.get(metric) >= max_allowed => Direction::Out,
            Some(_) | None => Direction::In,
        };
        let step = match direction {
            Direction::In => 1,
            Direction::Out => parameters.scale_factor.min(parameters.max.saturating_sub(nodes)).max(0),
        };
        Arithmetic {
            nodes,
            total: view.total,
            consumed: view.consumed,
            reserve: view.reserve,
            metric,
            average_node,
            fault_tolerance: tolerance,
            max_allowed,
            too_small: bound < 0,
            direction,
            step,
        }
    }

    /// The pool with one average node less, by resource (`docs/spec/cluster-scaling.md §4`, check 1). The average node
    /// stays as it was, and so does the tolerance.
    pub fn without_one_node(&self) -> [Removal; 3] {
        Metric::ALL.map(|metric| {
            let (total, consumed) = (self.total.get(metric), self.consumed.get(metric));
            let average = average(total, self.nodes);
            let left = i128::from(total) - i128::from(average);
            let bound = bound(left, self.reserve.get(metric), average, self.fault_tolerance);
            let used = i128::from(consumed);
            let verdict = match () {
                () if total == 0 => Verdict::Skipped,
                () if bound > 0 && used < bound && used * 100 < bound * i128::from(REMOVAL_PERCENT) => Verdict::Allowed,
                () => Verdict::Denied,
            };
            Removal { metric, nodes: self.nodes.saturating_sub(1), consumed, max_allowed: to_i64(bound), verdict }
        })
    }
}

/// The resource with the highest share of its total; the first of equals. What the pool has none of takes no part.
fn prioritised(consumed: &Amounts, total: &Amounts) -> Option<Metric> {
    let used = Metric::ALL.into_iter().filter(|m| consumed.get(*m) > 0 && total.get(*m) > 0);
    used.reduce(|best, next| {
        let of_next = i128::from(consumed.get(next)) * i128::from(total.get(best));
        let of_best = i128::from(consumed.get(best)) * i128::from(total.get(next));
        if of_next > of_best { next } else { best }
    })
}

fn average(total: i64, nodes: i64) -> i64 {
    total.checked_div(nodes).unwrap_or(0)
}

/// `(total - reserve) - average_node * fault_tolerance`.
fn bound(total: i128, reserve: i64, average_node: i64, fault_tolerance: i64) -> i128 {
    // The product of two 64-bit numbers fits in 127 bits, and so do the differences.
    total - i128::from(reserve) - i128::from(average_node) * i128::from(fault_tolerance)
}

fn to_i64(n: i128) -> i64 {
    i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests;
