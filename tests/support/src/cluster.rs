//! A running cluster as its HTTP API shows it: the recorded answers of `tests/oracle/archive` (all of one index),
//! served.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::oracle;
use crate::server::{Request, Response, Server};

/// The objects by kind and key. Tests change them while the server runs.
#[derive(Debug, Default, Clone)]
pub struct Cluster {
    pub index: u64,
    pub nodes: BTreeMap<String, Value>,
    /// With their jobs.
    pub allocations: BTreeMap<String, Value>,
    /// All versions, newest first, by namespace and ID.
    pub jobs: BTreeMap<(String, String), Vec<Value>>,
    /// Answers of lists that have no single objects.
    pub lists: BTreeMap<&'static str, Value>,
    /// Rows of a page at most.
    pub page: usize,
    /// What is answered instead, by the beginning of the path.
    pub failures: Vec<(String, Response)>,
}

fn key(v: &Value, name: &str) -> String {
    v[name].as_str().unwrap_or_default().to_string()
}

impl Cluster {
    /// A sample of the archive oracle, `None` without one.
    pub fn recorded(sample: &str) -> Option<Cluster> {
        let all = oracle::json(&format!("archive/{sample}.expected.json"))?;
        let mut cluster = Cluster { index: all["SnapshotIndex"].as_u64().unwrap(), page: 1000, ..Cluster::default() };
        for n in all["Nodes"].as_array().unwrap() {
            cluster.nodes.insert(key(n, "ID"), n.clone());
        }
        for a in all["Allocations"].as_array().unwrap() {
            let mut a = a.clone();
            let job = all["AllocJobs"][key(&a, "JobRef")].clone();
            a.as_object_mut().unwrap().remove("JobRef");
            a["Job"] = job;
            cluster.allocations.insert(key(&a, "ID"), a);
        }
        for j in all["JobVersions"].as_array().unwrap() {
            cluster.jobs.entry((key(j, "Namespace"), key(j, "ID"))).or_default().push(j.clone());
        }
        for (path, list) in [
            ("/v1/deployments", "Deployments"),
            ("/v1/namespaces", "Namespaces"),
            ("/v1/node/pools", "NodePools"),
            ("/v1/operator/scheduler/configuration", "SchedulerConfiguration"),
        ] {
            cluster.lists.insert(path, all[list].clone());
        }
        Some(cluster)
    }

    /// Only so many nodes and what is on them: the same rules in less time.
    pub fn shrunk(mut self, nodes: usize) -> Cluster {
        let kept: Vec<String> = self.nodes.keys().take(nodes).cloned().collect();
        self.nodes.retain(|id, _| kept.contains(id));
        self.allocations.retain(|_, a| kept.contains(&key(a, "NodeID")));
        self
    }

    pub fn answer(&self, r: &Request) -> Response {
        if let Some((_, response)) = self.failures.iter().find(|(p, _)| r.path.starts_with(p.as_str())) {
            return response.clone();
        }
        let in_scope =
            |namespace: &str| matches!(r.param("namespace").unwrap_or("default"), n if n == "*" || n == namespace);
        let rest = |prefix: &str| r.path.strip_prefix(prefix).map(str::to_string);
        let one = |v: Option<&Value>| v.map_or(Response::text(404, "not found"), Response::json);
        // Whatever is registered is accepted and changes nothing.
        if r.path == "/v1/jobs" && r.method == "PUT" {
            return Response::json(&json!({"EvalID": "", "JobModifyIndex": self.index, "Warnings": ""}));
        }
        if r.path == "/v1/nodes" {
            return self.rows(r, self.nodes.values().map(node_stub).collect());
        }
        if r.path == "/v1/allocations" {
            assert_eq!(r.param("task_states").is_some(), r.param("resources").is_some());
            let seen = self.allocations.values().filter(|a| in_scope(&key(a, "Namespace")));
            return self.rows(r, seen.map(|a| alloc_stub(a, r.param("resources") == Some("true"))).collect());
        }
        if r.path == "/v1/jobs" {
            let begins = |id: &str| r.param("prefix").is_none_or(|p| id.starts_with(p));
            let seen = self.jobs.iter().filter(|(k, _)| in_scope(&k.0) && begins(&k.1));
            return self.rows(r, seen.map(|(_, v)| job_stub(&v[0])).collect());
        }
        if let Some(list) = self.lists.get(r.path.as_str()) {
            return self.indexed(Response::json(list));
        }
        if r.path == "/v1/agent/self" {
            let vault = json!({"Name": "default", "Enabled": true, "DefaultIdentity": null});
            return Response::json(&json!({"config": {"Vaults": [vault], "Consuls": []}, "member": {}, "stats": {}}));
        }
        if r.path == "/v1/volumes" || r.path == "/v1/volumes/claims" {
            return self.indexed(Response::json(&json!([])));
        }
        if let Some(id) = rest("/v1/node/") {
            if let Some(id) = id.strip_suffix("/allocations") {
                let all: Vec<&Value> = self.allocations.values().filter(|a| key(a, "NodeID") == id).collect();
                return self.indexed(Response::json(&all));
            }
            return self.indexed(one(self.nodes.get(&id)));
        }
        if let Some(id) = rest("/v1/allocation/") {
            return self.indexed(one(self.allocations.get(&id)));
        }
        if let Some(id) = rest("/v1/job/").as_deref().and_then(|r| r.strip_suffix("/versions")) {
            let namespace = r.param("namespace").unwrap_or("default").to_string();
            let versions = self.jobs.get(&(namespace, id.to_string())).map(|v| json!({"Versions": v, "Diffs": null}));
            return self.indexed(one(versions.as_ref()));
        }
        if let Some(id) = rest("/v1/job/") {
            let namespace = r.param("namespace").unwrap_or("default").to_string();
            return self.indexed(one(self.jobs.get(&(namespace, id)).map(|versions| &versions[0])));
        }
        Response::text(404, "not found")
    }

