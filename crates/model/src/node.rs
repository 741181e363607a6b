//! Nodes: their resources and their status.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bytes::{byte_list, byte_lists};
use super::json::{narrow, narrow_list, nil, nil_entries, null_is_default};
use super::resources::*;
use super::secret::{self, SecretString};
use super::shared::Shared;
use super::status::{DrainStatus, NodeEligibility, NodeStatus};
use super::time::Time;

/// A client node with its capacity, attributes and health.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Node {
    /// A UUID that the node makes and keeps.
    #[serde(rename = "ID")]
    pub id: String,
    /// The secret that proves the node's ID; responses leave it empty.
    #[serde(rename = "SecretID", serialize_with = "secret::blank")]
    pub secret_id: SecretString,
    /// The datacenter; jobs choose nodes by it.
    pub datacenter: String,
    /// The name that the operator gave, or the host's.
    pub name: String,
    /// The cgroup that tasks are below: `nomad.slice`.
    pub cgroup_parent: String,
    /// The address of the node's HTTP API, `host:port`.
    #[serde(rename = "HTTPAddr")]
    pub http_addr: String,
    /// Whether that API speaks TLS.
    #[serde(rename = "TLSEnabled")]
    pub tls_enabled: bool,
    /// Fingerprinted attributes: `kernel.name`, … (`docs/spec/client.md §4`).
    #[serde(with = "nil")]
    pub attributes: Shared<BTreeMap<String, String>>,
    /// The capacity of the node.
    pub node_resources: Option<Shared<NodeResources>>,
    /// The part of the capacity that jobs do not get.
    pub reserved_resources: Option<NodeReservedResources>,
    /// Links to other systems, by name; mostly empty.
    #[serde(with = "nil")]
    pub links: BTreeMap<String, String>,
    /// Free-form metadata: of the configuration, and set at run time.
    #[serde(with = "nil")]
    pub meta: Shared<BTreeMap<String, String>>,
    /// The operator's label; empty: none.
    pub node_class: String,
    /// The node pool: `default`.
    pub node_pool: String,
    /// Hash of what feasibility depends on, `v1:<number>`; the server computes it (`docs/spec/scheduling.md §5.1`).
    pub computed_class: String,
    /// How the node is drained; null: it is not.
    pub drain_strategy: Option<DrainStrategy>,
    /// `eligible`, or `ineligible`: nothing new is placed.
    pub scheduling_eligibility: NodeEligibility,
    /// `initializing`, `ready`, `down` or `disconnected`.
    pub status: NodeStatus,
    /// Why the status is what it is; mostly empty.
    pub status_description: String,
    /// The root key that signed the node's identity.
    #[serde(rename = "IdentitySigningKeyID")]
    pub identity_signing_key_id: String,
    /// Unix seconds.
    pub status_updated_at: i64,
    /// The newest ten, the oldest first.
    #[serde(with = "nil")]
    pub events: Vec<NodeEvent>,
    /// A null entry reads as a driver that was not detected.
    #[serde(serialize_with = "nil_entries::serialize", deserialize_with = "nil_entries::shared")]
    pub drivers: Shared<BTreeMap<String, DriverInfo>>,
    /// CSI controller plugins that run here, by plugin.
    #[serde(rename = "CSIControllerPlugins", with = "nil")]
    pub csi_controller_plugins: BTreeMap<String, CsiInfo>,
    /// CSI node plugins that run here, by plugin.
    #[serde(rename = "CSINodePlugins", with = "nil")]
    pub csi_node_plugins: BTreeMap<String, CsiInfo>,
    /// Host volumes, static and dynamic, by name.
    #[serde(with = "nil")]
    pub host_volumes: BTreeMap<String, ClientHostVolumeConfig>,
    /// Whether dynamic host volumes of the node are deleted with it.
    #[serde(rename = "GCVolumesOnNodeGC")]
    pub gc_volumes_on_node_gc: bool,
    /// Host networks of the configuration, by name.
    #[serde(with = "nil")]
    pub host_networks: BTreeMap<String, ClientHostNetworkConfig>,
    /// The current or last drain; null: none.
    pub last_drain: Option<DrainMetadata>,
    /// How many allocations may be on the node; 0: any number.
    pub node_max_allocs: i64,
    /// Raft index at which the node went down or lost contact; 0: it is ready.
    pub last_missed_heartbeat_index: u64,
    /// Raft index at which the node last reported allocations.
    pub last_alloc_update_index: u64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Whether `drain_strategy` is set.
    pub drain: bool,
}

