//! Makes a store of all its allocations and what schedulers read with them at once.

use std::sync::Arc;
use std::thread;

use imbl::OrdSet;

use super::StateStore;
use crate::bulk::Rows;
use crate::{AllocEntry, Id, State};
use encamp_model::{Deployment, Job};

impl StateStore {
    /// The store with these rows, the same as if they were put one by one into an empty one, in a fraction of the time.
    /// All other tables are empty, and so are the indexes of all tables.
    pub fn load(rows: Rows) -> StateStore {
        let mut store = StateStore::default();
        store.note_deployment_writes(&rows.allocs);
        store.note_deployments_and_jobs(rows.deployments.iter(), rows.jobs.iter());
        store.hold(State::load(rows));
        store
    }

    /// A store with the tables that schedulers read, such as those of a snapshot file. All other tables are empty.
    pub fn of_state(state: State) -> StateStore {
        // All of them are read here, and one by one that would take as many times longer as there are threads.
        state.decode_all();
        let mut store = StateStore::default();
        let allocs: Vec<_> = state.allocs().map(|entry| entry.alloc.clone()).collect();
        store.note_deployment_writes(&allocs);
        store.note_deployments_and_jobs(state.deployments(), state.jobs().map(|entry| &entry.current));
        store.hold(state);
        store
    }

    fn note_deployments_and_jobs<'a>(
        &mut self,
        deployments: impl Iterator<Item = &'a Arc<Deployment>>,
        jobs: impl Iterator<Item = &'a Arc<Job>>,
    ) {
        for d in deployments {
            self.deployments_by_create.insert((d.create_index, d.id.clone()));
        }
        for job in jobs.filter(|job| !job.parent_id.is_empty()) {
            self.children.insert((job.namespace.clone(), job.parent_id.clone(), job.id.clone()));
        }
    }

    /// Takes the tables that schedulers read, and makes the other indexes of the allocations in them.
    fn hold(&mut self, state: State) {
        thread::scope(|scope| {
            let by_eval = scope.spawn(|| pairs(&state, |entry| &entry.alloc.eval_id));
            let by_deployment = scope.spawn(|| pairs(&state, |entry| &entry.alloc.deployment_id));
            self.allocs_by_create = sorted(&state, |entry, id| Some((entry.alloc.create_index, id)));
            self.allocs_by_eval = by_eval.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            self.allocs_by_deployment = by_deployment.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
        self.state = Arc::new(state);
    }
}

/// The allocations that name something, with its name.
fn pairs(state: &State, name: impl Fn(&AllocEntry) -> &str) -> OrdSet<(Id, Id)> {
    sorted(state, |entry, id| Some(name(entry)).filter(|name| !name.is_empty()).map(|name| (Id::new(name), id)))
}

/// A key of each allocation that has one. Keys in their order are inserted next to each other.
fn sorted<K: Ord + Clone>(state: &State, key: impl Fn(&AllocEntry, Id) -> Option<K>) -> OrdSet<K> {
    // By node, as they are stored.
    let entries = state.nodes().flat_map(|node| &node.allocs).chain(&state.allocs.orphaned);
    let mut keys: Vec<K> = entries.filter_map(|entry| key(entry, Id::new(&entry.alloc.id))).collect();
    keys.sort_unstable();
    keys.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::random::Random;
    use encamp_model::{AllocDeploymentStatus, Allocation, Deployment, Job};

    fn rows(random: &mut Random) -> Rows {
        let id = |random: &mut Random, kind: &str, count: u64| match random.below(count + 1) {
            0 => String::new(),
            n => format!("{kind}{n}"),
        };
        let alloc = |random: &mut Random| {
            let healthy = (random.below(2) == 0).then_some(random.below(2) == 0);
            let status = AllocDeploymentStatus { healthy, modify_index: random.below(9), ..Default::default() };
            let number = random.below(40);
            Arc::new(Allocation {
                id: format!("a{number}").into(),
                node_id: id(random, "n", 2).into(),
                eval_id: id(random, "e", 3).into(),
                deployment_id: id(random, "d", 3).into(),
                create_index: number % 5,
                modify_index: random.below(9),
                deployment_status: Some(Box::new(status)),
                ..Default::default()
            })
        };
        let deployment = |random: &mut Random| {
            Arc::new(Deployment { id: id(random, "d", 9), create_index: random.below(5), ..Default::default() })
        };
        let job = |random: &mut Random| {
            let (id, parent_id) = (id(random, "j", 9), id(random, "j", 3));
            Arc::new(Job { id, parent_id, ..Default::default() })
        };
        let mut rows = Rows {
            nodes: vec![Arc::new(encamp_model::Node { id: "n1".into(), ..Default::default() })],
            allocs: (0..random.below(60)).map(|_| alloc(random)).collect(),
            deployments: (0..random.below(5)).map(|_| deployment(random)).collect(),
            jobs: (0..random.below(5)).map(|_| job(random)).collect(),
            ..Rows::default()
        };
        rows.deployments.sort_by(|a, b| a.id.cmp(&b.id));
        rows.deployments.dedup_by(|a, b| a.id == b.id);
        rows
    }

    fn shown(store: &StateStore) -> Vec<String> {
        vec![
            format!("{:?}", store.allocs_by_create),
            format!("{:?} {:?}", store.allocs_by_eval, store.allocs_by_deployment),
            format!("{:?} {:?}", store.deployment_writes, store.deployments_by_create),
            format!("{:?}", store.children),
            format!("{:?}", store.allocs_by_create().map(|a| &a.alloc).collect::<Vec<_>>()),
        ]
    }

    #[test]
    fn a_loaded_store_is_that_of_rows_put_one_by_one() {
        for seed in 0..300 {
            let rows = rows(&mut Random::new(seed, "store"));
            let mut put = StateStore::default();
            rows.nodes.iter().for_each(|n| put.put_node(n.clone()));
            rows.jobs.iter().for_each(|j| put.put_job(j.clone()));
            rows.allocs.iter().for_each(|a| put.put_allocs(vec![a.clone()]));
            rows.deployments.iter().for_each(|d| put.put_deployment(d.clone()));
            for (loaded, put) in shown(&StateStore::load(rows)).iter().zip(shown(&put)) {
                assert_eq!(*loaded, put, "seed {seed}");
            }
        }
    }
}
