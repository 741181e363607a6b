//! Jobs that wait for capacity. Snapshots contain no evaluations, so this is derived from the actual and desired counts
//! of jobs.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::edit::{JobKey, key, targets};
use crate::threads::in_threads;
use encamp_model::*;
use encamp_state::State;

/// The service and batch jobs with fewer allocations than they want.
pub(crate) fn short_jobs(state: &State) -> BTreeSet<JobKey> {
    let jobs = state.jobs().map(|e| &e.current).filter(|j| !j.stop && !j.is_template());
    let generic: Vec<&Arc<Job>> = jobs.filter(|j| matches!(j.r#type, JobType::Service | JobType::Batch)).collect();
    let short = in_threads(&generic, |j| short(state, j).then(|| key(j)));
    short.into_iter().flatten().collect()
}

fn short(state: &State, job: &Job) -> bool {
    job.task_groups.iter().any(|g| missing(state, job, g) > 0)
}

/// How many allocations a group of a service or batch job lacks. What finished well keeps its place in a batch job; so
/// does what was drained.
pub fn missing(state: &State, job: &Job, group: &TaskGroup) -> i64 {
    let holds = |a: &Allocation| match job.r#type {
        JobType::Batch => {
            a.client_status == ClientStatus::Complete && (!a.server_terminal() || a.ran_successfully())
                || a.desired_transition.migrate_disable_placement()
                || !a.terminal()
        }
        _ => !a.terminal(),
    };
    let allocs = state.allocs_of_job(&job.namespace, &job.id);
    let held = allocs.iter().map(|e| &e.alloc).filter(|a| a.task_group == group.name && holds(a));
    let names: BTreeSet<&str> = held.map(|a| a.name.as_str()).collect();
    group.count.saturating_sub(i64::try_from(names.len()).unwrap_or(i64::MAX)).max(0)
}

/// The system jobs that want to be on one of these nodes and are not.
pub(crate) fn absent_system_jobs(state: &State, nodes: &BTreeSet<String>) -> BTreeSet<JobKey> {
    let mut out = BTreeSet::new();
    for job in state.jobs().map(|e| &e.current).filter(|j| j.r#type == JobType::System && !j.stop) {
        let runs = |a: &Allocation| a.job_id == job.id && a.namespace == job.namespace && !a.terminal();
        let absent = nodes.iter().filter_map(|id| state.node(id)).any(|n| {
            let wanted: usize = job.task_groups.iter().filter(|g| g.count > 0).count();
            targets(job, &n.node) && n.node.ready() && n.allocs.iter().filter(|e| runs(&e.alloc)).count() < wanted
        });
        if absent {
            out.insert(key(job));
        }
    }
    out
}
