//! Summarises a snapshot: counts, sizes, versions, and the capacity and usage of each node pool.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::compact;
use super::file::{ClusterSnapshot, FORMAT_VERSION};
use super::unload::to_file;
use encamp_model::{ClientStatus, Job, JobStatus, JobType, NodeStatus, SECOND, Time};
use encamp_state::index::client_version;
use encamp_state::{AllocEntry, NodeEntry};

/// The pool that holds all nodes.
const ALL_POOLS: &str = "all";

/// The summary of a snapshot; `docs/reference/snapshot-inspect.schema.json` describes the JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Inspection {
    /// Version of this form.
    pub schema_version: u64,
    /// Version of the snapshot format in which sizes are measured.
    pub format_version: u64,
    /// Where the state was read.
    pub source: String,
    /// When it was read.
    pub taken_at: Time,
    /// How long ago that was, in seconds; absent if it is not known.
    pub age_seconds: Option<i64>,
    /// Latest index of the state.
    pub index: u64,
    /// Missing parts.
    pub notes: Vec<String>,
    /// Nodes by the release of their client; empty text for those that do not say.
    pub client_versions: BTreeMap<String, usize>,
    /// The tables, largest first.
    pub tables: Vec<Table>,
    /// Number of jobs; older versions do not count.
    pub jobs: usize,
    /// All nodes, jobs and allocations.
    pub total: Tally,
    /// The same by node pool. The pool `all` has every node, but only its own jobs.
    pub pools: BTreeMap<String, Tally>,
    /// Allocations whose node is not in the snapshot, by client status.
    pub homeless_allocations: BTreeMap<ClientStatus, usize>,
}

/// A kind of object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Table {
    /// Its member in the file.
    pub name: &'static str,
    /// Number of objects.
    pub objects: usize,
    /// Size of their JSON in a file that is not compressed.
    pub bytes: u64,
    /// Part of the bytes of all tables, in percent.
    pub percent: f64,
}

/// Numbers about some nodes and what runs on them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Tally {
    /// Nodes by what they are doing.
    pub nodes: NodeCounts,
    /// Capacity for jobs on nodes that are not down.
    pub capacity: Amounts,
    /// The used part of it.
    pub used: Amounts,
    /// Devices of nodes that are not down, by vendor/type/name.
    pub devices: BTreeMap<String, DeviceCounts>,
    /// Allocations by client status.
    pub allocations: BTreeMap<ClientStatus, usize>,
    /// Jobs by type and status.
    pub jobs: BTreeMap<JobType, BTreeMap<JobStatus, usize>>,
}

/// Nodes by what they are doing; each counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NodeCounts {
    /// All of them.
    pub total: usize,
    /// Take allocations.
    pub ready: usize,
    /// Up, but not eligible.
    pub ineligible: usize,
    /// Up and draining.
    pub draining: usize,
    /// Down.
    pub down: usize,
    /// Disconnected or not yet there.
    pub other: usize,
}

/// Sums of resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
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

/// Device instances.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeviceCounts {
    /// All of them.
    pub instances: usize,
    /// Those that can be given out.
    pub healthy: usize,
    /// Those that an allocation holds.
    pub used: usize,
}

impl Amounts {
    fn add(&mut self, cpu: i64, memory: i64, disk: i64) {
        self.cpu = self.cpu.saturating_add(cpu);
        self.memory = self.memory.saturating_add(memory);
        self.disk = self.disk.saturating_add(disk);
    }
}

impl NodeCounts {
    fn add(&mut self, n: &NodeEntry) {
        let node = &n.node;
        self.total += 1;
        let counter = match node.status {
            NodeStatus::Down => &mut self.down,
            NodeStatus::Ready if node.ready() => &mut self.ready,
            NodeStatus::Ready if node.drain_strategy.is_some() => &mut self.draining,
            NodeStatus::Ready => &mut self.ineligible,
            NodeStatus::Initializing | NodeStatus::Disconnected | NodeStatus::Unset | NodeStatus::Other(_) => {
                &mut self.other
            }
        };
        *counter += 1;
    }
}

