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

/// The rows of a state. Each is asked for at most once or twice, from any thread. Who cannot give a row ends the process
/// with a message, because readers of a state have no use for an error.
pub trait Rows: Debug + Send + Sync {
    /// What is stored of the node in a slot besides its record.
    fn node(&self, slot: u32) -> StoredNode;

    /// The record of the node in a slot.
    fn record(&self, slot: u32) -> Arc<Node>;

    /// The allocations on the node in a slot, by ascending ID; without a slot, those whose nodes are not stored.
    fn allocs(&self, slot: Option<u32>) -> Vec<Arc<AllocEntry>>;

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