/// The `NodeResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeResources {
    /// MHz and cores in the form of before `processors`.
    pub cpu: LegacyNodeCpuResources,
    /// Cores and their speeds.
    pub processors: NodeProcessorResources,
    /// MB.
    pub memory: NodeMemoryResources,
    /// MB.
    pub disk: NodeDiskResources,
    /// Device groups.
    #[serde(with = "nil")]
    pub devices: Vec<NodeDeviceResource>,
    /// Null for clients of before 0.12.
    pub node_networks: Option<Vec<NodeNetworkResource>>,
    /// Networks in the form of before `node_networks`.
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    /// The lowest dynamic port.
    pub min_dynamic_port: i64,
    /// The highest dynamic port.
    pub max_dynamic_port: i64,
}

/// The `NodeReservedResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedResources {
    /// MHz and cores.
    pub cpu: NodeReservedCpuResources,
    /// MB.
    pub memory: NodeReservedMemoryResources,
    /// MB.
    pub disk: NodeReservedDiskResources,
    /// Ports.
    pub networks: NodeReservedNetworkResources,
}

/// The `DrainStrategy` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainStrategy {
    /// Nanoseconds until allocations are stopped at the latest; 0: no limit, negative: at once.
    pub deadline: i64,
    /// Whether allocations of system jobs stay.
    pub ignore_system_jobs: bool,
    /// When allocations are stopped at the latest; null: no limit.
    pub force_deadline: Time,
    /// When the drain began.
    pub started_at: Time,
}

/// The `NodeEvent` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeEvent {
    /// The event.
    pub message: String,
    /// The subsystem: `Cluster`, `Drain`, `Driver`, …
    pub subsystem: String,
    /// Details of the event.
    #[serde(with = "nil")]
    pub details: BTreeMap<String, String>,
    /// When it happened.
    pub timestamp: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
}

impl NodeEvent {
    /// An event at a time in Unix nanoseconds.
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
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DriverInfo {
    /// Attributes of the driver: `driver.<name>`, `driver.<name>.version`, …
    #[serde(with = "nil")]
    pub attributes: BTreeMap<String, String>,
    /// Whether the driver is installed.
    pub detected: bool,
    /// Whether tasks can be started.
    pub healthy: bool,
    /// Why the driver is healthy or not.
    pub health_description: String,
    /// When its health last changed.
    pub update_time: Time,
}

/// The `CSIInfo` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiInfo {
    /// The plugin's ID.
    #[serde(rename = "PluginID")]
    pub plugin_id: String,
    /// The allocation that runs the plugin.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// Whether the plugin answers.
    pub healthy: bool,
    /// Why the plugin is healthy or not.
    pub health_description: String,
    /// When its health last changed.
    pub update_time: Time,
    /// The name that the plugin gives itself: `ebs.csi.aws.com`.
    pub provider: String,
    /// The version that the plugin gives itself.
    pub provider_version: String,
    /// Whether volumes need a controller plugin beside the node plugin.
    pub requires_controller_plugin: bool,
    /// Whether volumes are accessible from some nodes only.
    pub requires_topologies: bool,
    /// Capabilities of a controller plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller_info: Option<CsiControllerInfo>,
    /// Capabilities of a node plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<CsiNodeInfo>,
}

/// The `ClientHostVolumeConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClientHostVolumeConfig {
    /// The name of the volume in jobs.
    pub name: String,
    /// The directory on the host.
    pub path: String,
    /// Whether tasks can only read.
    pub read_only: bool,
    /// Set for dynamic host volumes: the volume's ID.
    #[serde(rename = "ID")]
    pub id: String,
}

