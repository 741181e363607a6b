//! The nodes of a pool and the allocations on them (`docs/spec/cluster-scaling.md §3`, steps 2 to 4).

use std::collections::HashMap;

use encamp_model::{Allocation, Task, TaskGroup};
use encamp_state::{AllocEntry, AllocPhase, NodeEntry, State};
use serde::Serialize;

use crate::protection::{Guard, ProtectedBy, Protection};
use crate::registry::Pool;

mod jobs;

pub use jobs::JobCache;
use jobs::{JobFacts, Jobs};

/// The key of a job's meta that keeps its nodes from being removed (§6).
pub const PROTECT: &str = "encamp_protect";

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

    /// Its unit: `MHz` or `MB`.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Cpu => "MHz",
            Metric::Memory | Metric::Disk => "MB",
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

    /// Subtracts other amounts.
    fn subtract(&mut self, other: &Amounts) {
        self.cpu = self.cpu.saturating_sub(other.cpu);
        self.memory = self.memory.saturating_sub(other.memory);
        self.disk = self.disk.saturating_sub(other.disk);
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
    /// Its capacity: total less reserved.
    pub capacity: Amounts,
    /// The usage of its running allocations.
    pub consumed: Amounts,
    /// How many allocations on it are not terminal, those of system jobs left out.
    pub allocations: usize,
    /// Why it must not be removed; `None`: it may be.
    pub protected: Option<ProtectedBy>,
}

/// A pool with its sums.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolView {
    /// Its registered nodes, by ID.
    pub nodes: Vec<NodeView>,
    /// Their total capacity.
    pub total: Amounts,
    /// The usage of the allocations on them.
    pub consumed: Amounts,
    /// The resources that scalable groups need to grow by one each.
    pub reserve: Amounts,
}

impl PoolView {
    /// The pool without one of its nodes, whose allocations need room on the others: the usage and the reserve stay.
    pub fn without(mut self, node: &str) -> PoolView {
        if let Some(at) = self.nodes.iter().position(|n| n.id == node) {
            self.total.subtract(&self.nodes.remove(at).capacity);
        }
        self
    }
}

/// The attribute that names the instance of a node; client meta of that name overrides it (§9).
pub const INSTANCE_ID: &str = "unique.platform.aws.instance-id";

/// The instance a node runs on.
pub fn instance_id(node: &encamp_model::Node) -> Option<&str> {
    let found = node.meta.get(INSTANCE_ID).or_else(|| node.attributes.get(INSTANCE_ID))?;
    (!found.is_empty()).then_some(found.as_str())
}

/// Reads a pool off the state: its registered nodes with what they offer and what runs on them, and the scaling reserve
/// (§3, steps 2 to 4). Nodes that are not stored any more are left out. `jobs` is the cache of this state. The time it
/// takes grows with the nodes of the pool and their allocations alone.
pub fn view(state: &State, jobs: &JobCache, pool: &Pool, protection: &Protection) -> PoolView {
    let guard = protection.in_state(state);
    let entries: Vec<&NodeEntry> = pool.nodes.iter().filter_map(|id| state.node(id)).map(|e| &**e).collect();
    let mut jobs = jobs.jobs();
    let mut running = RunningJobs::default();
    let mut out = PoolView { nodes: Vec::with_capacity(entries.len()), ..PoolView::default() };
    for entry in &entries {
        let node = node_view(state, entry, &guard, &mut jobs, &mut running);
        out.total.add(&node.capacity);
        out.consumed.add(&node.consumed);
        out.nodes.push(node);
    }
    let facts = running.jobs.iter().filter_map(|job| Some((*job, jobs.facts(*job)?)));
    for (job, facts) in facts.filter(|(_, facts)| facts.is_scalable()) {
        out.reserve.add(&running.reserve(job, facts, state, &entries));
    }
    out
}

/// The jobs that have a running allocation on the pool.
#[derive(Default)]
struct RunningJobs<'a> {
    /// Their positions in the cache, in the order in which they were met.
    jobs: Vec<usize>,
    /// By position: met before.
    met: Vec<bool>,
    /// MHz that running allocations on the pool gave to tasks that ask for cores, by job, group and task.
    given: HashMap<(usize, &'a str, &'a str), i64>,
}

impl<'a> RunningJobs<'a> {
    fn note(&mut self, job: usize) {
        if job >= self.met.len() {
            self.met.resize(job + 1, false);
        }
        if !std::mem::replace(&mut self.met[job], true) {
            self.jobs.push(job);
        }
    }

