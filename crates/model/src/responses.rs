//! What servers answer about jobs, evaluations, allocations, deployments and scaling: the objects that are not stored
//! but made for an answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::diff::JobDiff;
use super::job::{Job, Multiregion, ScalingPolicy};
use super::json::{is_default, nil};
use super::records::{JobSummary, ScalingEvent};

/// The answer to a registration, an evaluation, a rollback or a scaling.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobRegisterResponse {
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub eval_create_index: u64,
    pub job_modify_index: u64,
    pub warnings: String,
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    pub known_leader: bool,
    pub next_token: String,
}

/// The answer to the stop of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobDeregisterResponse {
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub eval_create_index: u64,
    pub job_modify_index: u64,
    #[serde(rename = "VolumeEvalID")]
    pub volume_eval_id: String,
    pub volume_eval_index: u64,
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    pub known_leader: bool,
    pub next_token: String,
}

/// The answer to a dispatch.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobDispatchResponse {
    #[serde(rename = "DispatchedJobID")]
    pub dispatched_job_id: String,
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub eval_create_index: u64,
    pub job_create_index: u64,
    pub index: u64,
}

/// The answer to a launch of a periodic job on demand.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PeriodicForceResponse {
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub eval_create_index: u64,
    pub index: u64,
}

/// The answer to a tag put on a version, or taken off.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobTagResponse {
    pub name: String,
    pub description: String,
    /// Unix nanoseconds.
    pub tagged_time: i64,
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    pub known_leader: bool,
    pub next_token: String,
}

/// An answer that tells an index and nothing else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GenericResponse {
    pub index: u64,
}

/// What a server thinks of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobValidateResponse {
    pub driver_config_validated: bool,
    #[serde(with = "nil")]
    pub validation_errors: Vec<String>,
    pub error: String,
    pub warnings: String,
}

/// The versions of a job, the newest first.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobVersionsResponse {
    pub versions: Vec<Arc<Job>>,
    /// What changed, if it was asked for.
    pub diffs: Option<Vec<JobDiff>>,
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    pub known_leader: bool,
    pub next_token: String,
}

/// A job as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobListStub {
    #[serde(rename = "ID")]
    pub id: String,
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    pub name: String,
    pub namespace: String,
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    pub node_pool: String,
    pub multiregion: Option<Multiregion>,
    pub r#type: String,
    pub priority: i64,
    pub periodic: bool,
    pub parameterized_job: bool,
    pub stop: bool,
    pub status: String,
    pub status_description: String,
    pub job_summary: Option<Arc<JobSummary>>,
    pub create_index: u64,
    pub modify_index: u64,
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
    pub name: String,
    pub command: String,
    #[serde(with = "nil")]
    pub args: Vec<String>,
    pub task_name: String,
    pub task_group_name: String,
}

/// Counts and scaling events of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobScaleStatus {
    #[serde(rename = "JobID")]
    pub job_id: String,
    pub namespace: String,
    pub job_create_index: u64,
    pub job_modify_index: u64,
    pub job_stopped: bool,
    pub task_groups: BTreeMap<String, TaskGroupScaleStatus>,
}

/// Counts and scaling events of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct TaskGroupScaleStatus {
    pub desired: i64,
    pub placed: i64,
    pub running: i64,
    pub healthy: i64,
    pub unhealthy: i64,
    /// The newest first.
    #[serde(with = "nil")]
    pub events: Vec<ScalingEvent>,
}

/// A job as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesJob {
    #[serde(rename = "ID")]
    pub id: String,
    pub namespace: String,
    pub name: String,
    pub r#type: String,
    pub node_pool: String,
    #[serde(with = "nil")]
    pub datacenters: Vec<String>,
    pub priority: i64,
    pub version: u64,
    /// Unix nanoseconds.
    pub submit_time: i64,
    pub modify_index: u64,
    #[serde(with = "nil")]
    pub allocs: Vec<JobStatusesAlloc>,
    pub group_count_sum: i64,
    /// Null for jobs that launch no others.
    pub child_statuses: Option<Vec<String>>,
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    pub latest_deployment: Option<JobStatusesLatestDeployment>,
    pub stop: bool,
    pub is_pack: bool,
    pub status: String,
}

/// An allocation as overviews show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesAlloc {
    #[serde(rename = "ID")]
    pub id: String,
    pub group: String,
    pub client_status: String,
    #[serde(rename = "NodeID")]
    pub node_id: String,
    pub deployment_status: JobStatusesDeployment,
    pub job_version: u64,
    #[serde(rename = "FollowupEvalID")]
    pub followup_eval_id: String,
    pub has_paused_task: bool,
}

/// An allocation's part in a rollout.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesDeployment {
    pub canary: bool,
    pub healthy: Option<bool>,
}

/// The last rollout of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct JobStatusesLatestDeployment {
    #[serde(rename = "ID")]
    pub id: String,
    pub is_active: bool,
    pub job_version: u64,
    pub status: String,
    pub status_description: String,
    pub all_auto_promote: bool,
    pub requires_promotion: bool,
}

/// The answer to a stop of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct AllocStopResponse {
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub index: u64,
}

/// How many evaluations there are.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EvalCountResponse {
    pub count: u64,
    pub index: u64,
    /// Nanoseconds.
    pub last_contact: i64,
    pub known_leader: bool,
    pub next_token: String,
}

/// How many evaluations were deleted.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct EvalDeleteResponse {
    pub count: u64,
    pub index: u64,
}

/// The answer to a change of a deployment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DeploymentUpdateResponse {
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub eval_create_index: u64,
    pub deployment_modify_index: u64,
    /// The version the job went back to, if it did.
    pub reverted_job_version: Option<u64>,
    pub index: u64,
}

/// A scaling policy as lists show it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ScalingPolicyListStub {
    #[serde(rename = "ID")]
    pub id: String,
    pub enabled: bool,
    pub r#type: String,
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    pub create_index: u64,
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
