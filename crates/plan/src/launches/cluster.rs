//! A cluster that goes on while time passes: jobs are launched, and their allocations end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::child::launch_time;
use super::load::Demand;
use super::run_time::is_unfinished;
use crate::evaluate::Made;
use crate::what_if::headroom::{Room, ready};
use crate::what_if::waiting::short_jobs;
use crate::what_if::{Cascade, Edited, JobKey, Known, Trigger, Triggers, missing, targets};
use encamp_model::*;
use encamp_state::{Id, State};

/// A series of IDs of its own.
const SERIES: u16 = 6;

/// What follows from a launch, or from allocations that end.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// New allocations that run, by job.
    pub placed: BTreeMap<JobKey, Vec<Arc<Allocation>>>,
    /// How many allocations were preempted.
    pub preempted: usize,
}

impl Step {
    /// Adds what follows next.
    fn add(&mut self, next: Step) {
        for (key, allocs) in next.placed {
            self.placed.entry(key).or_default().extend(allocs);
        }
        self.preempted = self.preempted.saturating_add(next.preempted);
    }
}

/// Allocations of a group that cannot be placed.
#[derive(Debug, Clone, PartialEq)]
pub struct Unplaced {
    /// The group.
    pub task_group: String,
    /// How many.
    pub count: i64,
    /// Metrics of the search for a node.
    pub metrics: AllocMetric,
}

/// The cluster.
pub(super) struct Cluster {
    state: State,
    /// When the simulation begins, Unix nanoseconds.
    from: i64,
    made: Made,
    /// Jobs that wait for capacity, with the metrics of their last evaluation if there was one.
    waiting: BTreeMap<JobKey, BTreeMap<String, AllocMetric>>,
    /// What the simulation could not do.
    notes: BTreeSet<String>,
}

impl Cluster {
    /// The cluster as it is at a time in Unix nanoseconds.
    pub(super) fn new(state: &State, from: i64) -> Cluster {
        let waiting = short_jobs(state).into_iter().map(|key| (key, BTreeMap::new())).collect();
        Cluster { state: state.clone(), from, made: Made::new(SERIES), waiting, notes: BTreeSet::new() }
    }

    /// The free capacity of ready nodes.
    pub(super) fn room(&self) -> Room {
        ready(&self.state, |_| true)
    }

    /// What the simulation could not do, in words.
    pub(super) fn into_notes(self) -> Vec<String> {
        self.notes.into_iter().collect()
    }

