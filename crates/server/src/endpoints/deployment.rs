//! Pausing, promoting and failing deployments, and setting the health of their allocations
//! (`docs/spec/server.md §13.7`).

use std::sync::Arc;

use crate::error::Error;
use crate::jobs::rollout::{self, Cause, Failure};
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::responses::*;
use encamp_model::*;
use encamp_ops::{DeploymentAllocHealth, DeploymentPromotion, DeploymentStatusChange, Operation};
use encamp_state::StateStore;

/// An active deployment, and its job.
struct Target {
    deployment: Arc<Deployment>,
    job: Arc<Job>,
}

/// Finds an active deployment; `terminal` is the error text for a terminal one.
fn target(store: &StateStore, id: &str, terminal: &str) -> Result<Target, Error> {
    if id.is_empty() {
        return Err(Error::internal("missing deployment ID"));
    }
    let missing = || Error::internal("deployment not found");
    let deployment = store.state().deployment(id).cloned().ok_or_else(missing)?;
    if !deployment.active() {
        return Err(Error::internal(terminal));
    }
    let job = store.state().job(&deployment.namespace, &deployment.job_id).cloned();
    let job = job.ok_or_else(|| Error::internal(format!("unknown deployment {}", quoted(id))))?;
    Ok(Target { deployment, job })
}

fn answer(eval_id: String, index: u64) -> DeploymentUpdateResponse {
    let eval_create_index = if eval_id.is_empty() { 0 } else { index };
    DeploymentUpdateResponse { eval_id, eval_create_index, deployment_modify_index: index, index, ..Default::default() }
}

/// Pauses or resumes a deployment.
///
/// # Errors
/// The deployment does not exist, or is terminal.
pub async fn pause(server: &Leading, id: &str, pause: bool) -> Result<DeploymentUpdateResponse, Error> {
    server.wait_ready().await?;
    let verb = if pause { "pause" } else { "resume" };
    let t = target(&server.snapshot(), id, &format!("can't {verb} terminal deployment"))?;
    let now = ids::now();
    let (status, text) =
        if pause { (DeploymentStatus::Paused, rollout::PAUSED) } else { (DeploymentStatus::Running, rollout::RUNNING) };
    let update = DeploymentStatusUpdate { deployment_id: id.into(), status, status_description: text.into() };
    let eval = (!pause).then(|| rollout::evaluation(&t.deployment, &t.job, now, ids::uuid()));
    let eval_id = eval.as_ref().map(|e| e.id.to_string()).unwrap_or_default();
    let op = DeploymentStatusChange { update, job: None, eval, now };
    let (index, _) = server.commit(Operation::DeploymentStatus(Box::new(op))).await?;
    Ok(answer(eval_id, index))
}

/// The writes for a failed deployment; `roll_back`: an affected group has `auto_revert` set.
fn failure(store: &StateStore, t: &Target, cause: Cause, roll_back: bool) -> Failure {
    let entry = store.state().job_entry(&t.job.namespace, &t.job.id);
    let versions = entry.into_iter().flat_map(|e| e.versions.values());
    rollout::failure(&t.deployment.id, cause, roll_back, &t.job, versions)
}

/// Fails a deployment; the job is rolled back if any group has `auto_revert` set.
///
/// # Errors
/// The deployment does not exist, or is terminal.
pub async fn fail(server: &Leading, id: &str) -> Result<DeploymentUpdateResponse, Error> {
    server.wait_ready().await?;
    let store = server.snapshot();
    let t = target(&store, id, "can't fail terminal deployment")?;
    let now = ids::now();
    let f = failure(&store, &t, Cause::Operator, rollout::any_auto_revert(&t.deployment));
    let eval = rollout::evaluation(&t.deployment, &t.job, now, ids::uuid());
    let eval_id = eval.id.to_string();
    let op = DeploymentStatusChange { update: f.update, job: f.rollback, eval: Some(eval), now };
    let (index, _) = server.commit(Operation::DeploymentStatus(Box::new(op))).await?;
    Ok(DeploymentUpdateResponse { reverted_job_version: f.reverted_version, ..answer(eval_id, index) })
}

/// Promotes the canaries of some groups, or of all groups (`None`).
///
/// # Errors
/// The deployment does not exist or is terminal, or canaries are not healthy.
pub async fn promote(
    server: &Leading,
    id: &str,
    groups: Option<Vec<String>>,
) -> Result<DeploymentUpdateResponse, Error> {
    server.wait_ready().await?;
    let t = target(&server.snapshot(), id, "can't promote terminal deployment")?;
    let now = ids::now();
    let eval = rollout::evaluation(&t.deployment, &t.job, now, ids::uuid());
    let eval_id = eval.id.to_string();
    let op = DeploymentPromotion { id: id.into(), groups, eval: Some(eval), now };
    let (index, _) = server.commit(Operation::DeploymentPromotion(Box::new(op))).await?;
    Ok(answer(eval_id, index))
}

/// Unblocks a multi-region deployment. These are not supported, so this does nothing.
///
/// # Errors
/// The deployment does not exist, or is terminal.
pub async fn unblock(server: &Leading, id: &str) -> Result<DeploymentUpdateResponse, Error> {
    server.wait_ready().await?;
    target(&server.snapshot(), id, "can't unblock terminal deployment")?;
    Ok(DeploymentUpdateResponse::default())
}

/// Sets the health of allocations. Unhealthy allocations fail the deployment.
///
/// # Errors
/// See `docs/spec/server.md §13.7`.
pub async fn set_health(
    server: &Leading,
    id: &str,
    healthy: Vec<String>,
    unhealthy: Vec<String>,
) -> Result<DeploymentUpdateResponse, Error> {
    if healthy.is_empty() && unhealthy.is_empty() {
        return Err(Error::internal("must specify at least one healthy/unhealthy allocation ID"));
    }
    server.wait_ready().await?;
    let store = server.snapshot();
    let t = target(&store, id, "can't set health of allocations for a terminal deployment")?;
    let now = ids::now();
    let failed = (!unhealthy.is_empty()).then(|| {
        let group_of = |a: &String| store.state().alloc(a).map(|e| e.alloc.task_group.to_string());
        let reverts =
            |g: &String| t.deployment.task_groups.get(g).and_then(Option::as_ref).is_some_and(|s| s.auto_revert);
        let roll_back = unhealthy.iter().filter_map(group_of).any(|g| reverts(&g));
        failure(&store, &t, Cause::CalledUnhealthy, roll_back)
    });
    let eval = rollout::evaluation(&t.deployment, &t.job, now, ids::uuid());
    let eval_id = eval.id.to_string();
    let reverted_job_version = failed.as_ref().and_then(|f| f.reverted_version);
    let (update, job) = failed.map_or((None, None), |f| (Some(f.update), f.rollback));
    let op = DeploymentAllocHealth { id: id.into(), healthy, unhealthy, update, job, eval: Some(eval), now };
    let (index, _) = server.commit(Operation::DeploymentAllocHealth(Box::new(op))).await?;
    Ok(DeploymentUpdateResponse { reverted_job_version, ..answer(eval_id, index) })
}
