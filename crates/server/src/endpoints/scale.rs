//! Scaling of task groups (`docs/spec/server.md §16`).

use super::job::{Put, check_accepting, put_job};
use crate::error::{Error, ErrorKind};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_jobspec::admission::check_modify_index;
use encamp_model::requests::*;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::Operation;
use encamp_state::StateStore;

/// Validates a request without the job. Returns the group.
///
/// # Errors
/// 400: the request is invalid.
pub fn check_request<'r>(job_id: &str, request: &'r ScalingRequest) -> Result<&'r str, Error> {
    let target = |key: &str| request.target.get(key).map(String::as_str).filter(|t| !t.is_empty());
    if target("Job").is_some_and(|j| j != job_id) {
        return Err(Error::bad("job ID in payload did not match URL"));
    }
    let group = target("Group").ok_or_else(|| Error::bad("missing task group name for scaling action"))?;
    if request.count.is_some_and(|n| n < 0) {
        return Err(Error::bad("scaling action count can't be negative"));
    }
    if request.count.is_some() && request.error {
        return Err(Error::bad("scaling action should not contain count if error is true"));
    }
    Ok(group)
}

/// Validates a request against the job. Returns the current count of the group. `most`: the maximum number of
/// allocations of a job, 0 for no limit.
fn check(store: &StateStore, job: &Job, group: &str, request: &ScalingRequest, most: i64) -> Result<i64, Error> {
    if job.r#type == JobType::System && request.count.is_some_and(|n| n > 1) {
        return Err(Error::bad("jobs of type \"system\" can only be scaled between 0 and 1"));
    }
    let Some(scaled) = job.lookup_group(group) else {
        let text = format!("task group {} specified for scaling does not exist in job", quoted(group));
        return Err(Error::bad(text));
    };
    let Some(count) = request.count else { return Ok(scaled.count) };
    if let Some(policy) = &scaled.scaling {
        if count < policy.min {
            let text = format!("group count was less than scaling policy minimum: {count} < {}", policy.min);
            return Err(Error::bad(text));
        }
        if count > policy.max {
            let text = format!("group count was greater than scaling policy maximum: {count} > {}", policy.max);
            return Err(Error::bad(text));
        }
    }
    let others = job.task_groups.iter().filter(|g| g.name != group).map(|g| g.count);
    let total = others.fold(count, i64::saturating_add);
    if most > 0 && total > most {
        let text = format!("total count was greater than configured job_max_count: {total} > {most}");
        return Err(Error::bad(text));
    }
    let rollout = store.state().latest_deployment(&job.namespace, &job.id);
    if rollout.is_some_and(|d| d.active() && d.job_create_index == job.create_index) {
        return Err(Error::bad("job scaling blocked due to active deployment"));
    }
    if request.job_modify_index != 0 {
        check_modify_index(request.job_modify_index, Some(job))
            .map_err(|e| Error::new(ErrorKind::ModifyIndex, e.to_string()))?;
    }
    Ok(scaled.count)
}

