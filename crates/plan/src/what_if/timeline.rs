//! Several what-ifs one after the other, on a cluster that keeps running in between.

use std::sync::Arc;

use super::cascade::{Cascade, Known};
use super::change::{Change, ChangeError};
use super::drained;
use super::edit::{Edited, edit, join};
use super::outcome::{Outcome, outcome};
use crate::evaluate::Made;
use encamp_model::*;
use encamp_state::{Id, State};

/// A series of IDs of its own: a [`what_if`](super::what_if) of the state makes others.
const SERIES: u16 = 4;

/// A cluster to which things happen. New allocations run at once and are healthy; what was stopped is forgotten.
#[derive(Debug)]
pub struct Timeline {
    state: State,
    made: Made,
}

impl Timeline {
    /// Begins with a state.
    pub fn new(state: State) -> Timeline {
        Timeline { state, made: Made::new(SERIES) }
    }

    /// The state now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Carries changes out at `now` (Unix nanoseconds) as [`what_if`](super::what_if) does, and goes on from there.
    ///
    /// # Errors
    /// A change names what is not there, or what servers would refuse. Nothing happened then.
    pub fn change(&mut self, changes: &[Change], namespace: &str, now: i64) -> Result<Outcome, ChangeError> {
        Ok(self.follow(edit(&self.state, changes, namespace, now)?, now))
    }

    /// Drains a node, named by its full ID, to the end; allocations of system jobs stay.
    ///
    /// # Errors
    /// No node has this ID, or it is down.
    pub fn drain(&mut self, node_id: &str, now: i64) -> Result<Outcome, ChangeError> {
        Ok(self.follow(drained(&self.state, node_id, now)?, now))
    }

    /// A node joins; what waits for capacity is tried again. Its indexes are set here.
    pub fn join(&mut self, node: Node, now: i64) -> Outcome {
        self.follow(join(&self.state, node), now)
    }

    /// Removes a node with whatever is left on it. False: there is none.
    pub fn remove_node(&mut self, id: &str) -> bool {
        let Some(entry) = self.state.node(id).cloned() else { return false };
        let left: Vec<String> = entry.allocs.iter().map(|a| a.alloc.id.to_string()).collect();
        self.state.remove_allocs(left.iter().map(String::as_str));
        self.state.remove_node(id);
        self.state.index = self.state.index.saturating_add(1);
        true
    }

    /// Goes back to a state of before. IDs that were given since are not given again.
    pub fn go_back(&mut self, state: State) {
        self.state = state;
    }

    fn follow(&mut self, edited: Edited, now: i64) -> Outcome {
        let before = self.state.clone();
        let (changes, mut notes) = (edited.descriptions.clone(), edited.notes.clone());
        let (draining, down) = (edited.draining.clone(), edited.down.clone());
        let made = std::mem::replace(&mut self.made, Made::new(SERIES));
        let cascade = Cascade::run_with(&before, edited, &Known::default(), now, made);
        notes.extend(cascade.notes());
        let outcome = outcome(&before, &cascade, (&draining, &down), changes, notes);
        let touched: Vec<Id> = cascade.touched.iter().cloned().collect();
        (self.state, self.made) = cascade.into_parts();
        self.settle(&touched);
        outcome
    }

    /// The actions of servers meanwhile: deployments succeed, and terminal objects are collected. Terminal batch work
    /// stays: it keeps its place in its job.
    fn settle(&mut self, touched: &[Id]) {
        let entries = || touched.iter().filter_map(|id| self.state.alloc_at(id)).map(|e| &e.alloc);
        let ended = entries().filter(|a| a.terminal() && !a.of_batch_job()).map(|a| a.id.to_string());
        let ended: Vec<String> = ended.collect();
        self.state.remove_allocs(ended.iter().map(String::as_str));
        let deployments: Vec<Arc<Deployment>> = self.state.deployments().filter(|d| d.active()).cloned().collect();
        for d in deployments {
            let mut d = Deployment::clone(&d);
            d.status = DeploymentStatus::Successful;
            self.state.upsert_deployment(Arc::new(d));
        }
        let latest =
            |d: &Deployment| self.state.latest_deployment(&d.namespace, &d.job_id).is_some_and(|l| l.id == d.id);
        let old: Vec<String> = self.state.deployments().filter(|d| !latest(d)).map(|d| d.id.clone()).collect();
        for id in old {
            self.state.remove_deployment(&id);
        }
        let versions: Vec<(String, String, u64)> = self.state.jobs().flat_map(past_versions).collect();
        for (namespace, id, version) in versions {
            self.state.remove_job_version(&namespace, &id, version);
        }
    }
}

