//! Responses about jobs, evaluations, allocations, deployments, scaling and nodes: the objects that are not stored but
//! created for a response.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::alloc::Allocation;
use super::diff::JobDiff;
use super::job::{Job, Multiregion, ScalingPolicy};
use super::json::{is_default, nil};
use super::records::{JobSummary, ScalingEvent};
use super::secret::SecretString;
use super::status::{ClientStatus, DeploymentStatus, JobStatus, JobType, NodeEligibility, ScalingPolicyType};

/// The response to a node's registration or heartbeat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUpdateResponse {
    /// Raft index of the write; 0 if nothing was written.
    pub index: u64,
    /// How long until the next heartbeat is due, in nanoseconds.
    pub heartbeat_ttl: i64,
    /// Addresses of the servers; a registration without any is an error.
    pub servers: Vec<String>,
    /// The number of nodes in the cluster.
    pub num_nodes: i64,
    /// The node's eligibility as stored; unset: not stated.
    pub scheduling_eligibility: NodeEligibility,
    /// A new signed identity; empty: the current one remains valid.
    pub signed_identity: SecretString,
}

/// The allocations of a node.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeClientAllocsResponse {
    /// `AllocModifyIndex` by allocation ID.
    pub allocs: BTreeMap<String, u64>,
    /// Index of the state that was read.
    pub index: u64,
}

/// Allocations in full.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AllocsGetResponse {
    /// The allocations that exist.
    pub allocs: Vec<Arc<Allocation>>,
    /// Index of the state that was read.
    pub index: u64,
}

/// The answer to a registration, an evaluation, a rollback or a scaling.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobRegisterResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// The job's `JobModifyIndex`; of an unchanged job its `ModifyIndex`.
    pub job_modify_index: u64,
    /// Warnings about the job, as one text; empty: none.
    pub warnings: String,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// The answer to the stop of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobDeregisterResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index of the stop.
    pub job_modify_index: u64,
    /// Always empty: kept for clients.
    #[serde(rename = "VolumeEvalID")]
    pub volume_eval_id: String,
    /// Always 0: kept for clients.
    pub volume_eval_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// The answer to a dispatch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobDispatchResponse {
    /// The ID of the child.
    #[serde(rename = "DispatchedJobID")]
    pub dispatched_job_id: String,
    /// The evaluation of the child; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index at which the child was made.
    pub job_create_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a launch of a periodic job on demand.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PeriodicForceResponse {
    /// The evaluation of the child; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made.
    pub eval_create_index: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a tag put on a version, or taken off.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobTagResponse {
    /// The name of the tag; empty if it was taken off.
    pub name: String,
    /// The description of the tag.
    pub description: String,
    /// Unix nanoseconds.
    pub tagged_time: i64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// An answer that tells an index and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GenericResponse {
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The result of validating a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobValidateResponse {
    /// Always true: kept for clients.
    pub driver_config_validated: bool,
    /// The single errors.
    #[serde(with = "nil")]
    pub validation_errors: Vec<String>,
    /// All errors as one text; empty: none.
    pub error: String,
    /// All warnings as one text; empty: none.
    pub warnings: String,
}

/// The versions of a job, the newest first.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobVersionsResponse {
    /// The newest first.
    pub versions: Vec<Arc<Job>>,
    /// The diff, if requested.
    pub diffs: Option<Vec<JobDiff>>,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// A job as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobListStub {
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: String,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    /// A name for operators.
    pub name: String,
    /// The namespace; with `id` the key of the job.
    pub namespace: String,
    /// Patterns with `*`; the datacenter of a node must match one.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// The node pool; `all` stands for every node.
    pub node_pool: String,
    /// Regions to run in; null, as multi-region jobs belong to the enterprise edition.
    pub multiregion: Option<Multiregion>,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: JobType,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: i64,
    /// Whether the job is periodic.
    pub periodic: bool,
    /// Whether the job is parameterized.
    pub parameterized_job: bool,
    /// Whether the job was stopped.
    pub stop: bool,
    /// `pending`, `running` or `dead`.
    pub status: JobStatus,
    /// Why the status is what it is; mostly empty.
    pub status_description: String,
    /// How many allocations are in which state.
    pub job_summary: Option<Arc<JobSummary>>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Raft index of the last change of the specification.
    pub job_modify_index: u64,
    /// Unix nanoseconds.
    pub submit_time: i64,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub meta: BTreeMap<String, String>,
}

/// A command that a task offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobAction {
    /// The action's name.
    pub name: String,
    /// The program.
    pub command: String,
    /// Arguments of the program.
    #[serde(with = "nil")]
    pub args: Vec<String>,
    /// The task that offers the action.
    pub task_name: String,
    /// The group of that task.
    pub task_group_name: String,
}

/// Counts and scaling events of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobScaleStatus {
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The job's `CreateIndex`.
    pub job_create_index: u64,
    /// The job's `ModifyIndex`, not its `JobModifyIndex`.
    pub job_modify_index: u64,
    /// Whether the job was stopped.
    pub job_stopped: bool,
    /// By task group.
    pub task_groups: BTreeMap<String, TaskGroupScaleStatus>,
}

/// Counts and scaling events of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TaskGroupScaleStatus {
    /// The count of the group.
    pub desired: i64,
    /// Allocations that are not terminal.
    pub placed: i64,
    /// Those of them that run.
    pub running: i64,
    /// Those of them that their deployment found healthy.
    pub healthy: i64,
    /// Those of them that their deployment found unhealthy.
    pub unhealthy: i64,
    /// The newest first.
    #[serde(with = "nil")]
    pub events: Vec<ScalingEvent>,
}

