//! Compares two snapshots; `allocations`: the changes of allocations.

mod allocations;

pub use allocations::{AllocationChanges, Move};

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::file::ClusterSnapshot;
use super::inspect::{Amounts, NodeCounts, total};
use encamp_model::{ClientStatus, Job, Time};
use encamp_state::{NodeEntry, State};

/// The differences; `docs/reference/snapshot-diff.schema.json` describes the JSON form.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SnapshotDiff {
    /// Version of this form.
    pub schema_version: u64,
    /// Whether nothing below differs.
    pub equal: bool,
    /// The first snapshot.
    pub old: Side,
    /// The second one.
    pub new: Side,
    /// Nodes that differ, by ID.
    pub nodes: Vec<ObjectChange>,
    /// Jobs that differ, by namespace and ID.
    pub jobs: Vec<JobChange>,
    /// Groups whose allocations differ, by namespace, job and name.
    pub allocations: Vec<AllocationChanges>,
    /// Deployments that differ, by ID.
    pub deployments: Vec<ObjectChange>,
    /// Node pools that differ.
    pub node_pools: Vec<ObjectChange>,
    /// Namespaces that differ.
    pub namespaces: Vec<ObjectChange>,
    /// Differences of the scheduler configuration.
    pub scheduler_configuration: Vec<Field>,
    /// Volumes that differ, by namespace and ID.
    pub volumes: Vec<ObjectChange>,
}

/// One of the two snapshots.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Side {
    /// Where it was read.
    pub source: String,
    /// When it was read.
    pub taken_at: Time,
    /// Latest index of the state.
    pub index: u64,
    /// Nodes by what they are doing.
    pub nodes: NodeCounts,
    /// Capacity of nodes that are not down.
    pub capacity: Amounts,
    /// The used part of it.
    pub used: Amounts,
    /// Allocations by client status.
    pub allocations: BTreeMap<ClientStatus, usize>,
}

/// The kind of change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It differs.
    Changed,
}

/// A value that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Field {
    /// The name of the value.
    pub name: String,
    /// Before; empty if there was none.
    pub old: String,
    /// After; empty if there is none.
    pub new: String,
}

/// An object that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ObjectChange {
    /// Its ID, or its name where that is its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Its name or subject.
    pub name: String,
    /// The kind of change.
    pub change: Change,
    /// Its differences, if it is in both.
    pub fields: Vec<Field>,
}

/// A job that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobChange {
    /// Its namespace.
    pub namespace: String,
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The kind of change.
    pub change: Change,
    /// Its differences: version, status, whether it is stopped.
    pub fields: Vec<Field>,
    /// Where the two versions differ, in words. Comparing jobs is not this crate's business: whoever asks fills it in.
    pub summary: Vec<String>,
}

/// Compares two snapshots. Indexes, times and sources are reported but don't count as differences.
pub fn diff(old: &ClusterSnapshot, new: &ClusterSnapshot) -> SnapshotDiff {
    let (a, b) = (&old.state, &new.state);
    let pools = |s: &State| s.node_pools().map(|p| (p.name.clone(), plain(p.as_ref()))).collect();
    let namespaces = |s: &State| s.namespaces().map(|n| (n.name.clone(), plain(n.as_ref()))).collect();
    let volumes = |s: &State| {
        let csi = s.csi_volumes().map(|v| (format!("csi/{}/{}", v.namespace, v.id), plain(v.as_ref())));
        csi.chain(s.host_volumes().map(|v| (format!("host/{}/{}", v.namespace, v.id), plain(v.as_ref())))).collect()
    };
    let configuration = |s: &State| s.scheduler_config.as_deref().map(plain).unwrap_or_default();
    let mut diff = SnapshotDiff {
        schema_version: 1,
        equal: false,
        old: side(old),
        new: side(new),
        nodes: nodes(a, b),
        jobs: jobs(a, b),
        allocations: allocations::changes(a, b),
        deployments: deployments(a, b),
        node_pools: objects(pools(a), pools(b)),
        namespaces: objects(namespaces(a), namespaces(b)),
        scheduler_configuration: fields(&configuration(a), &configuration(b)),
        volumes: objects(volumes(a), volumes(b)),
    };
    diff.equal = diff.nodes.is_empty()
        && diff.jobs.is_empty()
        && diff.allocations.is_empty()
        && diff.deployments.is_empty()
        && diff.node_pools.is_empty()
        && diff.namespaces.is_empty()
        && diff.scheduler_configuration.is_empty()
        && diff.volumes.is_empty();
    diff
}

fn side(s: &ClusterSnapshot) -> Side {
    let total = total(s);
    Side {
        source: s.source.clone(),
        taken_at: s.taken_at,
        index: s.state.index,
        nodes: total.nodes,
        capacity: total.capacity,
        used: total.used,
        allocations: total.allocations,
    }
}

/// The values of an object by name.
type Values = BTreeMap<String, String>;

