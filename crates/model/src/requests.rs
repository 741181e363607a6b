//! Requests about jobs, evaluations, allocations, deployments, scaling and nodes (part 2 of the type tables). Clients
//! write them and servers read them. Everything is optional; null leaves the default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::api;
use super::bytes::Bytes;
use super::json::{is_default, null_is_default};
use super::records::JobSubmission;
use super::status::{BindType, NodeEligibility};

/// A job to register.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRegisterRequest {
    /// The job file, to be stored with the version; null: none.
    pub submission: Option<JobSubmission>,
    /// The job; required.
    pub job: Option<api::Job>,
    /// Whether the write fails if `job_modify_index` is not the stored job's.
    #[serde(skip_serializing_if = "is_default")]
    pub enforce_index: bool,
    /// The expected `JobModifyIndex`; 0: there must be no job of that ID.
    pub job_modify_index: u64,
    /// Without effect but for the ACL capability `sentinel-override` that it needs.
    pub policy_override: bool,
    /// Whether groups keep the counts of the stored job.
    pub preserve_counts: bool,
    /// Whether tasks keep the resources of the stored job.
    pub preserve_resources: bool,
    /// The priority of the evaluation, 1 to 100; 0: the job's.
    pub eval_priority: i64,
    /// The region; takes precedence over that of query and job.
    #[serde(skip_serializing_if = "is_default")]
    pub region: String,
    /// The namespace; takes precedence over the job's.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: String,
}

/// A job to plan.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobPlanRequest {
    /// The job; required.
    pub job: Option<api::Job>,
    /// Whether the answer tells what the job changes.
    pub diff: bool,
    /// Without effect but for the ACL capability `sentinel-override` that it needs.
    pub policy_override: bool,
    /// The region; takes precedence over that of query and job.
    #[serde(skip_serializing_if = "is_default")]
    pub region: String,
    /// The namespace; takes precedence over the job's.
    #[serde(skip_serializing_if = "is_default")]
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
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobsParseRequest {
    /// The job file.
    #[serde(rename = "JobHCL")]
    pub job_hcl: String,
    /// The text of a variable file.
    pub variables: String,
    /// Whether nulls are replaced by defaults.
    pub canonicalize: bool,
}

/// A parameterized job to dispatch.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDispatchRequest {
    /// The parameterized job; the one of the path, if given.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// At most 16 KiB, base64.
    pub payload: Option<Bytes>,
    /// Values for the keys that the job requires or allows.
    pub meta: BTreeMap<String, String>,
    /// Text for the child's ID, behind `dispatch-`; empty: none.
    pub id_prefix_template: String,
    /// The priority of the child; 0: the parent's.
    pub priority: i64,
}

/// A job to evaluate.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobEvaluateRequest {
    /// The job; the one of the path, if given.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// How the job is evaluated.
    pub eval_options: EvalOptions,
}

/// How a job is evaluated.
#[null_is_default]
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalOptions {
    /// Failed allocations are replaced now, whatever their policy says.
    pub force_reschedule: bool,
}

/// A job to take back to an older version.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobRevertRequest {
    /// The job; the one of the path.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The version to go back to.
    pub job_version: u64,
    /// The version that must be the current one; null: any.
    #[serde(skip_serializing_if = "is_default")]
    pub enforce_prior_version: Option<u64>,
}

/// A version to call stable or not.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStabilityRequest {
    /// The job; the one of the path.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The version.
    pub job_version: u64,
    /// Whether the version is stable.
    pub stable: bool,
}

/// A version to tag.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TagVersionRequest {
    /// The version to tag; 0 if `latest` is set.
    pub version: u64,
    /// Whether the current version is tagged.
    pub latest: bool,
    /// Free text of at most 1000 bytes.
    pub description: String,
}

