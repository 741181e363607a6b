//! Bodies that only the API has: list entries and wrappers. Fields that this program does not use are left out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use encamp_model::json::{nil, or_default};
use encamp_model::{
    Job, JobDiff, JobStatus, JobType, NodeEligibility, NodeStatus, ScalingEvent, ScalingPolicyType,
    SchedulerConfiguration, Time, api,
};

/// An entry of the list of nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodeListStub {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Its status.
    #[serde(deserialize_with = "or_default")]
    pub status: NodeStatus,
    /// Whether it takes new allocations.
    #[serde(deserialize_with = "or_default")]
    pub scheduling_eligibility: NodeEligibility,
    /// Whether it is being drained.
    #[serde(default)]
    pub drain: bool,
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
    pub r#type: JobType,
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
    pub status: JobStatus,
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

/// The result of a job validation.
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
    pub r#type: ScalingPolicyType,
    /// The scaling target.
    #[serde(with = "nil")]
    pub target: BTreeMap<String, String>,
    /// Index of its making.
    #[serde(deserialize_with = "or_default")]
    pub create_index: u64,
    /// Index of its last change.
    #[serde(deserialize_with = "or_default")]
    pub modify_index: u64,
}

/// A file of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AllocFileInfo {
    /// Its name without directories.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Whether it is a directory.
    #[serde(deserialize_with = "or_default")]
    pub is_dir: bool,
    /// Bytes.
    #[serde(deserialize_with = "or_default")]
    pub size: u64,
    /// Kind and permissions as text.
    #[serde(deserialize_with = "or_default")]
    pub file_mode: String,
    /// When it was last written.
    #[serde(deserialize_with = "or_default")]
    pub mod_time: Time,
    /// The detected content type.
    #[serde(deserialize_with = "or_default")]
    pub content_type: String,
}

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SearchResponse {
    /// Names or IDs by kind of object.
    #[serde(deserialize_with = "or_default")]
    pub matches: BTreeMap<String, Option<Vec<String>>>,
    /// Kinds of which there is more.
    #[serde(deserialize_with = "or_default")]
    pub truncations: BTreeMap<String, bool>,
}

/// The result of joining servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JoinResponse {
    /// Servers joined.
    #[serde(deserialize_with = "or_default")]
    pub num_joined: u64,
    /// The error.
    #[serde(deserialize_with = "or_default")]
    pub error: String,
}

/// The Raft configuration: its peers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RaftConfiguration {
    /// The servers.
    #[serde(deserialize_with = "or_default")]
    pub servers: Vec<RaftServer>,
}

/// A Raft peer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct RaftServer {
    /// Its ID.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub node: String,
    /// Its RPC address.
    #[serde(deserialize_with = "or_default")]
    pub address: String,
    /// Whether it leads.
    #[serde(deserialize_with = "or_default")]
    pub leader: bool,
    /// Whether it votes.
    #[serde(deserialize_with = "or_default")]
    pub voter: bool,
    /// The version of the protocol it speaks.
    #[serde(deserialize_with = "or_default")]
    pub raft_protocol: String,
}
