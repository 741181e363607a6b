//! Evaluations, deployments and plan annotations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use super::alloc::*;
use super::diff::*;
use super::json::{is_default, nil, null_is_default};
use super::plan::PlanRejection;
use super::secret::SecretString;
use super::sorted_map::SortedMap;
use super::status::{DeploymentStatus, EvalStatus, EvalTrigger, JobType};
use super::text::{Text, UniqueText};
use super::time::Time;

/// A request to look at one job; the unit of scheduling.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Evaluation {
    /// A UUID; the schedulers derive the order of nodes from it.
    #[serde(rename = "ID", skip_serializing_if = "is_default")]
    pub id: UniqueText,
    /// The namespace of the job; `-` for core evaluations.
    #[serde(skip_serializing_if = "is_default")]
    pub namespace: Text,
    /// The job's priority, or what the request asked for; a larger one takes precedence.
    #[serde(skip_serializing_if = "is_default")]
    pub priority: i64,
    /// The scheduler: `service`, `batch`, `system`, `sysbatch` or `_core`.
    #[serde(skip_serializing_if = "is_default")]
    pub r#type: JobType,
    /// The trigger: `job-register`, `node-update`, … (`docs/spec/reconciliation.md §2.2`).
    #[serde(skip_serializing_if = "is_default")]
    pub triggered_by: EvalTrigger,
    /// The job's ID; of core evaluations the kind of work.
    #[serde(rename = "JobID", skip_serializing_if = "is_default")]
    pub job_id: Text,
    /// The job's Raft index when the evaluation was made; the schedulers do not read it.
    #[serde(skip_serializing_if = "is_default")]
    pub job_modify_index: u64,
    /// The node that it is about; empty: none.
    #[serde(rename = "NodeID", skip_serializing_if = "is_default")]
    pub node_id: Text,
    /// Raft index of the change of that node.
    #[serde(skip_serializing_if = "is_default")]
    pub node_modify_index: u64,
    /// The deployment that it is about; empty: none.
    #[serde(rename = "DeploymentID", skip_serializing_if = "is_default")]
    pub deployment_id: Text,
    /// `pending`, `blocked`, `complete`, `failed` or `canceled`.
    #[serde(skip_serializing_if = "is_default")]
    pub status: EvalStatus,
    /// Why the status is what it is.
    #[serde(skip_serializing_if = "is_default")]
    pub status_description: Text,
    /// Nanoseconds to wait before it is processed; `wait_until` takes its place.
    #[serde(skip_serializing_if = "is_default")]
    pub wait: i64,
    /// When it is processed; null: at once.
    #[serde(skip_serializing_if = "is_default")]
    pub wait_until: Time,
    /// The evaluation that follows on it; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub next_eval: Text,
    /// The evaluation that made it; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub previous_eval: Text,
    /// The blocked evaluation for what could not be placed; empty: none.
    #[serde(skip_serializing_if = "is_default")]
    pub blocked_eval: Text,
    /// Evaluations linked with it; only in answers that were asked for them.
    #[serde(skip_serializing_if = "is_default")]
    pub related_evals: ThinVec<EvaluationStub>,
    /// The node search that failed, by task group.
    #[serde(rename = "FailedTGAllocs", skip_serializing_if = "is_default")]
    pub failed_tg_allocs: BTreeMap<String, AllocMetric>,
    /// The changes of its plan, per task group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_annotations: Option<Box<PlanAnnotations>>,
    /// Blocked: whether nodes of a computed class fit, by class.
    #[serde(skip_serializing_if = "is_default")]
    pub class_eligibility: BTreeMap<String, bool>,
    /// Always empty: quotas belong to the enterprise edition.
    #[serde(skip_serializing_if = "is_default")]
    pub quota_limit_reached: Text,
    /// Blocked: what is missing that no node has: `csi-volume:<namespace>:<id>`.
    #[serde(skip_serializing_if = "is_default")]
    pub missing_non_node_resources: ThinVec<String>,
    /// Blocked: whether the job depends on more than the computed class of nodes.
    #[serde(skip_serializing_if = "is_default")]
    pub escaped_computed_class: bool,
    /// Whether the plan gets annotations: it is a dry run.
    #[serde(skip_serializing_if = "is_default")]
    pub annotate_plan: bool,
    /// How many allocations could not be placed, by task group.
    #[serde(skip_serializing_if = "is_default")]
    pub queued_allocations: SortedMap<i64>,
    /// The rejections of the last plan by node, where the evaluation failed because its plans were rejected.
    /// Evaluations of Nomad lack this field.
    #[serde(skip_serializing_if = "is_default")]
    pub plan_rejections: ThinVec<PlanRejection>,
    /// The token of the leader that made a core evaluation. A secret.
    #[serde(rename = "LeaderACL", skip_serializing_if = "SecretString::is_hidden")]
    pub leader_acl: SecretString,
    /// Raft index of the state that the scheduler started with.
    #[serde(skip_serializing_if = "is_default")]
    pub snapshot_index: u64,
    /// Raft index of the write that created the object.
    #[serde(skip_serializing_if = "is_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(skip_serializing_if = "is_default")]
    pub modify_index: u64,
    /// Unix nanoseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub create_time: i64,
    /// Unix nanoseconds.
    #[serde(skip_serializing_if = "is_default")]
    pub modify_time: i64,
}

