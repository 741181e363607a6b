//! The figures of an evaluation (`docs/spec/cluster-scaling.md §3`, steps 5 to 7).

use serde::Serialize;

use crate::record::Direction;
use crate::view::{Amounts, Metric};

/// The figures of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Arithmetic {
    /// Registered nodes.
    pub nodes: i64,
    /// What they offer.
    pub total: Amounts,
    /// What runs on them.
    pub consumed: Amounts,
    /// What scalable groups need to grow by one each.
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
