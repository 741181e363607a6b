//! The slots of nodes by ID.

use std::sync::Arc;

use imbl::shared_ptr::DefaultSharedPtr;
use imbl::{GenericHashMap, OrdMap};

use super::hash::IdHash;
use super::id::Id;
use super::lazy::keys::NodesInOrder;

/// The slots of nodes. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub(super) struct NodeSlots {
    by_id: GenericHashMap<String, u32, IdHash, DefaultSharedPtr>,
    in_order: OrdMap<String, u32>,
    /// Instead of the two maps: the slots that are all since the state was made.
    pub(super) base: Option<Arc<NodesInOrder>>,
}

impl NodeSlots {
    /// The slot of the node of that ID.
    pub(super) fn get(&self, id: &str) -> Option<&u32> {
        match &self.base {
            None => self.by_id.get(id),
            Some(base) => base.get(id),
        }
    }

    /// Notes the slot of a node.
    pub(super) fn insert(&mut self, id: String, slot: u32) {
        self.leave_base();
        self.by_id.insert(id.clone(), slot);
        self.in_order.insert(id, slot);
    }

    /// Forgets a node; its slot.
    pub(super) fn remove(&mut self, id: &str) -> Option<u32> {
        self.leave_base();
        self.in_order.remove(id);
        self.by_id.remove(id)
    }

    /// All slots by ascending ID.
    pub(super) fn values(&self) -> impl Iterator<Item = u32> {
        let base = self.base.iter().flat_map(|base| base.iter()).map(|(_, slot)| *slot);
        base.chain(self.in_order.values().copied())
    }

    /// All IDs, ascending, with the slots.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (Id, u32)> {
        let base = self.base.iter().flat_map(|base| base.iter()).cloned();
        base.chain(self.in_order.iter().map(|(id, slot)| (Id::new(id), *slot)))
    }

    fn leave_base(&mut self) {
        for (id, slot) in self.base.take().iter().flat_map(|base| base.iter()) {
            let id = id.to_string();
            self.by_id.insert(id.clone(), *slot);
            self.in_order.insert(id, *slot);
        }
    }
}
