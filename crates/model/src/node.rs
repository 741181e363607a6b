//! Nodes: what a client offers and how it is doing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::{byte_list, byte_lists};
use super::json::{narrow, narrow_list, nil, nil_entries, or_default};
use super::resources::*;
use super::shared::Shared;
use super::time::Time;

/// A client node with its capacity, attributes and health.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Node {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(rename = "SecretID", deserialize_with = "or_default")]
    pub secret_id: String,
    #[serde(deserialize_with = "or_default")]
    pub datacenter: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub cgroup_parent: String,
    #[serde(rename = "HTTPAddr", deserialize_with = "or_default")]
    pub http_addr: String,
    #[serde(rename = "TLSEnabled", deserialize_with = "or_default")]
    pub tls_enabled: bool,
    #[serde(with = "nil")]
    pub attributes: Shared<BTreeMap<String, String>>,
    pub node_resources: Option<Shared<NodeResources>>,
    pub reserved_resources: Option<NodeReservedResources>,
    #[serde(with = "nil")]
    pub links: BTreeMap<String, String>,
    #[serde(with = "nil")]
    pub meta: Shared<BTreeMap<String, String>>,
    #[serde(deserialize_with = "or_default")]
    pub node_class: String,
    #[serde(deserialize_with = "or_default")]
    pub node_pool: String,
    #[serde(deserialize_with = "or_default")]
    pub computed_class: String,
    pub drain_strategy: Option<DrainStrategy>,
    #[serde(deserialize_with = "or_default")]
    pub scheduling_eligibility: String,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    #[serde(deserialize_with = "or_default")]
    pub status_description: String,
    #[serde(rename = "IdentitySigningKeyID", deserialize_with = "or_default")]
    pub identity_signing_key_id: String,
    #[serde(deserialize_with = "or_default")]
    pub status_updated_at: i64,
    #[serde(with = "nil")]
    pub events: Vec<NodeEvent>,
    /// A null entry reads as a driver that was not detected.
    #[serde(serialize_with = "nil_entries::serialize", deserialize_with = "nil_entries::shared")]
    pub drivers: Shared<BTreeMap<String, DriverInfo>>,
    #[serde(rename = "CSIControllerPlugins", with = "nil")]
    pub csi_controller_plugins: BTreeMap<String, CsiInfo>,
    #[serde(rename = "CSINodePlugins", with = "nil")]
    pub csi_node_plugins: BTreeMap<String, CsiInfo>,
    #[serde(with = "nil")]
    pub host_volumes: BTreeMap<String, ClientHostVolumeConfig>,
    #[serde(rename = "GCVolumesOnNodeGC", deserialize_with = "or_default")]
    pub gc_volumes_on_node_gc: bool,
    #[serde(with = "nil")]
    pub host_networks: BTreeMap<String, ClientHostNetworkConfig>,
    pub last_drain: Option<DrainMetadata>,
    #[serde(deserialize_with = "or_default")]
    pub node_max_allocs: i64,
    #[serde(deserialize_with = "or_default")]
    pub last_missed_heartbeat_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub last_alloc_update_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub drain: bool,
}

/// The `NodeResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu: LegacyNodeCpuResources,
    #[serde(deserialize_with = "or_default")]
    pub processors: NodeProcessorResources,
    #[serde(deserialize_with = "or_default")]
    pub memory: NodeMemoryResources,
    #[serde(deserialize_with = "or_default")]
    pub disk: NodeDiskResources,
    #[serde(with = "nil")]
    pub devices: Vec<NodeDeviceResource>,
    /// Null for clients of before 0.12.
    pub node_networks: Option<Vec<NodeNetworkResource>>,
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    #[serde(deserialize_with = "or_default")]
    pub min_dynamic_port: i64,
    #[serde(deserialize_with = "or_default")]
    pub max_dynamic_port: i64,
}

/// The `NodeReservedResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu: NodeReservedCpuResources,
    #[serde(deserialize_with = "or_default")]
    pub memory: NodeReservedMemoryResources,
    #[serde(deserialize_with = "or_default")]
    pub disk: NodeReservedDiskResources,
    #[serde(deserialize_with = "or_default")]
    pub networks: NodeReservedNetworkResources,
}

