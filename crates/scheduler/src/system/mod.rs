//! The system and sysbatch schedulers: one instance of every group on every node that fits
//! (`docs/spec/reconciliation.md §9`).
//!
//! - `reconcile`: the missing, outdated and unneeded allocations of each node.
//! - [`deployment`]: the deployment of the changes. [`rollout`]: its progress, canaries.
//! - [`place`]: in-place updates and placements.

mod deployment;
mod place;
mod reconcile;
mod rollout;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::deployment::DeploymentTracker;
use self::place::Placer;
use self::reconcile::{Inputs, Reconciled, reconcile, required_names};
use self::rollout::Rollout;
use super::candidates::{ReadyNodes, ready_nodes};
use super::tainted::{stop_lost, tainted_nodes};
use super::working_plan::WorkingPlan;
use super::{Context, Planner, ScheduleError, common, descriptions, disconnect};
use encamp_model::*;
use encamp_state::Snapshot;

/// Processes an evaluation of a system or sysbatch job.
pub fn process(
    snapshot: &Snapshot,
    eval: &Evaluation,
    ctx: &mut Context,
    planner: &mut dyn Planner,
) -> Result<(), ScheduleError> {
    let max_attempts = if eval.r#type == JobType::Sysbatch { 2 } else { 5 };
    let mut snapshot = snapshot.clone();
    let mut attempts = 0;
    loop {
        let Attempt { plan, mut outcome, blocked } = attempt(&snapshot, eval, ctx);
        blocked.into_iter().for_each(|e| planner.create_eval(e));
        if plan.is_no_op() && !eval.annotate_plan {
            planner.update_eval(outcome.into_eval(eval, EvalStatus::Complete, "", ctx.now));
            return Ok(());
        }
        let count = |nodes: &BTreeMap<String, Vec<Arc<Allocation>>>| nodes.values().map(Vec::len).sum::<usize>();
        let planned = count(&plan.node_allocation);
        let result = planner.submit_plan(plan)?;
        common::subtract_placed(&mut outcome.queued, &result, &snapshot);
        if result.refresh.is_none() && count(&result.node_allocation) == planned {
            planner.update_eval(outcome.into_eval(eval, EvalStatus::Complete, "", ctx.now));
            return Ok(());
        }
        attempts = if result.made_progress() { 0 } else { attempts + 1 };
        if attempts >= max_attempts {
            let description = format!("maximum attempts reached ({max_attempts})");
            planner.update_eval(outcome.into_eval(eval, EvalStatus::Failed, &description, ctx.now));
            return Ok(());
        }
        if let Some(newer) = result.refresh {
            snapshot = newer;
        }
    }
}

/// One pass over the job.
struct Attempt {
    plan: Plan,
    outcome: Outcome,
    /// Blocked evaluations, one for each group that could not be placed.
    blocked: Vec<Evaluation>,
}

/// The reported status of the evaluation.
#[derive(Default)]
struct Outcome {
    failed: BTreeMap<String, AllocMetric>,
    queued: BTreeMap<String, i64>,
    annotations: PlanAnnotations,
    deployment_id: String,
}

impl Outcome {
    fn into_eval(self, eval: &Evaluation, status: EvalStatus, description: &str, now: i64) -> Evaluation {
        Evaluation {
            failed_tg_allocs: self.failed,
            queued_allocations: self.queued.into_iter().collect(),
            plan_annotations: Some(Box::new(self.annotations)),
            ..common::with_status(eval, status, description, &self.deployment_id, now)
        }
    }
}

