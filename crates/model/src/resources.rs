//! Requested resources of tasks and groups: resources, networks, devices, volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::job::*;
use super::json::{is_default, nil, null_is_default};
use super::modes::VolumeAccessMode;

/// The `EphemeralDisk` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EphemeralDisk {
    /// Whether replacements are placed on the same node, if possible, and get the data.
    pub sticky: bool,
    /// MB that are reserved on the node.
    #[serde(rename = "SizeMB")]
    pub size_mb: i64,
    /// Whether the data move to replacements on other nodes.
    pub migrate: bool,
}

/// A network of a group, task or node: mode, ports, bandwidth in MBit/s.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NetworkResource {
    /// `host`, `bridge`, `none` or `cni/<network>`; empty: `host`.
    #[serde(skip_serializing_if = "is_default")]
    pub mode: String,
    /// The network interface.
    #[serde(skip_serializing_if = "is_default")]
    pub device: String,
    /// The subnet of the interface.
    #[serde(rename = "CIDR", skip_serializing_if = "is_default")]
    pub cidr: String,
    /// The address on the host.
    #[serde(rename = "IP", skip_serializing_if = "is_default")]
    pub ip: String,
    /// The host name inside of the network namespace; may contain `${…}`.
    #[serde(skip_serializing_if = "is_default")]
    pub hostname: String,
    /// Deprecated: bandwidth in MBit/s.
    #[serde(rename = "MBits", skip_serializing_if = "is_default")]
    pub mbits: i64,
    /// The `resolv.conf` of tasks; null: the host's.
    #[serde(rename = "DNS", skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsConfig>,
    /// Ports with a number that the job chose.
    #[serde(skip_serializing_if = "is_default")]
    pub reserved_ports: Vec<Port>,
    /// Ports with a number that the scheduler chooses.
    #[serde(skip_serializing_if = "is_default")]
    pub dynamic_ports: Vec<Port>,
    /// Arguments for CNI plugins.
    #[serde(rename = "CNI", skip_serializing_if = "Option::is_none")]
    pub cni: Option<CniConfig>,
}

/// The `VolumeRequest` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeRequest {
    /// The name in the job file.
    pub name: String,
    /// `host` or `csi`.
    pub r#type: String,
    /// The name of a host volume, or the ID of a CSI volume.
    pub source: String,
    /// Whether tasks can only read.
    pub read_only: bool,
    /// Whether replacements get the same dynamic host volume.
    pub sticky: bool,
    /// How many nodes and allocations use the volume, and how: `single-node-writer`, …
    pub access_mode: VolumeAccessMode,
    /// `file-system` or `block-device`.
    pub attachment_mode: String,
    /// How a CSI volume is mounted; null: as the volume says.
    pub mount_options: Option<CsiMountOptions>,
    /// Whether the source is `<source>[<index>]`: one volume per allocation.
    pub per_alloc: bool,
}

/// The requested resources of a task: MHz, MB, cores, networks, devices.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Resources {
    /// MHz; 0 if `cores` are given.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// Cores that no other task may use; 0: none.
    pub cores: i64,
    /// MB that are reserved.
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
    /// MB that the task may use at most, if the cluster allows it; 0: `memory_mb`.
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: i64,
    /// MB; always 0 in stored jobs, see [`EphemeralDisk`].
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
    /// Without effect.
    #[serde(rename = "IOPS")]
    pub iops: i64,
    /// Deprecated: networks of the task's own.
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    /// Devices that the task needs.
    #[serde(with = "nil")]
    pub devices: Vec<RequestedDevice>,
    /// How cores and memory are chosen on NUMA machines.
    #[serde(rename = "NUMA")]
    pub numa: Option<Numa>,
    /// MB of the secrets directory.
    #[serde(rename = "SecretsMB")]
    pub secrets_mb: i64,
}

/// The `VolumeMount` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeMount {
    /// The name of the volume in the group; empty: no mount.
    pub volume: String,
    /// The path in the task.
    pub destination: String,
    /// Whether the task can only read.
    pub read_only: bool,
    /// `private`, `host-to-task` or `bidirectional`.
    pub propagation_mode: String,
    /// `z` (shared), `Z` (private) or empty.
    #[serde(rename = "SELinuxLabel")]
    pub selinux_label: String,
}

/// The `DNSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DnsConfig {
    /// Addresses of name servers.
    #[serde(with = "nil")]
    pub servers: Vec<String>,
    /// Search domains.
    #[serde(with = "nil")]
    pub searches: Vec<String>,
    /// Options of the resolver.
    #[serde(with = "nil")]
    pub options: Vec<String>,
}

/// A port of a network; `value` 0 means dynamic, `to` is the port inside.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Port {
    /// Unique in the group.
    #[serde(skip_serializing_if = "is_default")]
    pub label: String,
    /// The number on the host.
    #[serde(skip_serializing_if = "is_default")]
    pub value: i64,
    /// The number inside of the network namespace; -1: that on the host; 0: none was asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub to: i64,
    /// The host network whose address the port is bound to: `default`.
    #[serde(skip_serializing_if = "is_default")]
    pub host_network: String,
    /// Whether other allocations of the node may use the same number.
    #[serde(skip_serializing_if = "is_default")]
    pub ignore_collision: bool,
}

/// The `CNIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CniConfig {
    /// Passed to plugins as `CNI_ARGS`.
    #[serde(with = "nil")]
    pub args: BTreeMap<String, String>,
}

/// The `CSIMountOptions` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiMountOptions {
    /// The file system: `ext4`.
    #[serde(rename = "FSType")]
    pub fs_type: String,
    /// Options of the mount; answers show `[REDACTED]` instead.
    #[serde(with = "nil")]
    pub mount_flags: Vec<String>,
}

/// The `RequestedDevice` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RequestedDevice {
    /// `<type>`, `<vendor>/<type>` or `<vendor>/<type>/<model>`.
    pub name: String,
    /// How many instances.
    pub count: u64,
    /// Constraints on attributes of the device: `${device.attr.…}`.
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    /// Affinities for attributes of the device.
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
}

/// The `NUMA` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Numa {
    /// `none`, `prefer` or `require`; validation accepts `none` only.
    pub affinity: String,
    /// Names of devices that belong near the cores.
    #[serde(with = "nil")]
    pub devices: Vec<String>,
}
