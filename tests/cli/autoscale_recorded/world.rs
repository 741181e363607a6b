//! A small cluster of objects that Nomad 2.0.5 answered, as two sides see it: the HTTP API ([`super::nomad`]) and the
//! state of a server ([`super::leader`]). Both read the same JSON; what happens to the cluster happens here.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_autoscale::paths;
use encamp_autoscale::record::{ITEM, Record};
use encamp_state::{Snapshot, StateStore, Table};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::exchange::Exchanges;

/// The node of the recording, and the two allocations on it.
pub const NODE: &str = "86825d37-5264-effb-1a7c-30be40b9a44c";
/// A node that is added to those of the recording.
pub const SECOND: &str = "96825d37-5264-effb-1a7c-30be40b9a44c";
/// The index of the list of allocations: the latest of the recorded answers.
pub const INDEX: u64 = 47;
/// The pool of these tests.
pub const POOL: &str = "web";

/// The cluster. It begins as the recording shows it after its first job was placed: one node, one job, and two
/// allocations that run.
#[derive(Debug, Clone)]
pub struct World {
    /// Nodes by ID, in full.
    pub nodes: BTreeMap<String, Value>,
    /// Allocations in full.
    pub allocations: Vec<Value>,
    /// Variables by path, as reading them shows them.
    pub variables: BTreeMap<String, Value>,
    /// The index of the last change.
    pub index: u64,
    /// State objects that were written, in order, without times.
    pub written: Vec<Value>,
    /// How often the holder of a lock renewed it.
    pub renewals: usize,
    exchanges: Arc<Exchanges>,
}

impl World {
    /// The cluster as it was recorded; `None` where there is no recording.
    pub fn recorded() -> Option<World> {
        let exchanges = Arc::new(Exchanges::load()?);
        let first = exchanges.body("allocs-get").clone();
        // The recording has the other allocation in lists alone. Its job, and what the autoscaler does not read, are
        // those of the first.
        let mut second = first.clone();
        let members = second.as_object_mut().expect("an allocation");
        for list in ["allocs-list", "allocs-list-resources"] {
            let stub = exchanges.body(list)[0].as_object().expect("an entry");
            members
                .extend(stub.iter().filter(|(name, _)| first.get(name).is_some()).map(|(n, v)| (n.clone(), v.clone())));
        }
        let node = exchanges.body("nodes-get").clone();
        Some(World {
            nodes: BTreeMap::from([(NODE.to_string(), node)]),
            allocations: vec![second, first],
            variables: BTreeMap::new(),
            index: INDEX,
            written: Vec::new(),
            renewals: 0,
            exchanges,
        })
    }

    /// The recorded answers.
    pub fn exchanges(&self) -> &Arc<Exchanges> {
        &self.exchanges
    }

    /// Adds meta to a node: the recording has none that the autoscaler reads.
    pub fn with_meta(mut self, node: &str, meta: &Value) -> World {
        set_meta(self.nodes.get_mut(node).expect("a node"), meta);
        self
    }

    /// Adds a Variable, as [`write`](World::write) does.
    pub fn with_variable(mut self, path: &str, items: Value) -> World {
        self.write(path, items, 0).expect("a new Variable");
        self.written.clear();
        self
    }

    /// Adds a second node: the recorded one with another identity.
    pub fn join(&mut self, meta: &Value) {
        self.index += 1;
        let mut node = self.exchanges.body("nodes-get").clone();
        for (name, value) in [("ID", json!(SECOND)), ("Name", json!("node-2")), ("CreateIndex", json!(self.index))] {
            node[name] = value;
        }
        node["ModifyIndex"] = self.index.into();
        set_meta(&mut node, meta);
        self.nodes.insert(SECOND.into(), node);
    }

    /// Drains a node without allocations: at once it is as the recording shows its node after a drain. Gives the index,
    /// or nothing if there is no such node.
    pub fn drain(&mut self, id: &str) -> Option<u64> {
        let drained = self.exchanges.body("drain-node-drained").clone();
        let node = self.nodes.get_mut(id)?;
        assert!(!self.allocations.iter().any(|a| a["NodeID"] == id), "a node with allocations takes time to drain");
        self.index += 1;
        for name in ["Drain", "DrainStrategy", "Events", "LastDrain", "SchedulingEligibility"] {
            node[name] = drained[name].clone();
        }
        node["ModifyIndex"] = self.index.into();
        Some(self.index)
    }

