//! How much of each node is used, read as the answer of the API comes: a cluster of 5,000 nodes and 100,000
//! allocations is never kept as a whole.

use std::collections::HashMap;

use encamp_model::json::null_is_default;
use encamp_model::{ClientStatus, Core, DesiredStatus, NodeEligibility, NodeResources, NodeStatus};
use serde::Deserialize;

use super::meter::percent;
use super::topology::Condition;
use crate::error::PageError;
use crate::visit::{Query, Visit};

/// Allocations that use resources of their nodes.
pub const LIVE: &str = r#"ClientStatus == "running" or ClientStatus == "pending" or ClientStatus == "unknown""#;

/// A node as `/v1/nodes?resources=true` has it.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeRow {
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name.
    pub name: String,
    /// The datacenter.
    pub datacenter: String,
    /// The node pool.
    pub node_pool: String,
    /// The label of the operator; empty if there is none.
    pub node_class: String,
    /// The version of the agent.
    pub version: String,
    /// Whether the node is drained.
    pub drain: bool,
    /// Whether new allocations are placed on it.
    pub scheduling_eligibility: NodeEligibility,
    /// The status.
    pub status: NodeStatus,
    pub(crate) node_resources: Amounts,
    pub(crate) reserved_resources: Amounts,
}

/// Resources of a node, or of a task.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Amounts {
    cpu: Cpu,
    memory: Memory,
    devices: Vec<Device>,
    processors: Processors,
}

impl Amounts {
    /// The CPU in MHz. Nodes that do not say it have it from their cores (`docs/spec/scheduling.md`).
    pub(crate) fn cpu_mhz(&self) -> i64 {
        if self.cpu.cpu_shares > 0 {
            return self.cpu.cpu_shares;
        }
        let cores = self.processors.topology.iter().flat_map(|t| &t.cores).filter(|core| !core.disable);
        cores.map(core_mhz).fold(0, i64::saturating_add)
    }

    /// The memory in MiB.
    pub(crate) fn memory_mib(&self) -> i64 {
        self.memory.memory_mb
    }
}

/// The cores of a node.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Processors {
    topology: Option<Topology>,
}

#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Topology {
    cores: Vec<Core>,
}

/// The speed of a core in MHz; 0 if it is not known.
fn core_mhz(core: &Core) -> i64 {
    let speed = [core.base_speed, core.max_speed, core.guess_speed].into_iter().find(|speed| *speed > 0);
    i64::try_from(speed.unwrap_or(0)).unwrap_or(i64::MAX)
}

/// The CPU of a node in MHz. Nodes that do not say it have it from their cores (`docs/spec/scheduling.md`).
pub(crate) fn node_mhz(resources: &NodeResources) -> i64 {
    if resources.cpu.cpu_shares > 0 {
        return resources.cpu.cpu_shares;
    }
    let cores = resources.processors.topology.iter().flat_map(|t| &t.cores).filter(|core| !core.disable);
    cores.map(core_mhz).fold(0, i64::saturating_add)
}

#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Cpu {
    cpu_shares: i64,
}

#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Memory {
    #[serde(rename = "MemoryMB")]
    memory_mb: i64,
}

/// An allocation as `/v1/allocations?resources=true` has it.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocationRow {
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name.
    pub name: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The ID of the job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The version of the job.
    pub job_version: u64,
    /// The status that the node reports.
    pub client_status: ClientStatus,
    /// The status that servers decided.
    pub desired_status: DesiredStatus,
    /// Unix nanoseconds.
    pub modify_time: i64,
    allocated_resources: Allocated,
}

#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Allocated {
    tasks: HashMap<String, Amounts>,
    shared: Shared,
}

#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Shared {
    #[serde(rename = "DiskMB")]
    disk_mb: i64,
}

/// A device of a task: its group, and the instances.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Device {
    vendor: String,
    r#type: String,
    name: String,
    #[serde(rename = "DeviceIDs")]
    device_ids: Vec<String>,
}

/// CPU in MHz and memory in MiB.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Amount {
    /// MHz.
    pub cpu: i64,
    /// MiB.
    pub memory: i64,
}

/// A node and what is used of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeUse {
    pub row: NodeRow,
    /// What jobs can have.
    pub capacity: Amount,
    /// What allocations have.
    pub used: Amount,
    /// How many allocations there are.
    pub allocations: usize,
}

impl AllocationRow {
    /// Whether its tasks have ended, so that it uses nothing any more.
    pub fn is_over(&self) -> bool {
        matches!(self.client_status, ClientStatus::Complete | ClientStatus::Failed | ClientStatus::Lost)
    }

