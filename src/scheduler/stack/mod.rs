//! One search for a node (`spec/scheduling.md`): candidates in, the best node with what it gives the allocation out.

use std::sync::Arc;

use crate::model::*;
use crate::state::{AllocEntry, NodeEntry};

/// What a search is for besides the group.
#[derive(Debug, Clone, Copy, Default)]
pub struct SelectOptions<'a> {
    /// Name of the allocation to be, for per-allocation volumes.
    pub alloc_name: &'a str,
    /// A node to try before all others.
    pub preferred: Option<&'a Arc<NodeEntry>>,
    /// Nodes on which the allocation failed before.
    pub penalty_nodes: &'a [String],
    /// May evict lower priority allocations.
    pub preempt: bool,
}

/// The node a search chose, and what it gives.
#[derive(Debug, Clone)]
pub struct RankedNode {
    /// The node.
    pub node: Arc<NodeEntry>,
    /// Resources of the new allocation.
    pub resources: Arc<AllocatedResources>,
    /// Allocations to evict, in the order in which they are reported.
    pub preempted: Vec<Arc<AllocEntry>>,
    /// The score that won.
    pub score: f64,
}

/// The result of one search.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The node, if one fits.
    pub option: Option<RankedNode>,
    /// What was looked at. Nodes available, nodes in pool and the pool's name are the caller's to fill.
    pub metrics: AllocMetric,
}
