//! Requirements on a submission besides the job's own validity: the request, and the stored version of the job
//! (`docs/spec/jobspec.md §16.2`, `docs/spec/http-api.md §5.3`).

use serde_json::Value;
use thiserror::Error;

use encamp_model::{Job, JobType, api};

use encamp_model::random::Random;

/// How a job is submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// Registration; under a job's path with that job's id.
    Register {
        /// The id in the path.
        path_id: Option<&'a str>,
        /// Priority of the evaluation; 0 is the job's.
        eval_priority: i64,
    },
    /// Dry run, under the path of the job with this id.
    Plan {
        /// The id in the path.
        path_id: &'a str,
    },
}

/// Why a request is refused before its job is evaluated. Displays as the text of the 400 answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum InvalidRequest {
    /// The request has no job.
    #[error("Job must be specified")]
    NoJob,
    /// The job to register has no ID.
    #[error("Job ID hasn't been provided")]
    NoId,
    /// The job to plan has no ID.
    #[error("Job must have a valid ID")]
    NoPlannedId,
    /// The job to register has another ID than the path says.
    #[error("Job ID does not match name")]
    OtherId,
    /// The job to plan has another ID than the path says.
    #[error("Job ID does not match")]
    OtherPlannedId,
    /// A group of a system job has a scaling block.
    #[error("Task groups with job type system do not support scaling blocks")]
    SystemScaling,
    /// The priority of the evaluation is out of range.
    #[error("Eval priority must be between 1 and 100 inclusively")]
    EvalPriority,
}

/// Checks a request before anything else happens.
///
/// # Errors
/// The request is refused.
pub fn check_request(job: Option<&api::Job>, entry: Entry) -> Result<(), InvalidRequest> {
    let job = job.ok_or(InvalidRequest::NoJob)?;
    match (entry, &job.id) {
        (Entry::Register { .. }, None) => Err(InvalidRequest::NoId),
        (Entry::Plan { .. }, None) => Err(InvalidRequest::NoPlannedId),
        (Entry::Plan { path_id }, Some(id)) if id != path_id => Err(InvalidRequest::OtherPlannedId),
        (Entry::Register { path_id: Some(path_id), .. }, Some(id)) if id != path_id => Err(InvalidRequest::OtherId),
        (Entry::Register { .. }, Some(_))
            if job.r#type.as_deref().map(JobType::from) == Some(JobType::System)
                && job.task_groups.iter().flatten().any(|g| g.scaling.is_some()) =>
        {
            Err(InvalidRequest::SystemScaling)
        }
        (Entry::Register { eval_priority, .. }, Some(_))
            if eval_priority != 0 && !(1..=100).contains(&eval_priority) =>
        {
            Err(InvalidRequest::EvalPriority)
        }
        _ => Ok(()),
    }
}

/// The stored job is not the version that the client saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ModifyIndexConflict {
    /// The job was not to exist.
    #[error("Enforcing job modify index 0: job already exists")]
    Exists,
    /// The job was written since.
    #[error("Enforcing job modify index {wanted}: job exists with conflicting job modify index: {stored}")]
    Changed {
        /// The index that the client saw.
        wanted: u64,
        /// The index of the stored job.
        stored: u64,
    },
    /// There is no such job.
    #[error("Enforcing job modify index {wanted}: job does not exist")]
    Missing {
        /// The index that the client saw.
        wanted: u64,
    },
}

/// Checks that the stored job is the version the client saw: `wanted` is its modify index, 0 for "no such job".
///
/// # Errors
/// The stored job is another version.
pub fn check_modify_index(wanted: u64, existing: Option<&Job>) -> Result<(), ModifyIndexConflict> {
    match existing.map(|old| old.job_modify_index) {
        Some(_) if wanted == 0 => Err(ModifyIndexConflict::Exists),
        Some(stored) if stored != wanted => Err(ModifyIndexConflict::Changed { wanted, stored }),
        None if wanted > 0 => Err(ModifyIndexConflict::Missing { wanted }),
        _ => Ok(()),
    }
}