/// The `ClientHostNetworkConfig` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClientHostNetworkConfig {
    /// The name of the network in ports of jobs.
    pub name: String,
    /// The addresses that belong to the network.
    #[serde(rename = "CIDR")]
    pub cidr: String,
    /// The interface whose addresses belong to the network.
    pub interface: String,
    /// Ports that jobs do not get: `22,80,8000-8999`.
    pub reserved_ports: String,
}

/// The `DrainMetadata` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainMetadata {
    /// When the drain began, in whole seconds.
    pub started_at: Time,
    /// When it last changed, in whole seconds.
    pub updated_at: Time,
    /// `draining`, `complete` or `canceled`.
    pub status: DrainStatus,
    /// The requester: `token:<accessor>`.
    #[serde(rename = "AccessorID")]
    pub accessor_id: String,
    /// Free-form metadata of the request.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, String>,
}

/// The `LegacyNodeCpuResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LegacyNodeCpuResources {
    /// MHz of all cores.
    pub cpu_shares: i64,
    /// How many cores there are.
    #[serde(deserialize_with = "narrow::<u16, _, _>")]
    pub total_cpu_cores: u64,
    /// IDs of the cores that tasks can reserve.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reservable_cpu_cores: Vec<u64>,
}

/// The `NodeProcessorResources` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeProcessorResources {
    /// Null: the node is older than topologies.
    pub topology: Option<Topology>,
}

/// The `NodeMemoryResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeMemoryResources {
    /// MB.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
}

/// The `NodeDiskResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDiskResources {
    /// MB.
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
}

/// The `NodeDeviceResource` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDeviceResource {
    /// The vendor: `nvidia`.
    pub vendor: String,
    /// The type: `gpu`.
    pub r#type: String,
    /// The model.
    pub name: String,
    /// The single devices.
    #[serde(with = "nil")]
    pub instances: Vec<NodeDevice>,
    /// Attributes of all instances.
    #[serde(with = "nil")]
    pub attributes: BTreeMap<String, Attribute>,
}

/// The `NodeNetworkResource` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeNetworkResource {
    /// `host`, `bridge` or `cni/<network>`.
    pub mode: String,
    /// The interface.
    pub device: String,
    /// The hardware address of the interface.
    pub mac_address: String,
    /// MBit/s.
    pub speed: i64,
    /// Addresses that ports can be bound to.
    #[serde(with = "nil")]
    pub addresses: Vec<NodeNetworkAddress>,
}

/// The `NodeReservedCpuResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedCpuResources {
    /// MHz.
    pub cpu_shares: i64,
    /// IDs of cores.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "narrow_list::<u16, _, _>")]
    pub reserved_cpu_cores: Vec<u64>,
}

/// The `NodeReservedMemoryResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedMemoryResources {
    /// MB.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
}

/// The `NodeReservedDiskResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedDiskResources {
    /// MB.
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
}

/// The `NodeReservedNetworkResources` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeReservedNetworkResources {
    /// Ports on all addresses: `22,80,8000-8999`.
    pub reserved_host_ports: String,
}

/// The `CSIControllerInfo` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiControllerInfo {
    /// Volumes can be created and deleted.
    pub supports_create_delete: bool,
    /// Volumes are attached to nodes by the controller.
    pub supports_attach_detach: bool,
    /// Volumes can be listed.
    pub supports_list_volumes: bool,
    /// The free capacity can be asked for.
    pub supports_get_capacity: bool,
    /// Snapshots can be created and deleted.
    pub supports_create_delete_snapshot: bool,
    /// Snapshots can be listed.
    pub supports_list_snapshots: bool,
    /// Volumes can be made from others.
    pub supports_clone: bool,
    /// Volumes can be attached for reading only.
    pub supports_read_only_attach: bool,
    /// Volumes can grow.
    pub supports_expand: bool,
    /// Lists of volumes tell the nodes that they are attached to.
    pub supports_list_volumes_attached_nodes: bool,
    /// The plugin tells whether volumes are healthy.
    pub supports_condition: bool,
    /// One volume can be asked for.
    pub supports_get: bool,
}