fn attempt(snapshot: &Snapshot, eval: &Evaluation, ctx: &mut Context) -> Attempt {
    let sysbatch = eval.r#type == JobType::Sysbatch;
    let job = snapshot.job(&eval.namespace, &eval.job_id);
    let wanted = job.filter(|j| !j.stop);
    let ready = wanted.map_or_else(ReadyNodes::default, |j| ready_nodes(snapshot, &j.datacenters, &j.node_pool));
    let required = wanted.map_or_else(Vec::new, |j| required_names(j));
    let allocs = snapshot.allocs_of_job(&eval.namespace, &eval.job_id);
    let tainted = tainted_nodes(snapshot, (&eval.namespace, &eval.job_id), allocs.iter().map(|a| &a.alloc));
    let mut plan = WorkingPlan::new(eval, job.cloned(), snapshot.clone(), ctx.now);
    stop_lost(&mut plan, &tainted, allocs.iter().map(|a| &a.alloc));

    let latest = if sysbatch { None } else { snapshot.latest_deployment(&eval.namespace, &eval.job_id) };
    let mut tracker = DeploymentTracker::new(job.map(|j| &**j), latest.as_ref(), !sysbatch, ctx.now, ctx.new_id);
    let now = ctx.now;
    let inputs = Inputs {
        state: snapshot,
        job: job.map(|j| &**j),
        required: &required,
        allocs: &allocs,
        tainted: &tainted,
        ready: &ready,
        now,
    };
    let mut found = reconcile(&inputs, &mut tracker);
    let (current, deployment_updates) = (tracker.current, tracker.updates);
    let held = current.or_else(|| latest.as_deref().cloned());
    plan_departures(&mut plan, &found, now);

    let mut rollout = Rollout::new(job.map(|j| &**j), held, deployment_updates);
    let mut desired = BTreeMap::new();
    count_entries(&found, &mut desired);
    let mut outcome = Outcome::default();
    let mut blocked = Vec::new();
    if let Some(job) = wanted {
        let mut placer = Placer::new(snapshot, eval, job, &ready, &mut plan, &mut rollout);
        let (mut stay, mut destructive) = placer.update_in_place(std::mem::take(&mut found.update), ctx);
        let back = placer.update_in_place(std::mem::take(&mut found.reconnecting), ctx);
        stay.extend(back.0);
        destructive.extend(back.1);
        for e in &stay {
            count(&mut desired, &e.group.name).in_place_update += 1;
        }
        for e in &destructive {
            count(&mut desired, &e.group.name).destructive_update += 1;
        }
        placer.place(found, &stay, destructive, ctx);
        blocked = placer.finish(&mut desired, &mut outcome);
    }
    if !sysbatch {
        rollout.finish(&mut plan, snapshot, &ready, &mut desired);
    }
    outcome.deployment_id = rollout.deployment_id().to_string();
    outcome.annotations.desired_tg_updates = desired;
    if eval.annotate_plan {
        plan.plan.annotations = Some(outcome.annotations.clone());
    }
    Attempt { plan: plan.plan, outcome, blocked }
}

/// Plans allocations that are displaced, and those whose node is disconnected.
fn plan_departures(plan: &mut WorkingPlan, found: &Reconciled, now: i64) {
    for a in &found.stop {
        plan.append_stop(a, descriptions::NOT_NEEDED, ClientStatus::Unset, "");
    }
    for a in &found.migrate {
        plan.append_stop(a, descriptions::NODE_TAINTED, ClientStatus::Unset, "");
    }
    for a in &found.lost {
        plan.append_stop(a, descriptions::LOST, ClientStatus::Lost, "");
    }
    for a in &found.disconnecting {
        plan.push_alloc(Arc::new(disconnect::to_unknown(a, now)));
    }
}

/// The counts of a group.
fn count<'a>(desired: &'a mut BTreeMap<String, DesiredUpdates>, group: &str) -> &'a mut DesiredUpdates {
    desired.entry(group.to_string()).or_default()
}

/// Counts what the reconciler found, as annotations show it; lost allocations do not show.
fn count_entries(found: &Reconciled, desired: &mut BTreeMap<String, DesiredUpdates>) {
    for e in &found.place {
        count(desired, &e.group.name).place += 1;
    }
    for e in &found.ignore {
        count(desired, &e.group.name).ignore += 1;
    }
    for e in &found.reconnecting {
        count(desired, &e.group.name).reconnect += 1;
    }
    for a in &found.stop {
        count(desired, &a.task_group).stop += 1;
    }
    for a in &found.migrate {
        count(desired, &a.task_group).migrate += 1;
    }
    for a in &found.disconnecting {
        count(desired, &a.task_group).disconnect += 1;
    }
}
