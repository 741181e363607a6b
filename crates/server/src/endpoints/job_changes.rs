//! Operations on registered jobs: stop, evaluate, launch, revert, set stability, tag (`docs/spec/http-api.md §5.3`,
//! `docs/spec/server.md §10`, `§14.4`, `§19.4`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::job::{Put, admission_context, put_job};
use crate::error::Error;
use crate::leadership::loops::periodic::{self, Launched};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_jobspec::admission;
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::{JobDeregister, Operation};
use encamp_scheduler::reschedule;
use encamp_state::StateStore;

/// The default priority of evaluations.
const DEFAULT_PRIORITY: i64 = 50;

/// Options for stopping a job.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stop {
    /// Whether to purge the job.
    pub purge: bool,
    /// Whether allocations stop without their shutdown delay.
    pub no_shutdown_delay: bool,
    /// Priority of the evaluation; 0 or less means the job's priority.
    pub eval_priority: i64,
}

/// Stops a job. If the job does not exist, the response is empty.
///
/// # Errors
/// 400: the priority is invalid.
pub async fn deregister(
    server: &Leading,
    namespace: &str,
    id: &str,
    stop: Stop,
) -> Result<JobDeregisterResponse, Error> {
    if stop.eval_priority > 100 {
        return Err(Error::bad("Eval priority must be between 1 and 100 inclusively"));
    }
    server.wait_ready().await?;
    let Some(job) = server.snapshot().state().job(namespace, id).cloned() else { return Ok(Default::default()) };
    let now = ids::now();
    let priority = [stop.eval_priority, job.priority, DEFAULT_PRIORITY].into_iter().find(|p| *p > 0);
    let eval = (!job.launches_others()).then(|| Evaluation {
        r#type: JobType::Service,
        priority: priority.unwrap_or(DEFAULT_PRIORITY),
        ..Evaluation::pending(&job, EvalTrigger::JobDeregister, now, ids::uuid())
    });
    let eval_id = eval.as_ref().map(|e| e.id.to_string()).unwrap_or_default();
    let op = JobDeregister {
        job: JobKey::new(namespace, id),
        purge: stop.purge,
        no_shutdown_delay: stop.no_shutdown_delay,
        eval,
        submit_time: now,
    };
    let (index, _) = server.commit(Operation::JobDeregister(Box::new(op))).await?;
    Ok(JobDeregisterResponse {
        eval_id,
        eval_create_index: index,
        job_modify_index: index,
        index,
        ..Default::default()
    })
}

/// The failed allocations of a job that are replaced now, although their policies would delay or refuse it.
fn to_force(store: &StateStore, job: &Job) -> BTreeMap<String, DesiredTransition> {
    let enabled = |a: &Allocation| reschedule::policy(a).is_some_and(|p| p.attempts != 0 || p.unlimited);
    let wanted = |a: &Allocation| {
        a.client_status == ClientStatus::Failed
            && a.next_allocation.is_empty()
            && !a.desired_transition.should_force_reschedule()
            && enabled(a)
    };
    let allocs = store.state().allocs_of_job(&job.namespace, &job.id);
    let forced = || DesiredTransition { force_reschedule: Some(true), ..Default::default() };
    allocs.iter().filter(|a| wanted(&a.alloc)).map(|a| (a.alloc.id.to_string(), forced())).collect()
}

/// Creates an evaluation of a job.
///
/// # Errors
/// Texts of `docs/spec/server.md §10`.
pub async fn evaluate(
    server: &Leading,
    namespace: &str,
    id: &str,
    options: EvalOptions,
) -> Result<JobRegisterResponse, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    let job = store.state().job(namespace, id).cloned().ok_or_else(|| Error::internal("job not found"))?;
    if job.periodic.is_some() {
        return Err(Error::internal("can't evaluate periodic job"));
    }
    if job.is_parameterized() {
        return Err(Error::internal("can't evaluate parameterized job"));
    }
    let now = ids::now();
    let eval = Evaluation {
        job_modify_index: job.modify_index,
        ..Evaluation::pending(&job, EvalTrigger::JobRegister, now, ids::uuid())
    };
    let eval_id = eval.id.to_string();
    let transitions = if options.force_reschedule { to_force(&store, &job) } else { BTreeMap::new() };
    let op = if transitions.is_empty() {
        Operation::EvalUpdate { evals: vec![eval] }
    } else {
        Operation::AllocTransition { transitions, evals: vec![eval] }
    };
    let (index, _) = server.commit(op).await?;
    let job_modify_index = job.modify_index;
    Ok(JobRegisterResponse { eval_id, eval_create_index: index, job_modify_index, index, ..Default::default() })
}

/// Forces a launch of a periodic job.
///
/// # Errors
/// Texts of `docs/spec/server.md §14.4`.
pub async fn force_periodic(server: &Leading, namespace: &str, id: &str) -> Result<PeriodicForceResponse, Error> {
    let Launched { eval_id, index, .. } = periodic::force(server, namespace, id).await?;
    Ok(PeriodicForceResponse { eval_id, eval_create_index: index, index })
}

/// A stored version of a job.
fn version(store: &StateStore, namespace: &str, id: &str, number: u64) -> Result<Arc<Job>, Error> {
    let found = store.state().job_version(namespace, id, number).cloned();
    found.ok_or_else(|| {
        let (id, namespace) = (quoted(id), quoted(namespace));
        Error::internal(format!("job {id} in namespace {namespace} at version {number} not found"))
    })
}

