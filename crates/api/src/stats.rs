//! Current resource usage of nodes and tasks (`docs/spec/client.md §26.3`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use encamp_model::json::or_default;

/// The resource usage of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocResourceUsage {
    /// All tasks together.
    #[serde(deserialize_with = "or_default")]
    pub resource_usage: ResourceUsage,
    /// Each task.
    #[serde(deserialize_with = "or_default")]
    pub tasks: BTreeMap<String, TaskResourceUsage>,
}

/// The resource usage of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskResourceUsage {
    /// The measured values.
    #[serde(deserialize_with = "or_default")]
    pub resource_usage: ResourceUsage,
}

/// Memory, processor and devices.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ResourceUsage {
    /// Memory.
    #[serde(deserialize_with = "or_default")]
    pub memory_stats: MemoryStats,
    /// Processor.
    #[serde(deserialize_with = "or_default")]
    pub cpu_stats: CpuStats,
    /// Devices.
    #[serde(deserialize_with = "or_default")]
    pub device_stats: Vec<DeviceGroupStats>,
}

/// Memory in bytes. Only what `measured` names was really measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct MemoryStats {
    #[serde(rename = "RSS", deserialize_with = "or_default")]
    pub rss: u64,
    #[serde(deserialize_with = "or_default")]
    pub cache: u64,
    #[serde(deserialize_with = "or_default")]
    pub swap: u64,
    #[serde(deserialize_with = "or_default")]
    pub mapped_file: u64,
    #[serde(deserialize_with = "or_default")]
    pub usage: u64,
    #[serde(deserialize_with = "or_default")]
    pub max_usage: u64,
    #[serde(deserialize_with = "or_default")]
    pub kernel_usage: u64,
    #[serde(deserialize_with = "or_default")]
    pub kernel_max_usage: u64,
    #[serde(deserialize_with = "or_default")]
    pub measured: Vec<String>,
}

/// Processor time. Modes and `percent` in percent of one core, ticks in MHz.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct CpuStats {
    #[serde(deserialize_with = "or_default")]
    pub system_mode: f64,
    #[serde(deserialize_with = "or_default")]
    pub user_mode: f64,
    #[serde(deserialize_with = "or_default")]
    pub total_ticks: f64,
    #[serde(deserialize_with = "or_default")]
    pub throttled_periods: u64,
    #[serde(deserialize_with = "or_default")]
    pub throttled_time: u64,
    #[serde(deserialize_with = "or_default")]
    pub percent: f64,
    #[serde(deserialize_with = "or_default")]
    pub measured: Vec<String>,
}

/// The instances of one kind of device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct DeviceGroupStats {
    #[serde(deserialize_with = "or_default")]
    pub vendor: String,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// By instance ID.
    #[serde(deserialize_with = "or_default")]
    pub instance_stats: BTreeMap<String, DeviceStats>,
}

/// The statistics of one device.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeviceStats {
    /// The value that matters most.
    pub summary: Option<StatValue>,
    /// All values.
    #[serde(deserialize_with = "or_default")]
    pub stats: StatObject,
}

/// Values by name, with groups of values inside.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatObject {
    /// Groups inside.
    #[serde(deserialize_with = "or_default")]
    pub nested: BTreeMap<String, StatObject>,
    /// Values.
    #[serde(deserialize_with = "or_default")]
    pub attributes: BTreeMap<String, StatValue>,
}

/// One value: a number, a part of a number, a text or a truth, with its unit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct StatValue {
    pub float_numerator_val: Option<f64>,
    pub float_denominator_val: Option<f64>,
    pub int_numerator_val: Option<i64>,
    pub int_denominator_val: Option<i64>,
    pub string_val: Option<String>,
    pub bool_val: Option<bool>,
    #[serde(deserialize_with = "or_default")]
    pub unit: String,
}

/// The resource usage of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostStats {
    /// Memory.
    #[serde(deserialize_with = "or_default")]
    pub memory: HostMemoryStats,
    /// Each core.
    #[serde(rename = "CPU", deserialize_with = "or_default")]
    pub cpu: Vec<HostCpuStats>,
    /// Each mounted disk.
    #[serde(deserialize_with = "or_default")]
    pub disk_stats: Vec<HostDiskStats>,
    /// Devices.
    #[serde(deserialize_with = "or_default")]
    pub device_stats: Vec<DeviceGroupStats>,
    /// Seconds since the machine started.
    #[serde(deserialize_with = "or_default")]
    pub uptime: u64,
    /// MHz in use.
    #[serde(rename = "CPUTicksConsumed", deserialize_with = "or_default")]
    pub cpu_ticks_consumed: f64,
}

/// Memory of a node in bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct HostMemoryStats {
    #[serde(deserialize_with = "or_default")]
    pub total: u64,
    #[serde(deserialize_with = "or_default")]
    pub available: u64,
    #[serde(deserialize_with = "or_default")]
    pub used: u64,
    #[serde(deserialize_with = "or_default")]
    pub free: u64,
}

/// One core, in percent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct HostCpuStats {
    #[serde(rename = "CPU", deserialize_with = "or_default")]
    pub cpu: String,
    #[serde(deserialize_with = "or_default")]
    pub user: f64,
    #[serde(deserialize_with = "or_default")]
    pub system: f64,
    #[serde(deserialize_with = "or_default")]
    pub idle: f64,
}

/// One disk: bytes and percentages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[allow(missing_docs)]
pub struct HostDiskStats {
    #[serde(deserialize_with = "or_default")]
    pub device: String,
    #[serde(deserialize_with = "or_default")]
    pub mountpoint: String,
    #[serde(deserialize_with = "or_default")]
    pub size: u64,
    #[serde(deserialize_with = "or_default")]
    pub used: u64,
    #[serde(deserialize_with = "or_default")]
    pub available: u64,
    #[serde(deserialize_with = "or_default")]
    pub used_percent: f64,
    #[serde(deserialize_with = "or_default")]
    pub inodes_used_percent: f64,
}
