//! Job diffs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::{nil, null_is_default};
use super::status::DiffType;

/// The `JobDiff` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDiff {
    /// How the two sides differ.
    pub r#type: DiffType,
    /// The job's ID; empty if neither side has a job.
    #[serde(rename = "ID")]
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
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FieldDiff {
    /// How the two sides differ.
    pub r#type: DiffType,
    /// The field, flattened: `Meta[key]`, `Affinity.Weight`.
    pub name: String,
    /// The old value as text; empty: none.
    pub old: String,
    /// The new value as text; empty: none.
    pub new: String,
    /// The consequences of the change: `forces create`, … (`docs/spec/jobspec.md §18`).
    #[serde(with = "nil")]
    pub annotations: Vec<String>,
}

/// The `ObjectDiff` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ObjectDiff {
    /// How the two sides differ.
    pub r#type: DiffType,
    /// The type of the block: `Constraint`.
    pub name: String,
    /// Sorted by name.
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    /// Blocks inside of it.
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
}

/// The `TaskGroupDiff` object of the HTTP API.
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupDiff {
    /// How the two sides differ.
    pub r#type: DiffType,
    /// The group's name.
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
#[null_is_default]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskDiff {
    /// How the two sides differ.
    pub r#type: DiffType,
    /// The task's name.
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
