//! Records that servers store besides jobs: counts, scaling events, launches, sources, registered services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{nil, nil_lists, or_default};
use super::time::Time;

/// How many allocations of a job are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSummary {
    /// The job's ID.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// The namespace of the job.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// By task group.
    #[serde(with = "nil")]
    pub summary: BTreeMap<String, TaskGroupSummary>,
    /// The jobs a periodic or parameterized job launched.
    pub children: Option<JobChildrenSummary>,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// How many allocations of a task group are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupSummary {
    /// Allocations that could not be placed yet.
    #[serde(deserialize_with = "or_default")]
    pub queued: i64,
    /// Allocations with the client status `complete`.
    #[serde(deserialize_with = "or_default")]
    pub complete: i64,
    /// Allocations with the client status `failed`.
    #[serde(deserialize_with = "or_default")]
    pub failed: i64,
    /// Allocations with the client status `running`.
    #[serde(deserialize_with = "or_default")]
    pub running: i64,
    /// Allocations with the client status `pending`.
    #[serde(deserialize_with = "or_default")]
    pub starting: i64,
    /// Allocations with the client status `lost`.
    #[serde(deserialize_with = "or_default")]
    pub lost: i64,
    /// Allocations with the client status `unknown`.
    #[serde(deserialize_with = "or_default")]
    pub unknown: i64,
}

/// How many children of a job are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobChildrenSummary {
    /// Children with the status `pending`.
    #[serde(deserialize_with = "or_default")]
    pub pending: i64,
    /// Children with the status `running`.
    #[serde(deserialize_with = "or_default")]
    pub running: i64,
    /// Children with the status `dead`.
    #[serde(deserialize_with = "or_default")]
    pub dead: i64,
}

/// The last scaling events of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobScalingEvents {
    /// The namespace of the job.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// By task group, the newest first.
    #[serde(with = "nil_lists")]
    pub scaling_events: BTreeMap<String, Vec<ScalingEvent>>,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A change of a count, or a note about one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingEvent {
    /// Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub time: i64,
    /// The new count; null where it stayed.
    pub count: Option<i64>,
    /// The count before.
    #[serde(deserialize_with = "or_default")]
    pub previous_count: i64,
    /// Why, in the words of who asked.
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    /// Whether it reports a failure.
    #[serde(deserialize_with = "or_default")]
    pub error: bool,
    /// Free-form values of who asked.
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, Value>,
    /// The evaluation that followed; null: none.
    #[serde(rename = "EvalID")]
    pub eval_id: Option<String>,
    /// Raft index of the write that recorded the event.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
}

/// When a periodic job launched last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicLaunch {
    /// The ID of the periodic job.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// The namespace of the job.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The time that its last child was launched for.
    #[serde(deserialize_with = "or_default")]
    pub launch: Time,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The job file that a version of a job was made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSubmission {
    /// The text of the job file.
    #[serde(deserialize_with = "or_default")]
    pub source: String,
    /// `hcl2`, `hcl1` or `json`.
    #[serde(deserialize_with = "or_default")]
    pub format: String,
    /// Values of `-var` flags, by variable.
    #[serde(with = "nil")]
    pub variable_flags: BTreeMap<String, String>,
    /// Content of variable files.
    #[serde(deserialize_with = "or_default")]
    pub variables: String,
    /// The namespace of the job.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The job's ID.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// The version of the job.
    #[serde(deserialize_with = "or_default")]
    pub version: u64,
    /// The `JobModifyIndex` of that version.
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
}

/// An instance of a service of the built-in provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceRegistration {
    /// `_nomad-task-<allocation>-group-<group>-<service>-<port>`, or with the task in place of `group-<group>`.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// The name of the service.
    #[serde(deserialize_with = "or_default")]
    pub service_name: String,
    /// The namespace of the job.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The node that registered it.
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    /// The datacenter of that node.
    #[serde(deserialize_with = "or_default")]
    pub datacenter: String,
    /// The job's ID.
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// The allocation.
    #[serde(rename = "AllocID", deserialize_with = "or_default")]
    pub alloc_id: String,
    /// In the order of the job file.
    #[serde(with = "nil")]
    pub tags: Vec<String>,
    /// The address of the service.
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    /// The port of the service; 0: none.
    #[serde(deserialize_with = "or_default")]
    pub port: i64,
    /// Raft index of the write that created the object.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Raft index of the last write to the object.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}