/// The health record of one job version's rollout.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Deployment {
    /// A UUID.
    #[serde(rename = "ID")]
    pub id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The version of the job that is rolled out.
    pub job_version: u64,
    /// The job's `ModifyIndex` when the deployment was made.
    pub job_modify_index: u64,
    /// The job's `JobModifyIndex` when the deployment was made.
    pub job_spec_modify_index: u64,
    /// The job's `CreateIndex`: tells a job from an earlier one of the same ID.
    pub job_create_index: u64,
    /// Always false: multi-region jobs belong to the enterprise edition.
    pub is_multiregion: bool,
    /// The rollout of each group, by name.
    #[serde(with = "nil")]
    pub task_groups: BTreeMap<String, Option<DeploymentState>>,
    /// `running`, `paused`, `successful`, `failed` or `cancelled`; others belong to multi-region jobs.
    pub status: DeploymentStatus,
    /// Why the status is what it is (`docs/spec/reconciliation.md §2.6`).
    pub status_description: String,
    /// The priority of evaluations that the deployment makes; 0: the job's.
    pub eval_priority: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub modify_time: i64,
}

/// The answer of a dry run.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobPlanResponse {
    /// The annotations of the plan; null: there is no plan.
    pub annotations: Option<PlanAnnotations>,
    /// The node search that failed, by task group; null: all was placed.
    #[serde(rename = "FailedTGAllocs", with = "nil")]
    pub failed_tg_allocs: BTreeMap<String, AllocMetric>,
    /// The `JobModifyIndex` of the stored job; 0: the job is new.
    pub job_modify_index: u64,
    /// Blocked and delayed evaluations that the scheduler would make.
    #[serde(with = "nil")]
    pub created_evals: Vec<Evaluation>,
    /// The diff of the job; null if not requested.
    pub diff: Option<JobDiff>,
    /// When the job would launch next; null: it is not periodic.
    pub next_periodic_launch: Time,
    /// Warnings about the job, as one text; empty: none.
    pub warnings: String,
    /// The parts of the plan that would be rejected, by node. Answers of Nomad lack this field.
    #[serde(skip_serializing_if = "is_default")]
    pub plan_rejections: Vec<PlanRejection>,
    /// The same as `job_modify_index`.
    pub index: u64,
}