/// Scales a group, or records a scaling event. `exempt`: the caller may do so even if job registration is disabled.
///
/// # Errors
/// Texts of `docs/spec/server.md §16`.
pub async fn scale(
    server: &Leading,
    namespace: &str,
    id: &str,
    request: ScalingRequest,
    exempt: bool,
) -> Result<JobRegisterResponse, Error> {
    let group = check_request(id, &request)?.to_string();
    if !request.namespace.is_empty() && request.namespace != namespace {
        return Err(Error::bad("namespace in payload did not match header"));
    }
    server.wait_ready().await?;
    let store = server.snapshot();
    check_accepting(&store, exempt)?;
    let job = store.state().job(namespace, id).cloned();
    let job = job.ok_or_else(|| Error::not_found(format!("job {} not found", quoted(id))))?;
    let previous_count = check(&store, &job, &group, &request, server.settings().admission.job_max_count)?;
    let now = ids::now();
    let mut answer = JobRegisterResponse { job_modify_index: job.modify_index, ..Default::default() };
    if let Some(count) = request.count {
        let mut scaled = Job { submit_time: now, ..Job::clone(&job) };
        if let Some(g) = scaled.task_groups.iter_mut().find(|g| g.name == group) {
            g.count = count;
        }
        // Written together with the job: a server that stops in between would leave a job that is never evaluated.
        let eval =
            (!job.launches_others()).then(|| Evaluation::pending(&job, EvalTrigger::JobScaling, now, ids::uuid()));
        let put = Put { job: scaled, eval, submission: None, enforce_index: Some(job.job_modify_index), now };
        answer = put_job(server, put, Some(&job)).await?;
    }
    let event = ScalingEvent {
        time: now,
        count: request.count,
        previous_count,
        message: request.message,
        error: request.error,
        meta: request.meta,
        eval_id: Some(answer.eval_id.clone()).filter(|id| !id.is_empty()),
        create_index: 0,
    };
    let op = Operation::ScalingEvent { job: JobKey::new(namespace, id), group, event };
    answer.index = server.commit(op).await?.0;
    answer.known_leader = true;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn request(count: Option<i64>, group: &str) -> ScalingRequest {
        ScalingRequest { count, target: [("Group".to_string(), group.to_string())].into(), ..Default::default() }
    }

    #[test]
    fn requests_are_checked_first() {
        let text = |r: &ScalingRequest| check_request("j", r).map(String::from).unwrap_or_else(|e| e.message);
        assert_eq!(text(&request(Some(1), "g")), "g");
        assert_eq!(text(&request(None, "")), "missing task group name for scaling action");
        assert_eq!(text(&request(Some(-1), "g")), "scaling action count can't be negative");
        let failed = ScalingRequest { error: true, ..request(Some(1), "g") };
        assert_eq!(text(&failed), "scaling action should not contain count if error is true");
        let mut other = request(Some(1), "g");
        other.target.insert("Job".into(), "x".into());
        assert_eq!(text(&other), "job ID in payload did not match URL");
    }

    #[test]
    fn limits_of_scaling() {
        let mut store = StateStore::new();
        let policy = ScalingPolicy { min: 1, max: 4, ..Default::default() };
        let group = |name: &str, scaling| TaskGroup { name: name.into(), count: 2, scaling, ..Default::default() };
        let job = Job {
            namespace: "n".into(),
            id: "j".into(),
            r#type: JobType::Service,
            create_index: 5,
            job_modify_index: 9,
            task_groups: vec![group("g", Some(policy)), group("h", None)],
            ..Default::default()
        };
        let scaled = |store: &StateStore, job: &Job, group: &str, r: ScalingRequest| {
            check(store, job, group, &r, 10).map_err(|e| (e.status(), e.message))
        };
        let bad = |text: &str| Err((400, text.to_string()));
        assert_eq!(scaled(&store, &job, "g", request(Some(4), "g")), Ok(2));
        let text = "group count was greater than scaling policy maximum: 5 > 4";
        assert_eq!(scaled(&store, &job, "g", request(Some(5), "g")), bad(text));
        let text = "group count was less than scaling policy minimum: 0 < 1";
        assert_eq!(scaled(&store, &job, "g", request(Some(0), "g")), bad(text));
        let text = "total count was greater than configured job_max_count: 11 > 10";
        assert_eq!(scaled(&store, &job, "h", request(Some(9), "h")), bad(text));
        let text = "task group \"x\" specified for scaling does not exist in job";
        assert_eq!(scaled(&store, &job, "x", request(None, "x")), bad(text));
        let system = Job { r#type: JobType::System, ..job.clone() };
        let text = "jobs of type \"system\" can only be scaled between 0 and 1";
        assert_eq!(scaled(&store, &system, "h", request(Some(2), "h")), bad(text));
        assert_eq!(scaled(&store, &system, "h", request(None, "h")), Ok(2));
        let stale = ScalingRequest { job_modify_index: 1, ..request(Some(3), "g") };
        assert_eq!(scaled(&store, &job, "g", stale).unwrap_err().0, 500);
        store.put_deployment(Arc::new(Deployment {
            id: "d".into(),
            namespace: "n".into(),
            job_id: "j".into(),
            job_create_index: 5,
            status: DeploymentStatus::Running,
            ..Default::default()
        }));
        let blocked = "job scaling blocked due to active deployment";
        assert_eq!(scaled(&store, &job, "g", request(Some(3), "g")), bad(blocked));
        assert_eq!(scaled(&store, &job, "g", request(None, "g")), Ok(2), "events are recorded regardless");
    }
}
