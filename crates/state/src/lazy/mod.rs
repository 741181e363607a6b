//! States whose rows are decoded when they are read first.
//!
//! - [`Rows`]: where the rows are. [`LazyTables`]: the keys and sums of a state, which make it together with the rows.
//! - [`keys`]: the keys of allocations ([`AllocKeys`]). [`table`]: tables of rows that are decoded one by one.

pub(super) mod keys;
pub(super) mod table;

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

pub use keys::AllocKeys;

use self::keys::{ByJob, Decoded, NodesInOrder, SlotsOfAllocs};
use self::table::Table;
use super::alloc_tables::{Allocs, AllocsById, LazyAllocs};
use super::id::Id;
use super::index::NodeIndex;
use super::node::NodeEntry;
use super::node_info::NodeInfo;
use super::priorities::UsageByPriority;
use super::summary::NodeSummary;
use super::tables::{JobEntry, State};
use super::usage::{AllocEntry, NodeUsage};
use encamp_model::{Deployment, Node};

/// The rows of a state. Each is asked for at most once or twice, from any thread. Who cannot give a row ends the process
/// with a message, because readers of a state have no use for an error.
pub trait Rows: Debug + Send + Sync {
    /// The node in a slot.
    fn node(&self, slot: u32) -> StoredNode;

    /// The allocations on the node in a slot, by ascending ID; without a slot, those whose nodes are not stored.
    fn allocs(&self, slot: Option<u32>) -> Vec<(Id, Arc<AllocEntry>)>;

    /// The job at a position in the order of namespaces and IDs.
    fn job(&self, position: usize) -> Arc<JobEntry>;

    /// The deployment at a position in the order of IDs.
    fn deployment(&self, position: usize) -> Arc<Deployment>;

    /// The keys of all allocations.
    fn alloc_keys(&self) -> AllocKeys;
}

/// A node as it is stored: the record, and sums over its allocations.
#[derive(Debug, Clone)]
pub struct StoredNode {
    /// The record.
    pub node: Arc<Node>,
    /// What its live allocations use.
    pub usage: NodeUsage,
    /// The same by priority.
    pub by_priority: UsageByPriority,
    /// The IDs of all allocations on it, ascending.
    pub allocs: Vec<Id>,
}

/// The keys and sums of a state.
#[derive(Debug)]
pub struct LazyTables {
    /// The rows.
    pub rows: Arc<dyn Rows>,
    /// The nodes' IDs, ascending, with their slots: each below the number of nodes.
    pub nodes: Vec<(Id, u32)>,
    /// The nodes' summaries by slot.
    pub summaries: Vec<NodeSummary>,
    /// The nodes as schedulers list them.
    pub node_index: Arc<NodeIndex>,
    /// Namespaces and IDs of jobs, ascending.
    pub jobs: Vec<(Id, Id)>,
    /// IDs, job IDs and namespaces of deployments, ascending.
    pub deployments: Vec<(Id, Id, Id)>,
    /// The nodes that are not stored, and the IDs of their allocations, ascending.
    pub orphaned: Vec<(Id, Id)>,
    /// The largest index written.
    pub index: u64,
}

/// The nodes of a state that were not changed yet.
#[derive(Debug)]
pub(super) struct LazyNodes {
    rows: Arc<dyn Rows>,
    entries: Box<[OnceLock<Arc<NodeEntry>>]>,
}

impl LazyNodes {
    /// The node in a slot.
    pub(super) fn entry(&self, slot: u32) -> Option<&Arc<NodeEntry>> {
        Some(self.entries.get(slot as usize)?.get_or_init(|| {
            let StoredNode { node, usage, by_priority, allocs } = self.rows.node(slot);
            let info = Arc::new(NodeInfo::new(&node));
            let allocs = AllocsById::lazy(LazyAllocs::new(self.rows.clone(), Some(slot), allocs));
            Arc::new(NodeEntry { slot, node, info, allocs, usage, by_priority })
        }))
    }
}

