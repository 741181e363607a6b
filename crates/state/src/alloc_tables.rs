//! The tables of allocations. Each allocation is stored with its node, so that a client's update changes one small tree;
//! the table of all IDs contains only the node of each allocation.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, OrdSet};

use super::id::Id;
use super::lazy::ordered_keys::OrderedKeys;
use super::lazy::rows::AllocRows;
use super::lazy::table::{Base, Table};
use super::usage::AllocEntry;
use encamp_model::Allocation;

/// Allocations by ID. Cloning is cheap, and so is a write after it.
#[derive(Debug, Clone, Default)]
pub struct AllocsById(Table<Id, Arc<AllocEntry>>);

/// The allocations of a node that nobody may have read yet.
#[derive(Debug)]
pub(super) struct LazyAllocs {
    rows: Arc<dyn AllocRows>,
    slot: Option<u32>,
    ids: Ids,
    decoded: OnceLock<Box<[OnceLock<Arc<AllocEntry>>]>>,
}

/// The IDs of allocations, ascending.
#[derive(Debug)]
enum Ids {
    Own(Vec<Id>),
    Ordered(Arc<OrderedKeys>, Range<usize>),
}

impl LazyAllocs {
    /// The allocations in a slot with these IDs, which ascend; without a slot, those whose nodes are not stored.
    pub(super) fn new(rows: Arc<dyn AllocRows>, slot: Option<u32>, ids: Vec<Id>) -> LazyAllocs {
        LazyAllocs { rows, slot, ids: Ids::Own(ids), decoded: OnceLock::new() }
    }

    /// The same with the IDs at places among those of all allocations.
    pub(super) fn ordered(
        rows: Arc<dyn AllocRows>,
        slot: Option<u32>,
        keys: Arc<OrderedKeys>,
        places: Range<usize>,
    ) -> LazyAllocs {
        LazyAllocs { rows, slot, ids: Ids::Ordered(keys, places), decoded: OnceLock::new() }
    }
}

impl Base<Id, Arc<AllocEntry>> for LazyAllocs {
    fn len(&self) -> usize {
        match &self.ids {
            Ids::Own(ids) => ids.len(),
            Ids::Ordered(_, places) => places.len(),
        }
    }

    fn key(&self, position: usize) -> Option<&Id> {
        match &self.ids {
            Ids::Own(ids) => ids.get(position),
            Ids::Ordered(keys, places) => keys.id(places.clone().nth(position)?),
        }
    }

    fn value(&self, position: usize) -> Option<&Arc<AllocEntry>> {
        let decoded = self.decoded.get_or_init(|| (0..self.len()).map(|_| OnceLock::new()).collect());
        Some(decoded.get(position)?.get_or_init(|| self.rows.alloc(self.slot, position)))
    }
}

impl AllocsById {
    pub(super) fn lazy(allocs: LazyAllocs) -> AllocsById {
        AllocsById(Table::of(Arc::new(allocs)))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is one of that ID: none is decoded for that.
    pub fn contains(&self, id: &Id) -> bool {
        self.0.contains(id)
    }

    /// The IDs, ascending: no allocation is decoded for that.
    pub fn ids(&self) -> impl Iterator<Item = &Id> {
        self.0.keys()
    }

    /// The allocations by ID, decoded.
    pub(super) fn tree(&self) -> &OrdMap<Id, Arc<AllocEntry>> {
        self.0.tree()
    }

    /// The allocations by ascending ID.
    pub fn iter(&self) -> imbl::ordmap::Values<'_, Id, Arc<AllocEntry>, imbl::shared_ptr::DefaultSharedPtr> {
        self.tree().values()
    }

    /// The allocation of that ID.
    pub fn get(&self, id: &str) -> Option<&Arc<AllocEntry>> {
        self.at(&Id::new(id))
    }

    /// The same by its key.
    pub fn at(&self, id: &Id) -> Option<&Arc<AllocEntry>> {
        self.0.get(id)
    }

    pub(super) fn insert(&mut self, id: Id, entry: Arc<AllocEntry>) -> Option<Arc<AllocEntry>> {
        self.0.insert(id, entry)
    }

    pub(super) fn remove(&mut self, id: &Id) -> Option<Arc<AllocEntry>> {
        self.0.remove(id)
    }
}

impl From<OrdMap<Id, Arc<AllocEntry>>> for AllocsById {
    fn from(entries: OrdMap<Id, Arc<AllocEntry>>) -> AllocsById {
        AllocsById(Table::Tree(entries))
    }
}

impl FromIterator<(Id, Arc<AllocEntry>)> for AllocsById {
    fn from_iter<I: IntoIterator<Item = (Id, Arc<AllocEntry>)>>(entries: I) -> AllocsById {
        AllocsById(Table::Tree(entries.into_iter().collect()))
    }
}

impl<'a> IntoIterator for &'a AllocsById {
    type Item = &'a Arc<AllocEntry>;
    type IntoIter = imbl::ordmap::Values<'a, Id, Arc<AllocEntry>, imbl::shared_ptr::DefaultSharedPtr>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The tables of allocations besides the nodes' own.
#[derive(Debug, Clone, Default)]
pub(super) struct Allocs {
    /// The slot of each allocation's node; `NO_SLOT` if it is not stored.
    pub(super) slots: Table<Id, u32>,
    /// Those whose node is not stored.
    pub(super) orphaned: AllocsById,
    /// Their nodes' IDs and their own.
    pub(super) orphaned_by_node: OrdSet<(Id, Id)>,
    /// By job ID and namespace: all allocations of a job ID are neighbours, whatever their namespace. With the slots of
    /// their nodes, so that those of a job are found without `slots`, a large tree.
    pub(super) by_job: Table<(Id, Id), OrdMap<Id, u32>>,
    /// Where those are that nobody has read yet.
    pub(super) rows: Option<Arc<dyn AllocRows>>,
}

impl Allocs {
    pub(super) fn of_missing_node(&self, node: &Id) -> impl Iterator<Item = &Id> {
        let start = (node.clone(), Id::default());
        self.orphaned_by_node.range(start..).take_while(move |(n, _)| n == node).map(|(_, id)| id)
    }

    /// Notes where an allocation is.
    pub(super) fn note_slot(&mut self, id: &Id, alloc: &Allocation, slot: u32) {
        self.slots.insert(id.clone(), slot);
        let job = (Id::new(&alloc.job_id), Id::new(&alloc.namespace));
        self.by_job.change(job, |slots| {
            slots.insert(id.clone(), slot);
        });
    }

    pub(super) fn leave_orphaned(&mut self, id: &Id, node_id: &str) -> Option<Arc<AllocEntry>> {
        self.orphaned_by_node.remove(&(Id::new(node_id), id.clone()));
        self.orphaned.remove(id)
    }
}
