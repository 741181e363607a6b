//! Typed endpoints that change something (`docs/spec/http-api.md §5.3`, `§5.6`, `§5.7`).

use std::collections::BTreeMap;

use base64::Engine;
use serde::{Deserialize, Serialize};

use super::client::{Client, Meta, Query, path};
use super::error::ApiError;
use encamp_model::json::or_default;
use encamp_model::{JobSubmission, api};

type Answer<T> = Result<(T, Meta), ApiError>;

/// The response to registering, scaling, evaluating and reverting a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRegisterResponse {
    /// The evaluation; empty for jobs that are launched later.
    #[serde(rename = "EvalID", deserialize_with = "or_default")]
    pub eval_id: String,
    /// Modify index of the job's specification.
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    /// All warnings as one text.
    #[serde(deserialize_with = "or_default")]
    pub warnings: String,
}

/// How a job is registered.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct RegisterOptions {
    /// Refuse unless the job's modify index is [`RegisterOptions::job_modify_index`].
    #[serde(skip_serializing_if = "is_false")]
    pub enforce_index: bool,
    /// The index that is asked for; 0 for a job that must not exist.
    pub job_modify_index: u64,
    /// Keep the counts of groups that the cluster has.
    pub preserve_counts: bool,
    /// Keep the resources of tasks that the cluster has.
    pub preserve_resources: bool,
    /// Override soft policies.
    pub policy_override: bool,
    /// Priority of the evaluation; 0 for the job's.
    pub eval_priority: i64,
    /// The text of the job file.
    pub submission: Option<JobSubmission>,
}

fn is_false(v: &bool) -> bool {
    !v
}

/// The response to dispatching a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDispatchResponse {
    /// The job that was made.
    #[serde(rename = "DispatchedJobID", deserialize_with = "or_default")]
    pub dispatched_job_id: String,
    /// Its evaluation; empty if it is launched later or was there before.
    #[serde(rename = "EvalID", deserialize_with = "or_default")]
    pub eval_id: String,
}

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

/// A request to scale a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ScalingRequest {
    /// The wanted count.
    pub count: i64,
    /// `Group`: the group's name.
    pub target: BTreeMap<String, String>,
    /// A note for the list of scaling events.
    pub message: String,
    /// Refuse unless the job's modify index is this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_modify_index: Option<u64>,
}

/// The response to changing a deployment.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentUpdateResponse {
    /// The evaluation; empty if none was needed.
    #[serde(rename = "EvalID", deserialize_with = "or_default")]
    pub eval_id: String,
    /// The version a failed deployment went back to.
    #[serde(rename = "RevertedJobVersion")]
    pub reverted_job_version: Option<u64>,
}

/// An evaluation's ID as the only member of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvaluationMade {
    /// The evaluation; empty if none was made.
    #[serde(rename = "EvalID", deserialize_with = "or_default")]
    pub eval_id: String,
}

