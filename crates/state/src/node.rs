//! A node with all its derived values for ranking, computed when the node or an allocation on it is written.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use imbl::OrdMap;

use super::alloc_tables::AllocsById;
use super::id::Id;
use super::lazy::rows::{Rows, StoredNode};
use super::node_info::NodeInfo;
use super::priorities::UsageByPriority;
use super::usage::{AllocEntry, NodeUsage};
use encamp_model::Node;

/// Whether two records of a node have the same facts.
fn same_facts(a: &Node, b: &Node) -> bool {
    a.node_resources == b.node_resources
        && a.reserved_resources == b.reserved_resources
        && a.node_max_allocs == b.node_max_allocs
        && a.computed_class == b.computed_class
        && a.datacenter == b.datacenter
        && a.node_pool == b.node_pool
        && a.node_class == b.node_class
        && a.attributes == b.attributes
        && a.meta == b.meta
}

/// The record of a node. In a state that is made of rows, it is decoded when it is read.
#[derive(Debug)]
pub struct NodeRecord(Record);

#[derive(Debug, Clone)]
enum Record {
    Decoded(Arc<Node>),
    Lazy(Arc<LazyRecord>),
}

/// A record that nobody may have read yet.
#[derive(Debug)]
struct LazyRecord {
    rows: Arc<dyn Rows>,
    slot: u32,
    id: String,
    decoded: OnceLock<Arc<Node>>,
}

impl NodeRecord {
    /// The record of the node in a slot, which is decoded when it is read.
    pub(super) fn lazy(rows: Arc<dyn Rows>, slot: u32, id: String) -> NodeRecord {
        NodeRecord(Record::Lazy(Arc::new(LazyRecord { rows, slot, id, decoded: OnceLock::new() })))
    }

    /// The node's ID: the record is not decoded for that.
    pub fn id(&self) -> &str {
        match &self.0 {
            Record::Decoded(node) => &node.id,
            Record::Lazy(record) => &record.id,
        }
    }

    /// Decodes the record, if nobody has read it yet.
    pub(super) fn decode(&self) {
        let _: &Arc<Node> = self;
    }
}

impl From<Arc<Node>> for NodeRecord {
    fn from(node: Arc<Node>) -> NodeRecord {
        NodeRecord(Record::Decoded(node))
    }
}

// Not `Clone`: a clone of a record is that of the node.
impl Deref for NodeRecord {
    type Target = Arc<Node>;

    fn deref(&self) -> &Arc<Node> {
        match &self.0 {
            Record::Decoded(node) => node,
            Record::Lazy(record) => record.decoded.get_or_init(|| record.rows.record(record.slot)),
        }
    }
}

/// A node in the state: the node, its fixed facts, its allocations and what they use.
#[derive(Debug)]
pub struct NodeEntry {
    /// Its place in the state: stays the same as long as the node is stored.
    pub slot: u32,
    /// The node.
    pub node: NodeRecord,
    /// Its fixed facts.
    pub info: Arc<NodeInfo>,
    /// All allocations on the node, terminal ones included, by ID.
    pub allocs: AllocsById,
    /// The usage of allocations that are not client-terminal.
    pub usage: NodeUsage,
    /// The same by priority.
    pub by_priority: UsageByPriority,
}

impl Clone for NodeEntry {
    fn clone(&self) -> NodeEntry {
        NodeEntry {
            slot: self.slot,
            node: NodeRecord(self.node.0.clone()),
            info: self.info.clone(),
            allocs: self.allocs.clone(),
            usage: self.usage.clone(),
            by_priority: self.by_priority.clone(),
        }
    }
}

impl NodeEntry {
    /// A node without allocations.
    pub fn new(node: Arc<Node>, slot: u32) -> NodeEntry {
        let info = Arc::new(NodeInfo::new(&node));
        let (allocs, usage, by_priority) = Default::default();
        NodeEntry { slot, node: node.into(), info, allocs, usage, by_priority }
    }

    /// The allocations that hold resources.
    pub fn live_allocs(&self) -> impl Iterator<Item = &Arc<AllocEntry>> {
        self.allocs.iter().filter(|a| !a.phase.client_terminal())
    }

    /// Adds or replaces allocations.
    pub(super) fn put_allocs(&mut self, allocs: impl IntoIterator<Item = (Id, Arc<AllocEntry>)>) {
        for (id, entry) in allocs {
            self.allocs.insert(id, entry);
        }
        self.sum_up();
    }

    /// Sets the allocations of a node that has none.
    pub(super) fn set_allocs(&mut self, allocs: OrdMap<Id, Arc<AllocEntry>>) {
        self.allocs = allocs.into();
        self.sum_up();
    }

    /// Adds or replaces an allocation; false if the usage is to be summed up afterwards.
    pub(super) fn put_alloc(&mut self, id: Id, entry: Arc<AllocEntry>) -> bool {
        let holds = |e: &Arc<AllocEntry>| !e.phase.client_terminal();
        let old = self.allocs.insert(id, entry.clone());
        old.iter().filter(|e| holds(e)).for_each(|e| self.by_priority.remove(e));
        if holds(&entry) {
            self.by_priority.add(&entry);
        }
        match (old.as_ref().filter(|e| holds(e)), holds(&entry)) {
            (None, false) => true,
            (None, true) => self.usage.try_add(&self.info, &entry.usage),
            (Some(old), true) => old.usage == entry.usage,
            (Some(old), false) => self.usage.try_sub(&self.info, &old.usage),
        }
    }

    /// Removes an allocation; true if the usage is to be summed up afterwards.
    pub(super) fn take_alloc(&mut self, id: &Id) -> bool {
        let old = self.allocs.remove(id).filter(|e| !e.phase.client_terminal());
        old.iter().for_each(|e| self.by_priority.remove(e));
        old.is_some_and(|old| !self.usage.try_sub(&self.info, &old.usage))
    }

    /// Replaces the node, keeping its allocations.
    pub(super) fn set_node(&mut self, node: Arc<Node>) {
        self.info = Arc::new(NodeInfo::new(&node));
        self.node = node.into();
        self.sum_up();
    }

    /// [`NodeEntry::set_node`] with a record that has the same facts, which is much cheaper.
    pub(super) fn set_record(&mut self, node: Arc<Node>) {
        debug_assert!(same_facts(&self.node, &node), "other facts of node {}", node.id);
        self.node = node.into();
    }

    /// Sums up what the allocations use.
    pub(super) fn sum_up(&mut self) {
        let usage = NodeUsage::of(&self.info, self.live_allocs().map(|a| a.as_ref()));
        self.by_priority = UsageByPriority::of(self.live_allocs().map(|a| a.as_ref()));
        self.usage = usage;
    }
}

impl StoredNode {
    /// What would be stored of a node.
    pub fn of(entry: &NodeEntry) -> StoredNode {
        StoredNode {
            id: entry.node.id().to_string(),
            info: (*entry.info).clone(),
            usage: entry.usage.clone(),
            by_priority: entry.by_priority.clone(),
            allocs: entry.allocs.ids().cloned().collect(),
        }
    }
}
