//! How long the runs of a launched job take: what past runs took, and when those that go on end.

use std::collections::BTreeMap;

use encamp_model::{Allocation, ClientStatus, Job, JobStatus, JobType, TaskGroup};
use encamp_state::State;
use serde::Serialize;

use super::child::launch_time;
use crate::what_if::missing;

/// What the finished runs of a job took, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PastRuns {
    /// How many runs finished.
    pub runs: usize,
    /// The shortest one.
    pub shortest: i64,
    /// The one in the middle.
    pub median: i64,
    /// The longest one.
    pub longest: i64,
}

/// Where an expected run time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The operator gave it.
    Given,
    /// The median of the finished runs.
    Past(PastRuns),
    /// `max_run_duration` of the groups: runs take no longer.
    Limit,
    /// Nothing is known about the job.
    Assumed,
}

/// How long a run is expected to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    /// Nanoseconds.
    pub nanos: i64,
    /// Where it comes from.
    pub basis: Basis,
}

impl RunTime {
    /// The expected run time of a job: what is given, else the median of its finished runs, else the limit of its groups,
    /// else what is assumed. `None` if nothing is known and nothing is assumed. Times are nanoseconds.
    pub fn of(job: &Job, given: Option<i64>, past: Option<PastRuns>, assumed: Option<i64>) -> Option<RunTime> {
        let limited = |g: &TaskGroup| g.max_run_duration.filter(|d| *d > 0);
        let limit = || job.task_groups.iter().map(limited).collect::<Option<Vec<i64>>>()?.into_iter().max();
        let given = given.map(|nanos| RunTime { nanos, basis: Basis::Given });
        let past = past.map(|runs| RunTime { nanos: runs.median, basis: Basis::Past(runs) });
        given
            .or(past)
            .or_else(|| limit().map(|nanos| RunTime { nanos, basis: Basis::Limit }))
            .or_else(|| assumed.map(|nanos| RunTime { nanos, basis: Basis::Assumed }))
    }

    /// When a run ends that began at one time and still goes on at `now`; `None` if it has taken longer than any known
    /// one, so that no end is foreseen. Times are Unix nanoseconds.
    pub fn end(self, began: i64, now: i64) -> Option<i64> {
        let after = |nanos: i64| Some(began.saturating_add(nanos)).filter(|end| *end > now);
        match self.basis {
            Basis::Given | Basis::Limit => after(self.nanos),
            Basis::Past(runs) => after(runs.median).or_else(|| after(runs.longest)),
            Basis::Assumed => Some(after(self.nanos).unwrap_or_else(|| now.saturating_add(self.nanos))),
        }
    }
}

/// A run that goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// ID of the child job.
    pub child: String,
    /// When it began, Unix nanoseconds.
    pub began: i64,
}

/// The finished and unfinished runs of one job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// What the finished ones took, in nanoseconds.
    took: Vec<i64>,
    /// Those that go on, by ID of the child.
    pub running: Vec<Running>,
}

impl Runs {
    /// The finished runs; `None` if there are none.
    pub fn past(&self) -> Option<PastRuns> {
        let mut took = self.took.clone();
        took.sort_unstable();
        let (shortest, longest) = (*took.first()?, *took.last()?);
        let median = took.get(took.len() / 2).copied()?;
        Some(PastRuns { runs: took.len(), shortest, median, longest })
    }

    /// The runs that a state holds, by namespace and ID of the job that was launched or dispatched.
    pub fn by_parent(state: &State) -> BTreeMap<(String, String), Runs> {
        let mut all: BTreeMap<(String, String), Runs> = BTreeMap::new();
        for job in state.jobs().map(|e| &e.current).filter(|j| !j.parent_id.is_empty()) {
            all.entry((job.namespace.clone(), job.parent_id.clone())).or_default().add(state, job);
        }
        all
    }

    /// The runs of one job that a state holds.
    pub fn of(state: &State, namespace: &str, id: &str) -> Runs {
        let mut runs = Runs::default();
        let children = state.jobs().map(|e| &e.current).filter(|j| j.namespace == namespace && j.parent_id == id);
        children.for_each(|child| runs.add(state, child));
        runs
    }

    fn add(&mut self, state: &State, child: &Job) {
        let allocs = state.allocs_of_job(&child.namespace, &child.id);
        let allocs: Vec<&Allocation> = allocs.iter().map(|e| e.alloc.as_ref()).collect();
        if is_unfinished(state, child) {
            let began = allocs.iter().map(|a| began(a)).min();
            let began = launch_time(&child.id).or(began).unwrap_or(child.submit_time);
            self.running.push(Running { child: child.id.clone(), began });
        } else if !allocs.is_empty() && allocs.iter().all(|a| a.client_status == ClientStatus::Complete) {
            let first = allocs.iter().map(|a| began(a)).min().unwrap_or_default();
            let last = allocs.iter().map(|a| ended(a)).max().unwrap_or_default();
            self.took.extend(Some(last.saturating_sub(first)).filter(|took| *took > 0));
        }
    }
}

/// Whether a child has allocations that are to run, or waits for capacity: another launch would overlap it.
pub(super) fn is_unfinished(state: &State, child: &Job) -> bool {
    if state.allocs_of_job(&child.namespace, &child.id).iter().any(|e| !e.phase.terminal()) {
        return true;
    }
    let waits = |g: &TaskGroup| missing(state, child, g) > 0;
    let may_wait = !child.stop && child.status != JobStatus::Dead && child.r#type == JobType::Batch;
    may_wait && !failed(state, child) && child.task_groups.iter().any(waits)
}

/// Whether an allocation of a child failed: what is missing is not waiting for capacity.
fn failed(state: &State, child: &Job) -> bool {
    let allocs = state.allocs_of_job(&child.namespace, &child.id);
    allocs.iter().any(|e| matches!(e.alloc.client_status, ClientStatus::Failed | ClientStatus::Lost))
}

/// When an allocation began to run, Unix nanoseconds.
pub(super) fn began(a: &Allocation) -> i64 {
    let started = a.task_states.without_events().filter_map(|t| t.started_at.unix_nanos()).filter(|t| *t > 0).min();
    started.unwrap_or(a.create_time)
}

/// When an allocation ended, Unix nanoseconds.
fn ended(a: &Allocation) -> i64 {
    let finished = a.task_states.without_events().filter_map(|t| t.finished_at.unix_nanos()).filter(|t| *t > 0).max();
    finished.unwrap_or(a.modify_time)
}

/// The kind of a basis, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BasisKind {
    /// [`Basis::Given`].
    Given,
    /// [`Basis::Past`].
    Past,
    /// [`Basis::Limit`].
    Limit,
    /// [`Basis::Assumed`].
    Assumed,
}

impl Basis {
    /// Its kind.
    pub fn kind(self) -> BasisKind {
        match self {
            Basis::Given => BasisKind::Given,
            Basis::Past(_) => BasisKind::Past,
            Basis::Limit => BasisKind::Limit,
            Basis::Assumed => BasisKind::Assumed,
        }
    }
}
