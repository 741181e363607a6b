//! What servers keep beside jobs: counts, scaling events, launches, sources, registered services.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{nil, nil_lists, or_default};
use super::time::Time;

/// How many allocations of a job are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSummary {
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// By task group.
    #[serde(with = "nil")]
    pub summary: BTreeMap<String, TaskGroupSummary>,
    /// The jobs a periodic or parameterized job launched.
    pub children: Option<JobChildrenSummary>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// How many allocations of a task group are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupSummary {
    #[serde(deserialize_with = "or_default")]
    pub queued: i64,
    #[serde(deserialize_with = "or_default")]
    pub complete: i64,
    #[serde(deserialize_with = "or_default")]
    pub failed: i64,
    #[serde(deserialize_with = "or_default")]
    pub running: i64,
    #[serde(deserialize_with = "or_default")]
    pub starting: i64,
    #[serde(deserialize_with = "or_default")]
    pub lost: i64,
    #[serde(deserialize_with = "or_default")]
    pub unknown: i64,
}

/// How many children of a job are in which state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobChildrenSummary {
    #[serde(deserialize_with = "or_default")]
    pub pending: i64,
    #[serde(deserialize_with = "or_default")]
    pub running: i64,
    #[serde(deserialize_with = "or_default")]
    pub dead: i64,
}

/// The last scaling events of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobScalingEvents {
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    /// By task group, the newest first.
    #[serde(with = "nil_lists")]
    pub scaling_events: BTreeMap<String, Vec<ScalingEvent>>,
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
    #[serde(deserialize_with = "or_default")]
    pub previous_count: i64,
    #[serde(deserialize_with = "or_default")]
    pub message: String,
    #[serde(deserialize_with = "or_default")]
    pub error: bool,
    #[serde(with = "nil")]
    pub meta: BTreeMap<String, Value>,
    #[serde(rename = "EvalID")]
    pub eval_id: Option<String>,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
}

/// When a periodic job launched last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct PeriodicLaunch {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(deserialize_with = "or_default")]
    pub launch: Time,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// The job file that a version of a job was made from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobSubmission {
    #[serde(deserialize_with = "or_default")]
    pub source: String,
    /// `hcl2`, `hcl1` or `json`.
    #[serde(deserialize_with = "or_default")]
    pub format: String,
    #[serde(with = "nil")]
    pub variable_flags: BTreeMap<String, String>,
    /// Content of variable files.
    #[serde(deserialize_with = "or_default")]
    pub variables: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(deserialize_with = "or_default")]
    pub version: u64,
    #[serde(deserialize_with = "or_default")]
    pub job_modify_index: u64,
}

/// An instance of a service of the built-in provider.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ServiceRegistration {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(deserialize_with = "or_default")]
    pub service_name: String,
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    #[serde(rename = "NodeID", deserialize_with = "or_default")]
    pub node_id: String,
    #[serde(deserialize_with = "or_default")]
    pub datacenter: String,
    #[serde(rename = "JobID", deserialize_with = "or_default")]
    pub job_id: String,
    #[serde(rename = "AllocID", deserialize_with = "or_default")]
    pub alloc_id: String,
    #[serde(with = "nil")]
    pub tags: Vec<String>,
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    #[serde(deserialize_with = "or_default")]
    pub port: i64,
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}