impl Tally {
    fn add_node(&mut self, n: &NodeEntry) {
        self.nodes.add(n);
        n.allocs.iter().for_each(|a| self.add_alloc(a));
        if n.node.status == NodeStatus::Down {
            return;
        }
        self.capacity.add(n.info.cpu, n.info.memory, n.info.disk);
        self.used.add(n.usage.cpu, n.usage.memory, n.usage.disk);
        let groups = n.node.node_resources.iter().flat_map(|r| &r.devices);
        for (group, first) in groups.zip(&n.info.devices) {
            let name = format!("{}/{}/{}", group.vendor, group.r#type, group.name);
            let counts = self.devices.entry(name).or_default();
            let used = n.usage.devices.iter().skip(*first).take(group.instances.len());
            counts.instances += group.instances.len();
            counts.healthy += group.instances.iter().filter(|i| i.healthy).count();
            counts.used += used.filter(|uses| **uses > 0).count();
        }
    }

    fn add_alloc(&mut self, a: &AllocEntry) {
        *self.allocations.entry(a.alloc.client_status.clone()).or_default() += 1;
    }

    fn add_job(&mut self, job: &Job) {
        *self.jobs.entry(job.r#type.clone()).or_default().entry(job.status.clone()).or_default() += 1;
    }
}

/// The figures of all nodes, jobs and allocations.
pub fn total(snapshot: &ClusterSnapshot) -> Tally {
    let mut total = Tally::default();
    snapshot.state.nodes().for_each(|n| total.add_node(n));
    snapshot.state.jobs().for_each(|j| total.add_job(&j.current));
    orphaned(snapshot).for_each(|a| total.add_alloc(a));
    total
}

fn orphaned(snapshot: &ClusterSnapshot) -> impl Iterator<Item = &AllocEntry> {
    let state = &snapshot.state;
    state.allocs().map(AsRef::as_ref).filter(|a| state.node(&a.alloc.node_id).is_none())
}

/// An object of a snapshot can't be written, so its size is not known.
#[derive(Debug, Error)]
#[error("{list}: {source}")]
pub struct UnknownSize {
    /// The list that the object is in.
    pub list: &'static str,
    /// The reason.
    pub source: serde_json::Error,
}

/// Looks into a snapshot. `now` is in Unix nanoseconds.
///
/// # Errors
/// The size of a list is not known.
pub fn inspect(snapshot: &ClusterSnapshot, now: i64) -> Result<Inspection, UnknownSize> {
    let state = &snapshot.state;
    let mut client_versions = BTreeMap::new();
    let mut pools: BTreeMap<String, Tally> = state.node_pools().map(|p| (p.name.clone(), Tally::default())).collect();
    for n in state.nodes() {
        *client_versions.entry(client_version(&n.node).to_string()).or_default() += 1;
        pools.entry(n.node.node_pool.clone()).or_default().add_node(n);
    }
    for job in state.jobs().map(|j| &j.current) {
        let pool = if job.node_pool.is_empty() { "default" } else { &job.node_pool };
        pools.entry(pool.to_string()).or_default().add_job(job);
    }
    let total = total(snapshot);
    if let Some(all) = pools.get_mut(ALL_POOLS) {
        *all = Tally { jobs: std::mem::take(&mut all.jobs), ..total.clone() };
    }
    let mut homeless_allocations = BTreeMap::new();
    orphaned(snapshot).for_each(|a| *homeless_allocations.entry(a.alloc.client_status.clone()).or_default() += 1);
    let taken_at = snapshot.taken_at;
    Ok(Inspection {
        schema_version: 1,
        format_version: FORMAT_VERSION,
        source: snapshot.source.clone(),
        taken_at,
        age_seconds: taken_at.unix_nanos().map(|t| now.saturating_sub(t).div_euclid(SECOND)),
        index: state.index,
        notes: snapshot.notes.clone(),
        client_versions,
        tables: tables(snapshot)?,
        jobs: state.jobs().count(),
        total,
        pools,
        homeless_allocations,
    })
}

/// The size of each list of the file, largest first.
fn tables(snapshot: &ClusterSnapshot) -> Result<Vec<Table>, UnknownSize> {
    let file = to_file(snapshot);
    let mut tables = vec![
        table("Nodes", &file.nodes)?,
        table("NodePools", &file.node_pools)?,
        table("Namespaces", &file.namespaces)?,
        table("Jobs", &file.jobs)?,
        table("Allocations", &file.allocations)?,
        table("Deployments", &file.deployments)?,
        table("Volumes", &file.volumes)?,
        table("HostVolumeClaims", &file.host_volume_claims)?,
    ];
    let all: u64 = tables.iter().map(|t| t.bytes).sum();
    for t in &mut tables {
        t.percent = percent(t.bytes, all);
    }
    tables.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(b.name)));
    Ok(tables)
}

fn table<T: Serialize>(name: &'static str, objects: &[T]) -> Result<Table, UnknownSize> {
    let (mut bytes, mut text) = (0, Vec::new());
    for object in objects {
        text.clear();
        compact::write(&mut text, object).map_err(|source| UnknownSize { list: name, source })?;
        bytes += text.len() as u64;
    }
    Ok(Table { name, objects: objects.len(), bytes, percent: 0.0 })
}

