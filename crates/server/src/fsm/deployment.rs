//! Deployments (`docs/spec/server.md §13.6`, `§13.7`).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::alloc::Writes;
use super::txn::Txn;
use super::{Limits, eval, job};
use encamp_model::*;
use encamp_ops::{DeploymentAllocHealth, DeploymentPromotion, DeploymentStatusChange, Refusal};

const RUNNING: &str = "Deployment is running";

/// Writes a status with its description. Terminal deployments are not changed.
pub(crate) fn set_status(txn: &mut Txn, u: &DeploymentStatusUpdate, now: i64) -> Result<(), Refusal> {
    let Some(d) = txn.store.state().deployment(&u.deployment_id) else {
        return Err(Refusal::DeploymentGone { id: u.deployment_id.clone() });
    };
    if !d.active() {
        return Err(Refusal::DeploymentEnded { id: d.id.clone(), status: d.status.clone() });
    }
    let mut d = Deployment::clone(d);
    d.status = u.status.clone();
    d.status_description = u.status_description.clone();
    (d.modify_index, d.modify_time) = (txn.index, now);
    if matches!(d.status, DeploymentStatus::Running | DeploymentStatus::Paused) {
        for group in d.task_groups.values_mut().flatten() {
            if group.progress_deadline > 0 && !group.require_progress_by.is_zero() {
                group.require_progress_by = Time::from_unix_nanos(now.saturating_add(group.progress_deadline));
            }
        }
    }
    let (key, version) = (d.job_key(), d.job_version);
    let successful = d.status == DeploymentStatus::Successful;
    txn.put_deployment(d);
    if successful {
        job::stability(txn, &key, version, true)?;
    }
    Ok(())
}

/// Writes a status together with its consequences: a rollback, an evaluation.
pub(crate) fn status(txn: &mut Txn, s: &DeploymentStatusChange, limits: Limits) -> Result<(), Refusal> {
    set_status(txn, &s.update, s.now)?;
    follow(txn, s.job.as_ref(), s.eval.as_ref(), limits);
    Ok(())
}

fn follow(txn: &mut Txn, rollback: Option<&Arc<Job>>, evaluation: Option<&Evaluation>, limits: Limits) {
    if let Some(j) = rollback {
        job::put_version(txn, Job::clone(j), limits);
    }
    if let Some(e) = evaluation {
        eval::write(txn, std::slice::from_ref(e));
    }
}

/// Promotes the canaries of all selected groups, or of none.
pub(crate) fn promote(txn: &mut Txn, p: &DeploymentPromotion) -> Result<(), Refusal> {
    let index = txn.index;
    let Some(d) = txn.store.state().deployment(&p.id) else { return Err(Refusal::DeploymentNotFound) };
    let mut d = Deployment::clone(d);
    if !d.active() {
        return Err(Refusal::PromotionTooLate { id: d.id, status: d.status });
    }
    let chosen = |name: &str| p.groups.as_ref().is_none_or(|g| g.iter().any(|n| n == name));
    // Canaries of an earlier promotion are no longer marked as such, but they were placed as canaries and count again.
    let placed: BTreeSet<&str> =
        d.task_groups.values().flatten().flat_map(|g| g.placed_canaries.iter().map(String::as_str)).collect();
    let canaries: Vec<Arc<Allocation>> = txn
        .store
        .allocs_of_deployment(&p.id)
        .filter(|a| a.alloc.is_canary() || placed.contains(a.alloc.id.as_str()))
        .map(|a| a.alloc.clone())
        .collect();
    let mut errors = Vec::new();
    for (name, group) in &d.task_groups {
        let Some(group) = group.as_ref().filter(|g| chosen(name) && g.desired_canaries > 0) else { continue };
        let healthy = |a: &&Arc<Allocation>| a.task_group == *name && !a.terminal() && a.health() == Some(true);
        let have = i64::try_from(canaries.iter().filter(healthy).count()).unwrap_or(i64::MAX);
        if have < group.desired_canaries {
            let need = group.desired_canaries;
            errors.push(format!("Task group {name:?} has {have}/{need} healthy allocations"));
        }
    }
    if !errors.is_empty() {
        return Err(Refusal::UnhealthyCanaries(encamp_jobspec::admission::error_list(&errors)));
    }
    for (name, group) in &mut d.task_groups {
        let Some(group) = group.as_mut().filter(|_| chosen(name)) else { continue };
        group.promoted = true;
        if !group.require_progress_by.is_zero() {
            group.require_progress_by = Time::from_unix_nanos(p.now.saturating_add(group.progress_deadline));
        }
    }
    if !d.requires_promotion() {
        d.status_description = RUNNING.into();
    }
    (d.modify_index, d.modify_time) = (index, p.now);
    txn.put_deployment(d);
    let promoted = canaries.iter().filter(|a| a.is_canary() && chosen(&a.task_group)).map(|a| {
        let mut a = Allocation::clone(a);
        if let Some(s) = &mut a.deployment_status {
            s.canary = false;
            s.modify_index = index;
        }
        (a.modify_index, a.alloc_modify_index) = (index, index);
        Arc::new(a)
    });
    let promoted: Vec<_> = promoted.collect();
    txn.put_allocs(promoted);
    follow(txn, None, p.eval.as_ref(), Limits::default());
    Ok(())
}

/// Sets the health of allocations on an operator's request, with its consequences.
pub(crate) fn alloc_health(txn: &mut Txn, h: &DeploymentAllocHealth, limits: Limits) -> Result<(), Refusal> {
    let index = txn.index;
    let mut writes = Writes::new(txn);
    let reported = h.healthy.iter().map(|id| (id, true)).chain(h.unhealthy.iter().map(|id| (id, false)));
    for (id, healthy) in reported {
        let Some(a) = writes.current(id) else { return Err(Refusal::UnknownAlloc { id: id.clone() }) };
        if a.deployment_id != h.id {
            return Err(Refusal::AllocOfOtherDeployment { id: id.clone(), deployment: h.id.clone() });
        }
        let mut a = Allocation::clone(a);
        let status = a.deployment_status.get_or_insert_default();
        status.healthy = Some(healthy);
        status.timestamp = Time::from_unix_nanos(h.now);
        status.modify_index = index;
        (a.modify_index, a.modify_time) = (index, h.now);
        writes.write(a);
    }
    writes.finish();
    if let Some(u) = &h.update {
        set_status(txn, u, h.now)?;
    }
    follow(txn, h.job.as_ref(), h.eval.as_ref(), limits);
    Ok(())
}
