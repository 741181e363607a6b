//! The nodes of a state whose rows are decoded when they are read.

use std::sync::{Arc, OnceLock};

use super::rows::{Rows, StoredNode};
use crate::alloc_tables::{AllocsById, LazyAllocs};
use crate::node::{NodeEntry, NodeRecord};

/// The nodes of a state that were not changed yet.
#[derive(Debug)]
pub(crate) struct LazyNodes {
    rows: Arc<dyn Rows>,
    entries: Box<[OnceLock<Arc<NodeEntry>>]>,
}

impl LazyNodes {
    /// So many nodes.
    pub(super) fn new(rows: Arc<dyn Rows>, count: usize) -> LazyNodes {
        LazyNodes { rows, entries: (0..count).map(|_| OnceLock::new()).collect() }
    }

    /// The node in a slot.
    pub(crate) fn entry(&self, slot: u32) -> Option<&Arc<NodeEntry>> {
        Some(self.entries.get(slot as usize)?.get_or_init(|| {
            let StoredNode { id, info, usage, by_priority, allocs } = self.rows.node(slot);
            let node = NodeRecord::lazy(self.rows.clone(), slot, id);
            let allocs = AllocsById::lazy(LazyAllocs::new(self.rows.clone(), Some(slot), allocs));
            Arc::new(NodeEntry { slot, node, info: Arc::new(info), allocs, usage, by_priority })
        }))
    }
}