fn ascends<T: Ord>(keys: &[T]) -> bool {
    keys.windows(2).all(|pair| matches!(pair, [a, b] if a < b))
}

impl State {
    /// Adds nodes, jobs, allocations and deployments, of which the state holds none yet. Their rows are decoded when they
    /// are read. `None` if the tables contradict each other.
    pub fn with_lazy(mut self, tables: LazyTables) -> Option<State> {
        let LazyTables { rows, nodes, summaries, node_index, jobs, deployments, orphaned, index } = tables;
        let count = summaries.len();
        let slots_fit = nodes.len() == count && nodes.iter().all(|(_, slot)| (*slot as usize) < count);
        let sorted = ascends(&nodes) && ascends(&jobs) && ascends(&deployments) && ascends(&orphaned);
        if !slots_fit || !sorted || self.slot_count() > 0 || self.jobs.len() > 0 {
            return None;
        }
        let entries = (0..count).map(|_| OnceLock::new()).collect();
        self.lazy_nodes = Some(Arc::new(LazyNodes { rows: rows.clone(), entries }));
        self.nodes = (0..count).map(|_| None).collect();
        self.summaries = summaries.into_iter().collect();
        self.slots.base = Some(NodesInOrder::new(nodes));
        self.node_index = Arc::new(OnceLock::from(node_index));
        self.jobs = Table::of(Arc::new(Decoded::new(jobs, rows.clone(), |rows, i| rows.job(i))));
        let by_job: Vec<(Id, Id, Id)> =
            deployments.iter().map(|(id, job, ns)| (job.clone(), ns.clone(), id.clone())).collect();
        self.deployments_by_job = by_job.into_iter().collect();
        let deployments = deployments.into_iter().map(|(id, ..)| id).collect();
        self.deployments = Table::of(Arc::new(Decoded::new(deployments, rows.clone(), |rows, i| rows.deployment(i))));
        let keys = Arc::new(keys::LazyKeys::new(rows.clone()));
        let ids = orphaned.iter().map(|(_, id)| id.clone()).collect::<std::collections::BTreeSet<_>>();
        self.allocs = Allocs {
            slots: Table::of(Arc::new(SlotsOfAllocs(keys.clone()))),
            by_job: Table::of(Arc::new(ByJob::new(keys))),
            orphaned: AllocsById::lazy(LazyAllocs::new(rows, None, ids.into_iter().collect())),
            orphaned_by_node: orphaned.into_iter().collect(),
        };
        self.index = self.index.max(index);
        Some(self)
    }

    /// The keys of all allocations, with the slots of their nodes; `None`: the node is not stored.
    pub fn alloc_keys(&self) -> AllocKeys {
        let mut keys = AllocKeys::default();
        for ((job, namespace), slots) in self.allocs.by_job.tree() {
            keys.add_job((job.clone(), namespace.clone()), slots.iter().map(|(id, slot)| (id.clone(), *slot)));
        }
        keys.sort();
        keys
    }

    /// The nodes that are not stored, and the allocations on them, in the order of nodes and IDs.
    pub fn orphaned(&self) -> impl Iterator<Item = (&Id, &Id)> {
        self.allocs.orphaned_by_node.iter().map(|(node, id)| (node, id))
    }

    /// The allocations on the node in a slot, by ID; without a slot, those whose nodes are not stored.
    pub fn allocs_in_slot(&self, slot: Option<u32>) -> Option<&AllocsById> {
        match slot {
            Some(slot) => self.node_at(slot).map(|n| &n.allocs),
            None => Some(&self.allocs.orphaned),
        }
    }

    /// Whether rows of the state are decoded when they are read, at least those that were not changed since.
    pub fn is_lazy(&self) -> bool {
        self.lazy_nodes.is_some()
    }

    /// The IDs of nodes, ascending, with their slots.
    pub fn node_slots(&self) -> impl Iterator<Item = (Id, u32)> {
        self.slots.in_order()
    }
}
