//! Plans: what a scheduler proposes to do to the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::alloc::Allocation;
use super::eval::{Deployment, PlanAnnotations};
use super::job::Job;

/// A status change of an existing (or just created) deployment, in the order in which it is to be applied.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentStatusUpdate {
    /// The deployment.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    /// Its new status.
    pub status: String,
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

impl Plan {
    /// Whether the plan changes nothing. Preemptions do not count, keys with empty lists do.
    pub fn is_no_op(&self) -> bool {
        self.node_update.is_empty()
            && self.node_allocation.is_empty()
            && self.deployment.is_none()
            && self.deployment_updates.is_empty()
    }
}
