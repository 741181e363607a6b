//! What the pages read of jobs, allocations, evaluations and deployments: only the fields that they show. Statuses are
//! the words of the API, because a page shows those that it does not know as well.

use std::collections::BTreeMap;

use encamp_model::json::null_is_default;
use encamp_model::{AllocMetric, JobChildrenSummary, PlanRejection, TaskGroupSummary, Time};
use serde::Deserialize;

/// A row of the list of jobs.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct JobRow {
    #[serde(rename = "ID")]
    pub id: String,
    pub name: String,
    pub namespace: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub priority: i64,
    pub periodic: bool,
    pub parameterized_job: bool,
    pub stop: bool,
    pub status: String,
    pub job_summary: JobCounts,
    pub submit_time: i64,
}

/// How many allocations of each group are in which state.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct JobCounts {
    pub summary: BTreeMap<String, TaskGroupSummary>,
    pub children: Option<JobChildrenSummary>,
}

/// A job.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Job {
    #[serde(rename = "ID")]
    pub id: String,
    #[serde(rename = "ParentID")]
    pub parent_id: String,
    pub name: String,
    pub namespace: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub priority: i64,
    pub datacenters: Vec<String>,
    pub node_pool: String,
    pub periodic: Option<Periodic>,
    pub parameterized_job: Option<Parameterized>,
    pub dispatched: bool,
    pub task_groups: Vec<Group>,
    pub stop: bool,
    pub stable: bool,
    pub status: String,
    pub status_description: String,
    pub version: u64,
    pub version_tag: Option<VersionTag>,
    pub submit_time: i64,
    pub meta: BTreeMap<String, String>,
}

/// The name of a version.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct VersionTag {
    pub name: String,
    pub description: String,
}

/// When a periodic job is launched.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Periodic {
    pub enabled: bool,
    pub spec: String,
    pub specs: Vec<String>,
    pub time_zone: String,
}

/// What a parameterized job takes.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Parameterized {
    pub payload: String,
    pub meta_required: Vec<String>,
    pub meta_optional: Vec<String>,
}

/// A task group of a job.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Group {
    pub name: String,
    pub count: i64,
    pub scaling: Option<Scaling>,
    pub tasks: Vec<Task>,
}

/// The limits of a group's count.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Scaling {
    pub min: i64,
    pub max: i64,
}

/// A task of a group.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Task {
    pub name: String,
    pub driver: String,
}

/// A command that a task of a job can run.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct JobAction {
    pub name: String,
    pub command: String,
    pub args: Vec<String>,
    pub task_name: String,
    pub task_group_name: String,
}

/// An allocation: a row of a list, or all of it.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Alloc {
    #[serde(rename = "ID")]
    pub id: String,
    #[serde(rename = "EvalID")]
    pub eval_id: String,
    pub name: String,
    pub namespace: String,
    #[serde(rename = "NodeID")]
    pub node_id: String,
    pub node_name: String,
    #[serde(rename = "JobID")]
    pub job_id: String,
    pub job: Option<Job>,
    pub job_version: u64,
    pub task_group: String,
    pub allocated_resources: Option<Allocated>,
    pub metrics: Option<AllocMetric>,
    pub desired_status: String,
    pub desired_description: String,
    pub client_status: String,
    pub client_description: String,
    pub task_states: BTreeMap<String, TaskState>,
    pub previous_allocation: String,
    pub next_allocation: String,
    #[serde(rename = "FollowupEvalID")]
    pub followup_eval_id: String,
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    pub deployment_status: Option<AllocHealth>,
    pub preempted_allocations: Vec<String>,
    pub preempted_by_allocation: String,
    pub create_time: i64,
    pub modify_time: i64,
}

/// What a deployment knows of an allocation.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocHealth {
    pub healthy: Option<bool>,
    pub canary: bool,
}

