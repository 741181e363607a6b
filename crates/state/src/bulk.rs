//! Loads a whole state at once: trees are made of sorted rows, what is used on a node is summed up once, and nodes are
//! made in several threads.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread;

use super::alloc_tables::Allocs;
use super::hash::IdHash;
use super::id::Id;
use super::lazy::table::Table;
use super::node::NodeEntry;
use super::slots::{NO_SLOT, Slots};
use super::sorted::full_map;
use super::summary::NodeSummary;
use super::tables::State;
use super::usage::AllocEntry;
use encamp_model::*;

/// So many rows are worth a thread.
const WORTH_A_THREAD: usize = 2048;
/// More threads than that gain little.
const MOST_THREADS: usize = 16;

/// The rows of all tables of a state. Of several rows with the same ID the last counts.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// The index of the state is at least this one, and at least the ModifyIndex of each row.
    pub index: u64,
    /// Scheduler configuration, if one is stored.
    pub scheduler_config: Option<Arc<SchedulerConfiguration>>,
    /// The settings of the servers, if they are known.
    pub server_settings: Option<Arc<ServerSettings>>,
    /// Node pools.
    pub node_pools: Vec<Arc<NodePool>>,
    /// Namespaces.
    pub namespaces: Vec<Arc<Namespace>>,
    /// Nodes. Their order decides about their slots.
    pub nodes: Vec<Arc<Node>>,
    /// All versions of all jobs.
    pub jobs: Vec<Arc<Job>>,
    /// Allocations, those whose node is not among the nodes included.
    pub allocs: Vec<Arc<Allocation>>,
    /// Deployments.
    pub deployments: Vec<Arc<Deployment>>,
    /// CSI volumes.
    pub csi_volumes: Vec<Arc<CsiVolume>>,
    /// Host volumes.
    pub host_volumes: Vec<Arc<HostVolume>>,
    /// Claims on host volumes.
    pub host_volume_claims: Vec<Arc<TaskGroupHostVolumeClaim>>,
}

impl State {
    /// The state with these rows, the same as if they were added one by one to an empty one, in a fraction of the time.
    pub fn load(mut rows: Rows) -> State {
        let allocs = std::mem::take(&mut rows.allocs);
        let (mut state, nodes) = State::without_nodes(rows);
        state.touch(allocs.iter().map(|a| a.modify_index).max().unwrap_or_default());
        let placed = state.place(allocs);
        state.fill(nodes, &placed);
        state
    }

    /// The state with the rows of all tables but those of nodes and allocations; and the nodes by slot.
    pub(super) fn without_nodes(rows: Rows) -> (State, Vec<Arc<Node>>) {
        let mut state = State { server_settings: rows.server_settings, ..State::new() };
        rows.scheduler_config.into_iter().for_each(|c| state.set_scheduler_config(c));
        rows.node_pools.into_iter().for_each(|p| state.upsert_node_pool(p));
        rows.namespaces.into_iter().for_each(|n| state.upsert_namespace(n));
        rows.jobs.into_iter().for_each(|j| state.upsert_job(j));
        rows.deployments.into_iter().for_each(|d| state.upsert_deployment(d));
        rows.csi_volumes.into_iter().for_each(|v| state.upsert_csi_volume(v));
        rows.host_volumes.into_iter().for_each(|v| state.upsert_host_volume(v));
        rows.host_volume_claims.into_iter().for_each(|c| state.upsert_host_volume_claim(c));
        let newest = rows.nodes.iter().map(|n| n.modify_index).max().unwrap_or_default();
        state.touch(newest.max(rows.index));
        let nodes = state.number(rows.nodes);
        (state, nodes)
    }

    /// Gives each node its slot; the nodes by slot.
    fn number(&mut self, rows: Vec<Arc<Node>>) -> Vec<Arc<Node>> {
        let mut nodes: Vec<Arc<Node>> = Vec::with_capacity(rows.len());
        for node in rows {
            if let Some(stored) = self.slots.get(&node.id).and_then(|slot| nodes.get_mut(*slot as usize)) {
                *stored = node;
                continue;
            }
            let slot = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
            self.slots.insert(node.id.clone(), slot);
            nodes.push(node);
        }
        nodes
    }