/// A group to scale.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingRequest {
    /// The new count; null: only an event is recorded.
    pub count: Option<i64>,
    /// `Group`: the group; `Job`, if given, the job of the path.
    pub target: BTreeMap<String, String>,
    /// Why; stored with the scaling event.
    pub message: String,
    /// Whether a failure is reported; then without a count.
    #[serde(skip_serializing_if = "is_default")]
    pub error: bool,
    /// Free-form values; stored with the scaling event.
    #[serde(skip_serializing_if = "is_default")]
    pub meta: BTreeMap<String, Value>,
    /// Without effect.
    #[serde(skip_serializing_if = "is_default")]
    pub policy_override: bool,
    /// The expected `JobModifyIndex`; 0: any.
    #[serde(skip_serializing_if = "is_default")]
    pub job_modify_index: u64,
    /// If given, it must be that of the query.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: String,
}

/// Jobs to show.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobStatusesRequest {
    /// The jobs to show; a request with a body names at least one.
    pub jobs: Vec<NamespacedId>,
    /// Whether jobs are shown that periodic and parameterized jobs launched.
    pub include_children: bool,
}

/// The name of an object of a namespace.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NamespacedId {
    /// The namespace; empty: `default`.
    pub namespace: String,
    /// The object's ID.
    #[serde(rename = "ID")]
    pub id: String,
}

/// Evaluations to delete: by ID or by filter.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvalDeleteRequest {
    /// At most 7281 IDs; not together with `filter`.
    #[serde(rename = "EvalIDs", skip_serializing_if = "is_default")]
    pub eval_ids: Vec<String>,
    /// An expression (`docs/spec/http-api.md §4.6`); not together with `eval_ids`.
    #[serde(skip_serializing_if = "is_default")]
    pub filter: String,
}

/// A deployment, where nothing else has to be said.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
}

/// A deployment to pause or to resume.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPauseRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    /// True to pause, false to resume.
    pub pause: bool,
}

/// Canaries to promote.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentPromoteRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    /// Whether all groups are promoted.
    pub all: bool,
    /// The groups to promote, if not all; unknown names are ignored.
    pub groups: Vec<String>,
}

/// Allocations whose health an operator knows.
#[null_is_default]
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentAllocHealthRequest {
    /// The deployment; the one of the path.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    /// IDs of the healthy ones.
    #[serde(rename = "HealthyAllocationIDs")]
    pub healthy_allocation_ids: Vec<String>,
    /// IDs of the unhealthy ones.
    #[serde(rename = "UnhealthyAllocationIDs")]
    pub unhealthy_allocation_ids: Vec<String>,
}

/// A node to drain, or a drain to end.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeDrainRequest {
    /// The node; servers use the one of the path.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// How the node is drained; null ends the drain.
    pub drain_spec: Option<DrainSpec>,
    /// Whether the node is eligible again; only where a drain ends.
    pub mark_eligible: bool,
    /// Free-form values; stored with the drain.
    pub meta: BTreeMap<String, String>,
}

/// How a node is drained.
#[null_is_default]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DrainSpec {
    /// Nanoseconds until allocations are stopped at the latest; 0: no limit, negative: at once.
    pub deadline: i64,
    /// Whether allocations of system jobs stay.
    pub ignore_system_jobs: bool,
}

/// A node that takes new allocations, or none.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeEligibilityRequest {
    /// The node; servers use the one of the path.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// `eligible` or `ineligible`.
    pub eligibility: NodeEligibility,
}

/// Tasks of an allocation to restart.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocRestartRequest {
    /// The task; empty: all that run.
    pub task_name: String,
    /// Whether tasks that ended are started again as well.
    pub all_tasks: bool,
}

/// A signal for tasks of an allocation.
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocSignalRequest {
    /// The task; empty: all that run.
    pub task: String,
    /// The signal: `SIGHUP`.
    pub signal: String,
}

/// A binding rule that is written. Members that are missing stay as they are in a stored one.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AclBindingRuleRequest {
    /// The rule; empty: a new one.
    #[serde(rename = "ID")]
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
#[null_is_default]
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SearchRequest {
    /// The beginning of names or IDs; of a search by prefix.
    #[serde(skip_serializing_if = "is_default")]
    pub prefix: String,
    /// A part of names; of a fuzzy search.
    #[serde(skip_serializing_if = "is_default")]
    pub text: String,
    /// The kind of object: `jobs`, or `all`.
    pub context: String,
}
