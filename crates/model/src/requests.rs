//! Requests about jobs, evaluations, allocations, deployments, scaling and nodes (part 2 of the type tables). Clients
//! write them and servers read them. Everything is optional; null leaves the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api;
use super::bytes::Bytes;
use super::json::{is_default, or_default};
use super::records::JobSubmission;
use super::status::{BindType, NodeEligibility};

/// A job to register.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRegisterRequest {
    /// The job file, to be stored with the version; null: none.
    pub submission: Option<JobSubmission>,
    /// The job; required.
    pub job: Option<api::Job>,
    /// Whether the write fails if `job_modify_index` is not the stored job's.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub enforce_index: bool,
    /// The expected `JobModifyIndex`; 0: there must be no job of that ID.
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    /// Without effect but for the ACL capability `sentinel-override` that it needs.
    #[serde(deserialize_with = "or_default")]
    pub policy_override: bool,
    /// Whether groups keep the counts of the stored job.
    #[serde(deserialize_with = "or_default")]
    pub preserve_counts: bool,
    /// Whether tasks keep the resources of the stored job.
    #[serde(deserialize_with = "or_default")]
    pub preserve_resources: bool,
    /// The priority of the evaluation, 1 to 100; 0: the job's.
    #[serde(deserialize_with = "or_default")]
    pub eval_priority: i64,
    /// The region; takes precedence over that of query and job.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub region: String,
    /// The namespace; takes precedence over the job's.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
}

/// A job to plan.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobPlanRequest {
    /// The job; required.
    pub job: Option<api::Job>,
    /// Whether the answer tells what the job changes.
    #[serde(deserialize_with = "or_default")]
    pub diff: bool,
    /// Without effect but for the ACL capability `sentinel-override` that it needs.
    #[serde(deserialize_with = "or_default")]
    pub policy_override: bool,
    /// The region; takes precedence over that of query and job.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub region: String,
    /// The namespace; takes precedence over the job's.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
}

/// A job to look at.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobValidateRequest {
    /// The job; required.
    pub job: Option<api::Job>,
}

/// A job file to read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobsParseRequest {
    /// The job file.
    #[serde(rename = "JobHCL", deserialize_with = "or_default")]
    pub job_hcl: String,
    /// The text of a variable file.
    #[serde(deserialize_with = "or_default")]
    pub variables: String,
    /// Whether nulls are replaced by defaults.
    #[serde(deserialize_with = "or_default")]
    pub canonicalize: bool,
}

/// A parameterized job to dispatch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDispatchRequest {
    /// The parameterized job; the one of the path, if given.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// At most 16 KiB, base64.
    pub payload: Option<Bytes>,
    /// Values for the keys that the job requires or allows.
    #[serde(deserialize_with = "or_default")]
    pub meta: BTreeMap<String, String>,
    /// Text for the child's ID, behind `dispatch-`; empty: none.
    #[serde(deserialize_with = "or_default")]
    pub id_prefix_template: String,
    /// The priority of the child; 0: the parent's.
    #[serde(deserialize_with = "or_default")]
    pub priority: i64,
}

/// A job to evaluate.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobEvaluateRequest {
    /// The job; the one of the path, if given.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// How the job is evaluated.
    #[serde(deserialize_with = "or_default")]
    pub eval_options: EvalOptions,
}

/// How a job is evaluated.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalOptions {
    /// Failed allocations are replaced now, whatever their policy says.
    #[serde(deserialize_with = "or_default")]
    pub force_reschedule: bool,
}

/// A job to take back to an older version.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRevertRequest {
    /// The job; the one of the path.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// The version to go back to.
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    /// The version that must be the current one; null: any.
    #[serde(skip_serializing_if = "is_default")]
    pub enforce_prior_version: Option<u64>,
}

/// A version to call stable or not.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStabilityRequest {
    /// The job; the one of the path.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// The version.
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    /// Whether the version is stable.
    #[serde(deserialize_with = "or_default")]
    pub stable: bool,
}

/// A version to tag.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TagVersionRequest {
    /// The version to tag; 0 if `latest` is set.
    #[serde(deserialize_with = "or_default")]
    pub version: u64,
    /// Whether the current version is tagged.
    #[serde(deserialize_with = "or_default")]
    pub latest: bool,
    /// Free text of at most 1000 bytes.
    #[serde(deserialize_with = "or_default")]
    pub description: String,
}