/// A part of a whole in percent, rounded to one digit.
pub fn percent(part: u64, whole: u64) -> f64 {
    let tenths = (u128::from(part) * 2000 / u128::from(whole.max(1))).div_ceil(2);
    // A few thousand where the part is one, so exact.
    tenths as f64 / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    const CLUSTER: &str = r#"{"Version": 1, "TakenAt": "2026-01-01T00:00:00Z", "Index": 7,
        "NodePools": [{"Name": "all"}, {"Name": "default"}],
        "Nodes": [
            {"ID": "a", "Status": "ready", "SchedulingEligibility": "eligible", "Attributes": {"nomad.version": "2.0.1"},
             "NodeResources": {"Cpu": {"CpuShares": 4000, "TotalCpuCores": 2}, "Memory": {"MemoryMB": 1000}, "Disk": {"DiskMB": 500},
                "Devices": [{"Vendor": "x", "Type": "gpu", "Name": "y", "Instances": [{"ID": "1", "Healthy": true}, {"ID": "2"}]}]},
             "ReservedResources": {"Memory": {"MemoryMB": 100}}},
            {"ID": "b", "NodePool": "gpu", "Status": "down", "NodeResources": {"Memory": {"MemoryMB": 1000}}},
            {"ID": "c", "Status": "ready", "SchedulingEligibility": "ineligible", "DrainStrategy": {}},
            {"ID": "d", "Status": "ready", "SchedulingEligibility": "ineligible"},
            {"ID": "e", "Status": "disconnected", "SchedulingEligibility": "eligible"}],
        "Jobs": [{"ID": "j", "Namespace": "default", "Type": "service", "Status": "running", "NodePool": "all"},
                 {"ID": "k", "Namespace": "default", "Type": "batch", "Status": "dead"}],
        "Allocations": [
            {"ID": "1", "JobID": "j", "Namespace": "default", "NodeID": "a", "ClientStatus": "running",
             "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": 300}, "Memory": {"MemoryMB": 70},
                "Devices": [{"Vendor": "x", "Type": "gpu", "Name": "y", "DeviceIDs": ["1"]}]}}, "Shared": {"DiskMB": 9}}},
            {"ID": "2", "JobID": "j", "Namespace": "default", "NodeID": "a", "ClientStatus": "failed",
             "AllocatedResources": {"Tasks": {"t": {"Memory": {"MemoryMB": 70}}}}},
            {"ID": "3", "JobID": "k", "Namespace": "default", "NodeID": "gone", "ClientStatus": "lost"}]}"#;

    #[test]
    fn everything_is_counted_once() {
        let snapshot = read(CLUSTER.as_bytes(), "f").unwrap();
        let now = Time::parse("2026-01-01T00:01:30Z").unwrap().unix_nanos().unwrap();
        let i = inspect(&snapshot, now).unwrap();
        assert_eq!((i.age_seconds, i.index, i.jobs, i.notes.len()), (Some(90), 7, 2, 0));
        assert_eq!(i.client_versions, BTreeMap::from([(String::new(), 4), ("2.0.1".to_string(), 1)]));
        let nodes = NodeCounts { total: 5, ready: 1, ineligible: 1, draining: 1, down: 1, other: 1 };
        assert_eq!(i.total.nodes, nodes);
        assert_eq!(i.total.capacity, Amounts { cpu: 4000, memory: 900, disk: 500 });
        assert_eq!(i.total.used, Amounts { cpu: 300, memory: 70, disk: 9 });
        assert_eq!(i.total.devices["x/gpu/y"], DeviceCounts { instances: 2, healthy: 1, used: 1 });
        assert_eq!(i.total.allocations.values().sum::<usize>(), 3);
        assert_eq!(i.homeless_allocations, BTreeMap::from([(ClientStatus::Lost, 1)]));
        assert_eq!(i.pools.keys().collect::<Vec<_>>(), ["all", "default", "gpu"]);
        assert_eq!((i.pools["all"].nodes, i.pools["all"].jobs.len()), (nodes, 1));
        assert_eq!((i.pools["gpu"].nodes.down, i.pools["gpu"].capacity.memory), (1, 0));
        assert_eq!(i.pools["default"].jobs[&JobType::Batch][&JobStatus::Dead], 1);
        assert_eq!(i.tables.iter().map(|t| t.objects).sum::<usize>(), 12);
        assert!(i.tables.windows(2).all(|t| t[0].bytes >= t[1].bytes));
        assert!((i.tables.iter().map(|t| t.percent).sum::<f64>() - 100.0).abs() < 0.5);
    }

    #[test]
    fn parts_are_rounded() {
        assert_eq!([percent(1, 3), percent(2, 3), percent(0, 0), percent(5, 5)], [33.3, 66.7, 0.0, 100.0]);
    }
}
