//! Clusters, pools and allocations for tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use encamp_model::{Allocation, Job, JobType, Node, SECOND};
use encamp_state::State;

use crate::cooldown::Cooldowns;
use crate::params::{PoolParameters, ProviderKind};
use crate::registry::Pool;
use crate::view::{Amounts, NodeView, PoolView};

/// The time of tests, Unix nanoseconds.
pub(crate) const NOW: i64 = 1_800_000_000 * SECOND;

/// Writes members of one JSON object over those of another.
fn merge(value: &mut Value, more: Value) {
    for (name, member) in more.as_object().into_iter().flatten() {
        value[name] = member.clone();
    }
}

/// Meta of a node that holds a full configuration of pool `web`.
pub(crate) fn pool_meta(more: Value) -> Value {
    let mut meta = json!({
        "replicator_enabled": "true", "replicator_max": "10", "replicator_min": "1",
        "replicator_notification_uid": "uid", "replicator_region": "eu-1", "replicator_worker_pool": "web",
    });
    merge(&mut meta, more);
    meta
}

/// A ready node of 10,000 MHz, 10,000 MB of memory and of disk, with instance `i-ID`.
pub(crate) fn node(id: &str, more: Value) -> Arc<Node> {
    let mut value = json!({
        "ID": id, "Name": format!("name-{id}"), "Datacenter": "dc1", "NodePool": "default",
        "Status": "ready", "SchedulingEligibility": "eligible", "ModifyIndex": 5, "CreateIndex": 5,
        "Attributes": {"kernel.name": "linux", "unique.platform.aws.instance-id": format!("i-{id}")},
        "Meta": pool_meta(json!({})),
        "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {"Cpu": {"CpuShares": 10_000, "TotalCpuCores": 4}, "Memory": {"MemoryMB": 10_000},
            "Disk": {"DiskMB": 10_000},
            "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": "10.0.0.1/32", "IP": "10.0.0.1"}]},
    });
    merge(&mut value, more);
    let mut node: Node = serde_json::from_value(value).expect("a node");
    node.computed_class = node.compute_class();
    Arc::new(node)
}

/// A job with one group `g` and one task `t` of 1,000 MHz, 2,000 MB and 300 MB of disk.
pub(crate) fn job(id: &str, kind: JobType, more: Value) -> Arc<Job> {
    let mut value = json!({
        "ID": id, "Name": id, "Namespace": "default", "Type": kind, "Priority": 50, "Datacenters": ["*"],
        "NodePool": "default", "Status": "running", "CreateIndex": 10, "ModifyIndex": 10, "JobModifyIndex": 10,
        "TaskGroups": [group("g", 1, json!({}))],
    });
    merge(&mut value, more);
    Arc::new(serde_json::from_value(value).expect("a job"))
}

/// A group as [`job`] has it.
pub(crate) fn group(name: &str, count: i64, more: Value) -> Value {
    let mut value = json!({"Name": name, "Count": count, "Migrate": {"MaxParallel": 1},
        "EphemeralDisk": {"SizeMB": 300}, "Tasks": [task("t", 1000, 2000)]});
    merge(&mut value, more);
    value
}

/// A task of so many MHz and MB.
pub(crate) fn task(name: &str, cpu: i64, memory: i64) -> Value {
    json!({"Name": name, "Driver": "exec", "Resources": {"CPU": cpu, "MemoryMB": memory}})
}

/// A running allocation of group `g` with task `t`, of so many MHz, MB and MB of disk.
pub(crate) fn alloc(id: &str, job: &Arc<Job>, node: &str, amounts: (i64, i64, i64), more: Value) -> Arc<Allocation> {
    let (cpu, memory, disk) = amounts;
    let mut value = json!({
        "ID": id, "Name": format!("{}.g[0]", job.id), "Namespace": job.namespace, "JobID": job.id, "TaskGroup": "g",
        "NodeID": node, "NodeName": node, "DesiredStatus": "run", "ClientStatus": "running",
        "CreateIndex": 11, "ModifyIndex": 11,
        "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": cpu}, "Memory": {"MemoryMB": memory}}},
            "Shared": {"DiskMB": disk}},
    });
    merge(&mut value, more);
    let a: Allocation = serde_json::from_value(value).expect("an allocation");
    Arc::new(Allocation { job: Some(job.clone()), ..a })
}

/// The defaults with 1 to 10 nodes, and one request being enough.
pub(crate) fn parameters() -> PoolParameters {
    PoolParameters {
        worker_pool: "web".into(),
        enabled: true,
        max: 10,
        min: 1,
        notification_uid: "uid".into(),
        region: "eu-1".into(),
        provider: ProviderKind::Aws,
        cooldown: Cooldowns::one(Duration::from_secs(300)),
        node_fault_tolerance: 1,
        retry_threshold: 3,
        scaling_threshold: 1,
        scale_factor: 1,
    }
}

/// A pool of some nodes.
pub(crate) fn pool(nodes: &[&str], parameters: PoolParameters) -> Pool {
    let nodes = nodes.iter().map(|n| n.to_string()).collect();
    Pool { name: "web".into(), parameters, nodes, disagreements: Vec::new() }
}

/// A state of nodes `n1`, `n2`, ... as [`node`] makes them.
pub(crate) fn cluster(nodes: usize) -> State {
    let mut state = State::new();
    for n in 1..=nodes {
        state.upsert_node(node(&format!("n{n}"), json!({})));
    }
    state.index = 20;
    state
}

/// CPU, memory and disk.
pub(crate) fn amounts(cpu: i64, memory: i64, disk: i64) -> Amounts {
    Amounts { cpu, memory, disk }
}

/// A view of `nodes` equal nodes, with these totals.
pub(crate) fn pool_view(nodes: usize, total: Amounts, consumed: Amounts, reserve: Amounts) -> PoolView {
    let one = |n: usize| NodeView {
        id: format!("n{n}"),
        name: format!("name-n{n}"),
        instance_id: Some(format!("i-n{n}")),
        capacity: Amounts::default(),
        consumed: Amounts::default(),
        allocations: 0,
        protected: None,
    };
    PoolView { nodes: (1..=nodes).map(one).collect(), total, consumed, reserve }
}

/// Meta from pairs.
pub(crate) fn meta(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
}
