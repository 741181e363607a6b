//! Current resource usage of nodes and tasks (`docs/spec/client.md §26.3`), as nodes report it and clients read it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::{nil, nil_entries, null_is_default};

/// The `HostStats` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostStats {
    /// Memory of the host.
    pub memory: HostMemoryStats,
    /// One entry per logical core.
    #[serde(rename = "CPU", with = "nil")]
    pub cpu: Vec<HostCpuStats>,
    /// One entry per file system on a device.
    #[serde(with = "nil")]
    pub disk_stats: Vec<HostDiskStats>,
    /// The file system of the allocations.
    pub alloc_dir_stats: HostDiskStats,
    /// Devices of plugins; null: none.
    pub device_stats: Option<Vec<DeviceGroupStats>>,
    /// Seconds since the host started.
    pub uptime: u64,
    /// Unix nanoseconds.
    pub timestamp: i64,
    /// MHz in use.
    #[serde(rename = "CPUTicksConsumed")]
    pub cpu_ticks_consumed: f64,
    /// What local collection could not remove; none: there is nothing. Nomad has no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_collection: Option<LocalCollectionStats>,
}

/// The directories of allocations that a node could not remove (`docs/spec/client.md §27.5`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LocalCollectionStats {
    /// How many there are.
    pub not_removed: u64,
    /// Some of them, by ID of the allocation.
    #[serde(with = "nil")]
    pub directories: Vec<LeftoverDirectory>,
}

/// The directory of an allocation that a node could not remove.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LeftoverDirectory {
    /// ID of the allocation.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// The first entry that is still there.
    pub path: String,
    /// Why.
    pub error: String,
    /// How often the removal was tried.
    pub tries: u32,
    /// The first failure, in Unix nanoseconds.
    pub failed_since: i64,
    /// The next try, in Unix nanoseconds.
    pub next_try: i64,
}

/// The `HostMemoryStats` object of the HTTP API, in bytes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostMemoryStats {
    /// `MemTotal` of `/proc/meminfo`.
    pub total: u64,
    /// `MemAvailable` of `/proc/meminfo`; where the kernel has none, free memory, buffers and caches.
    pub available: u64,
    /// Memory that is neither free nor used for buffers and caches.
    pub used: u64,
    /// `MemFree` of `/proc/meminfo`.
    pub free: u64,
}

/// The `CPUStats` object of the HTTP API, in percent of the core.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostCpuStats {
    /// The core as `/proc/stat` names it: `cpu0`.
    #[serde(rename = "CPU")]
    pub cpu: String,
    /// Time in user mode.
    pub user: f64,
    /// Time in the kernel.
    pub system: f64,
    /// Time idle.
    pub idle: f64,
    /// Time not idle.
    pub total_percent: f64,
    /// MHz in use.
    pub total_ticks: f64,
}

/// The `DiskStats` object of the HTTP API, in bytes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HostDiskStats {
    /// The mounted device; empty in [`HostStats::alloc_dir_stats`].
    pub device: String,
    /// Where the file system is mounted; empty in [`HostStats::alloc_dir_stats`].
    pub mountpoint: String,
    /// Size of the file system.
    pub size: u64,
    /// Used bytes, with those reserved for the superuser counted as free.
    pub used: u64,
    /// Bytes that ordinary users may still write.
    pub available: u64,
    /// `used` of `used` and `available`, in percent.
    pub used_percent: f64,
    /// Used inodes, in percent.
    pub inodes_used_percent: f64,
}

/// The `AllocResourceUsage` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocResourceUsage {
    /// Sum over the tasks.
    pub resource_usage: ResourceUsage,
    /// Tasks that were sampled.
    #[serde(deserialize_with = "nil_entries::deserialize")]
    pub tasks: BTreeMap<String, TaskResourceUsage>,
    /// Unix nanoseconds of the newest sample.
    pub timestamp: i64,
}

/// The `TaskResourceUsage` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskResourceUsage {
    /// The sum over the processes of the task.
    pub resource_usage: ResourceUsage,
    /// Unix nanoseconds.
    pub timestamp: i64,
    /// By process ID.
    #[serde(serialize_with = "nil::serialize", deserialize_with = "nil_entries::deserialize")]
    pub pids: BTreeMap<String, ResourceUsage>,
}

/// The `ResourceUsage` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ResourceUsage {
    /// Memory in use.
    pub memory_stats: MemoryStats,
    /// CPU in use.
    pub cpu_stats: CpuStats,
    /// Null for processes, empty for sums.
    pub device_stats: Option<Vec<DeviceGroupStats>>,
}

