//! What became of an allocation that a run stopped, from the allocation and its replacements.

use encamp_model::{Allocation, ClientStatus, DesiredStatus, JobType};

use super::super::steps::NodeRef;
use super::Replacement;

/// The longest chain of replacements that is followed: each replacement that fails has another one.
pub const LONGEST_CHAIN: usize = 100;

/// What became of an allocation: `chain` holds the allocation and, in order, each replacement of the one before it. An
/// empty chain: there is no such allocation any more. `job_runs`: the job is registered and not stopped.
pub fn replacement(chain: &[Allocation], job_runs: bool) -> Replacement {
    match chain {
        [] => Replacement::Gone,
        [stopped] if !was_stopped(stopped) => Replacement::NotStopped,
        [_] => awaited(job_runs),
        [_, .., last] => state_of(last, job_runs),
    }
}

/// Whether a server was asked to stop an allocation, or it has ended.
fn was_stopped(a: &Allocation) -> bool {
    a.terminal() || a.desired_transition.migrate == Some(true)
}

fn awaited(job_runs: bool) -> Replacement {
    if job_runs { Replacement::Awaited } else { Replacement::Gone }
}

fn state_of(last: &Allocation, job_runs: bool) -> Replacement {
    let node = NodeRef { id: last.node_id.to_string(), name: last.node_name.to_string() };
    let starting = |why: &str| Replacement::Starting { node: node.clone(), why: why.to_string() };
    if !job_runs {
        return Replacement::Gone;
    }
    match &last.client_status {
        // A batch allocation may end before it is read.
        ClientStatus::Complete if last.desired_status == DesiredStatus::Run => Replacement::Healthy { node },
        ClientStatus::Failed => starting("it failed"),
        ClientStatus::Lost => starting("it is lost"),
        ClientStatus::Unknown => starting("its node is disconnected"),
        // Stopped, such as by an update of the job: the next one is placed.
        _ if last.desired_status != DesiredStatus::Run => Replacement::Awaited,
        ClientStatus::Running => match (last.health(), reports_health(last)) {
            (Some(true), _) | (None, false) => Replacement::Healthy { node },
            (Some(false), _) => starting("it is unhealthy"),
            (None, true) => starting("it runs, and is not healthy yet"),
        },
        ClientStatus::Pending | ClientStatus::Unset | ClientStatus::Complete | ClientStatus::Other(_) => {
            starting("it is not running yet")
        }
    }
}

/// Whether a node reports the health of an allocation, by the rules of its deployment or of its migration.
fn reports_health(a: &Allocation) -> bool {
    let Some(job) = &a.job else { return false };
    let by_hand = || {
        let update = a.group().and_then(|g| g.update.as_ref());
        !a.deployment_id.is_empty() && update.is_none_or(|u| u.is_empty() || u.health_check == "manual")
    };
    matches!(job.r#type, JobType::Service | JobType::System) && !by_hand()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use std::sync::Arc;

    use super::*;

    fn alloc(id: &str, job_type: &str, more: Value) -> Allocation {
        let groups = json!([{"Name": "g", "Update": {"MaxParallel": 1, "HealthCheck": "checks"}}]);
        let job = json!({"ID": "j", "Type": job_type, "TaskGroups": groups});
        let mut value = json!({"ID": id, "JobID": "j", "TaskGroup": "g", "NodeID": "n", "NodeName": "name",
            "DesiredStatus": "run", "ClientStatus": "running"});
        for (name, member) in more.as_object().into_iter().flatten() {
            value[name] = member.clone();
        }
        let alloc: Allocation = serde_json::from_value(value).expect("an allocation");
        Allocation { job: Some(Arc::new(serde_json::from_value(job).expect("a job"))), ..alloc }
    }

    #[test]
    fn the_last_of_the_chain_decides() {
        let old = |more: Value| alloc("1", "service", more);
        let stopped = || old(json!({"DesiredStatus": "stop", "NextAllocation": "2"}));
        let of = |chain: &[Allocation]| replacement(chain, true);
        assert_eq!(of(&[]), Replacement::Gone);
        assert_eq!(of(&[old(json!({}))]), Replacement::NotStopped);
        assert_eq!(of(&[old(json!({"DesiredTransition": {"Migrate": true}}))]), Replacement::Awaited);
        assert_eq!(replacement(&[stopped()], false), Replacement::Gone);
        let node = NodeRef { id: "n".into(), name: "name".into() };
        let healthy = Replacement::Healthy { node: node.clone() };
        let starting = |why: &str| Replacement::Starting { node: node.clone(), why: why.into() };
        for (job_type, more, want) in [
            ("service", json!({"ClientStatus": "pending"}), starting("it is not running yet")),
            ("service", json!({}), starting("it runs, and is not healthy yet")),
            ("service", json!({"DeploymentStatus": {"Healthy": true}}), healthy.clone()),
            ("service", json!({"DeploymentStatus": {"Healthy": false}}), starting("it is unhealthy")),
            ("service", json!({"ClientStatus": "failed"}), starting("it failed")),
            ("service", json!({"DesiredStatus": "stop"}), Replacement::Awaited),
            ("batch", json!({}), healthy.clone()),
            ("batch", json!({"ClientStatus": "complete"}), healthy.clone()),
        ] {
            let new = alloc("2", job_type, more.clone());
            assert_eq!(of(&[stopped(), new.clone()]), want, "{job_type} {more}");
            // A failed replacement in between changes nothing.
            let failed = alloc("x", job_type, json!({"ClientStatus": "failed", "NextAllocation": "2"}));
            assert_eq!(of(&[stopped(), failed, new.clone()]), want, "{job_type} {more}");
            assert_eq!(replacement(&[stopped(), new], false), Replacement::Gone);
        }
    }

    #[test]
    fn health_that_people_set_is_not_waited_for() {
        let mut new = alloc("2", "service", json!({"DeploymentID": "d"}));
        assert!(reports_health(&new));
        let mut job = encamp_model::Job::clone(new.job.as_ref().expect("a job"));
        job.task_groups[0].update.as_mut().expect("an update block").health_check = "manual".into();
        new.job = Some(Arc::new(job));
        assert!(!reports_health(&new));
        new.deployment_id = "".into();
        assert!(reports_health(&new), "a migration has the rules of its own block");
    }
}
