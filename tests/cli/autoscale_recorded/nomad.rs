//! The HTTP API of a small cluster, with the recorded answers of Nomad 2.0.5.
//!
//! As recorded are status, headers and body of all lists, of the objects that the recording has, and of unknown paths
//! and objects; of all others, status, headers and the shape of the body. What differs from the recording:
//!
//! - The node carries meta of the autoscaler. A second node may join, which is the first one with another identity.
//! - The allocations of the node were recorded at a later time: the read answers those of this time.
//! - `/v1/deployments` answers the recorded deployments of the only job.
//! - Variables have the paths, values, indexes and locks that were written. The recording has others.
//! - The answer to a purge that removes a node is not recorded: it is the one to an evaluation of the node, which has
//!   the same type.

use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use super::exchange::Exchanges;
use super::world::World;
use crate::program::{Folder, Ran, run_with};
use crate::server::{Request, Response, Server};

/// The served cluster.
pub struct Nomad {
    server: Server,
    world: Arc<Mutex<World>>,
    unexpected: Arc<Mutex<Vec<String>>>,
}

impl Nomad {
    /// Serves a cluster on a free port.
    pub fn start(world: World) -> Nomad {
        let world = Arc::new(Mutex::new(world));
        let unexpected = Arc::new(Mutex::new(Vec::new()));
        let (served, noted) = (world.clone(), unexpected.clone());
        let server = Server::start(move |r| {
            let mut world = served.lock().expect("the cluster");
            let exchanges = world.exchanges().clone();
            answer(&mut world, &exchanges, r).unwrap_or_else(|| {
                noted.lock().expect("requests").push(format!("{} {:?}", r.line(), r.query));
                exchanges.answer("plain-unknown-path")
            })
        });
        Nomad { server, world, unexpected }
    }

    /// Its address.
    pub fn address(&self) -> &str {
        &self.server.address
    }

    /// The cluster as it is now.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("the cluster")
    }

    /// The requests that the recording does not answer, but for the question whether the servers scale the cluster
    /// themselves: Nomad has no such path.
    pub fn unexpected(&self) -> Vec<String> {
        let all = self.unexpected.lock().expect("requests");
        all.iter().filter(|line| !line.starts_with("GET /v1/autoscale/pools ")).cloned().collect()
    }

    /// Runs a command against it: its words and flags, and its arguments.
    pub fn run(&self, folder: &Folder, command: &[&str], args: &[&str]) -> Ran {
        let address = format!("-address={}", self.address());
        let cache = folder.path().join("cache").display().to_string();
        let env = [("ENCAMP_CACHE_DIR", cache.as_str()), ("PATH", "/usr/bin:/bin")];
        run_with(folder.path(), &[command, &[&address], args].concat(), &env, None)
    }
}

/// What the recording answers; `None` if it does not.
fn answer(world: &mut World, exchanges: &Exchanges, r: &Request) -> Option<Response> {
    match (r.method.as_str(), r.path.strip_prefix("/v1/var/")) {
        ("GET", Some(path)) => Some(match world.variables.get(path) {
            Some(variable) => exchanges.answer_with("vars-get", variable, world.index),
            None => exchanges.answer("vars-get-404"),
        }),
        ("PUT", Some(path)) => {
            let body = serde_json::from_slice(&r.body).ok()?;
            if let Some(operation) =
                ["acquire", "renew", "release"].iter().find(|o| r.param(&format!("lock-{o}")).is_some())
            {
                return lock(world, exchanges, operation, path, &body);
            }
            let check = r.param("cas")?.parse().ok()?;
            Some(put(world, exchanges, path, &body, check))
        }
        ("GET", None) => read(world, exchanges, r),
        ("PUT", None) => change(world, exchanges, r),
        _ => None,
    }
}

fn read(world: &World, exchanges: &Exchanges, r: &Request) -> Option<Response> {
    let everywhere = r.param("namespace") == Some("*");
    Some(match r.path.as_str() {
        "/v1/agent/self" => exchanges.answer("agent-self"),
        "/v1/agent/members" => exchanges.answer("agent-members"),
        "/v1/namespaces" => exchanges.answer("namespaces-list"),
        "/v1/node/pools" => exchanges.answer("nodepools-list"),
        "/v1/operator/scheduler/configuration" => exchanges.answer("operator-scheduler-get"),
        "/v1/volumes" if r.param("type") == Some("csi") => exchanges.answer("volumes-list-csi"),
        "/v1/volumes" if r.param("type") == Some("host") => exchanges.answer("volumes-list-host"),
        "/v1/volumes/claims" => exchanges.answer("volumes-claims"),
        "/v1/jobs" if everywhere => exchanges.answer("jobs-list-all-namespaces"),
        "/v1/jobs" => exchanges.answer("params-namespace-unknown"),
        "/v1/job/web/versions" => exchanges.answer("jobs-versions"),
        "/v1/deployments" if everywhere => exchanges.answer("jobs-deployments"),
        "/v1/allocations" if everywhere => {
            let asked = (r.param("resources"), r.param("task_states")) == (Some("true"), Some("false"));
            exchanges.answer(if asked { "allocs-list-resources" } else { "allocs-list" })
        }
        "/v1/allocations" => exchanges.answer("allocs-list-other-namespace"),
        "/v1/nodes" => {
            let stubs: Vec<Value> = world.nodes.values().map(|node| stub(exchanges, node)).collect();
            exchanges.answer_with("nodes-list", &json!(stubs), latest(world))
        }
        path => return object(world, exchanges, path),
    })
}

