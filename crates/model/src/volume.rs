//! Volumes: CSI volumes and dynamic host volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alloc::*;
use super::job::*;
use super::json::{is_default, nil, nil_entries, null_is_default};
use super::modes::VolumeAccessMode;
use super::node::*;
use super::resources::*;
use super::secret::{self, SecretString};
use super::status::HostVolumeState;
use super::time::Time;

/// A CSI volume with its claims and the health of its plugin.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolume {
    /// Unique in its namespace.
    #[serde(rename = "ID")]
    pub id: String,
    /// A name for operators.
    pub name: String,
    /// The storage provider's ID of the volume.
    #[serde(rename = "ExternalID")]
    pub external_id: String,
    /// The namespace of the volume.
    pub namespace: String,
    /// Where the volume should be; null: anywhere.
    pub requested_topologies: Option<CsiTopologyRequest>,
    /// Where the volume is accessible; empty: everywhere.
    #[serde(with = "nil")]
    pub topologies: Vec<CsiTopology>,
    /// The mode of the current claims: `single-node-writer`, …; empty: there are none.
    pub access_mode: VolumeAccessMode,
    /// `file-system` or `block-device`; empty: there are no claims.
    pub attachment_mode: String,
    /// How the volume is mounted by default.
    pub mount_options: Option<CsiMountOptions>,
    /// Secrets for the plugin; answers leave them out.
    #[serde(with = "secret::map")]
    pub secrets: BTreeMap<String, SecretString>,
    /// Parameters for the plugin when it creates the volume.
    #[serde(with = "nil")]
    pub parameters: BTreeMap<String, String>,
    /// The context that the plugin needs to mount the volume.
    #[serde(with = "nil")]
    pub context: BTreeMap<String, String>,
    /// Bytes.
    pub capacity: i64,
    /// Bytes; 0: no bound.
    pub requested_capacity_min: i64,
    /// Bytes; 0: no bound.
    pub requested_capacity_max: i64,
    /// Ways in which the volume may be used.
    #[serde(with = "nil")]
    pub requested_capabilities: Vec<CsiVolumeCapability>,
    /// The volume it was made from; empty: none.
    #[serde(rename = "CloneID")]
    pub clone_id: String,
    /// The snapshot it was made from; empty: none.
    #[serde(rename = "SnapshotID")]
    pub snapshot_id: String,
    /// Allocations that read, by ID; the values are null in answers.
    #[serde(with = "nil")]
    pub read_allocs: BTreeMap<String, Option<Allocation>>,
    /// Allocations that write, by ID; the values are null in answers.
    #[serde(with = "nil")]
    pub write_allocs: BTreeMap<String, Option<Allocation>>,
    /// Claims by allocation; the API does not show them.
    #[serde(skip_serializing_if = "is_default")]
    pub read_claims: BTreeMap<String, CsiVolumeClaim>,
    /// Claims for writing, by allocation; the API does not show them.
    #[serde(skip_serializing_if = "is_default")]
    pub write_claims: BTreeMap<String, CsiVolumeClaim>,
    /// Claims that are being released, by allocation; the API does not show them.
    #[serde(skip_serializing_if = "is_default")]
    pub past_claims: BTreeMap<String, CsiVolumeClaim>,
    /// Whether its plugin is healthy on some node; computed on reads.
    pub schedulable: bool,
    /// The CSI plugin.
    #[serde(rename = "PluginID")]
    pub plugin_id: String,
    /// The name that the plugin gives itself; computed on reads.
    pub provider: String,
    /// The version that the plugin gives itself; computed on reads.
    pub provider_version: String,
    /// Whether the plugin needs a controller; computed on reads.
    pub controller_required: bool,
    /// Healthy controllers of the plugin; computed on reads.
    pub controllers_healthy: i64,
    /// Controllers that the plugin should have; computed on reads.
    pub controllers_expected: i64,
    /// Nodes on which the plugin is healthy; computed on reads.
    pub nodes_healthy: i64,
    /// Nodes on which the plugin should run; computed on reads.
    pub nodes_expected: i64,
    /// When the plugin last had no room for a claim; null: never.
    pub resource_exhausted: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub modify_time: i64,
    /// Allocations that claim the volume; only in answers.
    #[serde(with = "nil")]
    pub allocations: Vec<AllocListStub>,
}