    /// Its disk, MiB.
    pub(crate) fn disk(&self) -> i64 {
        self.allocated_resources.shared.disk_mb
    }

    /// How many instances of a device group (`vendor/type/name`) it has.
    pub(crate) fn devices(&self, group: &str) -> usize {
        let devices = self.allocated_resources.tasks.values().flat_map(|task| &task.devices);
        let ours = devices.filter(|d| format!("{}/{}/{}", d.vendor, d.r#type, d.name) == group);
        ours.map(|d| d.device_ids.len()).sum()
    }

    /// What the allocation has.
    pub fn amount(&self) -> Amount {
        self.allocated_resources.tasks.values().fold(Amount::default(), |sum, task| Amount {
            cpu: sum.cpu.saturating_add(task.cpu.cpu_shares),
            memory: sum.memory.saturating_add(task.memory.memory_mb),
        })
    }
}

impl Amount {
    /// Adds another amount.
    pub fn add(&mut self, other: Amount) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.memory = self.memory.saturating_add(other.memory);
    }

    /// The shares of CPU and memory in percent.
    pub fn share_of(self, whole: Amount) -> (i64, i64) {
        (percent(self.cpu, whole.cpu), percent(self.memory, whole.memory))
    }
}

impl NodeRow {
    /// Whether the node takes work.
    pub fn condition(&self) -> Condition {
        if self.status != NodeStatus::Ready {
            Condition::Down
        } else if self.drain || self.scheduling_eligibility == NodeEligibility::Ineligible {
            Condition::Closed
        } else {
            Condition::Ready
        }
    }

    /// What jobs can have.
    pub fn capacity(&self) -> Amount {
        let (all, reserved) = (&self.node_resources, &self.reserved_resources);
        Amount {
            cpu: all.cpu_mhz().saturating_sub(reserved.cpu.cpu_shares),
            memory: all.memory_mib().saturating_sub(reserved.memory_mib()),
        }
    }
}

/// All nodes, by name, with what is used of them. `each` sees the allocations, with the place of their node.
///
/// # Errors
/// As [`Visit::read`].
pub(crate) async fn read(
    visit: &Visit,
    each: impl FnMut(AllocationRow, usize) + Send,
) -> Result<Vec<NodeUse>, PageError> {
    read_where(visit, &[], LIVE, each).await
}

/// The same of the nodes with these IDs.
///
/// # Errors
/// As [`Visit::read`]; [`PageError::Input`] if an ID is none.
pub(crate) async fn read_some(
    visit: &Visit,
    ids: &[&str],
    each: impl FnMut(AllocationRow, usize) + Send,
) -> Result<Vec<NodeUse>, PageError> {
    if let Some(id) = ids.iter().find(|id| !id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')) {
        return Err(PageError::Input(format!("This is no ID of a node: {id}")));
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let any = |field: &str| ids.iter().map(|id| format!("{field} == \"{id}\"")).collect::<Vec<_>>().join(" or ");
    let live = format!("({}) and ({LIVE})", any("NodeID"));
    read_where(visit, &[("filter", &any("ID"))], &live, each).await
}

async fn read_where(
    visit: &Visit,
    nodes_where: Query<'_>,
    allocations_where: &str,
    mut each: impl FnMut(AllocationRow, usize) + Send,
) -> Result<Vec<NodeUse>, PageError> {
    let mut nodes: Vec<NodeUse> = Vec::new();
    let query = [&[("resources", "true")], nodes_where].concat();
    let node = |row: NodeRow| nodes.push(NodeUse { capacity: row.capacity(), row, ..NodeUse::default() });
    visit.read_rows("/v1/nodes", &query, node).await?;
    nodes.sort_by(|a, b| a.row.name.cmp(&b.row.name).then_with(|| a.row.id.cmp(&b.row.id)));
    let places: HashMap<String, usize> = nodes.iter().enumerate().map(|(i, node)| (node.row.id.clone(), i)).collect();
    let query = [
        ("resources", "true"),
        ("task_states", "false"),
        ("namespace", visit.namespace()),
        ("filter", allocations_where),
    ];
    let allocation = |row: AllocationRow| {
        let Some(place) = places.get(&row.node_id).copied() else { return };
        let Some(node) = nodes.get_mut(place) else { return };
        node.used.add(row.amount());
        node.allocations += 1;
        each(row, place);
    };
    match visit.read_rows("/v1/allocations", &query, allocation).await {
        // The nodes are of use without the allocations that a token may not see.
        Err(e) if !e.is_denied() => Err(e),
        _ => Ok(nodes),
    }
}