/// A job as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesJob {
    /// 1 or more characters, no spaces; unique in its namespace. Children of periodic and parameterized jobs have the
    /// parent's ID as prefix.
    #[serde(rename = "ID")]
    pub id: String,
    /// The namespace; with `id` the key of the job.
    pub namespace: String,
    /// A name for operators; by default the ID.
    pub name: String,
    /// `service`, `batch`, `system` or `sysbatch`.
    pub r#type: JobType,
    /// The node pool; `all` stands for every node.
    pub node_pool: String,
    /// Patterns with `*`; the datacenter of a node must match one.
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    /// From 1 to the server's `job_max_priority`; a larger one takes precedence.
    pub priority: i64,
    /// Counts changes of the specification, from 0.
    pub version: u64,
    /// Unix nanoseconds.
    pub submit_time: i64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// The job's allocations; null for jobs that launch others.
    #[serde(with = "nil")]
    pub allocs: Vec<JobStatusesAlloc>,
    /// The sum of the counts of the groups.
    pub group_count_sum: i64,
    /// Null for jobs that launch no others.
    pub child_statuses: Option<Vec<JobStatus>>,
    /// The periodic or parameterized job that launched this one; empty: none.
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    /// The last deployment; null: none, or the job launches others.
    pub latest_deployment: Option<JobStatusesLatestDeployment>,
    /// Whether the job was stopped.
    pub stop: bool,
    /// Whether the job's meta has a `pack.name`.
    pub is_pack: bool,
    /// `pending`, `running` or `dead`.
    pub status: JobStatus,
}

/// An allocation as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesAlloc {
    /// The allocation's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The task group.
    pub group: String,
    /// The client status: `pending`, `running`, `complete`, `failed`, `lost` or `unknown`.
    pub client_status: ClientStatus,
    /// The node it is placed on.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its health in a deployment.
    pub deployment_status: JobStatusesDeployment,
    /// The version of the job it was placed with.
    pub job_version: u64,
    /// The delayed evaluation that will look at it again; empty: none.
    #[serde(rename = "FollowupEvalID")]
    pub followup_eval_id: String,
    /// Whether a task schedule paused a task.
    pub has_paused_task: bool,
}

/// An allocation's part in a rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesDeployment {
    /// Whether it is a canary that was not promoted.
    pub canary: bool,
    /// Null: not decided yet.
    pub healthy: Option<bool>,
}

/// The last rollout of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesLatestDeployment {
    /// The deployment's ID.
    #[serde(rename = "ID")]
    pub id: String,
    /// Whether the deployment can still go on.
    pub is_active: bool,
    /// The version of the job that is rolled out.
    pub job_version: u64,
    /// `running`, `paused`, `successful`, `failed` or `cancelled`.
    pub status: DeploymentStatus,
    /// Why the status is what it is.
    pub status_description: String,
    /// Whether all canaries are promoted without an operator.
    pub all_auto_promote: bool,
    /// Whether canaries wait for promotion.
    pub requires_promotion: bool,
}

/// The answer to a stop of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AllocStopResponse {
    /// The evaluation.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// How many evaluations there are.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EvalCountResponse {
    /// How many there are.
    pub count: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    /// Whether the server knows a leader; false in most answers to writes.
    pub known_leader: bool,
    /// The first row of the next page; empty: there is none.
    pub next_token: String,
}

/// How many evaluations were deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EvalDeleteResponse {
    /// How many were deleted.
    pub count: u64,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// The answer to a change of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeploymentUpdateResponse {
    /// The evaluation; empty: none was made.
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    /// Raft index at which the evaluation was made; 0: none was made.
    pub eval_create_index: u64,
    /// Raft index of the change.
    pub deployment_modify_index: u64,
    /// The version the job went back to, if it did.
    pub reverted_job_version: Option<u64>,
    /// Raft index of the answer: of the data read, or of the write.
    pub index: u64,
}

/// A scaling policy as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ScalingPolicyListStub {
    /// A UUID that the server chooses.
    #[serde(rename = "ID")]
    pub id: String,
    /// Whether autoscalers may act.
    pub enabled: bool,
    /// `horizontal` (the count of a group), `vertical_cpu` or `vertical_mem` (resources of a task).
    pub r#type: ScalingPolicyType,
    /// The scaling target: `Namespace`, `Job`, `Group` and, if vertical, `Task`.
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

impl ScalingPolicy {
    /// The policy as lists show it.
    pub fn stub(&self) -> ScalingPolicyListStub {
        ScalingPolicyListStub {
            id: self.id.clone(),
            enabled: self.enabled,
            r#type: self.r#type.clone(),
            target: self.target.clone(),
            create_index: self.create_index,
            modify_index: self.modify_index,
        }
    }
}

impl Job {
    /// The job as lists show it.
    pub fn stub(&self, summary: Option<Arc<JobSummary>>, with_meta: bool) -> JobListStub {
        JobListStub {
            id: self.id.clone(),
            parent_id: self.parent_id.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            datacenters: self.datacenters.clone(),
            node_pool: self.node_pool.clone(),
            multiregion: self.multiregion.clone(),
            r#type: self.r#type.clone(),
            priority: self.priority,
            periodic: self.periodic.is_some(),
            parameterized_job: self.is_parameterized(),
            stop: self.stop,
            status: self.status.clone(),
            status_description: self.status_description.clone(),
            job_summary: summary,
            create_index: self.create_index,
            modify_index: self.modify_index,
            job_modify_index: self.job_modify_index,
            submit_time: self.submit_time,
            meta: if with_meta { self.meta.clone() } else { BTreeMap::new() },
        }
    }

    /// Whether the job launches others instead of running itself: periodic, enabled or not, or parameterized.
    pub fn launches_others(&self) -> bool {
        self.periodic.is_some() || self.is_parameterized()
    }
}