/// The `DrainStrategy` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainStrategy {
    #[serde(deserialize_with = "or_default")]
    pub deadline: i64,
    #[serde(deserialize_with = "or_default")]
    pub ignore_system_jobs: bool,
    #[serde(deserialize_with = "or_default")]
    pub force_deadline: Time,
    #[serde(deserialize_with = "or_default")]
    pub started_at: Time,
}

/// The `NodeEvent` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeEvent {
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    #[serde(deserialize_with = "or_default")]
    pub subsystem: String,
    #[serde(with = "nil")]
    pub details: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub timestamp: Time,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
}

impl NodeEvent {
    /// What happened at a time, in Unix nanoseconds.
    pub fn new(subsystem: &str, message: &str, now: i64) -> NodeEvent {
        NodeEvent {
            message: message.into(),
            subsystem: subsystem.into(),
            timestamp: Time::from_unix_nanos(now),
            ..Default::default()
        }
    }
}

/// The `DriverInfo` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DriverInfo {
    #[serde(with = "nil")]
    pub attributes: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub detected: bool,
    #[serde(deserialize_with = "or_default")]
    pub healthy: bool,
    #[serde(deserialize_with = "or_default")]
    pub health_description: String,
    #[serde(deserialize_with = "or_default")]
    pub update_time: Time,
}

/// The `CSIInfo` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiInfo {
    #[serde(rename = "PluginID", deserialize_with = "or_default")]
    pub plugin_id: String,
    #[serde(rename = "AllocID", deserialize_with = "or_default")]
    pub alloc_id: String,
    #[serde(deserialize_with = "or_default")]
    pub healthy: bool,
    #[serde(deserialize_with = "or_default")]
    pub health_description: String,
    #[serde(deserialize_with = "or_default")]
    pub update_time: Time,
    #[serde(deserialize_with = "or_default")]
    pub provider: String,
    #[serde(deserialize_with = "or_default")]
    pub provider_version: String,
    #[serde(deserialize_with = "or_default")]
    pub requires_controller_plugin: bool,
    #[serde(deserialize_with = "or_default")]
    pub requires_topologies: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_info: Option<CsiControllerInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<CsiNodeInfo>,
}

/// The `ClientHostVolumeConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClientHostVolumeConfig {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub path: String,
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
}

/// The `ClientHostNetworkConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClientHostNetworkConfig {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(rename = "CIDR", deserialize_with = "or_default")]
    pub cidr: String,
    #[serde(deserialize_with = "or_default")]
    pub interface: String,
    #[serde(deserialize_with = "or_default")]
    pub reserved_ports: String,
}

/// The `DrainMetadata` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainMetadata {
    #[serde(deserialize_with = "or_default")]
    pub started_at: Time,
    #[serde(deserialize_with = "or_default")]
    pub updated_at: Time,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    #[serde(rename = "AccessorID", deserialize_with = "or_default")]
    pub accessor_id: String,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
}

/// The `LegacyNodeCpuResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LegacyNodeCpuResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu_shares: i64,
    #[serde(deserialize_with = "narrow::<u16, _, _>")]
    pub total_cpu_cores: u64,
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reservable_cpu_cores: Vec<u64>,
}

/// The `NodeProcessorResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeProcessorResources {
    pub topology: Option<Topology>,
}

/// The `NodeMemoryResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeMemoryResources {
    #[serde(rename = "MemoryMB", deserialize_with = "or_default")]
    pub memory_mb: i64,
}

/// The `NodeDiskResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDiskResources {
    #[serde(rename = "DiskMB", deserialize_with = "or_default")]
    pub disk_mb: i64,
}

/// The `NodeDeviceResource` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDeviceResource {
    #[serde(deserialize_with = "or_default")]
    pub vendor: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(with = "nil")]
    pub instances: Vec<NodeDevice>,
    #[serde(with = "nil")]
    pub attributes: BTreeMap<String, Attribute>,
}

/// The `NodeNetworkResource` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeNetworkResource {
    #[serde(deserialize_with = "or_default")]
    pub mode: String,
    #[serde(deserialize_with = "or_default")]
    pub device: String,
    #[serde(deserialize_with = "or_default")]
    pub mac_address: String,
    #[serde(deserialize_with = "or_default")]
    pub speed: i64,
    #[serde(with = "nil")]
    pub addresses: Vec<NodeNetworkAddress>,
}