/// The index of the nodes.
fn latest(world: &World) -> u64 {
    world.nodes.values().filter_map(|n| n["ModifyIndex"].as_u64()).max().unwrap_or(0)
}

/// A node as the list shows it.
fn stub(exchanges: &Exchanges, node: &Value) -> Value {
    let mut stub = exchanges.body("nodes-list")[0].clone();
    for (name, value) in stub.as_object_mut().expect("an entry") {
        if let Some(of_node) = node.get(name) {
            *value = of_node.clone();
        }
    }
    stub
}

/// A node, its allocations, or an allocation.
fn object(world: &World, exchanges: &Exchanges, path: &str) -> Option<Response> {
    if let Some(id) = path.strip_prefix("/v1/allocation/") {
        let alloc = world.allocations.iter().find(|a| a["ID"] == id)?;
        return Some(exchanges.answer_with("allocs-get", alloc, 0));
    }
    let id = path.strip_prefix("/v1/node/")?;
    if let Some(id) = id.strip_suffix("/allocations") {
        let allocs: Vec<&Value> = world.allocations.iter().filter(|a| a["NodeID"] == id).collect();
        return Some(match allocs.is_empty() {
            true => exchanges.answer("nodes-allocations-empty"),
            false => exchanges.answer_with("drain-node-allocations", &json!(allocs), 0),
        });
    }
    Some(match world.nodes.get(id) {
        Some(node) => exchanges.answer_with("nodes-get", node, latest(world)),
        None => exchanges.answer("nodes-get-404"),
    })
}

/// Drains a node or removes it.
fn change(world: &mut World, exchanges: &Exchanges, r: &Request) -> Option<Response> {
    let body: Value = serde_json::from_slice(&r.body).ok()?;
    let (id, action) = r.path.strip_prefix("/v1/node/")?.split_once('/')?;
    let (changed, name) = match action {
        "drain" if body["DrainSpec"]["IgnoreSystemJobs"] == true => (world.drain(id), "drain-start"),
        "purge" => (world.purge(id), "nodes-evaluate"),
        _ => return None,
    };
    let Some(index) = changed else { return Some(exchanges.answer("nodes-purge-404")) };
    let mut answer = exchanges.body(name).clone();
    (answer["Index"], answer["NodeModifyIndex"]) = (index.into(), index.into());
    Some(exchanges.answer_with(name, &answer, index))
}

/// Writes a Variable with a check.
fn put(world: &mut World, exchanges: &Exchanges, path: &str, body: &Value, check: u64) -> Response {
    match world.write(path, body["Items"].clone(), check) {
        Ok(variable) => {
            let name = if check == 0 { "vars-put-cas-0-new" } else { "vars-put-cas-ok" };
            exchanges.answer_with(name, &variable, world.index)
        }
        Err(Some(stored)) => exchanges.answer_with("vars-put-cas-conflict", &stored, world.index),
        Err(None) => exchanges.answer_with("vars-put-cas-missing", &nothing(path), 0),
    }
}

/// A Variable as conflicts show it whose values the caller may not see, or that is not there.
fn nothing(path: &str) -> Value {
    json!({"CreateIndex": 0, "CreateTime": 0, "ModifyIndex": 0, "ModifyTime": 0, "Namespace": "default", "Path": path})
}

/// Takes the lock of a Variable, keeps it, or gives it back.
fn lock(world: &mut World, exchanges: &Exchanges, operation: &str, path: &str, body: &Value) -> Option<Response> {
    let stored = world.variables.get(path);
    let held = stored.map(|v| v["Lock"]["ID"].clone()).filter(|id| !id.is_null());
    let own = held.is_some() && held.as_ref() == body["Lock"].get("ID");
    Some(match operation {
        "acquire" if held.is_some() => exchanges.answer_with("vars-lock-acquire-held", &nothing(path), 0),
        "acquire" => {
            let recorded = &exchanges.body("vars-lock-acquire-empty")["Lock"];
            let (ttl, delay) = (&body["Lock"]["TTL"], &body["Lock"]["LockDelay"]);
            let lock = json!({"ID": recorded["ID"], "TTL": ttl, "LockDelay": delay});
            let variable = world.store_variable(path, body["Items"].clone(), Some(lock));
            exchanges.answer_with("vars-lock-acquire-empty", &variable, world.index)
        }
        "renew" if own => {
            let answer = exchanges.answer_with("vars-lock-renew", stored?, 0);
            world.renewals += 1;
            answer
        }
        "renew" => exchanges.answer("vars-lock-renew-wrong"),
        // A release with values is refused (`lock-release-items` of the recording).
        "release" if own && body.get("Items").is_none_or(Value::is_null) => {
            let items = stored?["Items"].clone();
            let variable = world.store_variable(path, items, None);
            exchanges.answer_with("vars-lock-release", &variable, world.index)
        }
        "release" if !own => exchanges.answer_with("vars-lock-release-wrong", &nothing(path), 0),
        _ => return None,
    })
}
