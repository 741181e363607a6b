//! Evaluations, deployments and plan annotations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::alloc::*;
use super::diff::*;
use super::json::{is_default, nil, or_default};
use super::plan::PlanRejection;
use super::time::Time;

/// A request to look at one job; the unit of scheduling.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Evaluation {
    #[serde(rename = "ID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub priority: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub triggered_by: String,
    #[serde(rename = "JobID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub job_modify_index: u64,
    #[serde(rename = "NodeID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub node_modify_index: u64,
    #[serde(rename = "DeploymentID", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deployment_id: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub status: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub status_description: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub wait: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub wait_until: Time,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub next_eval: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub previous_eval: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub blocked_eval: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub related_evals: Vec<EvaluationStub>,
    #[serde(rename = "FailedTGAllocs", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub failed_tg_allocs: BTreeMap<String, AllocMetric>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_annotations: Option<Box<PlanAnnotations>>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub class_eligibility: BTreeMap<String, bool>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub quota_limit_reached: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub missing_non_node_resources: Vec<String>,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub escaped_computed_class: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub annotate_plan: bool,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub queued_allocations: BTreeMap<String, i64>,
    /// What nodes rejected of the last plan, where the evaluation failed because its plans were rejected. Nomad's own
    /// evaluations do not say it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub plan_rejections: Vec<PlanRejection>,
    #[serde(rename = "LeaderACL", deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub leader_acl: String,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub snapshot_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub modify_time: i64,
}

/// The health record of one job version's rollout.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Deployment {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub job_version: u64,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub job_spec_modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub job_create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub is_multiregion: bool,
    #[serde(with = "nil")]
    pub task_groups: BTreeMap<String, Option<DeploymentState>>,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    #[serde(deserialize_with = "or_default")]
    pub status_description: String,
    #[serde(deserialize_with = "or_default")]
    pub eval_priority: i64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
}

/// The answer of a dry run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobPlanResponse {
    pub annotations: Option<PlanAnnotations>,
    #[serde(rename = "FailedTGAllocs", with = "nil")]
    pub failed_tg_allocs: BTreeMap<String, AllocMetric>,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
    #[serde(with = "nil")]
    pub created_evals: Vec<Evaluation>,
    pub diff: Option<JobDiff>,
    #[serde(deserialize_with = "or_default")]
    pub next_periodic_launch: Time,
    #[serde(deserialize_with = "or_default")]
    pub warnings: String,
    /// What nodes would reject of the plan. Nomad's own answers do not say it.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub plan_rejections: Vec<PlanRejection>,
    #[serde(deserialize_with = "or_default")]
    pub index: u64,
}

/// The `EvaluationStub` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct EvaluationStub {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub priority: i64,
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub triggered_by: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(rename = "DeploymentID", deserialize_with = "or_default")]
    pub deployment_id: String,
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    #[serde(deserialize_with = "or_default")]
    pub status_description: String,
    #[serde(deserialize_with = "or_default")]
    pub wait_until: Time,
    #[serde(deserialize_with = "or_default")]
    pub next_eval: String,
    #[serde(deserialize_with = "or_default")]
    pub previous_eval: String,
    #[serde(deserialize_with = "or_default")]
    pub blocked_eval: String,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub create_time: i64,
    #[serde(deserialize_with = "or_default")]
    pub modify_time: i64,
}

/// What a dry run tells about a plan: counts per group and the victims of preemption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PlanAnnotations {
    #[serde(rename = "DesiredTGUpdates", with = "nil")]
    pub desired_tg_updates: BTreeMap<String, DesiredUpdates>,
    #[serde(with = "nil")]
    pub preempted_allocs: Vec<AllocListStub>,
}

/// The rollout of one task group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DeploymentState {
    #[serde(deserialize_with = "or_default")]
    pub auto_revert: bool,
    #[serde(deserialize_with = "or_default")]
    pub auto_promote: bool,
    #[serde(deserialize_with = "or_default")]
    pub progress_deadline: i64,
    #[serde(deserialize_with = "or_default")]
    pub require_progress_by: Time,
    #[serde(deserialize_with = "or_default")]
    pub promoted: bool,
    #[serde(with = "nil")]
    pub placed_canaries: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub desired_canaries: i64,
    #[serde(deserialize_with = "or_default")]
    pub desired_total: i64,
    #[serde(deserialize_with = "or_default")]
    pub placed_allocs: i64,
    #[serde(deserialize_with = "or_default")]
    pub healthy_allocs: i64,
    #[serde(deserialize_with = "or_default")]
    pub unhealthy_allocs: i64,
}

/// Counts per task group of what a plan does (`docs/spec/reconciliation.md §10.1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct DesiredUpdates {
    #[serde(deserialize_with = "or_default")]
    pub ignore: u64,
    #[serde(deserialize_with = "or_default")]
    pub place: u64,
    #[serde(deserialize_with = "or_default")]
    pub migrate: u64,
    #[serde(deserialize_with = "or_default")]
    pub stop: u64,
    #[serde(deserialize_with = "or_default")]
    pub in_place_update: u64,
    #[serde(deserialize_with = "or_default")]
    pub destructive_update: u64,
    #[serde(deserialize_with = "or_default")]
    pub canary: u64,
    #[serde(deserialize_with = "or_default")]
    pub preemptions: u64,
    #[serde(deserialize_with = "or_default")]
    pub disconnect: u64,
    #[serde(deserialize_with = "or_default")]
    pub reconnect: u64,
    #[serde(deserialize_with = "or_default")]
    pub reschedule_now: u64,
    #[serde(deserialize_with = "or_default")]
    pub reschedule_later: u64,
}
