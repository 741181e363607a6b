//! Job statuses, derived from other stored objects (`docs/spec/server.md §19.1`).

use std::sync::Arc;

use super::txn::Txn;
use encamp_model::*;
use encamp_state::StateStore;

/// Status words of jobs.
pub(crate) mod job_status {
    /// Waiting for evaluations or allocations.
    pub(crate) const PENDING: &str = "pending";
    /// Running, or launching child jobs.
    pub(crate) const RUNNING: &str = "running";
    /// All work is finished.
    pub(crate) const DEAD: &str = "dead";
}
use job_status::*;

/// The status of a job. `deleting`: the entry removes evaluations of the job.
pub(crate) fn derive(store: &StateStore, job: &Job, deleting: bool) -> &'static str {
    if job.r#type == "system" || job.is_parameterized() || job.periodic.is_some() {
        return if job.stop { DEAD } else { RUNNING };
    }
    let state = store.state();
    if state.deployments_of_job(&job.namespace, &job.id).iter().any(|d| d.active()) {
        return RUNNING;
    }
    let mut allocs = state.allocs_of_job_id(&job.id).filter(|a| a.alloc.namespace == job.namespace);
    if allocs.any(|a| !a.phase.terminal()) {
        return RUNNING;
    }
    let mut has_evals = false;
    for eval in store.evals_of_job(&job.namespace, &job.id) {
        has_evals = true;
        if !eval.terminal() {
            return PENDING;
        }
    }
    if deleting || has_evals || job.stop { DEAD } else { PENDING }
}

/// Updates the status of a stored job, to `forced` if given.
pub(crate) fn refresh(txn: &mut Txn, namespace: &str, id: &str, forced: Option<&'static str>, deleting: bool) {
    let Some(job) = txn.store.state().job(namespace, id) else { return };
    let status = forced.unwrap_or_else(|| derive(txn.store, job, deleting));
    if job.status == status {
        return;
    }
    let mut new = Job::clone(job);
    let old = std::mem::replace(&mut new.status, status.into());
    new.modify_index = txn.index;
    child_moved(txn, &new, &old);
    txn.put_job(Arc::new(new));
}

/// Counts a status change of a child job in the summary of its parent (`docs/spec/server.md §19.2`). `old` is empty for
/// a new child.
pub(crate) fn child_moved(txn: &mut Txn, job: &Job, old: &str) {
    if job.parent_id.is_empty() || job.status == old {
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
pub(crate) fn counter<'c>(children: &'c mut JobChildrenSummary, status: &str) -> Option<&'c mut i64> {
    match status {
        PENDING => Some(&mut children.pending),
        RUNNING => Some(&mut children.running),
        DEAD => Some(&mut children.dead),
        _ => None,
    }
}
