//! Registering, planning and validating jobs (`docs/spec/http-api.md §5.3`, `docs/spec/server.md §10`, `§19.4`).

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_jobspec::admission::validate::add_warning;
use encamp_jobspec::admission::validate::source_size_warning;
use encamp_jobspec::admission::{
    self, AdmissionError, Entry, ServerContext, check_modify_index, check_request, check_update, error_list,
    spec_changed,
};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::{JobRegister, Operation};
use encamp_plan::{PlanError, plan_job};
use encamp_state::StateStore;

/// The error text while the scheduler configuration disables registrations.
pub const REJECTED: &str = "Job registration, dispatch, and scale are disabled by the scheduler configuration";

/// Whether the caller is permitted to register a job; the error is the response.
pub(crate) type Permit<'a> = &'a (dyn Fn(&Job) -> Result<(), Error> + Send + Sync);

/// The target of a job request according to its URL (`docs/spec/http-api.md §4.2`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Target<'a> {
    /// The job ID, if the path contains it.
    pub path_id: Option<&'a str>,
    /// The `region` query parameter.
    pub region: &'a str,
    /// The `namespace` query parameter; empty if it is not set.
    pub namespace: &'a str,
}

/// The cluster data needed by admission.
pub(crate) fn admission_context(server: &ServerState, store: &StateStore) -> ServerContext {
    let state = store.state();
    ServerContext {
        namespaces: state.namespaces().map(|n| n.as_ref().clone()).collect(),
        node_pools: state.node_pools().map(|p| p.as_ref().clone()).collect(),
        scheduler: state.scheduler_config.as_deref().cloned().unwrap_or_default(),
        random_seed: ids::random(),
        ..server.settings().admission.clone()
    }
}

/// Refuses registration, dispatch and scaling if the scheduler configuration disables them; `exempt` callers are not
/// affected.
///
/// # Errors
/// 403: registration is disabled.
pub(crate) fn check_accepting(store: &StateStore, exempt: bool) -> Result<(), Error> {
    let rejects = store.state().scheduler_config.as_ref().is_some_and(|c| c.reject_job_registration);
    if rejects && !exempt { Err(Error::denied(REJECTED)) } else { Ok(()) }
}

fn options(server: &ServerState, target: Target<'_>, region: &str, namespace: &str) -> ConvertOptions {
    let first = |a: &str, b: &str| [a, b].into_iter().find(|t| !t.is_empty()).map(String::from);
    ConvertOptions {
        region: server.settings().region.clone(),
        request_region: first(region, target.region),
        namespace: first(target.namespace, namespace),
    }
}

/// Jobs of other regions would have to be forwarded.
fn check_region(server: &ServerState, job: &Job) -> Result<(), Error> {
    let ours = job.multiregion.is_some() || job.region == server.settings().region;
    if ours { Ok(()) } else { Err(Error::internal("No path to region")) }
}

/// Preserves values of the registered job: group counts, task resources.
fn preserve(job: &mut Job, registered: &Job, counts: bool, resources: bool) {
    for group in &mut job.task_groups {
        let Some(old) = registered.lookup_group(&group.name) else { continue };
        if counts {
            group.count = old.count;
        }
        for task in group.tasks.iter_mut().filter(|_| resources) {
            if let Some(same) = old.tasks.iter().find(|t| t.name == task.name) {
                task.resources.clone_from(&same.resources);
            }
        }
    }
}

/// The source to store with a version, and the warning if it is too large.
fn kept_source(
    submission: Option<JobSubmission>,
    namespace: &str,
    most: usize,
) -> (Option<JobSubmission>, Option<String>) {
    let Some(s) = submission else { return (None, None) };
    let size = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let warning = source_size_warning(size(s.source.len()), size(most));
    let kept = warning.is_none().then(|| JobSubmission { namespace: namespace.into(), ..s });
    (kept, warning)
}

