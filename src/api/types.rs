//! Bodies that only the API has: list entries and wrappers. Fields this program does not use are left out.

use serde::{Deserialize, Serialize};

use crate::model::json::or_default;
use crate::model::{Job, SchedulerConfiguration};

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
