//! Plans one job with one evaluation: the scheduler treats the plan as accepted, and the plan is discarded
//! (`docs/spec/reconciliation.md §10.2`). The parts of it that servers would reject are reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use thiserror::Error;

use encamp_jobspec::admission::spec_changed;
use encamp_model::*;
use encamp_scheduler::ScheduleError;
use encamp_scheduler::plan_check::{check, rejections};
use encamp_state::{Snapshot, State};

use super::evaluate::{Limits, Made, evaluate_until};

/// The evaluation ID of local plans: fixed, so that two runs look at the nodes in the same order.
pub(crate) const LOCAL_EVAL_ID: &str = "00000000-0000-0000-0000-00000000d1ff";
/// The series of the IDs of dry runs.
pub(super) const SERIES: u16 = 0;
/// The index at which a job that is not known yet is stored.
const NEW_JOB_INDEX: u64 = 100;

/// The result of a dry run.
#[derive(Debug, Clone)]
pub struct DryRun {
    /// The plan, accepted in full.
    pub plan: Plan,
    /// The evaluation with its final status.
    pub eval: Evaluation,
    /// Blocked and follow-up evaluations.
    pub created_evals: Vec<Evaluation>,
    /// The job as it is registered now.
    pub old_job: Option<Arc<Job>>,
    /// The job as it was planned.
    pub job: Arc<Job>,
    /// The state the plan was made on, with that job in it.
    pub state: Snapshot,
    /// The rejected parts of the plan, by the check that servers make before they apply a plan.
    pub rejections: Vec<PlanRejection>,
}

/// Why a dry run has no result.
#[derive(Debug, Error)]
pub enum DryRunError {
    /// The scheduler decided nothing.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The scheduler did not answer as it does for one evaluation.
    #[error("the scheduler did not return exactly one plan and one evaluation")]
    Unexpected,
}

/// Runs the scheduler for an admitted job as if it were registered now. IDs and dynamic ports come from a fixed
/// sequence.
///
/// # Errors
/// The scheduler decided nothing.
pub fn dry_run(state: &State, job: &Job, now: i64) -> Result<DryRun, DryRunError> {
    dry_run_with(state, job, now, &mut Made::new(SERIES))
}

/// The same with IDs and dynamic ports from `made`.
///
/// # Errors
/// The scheduler decided nothing.
pub(super) fn dry_run_with(state: &State, job: &Job, now: i64, made: &mut Made) -> Result<DryRun, DryRunError> {
    dry_run_until(state, job, now, made, &Limits::default())
}

/// The same, which ends without a result when it is asked to.
///
/// # Errors
/// The scheduler decided nothing; [`ScheduleError::Stopped`] if it was asked to end.
pub(super) fn dry_run_until(
    state: &State,
    job: &Job,
    now: i64,
    made: &mut Made,
    limits: &Limits,
) -> Result<DryRun, DryRunError> {
    let mut state = state.clone();
    let old_job = state.job(&job.namespace, &job.id).cloned();
    let job = stored_form(old_job.as_deref(), job, now);
    if old_job.as_deref().is_none_or(|old| old.version != job.version || old.create_index != job.create_index) {
        state.upsert_job(job.clone());
    }
    let eval = Evaluation {
        job_modify_index: job.modify_index,
        annotate_plan: true,
        ..Evaluation::pending(&job, EvalTrigger::JobRegister, now, LOCAL_EVAL_ID.into())
    };
    let state = state.snapshot();
    let mut out = evaluate_until(&state, &eval, now, made, limits)?;
    let (plan, eval) = match (out.plans.pop(), out.updates.pop()) {
        (Some(p), Some(e)) if out.plans.is_empty() && out.updates.is_empty() => (p, e),
        _ => return Err(DryRunError::Unexpected),
    };
    let rejected = check(&state, &plan).rejected;
    let rejections = rejections(&state, &plan.node_allocation, &rejected);
    Ok(DryRun { plan, eval, created_evals: out.created, old_job, job, state, rejections })
}

/// The job with the version and indexes registering it would give. An unchanged job stays the stored one.
pub(super) fn stored_form(old: Option<&Job>, job: &Job, now: i64) -> Arc<Job> {
    let mut job = job.clone();
    match old {
        Some(old) if !spec_changed(old, &job) => return Arc::new(old.clone()),
        Some(old) => {
            job.version = old.version + 1;
            job.create_index = old.create_index;
            job.modify_index = old.job_modify_index + 1;
            job.status = old.status.clone();
        }
        None => {
            job.version = 0;
            job.create_index = NEW_JOB_INDEX;
            job.modify_index = NEW_JOB_INDEX;
            job.status = JobStatus::Pending;
        }
    }
    job.job_modify_index = job.modify_index;
    job.submit_time = now;
    Arc::new(job)
}

impl DryRun {
    /// Groups that could not be placed, with the metrics of the search.
    pub fn failed_tg_allocs(&self) -> &BTreeMap<String, AllocMetric> {
        &self.eval.failed_tg_allocs
    }

    /// The part of the plan that servers would carry out.
    pub fn accepted(&self) -> Plan {
        check(&self.state, &self.plan).accepted(&self.plan)
    }
}
