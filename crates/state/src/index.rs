//! The node list of the schedulers: small rows in ID order, shared by all snapshots until a node changes. If a node
//! only becomes ready or not ready, its row is updated; after other changes all rows are recreated.

use std::collections::HashMap;
use std::sync::Arc;

use super::node::NodeEntry;
use encamp_model::Node;

/// The properties that decide whether a node is a candidate; names are numbers into the index.
#[derive(Debug, Clone, Copy)]
pub struct NodeRow {
    /// The node's place in the state.
    pub slot: u32,
    /// Its datacenter.
    pub datacenter: u32,
    /// Its pool.
    pub pool: u32,
    /// Takes allocations: ready, eligible and not draining.
    pub ready: bool,
}

/// All nodes by ascending ID, with their datacenters, pools and computed classes numbered.
#[derive(Debug, Clone, Default)]
pub struct NodeIndex {
    rows: Vec<NodeRow>,
    names: Arc<Names>,
}

/// The part that does not depend on which nodes take allocations.
#[derive(Debug, Default)]
struct Names {
    datacenters: Vec<String>,
    pools: Vec<String>,
    classes: Vec<String>,
    /// Class by slot.
    class_of: Vec<u32>,
    client_versions: Vec<String>,
}

/// Numbers names in the order of their first use.
#[derive(Default)]
struct Numbers<'a> {
    known: HashMap<&'a str, u32>,
    names: Vec<String>,
}

impl<'a> Numbers<'a> {
    fn number(&mut self, name: &'a str) -> u32 {
        if let Some(n) = self.known.get(name) {
            return *n;
        }
        let n = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.known.insert(name, n);
        self.names.push(name.to_string());
        n
    }
}

impl NodeIndex {
    /// Indexes nodes given by ascending ID; `slots` is one more than the largest slot.
    pub(super) fn new<'a>(nodes: impl Iterator<Item = &'a NodeEntry>, slots: usize) -> NodeIndex {
        let (mut datacenters, mut pools, mut classes) = (Numbers::default(), Numbers::default(), Numbers::default());
        let mut versions = Numbers::default();
        let mut rows = Vec::with_capacity(slots);
        let mut class_of = vec![0; slots];
        for n in nodes {
            let node = &*n.node;
            rows.push(NodeRow {
                slot: n.slot,
                datacenter: datacenters.number(&node.datacenter),
                pool: pools.number(&node.node_pool),
                ready: node.ready(),
            });
            versions.number(client_version(node));
            if let Some(c) = class_of.get_mut(n.slot as usize) {
                *c = classes.number(&node.computed_class);
            }
        }
        let names = Names {
            datacenters: datacenters.names,
            pools: pools.names,
            classes: classes.names,
            class_of,
            client_versions: versions.names,
        };
        NodeIndex { rows, names: Arc::new(names) }
    }

    /// Writes whether a node takes allocations; nothing else depends on it.
    pub(super) fn set_ready(&mut self, slot: u32, ready: bool) {
        if let Some(row) = self.rows.iter_mut().find(|r| r.slot == slot) {
            row.ready = ready;
        }
    }

    /// All nodes by ascending ID.
    pub fn rows(&self) -> &[NodeRow] {
        &self.rows
    }

    /// The datacenters by number.
    pub fn datacenters(&self) -> &[String] {
        &self.names.datacenters
    }

    /// The pools by number.
    pub fn pools(&self) -> &[String] {
        &self.names.pools
    }

    /// The computed classes by number.
    pub fn classes(&self) -> &[String] {
        &self.names.classes
    }

    /// The releases the nodes' clients run, each once; empty text for nodes that do not say.
    pub fn client_versions(&self) -> &[String] {
        &self.names.client_versions
    }

    /// The number of a node's computed class.
    pub fn class_of(&self, slot: u32) -> usize {
        self.names.class_of.get(slot as usize).map_or(0, |c| *c as usize)
    }
}

/// The release a node's client runs.
pub fn client_version(node: &Node) -> &str {
    node.attributes.get("nomad.version").map_or("", String::as_str)
}
