//! What a rebalance is to achieve, and what it may move.

use std::sync::Arc;

use encamp_model::Job;
use serde::{Deserialize, Serialize};

use crate::survival::Loss;

/// What a rebalance is to achieve.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Goal {
    /// Nodes become empty, but for allocations of system and sysbatch jobs.
    Free(Nodes),
    /// All allocations of a job are placed without preemption. The job is in the form in which servers would store it.
    Fit(Arc<Job>),
    /// No move improves the scores for spread, affinity and anti-affinity of a group.
    Spread,
    /// The highest utilisation of a node (CPU or memory) is as low as moves can make it.
    Even,
}

/// The nodes that are to become empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Nodes {
    /// So many nodes, those that need the fewest moves. With `cost`, the most expensive nodes first: the value of this
    /// key of the nodes' metadata, a number.
    Count {
        /// How many.
        #[serde(rename = "Count")]
        count: usize,
        /// The key.
        #[serde(rename = "Cost")]
        cost: Option<String>,
    },
    /// These nodes, by full ID.
    Named(Vec<String>),
}

/// What may be moved, and how much at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Limits {
    /// Only allocations on nodes of these pools are moved, and only nodes of these pools become empty; empty: all pools.
    pub pools: Vec<String>,
    /// The same for datacenters.
    pub datacenters: Vec<String>,
    /// Only allocations of these jobs are moved (namespace, ID); empty: all jobs.
    pub jobs: Vec<(String, String)>,
    /// Nodes, by full ID, whose allocations stay.
    pub keep: Vec<String>,
    /// The maximum number of moves.
    pub max_moves: Option<usize>,
    /// Allocations of jobs with a higher priority are not moved.
    pub priority_ceiling: Option<i64>,
    /// Whether allocations of batch jobs are moved: they start again.
    pub batch: bool,
    /// Each step leaves the cluster so that after the loss of any node (or datacenter) during the step as many
    /// allocations can be placed again as before the step.
    pub survive: Option<Loss>,
    /// Nodes that were emptied on purpose stay ineligible after the last step.
    pub leave_ineligible: bool,
}

/// One question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Request {
    /// What is wanted.
    pub goal: Goal,
    /// What may be moved.
    pub limits: Limits,
}
