//! Job statuses, derived from other stored objects (`docs/spec/server.md §19.1`).

use std::sync::Arc;

use super::txn::Txn;
use encamp_model::*;
use encamp_state::StateStore;

/// The status of a job. `deleting`: the entry removes evaluations of the job.
pub(crate) fn derive(store: &StateStore, job: &Job, deleting: bool) -> JobStatus {
    if job.r#type == JobType::System || job.is_parameterized() || job.periodic.is_some() {
        return if job.stop { JobStatus::Dead } else { JobStatus::Running };
    }
    let state = store.state();
    if state.deployments_of_job(&job.namespace, &job.id).iter().any(|d| d.active()) {
        return JobStatus::Running;
    }
    let mut allocs = state.allocs_of_job_id(&job.id).filter(|a| a.alloc.namespace == job.namespace);
    if allocs.any(|a| !a.phase.terminal()) {
        return JobStatus::Running;
    }
    let mut has_evals = false;
    for eval in store.evals_of_job(&job.namespace, &job.id) {
        has_evals = true;
        if !eval.terminal() {
            return JobStatus::Pending;
        }
    }
    if deleting || has_evals || job.stop { JobStatus::Dead } else { JobStatus::Pending }
}

/// Updates the status of a stored job, to `forced` if given.
pub(crate) fn refresh(txn: &mut Txn, namespace: &str, id: &str, forced: Option<JobStatus>, deleting: bool) {
    let Some(job) = txn.store.state().job(namespace, id) else { return };
    let status = forced.unwrap_or_else(|| derive(txn.store, job, deleting));
    if job.status == status {
        return;
    }
    let mut new = Job::clone(job);
    let old = std::mem::replace(&mut new.status, status);
    new.modify_index = txn.index;
    child_moved(txn, &new, &old);
    txn.put_job(Arc::new(new));
}

/// Counts a status change of a child job in the summary of its parent (`docs/spec/server.md §19.2`). `old` is unset for
/// a new child.
pub(crate) fn child_moved(txn: &mut Txn, job: &Job, old: &JobStatus) {
    if job.parent_id.is_empty() || job.status == *old {
        return;
    }
    let Some(summary) = txn.store.summary(&job.namespace, &job.parent_id) else { return };
    let mut summary = JobSummary::clone(summary);
    let children = summary.children.get_or_insert_default();
    if let Some(n) = counter(children, old) {
        *n -= 1;
    }
    if let Some(n) = counter(children, &job.status) {
        *n += 1;
    }
    txn.put_summary(summary);
}

/// The counter of child jobs with a status.
pub(crate) fn counter<'c>(children: &'c mut JobChildrenSummary, status: &JobStatus) -> Option<&'c mut i64> {
    match status {
        JobStatus::Pending => Some(&mut children.pending),
        JobStatus::Running => Some(&mut children.running),
        JobStatus::Dead => Some(&mut children.dead),
        JobStatus::Unset | JobStatus::Other(_) => None,
    }
}