/// A dynamic host volume.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostVolume {
    /// The namespace of the volume.
    pub namespace: String,
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name of the volume in jobs; unique on its node.
    pub name: String,
    /// The plugin that made it, such as `mkdir`; empty: it was registered.
    #[serde(rename = "PluginID")]
    pub plugin_id: String,
    /// The node pool of its node.
    pub node_pool: String,
    /// The node it is on.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The constraints on its node.
    #[serde(skip_serializing_if = "is_default")]
    pub constraints: Vec<Constraint>,
    /// Bytes; 0: no bound.
    pub requested_capacity_min_bytes: i64,
    /// Bytes; 0: no bound.
    pub requested_capacity_max_bytes: i64,
    /// Bytes; 0: the plugin does not say.
    pub capacity_bytes: i64,
    /// Ways in which the volume may be used.
    #[serde(with = "nil")]
    pub requested_capabilities: Vec<HostVolumeCapability>,
    /// Parameters for the plugin when it creates the volume.
    #[serde(skip_serializing_if = "is_default")]
    pub parameters: BTreeMap<String, String>,
    /// The directory on the node.
    pub host_path: String,
    /// `pending`, `ready`, `unavailable` or `deleted`.
    pub state: HostVolumeState,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub modify_time: i64,
    /// Allocations that use the volume; only in answers.
    #[serde(skip_serializing_if = "is_default")]
    pub allocations: Vec<AllocListStub>,
}

/// The `CSITopologyRequest` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiTopologyRequest {
    /// The volume must be accessible from one of these.
    #[serde(with = "nil")]
    pub required: Vec<CsiTopology>,
    /// The volume should be accessible from these, the best first.
    #[serde(with = "nil")]
    pub preferred: Vec<CsiTopology>,
}

/// The `CSIVolumeCapability` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolumeCapability {
    /// `file-system` or `block-device`.
    pub attachment_mode: String,
    /// `single-node-reader-only`, `single-node-writer`, `multi-node-reader-only`, `multi-node-single-writer` or
    /// `multi-node-multi-writer`.
    pub access_mode: VolumeAccessMode,
}

/// The `HostVolumeCapability` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostVolumeCapability {
    /// `file-system` or `block-device`.
    pub attachment_mode: String,
    /// `single-node-reader-only`, `single-node-writer`, `single-node-single-writer` or `single-node-multi-writer`.
    pub access_mode: VolumeAccessMode,
}

/// A task group's claim on a dynamic host volume it asked for as sticky.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupHostVolumeClaim {
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The task group.
    pub task_group_name: String,
    /// The allocation that made the claim.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// The volume.
    #[serde(rename = "VolumeID")]
    pub volume_id: String,
    /// The name of the volume.
    pub volume_name: String,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The claim of an allocation on a CSI volume.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolumeClaim {
    /// The allocation.
    #[serde(rename = "AllocationID")]
    pub allocation_id: String,
    /// The node of the allocation.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The storage provider's ID of the node.
    #[serde(rename = "ExternalNodeID")]
    pub external_node_id: String,
    /// 0 read, 1 write, 2 collection.
    pub mode: i64,
    /// How the allocation uses the volume: `single-node-writer`, …
    pub access_mode: VolumeAccessMode,
    /// `file-system` or `block-device`.
    pub attachment_mode: String,
    /// 0 taken, 1 node detached, 2 controller detached, 3 ready to free, 4 unpublishing.
    pub state: i64,
}

/// A CSI plugin with the nodes it runs on.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiPlugin {
    /// The plugin's ID, which volumes name.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name that the plugin gives itself.
    pub provider: String,
    /// The version that the plugin gives itself.
    pub version: String,
    /// Whether volumes need a controller plugin beside the node plugin.
    pub controller_required: bool,
    /// By node.
    #[serde(with = "nil_entries")]
    pub controllers: BTreeMap<String, CsiInfo>,
    /// By node.
    #[serde(with = "nil_entries")]
    pub nodes: BTreeMap<String, CsiInfo>,
    /// Allocations that run the plugin; only in answers.
    #[serde(with = "nil")]
    pub allocations: Vec<AllocListStub>,
    /// By namespace and job.
    #[serde(with = "nil")]
    pub controller_jobs: BTreeMap<String, BTreeMap<String, JobDescription>>,
    /// By namespace and job.
    #[serde(with = "nil")]
    pub node_jobs: BTreeMap<String, BTreeMap<String, JobDescription>>,
    /// How many controllers are healthy.
    pub controllers_healthy: i64,
    /// How many controllers there should be.
    pub controllers_expected: i64,
    /// On how many nodes the plugin is healthy.
    pub nodes_healthy: i64,
    /// On how many nodes the plugin should run.
    pub nodes_expected: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub modify_time: i64,
}

/// A job that runs a plugin.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDescription {
    /// The namespace of the job.
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// How many allocations the job should have.
    pub expected: i64,
}