    /// Finds the slot of each allocation; the allocations by ID.
    fn place(&self, rows: Vec<Arc<Allocation>>) -> Vec<Placed> {
        let place = |alloc: Arc<Allocation>| {
            let slot = self.slots.get(alloc.node_id.as_str()).copied().unwrap_or(NO_SLOT);
            Placed { id: Id::new(&alloc.id), slot, alloc }
        };
        let mut placed = in_threads(rows, |part| {
            let mut placed: Vec<Placed> = part.into_iter().map(place).collect();
            placed.sort_by(|a, b| a.id.cmp(&b.id));
            placed
        });
        // The parts are in order, so this merges them.
        placed.sort_by(|a, b| a.id.cmp(&b.id));
        placed.dedup_by(|later, kept| {
            let same = later.id == kept.id;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
        placed
    }

    /// Makes the nodes and the tables of allocations.
    fn fill(&mut self, nodes: Vec<Arc<Node>>, placed: &[Placed]) {
        let allocs_of = by_slot(placed, nodes.len());
        let numbered: Vec<(usize, Arc<Node>)> = nodes.into_iter().enumerate().collect();
        let entry = |(slot, node): (usize, Arc<Node>)| {
            let mut entry = NodeEntry::new(node, u32::try_from(slot).unwrap_or(u32::MAX));
            // The entries of a node are made next to each other: they share the texts of its addresses.
            let of_node = allocs_of.get(slot).into_iter().flatten().map(|p| (p.id.clone(), p.entry()));
            let of_node: Vec<_> = of_node.collect();
            entry.set_allocs(full_map(of_node.iter().cloned()));
            (NodeSummary::of(&entry), Some(Arc::new(entry)))
        };
        let (entries, by_job, slots) = thread::scope(|scope| {
            let by_job = scope.spawn(|| by_job(placed));
            let slots = scope.spawn(|| full_map(placed.iter().map(|p| (p.id.clone(), p.slot))));
            let entries = in_threads(numbered, |part| part.into_iter().map(&entry).collect());
            (entries, joined(by_job), joined(slots))
        });
        let (summaries, entries) = entries.into_iter().unzip();
        (self.summaries, self.nodes) = (Slots::of(summaries), Slots::of(entries));
        let orphaned = || placed.iter().filter(|p| p.slot == NO_SLOT);
        self.allocs = Allocs {
            slots: Table::Tree(slots),
            by_job: Table::Tree(by_job),
            orphaned: orphaned().map(|p| (p.id.clone(), p.entry())).collect(),
            orphaned_by_node: orphaned().map(|p| (Id::new(&p.alloc.node_id), p.id.clone())).collect(),
            rows: None,
        };
    }
}

/// An allocation whose node is known.
struct Placed {
    id: Id,
    slot: u32,
    alloc: Arc<Allocation>,
}

impl Placed {
    fn entry(&self) -> Arc<AllocEntry> {
        Arc::new(AllocEntry::new(self.alloc.clone()))
    }
}

/// The allocations of each slot, by ID as they are.
fn by_slot(placed: &[Placed], count: usize) -> Vec<Vec<&Placed>> {
    let mut of_slot: Vec<Vec<&Placed>> = vec![Vec::new(); count];
    for p in placed {
        if let Some(of_slot) = of_slot.get_mut(p.slot as usize) {
            of_slot.push(p);
        }
    }
    of_slot
}

/// [`Allocs::by_job`] of allocations that are sorted by ID.
fn by_job(placed: &[Placed]) -> imbl::OrdMap<(Id, Id), imbl::OrdMap<Id, u32>> {
    let mut of_job: HashMap<(&str, &str), Vec<&Placed>, IdHash> = HashMap::default();
    for p in placed {
        of_job.entry((&p.alloc.job_id, &p.alloc.namespace)).or_default().push(p);
    }
    let jobs = of_job.into_iter().map(|((job, namespace), of_job)| {
        let slots = full_map(of_job.iter().map(|p| (p.id.clone(), p.slot)));
        ((Id::new(job), Id::new(namespace)), slots)
    });
    jobs.collect()
}

/// Applies a function to parts of a list, in as many threads as it is worth; the results of all parts in order.
pub(super) fn in_threads<T: Send, R: Send>(mut items: Vec<T>, apply: impl Fn(Vec<T>) -> Vec<R> + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let threads = (items.len() / WORTH_A_THREAD).min(cores).min(MOST_THREADS);
    if threads < 2 {
        return apply(items);
    }
    let length = items.len().div_ceil(threads);
    let mut parts = Vec::with_capacity(threads);
    while items.len() > length {
        let last = (items.len() - 1) / length * length;
        parts.push(items.split_off(last));
    }
    thread::scope(|scope| {
        let others: Vec<_> = parts.into_iter().rev().map(|part| scope.spawn(|| apply(part))).collect();
        let mut results = apply(items);
        others.into_iter().for_each(|other| results.append(&mut joined(other)));
        results
    })
}

/// The result of a thread; its panic is continued here.
fn joined<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use encamp_model::random::Random;

    use super::*;
    use crate::allocs::tests::{allocation, node};

    /// Rows with few different IDs, the empty one among them: many are there twice, and many nodes are not there.
    fn rows(random: &mut Random) -> Rows {
        let id = |random: &mut Random, kind: &str, count: u64| match random.below(count + 1) {
            0 => String::new(),
            n => format!("{kind}{n}"),
        };
        let number = |random: &mut Random| random.below(1000);
        let job = |random: &mut Random| {
            let priority = i64::try_from(random.below(3)).expect("small") * 10;
            let (id, version, modify_index) = (id(random, "j", 3), random.below(3), number(random));
            Arc::new(Job { id, namespace: "ns".into(), version, priority, modify_index, ..Default::default() })
        };
        let jobs: Vec<Arc<Job>> = (0..random.below(8)).map(|_| job(random)).collect();
        let alloc = |random: &mut Random| {
            let a = random.below(60);
            let (namespace, job_id) = (format!("ns{}", a % 2), format!("j{}", a % 3));
            let job = jobs.get(usize::try_from(random.below(8)).expect("small")).cloned();
            let id = if a == 0 { String::new() } else { format!("a{a}") };
            let modify_index = number(random);
            let (id, namespace, job_id) = (id.into(), namespace.into(), job_id.into());
            Arc::new(Allocation { id, namespace, job_id, job, modify_index, ..allocation(random, None) })
        };
        let deployment = |random: &mut Random| {
            let (id, job_id, modify_index) = (id(random, "d", 3), id(random, "j", 3), number(random));
            Arc::new(Deployment { id, job_id, modify_index, ..Default::default() })
        };
        Rows {
            index: number(random),
            scheduler_config: (random.below(2) == 0).then(Default::default),
            server_settings: (random.below(2) == 0).then(Default::default),
            node_pools: vec![Arc::new(NodePool { name: id(random, "p", 2), ..Default::default() })],
            namespaces: vec![Arc::new(Namespace { name: id(random, "ns", 2), ..Default::default() })],
            nodes: (0..random.below(6)).map(|_| node(random.below(4))).collect(),
            allocs: (0..random.below(100)).map(|_| alloc(random)).collect(),
            deployments: (0..random.below(5)).map(|_| deployment(random)).collect(),
            csi_volumes: vec![Arc::new(CsiVolume { id: id(random, "v", 2), ..Default::default() })],
            host_volumes: vec![Arc::new(HostVolume { id: id(random, "v", 2), ..Default::default() })],
            host_volume_claims: vec![Arc::new(TaskGroupHostVolumeClaim {
                id: id(random, "c", 2),
                ..Default::default()
            })],
            jobs,
        }
    }

    fn one_by_one(rows: Rows) -> State {
        let mut state = State { index: rows.index, server_settings: rows.server_settings, ..State::new() };
        rows.scheduler_config.into_iter().for_each(|c| state.set_scheduler_config(c));
        rows.node_pools.into_iter().for_each(|p| state.upsert_node_pool(p));
        rows.namespaces.into_iter().for_each(|n| state.upsert_namespace(n));
        rows.nodes.into_iter().for_each(|n| state.upsert_node(n));
        rows.jobs.into_iter().for_each(|j| state.upsert_job(j));
        state.upsert_allocs(rows.allocs);
        rows.deployments.into_iter().for_each(|d| state.upsert_deployment(d));
        rows.csi_volumes.into_iter().for_each(|v| state.upsert_csi_volume(v));
        rows.host_volumes.into_iter().for_each(|v| state.upsert_host_volume(v));
        rows.host_volume_claims.into_iter().for_each(|c| state.upsert_host_volume_claim(c));
        state
    }

    /// All tables and indexes as text; those in no particular order in that of other tables.
    fn shown(state: &State) -> Vec<String> {
        let State {
            index,
            scheduler_config,
            server_settings,
            nodes,
            lazy_nodes: _,
            summaries,
            slots,
            free_slots,
            node_index: _,
            node_pools,
            namespaces,
            jobs,
            allocs,
            deployments,
            deployments_by_job,
            csi_volumes,
            host_volumes,
            host_volume_claims,
        } = state;
        let slots: Vec<_> =
            slots.in_order().map(|(id, slot)| (slot, slots.get(&id.to_string()).copied(), id)).collect();
        vec![
            format!("{index} {scheduler_config:?} {server_settings:?} {node_pools:?} {namespaces:?}"),
            format!("{:?}", nodes.iter().collect::<Vec<_>>()),
            format!("{:?}", summaries.iter().collect::<Vec<_>>()),
            format!("{slots:?} {free_slots:?} {:?}", state.node_index()),
            format!("{jobs:?}"),
            format!("{allocs:?}"),
            format!("{deployments:?} {deployments_by_job:?} {csi_volumes:?} {host_volumes:?} {host_volume_claims:?}"),
        ]
    }

    #[test]
    fn loaded_rows_are_those_added_one_by_one() {
        for seed in 0..500 {
            let rows = rows(&mut Random::new(seed, "rows"));
            let (loaded, added) = (shown(&State::load(rows.clone())), shown(&one_by_one(rows)));
            for (loaded, added) in loaded.iter().zip(&added) {
                assert_eq!(loaded, added, "seed {seed}");
            }
        }
    }

    #[test]
    fn loaded_states_follow_later_writes() {
        for seed in 0..200 {
            let random = &mut Random::new(seed, "later rows");
            let (first, second) = (rows(random), rows(random));
            let (mut loaded, mut added) = (State::load(first.clone()), one_by_one(first));
            for state in [&mut loaded, &mut added] {
                second.nodes.iter().for_each(|n| state.upsert_node(n.clone()));
                state.upsert_allocs(second.allocs.clone());
                state.remove_node("n1");
                state.remove_allocs(["a7", "a8"]);
            }
            assert_eq!(shown(&loaded), shown(&added), "seed {seed}");
        }
    }

    #[test]
    fn threads_keep_the_order() {
        for count in [0, 1, WORTH_A_THREAD, 2 * WORTH_A_THREAD, 5 * WORTH_A_THREAD + 3] {
            let doubled = in_threads((0..count).collect(), |part| part.into_iter().map(|n| n * 2).collect());
            assert_eq!(doubled, (0..count).map(|n| n * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn many_rows_are_loaded_in_threads() {
        let random = &mut Random::new(1, "many rows");
        let nodes: Vec<Arc<Node>> = (0..2 * WORTH_A_THREAD as u64 + 9).map(node).collect();
        let alloc = |n: usize| {
            let node_id = format!("n{}", random.below(5000));
            let id = format!("a{}", n % 4500);
            let (id, node_id, job_id) = (id.into(), node_id.into(), format!("j{}", n % 9).into());
            Arc::new(Allocation { id, node_id, job_id, ..Default::default() })
        };
        let rows = Rows { nodes, allocs: (0..3 * WORTH_A_THREAD).map(alloc).collect(), ..Default::default() };
        assert_eq!(shown(&State::load(rows.clone())), shown(&one_by_one(rows)));
    }
}
