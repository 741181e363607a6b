//! Jobs (`docs/spec/server.md §14.3`, `§15`, `§16`, `§19.4`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::txn::{Change, Txn};
use super::{Limits, alloc, csi_plugin, eval, purge, status, summary};
use crate::jobs::dispatch;
use encamp_jobspec::admission::check_modify_index;
use encamp_model::*;
use encamp_ops::{JobDeregister, JobRegister, Refusal, Reply};
use encamp_plan::launches;
use encamp_state::Table;

/// Registers a job.
pub(crate) fn register(txn: &mut Txn, r: &JobRegister, limits: Limits) -> Result<Reply, Refusal> {
    let job = &r.job;
    let (namespace, id) = (job.namespace.clone(), job.id.clone());
    let children = txn.store.children(&namespace, &job.parent_id);
    if let Some(c) = dispatch::made_by(&job.dispatch_idempotency_token, children) {
        return Ok(Reply::Dispatched { job_id: c.id.clone(), create_index: c.create_index });
    }
    let state = txn.store.state();
    if let Some(wanted) = r.enforce_index {
        let stored = state.job(&namespace, &id).map(|j| &**j);
        check_modify_index(wanted, stored).map_err(|e| Refusal::ModifyIndex(e.to_string()))?;
    }
    if state.namespace(&namespace).is_none() {
        return Err(Refusal::JobNamespaceNotFound { job: id, namespace });
    }
    if !job.node_pool.is_empty() && state.node_pool(&job.node_pool).is_none() {
        return Err(Refusal::JobPoolNotFound { job: id, pool: job.node_pool.clone() });
    }
    let stored = put_version(txn, Job::clone(job), limits);
    if let Some(s) = &r.submission {
        put_submission(txn, s, &stored, limits);
    }
    launches(txn, &stored, r.now);
    if let Some(e) = &r.eval {
        eval::update(txn, &[Evaluation { job_modify_index: txn.index, ..e.clone() }])?;
    }
    Ok(Reply::Done)
}

/// Stores a new version of a job together with all data derived from its specification.
pub(crate) fn put_version(txn: &mut Txn, mut job: Job, limits: Limits) -> Arc<Job> {
    let index = txn.index;
    let old_status = match txn.store.state().job(&job.namespace, &job.id) {
        Some(old) => {
            job.create_index = old.create_index;
            job.version = old.version + 1;
            old.status.clone()
        }
        None => {
            job.create_index = index;
            job.version = 0;
            JobStatus::Unset
        }
    };
    (job.modify_index, job.job_modify_index) = (index, index);
    job.status = status::derive(txn.store, &job, false);
    summary::register(txn, &job);
    status::child_moved(txn, &job, &old_status);
    scaling_policies(txn, &job);
    let job = Arc::new(job);
    txn.put_job(job.clone());
    csi_plugin::follow_job(txn, &job);
    prune_versions(txn, &job, limits);
    job
}

/// Removes the oldest version beyond the limit (`docs/spec/server.md §19.4`).
fn prune_versions(txn: &mut Txn, job: &Job, limits: Limits) {
    let Some(entry) = txn.store.state().job_entry(&job.namespace, &job.id) else { return };
    let untagged: Vec<(u64, bool)> =
        entry.versions.values().rev().filter(|v| v.version_tag.is_none()).map(|v| (v.version, v.stable)).collect();
    let Some(last) = untagged.get(limits.tracked_versions) else { return };
    let highest_stable = untagged.iter().find(|(_, stable)| *stable);
    let spare = if highest_stable == Some(last) { limits.tracked_versions - 1 } else { limits.tracked_versions };
    if let Some((version, _)) = untagged.get(spare) {
        txn.store.remove_job_version(&job.namespace, &job.id, *version);
    }
}

fn put_submission(txn: &mut Txn, s: &JobSubmission, job: &Job, limits: Limits) {
    let new = JobSubmission {
        namespace: job.namespace.clone(),
        job_id: job.id.clone(),
        version: job.version,
        job_modify_index: job.job_modify_index,
        ..s.clone()
    };
    txn.store.put_submission(Arc::new(new));
    let mut kept: Vec<(u64, u64)> =
        txn.store.submissions(&job.namespace, &job.id).map(|s| (s.job_modify_index, s.version)).collect();
    kept.sort_unstable();
    let surplus = kept.len().saturating_sub(limits.tracked_versions);
    for (_, version) in kept.into_iter().take(surplus) {
        txn.store.remove_submission(&job.namespace, &job.id, version);
    }
    txn.other(Table::JobSubmission);
}

/// Updates the scaling policies of a job (`docs/spec/server.md §16`).
fn scaling_policies(txn: &mut Txn, job: &Job) {
    let of_groups = job.task_groups.iter().flat_map(|g| &g.scaling);
    let of_tasks = job.task_groups.iter().flat_map(|g| &g.tasks).flat_map(|t| &t.scaling_policies);
    let wanted: Vec<&ScalingPolicy> = of_groups.chain(of_tasks).filter(|p| !p.id.is_empty()).collect();
    let stored: Vec<Arc<ScalingPolicy>> = txn.store.scaling_policies_of_job(&job.namespace, &job.id).cloned().collect();
    let mut changed = false;
    for old in &stored {
        if !wanted.iter().any(|p| p.id == old.id) {
            txn.store.remove_scaling_policy(&old.id);
            changed = true;
        }
    }
    for policy in wanted {
        let old = stored.iter().find(|o| o.id == policy.id);
        let mut new = policy.clone();
        new.enabled &= !job.stop;
        new.target.insert("Namespace".into(), job.namespace.clone());
        new.target.insert("Job".into(), job.id.clone());
        new.create_index = old.map_or(txn.index, |o| o.create_index);
        new.modify_index = old.map_or(txn.index, |o| o.modify_index);
        if old.is_some_and(|o| **o == new) {
            continue;
        }
        new.modify_index = txn.index;
        txn.store.put_scaling_policy(Arc::new(new));
        changed = true;
    }
    if changed {
        txn.other(Table::ScalingPolicy);
    }
}

