//! The progress of a change of a group's count (`docs/spec/cluster-scaling.md §13`).

use std::time::Duration;

use encamp_model::{Deployment, DeploymentStatus};
use encamp_state::State;

use super::decision;
use crate::record::GroupScaling;

/// How long a change may take: until the deployment of the job's new version has succeeded.
pub const LIMIT: Duration = Duration::from_secs(15 * 60);

/// How far a change has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// The count is not set yet.
    NotSet,
    /// The count was not set within [`LIMIT`]: whoever began it stopped. The reasons for it are old by now, so it is
    /// given up.
    Abandoned,
    /// The deployment goes on, or allocations start or stop.
    Waiting,
    /// The deployment succeeded; without one, as many allocations run as wanted.
    Succeeded,
    /// The deployment failed.
    Failed,
    /// The change took longer than [`LIMIT`].
    Late,
    /// Another client has changed or stopped the job meanwhile.
    Superseded,
}

/// The progress of a change according to the state. `now` in Unix nanoseconds.
pub fn progress(state: &State, job: (&str, &str), group: &str, scaling: &GroupScaling, now: i64) -> Progress {
    let Some(job) = state.job(job.0, job.1).filter(|j| j.create_index == scaling.job_create_index && !j.stop) else {
        return Progress::Superseded;
    };
    let Some(count) = job.lookup_group(group).map(|g| g.count) else { return Progress::Superseded };
    let over = is_over(scaling, now);
    if job.version <= scaling.job_version {
        // The same version with another count: the version was recounted.
        return match (count == scaling.from, over) {
            (false, _) => Progress::Superseded,
            (true, false) => Progress::NotSet,
            (true, true) => Progress::Abandoned,
        };
    }
    let of_job = state.deployments_of_job(&job.namespace, &job.id);
    let ours = of_job.iter().filter(|d| {
        d.job_create_index == job.create_index && Some(d.job_version) == scaling.job_version.checked_add(1)
    });
    let waiting = if over { Progress::Late } else { Progress::Waiting };
    if let Some(deployment) = ours.max_by_key(|d| d.create_index) {
        return match rollout(deployment) {
            Rollout::Active => waiting,
            Rollout::Successful => Progress::Succeeded,
            Rollout::Failed => Progress::Failed,
            Rollout::Other => Progress::Superseded,
        };
    }
    if count != scaling.to {
        return Progress::Superseded;
    }
    let wanted = usize::try_from(scaling.to).unwrap_or(0);
    let live = state.allocs_of_job(&job.namespace, &job.id);
    let live = live.iter().filter(|e| e.alloc.task_group == group && !e.phase.terminal()).count();
    let running = decision::running(state, job, group).len();
    if live == wanted && running == wanted { Progress::Succeeded } else { waiting }
}

fn is_over(scaling: &GroupScaling, now: i64) -> bool {
    let limit = i64::try_from(LIMIT.as_nanos()).unwrap_or(i64::MAX);
    scaling.started.unix_nanos().is_none_or(|started| now.saturating_sub(started) >= limit)
}

enum Rollout {
    Active,
    Successful,
    Failed,
    /// Cancelled, as a newer version or a stop took its place.
    Other,
}

fn rollout(deployment: &Deployment) -> Rollout {
    match deployment.status {
        DeploymentStatus::Successful => Rollout::Successful,
        DeploymentStatus::Failed => Rollout::Failed,
        DeploymentStatus::Running
        | DeploymentStatus::Paused
        | DeploymentStatus::Initializing
        | DeploymentStatus::Pending
        | DeploymentStatus::Blocked
        | DeploymentStatus::Unblocking => Rollout::Active,
        DeploymentStatus::Cancelled | DeploymentStatus::Unset | DeploymentStatus::Other(_) => Rollout::Other,
    }
}

#[cfg(test)]
#[path = "progress_tests.rs"]
mod tests;
