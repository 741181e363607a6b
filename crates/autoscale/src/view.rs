//! What a pool has and what runs on it (`docs/spec/cluster-scaling.md §3`, steps 2 to 4).

use std::collections::HashMap;
use std::sync::Arc;

use encamp_model::{Allocation, Job, Task, TaskGroup, client_status, desired_status};
use encamp_state::{AllocEntry, NodeEntry, State};
use serde::Serialize;

use crate::params::{self, ENABLED};
use crate::protection::{Guard, ProtectedBy, Protection};
use crate::registry::Pool;

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

    /// What it is counted in: `MHz` or `MB`.
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
    /// Why it must not be removed; `None`: it may be.
    pub protected: Option<ProtectedBy>,
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

/// Reads a pool off the state: its registered nodes with what they offer and what runs on them, and the scaling reserve
/// (§3, steps 2 to 4). Nodes that are not stored any more are left out. The time it takes grows with the nodes of the
/// pool and their allocations alone.
pub fn view(state: &State, pool: &Pool, protection: &Protection) -> PoolView {
    let guard = protection.in_state(state);
    let entries: Vec<&NodeEntry> = pool.nodes.iter().filter_map(|id| state.node(id)).map(|e| &**e).collect();
    let mut jobs = Jobs::new(state);
    let mut out = PoolView { nodes: Vec::with_capacity(entries.len()), ..PoolView::default() };
    for entry in &entries {
        let node = node_view(entry, &guard, &mut jobs);
        out.total.add(&node.capacity);
        out.consumed.add(&node.consumed);
        out.nodes.push(node);
    }
    for job in jobs.facts.iter().filter(|j| j.runs) {
        out.reserve.add(&job.reserve(state, &entries));
    }
    out
}

/// What a view needs to know of the jobs whose allocations it meets. An allocation mostly shares its job with others,
/// so that names are compared once per version of a job, not once per allocation.
struct Jobs<'a> {
    state: &'a State,
    facts: Vec<JobFacts<'a>>,
    /// Positions in `facts` by namespace and ID.
    by_id: HashMap<(&'a str, &'a str), usize>,
    /// By address; the state keeps the versions where they are.
    versions: HashMap<*const Job, Version>,
}

/// What a view needs to know of the version of a job that an allocation was placed with.
#[derive(Clone, Copy)]
struct Version {
    /// The job in [`Jobs::facts`].
    job: usize,
    is_system: bool,
    /// This version or the current one keeps its nodes from being removed.
    protects: bool,
}