/// Records launches of periodic jobs (`docs/spec/server.md §14.3`).
fn launches(txn: &mut Txn, job: &Job, now: i64) {
    let index = txn.index;
    let launched = |namespace: &str, id: &str, at: i64, create_index: u64| PeriodicLaunch {
        id: id.into(),
        namespace: namespace.into(),
        launch: Time::from_unix_nanos(at),
        create_index,
        modify_index: index,
    };
    let parent = txn.store.state().job(&job.namespace, &job.parent_id);
    if parent.is_some_and(|p| p.periodic.is_some() && !p.is_parameterized())
        && let Some(at) = launches::launch_time(&job.id)
    {
        let create = txn.store.launch(&job.namespace, &job.parent_id).map_or(index, |l| l.create_index);
        txn.store.put_launch(Arc::new(launched(&job.namespace, &job.parent_id, at, create)));
        txn.other(Table::PeriodicLaunch);
    }
    if launches::is_active(job) && txn.store.launch(&job.namespace, &job.id).is_none() {
        txn.store.put_launch(Arc::new(launched(&job.namespace, &job.id, now, index)));
        txn.other(Table::PeriodicLaunch);
    }
}

/// Stops or purges a job. The evaluation is written in any case.
pub(crate) fn deregister(txn: &mut Txn, d: &JobDeregister, limits: Limits) -> Result<(), Refusal> {
    let JobKey { namespace, id } = &d.job;
    if d.no_shutdown_delay {
        let now = DesiredTransition { no_shutdown_delay: Some(true), ..Default::default() };
        let of_job = txn.store.state().allocs_of_job(namespace, id);
        let transitions: BTreeMap<_, _> = of_job.iter().map(|a| (a.alloc.id.to_string(), now.clone())).collect();
        alloc::put_transitions(txn, &transitions);
    }
    match txn.store.state().job(namespace, id).cloned() {
        Some(_) if d.purge => purge::purge(txn, namespace, id)?,
        Some(job) => {
            let stopped = Job { stop: true, submit_time: d.submit_time, version_tag: None, ..Job::clone(&job) };
            let source = txn.store.submission(namespace, id, job.version).cloned();
            let stored = put_version(txn, stopped, limits);
            // The stopped version has the same source: it can be displayed, and the job can be started again from it.
            if let Some(source) = source {
                put_submission(txn, &source, &stored, limits);
            }
        }
        None => {}
    }
    if let Some(e) = &d.eval {
        eval::update(txn, &[Evaluation { job_modify_index: txn.index, ..e.clone() }])?;
    }
    Ok(())
}

/// Purges jobs, all or none.
pub(crate) fn batch_deregister(txn: &mut Txn, jobs: &[JobKey]) -> Result<(), Refusal> {
    jobs.iter().try_for_each(|job| purge::purge(txn, &job.namespace, &job.id))
}

/// Sets the stability of a version without creating a new version.
pub(crate) fn stability(txn: &mut Txn, job: &JobKey, version: u64, stable: bool) -> Result<(), Refusal> {
    let Some(row) = txn.store.state().job_version(&job.namespace, &job.id, version) else { return Ok(()) };
    if row.stable != stable {
        let row = Job { stable, modify_index: txn.index, ..Job::clone(row) };
        put_row(txn, row);
    }
    Ok(())
}

/// Writes the row of a version, and of the job if it is the current version.
fn put_row(txn: &mut Txn, row: Job) {
    let current = txn.store.state().job(&row.namespace, &row.id).is_some_and(|j| j.version == row.version);
    if current {
        txn.put_job(Arc::new(row));
        return;
    }
    txn.changes.push(Change::JobVersion(row.key()));
    txn.store.put_job(Arc::new(row));
    txn.touch(Table::JobVersion);
}

/// Adds or removes a version tag (`docs/spec/server.md §19.4`).
pub(crate) fn tag(txn: &mut Txn, job: &JobKey, name: &str, tag: Option<&(u64, JobVersionTag)>) -> Result<(), Refusal> {
    let entry = txn.store.state().job_entry(&job.namespace, &job.id).cloned().ok_or(Refusal::JobNotFound)?;
    let id = || job.id.clone();
    let tagged = |v: &&Arc<Job>| v.version_tag.as_ref().is_some_and(|t| t.name == name);
    let holder = entry.versions.values().find(tagged);
    let row = match tag {
        Some((version, tag)) => {
            let Some(row) = entry.versions.get(version) else {
                return Err(Refusal::JobVersionNotFound { job: id(), version: *version });
            };
            if holder.is_some_and(|h| h.version != *version) {
                return Err(Refusal::TagTaken { tag: name.into(), job: id() });
            }
            Job { version_tag: Some(tag.clone()), ..Job::clone(row) }
        }
        None => match holder {
            Some(row) => Job { version_tag: None, ..Job::clone(row) },
            None => return Err(Refusal::TagNotFound { tag: name.into(), job: id() }),
        },
    };
    put_row(txn, Job { modify_index: txn.index, ..row });
    Ok(())
}
