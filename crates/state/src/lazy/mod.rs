//! States whose rows are decoded when they are read first.
//!
//! - [`rows`]: where the rows are ([`Rows`]). [`LazyTables`]: the keys and sums of a state, which make it together with the
//!   rows.
//! - [`facts`]: states of which only the rest of allocations is decoded later; [`ordered_keys`]: their order and keys.
//! - [`alloc_keys`]: the keys of allocations. [`keys`]: those of all rows. [`nodes`]: nodes that were not read yet.
//! - [`table`]: tables of rows that are decoded one by one. [`mod@all`]: decoding all rows at once.

mod all;
mod alloc_keys;
pub(super) mod facts;
pub(super) mod keys;
pub(super) mod nodes;
pub(super) mod ordered_keys;
pub(super) mod rows;
pub(super) mod table;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

pub use alloc_keys::AllocKeys;
pub use facts::AllocFacts;
pub use ordered_keys::AllocOrder;
pub use rows::{AllocRows, Rows, StoredNode};

use self::keys::{ByJob, Decoded, LazyKeys, NodesInOrder, SlotsOfAllocs};
use self::nodes::LazyNodes;
use self::table::Table;
use super::alloc_tables::{Allocs, AllocsById, LazyAllocs};
use super::id::Id;
use super::index::NodeIndex;
use super::summary::NodeSummary;
use super::tables::State;

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
        self.lazy_nodes = Some(Arc::new(LazyNodes::new(rows.clone(), count)));
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
        let keys = Arc::new(LazyKeys::new(rows.clone()));
        let ids = orphaned.iter().map(|(_, id)| id.clone()).collect::<BTreeSet<_>>();
        self.allocs = Allocs {
            slots: Table::of(Arc::new(SlotsOfAllocs(keys.clone()))),
            by_job: Table::of(Arc::new(ByJob::new(keys))),
            orphaned: AllocsById::lazy(LazyAllocs::new(rows.clone(), None, ids.into_iter().collect())),
            orphaned_by_node: orphaned.into_iter().collect(),
            rows: Some(rows),
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
        self.allocs.rows.is_some()
    }

    /// The IDs of nodes, ascending, with their slots.
    pub fn node_slots(&self) -> impl Iterator<Item = (Id, u32)> {
        self.slots.in_order()
    }
}
