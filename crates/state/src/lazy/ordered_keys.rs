//! The order of allocations in a state whose rows are decoded when they are read, and their keys in that order.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::id::Id;
use crate::slots::NO_SLOT;

/// The order of allocations in a state: by the slots of their nodes and by ID; those whose nodes are not stored come
/// last.
#[derive(Debug, Default)]
pub struct AllocOrder {
    /// The numbers of rows.
    pub rows: Vec<u32>,
    /// Where the allocations of each slot begin, and at the end those whose nodes are not stored.
    pub starts: Vec<u32>,
}

impl AllocOrder {
    /// The places of the allocations in a slot; without a slot, of those whose nodes are not stored.
    pub fn range(&self, slot: Option<u32>) -> Range<usize> {
        let at = |i: usize| self.starts.get(i).map_or(self.rows.len(), |start| *start as usize);
        let first = slot.map_or(self.starts.len().saturating_sub(1), |slot| slot as usize);
        at(first)..at(first + 1)
    }
}

/// The keys of allocations in the order of slots and IDs.
#[derive(Debug)]
pub(crate) struct OrderedKeys {
    pub(super) ids: Vec<Id>,
    pub(super) order: Arc<AllocOrder>,
    /// Job IDs and namespaces, ascending.
    pub(super) jobs: Vec<(Id, Id)>,
    /// The place of each allocation's job among them.
    pub(super) job_of: Vec<u32>,
    /// The places of allocations and their slots, by ID.
    by_id: OnceLock<Vec<(u32, u32)>>,
}

impl OrderedKeys {
    pub(super) fn new(ids: Vec<Id>, order: Arc<AllocOrder>, jobs: Vec<(Id, Id)>, job_of: Vec<u32>) -> OrderedKeys {
        OrderedKeys { ids, order, jobs, job_of, by_id: OnceLock::new() }
    }

    /// The ID at a place.
    pub(crate) fn id(&self, place: usize) -> Option<&Id> {
        self.ids.get(place)
    }

    fn slots(&self) -> u32 {
        u32::try_from(self.order.starts.len().saturating_sub(1)).unwrap_or(NO_SLOT)
    }

    pub(super) fn slot_of(&self, place: u32) -> u32 {
        let slot = self.order.starts.partition_point(|start| *start <= place).saturating_sub(1);
        u32::try_from(slot).ok().filter(|slot| *slot < self.slots()).unwrap_or(NO_SLOT)
    }

    pub(super) fn by_id(&self) -> &[(u32, u32)] {
        self.by_id.get_or_init(|| {
            let places = (0..=self.slots()).flat_map(|slot| {
                let slot = if slot == self.slots() { None } else { Some(slot) };
                self.order.range(slot).map(move |place| (u32::try_from(place).unwrap_or(u32::MAX), slot))
            });
            let mut places: Vec<(u32, u32)> = places.map(|(place, slot)| (place, slot.unwrap_or(NO_SLOT))).collect();
            places.sort_unstable_by_key(|(place, _)| self.id(*place as usize));
            places
        })
    }
}