/// The `NodeReservedCpuResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedCpuResources {
    #[serde(deserialize_with = "or_default")]
    pub cpu_shares: i64,
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reserved_cpu_cores: Vec<u64>,
}

/// The `NodeReservedMemoryResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedMemoryResources {
    #[serde(rename = "MemoryMB", deserialize_with = "or_default")]
    pub memory_mb: i64,
}

/// The `NodeReservedDiskResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedDiskResources {
    #[serde(rename = "DiskMB", deserialize_with = "or_default")]
    pub disk_mb: i64,
}

/// The `NodeReservedNetworkResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedNetworkResources {
    #[serde(deserialize_with = "or_default")]
    pub reserved_host_ports: String,
}

/// The `CSIControllerInfo` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiControllerInfo {
    #[serde(deserialize_with = "or_default")]
    pub supports_create_delete: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_attach_detach: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_list_volumes: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_get_capacity: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_create_delete_snapshot: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_list_snapshots: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_clone: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_read_only_attach: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_expand: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_list_volumes_attached_nodes: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_condition: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_get: bool,
}

/// The `CSINodeInfo` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiNodeInfo {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub max_volumes: i64,
    pub accessible_topology: Option<CsiTopology>,
    #[serde(deserialize_with = "or_default")]
    pub requires_node_stage_volume: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_stats: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_expand: bool,
    #[serde(deserialize_with = "or_default")]
    pub supports_condition: bool,
}

/// The processors of a node: cores, sockets, NUMA nodes, speeds in MHz.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Topology {
    #[serde(serialize_with = "nil::serialize", deserialize_with = "byte_list")]
    pub nodes: Vec<i64>,
    #[serde(serialize_with = "nil::serialize", deserialize_with = "byte_lists")]
    pub distances: Vec<Vec<i64>>,
    #[serde(with = "nil")]
    pub cores: Vec<Core>,
    #[serde(deserialize_with = "or_default")]
    pub override_total_compute: u64,
    #[serde(deserialize_with = "or_default")]
    pub override_withold_compute: u64,
}

/// The `NodeDevice` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDevice {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub healthy: bool,
    #[serde(deserialize_with = "or_default")]
    pub health_description: String,
    pub locality: Option<NodeDeviceLocality>,
}

/// The `Attribute` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Attribute {
    pub float: Option<f64>,
    pub int: Option<i64>,
    pub string: Option<String>,
    pub bool: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub unit: String,
}

/// The `NodeNetworkAddress` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeNetworkAddress {
    #[serde(deserialize_with = "or_default")]
    pub family: String,
    #[serde(deserialize_with = "or_default")]
    pub alias: String,
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    #[serde(deserialize_with = "or_default")]
    pub reserved_ports: String,
    #[serde(deserialize_with = "or_default")]
    pub gateway: String,
}

/// The `CSITopology` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiTopology {
    #[serde(with = "nil")]
    pub segments: BTreeMap<String, String>,
}

/// The `Core` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Core {
    #[serde(rename = "SocketID", deserialize_with = "narrow::<u8, _, _>")]
    pub socket_id: u64,
    #[serde(rename = "NodeID", deserialize_with = "narrow::<u8, _, _>")]
    pub node_id: u64,
    #[serde(rename = "ID", deserialize_with = "narrow::<u16, _, _>")]
    pub id: u64,
    #[serde(deserialize_with = "or_default")]
    pub grade: bool,
    #[serde(deserialize_with = "or_default")]
    pub disable: bool,
    #[serde(deserialize_with = "or_default")]
    pub base_speed: u64,
    #[serde(deserialize_with = "or_default")]
    pub max_speed: u64,
    #[serde(deserialize_with = "or_default")]
    pub guess_speed: u64,
}

/// The `NodeDeviceLocality` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDeviceLocality {
    #[serde(rename = "PciBusID", deserialize_with = "or_default")]
    pub pci_bus_id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_driver_is_not_detected() {
        let n: Node = serde_json::from_str(r#"{"Drivers":{"exec":null}}"#).unwrap();
        assert_eq!(n.drivers.get("exec"), Some(&DriverInfo::default()));
    }
}
