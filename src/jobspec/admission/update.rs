//! A job against the stored version of itself (`spec/jobspec.md §16.2`).

use crate::model::Job;

use super::mutate::random::Random;

/// Whether the stored job may become the new one; the text of the refusal. Registration checks this, plan does not.
pub fn check_update(existing: Option<&Job>, new: &Job) -> Result<(), String> {
    let Some(old) = existing else {
        return if new.dispatched { Err("job can't be submitted with 'Dispatched' set".into()) } else { Ok(()) };
    };
    if old.r#type != new.r#type {
        return Err(format!("cannot update job from type {:?} to {:?}", old.r#type, new.r#type));
    }
    for (kind, was, is) in [
        ("periodic", is_periodic(old), is_periodic(new)),
        ("parameterized", old.is_parameterized(), new.is_parameterized()),
    ] {
        match (was, is) {
            (true, false) => return Err(format!("cannot update {kind} job to being non-{kind}")),
            (false, true) => return Err(format!("cannot update non-{kind} job to being {kind}")),
            _ => {}
        }
    }
    if old.dispatched != new.dispatched {
        return Err("field 'Dispatched' is read-only".into());
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
