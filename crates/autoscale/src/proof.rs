//! The scheduler's proof that a node can be removed: its allocations placed on a copy of the cluster without it
//! (`docs/spec/cluster-scaling.md §4`, check 1).

use serde::Serialize;

/// What became of the allocations of a drained node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Proof {
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Allocations that found another node.
    pub moved: usize,
    /// Allocations that end without a replacement: batch work that the drain would end.
    pub stopped: usize,
    /// Groups with allocations that no node takes.
    pub unplaced: Vec<UnplacedGroup>,
}

/// A group with allocations that no node takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct UnplacedGroup {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job: String,
    /// The group.
    pub group: String,
    /// How many allocations.
    pub count: i64,
}

impl Proof {
    /// Every allocation that would migrate found a place.
    pub fn holds(&self) -> bool {
        self.unplaced.is_empty()
    }
}
