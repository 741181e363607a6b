//! Job summaries: counters per job and group (`docs/spec/server.md §19.2`, `§19.3`).

use super::status::counter;
use super::txn::Txn;
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::StateStore;

/// Creates the summary of a registered job, or adds its new groups.
pub(crate) fn register(txn: &mut Txn, job: &Job) {
    let stored = txn.store.summary(&job.namespace, &job.id);
    let mut summary = stored.map(|s| JobSummary::clone(s)).unwrap_or_else(|| JobSummary {
        job_id: job.id.clone(),
        namespace: job.namespace.clone(),
        children: Some(JobChildrenSummary::default()),
        create_index: txn.index,
        ..Default::default()
    });
    for g in &job.task_groups {
        summary.summary.entry(g.name.clone()).or_default();
    }
    txn.put_summary(summary);
}

fn bucket<'s>(s: &'s mut TaskGroupSummary, status: &ClientStatus) -> Option<&'s mut i64> {
    Some(match status {
        ClientStatus::Pending => &mut s.starting,
        ClientStatus::Running => &mut s.running,
        ClientStatus::Complete => &mut s.complete,
        ClientStatus::Failed => &mut s.failed,
        ClientStatus::Lost => &mut s.lost,
        ClientStatus::Unknown => &mut s.unknown,
        ClientStatus::Unset | ClientStatus::Other(_) => return None,
    })
}

/// Counts a written allocation. The allocation's job must be the job of the summary.
pub(crate) fn count(summary: &mut JobSummary, old: Option<&Allocation>, new: &Allocation) {
    if new.job.as_ref().is_none_or(|j| j.create_index != summary.create_index) {
        return;
    }
    let Some(group) = summary.summary.get_mut(&*new.task_group) else { return };
    let Some(old) = old else {
        if new.client_status == ClientStatus::Pending {
            group.starting += 1;
            group.queued = (group.queued - 1).max(0);
        } else if let Some(n) = bucket(group, &new.client_status) {
            *n += 1;
        }
        return;
    };
    if old.client_status == new.client_status {
        return;
    }
    if let Some(n) = bucket(group, &new.client_status) {
        *n += 1;
    }
    if !matches!(old.client_status, ClientStatus::Complete | ClientStatus::Failed)
        && let Some(n) = bucket(group, &old.client_status)
    {
        *n = (*n - 1).max(0);
    }
}

/// Records the number of allocations that an evaluation could not place.
pub(crate) fn queued(txn: &mut Txn, eval: &Evaluation) {
    if eval.queued_allocations.is_empty() {
        return;
    }
    let Some(summary) = txn.store.summary(&eval.namespace, &eval.job_id) else { return };
    let mut summary = JobSummary::clone(summary);
    for (group, n) in &eval.queued_allocations {
        if let Some(s) = summary.summary.get_mut(group) {
            s.queued = *n;
        }
    }
    txn.put_summary(summary);
}

/// What blocked evaluations could not place: namespace, job ID, group, and the number of allocations.
pub fn blocked_counts(store: &StateStore) -> Vec<(String, String, String, i64)> {
    let mut queued = Vec::new();
    for eval in store.evals_by_create().filter(|e| e.status == EvalStatus::Blocked) {
        for (group, n) in &eval.queued_allocations {
            queued.push((eval.namespace.to_string(), eval.job_id.to_string(), group.clone(), *n));
        }
    }
    queued
}

/// Recounts all summaries. `queued` contains the results of dry runs on the leader.
pub(crate) fn reconcile(txn: &mut Txn, queued: &[(String, String, String, i64)]) -> Result<(), Refusal> {
    let jobs: Vec<_> = txn.store.state().jobs().map(|j| j.current.clone()).collect();
    for job in jobs {
        let stored = txn.store.summary(&job.namespace, &job.id);
        let mut summary = JobSummary {
            job_id: job.id.clone(),
            namespace: job.namespace.clone(),
            children: Some(JobChildrenSummary::default()),
            create_index: stored.map_or(job.create_index, |s| s.create_index),
            modify_index: stored.map_or(0, |s| s.modify_index),
            summary: job.task_groups.iter().map(|g| (g.name.clone(), TaskGroupSummary::default())).collect(),
        };
        for a in txn.store.state().allocs_of_job(&job.namespace, &job.id) {
            let group = summary.summary.get_mut(&*a.alloc.task_group);
            if let Some(n) = group.and_then(|g| bucket(g, &a.alloc.client_status)) {
                *n += 1;
            }
        }
        let children = summary.children.get_or_insert_default();
        for child in txn.store.children(&job.namespace, &job.id) {
            if let Some(n) = counter(children, &child.status) {
                *n += 1;
            }
        }
        for (ns, id, group, n) in queued {
            if *ns == job.namespace
                && *id == job.id
                && let Some(s) = summary.summary.get_mut(group)
            {
                s.queued += n;
            }
        }
        txn.put_summary(summary);
    }
    Ok(())
}
