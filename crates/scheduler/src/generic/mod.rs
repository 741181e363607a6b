//! The scheduler of service and batch jobs: reconciles, places and submits, and retries if a part was rejected
//! (`docs/spec/reconciliation.md §3`).
//!
//! - `update`: whether an allocation can be updated in place (`docs/spec/reconciliation.md §7`).
//! - `place`: finds a node for every placement (`docs/spec/reconciliation.md §8`).

mod place;
#[cfg(test)]
mod tests;
mod update;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::candidates::ReadyNodes;
use super::common::{blocked_eval, is_stopped, subtract_placed, with_status};
use super::reconcile::{self, Results};
use super::stack::{Stack, StackKind};
use super::tainted::{TaintedNodes, stop_lost, tainted_nodes};
use super::working_plan::WorkingPlan;
use super::{Context, NodeOrder, Planner, ScheduleError, descriptions, order};
use encamp_model::*;
use encamp_state::Snapshot;

/// How often a plan may be rejected in a row.
const MAX_SERVICE_ATTEMPTS: u32 = 5;
const MAX_BATCH_ATTEMPTS: u32 = 2;

/// Processes an evaluation of a service or batch job; its trigger was checked.
pub(crate) fn process(
    snapshot: &Snapshot,
    eval: &Evaluation,
    ctx: &mut Context,
    planner: &mut dyn Planner,
) -> Result<(), ScheduleError> {
    let batch = eval.r#type == JobType::Batch;
    let max = if batch { MAX_BATCH_ATTEMPTS } else { MAX_SERVICE_ATTEMPTS };
    let state = snapshot.clone();
    let mut g = Generic { eval: eval.clone(), batch, ctx, planner, state, lists: 0, blocked: false };
    let mut attempts = 0;
    loop {
        let mut a = Attempt::new(&g);
        match a.run(&mut g)? {
            Outcome::Done => {
                g.conclude(a);
                return Ok(());
            }
            Outcome::Again { progress: true } => attempts = 0,
            Outcome::Again { progress: false } => attempts += 1,
        }
        if attempts == max {
            a.block(&mut g, EvalTrigger::MaxPlanAttempts, descriptions::BLOCKED_MAX_PLANS);
            g.write_status(a, EvalStatus::Failed, &format!("maximum attempts reached ({max})"));
            return Ok(());
        }
    }
}

/// State shared by all attempts at an evaluation.
struct Generic<'a, 'c> {
    /// The evaluation, with the IDs of the evaluations made for it.
    eval: Evaluation,
    batch: bool,
    ctx: &'a mut Context<'c>,
    planner: &'a mut dyn Planner,
    state: Snapshot,
    /// How often candidates were set.
    lists: usize,
    /// A blocked evaluation was created.
    blocked: bool,
}

/// How an attempt ended.
enum Outcome {
    Done,
    Again { progress: bool },
}

/// One attempt: everything that is rebuilt after a rejection.
struct Attempt {
    job: Option<Arc<Job>>,
    plan: WorkingPlan,
    stack: Stack,
    /// The deployment the scheduler holds: a new one, or the job's latest.
    deployment: Option<Deployment>,
    queued: BTreeMap<String, i64>,
    failed: BTreeMap<String, AllocMetric>,
    annotations: PlanAnnotations,
}

impl Generic<'_, '_> {
    /// Completes the evaluation, or hands it back to the blocked queue.
    fn conclude(&mut self, a: Attempt) {
        if self.eval.status != EvalStatus::Blocked || a.failed.is_empty() {
            self.write_status(a, EvalStatus::Complete, "");
            return;
        }
        let e = Evaluation {
            escaped_computed_class: a.stack.escaped(),
            class_eligibility: a.stack.class_eligibility(),
            quota_limit_reached: Text::default(),
            missing_non_node_resources: a.stack.missing_non_node_resources().into_iter().collect(),
            ..self.eval.clone()
        };
        self.planner.reblock_eval(e);
    }

    fn write_status(&mut self, a: Attempt, status: EvalStatus, description: &str) {
        let deployment = a.deployment.as_ref().map_or("", |d| d.id.as_str());
        let e = Evaluation {
            failed_tg_allocs: a.failed,
            queued_allocations: a.queued.into_iter().collect(),
            plan_annotations: Some(Box::new(a.annotations)),
            ..with_status(&self.eval, status, description, deployment, self.ctx.now)
        };
        self.planner.update_eval(e);
    }

    /// The slots of the candidates in the order in which they are visited.
    fn visiting_order(&mut self, ready: &ReadyNodes) -> Result<Vec<u32>, ScheduleError> {
        self.lists += 1;
        if let NodeOrder::Explicit(lists) = &self.ctx.order
            && let Some(list) = lists.get(self.lists - 1)
        {
            return Ok(list.iter().filter_map(|id| Some(self.state.node(id)?.slot)).collect());
        }
        if let NodeOrder::Remembered(orders) = &self.ctx.order {
            let places = orders.0(order::seed(&self.eval.id, self.state.index)?, ready.slots.len());
            return Ok(places.iter().filter_map(|place| ready.slots.get(*place as usize).copied()).collect());
        }
        let mut slots = ready.slots.clone();
        order::shuffle(&mut slots, &self.eval.id, self.state.index)?;
        Ok(slots)
    }
}