/// Why the stored job may not become the new one.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UpdateRefused {
    /// A new job claims to be dispatched.
    #[error("job can't be submitted with 'Dispatched' set")]
    NewDispatched,
    /// The type changes.
    #[error("cannot update job from type {old:?} to {new:?}")]
    Type {
        /// The type of the stored job.
        old: JobType,
        /// The type of the new job.
        new: JobType,
    },
    /// A periodic or parameterized job becomes a plain one.
    #[error("cannot update {kind} job to being non-{kind}")]
    Plain {
        /// `periodic` or `parameterized`.
        kind: &'static str,
    },
    /// A plain job becomes periodic or parameterized.
    #[error("cannot update non-{kind} job to being {kind}")]
    Launched {
        /// `periodic` or `parameterized`.
        kind: &'static str,
    },
    /// `Dispatched` changes.
    #[error("field 'Dispatched' is read-only")]
    Dispatched,
}

/// Checks whether the stored job may become the new one. Registration checks this, plan does not.
///
/// # Errors
/// The update is refused.
pub fn check_update(existing: Option<&Job>, new: &Job) -> Result<(), UpdateRefused> {
    let Some(old) = existing else {
        return if new.dispatched { Err(UpdateRefused::NewDispatched) } else { Ok(()) };
    };
    if old.r#type != new.r#type {
        return Err(UpdateRefused::Type { old: old.r#type.clone(), new: new.r#type.clone() });
    }
    for (kind, was, is) in [
        ("periodic", is_periodic(old), is_periodic(new)),
        ("parameterized", old.is_parameterized(), new.is_parameterized()),
    ] {
        match (was, is) {
            (true, false) => return Err(UpdateRefused::Plain { kind }),
            (false, true) => return Err(UpdateRefused::Launched { kind }),
            _ => {}
        }
    }
    if old.dispatched != new.dispatched {
        return Err(UpdateRefused::Dispatched);
    }
    Ok(())
}

fn is_periodic(job: &Job) -> bool {
    job.periodic.is_some()
}

/// Gives every group's scaling policy the id that the policy of the same type and group has in `existing`, else a fresh
/// one drawn from `seed`. Policies of tasks have no ids.
pub fn copy_scaling_ids(existing: Option<&Job>, new: &mut Job, seed: u64) {
    let mut random = Random::new(seed, "scaling policy");
    for group in &mut new.task_groups {
        let Some(policy) = &mut group.scaling else { continue };
        let stored = existing
            .and_then(|old| old.lookup_group(&group.name))
            .and_then(|old| old.scaling.as_ref())
            .filter(|old| old.r#type == policy.r#type && !old.id.is_empty());
        policy.id = stored.map_or_else(|| random.uuid(), |old| old.id.clone());
    }
}

/// Whether the new job differs from the stored one in anything but bookkeeping: status, stability, version, indexes and
/// submit time do not count. An unchanged job gets no new version, only an evaluation.
pub fn spec_changed(old: &Job, new: &Job) -> bool {
    let comparable = Job {
        status: old.status.clone(),
        status_description: old.status_description.clone(),
        stable: old.stable,
        version: old.version,
        create_index: old.create_index,
        modify_index: old.modify_index,
        job_modify_index: old.job_modify_index,
        submit_time: old.submit_time,
        ..new.clone()
    };
    *old != comparable && !same_json(&serde_json::to_value(old), &serde_json::to_value(&comparable))
}

/// Equality of two jobs as JSON. Free-form numbers compare by value: tools that rewrite JSON turn `8080.0` into `8080`.
fn same_json(a: &serde_json::Result<Value>, b: &serde_json::Result<Value>) -> bool {
    matches!((a, b), (Ok(a), Ok(b)) if same_value(a, b))
}

fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() != y.is_f64() => x.as_f64() == y.as_f64(),
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_value(x, y)),
        (Value::Object(x), Value::Object(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|((k, x), (l, y))| k == l && same_value(x, y))
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{
        JobStatus, ParameterizedJobConfig, PeriodicConfig, ScalingPolicy, ScalingPolicyType, Task, TaskGroup,
    };

    #[test]
    fn a_job_keeps_its_type_and_its_way_of_launching() {
        let plain = Job { r#type: JobType::Batch, ..Job::default() };
        let periodic = Job { periodic: Some(PeriodicConfig::default()), ..plain.clone() };
        let parameterized = Job { parameterized_job: Some(ParameterizedJobConfig::default()), ..plain.clone() };
        let service = Job { r#type: JobType::Service, ..Job::default() };
        let dispatched = Job { dispatched: true, ..plain.clone() };
        for (old, new, want) in [
            (Some(&plain), &plain, None),
            (Some(&plain), &service, Some("cannot update job from type \"batch\" to \"service\"")),
            (Some(&plain), &periodic, Some("cannot update non-periodic job to being periodic")),
            (Some(&periodic), &plain, Some("cannot update periodic job to being non-periodic")),
            (Some(&plain), &parameterized, Some("cannot update non-parameterized job to being parameterized")),
            (Some(&parameterized), &plain, Some("cannot update parameterized job to being non-parameterized")),
            (Some(&plain), &dispatched, Some("field 'Dispatched' is read-only")),
            (None, &dispatched, Some("job can't be submitted with 'Dispatched' set")),
            (None, &parameterized, None),
        ] {
            assert_eq!(check_update(old, new).err().map(|e| e.to_string()).as_deref(), want);
        }
    }

    #[test]
    fn modify_indexes_are_enforced() {
        let stored = Job { job_modify_index: 34, ..Job::default() };
        assert_eq!(check_modify_index(34, Some(&stored)), Ok(()));
        assert_eq!(check_modify_index(0, None), Ok(()));
        for (wanted, existing, want) in [
            (0, Some(&stored), "0: job already exists"),
            (7, None, "7: job does not exist"),
            (3, Some(&stored), "3: job exists with conflicting job modify index: 34"),
        ] {
            let error = check_modify_index(wanted, existing).unwrap_err().to_string();
            assert_eq!(error, format!("Enforcing job modify index {want}"));
        }
    }

    #[test]
    fn requests_name_the_job_they_carry() {
        let job = api::Job { id: Some("a".into()), ..api::Job::default() };
        let register = |path_id, eval_priority| check_request(Some(&job), Entry::Register { path_id, eval_priority });
        assert_eq!(register(Some("a"), 0), Ok(()));
        assert_eq!(register(Some("b"), 0).unwrap_err().to_string(), "Job ID does not match name");
        assert_eq!(register(None, 101).unwrap_err().to_string(), "Eval priority must be between 1 and 100 inclusively");
        let plan = Entry::Plan { path_id: "b" };
        assert_eq!(check_request(Some(&job), plan).unwrap_err().to_string(), "Job ID does not match");
        assert_eq!(
            check_request(Some(&api::Job::default()), plan).unwrap_err().to_string(),
            "Job must have a valid ID"
        );
        assert_eq!(check_request(None, plan).unwrap_err().to_string(), "Job must be specified");
    }

    #[test]
    fn scaling_policies_keep_their_ids() {
        let with_policy = |group: &str, id: &str| {
            let r#type = ScalingPolicyType::Horizontal;
            let policy = ScalingPolicy { id: id.into(), r#type, ..ScalingPolicy::default() };
            let group = TaskGroup { name: group.into(), scaling: Some(policy), ..TaskGroup::default() };
            Job { task_groups: vec![group], ..Job::default() }
        };
        let id_after = |old: Option<&Job>, group: &str| {
            let mut new = with_policy(group, "");
            copy_scaling_ids(old, &mut new, 1);
            new.task_groups.remove(0).scaling.unwrap().id
        };
        let old = with_policy("web", "kept");
        assert_eq!(id_after(Some(&old), "web"), "kept");
        let fresh = id_after(None, "web");
        assert_eq!(fresh.len(), 36);
        assert_eq!(id_after(Some(&old), "api"), fresh, "same seed, same id");
    }

    #[test]
    fn bookkeeping_does_not_change_the_spec() {
        let old = Job { version: 3, stable: true, status: JobStatus::Running, submit_time: 9, ..Job::default() };
        assert!(!spec_changed(&old, &Job::default()));
        assert!(spec_changed(&old, &Job { priority: 1, ..old.clone() }));
        let with_config = |port: Value| {
            let task = Task { config: [("port".to_string(), port)].into(), ..Task::default() };
            Job { task_groups: vec![TaskGroup { tasks: vec![task], ..TaskGroup::default() }], ..Job::default() }
        };
        let stored = with_config(Value::from(8080));
        assert!(!spec_changed(&stored, &with_config(Value::from(8080.0))));
        assert!(spec_changed(&stored, &with_config(Value::from(8080.5))));
    }
}
