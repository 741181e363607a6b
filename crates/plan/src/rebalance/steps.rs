//! A rebalance as data: steps, what each leads to, and figures before and after.

use encamp_model::JobType;
use serde::{Deserialize, Serialize};

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct NodeRef {
    /// Its full ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name.
    pub name: String,
}

/// An allocation by what stays the same when the plan is carried out: the IDs of allocations that a step creates are not
/// known before.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AllocRef {
    /// The namespace of its job.
    pub namespace: String,
    /// Its job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// Its group.
    pub task_group: String,
    /// Its name, `JOB.GROUP[INDEX]`.
    pub name: String,
    /// The node on which it runs before the step.
    pub node: NodeRef,
    /// Its ID, if it runs before the first step.
    #[serde(rename = "ID", default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// What tells allocations of a plan apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllocKey {
    namespace: String,
    job_id: String,
    name: String,
    node_id: String,
}

impl AllocKey {
    /// The key of an allocation of this name on this node.
    pub fn new(namespace: &str, job_id: &str, name: &str, node_id: &str) -> AllocKey {
        let (namespace, job_id) = (namespace.to_string(), job_id.to_string());
        AllocKey { namespace, job_id, name: name.to_string(), node_id: node_id.to_string() }
    }
}

impl AllocRef {
    /// What tells it apart from the other allocations of a plan.
    pub fn key(&self) -> AllocKey {
        AllocKey::new(&self.namespace, &self.job_id, &self.name, &self.node.id)
    }
}

/// What an operator or client of the API does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "Do", rename_all = "kebab-case")]
pub enum Action {
    /// Marks a node ineligible (`PUT /v1/node/ID/eligibility`).
    MarkIneligible {
        /// The node.
        #[serde(rename = "Node")]
        node: NodeRef,
    },
    /// Marks a node eligible again.
    MarkEligible {
        /// The node.
        #[serde(rename = "Node")]
        node: NodeRef,
    },
    /// Stops an allocation, which the scheduler replaces (`PUT /v1/allocation/ID/stop`).
    StopAllocation {
        /// The allocation.
        #[serde(rename = "Allocation")]
        allocation: AllocRef,
    },
    /// Waits until all replacements of the step are healthy: by the deployment's rules where the group has an `update`
    /// or `migrate` block, otherwise running.
    AwaitHealthy,
}

/// One allocation that leaves a node, and where the scheduler places its replacement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Move {
    /// The allocation.
    pub allocation: AllocRef,
    /// The type of its job.
    pub job_type: JobType,
    /// Where the replacement runs, as simulated.
    pub to: NodeRef,
    /// The plan holds only with this node: the step keeps all others that could be chosen ineligible. Otherwise, servers
    /// may choose another node and the plan holds all the same.
    pub only_there: bool,
}

/// One step: actions in order, and what follows from them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Step {
    /// What is done, in order. The last step marks eligible all nodes that are still marked by the plan, except nodes
    /// that are to stay empty if the request says so.
    pub actions: Vec<Action>,
    /// What the full scheduler does then.
    pub moves: Vec<Move>,
    /// The shortest duration until the replacements are healthy, in nanoseconds.
    pub at_least: i64,
}

/// CPU and memory in use, in thousandths of what nodes offer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Utilisation {
    /// CPU.
    pub cpu: i64,
    /// Memory.
    pub memory: i64,
}

/// The figures of a pool and datacenter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct AreaFigures {
    /// The node pool.
    pub pool: String,
    /// The datacenter.
    pub datacenter: String,
    /// Ready nodes.
    pub nodes: usize,
    /// Ready nodes without allocations, those of system and sysbatch jobs apart.
    pub empty: usize,
    /// The mean over nodes.
    pub mean: Utilisation,
    /// The node with the most.
    pub highest: Utilisation,
}

/// The figures of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Figures {
    /// By pool and datacenter, in ascending order.
    pub areas: Vec<AreaFigures>,
    /// Allocations that no node takes.
    pub unplaced: i64,
    /// How far groups with `spread` blocks are from their targets: the number of allocations that stand on the wrong
    /// value.
    pub off_target: i64,
    /// The largest memory (MiB) that one more allocation of 100 MHz may ask for, and the largest CPU (MHz) with 128 MiB.
    pub largest_memory: i64,
    /// See `largest_memory`.
    pub largest_cpu: i64,
}

/// A plan, the best that was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct RebalancePlan {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of moves of all steps.
    pub moves: usize,
    /// No plan with fewer moves reaches the goal.
    pub at_least: usize,
    /// Whether the goal is reached. Otherwise the steps lead as far as was found possible.
    pub reached: bool,
    /// Why the goal is not reached, in words.
    pub missing: Vec<String>,
    /// The nodes that the plan chose to be empty in the end, if that is the goal; some may be empty already.
    #[serde(default)]
    pub chosen: Vec<NodeRef>,
    /// The nodes that are empty in the end and were not.
    pub freed: Vec<NodeRef>,
    /// Jobs that are touched.
    pub jobs: usize,
    /// The figures before.
    pub before: Figures,
    /// The figures after.
    pub after: Figures,
    /// The search was ended before it was complete: a better plan or a higher bound may exist.
    pub cut: bool,
}