/// Registers a job. `exempt`: the caller may register even if job registration is disabled.
///
/// # Errors
/// See `docs/spec/http-api.md §5.3`.
pub async fn register(
    server: &Leading,
    request: JobRegisterRequest,
    target: Target<'_>,
    exempt: bool,
    permit: Permit<'_>,
) -> Result<JobRegisterResponse, Error> {
    let entry = Entry::Register { path_id: target.path_id, eval_priority: request.eval_priority };
    check_request(request.job.as_ref(), entry).map_err(Error::bad)?;
    let mut sent = request.job.unwrap_or_default();
    canonicalize(&mut sent);
    let options = options(server, target, &request.region, &request.namespace);
    let mut job = to_server(&sent, &options).map_err(Error::bad)?;
    check_region(server, &job)?;
    server.wait_ready().await?;
    let store = server.snapshot();
    check_accepting(&store, exempt)?;
    let existing = store.state().job(&job.namespace, &job.id).cloned();
    if let Some(old) = &existing {
        preserve(&mut job, old, request.preserve_counts, request.preserve_resources);
    }
    let context = admission_context(server, &store);
    let admitted = admission::admit(job, &context, existing.as_deref()).map_err(refused)?;
    let (mut job, mut warnings) = (admitted.job, admitted.warnings);
    permit(&job)?;
    if request.enforce_index {
        check_modify_index(request.job_modify_index, existing.as_deref())
            .map_err(|e| Error::new(ErrorKind::ModifyIndex, e.to_string()))?;
    }
    check_update(existing.as_deref(), &job).map_err(Error::internal)?;

    let now = ids::now();
    job.submit_time = now;
    let priority = if request.eval_priority > 0 { request.eval_priority } else { job.priority };
    let eval = (!job.launches_others())
        .then(|| Evaluation { priority, ..Evaluation::pending(&job, EvalTrigger::JobRegister, now, ids::uuid()) });
    let (submission, warning) = kept_source(request.submission, &job.namespace, server.settings().job_max_source_size);
    if let Some(w) = warning {
        warnings = add_warning(&warnings, &w);
    }
    let enforce_index = request.enforce_index.then_some(request.job_modify_index);
    let put = Put { job, eval, submission, enforce_index, now };
    let answer = put_job(server, put, existing.as_deref()).await?;
    Ok(JobRegisterResponse { warnings, ..answer })
}

/// An admitted job, and the objects written with it.
#[derive(Debug)]
pub(super) struct Put {
    /// The job.
    pub job: Job,
    /// The evaluation written with the job.
    pub eval: Option<Evaluation>,
    /// The source of the job.
    pub submission: Option<JobSubmission>,
    /// See [`JobRegister::enforce_index`].
    pub enforce_index: Option<u64>,
    /// Unix nanoseconds.
    pub now: i64,
}

/// Writes an admitted job: as a new version if its specification changed, else only its evaluation.
///
/// # Errors
/// The state machine refused the operation, or there is no leader.
pub(super) async fn put_job(server: &Leading, put: Put, existing: Option<&Job>) -> Result<JobRegisterResponse, Error> {
    let Put { mut job, eval, submission, enforce_index, now } = put;
    let mut answer = JobRegisterResponse::default();
    if let Some(e) = &eval {
        answer.eval_id = e.id.to_string();
    }
    if let Some(old) = existing.filter(|old| !spec_changed(old, &job)) {
        (answer.job_modify_index, answer.index) = (old.modify_index, old.modify_index);
        if let Some(e) = eval {
            let evals = vec![Evaluation { job_modify_index: old.modify_index, ..e }];
            answer.index = server.commit(Operation::EvalUpdate { evals }).await?.0;
            answer.eval_create_index = answer.index;
        }
        return Ok(answer);
    }
    // A tag names one version and is not carried over to the next one.
    job.version_tag = None;
    let made = eval.is_some();
    let op = JobRegister { job: Arc::new(job), eval, submission, enforce_index, now };
    let (index, _) = server.commit(Operation::JobRegister(Box::new(op))).await?;
    (answer.index, answer.job_modify_index) = (index, index);
    answer.eval_create_index = if made { index } else { 0 };
    Ok(answer)
}

fn refused(e: AdmissionError) -> Error {
    Error::internal(e.to_string())
}