/// The `CSINodeInfo` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiNodeInfo {
    /// The plugin's ID of the node.
    #[serde(rename = "ID")]
    pub id: String,
    /// How many volumes of the plugin the node can hold; the largest i64: any number.
    pub max_volumes: i64,
    /// Where the node is; null: the plugin does not say.
    pub accessible_topology: Option<CsiTopology>,
    /// Whether volumes are staged once per node before they are mounted.
    pub requires_node_stage_volume: bool,
    /// The usage of volumes can be asked for.
    pub supports_stats: bool,
    /// Volumes can grow on the node.
    pub supports_expand: bool,
    /// The plugin tells whether volumes are healthy.
    pub supports_condition: bool,
}

/// The processors of a node: cores, sockets, NUMA nodes, speeds in MHz.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Topology {
    /// IDs of the NUMA nodes.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "byte_list")]
    pub nodes: Vec<i64>,
    /// Distances between NUMA nodes, a row per node; may be null.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "byte_lists")]
    pub distances: Vec<Vec<i64>>,
    /// All cores, disabled ones too.
    #[serde(with = "nil")]
    pub cores: Vec<Core>,
    /// `cpu_total_compute` of the node's configuration, in MHz; 0: the sum over the cores.
    pub override_total_compute: u64,
    /// `reserved.cpu` of the node's configuration, in MHz; schedulers read [`Node::reserved_resources`] instead.
    pub override_withold_compute: u64,
}

/// The `NodeDevice` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDevice {
    /// The device plugin's ID of it.
    #[serde(rename = "ID")]
    pub id: String,
    /// Whether tasks can use it.
    pub healthy: bool,
    /// Why it is healthy or not.
    pub health_description: String,
    /// Where it is in the machine; null: not known.
    pub locality: Option<NodeDeviceLocality>,
}

/// The `Attribute` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Attribute {
    /// The value, if it is a fraction.
    pub float: Option<f64>,
    /// The value, if it is a whole number.
    pub int: Option<i64>,
    /// The value, if it is text.
    pub string: Option<String>,
    /// The value, if it is true or false.
    pub bool: Option<bool>,
    /// The unit of a number: `MiB`; empty: none.
    pub unit: String,
}

/// The `NodeNetworkAddress` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeNetworkAddress {
    /// `ipv4` or `ipv6`.
    pub family: String,
    /// The host network that the address belongs to: `default`.
    pub alias: String,
    /// The IP address.
    pub address: String,
    /// Ports that jobs do not get: `22,80,8000-8999`.
    pub reserved_ports: String,
    /// The gateway; mostly empty.
    pub gateway: String,
}

/// The `CSITopology` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiTopology {
    /// Values by domain: `topology.ebs.csi.aws.com/zone`.
    #[serde(with = "nil")]
    pub segments: BTreeMap<String, String>,
}

/// The `Core` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Core {
    /// The socket.
    #[serde(rename = "SocketID", deserialize_with = "narrow::<u8, _, _>")]
    pub socket_id: u64,
    /// The NUMA node.
    #[serde(rename = "NodeID", deserialize_with = "narrow::<u8, _, _>")]
    pub node_id: u64,
    /// Number of the core as the kernel counts.
    #[serde(rename = "ID", deserialize_with = "narrow::<u16, _, _>")]
    pub id: u64,
    /// True for performance cores, false for efficiency cores.
    pub grade: bool,
    /// Whether tasks cannot use the core.
    pub disable: bool,
    /// MHz; 0: not known.
    pub base_speed: u64,
    /// MHz; 0: not known.
    pub max_speed: u64,
    /// MHz, used if neither of the others is known.
    pub guess_speed: u64,
}

/// The `NodeDeviceLocality` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDeviceLocality {
    /// The address on the PCI bus.
    #[serde(rename = "PciBusID")]
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
