//! The keys of a state whose rows are decoded when they are read.

use std::fmt;
use std::sync::{Arc, OnceLock};

use imbl::OrdMap;

use super::alloc_keys::AllocKeys;
use super::rows::Rows;
use super::table::Base;
use crate::id::Id;

/// Keys that are decoded when the first allocation is looked up by ID or job.
#[derive(Debug)]
pub(super) struct LazyKeys {
    rows: Arc<dyn Rows>,
    keys: OnceLock<AllocKeys>,
}

impl LazyKeys {
    pub(super) fn new(rows: Arc<dyn Rows>) -> LazyKeys {
        LazyKeys { rows, keys: OnceLock::new() }
    }

    fn keys(&self) -> &AllocKeys {
        self.keys.get_or_init(|| self.rows.alloc_keys())
    }
}

/// The slots of all allocations' nodes.
#[derive(Debug)]
pub(super) struct SlotsOfAllocs(pub(super) Arc<LazyKeys>);

impl Base<Id, u32> for SlotsOfAllocs {
    fn len(&self) -> usize {
        self.0.keys().len()
    }

    fn key(&self, position: usize) -> Option<&Id> {
        self.0.keys().by_id(position).map(|(id, _)| id)
    }

    fn value(&self, position: usize) -> Option<&u32> {
        self.0.keys().by_id(position).map(|(_, slot)| slot)
    }
}

/// The slots of a job's allocations.
type SlotsOfJob = OrdMap<Id, u32>;

/// The slots of the nodes of each job's allocations.
#[derive(Debug)]
pub(super) struct ByJob {
    keys: Arc<LazyKeys>,
    slots: OnceLock<Vec<OnceLock<SlotsOfJob>>>,
}

impl ByJob {
    pub(super) fn new(keys: Arc<LazyKeys>) -> ByJob {
        ByJob { keys, slots: OnceLock::new() }
    }
}

impl Base<(Id, Id), OrdMap<Id, u32>> for ByJob {
    fn len(&self) -> usize {
        self.keys.keys().job_keys().len()
    }

    fn key(&self, position: usize) -> Option<&(Id, Id)> {
        self.keys.keys().job_keys().get(position)
    }

    fn value(&self, position: usize) -> Option<&OrdMap<Id, u32>> {
        let keys = self.keys.keys();
        let slots = self.slots.get_or_init(|| keys.job_keys().iter().map(|_| OnceLock::new()).collect());
        Some(slots.get(position)?.get_or_init(|| keys.of_job(position).iter().cloned().collect()))
    }
}

/// Rows that are decoded one by one.
pub(super) struct Decoded<K, V> {
    keys: Vec<K>,
    values: Box<[OnceLock<V>]>,
    rows: Arc<dyn Rows>,
    decode: fn(&dyn Rows, usize) -> V,
}

impl<K, V> Decoded<K, V> {
    pub(super) fn new(keys: Vec<K>, rows: Arc<dyn Rows>, decode: fn(&dyn Rows, usize) -> V) -> Decoded<K, V> {
        let values = keys.iter().map(|_| OnceLock::new()).collect();
        Decoded { keys, values, rows, decode }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Decoded<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoded").field("keys", &self.keys).finish_non_exhaustive()
    }
}

impl<K, V> Base<K, V> for Decoded<K, V>
where
    K: fmt::Debug + Send + Sync,
    V: fmt::Debug + Send + Sync,
{
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn key(&self, position: usize) -> Option<&K> {
        self.keys.get(position)
    }

    fn value(&self, position: usize) -> Option<&V> {
        Some(self.values.get(position)?.get_or_init(|| (self.decode)(&*self.rows, position)))
    }
}

/// The slots of nodes that are all stored since the state was made, by ascending ID.
#[derive(Debug)]
pub(crate) struct NodesInOrder(Vec<(Id, u32)>);

impl NodesInOrder {
    pub(super) fn new(slots: Vec<(Id, u32)>) -> Arc<NodesInOrder> {
        Arc::new(NodesInOrder(slots))
    }

    pub(crate) fn get(&self, id: &str) -> Option<&u32> {
        let id = Id::new(id);
        let position = self.0.binary_search_by(|(other, _)| other.cmp(&id)).ok()?;
        self.0.get(position).map(|(_, slot)| slot)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Id, u32)> {
        self.0.iter()
    }
}