impl Attempt {
    fn new(g: &Generic) -> Attempt {
        let (namespace, id) = (g.eval.namespace.as_str(), g.eval.job_id.as_str());
        let job = g.state.job(namespace, id).cloned();
        let deployment = if g.batch { None } else { g.state.latest_deployment(namespace, id) };
        let kind = if g.batch { StackKind::Batch } else { StackKind::Service };
        let mut stack = Stack::new(kind, g.state.clone());
        job.iter().filter(|j| !j.stop).for_each(|j| stack.set_job(j));
        Attempt {
            plan: WorkingPlan::new(&g.eval, job.clone(), g.state.clone(), g.ctx.now),
            job,
            stack,
            deployment: deployment.map(Arc::unwrap_or_clone),
            queued: BTreeMap::new(),
            failed: BTreeMap::new(),
            annotations: PlanAnnotations::default(),
        }
    }

    /// Makes and submits a plan (`docs/spec/reconciliation.md §3.3`).
    fn run(&mut self, g: &mut Generic) -> Result<Outcome, ScheduleError> {
        let mut results = self.reconcile(g);
        let follow_ups = std::mem::take(&mut results.follow_ups);
        self.annotations.desired_tg_updates = std::mem::take(&mut results.desired);
        self.plan_changes(&mut results);
        self.place_all(g, results)?;

        // A delayed evaluation that is processed early has follow-ups of its own to wait for.
        let due = g.eval.wait_until.unix_nanos().is_none_or(|at| g.ctx.now > at);
        if g.eval.status != EvalStatus::Blocked
            && !self.failed.is_empty()
            && !g.blocked
            && (follow_ups.is_empty() || due)
        {
            self.block(g, EvalTrigger::QueuedAllocs, descriptions::BLOCKED_FAILED_PLACEMENTS);
        }
        if self.plan.plan.is_no_op() && !g.eval.annotate_plan {
            return Ok(Outcome::Done);
        }
        if g.eval.wait_until.is_zero() {
            for mut e in follow_ups {
                e.previous_eval = Text::unshared(&g.eval.id);
                g.eval.next_eval = Text::unshared(&e.id);
                g.planner.create_eval(e);
            }
        }
        if g.eval.annotate_plan {
            self.plan.plan.annotations = Some(self.annotations.clone());
        }
        let plan = std::mem::take(&mut self.plan.plan);
        let planned: usize = plan.node_allocation.values().map(Vec::len).sum();
        let result = g.planner.submit_plan(plan)?;
        subtract_placed(&mut self.queued, &result, &g.state);
        if let Some(newer) = &result.refresh {
            g.state = newer.clone();
            self.deployment = None;
            return Ok(Outcome::Again { progress: result.made_progress() });
        }
        if result.node_allocation.values().map(Vec::len).sum::<usize>() != planned {
            return Err(ScheduleError::NoRefresh);
        }
        Ok(Outcome::Done)
    }

    /// Compares what the job wants with what it has (`docs/spec/reconciliation.md §4` steps 1-4).
    fn reconcile(&mut self, g: &mut Generic) -> Results {
        let entries = g.state.entries_of_job(&g.eval.namespace, &g.eval.job_id);
        let allocs: Vec<Arc<Allocation>> = entries.map(|e| e.alloc.clone()).collect();
        let tainted: TaintedNodes = tainted_nodes(&g.state, (&g.eval.namespace, &g.eval.job_id), &allocs);
        stop_lost(&mut self.plan, &tainted, &allocs);
        let input = reconcile::Input {
            job: self.job.as_deref(),
            job_id: &g.eval.job_id,
            batch: g.batch,
            deployment: self.deployment.clone(),
            allocs,
            eval_id: &g.eval.id,
            eval_priority: g.eval.priority,
            tainted: &tainted,
            now: g.ctx.now,
        };
        let mut check = update::InPlaceCheck::new(
            &g.state,
            &g.eval.id,
            self.job.as_ref(),
            &mut self.stack,
            &mut self.plan,
            &mut *g.ctx.random,
        );
        let mut results = reconcile::reconcile(input, &mut |a, tg| check.check(a, tg), &mut *g.ctx.new_id);
        if let Some(d) = &results.deployment {
            self.deployment = Some(d.clone());
        }
        self.plan.plan.deployment = results.deployment.take();
        self.plan.plan.deployment_updates = std::mem::take(&mut results.deployment_updates);
        results
    }

    /// Plans everything that needs no node (`docs/spec/reconciliation.md §4` step 4).
    fn plan_changes(&mut self, results: &mut Results) {
        for s in std::mem::take(&mut results.stop) {
            self.plan.append_stop(&s.alloc, s.description, s.client_status, &s.followup_eval);
        }
        for a in std::mem::take(&mut results.disconnect_updates) {
            self.plan.push_alloc(a);
        }
        for a in std::mem::take(&mut results.reconnect_updates) {
            self.plan.append_alloc(a, None);
        }
        let held = self.deployment.as_ref().map_or("", |d| d.id.as_str());
        for mut a in std::mem::take(&mut results.in_place) {
            if a.deployment_id != held {
                a.deployment_id = held.into();
                a.deployment_status = None;
            }
            self.plan.append_alloc(a, None);
        }
        for a in std::mem::take(&mut results.attribute_updates) {
            self.plan.append_alloc(a, None);
        }
    }

    /// Creates the evaluation that waits for capacity (`docs/spec/reconciliation.md §3.5`).
    fn block(&mut self, g: &mut Generic, trigger: EvalTrigger, description: &str) {
        let classes = (!self.stack.escaped()).then(|| self.stack.class_eligibility());
        let missing = self.stack.missing_non_node_resources();
        let mut e = blocked_eval(&g.eval, g.ctx, &self.failed, classes, missing);
        e.triggered_by = trigger;
        e.status_description = description.into();
        g.eval.blocked_eval = Text::unshared(&e.id);
        g.blocked = true;
        g.planner.create_eval(e);
    }

    fn stopped(&self) -> bool {
        is_stopped(self.job.as_ref())
    }
}