/// What an allocation may use.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Allocated {
    pub tasks: BTreeMap<String, AllocatedTask>,
    pub shared: AllocatedShared,
}

/// What a task may use.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedTask {
    pub cpu: AllocatedCpu,
    pub memory: AllocatedMemory,
    pub devices: Vec<AllocatedDevice>,
}

/// The CPU of a task.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedCpu {
    pub cpu_shares: i64,
    pub reserved_cores: Vec<u64>,
}

/// The memory of a task.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedMemory {
    #[serde(rename = "MemoryMB")]
    pub memory_mb: i64,
    #[serde(rename = "MemoryMaxMB")]
    pub memory_max_mb: i64,
}

/// The devices of one kind that a task has.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedDevice {
    pub vendor: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub name: String,
    #[serde(rename = "DeviceIDs")]
    pub device_ids: Vec<String>,
}

/// What the tasks of an allocation share.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedShared {
    #[serde(rename = "DiskMB")]
    pub disk_mb: i64,
    pub ports: Vec<AllocatedPort>,
}

/// A port of an allocation.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct AllocatedPort {
    pub label: String,
    pub value: i64,
    pub to: i64,
    #[serde(rename = "HostIP")]
    pub host_ip: String,
}

/// The state of a task.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct TaskState {
    pub state: String,
    pub failed: bool,
    pub restarts: u64,
    pub started_at: Time,
    pub finished_at: Time,
    pub events: Vec<TaskEvent>,
}

/// What happened to a task.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct TaskEvent {
    #[serde(rename = "Type")]
    pub kind: String,
    pub time: i64,
    pub display_message: String,
}

/// An evaluation: a row of a list, or all of it.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Eval {
    #[serde(rename = "ID")]
    pub id: String,
    pub namespace: String,
    pub priority: i64,
    #[serde(rename = "Type")]
    pub kind: String,
    pub triggered_by: String,
    #[serde(rename = "JobID")]
    pub job_id: String,
    #[serde(rename = "NodeID")]
    pub node_id: String,
    #[serde(rename = "DeploymentID")]
    pub deployment_id: String,
    pub status: String,
    pub status_description: String,
    pub wait_until: Time,
    pub next_eval: String,
    pub previous_eval: String,
    pub blocked_eval: String,
    pub related_evals: Vec<Eval>,
    #[serde(rename = "FailedTGAllocs")]
    pub failed_tg_allocs: BTreeMap<String, AllocMetric>,
    pub missing_non_node_resources: Vec<String>,
    pub queued_allocations: BTreeMap<String, i64>,
    pub plan_rejections: Vec<PlanRejection>,
    pub create_time: i64,
    pub modify_time: i64,
}

/// A deployment.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct Deployment {
    #[serde(rename = "ID")]
    pub id: String,
    pub namespace: String,
    #[serde(rename = "JobID")]
    pub job_id: String,
    pub job_version: u64,
    pub task_groups: BTreeMap<String, DeployedGroup>,
    pub status: String,
    pub status_description: String,
    pub create_time: i64,
    pub modify_time: i64,
}

/// How far a deployment is with a group.
#[null_is_default]
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub(crate) struct DeployedGroup {
    pub promoted: bool,
    pub auto_promote: bool,
    pub auto_revert: bool,
    pub placed_canaries: Vec<String>,
    pub desired_canaries: i64,
    pub desired_total: i64,
    pub placed_allocs: i64,
    pub healthy_allocs: i64,
    pub unhealthy_allocs: i64,
    pub require_progress_by: Time,
}

impl Deployment {
    /// Whether it can still be changed.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.status.as_str(), "successful" | "failed" | "cancelled")
    }

    /// Whether it waits until an operator promotes its canaries.
    pub(crate) fn waits_for_promotion(&self) -> bool {
        let waits = |g: &DeployedGroup| g.desired_canaries > 0 && !g.promoted && !g.auto_promote;
        self.is_active() && self.task_groups.values().any(waits)
    }
}