/// The values of a small object as text: nested ones by path. Bookkeeping does not count, secrets are not shown.
fn plain<T: Serialize>(object: &T) -> Values {
    fn add(path: &str, value: &Value, out: &mut Values) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    let own = !["CreateIndex", "ModifyIndex", "ModifyTime", "Hash"].contains(&name.as_str());
                    if own && !["Secrets", "Parameters", "Context"].contains(&name.as_str()) {
                        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                        add(&path, value, out);
                    }
                }
            }
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => drop(out.insert(path.to_string(), text.clone())),
            Value::Array(items) if items.is_empty() => {}
            other => drop(out.insert(path.to_string(), other.to_string())),
        }
    }
    let mut out = Values::new();
    if let Ok(value) = serde_json::to_value(object) {
        add("", &value, &mut out);
    }
    out
}

fn fields(old: &Values, new: &Values) -> Vec<Field> {
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let text = |values: &Values, name: &String| values.get(name).cloned().unwrap_or_default();
    let field = |name: &String| Field { name: name.clone(), old: text(old, name), new: text(new, name) };
    names.into_iter().map(field).filter(|f| f.old != f.new).collect()
}

/// Pairs of what is on either side of two sorted lists.
fn pairs<K: Ord + Clone, V>(old: BTreeMap<K, V>, new: BTreeMap<K, V>) -> BTreeMap<K, (Option<V>, Option<V>)> {
    let mut out: BTreeMap<K, (Option<V>, Option<V>)> = old.into_iter().map(|(k, v)| (k, (Some(v), None))).collect();
    for (k, v) in new {
        out.entry(k).or_default().1 = Some(v);
    }
    out
}

/// The change between two sides, `None` if there is none.
fn change<V>(pair: &(Option<V>, Option<V>), differs: impl FnOnce(&V, &V) -> bool) -> Option<Change> {
    match pair {
        (None, Some(_)) => Some(Change::Added),
        (Some(_), None) => Some(Change::Removed),
        (Some(old), Some(new)) if differs(old, new) => Some(Change::Changed),
        _ => None,
    }
}

fn objects(old: BTreeMap<String, Values>, new: BTreeMap<String, Values>) -> Vec<ObjectChange> {
    let changed = pairs(old, new).into_iter().filter_map(|(id, pair)| {
        let change = change(&pair, |old, new| old != new)?;
        let fields = pair.0.zip(pair.1).map(|(old, new)| fields(&old, &new)).unwrap_or_default();
        Some(ObjectChange { name: id.clone(), id, change, fields })
    });
    changed.collect()
}

fn nodes(old: &State, new: &State) -> Vec<ObjectChange> {
    let by_id = |s: &State| s.nodes().map(|n| (n.node.id.clone(), (n.node.name.clone(), node(n)))).collect();
    named(by_id(old), by_id(new))
}

fn named(old: BTreeMap<String, (String, Values)>, new: BTreeMap<String, (String, Values)>) -> Vec<ObjectChange> {
    let changed = pairs(old, new).into_iter().filter_map(|(id, pair)| {
        let change = change(&pair, |old, new| old.1 != new.1)?;
        let name = pair.1.as_ref().or(pair.0.as_ref()).map(|(name, _)| name.clone()).unwrap_or_default();
        let fields = pair.0.zip(pair.1).map(|((_, old), (_, new))| fields(&old, &new)).unwrap_or_default();
        Some(ObjectChange { id, name, change, fields })
    });
    changed.collect()
}