impl<'a> Jobs<'a> {
    fn new(state: &'a State) -> Jobs<'a> {
        Jobs { state, facts: Vec::new(), by_id: HashMap::new(), versions: HashMap::new() }
    }

    /// What is known of an allocation's job. Without a version of its own the current one counts.
    fn version_of(&mut self, alloc: &'a Allocation) -> Version {
        let Some(placed_with) = &alloc.job else { return self.version(alloc, None) };
        let address = Arc::as_ptr(placed_with);
        if let Some(known) = self.versions.get(&address) {
            return *known;
        }
        let version = self.version(alloc, Some(placed_with));
        self.versions.insert(address, version);
        version
    }

    fn version(&mut self, alloc: &'a Allocation, placed_with: Option<&Job>) -> Version {
        let (namespace, id) = (alloc.namespace.as_str(), alloc.job_id.as_str());
        let facts = &mut self.facts;
        let job = *self.by_id.entry((namespace, id)).or_insert_with(|| {
            facts.push(JobFacts::new(self.state, namespace, id));
            facts.len() - 1
        });
        let facts = &self.facts[job];
        Version {
            job,
            is_system: placed_with.or(facts.current).is_some_and(|j| j.r#type == "system"),
            protects: facts.protects || placed_with.is_some_and(|j| params::is_set(&j.meta, PROTECT)),
        }
    }
}

/// What a view needs to know of a job.
struct JobFacts<'a> {
    /// The current version, if the job is still stored.
    current: Option<&'a Job>,
    /// Its groups that can be scaled.
    scalable: Vec<&'a TaskGroup>,
    /// One of those groups has a task that asks for cores.
    asks_cores: bool,
    /// MHz that running allocations on the pool gave to tasks that ask for cores, by group and task.
    given: HashMap<(&'a str, &'a str), i64>,
    /// It has a running allocation on the pool.
    runs: bool,
    /// It keeps its nodes from being removed.
    protects: bool,
}

impl<'a> JobFacts<'a> {
    fn new(state: &'a State, namespace: &str, id: &str) -> JobFacts<'a> {
        let current: Option<&Job> = state.job(namespace, id).map(|j| &**j);
        let groups = current.into_iter().flat_map(|j| &j.task_groups);
        let scalable: Vec<&TaskGroup> = groups.filter(|g| is_scalable(g)).collect();
        JobFacts {
            asks_cores: scalable.iter().flat_map(|g| &g.tasks).any(|t| cores(t) > 0),
            scalable,
            given: HashMap::new(),
            runs: false,
            protects: current.is_some_and(|j| params::is_set(&j.meta, PROTECT)),
            current,
        }
    }

    /// Notes what a running allocation gave to tasks that ask for cores. The most counts: cores of nodes differ in
    /// speed.
    fn note_given(&mut self, alloc: &'a Allocation) {
        let resources = alloc.allocated_resources.iter().flat_map(|r| r.tasks.iter());
        for (name, task) in resources.filter(|(_, t)| !t.cpu.reserved_cores.is_empty()) {
            let given = self.given.entry((&alloc.task_group, name.as_str())).or_default();
            *given = task.cpu.cpu_shares.max(*given);
        }
    }

    /// What the job needs to grow by one in each of its scalable groups.
    fn reserve(&self, state: &State, nodes: &[&NodeEntry]) -> Amounts {
        let mut sum = Amounts::default();
        for group in &self.scalable {
            sum.add(&Amounts { disk: group.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb), ..Amounts::default() });
            for task in &group.tasks {
                let cpu = match cores(task) {
                    0 => task.resources.as_ref().map_or(0, |r| r.cpu),
                    cores => self.mhz_of_cores(state, nodes, group, task, cores),
                };
                let memory = task.resources.as_ref().map_or(0, |r| r.memory_mb);
                sum.add(&Amounts { cpu, memory, disk: 0 });
            }
        }
        sum
    }

    /// MHz of a task that asks for cores: what a running allocation was given, on the pool or else anywhere. A group
    /// that runs nowhere counts with the fastest core of the pool.
    fn mhz_of_cores(&self, state: &State, nodes: &[&NodeEntry], group: &TaskGroup, task: &Task, cores: i64) -> i64 {
        if let Some(mhz) = self.given.get(&(group.name.as_str(), task.name.as_str())) {
            return *mhz;
        }
        let allocs = self.current.map(|j| state.allocs_of_job(&j.namespace, &j.id)).unwrap_or_default();
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
}

/// Whether a group carries a scaling block, or the meta that enables job scaling.
fn is_scalable(group: &TaskGroup) -> bool {
    group.scaling.is_some() || params::is_set(&group.meta, ENABLED)
}

/// How many cores a task asks for.
fn cores(task: &Task) -> i64 {
    task.resources.as_ref().map_or(0, |r| r.cores.max(0))
}

/// Whether an allocation counts as running: its client says so and it is meant to.
fn runs(entry: &AllocEntry) -> bool {
    entry.alloc.client_status == client_status::RUNNING && entry.alloc.desired_status == desired_status::RUN
}

fn node_view<'a>(entry: &'a NodeEntry, guard: &Guard<'_>, jobs: &mut Jobs<'a>) -> NodeView {
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
    for alloc_entry in entry.allocs.iter().filter(|e| !e.alloc.terminal()) {
        let alloc: &Allocation = &alloc_entry.alloc;
        let version = jobs.version_of(alloc);
        if !version.is_system {
            out.allocations += 1;
        }
        if version.protects {
            out.protected.get_or_insert(ProtectedBy::Job);
        }
        if runs(alloc_entry) {
            let usage = &alloc_entry.usage;
            out.consumed.add(&Amounts { cpu: usage.cpu, memory: usage.memory, disk: usage.disk });
            let facts = &mut jobs.facts[version.job];
            facts.runs = true;
            if facts.asks_cores {
                facts.note_given(alloc);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
