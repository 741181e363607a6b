//! The facts about jobs that views of pools need. Most allocations share a version of a job with others, and most jobs
//! run in several pools: each is looked up once for all pools of a state.

use std::collections::HashMap;
use std::sync::Arc;

use encamp_model::{Allocation, Job, JobType, TaskGroup};
use encamp_state::State;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashMap;

use super::{PROTECT, cores};
use crate::params::{self, ENABLED};

/// The known facts about the jobs of one state. A cache must only be used with the state it was filled from: a state
/// that is read again gets a new cache. Pools may be viewed at the same time.
#[derive(Debug, Default)]
pub struct JobCache(Mutex<Jobs>);

impl JobCache {
    pub(super) fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock()
    }
}

/// The jobs and the versions of them that allocations were placed with.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    facts: Vec<JobFacts>,
    /// Positions in `facts` by ID and namespace.
    by_id: HashMap<String, HashMap<String, usize>>,
    /// By address, which stays taken while the version is held here.
    versions: FxHashMap<usize, Version>,
}

/// The facts that a view needs about the version of a job that an allocation was placed with.
#[derive(Debug, Clone)]
struct Version {
    facts: AllocFacts,
    /// Keeps the address of the version taken.
    _placed_with: Arc<Job>,
}

/// The facts that a view needs about an allocation's job.
#[derive(Debug, Clone, Copy)]
pub(super) struct AllocFacts {
    /// The position of its job.
    pub(super) job: usize,
    /// It belongs to a system job.
    pub(super) is_system: bool,
    /// The version it was placed with or the current one keeps its node from being removed.
    pub(super) protects: bool,
    /// Its job has a scalable group with a task that asks for cores.
    pub(super) asks_cores: bool,
}

/// The facts that a view needs about a job.
#[derive(Debug)]
pub(super) struct JobFacts {
    /// The current version, if the job is still stored.
    pub(super) current: Option<Arc<Job>>,
    /// It has a group that can be scaled.
    scalable: bool,
    /// One of those groups has a task that asks for cores.
    asks_cores: bool,
    /// It keeps its nodes from being removed.
    protects: bool,
}

impl Jobs {
    /// The job at a position that [`Jobs::of_alloc`] gave.
    pub(super) fn facts(&self, job: usize) -> Option<&JobFacts> {
        self.facts.get(job)
    }

    /// The known facts about an allocation's job. Without a version of its own the current one counts.
    pub(super) fn of_alloc(&mut self, state: &State, alloc: &Allocation) -> AllocFacts {
        let Some(placed_with) = &alloc.job else { return self.look_up(state, alloc, None) };
        let address = Arc::as_ptr(placed_with).addr();
        if let Some(known) = self.versions.get(&address) {
            return known.facts;
        }
        let facts = self.look_up(state, alloc, Some(placed_with));
        self.versions.insert(address, Version { facts, _placed_with: placed_with.clone() });
        facts
    }

    fn look_up(&mut self, state: &State, alloc: &Allocation, placed_with: Option<&Job>) -> AllocFacts {
        let (namespace, id) = (alloc.namespace.as_str(), alloc.job_id.as_str());
        let job = match self.by_id.get(id).and_then(|namespaces| namespaces.get(namespace)) {
            Some(job) => *job,
            None => {
                let job = self.facts.len();
                self.facts.push(JobFacts::new(state.job(namespace, id).cloned()));
                self.by_id.entry(id.to_string()).or_default().insert(namespace.to_string(), job);
                job
            }
        };
        let facts = &self.facts[job];
        AllocFacts {
            job,
            is_system: placed_with.or(facts.current.as_deref()).is_some_and(|j| j.r#type == JobType::System),
            protects: facts.protects || placed_with.is_some_and(|j| params::is_set(&j.meta, PROTECT)),
            asks_cores: facts.asks_cores,
        }
    }
}

impl JobFacts {
    fn new(current: Option<Arc<Job>>) -> JobFacts {
        let groups = current.iter().flat_map(|j| &j.task_groups);
        let scalable: Vec<&TaskGroup> = groups.filter(|g| is_scalable(g)).collect();
        JobFacts {
            scalable: !scalable.is_empty(),
            asks_cores: scalable.iter().flat_map(|g| &g.tasks).any(|t| cores(t) > 0),
            protects: current.as_ref().is_some_and(|j| params::is_set(&j.meta, PROTECT)),
            current,
        }
    }

    /// Whether it has a group that can be scaled.
    pub(super) fn is_scalable(&self) -> bool {
        self.scalable
    }

    /// Its groups that can be scaled.
    pub(super) fn scalable_groups(&self) -> impl Iterator<Item = &TaskGroup> {
        self.current.iter().flat_map(|j| &j.task_groups).filter(|g| is_scalable(g))
    }
}

/// Whether a group carries a scaling block, or the meta that enables job scaling.
fn is_scalable(group: &TaskGroup) -> bool {
    group.scaling.is_some() || params::is_set(&group.meta, ENABLED)
}