/// Plans a job.
///
/// # Errors
/// See `docs/spec/http-api.md §5.3`.
pub async fn plan(
    server: &Leading,
    request: JobPlanRequest,
    target: Target<'_>,
    permit: Permit<'_>,
) -> Result<JobPlanResponse, Error> {
    let entry = Entry::Plan { path_id: target.path_id.unwrap_or_default() };
    check_request(request.job.as_ref(), entry).map_err(Error::bad)?;
    let sent = request.job.unwrap_or_default();
    let options = options(server, target, &request.region, &request.namespace);
    let mut probe = sent.clone();
    canonicalize(&mut probe);
    let probe = to_server(&probe, &options).map_err(Error::bad)?;
    check_region(server, &probe)?;
    server.wait_ready().await?;
    let store = server.snapshot();
    let (context, now) = (admission_context(server, &store), server.now());
    let planned = tokio::task::spawn_blocking(move || plan_job(store.state(), &sent, &options, &context, now));
    let planned = planned.await.map_err(|_| Error::internal("the dry run was interrupted"))?;
    let plan = planned.map_err(|e| match e {
        PlanError::Convert(text) => Error::bad(text),
        e => Error::internal(e.to_string()),
    })?;
    permit(&plan.run.job)?;
    let mut response = plan.response;
    response.index = response.job_modify_index;
    if response.job_modify_index == 0 {
        // The index of a new job in the dry run is meaningless to the caller.
        response.created_evals.iter_mut().for_each(|e| e.job_modify_index = 0);
    }
    if !request.diff {
        response.diff = None;
    }
    Ok(response)
}

/// Validates a job.
///
/// # Errors
/// 400: the job is missing.
pub fn validate(
    server: &ServerState,
    request: JobValidateRequest,
    permit: Permit<'_>,
) -> Result<JobValidateResponse, Error> {
    let mut job = request.job.ok_or_else(|| Error::bad("Job must be specified"))?;
    canonicalize(&mut job);
    let options = ConvertOptions { region: server.settings().region.clone(), ..Default::default() };
    let job = to_server(&job, &options).map_err(Error::bad)?;
    permit(&job)?;
    let store = server.snapshot();
    let mut answer = JobValidateResponse { driver_config_validated: true, ..Default::default() };
    match admission::check(job, &admission_context(server, &store)) {
        Ok(checked) => {
            answer.warnings = checked.warnings;
            answer.validation_errors = checked.errors;
            if !answer.validation_errors.is_empty() {
                answer.error = error_list(&answer.validation_errors);
            }
        }
        Err(e) => {
            answer.error = e.to_string();
            answer.validation_errors = vec![answer.error.clone()];
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(counts: &[(&str, i64)], cpu: i64) -> Job {
        let task = |name: &str| Task {
            name: name.into(),
            resources: Some(Resources { cpu, ..Default::default() }),
            ..Default::default()
        };
        let group = |(name, count): &(&str, i64)| TaskGroup {
            name: (*name).into(),
            count: *count,
            tasks: vec![task("t")],
            ..Default::default()
        };
        Job { task_groups: counts.iter().map(group).collect(), ..Default::default() }
    }

    #[test]
    fn what_is_preserved() {
        let old = job(&[("a", 7), ("gone", 2)], 500);
        let kept = |counts, resources| {
            let mut new = job(&[("a", 1), ("b", 3)], 100);
            preserve(&mut new, &old, counts, resources);
            let cpu = |g: &TaskGroup| g.tasks[0].resources.as_ref().map_or(0, |r| r.cpu);
            new.task_groups.iter().map(|g| (g.count, cpu(g))).collect::<Vec<_>>()
        };
        assert_eq!(kept(true, false), [(7, 100), (3, 100)]);
        assert_eq!(kept(false, true), [(1, 500), (3, 100)]);
        assert_eq!(kept(false, false), [(1, 100), (3, 100)]);
    }

    #[test]
    fn large_sources_are_dropped() {
        let s = |n| Some(JobSubmission { source: "x".repeat(n), ..Default::default() });
        let (kept, warning) = kept_source(s(10), "ns", 10);
        assert_eq!((kept.map(|k| k.namespace), warning), (Some("ns".to_string()), None));
        let (kept, warning) = kept_source(s(2000), "ns", 1000);
        assert_eq!(kept, None);
        assert_eq!(warning.unwrap(), "job source size of 2.0 kB exceeds maximum of 1.0 kB and will be discarded");
        assert_eq!(kept_source(None, "ns", 0), (None, None));
    }
}
