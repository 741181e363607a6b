//! Purges a job with all its dependent objects (`docs/spec/garbage-collection.md §4.4`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::csi_plugin;
use super::status::counter;
use super::txn::{Change, Txn};
use encamp_model::*;
use encamp_ops::Refusal;
use encamp_state::Table;

/// Purges a job. Fails if it is not stored.
pub(crate) fn purge(txn: &mut Txn, namespace: &str, id: &str) -> Result<(), Refusal> {
    let Some(job) = txn.store.state().job(namespace, id).cloned() else { return Err(Refusal::JobNotFound) };
    leave_parent(txn, &job);
    txn.store.remove_job(namespace, id);
    txn.touch(Table::Jobs);
    txn.touch(Table::JobVersion);
    txn.changes.push(Change::JobGone(job));
    for d in txn.store.state().deployments_of_job(namespace, id) {
        txn.remove_deployment(&d.id);
    }
    // Nomad leaves blocked evaluations unchanged: they are not tracked any more and are never garbage-collected.
    let open: Vec<_> = txn.store.evals_of_job(namespace, id).filter(|e| !e.terminal()).cloned().collect();
    for eval in open {
        let mut eval = Evaluation::clone(&eval);
        eval.status = EvalStatus::Complete;
        eval.status_description = format!("job {id} deleted").into();
        txn.put_eval(Arc::new(eval));
    }
    let allocs: Vec<_> = txn.store.state().allocs_of_job(namespace, id).iter().map(|a| a.alloc.clone()).collect();
    csi_plugin::forget_job(txn, namespace, id);
    allocs.iter().for_each(|a| csi_plugin::alloc_ended(txn, a));
    txn.remove_allocs(allocs.iter().map(|a| a.id.as_str()));
    // Nodes will never report these as terminal: their capacity is free now.
    let freed: BTreeSet<&str> = allocs.iter().filter(|a| !a.client_terminal()).map(|a| a.node_id.as_str()).collect();
    freed.into_iter().for_each(|node| txn.unblock(node));
    if txn.store.remove_summary(namespace, id).is_some() {
        txn.touch(Table::JobSummary);
        txn.changes.push(Change::Summary(JobKey::new(namespace, id)));
    }
    remove_rest(txn, namespace, id);
    Ok(())
}

/// A finished child job remains counted as dead in the summary of its parent.
fn leave_parent(txn: &mut Txn, job: &Job) {
    if job.parent_id.is_empty() || job.status == JobStatus::Dead {
        return;
    }
    let Some(summary) = txn.store.summary(&job.namespace, &job.parent_id) else { return };
    let mut summary = JobSummary::clone(summary);
    let children = summary.children.get_or_insert_default();
    if let Some(n) = counter(children, &job.status) {
        *n -= 1;
        children.dead += 1;
    }
    txn.put_summary(summary);
}

fn remove_rest(txn: &mut Txn, namespace: &str, id: &str) {
    let versions: Vec<u64> = txn.store.submissions(namespace, id).map(|s| s.version).collect();
    for v in versions {
        txn.store.remove_submission(namespace, id, v);
        txn.other(Table::JobSubmission);
    }
    let policies: Vec<_> = txn.store.scaling_policies_of_job(namespace, id).map(|p| p.id.clone()).collect();
    for p in policies {
        txn.store.remove_scaling_policy(&p);
        txn.other(Table::ScalingPolicy);
    }
    if txn.store.remove_scaling_events(namespace, id).is_some() {
        txn.other(Table::ScalingEvent);
    }
    let of_job = |c: &&Arc<TaskGroupHostVolumeClaim>| c.namespace == namespace && c.job_id == id;
    let claims: Vec<_> = txn.store.state().host_volume_claims().filter(of_job).map(|c| c.id.clone()).collect();
    for c in claims {
        txn.store.remove_host_volume_claim(&c);
        txn.other(Table::TaskVolume);
    }
    if txn.store.remove_launch(namespace, id).is_some() {
        txn.other(Table::PeriodicLaunch);
    }
}
