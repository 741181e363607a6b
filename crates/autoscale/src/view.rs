//! What a pool has and what runs on it (`docs/spec/cluster-scaling.md §3`, steps 2 to 4).

use serde::Serialize;

/// Amounts of the three resources that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Amounts {
    /// MHz.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// MB.
    #[serde(rename = "MemoryMB")]
    pub memory: i64,
    /// MB.
    #[serde(rename = "DiskMB")]
    pub disk: i64,
}

/// One of the resources, in the order of ties (§3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// CPU in MHz.
    Cpu,
    /// Memory in MB.
    Memory,
    /// Disk in MB.
    Disk,
}

impl Metric {
    /// All of them, in the order of ties.
    pub const ALL: [Metric; 3] = [Metric::Cpu, Metric::Memory, Metric::Disk];

    /// `cpu`, `memory` or `disk`.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Cpu => "cpu",
            Metric::Memory => "memory",
            Metric::Disk => "disk",
        }
    }
}

impl Amounts {
    /// The amount of one resource.
    pub fn get(&self, metric: Metric) -> i64 {
        match metric {
            Metric::Cpu => self.cpu,
            Metric::Memory => self.memory,
            Metric::Disk => self.disk,
        }
    }

    /// Adds other amounts; sums stay within 64 bits.
    pub fn add(&mut self, other: &Amounts) {
        self.cpu = self.cpu.saturating_add(other.cpu);
        self.memory = self.memory.saturating_add(other.memory);
        self.disk = self.disk.saturating_add(other.disk);
    }
}

/// A node of the pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeView {
    /// Its ID.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The instance it runs on: see [`instance_id`].
    pub instance_id: Option<String>,
    /// What it offers: total less reserved.
    pub capacity: Amounts,
    /// What its running allocations use.
    pub consumed: Amounts,
    /// How many allocations on it are not terminal, those of system jobs left out.
    pub allocations: usize,
    /// It must not be removed: it runs the autoscaler itself, or a job with `encamp_protect`.
    pub protected: bool,
}

/// A pool with its sums.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolView {
    /// Its registered nodes, by ID.
    pub nodes: Vec<NodeView>,
    /// What they offer together.
    pub total: Amounts,
    /// What runs on them.
    pub consumed: Amounts,
    /// What scalable groups need to grow by one each.
    pub reserve: Amounts,
}

/// The attribute that names the instance of a node; client meta of that name overrides it (§9).
pub const INSTANCE_ID: &str = "unique.platform.aws.instance-id";

/// The instance a node runs on.
pub fn instance_id(node: &encamp_model::Node) -> Option<&str> {
    let found = node.meta.get(INSTANCE_ID).or_else(|| node.attributes.get(INSTANCE_ID))?;
    (!found.is_empty()).then_some(found.as_str())
}
