//! Typed endpoints that change something (`docs/spec/http-api.md §5.3`, `§5.6`, `§5.7`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use encamp_model::Bytes;
use encamp_model::requests::*;
use encamp_model::responses::*;

type Answer<T> = Result<(T, Meta), ApiError>;

/// How a job is dispatched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dispatch {
    /// Values of the meta keys.
    pub meta: BTreeMap<String, String>,
    /// The payload; empty for none.
    pub payload: Vec<u8>,
    /// Part of the ID of the job that is made; empty for none.
    pub id_prefix_template: String,
    /// The same token gives the same job; empty for none.
    pub idempotency_token: String,
    /// Priority of the job that is made; 0 for that of the parent.
    pub priority: i64,
}

/// How a job is stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deregister {
    /// Forget the job.
    pub purge: bool,
    /// In all regions.
    pub global: bool,
    /// Priority of the evaluation; 0 for the job's.
    pub eval_priority: i64,
    /// Stop tasks at once.
    pub no_shutdown_delay: bool,
}

/// An answer whose content says nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Nothing {}

/// A query in a namespace, or in the client's own.
fn within(namespace: Option<&str>) -> Query {
    Query { namespace: namespace.map(str::to_string), ..Query::default() }
}

impl Client {
    /// Registers a job.
    pub async fn register_job(
        &self,
        namespace: Option<&str>,
        request: &JobRegisterRequest,
    ) -> Answer<JobRegisterResponse> {
        self.put("/v1/jobs", &within(namespace), request).await
    }

    /// Stops a job.
    pub async fn deregister_job(
        &self,
        namespace: Option<&str>,
        id: &str,
        how: Deregister,
    ) -> Answer<JobDeregisterResponse> {
        let query = within(namespace)
            .with("eval_priority", how.eval_priority.to_string())
            .with("global", how.global.to_string())
            .with("no_shutdown_delay", how.no_shutdown_delay.to_string())
            .with("purge", how.purge.to_string());
        self.delete(&path("/v1/job/", id, ""), &query).await
    }

    /// Creates a new evaluation of a job; with `force_reschedule` failed allocations are replaced at once.
    pub async fn evaluate_job(
        &self,
        namespace: Option<&str>,
        id: &str,
        force_reschedule: bool,
    ) -> Answer<JobRegisterResponse> {
        let body = JobEvaluateRequest { job_id: id.into(), eval_options: EvalOptions { force_reschedule } };
        self.put(&path("/v1/job/", id, "/evaluate"), &within(namespace), &body).await
    }

    /// Launches a periodic job now.
    pub async fn force_periodic_job(&self, namespace: Option<&str>, id: &str) -> Answer<PeriodicForceResponse> {
        self.put(&path("/v1/job/", id, "/periodic/force"), &within(namespace), &()).await
    }

    /// Makes a job of a parameterized one.
    pub async fn dispatch_job(
        &self,
        namespace: Option<&str>,
        id: &str,
        dispatch: &Dispatch,
    ) -> Answer<JobDispatchResponse> {
        let mut query = within(namespace);
        if !dispatch.idempotency_token.is_empty() {
            query = query.with("idempotency_token", dispatch.idempotency_token.as_str());
        }
        let body = JobDispatchRequest {
            job_id: id.into(),
            payload: Some(Bytes(dispatch.payload.clone())),
            meta: dispatch.meta.clone(),
            id_prefix_template: dispatch.id_prefix_template.clone(),
            priority: dispatch.priority,
        };
        self.put(&path("/v1/job/", id, "/dispatch"), &query, &body).await
    }

    /// Makes an earlier version of a job the current one again.
    pub async fn revert_job(&self, namespace: Option<&str>, id: &str, version: u64) -> Answer<JobRegisterResponse> {
        let body = JobRevertRequest { job_id: id.into(), job_version: version, enforce_prior_version: None };
        self.put(&path("/v1/job/", id, "/revert"), &within(namespace), &body).await
    }

    /// Sets the count of a group.
    pub async fn scale_job(
        &self,
        namespace: Option<&str>,
        id: &str,
        request: &ScalingRequest,
    ) -> Answer<JobRegisterResponse> {
        self.put(&path("/v1/job/", id, "/scale"), &within(namespace), request).await
    }

