//! Summarises a synthetic cluster.

use std::collections::BTreeMap;

use serde::Serialize;

/// Numbers about a cluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Summary {
    /// Number of nodes.
    pub nodes: usize,
    /// Nodes by class.
    pub nodes_by_class: BTreeMap<String, usize>,
    /// Nodes by pool.
    pub nodes_by_pool: BTreeMap<String, usize>,
    /// Nodes by datacenter.
    pub nodes_by_datacenter: BTreeMap<String, usize>,
    /// Nodes by what they are doing: ready, ineligible, draining, down, disconnected.
    pub nodes_by_condition: BTreeMap<String, usize>,
    /// Number of jobs; older versions do not count.
    pub jobs: usize,
    /// Jobs by type.
    pub jobs_by_type: BTreeMap<String, usize>,
    /// Number of deployments that still run.
    pub running_deployments: usize,
    /// Number of allocations.
    pub allocations: usize,
    /// Allocations by client status.
    pub allocations_by_status: BTreeMap<String, usize>,
    /// Part of the CPU that is used, all nodes together, in percent.
    #[serde(rename = "CPUPercent")]
    pub cpu_percent: f64,
    /// Part of the memory that is used, all nodes together, in percent.
    pub memory_percent: f64,
    /// Nodes with more than 90 percent of their CPU or memory in use.
    pub full_nodes: usize,
    /// Nodes with less than 10 percent of their CPU and memory in use.
    pub nearly_empty_nodes: usize,
}

/// A part of a whole in percent, with one digit.
pub fn percent(part: i64, whole: i64) -> f64 {
    let tenths = i128::from(part) * 1000 / i128::from(whole.max(1));
    // At most a few thousand, so exact.
    tenths as f64 / 10.0
}