/// A count as the only member of an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Counted {
    /// How many.
    #[serde(deserialize_with = "or_default")]
    pub count: u64,
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
        job: &api::Job,
        options: &RegisterOptions,
    ) -> Answer<JobRegisterResponse> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Body<'a> {
            job: &'a api::Job,
            #[serde(flatten)]
            options: &'a RegisterOptions,
        }
        self.put("/v1/jobs", &within(namespace), &Body { job, options }).await
    }

    /// Stops a job.
    pub async fn deregister_job(&self, namespace: Option<&str>, id: &str, how: Deregister) -> Answer<EvaluationMade> {
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
        let body = serde_json::json!({"JobID": id, "EvalOptions": {"ForceReschedule": force_reschedule}});
        self.put(&path("/v1/job/", id, "/evaluate"), &within(namespace), &body).await
    }

    /// Launches a periodic job now.
    pub async fn force_periodic_job(&self, namespace: Option<&str>, id: &str) -> Answer<EvaluationMade> {
        self.put(&path("/v1/job/", id, "/periodic/force"), &within(namespace), &()).await
    }

    /// Makes a job of a parameterized one.
    pub async fn dispatch_job(
        &self,
        namespace: Option<&str>,
        id: &str,
        dispatch: &Dispatch,
    ) -> Answer<JobDispatchResponse> {
        #[derive(Serialize)]
        #[serde(rename_all = "PascalCase")]
        struct Body<'a> {
            #[serde(rename = "JobID")]
            job_id: &'a str,
            payload: String,
            meta: &'a BTreeMap<String, String>,
            id_prefix_template: &'a str,
            priority: i64,
        }
        let mut query = within(namespace);
        if !dispatch.idempotency_token.is_empty() {
            query = query.with("idempotency_token", dispatch.idempotency_token.as_str());
        }
        let body = Body {
            job_id: id,
            payload: base64::engine::general_purpose::STANDARD.encode(&dispatch.payload),
            meta: &dispatch.meta,
            id_prefix_template: &dispatch.id_prefix_template,
            priority: dispatch.priority,
        };
        self.put(&path("/v1/job/", id, "/dispatch"), &query, &body).await
    }

    /// Makes an earlier version of a job the current one again.
    pub async fn revert_job(&self, namespace: Option<&str>, id: &str, version: u64) -> Answer<JobRegisterResponse> {
        let body = serde_json::json!({"JobID": id, "JobVersion": version});
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
        let body = serde_json::json!({
            "Version": version.unwrap_or(0),
            "Latest": version.is_none(),
            "Description": description,
        });
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
        let body = serde_json::json!({"DeploymentID": id, "Pause": pause});
        self.put(&path("/v1/deployment/pause/", id, ""), &Query::default(), &body).await
    }

    /// Accepts the canaries of a deployment: of all groups if none is named.
    pub async fn promote_deployment(&self, id: &str, groups: &[String]) -> Answer<DeploymentUpdateResponse> {
        let body = serde_json::json!({"DeploymentID": id, "All": groups.is_empty(), "Groups": groups});
        self.put(&path("/v1/deployment/promote/", id, ""), &Query::default(), &body).await
    }

    /// Marks a deployment as failed.
    pub async fn fail_deployment(&self, id: &str) -> Answer<DeploymentUpdateResponse> {
        let body = serde_json::json!({"DeploymentID": id});
        self.put(&path("/v1/deployment/fail/", id, ""), &Query::default(), &body).await
    }

    /// Lets a blocked deployment go on.
    pub async fn unblock_deployment(&self, id: &str) -> Answer<DeploymentUpdateResponse> {
        let body = serde_json::json!({"DeploymentID": id});
        self.put(&path("/v1/deployment/unblock/", id, ""), &Query::default(), &body).await
    }

    /// Deletes evaluations by ID.
    pub async fn delete_evaluations(&self, ids: &[String]) -> Answer<Counted> {
        let body = serde_json::json!({"EvalIDs": ids});
        self.delete_with("/v1/evaluations", &Query::default(), &body).await
    }

    /// Deletes the evaluations a filter matches, as far as that is safe.
    pub async fn delete_evaluations_matching(&self, filter: &str) -> Answer<Counted> {
        let body = serde_json::json!({"Filter": filter});
        self.delete_with("/v1/evaluations", &Query::default(), &body).await
    }

    /// Stops an allocation; it is replaced elsewhere. With `reschedule` the replacement counts as a reschedule.
    pub async fn stop_allocation(
        &self,
        namespace: Option<&str>,
        id: &str,
        no_shutdown_delay: bool,
        reschedule: bool,
    ) -> Answer<EvaluationMade> {
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
        let body = serde_json::json!({"TaskName": task, "AllTasks": all_tasks});
        let to = path("/v1/client/allocation/", id, "/restart");
        self.put::<_, Nothing>(&to, &within(namespace), &body).await.map(drop)
    }
}
