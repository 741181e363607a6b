//! What the pages read of jobs, allocations, evaluations and deployments: only the fields that they show.

use std::collections::BTreeMap;

use encamp_model::{AllocMetric, JobChildrenSummary, PlanRejection, TaskGroupSummary, Time};
use encamp_model::{
    ClientStatus, DeploymentStatus, DesiredStatus, EvalStatus, EvalTrigger, JobStatus, JobType, TaskStatus,
};

/// Declares objects of answers: fields are named as in Rust, absent ones and null are the default.
macro_rules! answers {
    ($($(#[$about:meta])* $name:ident { $($(#[$of:meta])* $field:ident: $type:ty,)* })*) => { $(
        $(#[$about])*
        #[encamp_model::json::null_is_default]
        #[derive(Debug, Default, serde::Deserialize)]
        #[serde(rename_all = "PascalCase", default)]
        pub(crate) struct $name { $($(#[$of])* pub $field: $type,)* }
    )* };
}
pub(crate) use answers;

answers! {
    /// A row of the list of jobs.
    JobRow {
        #[serde(rename = "ID")]
        id: String,
        name: String,
        namespace: String,
        #[serde(rename = "Type")]
        kind: JobType,
        priority: i64,
        periodic: bool,
        parameterized_job: bool,
        stop: bool,
        status: JobStatus,
        job_summary: JobCounts,
        submit_time: i64,
    }

    /// How many allocations of each group are in which state.
    JobCounts {
        summary: BTreeMap<String, TaskGroupSummary>,
        children: Option<JobChildrenSummary>,
    }

    /// A job.
    Job {
        #[serde(rename = "ID")]
        id: String,
        #[serde(rename = "ParentID")]
        parent_id: String,
        name: String,
        namespace: String,
        #[serde(rename = "Type")]
        kind: JobType,
        priority: i64,
        datacenters: Vec<String>,
        node_pool: String,
        periodic: Option<Periodic>,
        parameterized_job: Option<Parameterized>,
        task_groups: Vec<Group>,
        stop: bool,
        stable: bool,
        status: JobStatus,
        status_description: String,
        version: u64,
        version_tag: Option<VersionTag>,
        submit_time: i64,
        meta: BTreeMap<String, String>,
    }

    /// The name of a version.
    VersionTag {
        name: String,
        description: String,
    }

    /// When a periodic job is launched.
    Periodic {
        enabled: bool,
        spec: String,
        specs: Vec<String>,
        time_zone: String,
    }

    /// What a parameterized job takes.
    Parameterized {
        payload: String,
        meta_required: Vec<String>,
        meta_optional: Vec<String>,
    }

    /// A task group of a job.
    Group {
        name: String,
        count: i64,
        scaling: Option<Scaling>,
        tasks: Vec<Task>,
    }

    /// The limits of a group's count.
    Scaling {
        min: i64,
        max: i64,
    }

    /// A task of a group.
    Task {
        name: String,
        driver: String,
    }

    /// A command that a task of a job can run.
    JobAction {
        name: String,
        command: String,
        args: Vec<String>,
        task_name: String,
        task_group_name: String,
    }

    /// An allocation: a row of a list, or all of it.
    Alloc {
        #[serde(rename = "ID")]
        id: String,
        #[serde(rename = "EvalID")]
        eval_id: String,
        name: String,
        namespace: String,
        #[serde(rename = "NodeID")]
        node_id: String,
        node_name: String,
        #[serde(rename = "JobID")]
        job_id: String,
        job: Option<Job>,
        job_version: u64,
        task_group: String,
        allocated_resources: Option<Allocated>,
        metrics: Option<AllocMetric>,
        desired_status: DesiredStatus,
        desired_description: String,
        client_status: ClientStatus,
        client_description: String,
        task_states: BTreeMap<String, TaskState>,
        previous_allocation: String,
        next_allocation: String,
        #[serde(rename = "FollowupEvalID")]
        followup_eval_id: String,
        #[serde(rename = "DeploymentID")]
        deployment_id: String,
        deployment_status: Option<AllocHealth>,
        preempted_allocations: Vec<String>,
        preempted_by_allocation: String,
        create_time: i64,
        modify_time: i64,
    }

    /// What a deployment knows of an allocation.
    AllocHealth {
        healthy: Option<bool>,
        canary: bool,
    }

    /// What an allocation may use.
    Allocated {
        tasks: BTreeMap<String, AllocatedTask>,
        shared: AllocatedShared,
    }

    /// What a task may use.
    AllocatedTask {
        cpu: AllocatedCpu,
        memory: AllocatedMemory,
        devices: Vec<AllocatedDevice>,
    }

    /// The CPU of a task.
    AllocatedCpu {
        cpu_shares: i64,
        reserved_cores: Vec<u64>,
    }

    /// The memory of a task.
    AllocatedMemory {
        #[serde(rename = "MemoryMB")]
        memory_mb: i64,
        #[serde(rename = "MemoryMaxMB")]
        memory_max_mb: i64,
    }

    /// The devices of one kind that a task has.
    AllocatedDevice {
        vendor: String,
        #[serde(rename = "Type")]
        kind: String,
        name: String,
        #[serde(rename = "DeviceIDs")]
        device_ids: Vec<String>,
    }

    /// What the tasks of an allocation share.
    AllocatedShared {
        #[serde(rename = "DiskMB")]
        disk_mb: i64,
        ports: Vec<AllocatedPort>,
    }

    /// A port of an allocation.
    AllocatedPort {
        label: String,
        value: i64,
        to: i64,
        #[serde(rename = "HostIP")]
        host_ip: String,
    }

    /// The state of a task.
    TaskState {
        state: TaskStatus,
        failed: bool,
        restarts: u64,
        started_at: Time,
        finished_at: Time,
        events: Vec<TaskEvent>,
    }

    /// What happened to a task.
    TaskEvent {
        #[serde(rename = "Type")]
        kind: String,
        time: i64,
        display_message: String,
    }

    /// An evaluation: a row of a list, or all of it.
    Eval {
        #[serde(rename = "ID")]
        id: String,
        namespace: String,
        priority: i64,
        #[serde(rename = "Type")]
        kind: JobType,
        triggered_by: EvalTrigger,
        #[serde(rename = "JobID")]
        job_id: String,
        #[serde(rename = "NodeID")]
        node_id: String,
        #[serde(rename = "DeploymentID")]
        deployment_id: String,
        status: EvalStatus,
        status_description: String,
        wait_until: Time,
        next_eval: String,
        previous_eval: String,
        blocked_eval: String,
        related_evals: Vec<Eval>,
        #[serde(rename = "FailedTGAllocs")]
        failed_tg_allocs: BTreeMap<String, AllocMetric>,
        missing_non_node_resources: Vec<String>,
        plan_rejections: Vec<PlanRejection>,
        create_time: i64,
        modify_time: i64,
    }

    /// A deployment.
    Deployment {
        #[serde(rename = "ID")]
        id: String,
        namespace: String,
        #[serde(rename = "JobID")]
        job_id: String,
        job_version: u64,
        task_groups: BTreeMap<String, DeployedGroup>,
        status: DeploymentStatus,
        status_description: String,
        create_time: i64,
        modify_time: i64,
    }

    /// How far a deployment is with a group.
    DeployedGroup {
        promoted: bool,
        auto_promote: bool,
        auto_revert: bool,
        placed_canaries: Vec<String>,
        desired_canaries: i64,
        desired_total: i64,
        placed_allocs: i64,
        healthy_allocs: i64,
        unhealthy_allocs: i64,
        require_progress_by: Time,
    }
}

impl Deployment {
    /// Whether it can still be changed.
    pub(crate) fn is_active(&self) -> bool {
        !matches!(self.status, DeploymentStatus::Successful | DeploymentStatus::Failed | DeploymentStatus::Cancelled)
    }

    /// Whether it waits until an operator promotes its canaries.
    pub(crate) fn waits_for_promotion(&self) -> bool {
        let waits = |g: &DeployedGroup| g.desired_canaries > 0 && !g.promoted && !g.auto_promote;
        self.is_active() && self.task_groups.values().any(waits)
    }
}