/// Reverts a job to an older version, which becomes the newest.
///
/// # Errors
/// Texts of `docs/spec/http-api.md §5.3`.
pub async fn revert(
    server: &Leading,
    namespace: &str,
    id: &str,
    request: &JobRevertRequest,
) -> Result<JobRegisterResponse, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    let current = store.state().job(namespace, id).cloned();
    let current = current.ok_or_else(|| Error::internal(format!("job {} not found", quoted(id))))?;
    if request.job_version == current.version {
        return Err(Error::internal("can't revert to current version"));
    }
    if let Some(wanted) = request.enforce_prior_version.filter(|v| *v != current.version) {
        let text = format!("Current job has version {}; enforcing version {wanted}", current.version);
        return Err(Error::internal(text));
    }
    let old = version(&store, namespace, id, request.job_version)?;
    let now = ids::now();
    let job = Job { stable: false, version_tag: None, submit_time: now, stop: false, ..Job::clone(&old) };
    // Node pools, namespaces and rules may have changed since.
    let context = admission_context(server, &store);
    let admitted = admission::admit(job, &context, Some(&current)).map_err(|e| Error::internal(e.to_string()))?;
    let job = admitted.job;
    let put = Put {
        eval: (!job.launches_others()).then(|| Evaluation::pending(&job, EvalTrigger::JobRegister, now, ids::uuid())),
        submission: store.submission(namespace, id, request.job_version).map(|s| JobSubmission::clone(s)),
        enforce_index: Some(current.job_modify_index),
        job,
        now,
    };
    let answer = put_job(server, put, Some(&current)).await?;
    Ok(JobRegisterResponse { warnings: admitted.warnings, ..answer })
}

/// Sets the stability of a version. Returns the index.
///
/// # Errors
/// The job or the version does not exist.
pub async fn set_stable(server: &Leading, namespace: &str, request: &JobStabilityRequest) -> Result<u64, Error> {
    server.wait_ready().await?;
    let id = &request.job_id;
    version(&server.snapshot(), namespace, id, request.job_version)?;
    let op = Operation::JobStability {
        job: JobKey::new(namespace, id),
        version: request.job_version,
        stable: request.stable,
    };
    Ok(server.commit(op).await?.0)
}

/// Adds a tag to a version of a job.
///
/// # Errors
/// Texts of `docs/spec/http-api.md §5.3`.
pub async fn tag(
    server: &Leading,
    namespace: &str,
    id: &str,
    name: &str,
    request: &TagVersionRequest,
) -> Result<JobTagResponse, Error> {
    if request.latest && request.version != 0 {
        let text = format!("version must be zero when tagging latest, got: {}", request.version);
        return Err(Error::internal(text));
    }
    server.wait_ready().await?;
    let mut version = request.version;
    if request.latest {
        let current = server.snapshot().state().job(namespace, id).map(|j| j.version);
        version = current.ok_or_else(|| Error::internal("job not found"))?;
    }
    let tag = JobVersionTag { name: name.into(), description: request.description.clone(), tagged_time: ids::now() };
    let op = Operation::JobVersionTag {
        job: JobKey::new(namespace, id),
        name: name.into(),
        tag: Some((version, tag.clone())),
    };
    let (index, _) = server.commit(op).await?;
    let JobVersionTag { name, description, tagged_time } = tag;
    Ok(JobTagResponse { name, description, tagged_time, index, ..Default::default() })
}

/// Removes a tag.
///
/// # Errors
/// No version has the tag.
pub async fn untag(server: &Leading, namespace: &str, id: &str, name: &str) -> Result<JobTagResponse, Error> {
    let op = Operation::JobVersionTag { job: JobKey::new(namespace, id), name: name.into(), tag: None };
    let (index, _) = server.commit(op).await?;
    Ok(JobTagResponse { index, ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_allocations_without_a_replacement_are_forced() {
        let policy = |attempts| ReschedulePolicy { attempts, ..Default::default() };
        let job = |attempts| {
            let group = TaskGroup { name: "g".into(), reschedule_policy: Some(policy(attempts)), ..Default::default() };
            Arc::new(Job { namespace: "n".into(), id: "j".into(), task_groups: vec![group], ..Default::default() })
        };
        let mut store = StateStore::new();
        let alloc = |id: &str, change: &dyn Fn(&mut Allocation)| {
            let mut a = Allocation {
                id: id.into(),
                namespace: "n".into(),
                job_id: "j".into(),
                task_group: "g".into(),
                client_status: ClientStatus::Failed,
                job: Some(job(1)),
                ..Default::default()
            };
            change(&mut a);
            Arc::new(a)
        };
        store.put_allocs(vec![
            alloc("failed", &|_| {}),
            alloc("replaced", &|a| a.next_allocation = "x".into()),
            alloc("running", &|a| a.client_status = ClientStatus::Running),
            alloc("lost", &|a| a.client_status = ClientStatus::Lost),
            alloc("forced", &|a| a.desired_transition.force_reschedule = Some(true)),
            alloc("never", &|a| a.job = Some(job(0))),
        ]);
        let found = to_force(&store, &job(1));
        assert_eq!(found.keys().map(String::as_str).collect::<Vec<_>>(), ["failed"]);
        assert_eq!(found["failed"].force_reschedule, Some(true));
    }
}