/// The compared values of a node.
fn node(n: &NodeEntry) -> Values {
    let node = &n.node;
    let mut out = Values::new();
    let mut set = |name: &str, value: String| drop(out.insert(name.to_string(), value));
    set("Name", node.name.clone());
    set("Datacenter", node.datacenter.clone());
    set("NodePool", node.node_pool.clone());
    set("NodeClass", node.node_class.clone());
    set("Status", node.status.to_string());
    set("SchedulingEligibility", node.scheduling_eligibility.to_string());
    set("Drain", node.drain_strategy.is_some().to_string());
    set("CPU", n.info.cpu.to_string());
    set("MemoryMB", n.info.memory.to_string());
    set("DiskMB", n.info.disk.to_string());
    set("Cores", n.info.usable_cores.len().to_string());
    for d in node.node_resources.iter().flat_map(|r| &r.devices) {
        let healthy = d.instances.iter().filter(|i| i.healthy).count();
        set(&format!("Devices.{}/{}/{}", d.vendor, d.r#type, d.name), healthy.to_string());
    }
    for (name, driver) in &node.drivers {
        set(&format!("Drivers.{name}"), if driver.healthy { "healthy" } else { "unhealthy" }.to_string());
    }
    node.attributes.iter().for_each(|(k, v)| set(&format!("Attributes.{k}"), v.clone()));
    node.meta.iter().for_each(|(k, v)| set(&format!("Meta.{k}"), v.clone()));
    out
}

fn deployments(old: &State, new: &State) -> Vec<ObjectChange> {
    let by_id = |s: &State| {
        let all = s.deployments().map(|d| {
            let mut values = Values::from([("Status".to_string(), d.status.to_string())]);
            for (group, state) in d.task_groups.iter().filter_map(|(g, s)| Some((g, s.as_ref()?))) {
                let mut set = |name: &str, value: String| drop(values.insert(format!("{group}.{name}"), value));
                set("Promoted", state.promoted.to_string());
                set("DesiredTotal", state.desired_total.to_string());
                set("PlacedAllocs", state.placed_allocs.to_string());
                set("HealthyAllocs", state.healthy_allocs.to_string());
                set("UnhealthyAllocs", state.unhealthy_allocs.to_string());
            }
            (d.id.clone(), (format!("{}@{} version {}", d.job_id, d.namespace, d.job_version), values))
        });
        all.collect()
    };
    named(by_id(old), by_id(new))
}

fn jobs(old: &State, new: &State) -> Vec<JobChange> {
    let by_id = |s: &State| {
        let all = s.jobs().map(|j| ((j.current.namespace.clone(), j.current.id.clone()), job(&j.current)));
        all.collect::<BTreeMap<_, _>>()
    };
    let changed = pairs(by_id(old), by_id(new)).into_iter().filter_map(|((namespace, id), pair)| {
        let change = change(&pair, |old, new| old != new)?;
        let fields = pair.0.zip(pair.1).map(|(old, new)| fields(&old, &new)).unwrap_or_default();
        Some(JobChange { namespace, id, change, fields, summary: Vec::new() })
    });
    changed.collect()
}

/// The compared values of a job besides its specification, of which the version stands for all.
fn job(job: &Job) -> Values {
    let values = [
        ("Version", job.version.to_string()),
        ("CreateIndex", job.create_index.to_string()),
        ("Status", job.status.to_string()),
        ("Stop", job.stop.to_string()),
        ("Stable", job.stable.to_string()),
    ];
    values.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    fn snapshot(json: &str) -> ClusterSnapshot {
        read(format!(r#"{{"Version": 1, {json}}}"#).as_bytes(), "f").unwrap()
    }

    #[test]
    fn a_snapshot_equals_itself_and_its_time_does_not_count() {
        let a = snapshot(r#""Nodes": [{"ID": "n"}], "Index": 1, "Source": "x""#);
        let b = snapshot(r#""Nodes": [{"ID": "n", "ModifyIndex": 7}], "Index": 9, "Source": "y""#);
        assert!(diff(&a, &a).equal && diff(&a, &b).equal);
        assert_eq!((diff(&a, &b).old.index, diff(&a, &b).new.index), (1, 9));
    }

    #[test]
    fn nodes_jobs_and_configuration_are_compared() {
        let a = snapshot(
            r#""Nodes": [{"ID": "a", "Status": "ready", "NodeClass": "x", "Meta": {"r": "1"}}, {"ID": "b"}],
            "NodePools": [{"Name": "p", "Description": "old"}], "Namespaces": [{"Name": "n"}],
            "SchedulerConfiguration": {"SchedulerAlgorithm": "binpack"},
            "Deployments": [{"ID": "d", "JobID": "j", "Status": "running"}],
            "Jobs": [{"ID": "j", "Namespace": "n", "Version": 1, "Status": "running"}, {"ID": "k", "Namespace": "n"}]"#,
        );
        let b = snapshot(
            r#""Nodes": [{"ID": "a", "Name": "web", "Status": "down", "NodeClass": "x", "Meta": {"r": "2"}}, {"ID": "c"}],
            "NodePools": [{"Name": "p", "Description": "new"}, {"Name": "q"}], "Namespaces": [],
            "SchedulerConfiguration": {"SchedulerAlgorithm": "spread"},
            "Deployments": [{"ID": "d", "JobID": "j", "Status": "failed"}],
            "Jobs": [{"ID": "j", "Namespace": "n", "Version": 1, "Status": "running"},
                     {"ID": "j", "Namespace": "n", "Version": 2, "Stop": true, "Status": "dead"}]"#,
        );
        let d = diff(&a, &b);
        assert!(!d.equal);
        let names = |fields: &[Field]| fields.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        let changes: Vec<_> = d.nodes.iter().map(|n| (n.id.as_str(), n.change)).collect();
        assert_eq!(changes, [("a", Change::Changed), ("b", Change::Removed), ("c", Change::Added)]);
        assert_eq!(names(&d.nodes[0].fields), ["Meta.r", "Name", "Status"]);
        assert_eq!(
            d.jobs.iter().map(|j| (j.id.as_str(), j.change)).collect::<Vec<_>>(),
            [("j", Change::Changed), ("k", Change::Removed)]
        );
        assert_eq!(names(&d.jobs[0].fields), ["Status", "Stop", "Version"]);
        assert_eq!((d.node_pools.len(), d.namespaces.len(), d.deployments.len()), (2, 1, 1));
        assert_eq!(names(&d.scheduler_configuration), ["SchedulerAlgorithm"]);
        assert_eq!(d.deployments[0].fields[0].new, "failed");
    }
}
