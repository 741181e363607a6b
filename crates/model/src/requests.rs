//! What callers send about jobs, evaluations, deployments and scaling (part 2 of the type tables). Everything is
//! optional; null leaves the default.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::api;
use super::bytes::Bytes;
use super::json::or_default;
use super::records::JobSubmission;

/// A job to register.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRegisterRequest {
    pub submission: Option<JobSubmission>,
    pub job: Option<api::Job>,
    #[serde(deserialize_with = "or_default")]
    pub enforce_index: bool,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub policy_override: bool,
    #[serde(deserialize_with = "or_default")]
    pub preserve_counts: bool,
    #[serde(deserialize_with = "or_default")]
    pub preserve_resources: bool,
    #[serde(deserialize_with = "or_default")]
    pub eval_priority: i64,
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
}

/// A job to plan.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobPlanRequest {
    pub job: Option<api::Job>,
    #[serde(deserialize_with = "or_default")]
    pub diff: bool,
    #[serde(deserialize_with = "or_default")]
    pub policy_override: bool,
    #[serde(deserialize_with = "or_default")]
    pub region: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
}

/// A job to look at.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobValidateRequest {
    pub job: Option<api::Job>,
}

/// A job file to read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobsParseRequest {
    #[serde(rename = "JobHCL", deserialize_with = "or_default")]
    pub job_hcl: String,
    #[serde(deserialize_with = "or_default")]
    pub variables: String,
    #[serde(deserialize_with = "or_default")]
    pub canonicalize: bool,
}

/// A parameterized job to dispatch.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDispatchRequest {
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    pub payload: Option<Bytes>,
    #[serde(deserialize_with = "or_default")]
    pub meta: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub id_prefix_template: String,
    #[serde(deserialize_with = "or_default")]
    pub priority: i64,
}

/// A job to evaluate.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobEvaluateRequest {
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub eval_options: EvalOptions,
}

/// How a job is evaluated.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalOptions {
    /// Failed allocations are replaced now, whatever their policy says.
    #[serde(deserialize_with = "or_default")]
    pub force_reschedule: bool,
}

/// A job to take back to an older version.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRevertRequest {
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    pub enforce_prior_version: Option<u64>,
}

/// A version to call stable or not.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStabilityRequest {
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    #[serde(deserialize_with = "or_default")]
    pub stable: bool,
}

/// A version to tag.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TagVersionRequest {
    #[serde(deserialize_with = "or_default")]
    pub version: u64,
    #[serde(deserialize_with = "or_default")]
    pub latest: bool,
    #[serde(deserialize_with = "or_default")]
    pub description: String,
}

/// A group to scale.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingRequest {
    pub count: Option<i64>,
    #[serde(deserialize_with = "or_default")]
    pub target: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    #[serde(deserialize_with = "or_default")]
    pub error: bool,
    #[serde(deserialize_with = "or_default")]
    pub meta: BTreeMap<String, Value>,
    #[serde(deserialize_with = "or_default")]
    pub policy_override: bool,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
}

/// Jobs to show.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStatusesRequest {
    #[serde(deserialize_with = "or_default")]
    pub jobs: Vec<NamespacedId>,
    #[serde(deserialize_with = "or_default")]
    pub include_children: bool,
}

/// The name of an object of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespacedId {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
}

/// Evaluations to delete: by ID or by filter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalDeleteRequest {
    #[serde(rename = "EvalIDs", deserialize_with = "or_default")]
    pub eval_ids: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub filter: String,
}

/// A deployment, where nothing else has to be said.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentRequest {
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
}

/// A deployment to pause or to resume.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPauseRequest {
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    #[serde(deserialize_with = "or_default")]
    pub pause: bool,
}

/// Canaries to promote.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPromoteRequest {
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    #[serde(deserialize_with = "or_default")]
    pub all: bool,
    #[serde(deserialize_with = "or_default")]
    pub groups: Vec<String>,
}

/// Allocations whose health an operator knows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentAllocHealthRequest {
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    #[serde(rename = "HealthyAllocationIDs", deserialize_with = "or_default")]
    pub healthy_allocation_ids: Vec<String>,
    #[serde(rename = "UnhealthyAllocationIDs", deserialize_with = "or_default")]
    pub unhealthy_allocation_ids: Vec<String>,
}