    /// Registers a job at `now` (Unix nanoseconds) and places what it wants.
    pub(super) fn launch(&mut self, child: Job, now: i64) -> Step {
        let index = self.state.index.saturating_add(1);
        let job = Arc::new(Job {
            version: 0,
            create_index: index,
            modify_index: index,
            job_modify_index: index,
            status: JobStatus::Pending,
            ..child
        });
        let mut state = self.state.clone();
        state.index = index;
        state.upsert_job(job.clone());
        let trigger = Trigger { reason: EvalTrigger::PeriodicJob, r#type: job.r#type.clone(), priority: job.priority };
        let key = (job.namespace.clone(), job.id.clone());
        self.follow(state, Triggers::from([(key, trigger)]), BTreeSet::new(), now)
    }

    /// Allocations end well at `now` (Unix nanoseconds); what waits for capacity is tried again.
    pub(super) fn end(&mut self, ids: &[Id], now: i64) -> Step {
        let live = ids.iter().filter_map(|id| self.state.alloc_at(id)).filter(|e| !e.phase.terminal());
        let ended: Vec<Arc<Allocation>> = live.map(|e| Arc::new(ended(&e.alloc, now))).collect();
        if ended.is_empty() {
            return Step::default();
        }
        let mut state = self.state.clone();
        let nodes: BTreeSet<&str> = ended.iter().map(|a| a.node_id.as_str()).collect();
        let nodes: Vec<&Node> = nodes.into_iter().filter_map(|id| Some(self.state.node(id)?.node.as_ref())).collect();
        let hopeful = |key: &&JobKey| {
            let job = self.state.job(&key.0, &key.1);
            job.is_some_and(|job| nodes.iter().any(|node| targets(job, node)))
        };
        let mut hopeful: BTreeSet<JobKey> = self.waiting.keys().filter(hopeful).cloned().collect();
        state.upsert_allocs(ended);
        self.state = state;
        let mut step = Step::default();
        while !hopeful.is_empty() {
            let tried = self.first_of_each_parent(&hopeful);
            step.add(self.follow(self.state.clone(), Triggers::new(), tried.clone(), now));
            let stuck: BTreeSet<JobKey> = tried.iter().filter_map(|key| self.stuck_parent(key)).collect();
            let may_fit = |key: &JobKey| !tried.contains(key) && self.parent(key).is_none_or(|p| !stuck.contains(&p));
            hopeful.retain(may_fit);
        }
        step
    }

    /// Of jobs that wait, those to try first: of the equal children of a job, the one that was launched first. What it
    /// lacks, the others lack as well.
    fn first_of_each_parent(&self, waiting: &BTreeSet<JobKey>) -> BTreeSet<JobKey> {
        let mut seen = BTreeSet::new();
        waiting.iter().filter(|key| self.parent(key).is_none_or(|parent| seen.insert(parent))).cloned().collect()
    }

    /// The parent of a child that still waits.
    fn stuck_parent(&self, key: &JobKey) -> Option<JobKey> {
        self.parent(key).filter(|_| self.waiting.contains_key(key))
    }

    /// The job that launched another one of a single group since the beginning: these children are equal.
    fn parent(&self, (namespace, id): &JobKey) -> Option<JobKey> {
        let job = self.state.job(namespace, id).filter(|job| job.task_groups.len() == 1)?;
        launch_time(&job.id).filter(|at| *at > self.from).map(|_| (namespace.clone(), job.parent_id.clone()))
    }

    /// Whether a child has allocations that are to run, or waits for capacity.
    pub(super) fn is_unfinished(&self, key: &JobKey) -> bool {
        self.waiting.contains_key(key) || self.state.allocs_of_job(&key.0, &key.1).iter().any(|e| !e.phase.terminal())
    }

    /// Forgets a child that is finished, with its allocations.
    pub(super) fn forget(&mut self, key: &JobKey) {
        let allocs = self.state.allocs_of_job(&key.0, &key.1);
        self.state.remove_allocs(allocs.iter().map(|e| e.alloc.id.as_str()));
        self.state.remove_job(&key.0, &key.1);
    }

    /// What a job lacks.
    pub(super) fn unplaced(&self, key: &JobKey) -> Vec<Unplaced> {
        let Some(failed) = self.waiting.get(key) else { return Vec::new() };
        let one = |(group, metrics): (&String, &AllocMetric)| Unplaced {
            task_group: group.clone(),
            count: metrics.failures(),
            metrics: metrics.clone(),
        };
        failed.iter().map(one).collect()
    }

    /// What a launched job wants: what was placed, and what was not.
    pub(super) fn demand(&self, key: &JobKey) -> Demand {
        let mut demand = Demand::default();
        for e in self.state.allocs_of_job(&key.0, &key.1).iter().filter(|e| !e.phase.terminal()) {
            demand.add(Demand { allocations: 1, cpu: e.usage.cpu, memory_mb: e.usage.memory });
        }
        let job = self.state.job(&key.0, &key.1);
        for u in self.unplaced(key) {
            let tasks = job.into_iter().flat_map(|j| &j.task_groups).filter(|g| g.name == u.task_group);
            let resources = tasks.flat_map(|g| &g.tasks).filter_map(|t| t.resources.as_ref());
            let (cpu, memory_mb) = resources.fold((0_i64, 0_i64), |(cpu, memory), r| {
                (cpu.saturating_add(r.cpu), memory.saturating_add(r.memory_mb))
            });
            demand.add(Demand {
                allocations: u.count,
                cpu: cpu.saturating_mul(u.count),
                memory_mb: memory_mb.saturating_mul(u.count),
            });
        }
        demand
    }

    /// Evaluates what a change triggers until nothing is left to do. `hopeful`: jobs that wait for capacity and may have
    /// gained some.
    fn follow(&mut self, state: State, triggers: Triggers, hopeful: BTreeSet<JobKey>, now: i64) -> Step {
        let asked: BTreeSet<JobKey> = hopeful.iter().chain(triggers.keys()).cloned().collect();
        let edited = Edited {
            state: state.clone(),
            draining: BTreeSet::new(),
            down: BTreeSet::new(),
            triggers,
            gained: !hopeful.is_empty(),
            descriptions: Vec::new(),
            notes: Vec::new(),
        };
        let known = Known { waiting: Some(Arc::new(hopeful)), leaves_out_futile: true, ..Known::default() };
        let made = std::mem::replace(&mut self.made, Made::new(SERIES));
        let cascade = Cascade::run_with(&state, edited, &known, now, made);
        self.notes.extend(cascade.notes());
        let touched: Vec<Id> = cascade.touched().cloned().collect();
        for (key, metrics) in cascade.failed() {
            self.waiting.insert(key.clone(), metrics.clone());
        }
        let failed: BTreeSet<JobKey> = cascade.failed().keys().cloned().collect();
        (self.state, self.made) = cascade.into_parts();
        let state = &self.state;
        let lacks = |key: &JobKey| {
            let job = state.job(&key.0, &key.1).filter(|j| !j.stop);
            job.is_some_and(|j| j.task_groups.iter().any(|g| missing(state, j, g) > 0))
        };
        self.waiting.retain(|key, _| failed.contains(key) || !asked.contains(key) || lacks(key));
        self.step(&touched)
    }

    fn step(&self, touched: &[Id]) -> Step {
        let mut step = Step::default();
        for a in touched.iter().filter_map(|id| self.state.alloc_at(id)).map(|e| &e.alloc) {
            if a.desired_status == DesiredStatus::Evict {
                step.preempted += 1;
            } else if !a.terminal() {
                step.placed.entry((a.namespace.clone(), a.job_id.clone())).or_default().push(a.clone());
            }
        }
        step
    }

    /// The children of a job that are unfinished at first.
    pub(super) fn unfinished(&self) -> Vec<Arc<Job>> {
        let children = self.state.jobs().map(|e| &e.current).filter(|j| !j.parent_id.is_empty());
        children.filter(|j| is_unfinished(&self.state, j)).cloned().collect()
    }

    /// The allocations of a job that run.
    pub(super) fn live(&self, key: &JobKey) -> Vec<Arc<Allocation>> {
        let all = self.state.allocs_of_job(&key.0, &key.1);
        all.iter().filter(|e| !e.phase.terminal()).map(|e| e.alloc.clone()).collect()
    }
}

/// An allocation whose tasks ended well.
fn ended(a: &Allocation, now: i64) -> Allocation {
    let mut a = a.clone();
    a.client_status = ClientStatus::Complete;
    a.modify_time = now;
    a.task_states.change(|task| {
        (task.state, task.failed) = (TaskStatus::Dead, false);
        task.finished_at = Time::from_unix_nanos(now);
    });
    a
}
