//! States that know of their allocations what their tables and sums need, and decode the rest when it is read.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use imbl::OrdMap;

use super::ordered_keys::{AllocOrder, OrderedKeys};
use super::rows::AllocRows;
use super::table::{Base, Table};
use crate::alloc_tables::{Allocs, AllocsById, LazyAllocs};
use crate::bulk::{Rows, in_threads};
use crate::hash::IdHash;
use crate::id::Id;
use crate::node::NodeEntry;
use crate::slots::{NO_SLOT, Slots};
use crate::summary::NodeSummary;
use crate::tables::State;
use crate::usage::{AllocPhase, AllocUsage};
use encamp_model::{Node, Text};

/// What the tables and sums of a state need to know of an allocation.
#[derive(Debug, Clone)]
pub struct AllocFacts {
    /// The number of its row, by which the caller finds it.
    pub row: u32,
    /// Its ID.
    pub id: Id,
    /// The node it is placed on.
    pub node_id: Text,
    /// The job's namespace.
    pub namespace: Text,
    /// The job's ID.
    pub job_id: Text,
    /// The priority of the job version it runs, if that is known.
    pub priority: Option<i64>,
    /// Its flattened resources.
    pub usage: AllocUsage,
    /// The phase according to its statuses.
    pub phase: AllocPhase,
}

/// [`Allocs::slots`] of ordered keys.
#[derive(Debug)]
struct SlotsById(Arc<OrderedKeys>);

impl Base<Id, u32> for SlotsById {
    fn len(&self) -> usize {
        self.0.ids.len()
    }

    fn key(&self, position: usize) -> Option<&Id> {
        self.0.id(self.0.by_id().get(position)?.0 as usize)
    }

    fn value(&self, position: usize) -> Option<&u32> {
        self.0.by_id().get(position).map(|(_, slot)| slot)
    }
}

/// [`Allocs::by_job`] of ordered keys.
#[derive(Debug)]
struct SlotsByJob {
    keys: Arc<OrderedKeys>,
    groups: OnceLock<Vec<Vec<u32>>>,
    slots: Box<[OnceLock<OrdMap<Id, u32>>]>,
}

impl SlotsByJob {
    fn new(keys: Arc<OrderedKeys>) -> SlotsByJob {
        let slots = keys.jobs.iter().map(|_| OnceLock::new()).collect();
        SlotsByJob { keys, groups: OnceLock::new(), slots }
    }

    /// The places of the allocations of each job.
    fn groups(&self) -> &[Vec<u32>] {
        self.groups.get_or_init(|| {
            let mut groups = vec![Vec::new(); self.keys.jobs.len()];
            for (place, job) in (0..).zip(&self.keys.job_of) {
                if let Some(group) = groups.get_mut(*job as usize) {
                    group.push(place);
                }
            }
            groups
        })
    }
}

impl Base<(Id, Id), OrdMap<Id, u32>> for SlotsByJob {
    fn len(&self) -> usize {
        self.keys.jobs.len()
    }

    fn key(&self, position: usize) -> Option<&(Id, Id)> {
        self.keys.jobs.get(position)
    }

    fn value(&self, position: usize) -> Option<&OrdMap<Id, u32>> {
        Some(self.slots.get(position)?.get_or_init(|| {
            let places = self.groups().get(position).into_iter().flatten();
            places.filter_map(|p| Some((self.keys.id(*p as usize)?.clone(), self.keys.slot_of(*p)))).collect()
        }))
    }
}

impl State {
    /// Whether each allocation has an ID of its own.
    pub fn are_identified(facts: &[AllocFacts]) -> bool {
        let mut seen: HashSet<&Id, IdHash> = HashSet::with_capacity_and_hasher(facts.len(), IdHash::default());
        facts.iter().all(|f| f.id != Id::default() && seen.insert(&f.id))
    }