/// The `EvaluationStub` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvaluationStub {
    /// A UUID; the schedulers derive the order of nodes from it.
    #[serde(rename = "ID")]
    pub id: UniqueText,
    /// The namespace of the job; `-` for core evaluations.
    pub namespace: Text,
    /// The job's priority, or what the request asked for; a larger one takes precedence.
    pub priority: i64,
    /// The scheduler: `service`, `batch`, `system`, `sysbatch` or `_core`.
    pub r#type: JobType,
    /// The trigger: `job-register`, `node-update`, … (`docs/spec/reconciliation.md §2.2`).
    pub triggered_by: EvalTrigger,
    /// The job's ID; of core evaluations the kind of work.
    #[serde(rename = "JobID")]
    pub job_id: Text,
    /// The node that it is about; empty: none.
    #[serde(rename = "NodeID")]
    pub node_id: Text,
    /// The deployment that it is about; empty: none.
    #[serde(rename = "DeploymentID")]
    pub deployment_id: Text,
    /// `pending`, `blocked`, `complete`, `failed` or `canceled`.
    pub status: EvalStatus,
    /// Why the status is what it is.
    pub status_description: Text,
    /// When it is processed; null: at once.
    pub wait_until: Time,
    /// The evaluation that follows on it; empty: none.
    pub next_eval: Text,
    /// The evaluation that made it; empty: none.
    pub previous_eval: Text,
    /// The blocked evaluation for what could not be placed; empty: none.
    pub blocked_eval: Text,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
    /// Unix nanoseconds.
    pub create_time: i64,
    /// Unix nanoseconds.
    pub modify_time: i64,
}

/// The annotations that a dry run adds to a plan: counts per group and the victims of preemption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PlanAnnotations {
    /// By task group.
    #[serde(rename = "DesiredTGUpdates", with = "nil")]
    pub desired_tg_updates: BTreeMap<String, DesiredUpdates>,
    /// The allocations that are evicted.
    #[serde(with = "nil")]
    pub preempted_allocs: Vec<AllocListStub>,
}

/// The rollout of one task group.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentState {
    /// Whether the job goes back to the last stable version if the deployment fails.
    pub auto_revert: bool,
    /// Whether canaries are promoted as soon as all are healthy.
    pub auto_promote: bool,
    /// Nanoseconds that may pass without a newly healthy allocation; 0: no limit, but the first unhealthy one fails the
    /// deployment.
    pub progress_deadline: i64,
    /// When the deployment fails unless another allocation is healthy; null: nothing is placed yet, or there is no
    /// limit.
    pub require_progress_by: Time,
    /// Whether the canaries were promoted.
    pub promoted: bool,
    /// IDs of the canaries.
    #[serde(with = "nil")]
    pub placed_canaries: Vec<String>,
    /// How many canaries there should be.
    pub desired_canaries: i64,
    /// How many allocations of the new version there should be.
    pub desired_total: i64,
    /// How many allocations of the new version were placed.
    pub placed_allocs: i64,
    /// How many of them are healthy.
    pub healthy_allocs: i64,
    /// How many of them are unhealthy.
    pub unhealthy_allocs: i64,
}

/// Counts per task group of what a plan does (`docs/spec/reconciliation.md §10.1`).
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DesiredUpdates {
    /// Allocations that stay as they are.
    pub ignore: u64,
    /// New allocations; of system jobs all feasible nodes.
    pub place: u64,
    /// Allocations that leave a draining node.
    pub migrate: u64,
    /// Allocations that are stopped.
    pub stop: u64,
    /// Allocations that are updated without a restart.
    pub in_place_update: u64,
    /// Allocations that are replaced by a new version.
    pub destructive_update: u64,
    /// Canaries.
    pub canary: u64,
    /// Allocations of other jobs that are evicted.
    pub preemptions: u64,
    /// Allocations that become `unknown`.
    pub disconnect: u64,
    /// Allocations that came back from `unknown`.
    pub reconnect: u64,
    /// Failed allocations that are replaced at once.
    pub reschedule_now: u64,
    /// Failed allocations that are replaced after a delay.
    pub reschedule_later: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_evaluations_fit() {
        // With its reference counts, it takes a block of 384 bytes.
        assert!(size_of::<Evaluation>() <= 368, "{}", size_of::<Evaluation>());
    }
}
