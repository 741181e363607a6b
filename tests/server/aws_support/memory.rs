//! A cluster in memory whose nodes run on the instances of a scaling group.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use encamp_autoscale::cluster::{Answer, Cluster, ClusterError, Items, Stored, Usage};
use encamp_autoscale::protection::Servers;
use encamp_model::{Allocation, Job, Node, NodeEligibility};
use encamp_state::{Snapshot, State};
use futures_util::FutureExt;
use futures_util::future::ready;
use serde_json::json;

/// The tables of the cluster.
#[derive(Default)]
struct Tables {
    state: State,
    variables: BTreeMap<String, Stored>,
    /// Nodes whose capacity is held back.
    tolerance: usize,
}

/// The cluster.
#[derive(Default)]
pub(crate) struct Memory(Mutex<Tables>);

impl Memory {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().expect("tables")
    }

    /// A node that runs on that instance registers in the pool `web`.
    pub(crate) fn join(&self, instance: &str) {
        let tolerance = self.tables().tolerance;
        self.tables().write_node(node(instance, tolerance));
    }

    /// The nodes hold back the capacity of so many.
    pub(crate) fn set_tolerance(&self, tolerance: usize) {
        let mut tables = self.tables();
        tables.tolerance = tolerance;
        let all: Vec<Arc<Node>> = tables.state.nodes().map(|e| e.node.clone()).collect();
        for old in all {
            tables.write_node(Node { meta: node(&old.id, tolerance).meta, ..Node::clone(&old) });
        }
    }

    /// A service of one small copy runs on a node.
    pub(crate) fn run_on(&self, instance: &str) {
        let job: Job = serde_json::from_value(json!({
            "ID": "app", "Name": "app", "Namespace": "default", "Type": "service", "Priority": 50,
            "Datacenters": ["*"], "NodePool": "default", "Status": "running",
            "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "exec",
                "Resources": {"CPU": 100, "MemoryMB": 100}}]}],
        }))
        .expect("a job");
        let job = Arc::new(job);
        let alloc: Allocation = serde_json::from_value(json!({
            "ID": "a1", "Name": "app.g[0]", "Namespace": "default", "JobID": "app", "TaskGroup": "g",
            "NodeID": instance, "DesiredStatus": "run", "ClientStatus": "running",
            "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 100}}}},
        }))
        .expect("an allocation");
        let mut tables = self.tables();
        tables.state.upsert_job(job.clone());
        tables.state.upsert_allocs([Arc::new(Allocation { job: Some(job), ..alloc })]);
    }

    /// The service ends.
    pub(crate) fn stop_work(&self) {
        let mut tables = self.tables();
        tables.state.remove_allocs(["a1"]);
        tables.state.remove_job("default", "app");
    }

    /// How many nodes there are.
    pub(crate) fn nodes(&self) -> usize {
        self.tables().state.nodes().count()
    }
}

fn node(instance: &str, tolerance: usize) -> Node {
    let mut node: Node = serde_json::from_value(json!({
        "ID": instance, "Name": instance, "Datacenter": "dc1", "NodePool": "default", "Status": "ready",
        "SchedulingEligibility": "eligible",
        "Attributes": {"kernel.name": "linux", "unique.platform.aws.instance-id": instance},
        "Meta": {
            "replicator_enabled": "true", "replicator_worker_pool": "web", "replicator_region": "eu-west-1",
            "replicator_min": "1", "replicator_max": "4", "replicator_notification_uid": "u",
            "replicator_cooldown": "0", "replicator_scaling_threshold": "1",
            "replicator_node_fault_tolerance": tolerance.to_string(),
        },
        "Drivers": {"exec": {"Detected": true, "Healthy": true}},
        "NodeResources": {"Cpu": {"CpuShares": 1000, "TotalCpuCores": 1}, "Memory": {"MemoryMB": 1000},
            "Disk": {"DiskMB": 10_000}},
    }))
    .expect("a node");
    node.computed_class = node.compute_class();
    node
}

impl Tables {
    fn write_node(&mut self, node: Node) {
        self.state.index += 1;
        let index = self.state.index;
        let create_index = self.state.node(&node.id).map_or(index, |e| e.node.create_index);
        self.state.upsert_node(Arc::new(Node { create_index, modify_index: index, ..node }));
    }

    fn set_eligibility(&mut self, id: &str, eligibility: NodeEligibility) -> Result<(), ClusterError> {
        let found = self.state.node(id).map(|e| Node::clone(&e.node));
        let node = found.ok_or_else(|| ClusterError::NotFound(format!("node {id}")))?;
        self.write_node(Node { scheduling_eligibility: eligibility, ..node });
        Ok(())
    }
}

fn answer<'a, T: Send + 'a>(result: Result<T, ClusterError>) -> Answer<'a, T> {
    ready(result).boxed()
}

impl Cluster for Memory {
    fn name(&self) -> String {
        "global".into()
    }

    fn leads(&self) -> bool {
        true
    }

    fn state(&self) -> Answer<'_, Snapshot> {
        answer(Ok(self.tables().state.snapshot()))
    }

    fn servers(&self) -> Answer<'_, Servers> {
        answer(Ok(Servers::default()))
    }

    fn variable<'a>(&'a self, path: &'a str) -> Answer<'a, Option<Stored>> {
        answer(Ok(self.tables().variables.get(path).cloned()))
    }

    fn write<'a>(&'a self, path: &'a str, items: Items, check: u64) -> Answer<'a, u64> {
        let mut tables = self.tables();
        if tables.variables.get(path).map_or(0, |v| v.modify_index) != check {
            return answer(Err(ClusterError::Conflict(path.into())));
        }
        tables.state.index += 1;
        let modify_index = tables.state.index;
        tables.variables.insert(path.into(), Stored { items, modify_index });
        answer(Ok(modify_index))
    }

    /// Nothing runs on nodes that are removed here: a drain is over at once.
    fn drain<'a>(&'a self, node: &'a str, _: Duration) -> Answer<'a, ()> {
        answer(self.tables().set_eligibility(node, NodeEligibility::Ineligible))
    }

    fn cancel_drain<'a>(&'a self, node: &'a str) -> Answer<'a, ()> {
        answer(self.tables().set_eligibility(node, NodeEligibility::Eligible))
    }

    fn purge<'a>(&'a self, node: &'a str) -> Answer<'a, ()> {
        let mut tables = self.tables();
        tables.state.index += 1;
        tables.state.remove_node(node);
        answer(Ok(()))
    }

    fn scale<'a>(&'a self, job: (&'a str, &'a str), _: &'a str, _: i64, _: &'a str) -> Answer<'a, ()> {
        answer(Err(ClusterError::NotFound(format!("job {}", job.1))))
    }

    fn usage<'a>(&'a self, alloc: &'a str) -> Answer<'a, Usage> {
        answer(Err(ClusterError::NotFound(format!("allocation {alloc}"))))
    }
}
