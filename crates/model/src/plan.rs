//! Plans: the changes to the cluster that a scheduler proposes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::alloc::Allocation;
use super::eval::{Deployment, PlanAnnotations};
use super::job::Job;
use super::quote::{quoted, short_id};
use super::status::DeploymentStatus;

/// A status change of an existing (or just created) deployment, in the order in which it is to be applied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentStatusUpdate {
    /// The deployment.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    /// Its new status.
    pub status: DeploymentStatus,
    /// The text that goes with the status.
    pub status_description: String,
}

/// The proposal of one scheduling attempt (`docs/spec/reconciliation.md §2.7`). Lists per node keep their append order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Plan {
    /// The evaluation the plan was made for.
    pub eval_id: String,
    /// The priority of that evaluation.
    pub priority: i64,
    /// Reject the whole plan if one node rejects its part.
    pub all_at_once: bool,
    /// The job, absent when it is gone.
    pub job: Option<Arc<Job>>,
    /// Allocations to stop, by node.
    pub node_update: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// New and changed allocations, by node.
    pub node_allocation: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// Allocations evicted for higher priority ones, by node.
    pub node_preemptions: BTreeMap<String, Vec<Arc<Allocation>>>,
    /// The deployment the plan creates or rewrites.
    pub deployment: Option<Deployment>,
    /// Status changes of deployments.
    pub deployment_updates: Vec<DeploymentStatusUpdate>,
    /// Present when the evaluation asked for annotations.
    pub annotations: Option<PlanAnnotations>,
}

/// A node that rejects its part of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PlanRejection {
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its name; empty if there is no such node.
    pub node_name: String,
    /// Why: the dimension that does not suffice, or what else is wrong.
    pub reason: String,
    /// How many allocations the plan places there, by group.
    pub task_groups: BTreeMap<String, u64>,
}

/// `node "laptop" (991e4fc8) rejects 1 allocation of group "shards": memory`.
impl std::fmt::Display for PlanRejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.node_name.as_str() {
            "" => write!(f, "node {} rejects", short_id(&self.node_id))?,
            name => write!(f, "node {} ({}) rejects", quoted(name), short_id(&self.node_id))?,
        }
        for (i, (group, n)) in self.task_groups.iter().enumerate() {
            let separator = if i == 0 { "" } else { "," };
            let noun = if *n == 1 { "allocation" } else { "allocations" };
            write!(f, "{separator} {n} {noun} of group {}", quoted(group))?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl PlanRejection {
    /// How many allocations are not placed because of it.
    pub fn allocations(&self) -> u64 {
        self.task_groups.values().fold(0, |sum, n| sum.saturating_add(*n))
    }
}

impl Plan {
    /// Whether the plan changes nothing. Preemptions do not count, keys with empty lists do.
    pub fn is_no_op(&self) -> bool {
        self.node_update.is_empty()
            && self.node_allocation.is_empty()
            && self.deployment.is_none()
            && self.deployment_updates.is_empty()
    }
}
