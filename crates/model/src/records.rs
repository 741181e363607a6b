//! Records that servers store besides jobs: counts, scaling events, launches, sources, registered services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{nil, nil_lists, null_is_default};
use super::time::Time;

/// How many allocations of a job are in which state.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSummary {
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// By task group.
    #[serde(with = "nil")]
    pub summary: BTreeMap<String, TaskGroupSummary>,
    /// The jobs a periodic or parameterized job launched.
    pub children: Option<JobChildrenSummary>,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// How many allocations of a task group are in which state.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupSummary {
    /// Allocations that could not be placed yet.
    pub queued: i64,
    /// Allocations with the client status `complete`.
    pub complete: i64,
    /// Allocations with the client status `failed`.
    pub failed: i64,
    /// Allocations with the client status `running`.
    pub running: i64,
    /// Allocations with the client status `pending`.
    pub starting: i64,
    /// Allocations with the client status `lost`.
    pub lost: i64,
    /// Allocations with the client status `unknown`.
    pub unknown: i64,
}

/// How many children of a job are in which state.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobChildrenSummary {
    /// Children with the status `pending`.
    pub pending: i64,
    /// Children with the status `running`.
    pub running: i64,
    /// Children with the status `dead`.
    pub dead: i64,
}

/// The last scaling events of a job.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobScalingEvents {
    /// The namespace of the job.
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// By task group, the newest first.
    #[serde(with = "nil_lists")]
    pub scaling_events: BTreeMap<String, Vec<ScalingEvent>>,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// A change of a count, or a note about one.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingEvent {
    /// Unix nanoseconds.
    pub time: i64,
    /// The new count; null where it stayed.
    pub count: Option<i64>,
    /// The count before.
    pub previous_count: i64,
    /// Why, in the words of who asked.
    pub message: String,
    /// Whether it reports a failure.
    pub error: bool,
    /// Free-form values of who asked.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, Value>,
    /// The evaluation that followed; null: none.
    #[serde(rename = "EvalID")]
    pub eval_id: Option<String>,
    /// Raft index of the write that recorded the event.
    pub create_index: u64,
}

/// When a periodic job launched last.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicLaunch {
    /// The ID of the periodic job.
    #[serde(rename = "ID")]
    pub id: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The time that its last child was launched for.
    pub launch: Time,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}

/// The job file that a version of a job was made from.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSubmission {
    /// The text of the job file.
    pub source: String,
    /// `hcl2`, `hcl1` or `json`.
    pub format: String,
    /// Values of `-var` flags, by variable.
    #[serde(with = "nil")]
    pub variable_flags: BTreeMap<String, String>,
    /// Content of variable files.
    pub variables: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The version of the job.
    pub version: u64,
    /// The `JobModifyIndex` of that version.
    pub job_modify_index: u64,
}

/// An instance of a service of the built-in provider.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceRegistration {
    /// `_nomad-task-<allocation>-group-<group>-<service>-<port>`, or with the task in place of `group-<group>`.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name of the service.
    pub service_name: String,
    /// The namespace of the job.
    pub namespace: String,
    /// The node that registered it.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The datacenter of that node.
    pub datacenter: String,
    /// The job's ID.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// The allocation.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// In the order of the job file.
    #[serde(with = "nil")]
    pub tags: Vec<String>,
    /// The address of the service.
    pub address: String,
    /// The port of the service; 0: none.
    pub port: i64,
    /// Raft index of the write that created the object.
    pub create_index: u64,
    /// Raft index of the last write to the object.
    pub modify_index: u64,
}