    /// Notes what a running allocation gave to tasks that ask for cores. The most counts: cores of nodes differ in
    /// speed.
    fn note_given(&mut self, job: usize, alloc: &'a Allocation) {
        let resources = alloc.allocated_resources.iter().flat_map(|r| r.tasks.iter());
        for (name, task) in resources.filter(|(_, t)| !t.cpu.reserved_cores.is_empty()) {
            let given = self.given.entry((job, &alloc.task_group, name.as_str())).or_default();
            *given = task.cpu.cpu_shares.max(*given);
        }
    }

    /// The resources that a job needs to grow by one in each of its scalable groups.
    fn reserve(&self, job: usize, facts: &JobFacts, state: &State, nodes: &[&NodeEntry]) -> Amounts {
        let mut sum = Amounts::default();
        for group in facts.scalable_groups() {
            sum.add(&Amounts { disk: group.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb), ..Amounts::default() });
            for task in &group.tasks {
                let cpu = match cores(task) {
                    0 => task.resources.as_ref().map_or(0, |r| r.cpu),
                    cores => match self.given.get(&(job, group.name.as_str(), task.name.as_str())) {
                        Some(mhz) => *mhz,
                        None => mhz_of_cores(facts, state, nodes, group, task, cores),
                    },
                };
                let memory = task.resources.as_ref().map_or(0, |r| r.memory_mb);
                sum.add(&Amounts { cpu, memory, disk: 0 });
            }
        }
        sum
    }
}

/// MHz of a task that asks for cores and runs nowhere on the pool: what a running allocation elsewhere was given. A group
/// that runs nowhere counts with the fastest core of the pool.
fn mhz_of_cores(
    job: &JobFacts,
    state: &State,
    nodes: &[&NodeEntry],
    group: &TaskGroup,
    task: &Task,
    cores: i64,
) -> i64 {
    let allocs = job.current.as_ref().map(|j| state.allocs_of_job(&j.namespace, &j.id)).unwrap_or_default();
    let of_group = allocs.iter().filter(|e| e.alloc.task_group == group.name && runs(e));
    let given = of_group.filter_map(|e| {
        let cpu = &e.alloc.allocated_resources.as_ref()?.tasks.get(&task.name)?.cpu;
        (!cpu.reserved_cores.is_empty()).then_some(cpu.cpu_shares)
    });
    given.max().unwrap_or_else(|| {
        let speeds = nodes.iter().flat_map(|n| &n.info.cores).map(|(_, mhz)| *mhz);
        speeds.max().unwrap_or(0).saturating_mul(cores)
    })
}

/// How many cores a task asks for.
fn cores(task: &Task) -> i64 {
    task.resources.as_ref().map_or(0, |r| r.cores.max(0))
}

/// Whether an allocation counts as running: its client says so and it is meant to.
fn runs(entry: &AllocEntry) -> bool {
    entry.phase == AllocPhase::Running
}

fn node_view<'a>(
    state: &State,
    entry: &'a NodeEntry,
    guard: &Guard<'_>,
    jobs: &mut Jobs,
    running: &mut RunningJobs<'a>,
) -> NodeView {
    let node = &entry.node;
    // A node that reserves more than it has offers nothing.
    let capacity =
        Amounts { cpu: entry.info.cpu.max(0), memory: entry.info.memory.max(0), disk: entry.info.disk.max(0) };
    let mut out = NodeView {
        id: node.id.clone(),
        name: node.name.clone(),
        instance_id: instance_id(node).map(str::to_string),
        capacity,
        consumed: Amounts::default(),
        allocations: 0,
        protected: guard.of(node),
    };
    for alloc_entry in entry.allocs.iter().filter(|e| !e.phase.terminal()) {
        let alloc: &Allocation = &alloc_entry.alloc;
        let facts = jobs.of_alloc(state, alloc);
        if !facts.is_system {
            out.allocations += 1;
        }
        if facts.protects {
            out.protected.get_or_insert(ProtectedBy::Job);
        }
        if runs(alloc_entry) {
            let usage = &alloc_entry.usage;
            out.consumed.add(&Amounts { cpu: usage.cpu, memory: usage.memory, disk: usage.disk });
            running.note(facts.job);
            if facts.asks_cores {
                running.note_given(facts.job, alloc);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