/// The `MemoryStats` object of the HTTP API, in bytes.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct MemoryStats {
    /// Resident memory.
    #[serde(rename = "RSS")]
    pub rss: u64,
    /// Page cache.
    pub cache: u64,
    /// Swapped out memory.
    pub swap: u64,
    /// Mapped files.
    pub mapped_file: u64,
    /// The memory that the kernel charges to the task.
    pub usage: u64,
    /// The highest value of `usage`.
    pub max_usage: u64,
    /// Memory of the kernel.
    pub kernel_usage: u64,
    /// The highest value of `kernel_usage`.
    pub kernel_max_usage: u64,
    /// Which values the driver measures, by display name: `RSS`, `Swap`. The others are 0.
    #[serde(with = "nil")]
    pub measured: Vec<String>,
}

/// The `CpuStats` object of the HTTP API, in percent of one core.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CpuStats {
    /// Time in the kernel.
    pub system_mode: f64,
    /// Time in user mode.
    pub user_mode: f64,
    /// MHz in use.
    pub total_ticks: f64,
    /// Periods in which the task was throttled.
    pub throttled_periods: u64,
    /// Nanoseconds for which the task was throttled.
    pub throttled_time: u64,
    /// Time in user mode and in the kernel.
    pub percent: f64,
    /// Which values the driver measures, by display name: `System Mode`, `User Mode`, `Percent`. The others are 0.
    #[serde(with = "nil")]
    pub measured: Vec<String>,
}

impl ResourceUsage {
    /// Adds another sample; what was measured is the union, in the order it appeared.
    pub fn add(&mut self, other: &ResourceUsage) {
        let (m, o) = (&mut self.memory_stats, &other.memory_stats);
        m.rss = m.rss.saturating_add(o.rss);
        m.cache = m.cache.saturating_add(o.cache);
        m.swap = m.swap.saturating_add(o.swap);
        m.mapped_file = m.mapped_file.saturating_add(o.mapped_file);
        m.usage = m.usage.saturating_add(o.usage);
        m.max_usage = m.max_usage.saturating_add(o.max_usage);
        m.kernel_usage = m.kernel_usage.saturating_add(o.kernel_usage);
        m.kernel_max_usage = m.kernel_max_usage.saturating_add(o.kernel_max_usage);
        join(&mut m.measured, &o.measured);
        let (c, o) = (&mut self.cpu_stats, &other.cpu_stats);
        c.system_mode += o.system_mode;
        c.user_mode += o.user_mode;
        c.total_ticks += o.total_ticks;
        c.throttled_periods = c.throttled_periods.saturating_add(o.throttled_periods);
        c.throttled_time = c.throttled_time.saturating_add(o.throttled_time);
        c.percent += o.percent;
        join(&mut c.measured, &o.measured);
    }
}

fn join(into: &mut Vec<String>, names: &[String]) {
    for name in names {
        if !into.contains(name) {
            into.push(name.clone());
        }
    }
}

/// The instances of one kind of device.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeviceGroupStats {
    /// The vendor of the devices.
    pub vendor: String,
    /// The type of the devices: `gpu`.
    pub r#type: String,
    /// The model of the devices.
    pub name: String,
    /// By instance ID.
    pub instance_stats: BTreeMap<String, DeviceStats>,
}

/// The statistics of one device.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeviceStats {
    /// The value that matters most.
    pub summary: Option<StatValue>,
    /// All values.
    pub stats: StatObject,
}

/// Values by name, with groups of values inside.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatObject {
    /// Groups inside.
    pub nested: BTreeMap<String, StatObject>,
    /// Values.
    pub attributes: BTreeMap<String, StatValue>,
}

/// One value with its unit: a number, a ratio of two numbers, a text or a boolean.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatValue {
    /// A number, or the numerator of a ratio.
    pub float_numerator_val: Option<f64>,
    /// The denominator of a ratio.
    pub float_denominator_val: Option<f64>,
    /// A whole number, or the numerator of a ratio.
    pub int_numerator_val: Option<i64>,
    /// The denominator of a ratio of whole numbers.
    pub int_denominator_val: Option<i64>,
    /// A text.
    pub string_val: Option<String>,
    /// A boolean.
    pub bool_val: Option<bool>,
    /// The unit; empty: none.
    pub unit: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_adds_up() {
        let one = ResourceUsage {
            memory_stats: MemoryStats { rss: 5, measured: vec!["RSS".into()], ..MemoryStats::default() },
            cpu_stats: CpuStats { percent: 1.5, measured: vec!["Percent".into()], ..CpuStats::default() },
            device_stats: None,
        };
        let mut sum = ResourceUsage { device_stats: Some(vec![]), ..ResourceUsage::default() };
        sum.add(&one);
        sum.add(&one);
        assert_eq!((sum.memory_stats.rss, sum.cpu_stats.percent), (10, 3.0));
        assert_eq!((sum.memory_stats.measured.len(), sum.cpu_stats.measured.len()), (1, 1));
    }
}