    /// Names a version of a job, the latest if none is given.
    pub async fn tag_job_version(
        &self,
        namespace: Option<&str>,
        id: &str,
        name: &str,
        description: &str,
        version: Option<u64>,
    ) -> Result<(), ApiError> {
        let body = TagVersionRequest {
            version: version.unwrap_or(0),
            latest: version.is_none(),
            description: description.into(),
        };
        let to = path("/v1/job/", id, &path("/versions/", name, "/tag"));
        self.put::<_, Nothing>(&to, &within(namespace), &body).await.map(drop)
    }

    /// Takes a version's name away.
    pub async fn untag_job_version(&self, namespace: Option<&str>, id: &str, name: &str) -> Result<(), ApiError> {
        let to = path("/v1/job/", id, &path("/versions/", name, "/tag"));
        self.delete::<Nothing>(&to, &within(namespace)).await.map(drop)
    }

    /// Pauses a deployment, or goes on with it.
    pub async fn pause_deployment(&self, id: &str, pause: bool) -> Answer<DeploymentUpdateResponse> {
        let body = DeploymentPauseRequest { deployment_id: id.into(), pause };
        self.put(&path("/v1/deployment/pause/", id, ""), &Query::default(), &body).await
    }

    /// Accepts the canaries of a deployment: of all groups if none is named.
    pub async fn promote_deployment(&self, id: &str, groups: &[String]) -> Answer<DeploymentUpdateResponse> {
        let body =
            DeploymentPromoteRequest { deployment_id: id.into(), all: groups.is_empty(), groups: groups.to_vec() };
        self.put(&path("/v1/deployment/promote/", id, ""), &Query::default(), &body).await
    }

    /// Marks a deployment as failed.
    pub async fn fail_deployment(&self, id: &str) -> Answer<DeploymentUpdateResponse> {
        let body = DeploymentRequest { deployment_id: id.into() };
        self.put(&path("/v1/deployment/fail/", id, ""), &Query::default(), &body).await
    }

    /// Lets a blocked deployment go on.
    pub async fn unblock_deployment(&self, id: &str) -> Answer<DeploymentUpdateResponse> {
        let body = DeploymentRequest { deployment_id: id.into() };
        self.put(&path("/v1/deployment/unblock/", id, ""), &Query::default(), &body).await
    }

    /// Deletes evaluations by ID.
    pub async fn delete_evaluations(&self, ids: &[String]) -> Answer<EvalDeleteResponse> {
        let body = EvalDeleteRequest { eval_ids: ids.to_vec(), filter: String::new() };
        self.delete_with("/v1/evaluations", &Query::default(), &body).await
    }

    /// Deletes the evaluations a filter matches, as far as that is safe.
    pub async fn delete_evaluations_matching(&self, filter: &str) -> Answer<EvalDeleteResponse> {
        let body = EvalDeleteRequest { eval_ids: Vec::new(), filter: filter.into() };
        self.delete_with("/v1/evaluations", &Query::default(), &body).await
    }

    /// Stops an allocation; it is replaced elsewhere. With `reschedule` the replacement counts as a reschedule.
    pub async fn stop_allocation(
        &self,
        namespace: Option<&str>,
        id: &str,
        no_shutdown_delay: bool,
        reschedule: bool,
    ) -> Answer<AllocStopResponse> {
        let mut query = within(namespace).with("no_shutdown_delay", no_shutdown_delay.to_string());
        if reschedule {
            query = query.with("reschedule", "true");
        }
        self.put(&path("/v1/allocation/", id, "/stop"), &query, &()).await
    }

    /// Restarts tasks of an allocation: one, all that run, or all that ever ran.
    pub async fn restart_allocation(
        &self,
        namespace: Option<&str>,
        id: &str,
        task: &str,
        all_tasks: bool,
    ) -> Result<(), ApiError> {
        let body = AllocRestartRequest { task_name: task.into(), all_tasks };
        let to = path("/v1/client/allocation/", id, "/restart");
        self.put::<_, Nothing>(&to, &within(namespace), &body).await.map(drop)
    }
}
