//! Volumes: CSI volumes and dynamic host volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alloc::*;
use super::job::*;
use super::json::{is_default, nil, nil_entries, or_default};
use super::node::*;
use super::resources::*;
use super::time::Time;

/// A CSI volume with its claims and the health of its plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolume {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "ExternalID", deserialize_with = "or_default")]
    pub external_id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    pub requested_topologies: Option<CsiTopologyRequest>,
    #[serde(with = "nil")]
    pub topologies: Vec<CsiTopology>,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    pub mount_options: Option<CsiMountOptions>,
    #[serde(with = "nil")]
    pub secrets: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub parameters: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub context: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub capacity: i64,
    #[serde(deserialize_with = "or_default")]
    pub requested_capacity_min: i64,
    #[serde(deserialize_with = "or_default")]
    pub requested_capacity_max: i64,
    #[serde(with = "nil")]
    pub requested_capabilities: Vec<CsiVolumeCapability>,
    #[serde(rename = "CloneID", deserialize_with = "or_default")]
    pub clone_id: String,
    #[serde(rename = "SnapshotID", deserialize_with = "or_default")]
    pub snapshot_id: String,
    #[serde(with = "nil")]
    pub read_allocs: BTreeMap<String, Option<Allocation>>,
    #[serde(with = "nil")]
    pub write_allocs: BTreeMap<String, Option<Allocation>>,
    /// Claims by allocation; the API does not show them.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub read_claims: BTreeMap<String, CsiVolumeClaim>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub write_claims: BTreeMap<String, CsiVolumeClaim>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub past_claims: BTreeMap<String, CsiVolumeClaim>,
    #[serde(deserialize_with = "or_default")]
    pub schedulable: bool,
    #[serde(rename = "PluginID", deserialize_with = "or_default")]
    pub plugin_id: String,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    #[serde(deserialize_with = "or_default")]
    pub provider_version: String,
    #[serde(deserialize_with = "or_default")]
    pub controller_required: bool,
    #[serde(deserialize_with = "or_default")]
    pub controllers_healthy: i64,
    #[serde(deserialize_with = "or_default")]
    pub controllers_expected: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_healthy: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_expected: i64,
    #[serde(deserialize_with = "or_default")]
    pub resource_exhausted: Time,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
    #[serde(with = "nil")]
    pub allocations: Vec<AllocListStub>,
}

/// A dynamic host volume.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostVolume {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "PluginID", deserialize_with = "or_default")]
    pub plugin_id: String,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub constraints: Vec<Constraint>,
    #[serde(deserialize_with = "or_default")]
    pub requested_capacity_min_bytes: i64,
    #[serde(deserialize_with = "or_default")]
    pub requested_capacity_max_bytes: i64,
    #[serde(deserialize_with = "or_default")]
    pub capacity_bytes: i64,
    #[serde(with = "nil")]
    pub requested_capabilities: Vec<HostVolumeCapability>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub parameters: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub host_path: String,
    #[serde(deserialize_with = "or_default")]
    pub state: String,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub allocations: Vec<AllocListStub>,
}

/// The `CSITopologyRequest` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiTopologyRequest {
    #[serde(with = "nil")]
    pub required: Vec<CsiTopology>,
    #[serde(with = "nil")]
    pub preferred: Vec<CsiTopology>,
}

/// The `CSIVolumeCapability` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolumeCapability {
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
}

/// The `HostVolumeCapability` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostVolumeCapability {
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
}

/// A task group's claim on a dynamic host volume it asked for as sticky.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupHostVolumeClaim {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub task_group_name: String,
    #[serde(rename = "AllocID", deserialize_with = "or_default")]
    pub alloc_id: String,
    #[serde(rename = "VolumeID", deserialize_with = "or_default")]
    pub volume_id: String,
    #[serde(deserialize_with = "or_default")]
    pub volume_name: String,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The claim of an allocation on a CSI volume.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiVolumeClaim {
    #[serde(rename = "AllocationID", deserialize_with = "or_default")]
    pub allocation_id: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(rename = "ExternalNodeID", deserialize_with = "or_default")]
    pub external_node_id: String,
    /// 0 read, 1 write, 2 collection.
    #[serde(deserialize_with = "or_default")]
    pub mode: i64,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    /// 0 taken, 1 node detached, 2 controller detached, 3 ready to free, 4 unpublishing.
    #[serde(deserialize_with = "or_default")]
    pub state: i64,
}

/// A CSI plugin with the nodes it runs on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiPlugin {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    #[serde(deserialize_with = "or_default")]
    pub version: String,
    #[serde(deserialize_with = "or_default")]
    pub controller_required: bool,
    /// By node.
    #[serde(with = "nil_entries")]
    pub controllers: BTreeMap<String, CsiInfo>,
    /// By node.
    #[serde(with = "nil_entries")]
    pub nodes: BTreeMap<String, CsiInfo>,
    #[serde(with = "nil")]
    pub allocations: Vec<AllocListStub>,
    /// By namespace and job.
    #[serde(with = "nil")]
    pub controller_jobs: BTreeMap<String, BTreeMap<String, JobDescription>>,
    /// By namespace and job.
    #[serde(with = "nil")]
    pub node_jobs: BTreeMap<String, BTreeMap<String, JobDescription>>,
    #[serde(deserialize_with = "or_default")]
    pub controllers_healthy: i64,
    #[serde(deserialize_with = "or_default")]
    pub controllers_expected: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_healthy: i64,
    #[serde(deserialize_with = "or_default")]
    pub nodes_expected: i64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
}

/// A job that runs a plugin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDescription {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub expected: i64,
}
