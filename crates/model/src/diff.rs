//! Job diffs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::{nil, or_default};

/// The `JobDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDiff {
    /// `Added`, `Deleted`, `Edited` or `None`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The job's ID; empty if neither side has a job.
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    /// Sorted by name; only those that changed.
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    /// Changed blocks of the job, in the order of `docs/spec/jobspec.md §17.4`.
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    /// All groups of either side, sorted by name.
    #[serde(with = "nil")]
    pub task_groups: Vec<TaskGroupDiff>,
}

/// The `FieldDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FieldDiff {
    /// `Added`, `Deleted`, `Edited` or `None`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The field, flattened: `Meta[key]`, `Affinity.Weight`.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The old value as text; empty: none.
    #[serde(deserialize_with = "or_default")]
    pub old: String,
    /// The new value as text; empty: none.
    #[serde(deserialize_with = "or_default")]
    pub new: String,
    /// The consequences of the change: `forces create`, … (`docs/spec/jobspec.md §18`).
    #[serde(with = "nil")]
    pub annotations: Vec<String>,
}

/// The `ObjectDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ObjectDiff {
    /// `Added`, `Deleted`, `Edited` or `None`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The type of the block: `Constraint`.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Sorted by name.
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    /// Blocks inside of it.
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
}

/// The `TaskGroupDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupDiff {
    /// `Added`, `Deleted`, `Edited` or `None`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The group's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Sorted by name; only those that changed.
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    /// Changed blocks of the group, in the order of `docs/spec/jobspec.md §17.5`.
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    /// All tasks of either side, sorted by name.
    #[serde(with = "nil")]
    pub tasks: Vec<TaskDiff>,
    /// How many allocations the plan creates, destroys, …, by `create`, `destroy`, … Null: the scheduler does not
    /// report the group.
    pub updates: Option<BTreeMap<String, u64>>,
}

/// The `TaskDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskDiff {
    /// `Added`, `Deleted`, `Edited` or `None`.
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    /// The task's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Sorted by name.
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    /// Changed blocks of the task.
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    /// The consequences of the change: `forces in-place update`, … (`docs/spec/jobspec.md §18`).
    #[serde(with = "nil")]
    pub annotations: Vec<String>,
}
