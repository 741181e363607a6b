//! The measurements of a scenario.

use procfs::{CpuInfo, Current, Meminfo};
use serde::Serialize;

/// A part of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Step {
    /// Its name.
    pub name: &'static str,
    /// Evaluations that were pending when it began, or that it made.
    pub evaluations_pending: u64,
    /// Evaluations that schedulers worked on.
    pub evaluations_processed: u64,
    /// Evaluations that were cancelled because a newer one of the job replaced them.
    pub evaluations_canceled: u64,
    /// Entries of the log.
    pub log_entries: u64,
    /// Operations in them; the indexes of the HTTP interface count these.
    pub operations: u64,
    /// How long it took until everything was settled.
    pub seconds: f64,
    /// Processor time of all servers meanwhile, in seconds.
    pub server_cpu_seconds: f64,
    /// Small writes that were made meanwhile.
    #[serde(skip_serializing_if = "is_zero")]
    pub writes: u64,
    /// How long the longest of them took, in milliseconds; also one that is not answered yet.
    #[serde(skip_serializing_if = "is_nothing")]
    pub longest_write_ms: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_nothing(number: &f64) -> bool {
    *number == 0.0
}

/// How long something took, over and over.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Timing {
    /// The name of the metric.
    pub name: String,
    /// How often it was measured.
    pub count: u64,
    /// The median of the medians of ten seconds each, in milliseconds.
    pub p50_ms: f64,
    /// The worst of the 99th percentiles of ten seconds each, in milliseconds.
    pub p99_ms: f64,
}

/// The machine a scenario ran on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// The model of its processors.
    pub cpu: String,
    /// How many processors may be used.
    pub cpus: usize,
    /// MiB of memory.
    pub memory_mb: u64,
    /// The system's name and release.
    pub kernel: String,
}

/// The measurements of a scenario.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Outcome {
    /// Its name.
    pub scenario: &'static str,
    /// The version of this program.
    pub version: String,
    /// The random seed.
    pub seed: u64,
    /// The machine.
    pub machine: Machine,
    /// Simulated nodes.
    pub nodes: usize,
    /// Servers.
    pub servers: usize,
    /// Whether redundant evaluations were cancelled.
    pub shedding: bool,
    /// Its parts.
    pub steps: Vec<Step>,
    /// How long parts of the servers' work took; empty where a scenario does not tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub timings: Vec<Timing>,
    /// Allocations that ran at the most.
    pub allocations: u64,
    /// Allocations that were placed and committed per second; 0 where a scenario does not tell.
    pub allocations_per_second: f64,
    /// Heartbeats that came in time and yet found their node given up.
    pub false_expiries: u64,
    /// Most memory of the largest server, in MiB.
    pub peak_rss_mb: u64,
    /// Memory of the largest server at the end, in MiB.
    pub rss_mb: u64,
    /// Processor time of all servers, in seconds.
    pub server_cpu_seconds: f64,
    /// How the state was written and read back, where a scenario tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<Restart>,
}

/// How a server wrote its state to its disk and read it back.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Restart {
    /// From the start of the process until there was a leader, from the log and whatever snapshot there was, in seconds.
    pub from_log_seconds: f64,
    /// How long a snapshot of the state took, in seconds.
    pub snapshot_seconds: f64,
    /// The length of its file, in MiB.
    pub snapshot_mb: u64,
    /// From the start of the process until there was a leader, from that snapshot and the log after it, in seconds.
    pub seconds: f64,
    /// How much of it the server took to restore the snapshot, in seconds.
    pub restore_seconds: f64,
}

/// This machine.
pub fn machine() -> Machine {
    let cpu = CpuInfo::current().ok().and_then(|c| c.model_name(0).map(str::to_string));
    Machine {
        cpu: cpu.unwrap_or_default(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        memory_mb: Meminfo::current().map_or(0, |m| m.mem_total >> 20),
        kernel: format!("Linux {}", rustix::system::uname().release().to_string_lossy()),
    }
}