/// The versions of a job besides the current one.
fn past_versions(entry: &Arc<encamp_state::JobEntry>) -> Vec<(String, String, u64)> {
    let job = &entry.current;
    let past = entry.versions.keys().filter(|v| **v != job.version);
    past.map(|v| (job.namespace.clone(), job.id.clone(), *v)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::copy_of;
    use super::*;

    const NOW: i64 = 1_800_000_000 * SECOND;

    fn cluster() -> State {
        let node = json!({
            "ID": "n1", "Name": "worker-1", "Datacenter": "dc1", "NodePool": "default", "Status": "ready",
            "SchedulingEligibility": "eligible", "ModifyIndex": 5, "CreateIndex": 5,
            "Attributes": {"unique.hostname": "worker-1", "kernel.name": "linux"},
            "Drivers": {"exec": {"Detected": true, "Healthy": true}},
            "NodeResources": {"Cpu": {"CpuShares": 1000, "TotalCpuCores": 1}, "Memory": {"MemoryMB": 1000},
                "Disk": {"DiskMB": 1000},
                "Networks": [{"Mode": "host", "Device": "eth0", "CIDR": "10.0.0.1/32", "IP": "10.0.0.1"}]},
        });
        let job = json!({
            "ID": "web", "Name": "web", "Namespace": "default", "Type": "service", "Priority": 50, "Datacenters": ["*"],
            "NodePool": "default", "Status": "running", "CreateIndex": 10, "ModifyIndex": 10, "JobModifyIndex": 10,
            "TaskGroups": [{"Name": "g", "Count": 0, "EphemeralDisk": {"SizeMB": 10},
                "Update": {"MaxParallel": 1}, "Migrate": {"MaxParallel": 1},
                "Tasks": [{"Name": "t", "Driver": "exec", "Resources": {"CPU": 300, "MemoryMB": 100}}]}],
        });
        let mut state = State::new();
        let mut node: Node = serde_json::from_value(node).expect("a node");
        node.computed_class = node.compute_class();
        state.upsert_node(Arc::new(node));
        state.upsert_job(Arc::new(serde_json::from_value(job).expect("a job")));
        state.index = 20;
        state
    }

    fn scale(timeline: &mut Timeline, count: i64) -> Outcome {
        let change = Change::Scale { job: "web".into(), group: "g".into(), count };
        timeline.change(&[change], "default", NOW).expect("a change that is right")
    }

    fn running(timeline: &Timeline) -> Vec<String> {
        let live = timeline.state().allocs().filter(|e| !e.phase.terminal());
        live.map(|e| format!("{} on {}", e.alloc.name, e.alloc.node_id)).collect()
    }

    #[test]
    fn a_cluster_goes_on_from_change_to_change() {
        let mut t = Timeline::new(cluster());
        assert_eq!(scale(&mut t, 2).unplaced, []);
        assert_eq!(scale(&mut t, 5).unplaced.iter().map(|u| u.count).sum::<i64>(), 2);
        assert_eq!(running(&t).len(), 3);
        assert!(t.state().deployments().all(|d| !d.active()));
        let model = t.state().node("n1").expect("a node").node.clone();
        let joined = t.join(copy_of(&model, "worker-2", "n2"), NOW);
        assert_eq!((joined.placed.len(), joined.unplaced.len()), (2, 0));
        let copy = t.state().node("n2").expect("the new node");
        assert_eq!(copy.node.attributes.get("unique.hostname").map(String::as_str), Some("worker-2"));

        let mut ids: Vec<String> = t.state().allocs().map(|e| e.alloc.id.to_string()).collect();
        ids.dedup();
        assert_eq!(ids.len(), 5, "no ID was given twice");
        // Another what-if of the state makes other IDs.
        let change = Change::Scale { job: "web".into(), group: "g".into(), count: 6 };
        let w = super::super::what_if(t.state(), &[change], "default", NOW).expect("a change that is right");
        assert_eq!(w.state.allocs().count(), 6);
    }

    #[test]
    fn what_ended_is_forgotten_and_nodes_leave() {
        let mut t = Timeline::new(cluster());
        scale(&mut t, 3);
        let model = t.state().node("n1").expect("a node").node.clone();
        t.join(copy_of(&model, "worker-2", "n2"), NOW);
        let before = t.state().clone();
        let drained = t.drain("n1", NOW).expect("a drain");
        assert_eq!(drained.displaced.len(), 3);
        assert_eq!(running(&t), ["web.g[0] on n2", "web.g[1] on n2", "web.g[2] on n2"]);
        assert_eq!(t.state().allocs().count(), 3, "stopped allocations are gone");
        assert!(t.remove_node("n1") && !t.remove_node("n1"));
        assert_eq!(t.state().nodes().count(), 1);
        for count in [1, 2, 3, 1] {
            scale(&mut t, count);
        }
        let job = t.state().job_entry("default", "web").expect("the job");
        assert_eq!((job.versions.len(), t.state().deployments().count()), (1, 1));
        t.go_back(before);
        assert_eq!(running(&t).iter().filter(|a| a.ends_with("n1")).count(), 3);
    }
}
