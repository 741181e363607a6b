//! Writes the accepted parts of a plan (`docs/spec/server.md §7.6`, `§7.8`).

use std::sync::Arc;

use super::alloc::{Writes, merge_transition, statuses_after_plan};
use super::txn::Txn;
use super::{deployment, eval, node};
use encamp_model::*;
use encamp_ops::{PlanResults, Refusal};
use encamp_plan::apply::{keeps_volumes, merged_deployment, volume_claims};
use encamp_state::Table;

/// Applies the accepted parts of a plan in one transaction.
pub(crate) fn apply(txn: &mut Txn, p: &PlanResults) -> Result<(), Refusal> {
    let state = txn.store.state();
    if let Some(stop) = p.stops.iter().find(|s| state.alloc(&s.id).is_none()) {
        return Err(Refusal::AllocNotFound { id: stop.id.clone() });
    }
    if let Some((id, _)) = p.victims.iter().find(|(id, _)| state.alloc(id).is_none()) {
        return Err(Refusal::AllocNotFound { id: id.clone() });
    }
    p.ineligible_nodes.iter().for_each(|(id, event)| node::mark_ineligible(txn, id, event));
    if let Some(d) = &p.deployment {
        put_deployment(txn, d, p.now)?;
    }
    for u in &p.deployment_updates {
        if deployment::set_status(txn, u, p.now).is_err() {
            break;
        }
    }
    let Some(e) = txn.store.eval(&p.eval_id) else {
        return Err(Refusal::EvalNotFound { id: p.eval_id.clone() });
    };
    let e = Evaluation { modify_index: txn.index, ..Evaluation::clone(e) };
    txn.put_eval(Arc::new(e));
    put_allocs(txn, p)?;
    eval::update(txn, &p.preemption_evals)
}

fn put_deployment(txn: &mut Txn, d: &Deployment, now: i64) -> Result<(), Refusal> {
    if let Some(old) = txn.store.state().deployment(&d.id) {
        let undone = old.task_groups.iter().any(|(name, old)| {
            let new = d.task_groups.get(name).and_then(Option::as_ref);
            old.as_ref().is_some_and(|o| o.promoted) && new.is_some_and(|n| !n.promoted)
        });
        if undone {
            return Err(Refusal::PromotionUndone);
        }
    }
    let mut d = merged_deployment(txn.store.state(), d, txn.index);
    d.modify_time = now;
    if d.create_time == 0 {
        d.create_time = now;
    }
    let successful = d.status == DeploymentStatus::Successful;
    let (job, version) = (d.job_key(), d.job_version);
    txn.put_deployment(d);
    if successful {
        super::job::stability(txn, &job, version, true)?;
    }
    Ok(())
}

fn put_allocs(txn: &mut Txn, p: &PlanResults) -> Result<(), Refusal> {
    let mut writes = Writes::new(txn);
    stop(&mut writes, p);
    evict(&mut writes, p);
    let placed = place(&mut writes, p)?;
    let jobs = writes.finish();
    for id in placed {
        claim_volumes(txn, &id);
    }
    statuses_after_plan(txn, jobs);
    Ok(())
}

fn stop(writes: &mut Writes, p: &PlanResults) {
    for s in &p.stops {
        let Some(mut a) = writes.current(&s.id).map(|a| Allocation::clone(a)) else { continue };
        a.desired_status = DesiredStatus::Stop;
        a.desired_description = Text::from(&s.desired_description);
        // The scheduler's state may be outdated: the node may have reported meanwhile that the tasks have ended.
        if given_by_servers(&s.client_status) {
            a.client_status = s.client_status.clone();
        }
        if !s.followup_eval_id.is_empty() {
            a.followup_eval_id = Text::from(&s.followup_eval_id);
        }
        changed_by_servers(&mut a, writes.txn.index, p.now);
        writes.write(a);
    }
}

fn evict(writes: &mut Writes, p: &PlanResults) {
    for (id, by) in &p.victims {
        let Some(mut a) = writes.current(id).map(|a| Allocation::clone(a)) else { continue };
        a.desired_status = DesiredStatus::Evict;
        a.desired_description = format!("Preempted by alloc ID {by}").into();
        a.preempted_by_allocation = Text::from(by);
        changed_by_servers(&mut a, writes.txn.index, p.now);
        writes.write(a);
    }
}

/// Writes new allocations and updates of stored ones. Returns the IDs of new ones that claim volumes.
fn place(writes: &mut Writes, p: &PlanResults) -> Result<Vec<String>, Refusal> {
    let index = writes.txn.index;
    let mut placed = Vec::new();
    for a in &p.placements {
        let old = writes.current(&a.id).cloned();
        let mut new = match &old {
            None => {
                let job = writes.txn.store.state().job(&a.namespace, &a.job_id);
                if job.is_none_or(|j| j.stop) {
                    continue;
                }
                let new = new_alloc(a, p, index)?;
                if keeps_volumes(&new) {
                    placed.push(new.id.to_string());
                }
                new
            }
            Some(old) => updated_alloc(a, old, p),
        };
        if new.signing_key_id.is_empty() {
            new.signing_key_id = Text::from(&p.signing_key_id);
        }
        (new.modify_index, new.alloc_modify_index, new.modify_time) = (index, index, p.now);
        writes.write_after(old.as_deref(), new);
    }
    Ok(placed)
}

/// An allocation that the plan creates.
fn new_alloc(planned: &Allocation, p: &PlanResults, index: u64) -> Result<Allocation, Refusal> {
    let mut new = planned.clone();
    let Some(job) = new.job.take().or_else(|| p.job.clone()) else {
        return Err(Refusal::AllocWithoutJob { id: new.id.into() });
    };
    new.job = Some(job);
    new.create_index = index;
    if new.create_time == 0 {
        new.create_time = p.now;
    }
    if let Some(d) = &mut new.deployment_status {
        d.modify_index = index;
    }
    Ok(new)
}

/// A stored allocation that the plan updates. What servers and nodes wrote while the plan was made is retained.
fn updated_alloc(planned: &Allocation, old: &Allocation, p: &PlanResults) -> Allocation {
    let mut new = planned.clone();
    new.create_index = old.create_index;
    new.create_time = if new.create_time == 0 { old.create_time } else { new.create_time };
    new.job = new.job.or_else(|| if planned.terminal() { old.job.clone() } else { p.job.clone() });
    if new.next_allocation.is_empty() {
        new.next_allocation = old.next_allocation.clone();
    }
    // Transitions requested meanwhile.
    merge_transition(&mut new.desired_transition, &old.desired_transition);
    new.task_states = old.task_states.clone();
    if !given_by_servers(&planned.client_status) {
        new.client_status = old.client_status.clone();
        new.client_description = old.client_description.clone();
    }
    new
}

/// Whether a plan may set a client status; all others are set by the node.
fn given_by_servers(status: &ClientStatus) -> bool {
    matches!(status, ClientStatus::Lost | ClientStatus::Unknown)
}

fn changed_by_servers(a: &mut Allocation, index: u64, now: i64) {
    a.alloc_states = ThinVec::new();
    (a.modify_index, a.alloc_modify_index, a.modify_time) = (index, index, now);
}

/// Claims the dynamic host volumes of a new allocation whose group uses sticky volumes.
fn claim_volumes(txn: &mut Txn, alloc_id: &str) {
    let Some(a) = txn.store.state().alloc(alloc_id).map(|e| e.alloc.clone()) else { return };
    for claim in volume_claims(txn.store.state(), &a, txn.index) {
        txn.store.put_host_volume_claim(Arc::new(claim));
        txn.other(Table::TaskVolume);
    }
}
