//! Turns a client's job into the plan response.

use encamp_jobspec::admission::{AdmissionError, Admitted, ServerContext, admit};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertError, ConvertOptions, to_server};
use encamp_jobspec::diff::{DiffError, annotate, diff_jobs};
use encamp_model::*;
use encamp_state::State;

use super::dry_run::{DryRun, DryRunError, SERIES, dry_run_with};
use super::evaluate::Made;

/// A planned job: what clients get, and what it was made from.
#[derive(Debug, Clone)]
pub struct JobPlan {
    /// The plan endpoint's answer.
    pub response: JobPlanResponse,
    /// The dry run behind it.
    pub run: DryRun,
}

/// Why a job can't be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The job does not convert.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A server would refuse the job.
    #[error(transparent)]
    Admission(#[from] AdmissionError),
    /// The scheduler failed.
    #[error(transparent)]
    Schedule(#[from] DryRunError),
    /// The diff failed.
    #[error(transparent)]
    Diff(#[from] DiffError),
}

/// The assumptions where a state does not hold the settings of its servers, in words; see [`server_context`].
pub fn assumed_settings(state: &State) -> Option<&'static str> {
    state.server_settings.is_none().then_some(
        "The servers' settings are not known: Vault is assumed to be enabled, without default identities for Vault and \
         Consul. Snapshot files hold these settings from version 2 on; reading them from a cluster needs agent:read.",
    )
}

/// The admission settings that follow from a cluster's state. Where it does not say what its servers are set up with,
/// [`assumed_settings`] hold.
pub fn server_context(state: &State) -> ServerContext {
    let assumed = || ServerSettings { vault_enabled: true, ..Default::default() };
    let settings = state.server_settings.as_deref().cloned().unwrap_or_else(assumed);
    let mut ctx = ServerContext {
        vault_enabled: settings.vault_enabled,
        vault_default_identity: settings.vault_default_identity,
        consul_service_identity: settings.consul_service_identity,
        consul_task_identity: settings.consul_task_identity,
        ..Default::default()
    };
    if state.namespaces().next().is_some() {
        ctx.namespaces = state.namespaces().map(|n| n.as_ref().clone()).collect();
    }
    if state.node_pools().next().is_some() {
        ctx.node_pools = state.node_pools().map(|p| p.as_ref().clone()).collect();
    }
    if let Some(c) = &state.scheduler_config {
        ctx.scheduler = c.as_ref().clone();
    }
    ctx
}

/// Plans a job as the plan endpoint does: defaults, admission, dry run, contextual diff with annotations.
pub fn plan_job(
    state: &State,
    job: &api::Job,
    options: &ConvertOptions,
    ctx: &ServerContext,
    now: i64,
) -> Result<JobPlan, PlanError> {
    InTurn::default().plan_job(state, job, options, ctx, now)
}

/// Plans several jobs, each on the state that the plans before it leave: new allocations of all plans have different
/// IDs, and different dynamic ports.
#[derive(Debug)]
pub struct InTurn(Made);

impl Default for InTurn {
    fn default() -> InTurn {
        InTurn(Made::new(SERIES))
    }
}

impl InTurn {
    /// Plans the next job as [`plan_job`] does.
    ///
    /// # Errors
    /// The job is invalid, or the scheduler failed.
    pub fn plan_job(
        &mut self,
        state: &State,
        job: &api::Job,
        options: &ConvertOptions,
        ctx: &ServerContext,
        now: i64,
    ) -> Result<JobPlan, PlanError> {
        let admitted = admitted(state, job, options, ctx)?;
        let existing = state.job(&admitted.job.namespace, &admitted.job.id).cloned();
        let run = dry_run_with(state, &admitted.job, now, &mut self.0)?;
        let mut diff = diff_jobs(existing.as_deref(), Some(&admitted.job), true)?;
        if let Some(a) = &run.plan.annotations {
            annotate(&mut diff, a);
        }
        let response = JobPlanResponse {
            annotations: run.plan.annotations.clone(),
            failed_tg_allocs: run.failed_tg_allocs().clone(),
            job_modify_index: existing.as_ref().map_or(0, |j| j.job_modify_index),
            created_evals: run.created_evals.clone(),
            diff: Some(diff),
            next_periodic_launch: next_launch(&admitted.job, now),
            warnings: admitted.warnings,
            plan_rejections: run.rejections.clone(),
            ..Default::default()
        };
        Ok(JobPlan { response, run })
    }
}

/// The job as a server would store it: defaults, conversion, admission.
pub(super) fn admitted(
    state: &State,
    job: &api::Job,
    options: &ConvertOptions,
    ctx: &ServerContext,
) -> Result<Admitted, PlanError> {
    let mut job = job.clone();
    canonicalize(&mut job);
    let job = to_server(&job, options)?;
    let existing = state.job(&job.namespace, &job.id).cloned();
    Ok(admit(job, ctx, existing.as_deref())?)
}

/// When a periodic job would run next.
fn next_launch(job: &Job, now: i64) -> Time {
    let periodic = job.periodic.as_ref().filter(|p| p.enabled);
    let next = periodic.and_then(|p| p.next_launch(now).ok().flatten());
    next.map_or(Time::ZERO, Time::from_unix_nanos)
}