    /// Removes a node. Gives the index, or nothing if there is no such node.
    pub fn purge(&mut self, id: &str) -> Option<u64> {
        self.nodes.remove(id)?;
        self.index += 1;
        Some(self.index)
    }

    /// Writes a Variable if the stored one has that ModifyIndex (0: there is none); gives it as it is now, or else as
    /// it is instead.
    pub fn write(&mut self, path: &str, items: Value, check: u64) -> Result<Value, Option<Value>> {
        let stored = self.variables.get(path);
        if stored.map_or(0, |v| v["ModifyIndex"].as_u64().expect("an index")) != check {
            return Err(stored.cloned());
        }
        if path == paths::pool_state(POOL) {
            self.written.push(without_times(items[ITEM].as_str()));
        }
        Ok(self.store_variable(path, items, None))
    }

    /// Stores a Variable; gives it as it is now.
    pub fn store_variable(&mut self, path: &str, items: Value, lock: Option<Value>) -> Value {
        self.index += 1;
        let created = self.variables.get(path).map_or(json!(self.index), |v| v["CreateIndex"].clone());
        let mut variable = self.exchanges.body("vars-get").clone();
        for (name, value) in [("Path", json!(path)), ("Items", items), ("CreateIndex", created)] {
            variable[name] = value;
        }
        variable["ModifyIndex"] = self.index.into();
        if let Some(lock) = lock {
            variable["Lock"] = lock;
        }
        self.variables.insert(path.into(), variable.clone());
        variable
    }

    /// The state object of the pool as it is stored.
    pub fn record(&self) -> Option<Record> {
        let path = paths::pool_state(POOL);
        let item = self.variables.get(&path)?["Items"][ITEM].as_str();
        Some(Record::read(&path, item).expect("a state object"))
    }

    /// The state of a server that stores these objects.
    pub fn state(&self) -> Snapshot {
        let mut store = StateStore::new();
        self.exchanges.list("nodepools-list").into_iter().for_each(|p| store.put_node_pool(object(p)));
        self.exchanges.list("namespaces-list").into_iter().for_each(|n| store.put_namespace(object(n)));
        let config = self.exchanges.body("operator-scheduler-get")["SchedulerConfig"].clone();
        store.set_scheduler_config(object(config));
        self.nodes.values().for_each(|n| store.put_node(object(n.clone())));
        let versions = self.exchanges.body("jobs-versions")["Versions"].as_array().expect("versions").clone();
        versions.into_iter().for_each(|j| store.put_job(object(j)));
        store.put_allocs(self.allocations.iter().map(|a| object(a.clone())).collect());
        self.exchanges.list("jobs-deployments").into_iter().for_each(|d| store.put_deployment(object(d)));
        store.set_index(Table::Allocs, INDEX);
        let latest = self.nodes.values().filter_map(|n| n["ModifyIndex"].as_u64()).max();
        store.set_index(Table::Nodes, latest.unwrap_or(0));
        store.state().clone()
    }
}

fn set_meta(node: &mut Value, meta: &Value) {
    let all = node["Meta"].as_object_mut().expect("meta");
    all.extend(meta.as_object().expect("meta").clone());
}

fn object<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).expect("an object"))
}

/// A state object with the times replaced by whether there is one.
fn without_times(item: Option<&str>) -> Value {
    let mut object: Value = serde_json::from_str(item.expect("a state object")).expect("JSON");
    let mut hide = |pointer: &str| {
        if let Some(time) = object.pointer_mut(pointer).filter(|t| !t.is_null()) {
            *time = "a time".into();
        }
    };
    let events = ["last_scaling_event", "last_scaleout_event", "last_scalein_event"];
    for name in events.into_iter().chain(["last_notification_event", "last_updated"]) {
        hide(&format!("/{name}"));
    }
    ["started", "step_started"].iter().for_each(|name| hide(&format!("/operation/{name}")));
    object
}