/// A group to scale.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingRequest {
    /// The new count; null: only an event is recorded.
    pub count: Option<i64>,
    /// `Group`: the group; `Job`, if given, the job of the path.
    #[serde(deserialize_with = "or_default")]
    pub target: BTreeMap<String, String>,
    /// Why; stored with the scaling event.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// Whether a failure is reported; then without a count.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub error: bool,
    /// Free-form values; stored with the scaling event.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub meta: BTreeMap<String, Value>,
    /// Without effect.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub policy_override: bool,
    /// The expected `JobModifyIndex`; 0: any.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub job_modify_index: u64,
    /// If given, it must be that of the query.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
}

/// Jobs to show.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStatusesRequest {
    /// The jobs to show; a request with a body names at least one.
    #[serde(deserialize_with = "or_default")]
    pub jobs: Vec<NamespacedId>,
    /// Whether jobs are shown that periodic and parameterized jobs launched.
    #[serde(deserialize_with = "or_default")]
    pub include_children: bool,
}

/// The name of an object of a namespace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespacedId {
    /// The namespace; empty: `default`.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The object's ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
}

/// Evaluations to delete: by ID or by filter.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalDeleteRequest {
    /// At most 7281 IDs; not together with `filter`.
    #[serde(rename = "EvalIDs", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub eval_ids: Vec<String>,
    /// An expression (`docs/spec/http-api.md §4.6`); not together with `eval_ids`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub filter: String,
}

/// A deployment, where nothing else has to be said.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
}

/// A deployment to pause or to resume.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPauseRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    /// True to pause, false to resume.
    #[serde(deserialize_with = "or_default")]
    pub pause: bool,
}

/// Canaries to promote.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPromoteRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    /// Whether all groups are promoted.
    #[serde(deserialize_with = "or_default")]
    pub all: bool,
    /// The groups to promote, if not all; unknown names are ignored.
    #[serde(deserialize_with = "or_default")]
    pub groups: Vec<String>,
}

/// Allocations whose health an operator knows.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentAllocHealthRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    /// IDs of the healthy ones.
    #[serde(rename = "HealthyAllocationIDs", deserialize_with = "or_default")]
    pub healthy_allocation_ids: Vec<String>,
    /// IDs of the unhealthy ones.
    #[serde(rename = "UnhealthyAllocationIDs", deserialize_with = "or_default")]
    pub unhealthy_allocation_ids: Vec<String>,
}

/// A node to drain, or a drain to end.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDrainRequest {
    /// The node; servers use the one of the path.
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    /// How the node is drained; null ends the drain.
    pub drain_spec: Option<DrainSpec>,
    /// Whether the node is eligible again; only where a drain ends.
    #[serde(deserialize_with = "or_default")]
    pub mark_eligible: bool,
    /// Free-form values; stored with the drain.
    #[serde(deserialize_with = "or_default")]
    pub meta: BTreeMap<String, String>,
}

/// How a node is drained.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainSpec {
    /// Nanoseconds until allocations are stopped at the latest; 0: no limit, negative: at once.
    #[serde(deserialize_with = "or_default")]
    pub deadline: i64,
    /// Whether allocations of system jobs stay.
    #[serde(deserialize_with = "or_default")]
    pub ignore_system_jobs: bool,
}

/// A node that takes new allocations, or none.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeEligibilityRequest {
    /// The node; servers use the one of the path.
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    /// `eligible` or `ineligible`.
    #[serde(deserialize_with = "or_default")]
    pub eligibility: NodeEligibility,
}

/// Tasks of an allocation to restart.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocRestartRequest {
    /// The task; empty: all that run.
    #[serde(deserialize_with = "or_default")]
    pub task_name: String,
    /// Whether tasks that ended are started again as well.
    #[serde(deserialize_with = "or_default")]
    pub all_tasks: bool,
}

/// A signal for tasks of an allocation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocSignalRequest {
    /// The task; empty: all that run.
    #[serde(deserialize_with = "or_default")]
    pub task: String,
    /// The signal: `SIGHUP`.
    #[serde(deserialize_with = "or_default")]
    pub signal: String,
}

/// A binding rule that is written. Members that are missing stay as they are in a stored one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclBindingRuleRequest {
    /// The rule; empty: a new one.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Free text.
    pub description: Option<String>,
    /// The authentication method the rule belongs to.
    pub auth_method: Option<String>,
    /// Condition on the claims; empty always holds.
    pub selector: Option<String>,
    /// `role`, `policy` or `management`.
    pub bind_type: Option<BindType>,
    /// The role or policy.
    pub bind_name: Option<String>,
}

/// A search by prefix or, fuzzy, by text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SearchRequest {
    /// The beginning of names or IDs; of a search by prefix.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub prefix: String,
    /// A part of names; of a fuzzy search.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub text: String,
    /// The kind of object: `jobs`, or `all`.
    #[serde(deserialize_with = "or_default")]
    pub context: String,
}
