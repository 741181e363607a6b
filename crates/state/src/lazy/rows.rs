//! Where the rows of a state are.

use std::fmt::Debug;
use std::sync::Arc;

use super::alloc_keys::AllocKeys;
use crate::id::Id;
use crate::job_entry::JobEntry;
use crate::node_info::NodeInfo;
use crate::priorities::UsageByPriority;
use crate::usage::{AllocEntry, NodeUsage};
use encamp_model::{Deployment, Node};

/// The rows of allocations. Each is asked for at most once or twice, from any thread. Who cannot give a row ends the
/// process with a message, because readers of a state have no use for an error.
pub trait AllocRows: Debug + Send + Sync {
    /// The allocation at a position of those on the node in a slot, by ascending ID; without a slot, of those whose nodes
    /// are not stored.
    fn alloc(&self, slot: Option<u32>, position: usize) -> Arc<AllocEntry>;

    /// Is told which slots' allocations are asked for soon, `None` for those whose nodes are not stored: together they may
    /// be found faster.
    fn expect(&self, _slots: &[Option<u32>]) {}

    /// Is told that all allocations are asked for soon.
    fn expect_all(&self) {}
}

/// All rows of a state, with what [`AllocRows`] says.
pub trait Rows: AllocRows {
    /// What is stored of the node in a slot besides its record.
    fn node(&self, slot: u32) -> StoredNode;

    /// The record of the node in a slot.
    fn record(&self, slot: u32) -> Arc<Node>;

    /// The job at a position in the order of namespaces and IDs.
    fn job(&self, position: usize) -> Arc<JobEntry>;

    /// The deployment at a position in the order of IDs.
    fn deployment(&self, position: usize) -> Arc<Deployment>;

    /// The keys of all allocations.
    fn alloc_keys(&self) -> AllocKeys;
}

/// What is stored of a node besides its record: facts, and sums over its allocations.
#[derive(Debug, Clone)]
pub struct StoredNode {
    /// The node's ID.
    pub id: String,
    /// Its fixed facts.
    pub info: NodeInfo,
    /// What its live allocations use.
    pub usage: NodeUsage,
    /// The same by priority.
    pub by_priority: UsageByPriority,
    /// The IDs of all allocations on it, ascending.
    pub allocs: Vec<Id>,
}
