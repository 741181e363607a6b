//! Bodies that only the API has: list entries and wrappers. Fields this program does not use are left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::json::{nil, or_default};
use crate::model::{Job, JobDiff, ScalingEvent, SchedulerConfiguration, api};

/// An entry of the list of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeListStub {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Its status.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// Whether it takes new allocations.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_eligibility: String,
    /// Index of its last change.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// An entry of the list of jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobListStub {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Its namespace.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// The job it was made of; empty for none.
    #[serde(rename = "ParentID", deserialize_with = "or_default")]
    pub parent_id: String,
    /// Its type.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// Its priority.
    #[serde(deserialize_with = "or_default")]
    pub priority: i64,
    /// Whether it is launched by a calendar.
    #[serde(deserialize_with = "or_default")]
    pub periodic: bool,
    /// Whether it is dispatched.
    #[serde(deserialize_with = "or_default")]
    pub parameterized_job: bool,
    /// Whether it was stopped.
    #[serde(deserialize_with = "or_default")]
    pub stop: bool,
    /// Its status.
    #[serde(deserialize_with = "or_default")]
    pub status: String,
    /// When it was submitted, Unix nanoseconds.
    #[serde(deserialize_with = "or_default")]
    pub submit_time: i64,
    /// Index of its last change.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// An entry of the lists of volumes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct VolumeListStub {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Its namespace.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// Index of its last change.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// All stored versions of a job, newest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobVersionsResponse {
    /// The versions.
    #[serde(deserialize_with = "or_default")]
    pub versions: Vec<Job>,
}

/// The scheduler configuration.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SchedulerConfigurationResponse {
    /// Null before the first leader wrote one.
    pub scheduler_config: Option<SchedulerConfiguration>,
}

/// What validation of a job says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobValidateResponse {
    /// Whether drivers were asked.
    #[serde(deserialize_with = "or_default")]
    pub driver_config_validated: bool,
    /// The problems, one by one.
    #[serde(deserialize_with = "or_default")]
    pub validation_errors: Vec<String>,
    /// All problems as one text.
    #[serde(deserialize_with = "or_default")]
    pub error: String,
    /// All warnings as one text.
    #[serde(deserialize_with = "or_default")]
    pub warnings: String,
}

/// All stored versions of a job in the form that clients read, newest first, and how they differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobHistory {
    /// The versions.
    #[serde(with = "nil")]
    pub versions: Vec<api::Job>,
    /// How each version differs from the next older one, or all of them from one version.
    #[serde(with = "nil")]
    pub diffs: Vec<JobDiff>,
}

/// The counts of a job's groups and how they came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobScaleStatus {
    /// By group.
    #[serde(with = "nil")]
    pub task_groups: BTreeMap<String, GroupScaleStatus>,
}

/// The count of a group and how it came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GroupScaleStatus {
    /// Changes of the count.
    #[serde(with = "nil")]
    pub events: Vec<ScalingEvent>,
}

/// An entry of the list of scaling policies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScalingPolicyListStub {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Whether it applies.
    #[serde(deserialize_with = "or_default")]
    pub enabled: bool,
    /// Its type.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// What it scales, in parts.
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// Index of its making.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Index of its last change.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}