    fn indexed(&self, response: Response) -> Response {
        response.with("X-Nomad-Index", self.index).with("X-Nomad-KnownLeader", true).with("X-Nomad-LastContact", 0)
    }

    /// A page of a list.
    fn rows(&self, r: &Request, rows: Vec<Value>) -> Response {
        let start = r.param("next_token").map_or(0, |t| t.parse().unwrap());
        let asked: usize = r.param("per_page").map_or(0, |p| p.parse().unwrap());
        let size = if asked == 0 { rows.len() } else { asked.min(self.page) };
        let page: Vec<&Value> = rows.iter().skip(start).take(size).collect();
        let response = self.indexed(Response::json(&page));
        if start + size < rows.len() { response.with("X-Nomad-NextToken", start + size) } else { response }
    }
}

fn pick(v: &Value, names: &[&str]) -> Value {
    names.iter().map(|n| (n.to_string(), v[*n].clone())).collect()
}

fn node_stub(n: &Value) -> Value {
    pick(
        n,
        &[
            "ID",
            "Name",
            "Datacenter",
            "NodeClass",
            "NodePool",
            "Status",
            "SchedulingEligibility",
            "Drain",
            "CreateIndex",
            "ModifyIndex",
        ],
    )
}

fn job_stub(j: &Value) -> Value {
    pick(
        j,
        &[
            "ID",
            "Namespace",
            "Name",
            "Type",
            "Priority",
            "Status",
            "Stop",
            "SubmitTime",
            "CreateIndex",
            "ModifyIndex",
            "JobModifyIndex",
        ],
    )
}

fn alloc_stub(a: &Value, resources: bool) -> Value {
    let mut out = pick(
        a,
        &[
            "ID",
            "EvalID",
            "Name",
            "Namespace",
            "NodeID",
            "NodeName",
            "JobID",
            "TaskGroup",
            "DesiredStatus",
            "DesiredDescription",
            "ClientStatus",
            "ClientDescription",
            "DesiredTransition",
            "DeploymentStatus",
            "FollowupEvalID",
            "NextAllocation",
            "RescheduleTracker",
            "PreemptedAllocations",
            "PreemptedByAllocation",
            "CreateIndex",
            "ModifyIndex",
            "CreateTime",
            "ModifyTime",
        ],
    );
    out["JobType"] = a["Job"]["Type"].clone();
    out["JobVersion"] = a["Job"]["Version"].clone();
    if resources {
        out["AllocatedResources"] = a["AllocatedResources"].clone();
    }
    out
}

/// Serves a cluster; the test can change it meanwhile.
pub fn serve(cluster: Cluster) -> (Server, Arc<Mutex<Cluster>>) {
    let shared = Arc::new(Mutex::new(cluster));
    let served = shared.clone();
    (Server::start(move |r| served.lock().unwrap().answer(r)), shared)
}