    /// The state with these rows, of which `rows.allocs` is empty, and with allocations that are decoded when they are
    /// read; otherwise the same as [`State::load`] gives with the allocations. `source` gives the rows of allocations
    /// in the order that it receives. Each allocation has an ID of its own: [`State::are_identified`].
    pub fn load_with_facts<R: AllocRows + 'static>(
        rows: Rows,
        facts: Vec<AllocFacts>,
        source: impl FnOnce(Arc<AllocOrder>) -> R,
    ) -> (State, Arc<R>) {
        let (mut state, nodes) = State::without_nodes(rows);
        let facts = state.in_order(facts);
        let order = Arc::new(order_of(&facts, nodes.len()));
        let keys = Arc::new(keys_of(&facts, order.clone()));
        let rows = Arc::new(source(order));
        let source: Arc<dyn AllocRows> = rows.clone();
        state.fill_with_facts(nodes, &facts, &keys, &source);
        let range = |slot| LazyAllocs::ordered(source.clone(), slot, keys.clone(), keys.order.range(slot));
        let orphaned = || facts.iter().filter(|(slot, _)| *slot == NO_SLOT);
        state.allocs = Allocs {
            slots: Table::of(Arc::new(SlotsById(keys.clone()))),
            by_job: Table::of(Arc::new(SlotsByJob::new(keys.clone()))),
            orphaned: AllocsById::lazy(range(None)),
            orphaned_by_node: orphaned().map(|(_, f)| (Id::new(&f.node_id), f.id.clone())).collect(),
            rows: Some(source.clone()),
        };
        (state, rows)
    }

    /// The facts with the slots of nodes, by slot and ID.
    fn in_order(&self, facts: Vec<AllocFacts>) -> Vec<(u32, AllocFacts)> {
        let slot = |f: &AllocFacts| self.slots.get(&f.node_id).copied().unwrap_or(NO_SLOT);
        let compare = |(a, x): &(u32, AllocFacts), (b, y): &(u32, AllocFacts)| a.cmp(b).then_with(|| x.id.cmp(&y.id));
        let mut facts = in_threads(facts, |part| {
            let mut part: Vec<(u32, AllocFacts)> = part.into_iter().map(|f| (slot(&f), f)).collect();
            part.sort_by(compare);
            part
        });
        // The parts are in order, so this merges them.
        facts.sort_by(compare);
        facts
    }

    fn fill_with_facts(
        &mut self,
        nodes: Vec<Arc<Node>>,
        facts: &[(u32, AllocFacts)],
        keys: &Arc<OrderedKeys>,
        source: &Arc<dyn AllocRows>,
    ) {
        let numbered: Vec<(u32, Arc<Node>)> = (0..).zip(nodes).collect();
        let entry = |(slot, node): (u32, Arc<Node>)| {
            let range = keys.order.range(Some(slot));
            let mut entry = NodeEntry::new(node, slot);
            entry.allocs =
                AllocsById::lazy(LazyAllocs::ordered(source.clone(), Some(slot), keys.clone(), range.clone()));
            let of_node = facts.get(range).unwrap_or_default().iter().map(|(_, f)| f);
            for f in of_node.filter(|f| !f.phase.client_terminal()) {
                entry.usage.count_in(&entry.info, &f.usage);
                entry.by_priority.add_amounts(f.priority, &f.usage);
            }
            entry.usage.settle_cores();
            (NodeSummary::of(&entry), Some(Arc::new(entry)))
        };
        let entries = in_threads(numbered, |part| part.into_iter().map(&entry).collect());
        let (summaries, entries) = entries.into_iter().unzip();
        (self.summaries, self.nodes) = (Slots::of(summaries), Slots::of(entries));
    }
}

fn order_of(facts: &[(u32, AllocFacts)], slots: usize) -> AllocOrder {
    let before = |slot: usize| facts.partition_point(|(other, _)| (*other as usize) < slot);
    AllocOrder {
        rows: facts.iter().map(|(_, f)| f.row).collect(),
        starts: (0..=slots).map(|slot| u32::try_from(before(slot)).unwrap_or(u32::MAX)).collect(),
    }
}

fn keys_of(facts: &[(u32, AllocFacts)], order: Arc<AllocOrder>) -> OrderedKeys {
    let mut numbers: HashMap<(&str, &str), u32, IdHash> = HashMap::default();
    let mut job_of = Vec::with_capacity(facts.len());
    for (_, f) in facts {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        job_of.push(*numbers.entry((&f.job_id, &f.namespace)).or_insert(next));
    }
    let mut jobs: Vec<((Id, Id), u32)> =
        numbers.iter().map(|((job, namespace), n)| ((Id::new(job), Id::new(namespace)), *n)).collect();
    jobs.sort_unstable();
    let mut places = vec![0; jobs.len()];
    for (place, (_, number)) in (0..).zip(&jobs) {
        if let Some(known) = places.get_mut(*number as usize) {
            *known = place;
        }
    }
    job_of.iter_mut().for_each(|job| *job = places.get(*job as usize).copied().unwrap_or_default());
    let ids = facts.iter().map(|(_, f)| f.id.clone()).collect();
    OrderedKeys::new(ids, order, jobs.into_iter().map(|(job, _)| job).collect(), job_of)
}
