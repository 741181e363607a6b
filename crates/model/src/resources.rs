//! What tasks and groups ask for: resources, networks, devices, volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::job::*;
use super::json::{is_default, nil, or_default};

/// The `EphemeralDisk` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EphemeralDisk {
    #[serde(deserialize_with = "or_default")]
    pub sticky: bool,
    #[serde(rename = "SizeMB", deserialize_with = "or_default")]
    pub size_mb: i64,
    #[serde(deserialize_with = "or_default")]
    pub migrate: bool,
}

/// A network of a group, task or node: mode, ports, bandwidth in MBit/s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NetworkResource {
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub mode: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub device: String,
    #[serde(rename = "CIDR", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub cidr: String,
    #[serde(rename = "IP", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub ip: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub hostname: String,
    #[serde(rename = "MBits", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub mbits: i64,
    #[serde(rename = "DNS", skip_serializing_if = "Option::is_none")]
    pub dns: Option<DnsConfig>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub reserved_ports: Vec<Port>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub dynamic_ports: Vec<Port>,
    #[serde(rename = "CNI", skip_serializing_if = "Option::is_none")]
    pub cni: Option<CniConfig>,
}

/// The `VolumeRequest` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeRequest {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub source: String,
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    #[serde(deserialize_with = "or_default")]
    pub sticky: bool,
    #[serde(deserialize_with = "or_default")]
    pub access_mode: String,
    #[serde(deserialize_with = "or_default")]
    pub attachment_mode: String,
    pub mount_options: Option<CsiMountOptions>,
    #[serde(deserialize_with = "or_default")]
    pub per_alloc: bool,
}

/// What a task asks for: MHz, MB, cores, networks, devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Resources {
    #[serde(rename = "CPU", deserialize_with = "or_default")]
    pub cpu: i64,
    #[serde(deserialize_with = "or_default")]
    pub cores: i64,
    #[serde(rename = "MemoryMB", deserialize_with = "or_default")]
    pub memory_mb: i64,
    #[serde(rename = "MemoryMaxMB", deserialize_with = "or_default")]
    pub memory_max_mb: i64,
    #[serde(rename = "DiskMB", deserialize_with = "or_default")]
    pub disk_mb: i64,
    #[serde(rename = "IOPS", deserialize_with = "or_default")]
    pub iops: i64,
    #[serde(with = "nil")]
    pub networks: Vec<NetworkResource>,
    #[serde(with = "nil")]
    pub devices: Vec<RequestedDevice>,
    #[serde(rename = "NUMA")]
    pub numa: Option<Numa>,
    #[serde(rename = "SecretsMB", deserialize_with = "or_default")]
    pub secrets_mb: i64,
}

/// The `VolumeMount` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeMount {
    #[serde(deserialize_with = "or_default")]
    pub volume: String,
    #[serde(deserialize_with = "or_default")]
    pub destination: String,
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    #[serde(deserialize_with = "or_default")]
    pub propagation_mode: String,
    #[serde(rename = "SELinuxLabel", deserialize_with = "or_default")]
    pub selinux_label: String,
}

/// The `DNSConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DnsConfig {
    #[serde(with = "nil")]
    pub servers: Vec<String>,
    #[serde(with = "nil")]
    pub searches: Vec<String>,
    #[serde(with = "nil")]
    pub options: Vec<String>,
}

/// A port of a network; `value` 0 means dynamic, `to` is the port inside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Port {
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub label: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub value: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub to: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub host_network: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub ignore_collision: bool,
}

/// The `CNIConfig` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CniConfig {
    #[serde(with = "nil")]
    pub args: BTreeMap<String, String>,
}

/// The `CSIMountOptions` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CsiMountOptions {
    #[serde(rename = "FSType", deserialize_with = "or_default")]
    pub fs_type: String,
    #[serde(with = "nil")]
    pub mount_flags: Vec<String>,
}

/// The `RequestedDevice` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RequestedDevice {
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub count: u64,
    #[serde(with = "nil")]
    pub constraints: Vec<Constraint>,
    #[serde(with = "nil")]
    pub affinities: Vec<Affinity>,
}

/// The `NUMA` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Numa {
    #[serde(deserialize_with = "or_default")]
    pub affinity: String,
    #[serde(with = "nil")]
    pub devices: Vec<String>,
}
