//! Failures and evaluations of deployments: rules shared by the deployment watcher and by operator requests
//! (`docs/spec/server.md §13.6`, `§13.7`).

use std::sync::Arc;

use encamp_jobspec::admission::spec_changed;
use encamp_model::{Deployment, DeploymentStatus, DeploymentStatusUpdate, EvalTrigger, Evaluation, Job, Text};

/// The description of a running deployment.
pub const RUNNING: &str = "Deployment is running";
/// The description of a paused deployment.
pub(crate) const PAUSED: &str = "Deployment is paused";

/// The reason for the failure of a deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Nodes reported unhealthy allocations.
    UnhealthyAllocations,
    /// An operator marked allocations as unhealthy.
    CalledUnhealthy,
    /// A group exceeded its progress deadline.
    ProgressDeadline,
    /// An operator failed the deployment.
    Operator,
}

impl Cause {
    /// The text that the description begins with.
    pub fn text(self) -> &'static str {
        match self {
            Cause::UnhealthyAllocations | Cause::CalledUnhealthy => "Failed due to unhealthy allocations",
            Cause::ProgressDeadline => "Failed due to progress deadline",
            Cause::Operator => "Deployment marked as failed",
        }
    }
}

/// The writes for a failed deployment.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The deployment's new status, `failed`, with its description.
    pub update: DeploymentStatusUpdate,
    /// The job to register as a new version in the same entry, if the job is rolled back.
    pub rollback: Option<Arc<Job>>,
    /// The version that the job is rolled back to.
    pub reverted_version: Option<u64>,
}

/// Decides on the failure of a deployment (`docs/spec/server.md §13.6`). `job` is the deployed job; `versions` are all
/// its stored versions; `roll_back` says whether an affected group has `auto_revert` set.
pub fn failure<'a>(
    deployment_id: &str,
    cause: Cause,
    roll_back: bool,
    job: &Job,
    versions: impl IntoIterator<Item = &'a Arc<Job>>,
) -> Failure {
    let mut description = cause.text().to_string();
    let mut rollback = None;
    if roll_back {
        match versions.into_iter().filter(|v| v.stable).max_by_key(|v| v.version) {
            Some(stable) if differs(job, stable) => {
                description.push_str(&format!(" - rolling back to job version {}", stable.version));
                // The new version counts as stable immediately; the tag stays with the old version.
                rollback = Some(Arc::new(Job { version_tag: None, ..Job::clone(stable) }));
            }
            Some(stable) => description.push_str(&format!(
                " - not rolling back to stable job version {} as current job has same specification",
                stable.version
            )),
            None if cause == Cause::CalledUnhealthy => {}
            None => description.push_str(" - no stable job version to auto revert to"),
        }
    }
    let update = DeploymentStatusUpdate {
        deployment_id: deployment_id.into(),
        status: DeploymentStatus::Failed,
        status_description: description,
    };
    let reverted_version = rollback.as_ref().map(|j| j.version);
    Failure { update, rollback, reverted_version }
}

/// Whether two versions have different specifications; tags are ignored.
fn differs(job: &Job, other: &Job) -> bool {
    let other = Job { version_tag: job.version_tag.clone(), ..other.clone() };
    spec_changed(job, &other)
}

/// Whether any group of a deployment has `auto_revert` set.
pub(crate) fn any_auto_revert(deployment: &Deployment) -> bool {
    deployment.task_groups.values().flatten().any(|g| g.auto_revert)
}

/// The evaluation after a change of a deployment, with the priority of the deployment, or of the job if it has none.
/// `now` is in Unix nanoseconds.
pub fn evaluation(deployment: &Deployment, job: &Job, now: i64, id: String) -> Evaluation {
    Evaluation {
        priority: if deployment.eval_priority > 0 { deployment.eval_priority } else { job.priority },
        deployment_id: Text::from(&deployment.id),
        ..Evaluation::pending(job, EvalTrigger::DeploymentWatcher, now, id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{DeploymentState, JobType, JobVersionTag};

    fn version(version: u64, priority: i64, stable: bool) -> Arc<Job> {
        let tag = stable.then(|| JobVersionTag { name: "good".into(), ..Default::default() });
        Arc::new(Job { id: "web".into(), version, priority, stable, version_tag: tag, ..Job::default() })
    }

    #[test]
    fn descriptions_and_rollbacks() {
        let (v0, v1, v2) = (version(0, 10, true), version(1, 20, true), version(2, 30, false));
        let same = version(3, 20, false);
        let fail = |cause, back, job: &Job, versions: &[&Arc<Job>]| {
            let f = failure("d", cause, back, job, versions.iter().copied());
            assert_eq!((f.update.deployment_id.as_str(), &f.update.status), ("d", &DeploymentStatus::Failed));
            assert_eq!(f.rollback.as_ref().map(|j| j.version), f.reverted_version);
            (f.update.status_description, f.rollback)
        };
        let (text, back) = fail(Cause::UnhealthyAllocations, true, &v2, &[&v0, &v1, &v2]);
        assert_eq!(text, "Failed due to unhealthy allocations - rolling back to job version 1");
        let back = back.unwrap();
        assert!(back.stable && back.version_tag.is_none() && back.priority == 20, "{back:?}");
        let (text, back) = fail(Cause::ProgressDeadline, true, &same, &[&v0, &v1, &same]);
        let why = "not rolling back to stable job version 1 as current job has same specification";
        assert_eq!((text, back), (format!("Failed due to progress deadline - {why}"), None));
        let (text, back) = fail(Cause::Operator, true, &v2, &[&v2]);
        assert_eq!(text, "Deployment marked as failed - no stable job version to auto revert to");
        assert_eq!(back, None);
        assert_eq!(fail(Cause::CalledUnhealthy, true, &v2, &[&v2]).0, "Failed due to unhealthy allocations");
        assert_eq!(fail(Cause::Operator, false, &v2, &[&v0, &v2]).0, "Deployment marked as failed");
    }

    #[test]
    fn evaluations_name_the_deployment() {
        let group = |auto_revert| Some(DeploymentState { auto_revert, ..Default::default() });
        let mut d = Deployment { id: "d".into(), namespace: "n".into(), job_id: "web".into(), ..Default::default() };
        d.task_groups = [("a".to_string(), group(false)), ("b".to_string(), None)].into();
        assert!(!any_auto_revert(&d));
        d.task_groups.insert("c".into(), group(true));
        assert!(any_auto_revert(&d));
        let job = Job { priority: 40, r#type: JobType::Service, ..Job::default() };
        let e = evaluation(&d, &job, 7, "e".into());
        let e = (e.priority, e.deployment_id.as_str(), &e.r#type, e.create_time);
        assert_eq!(e, (40, "d", &JobType::Service, 7));
        d.eval_priority = 60;
        assert_eq!(evaluation(&d, &job, 7, "e".into()).priority, 60);
    }
}
