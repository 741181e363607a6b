//! Job diffs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::{nil, or_default};

/// The `JobDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JobDiff {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(rename = "ID", deserialize_with = "or_default")]
    pub id: String,
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    #[serde(with = "nil")]
    pub task_groups: Vec<TaskGroupDiff>,
}

/// The `FieldDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct FieldDiff {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(deserialize_with = "or_default")]
    pub old: String,
    #[serde(deserialize_with = "or_default")]
    pub new: String,
    #[serde(with = "nil")]
    pub annotations: Vec<String>,
}

/// The `ObjectDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ObjectDiff {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
}

/// The `TaskGroupDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskGroupDiff {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    #[serde(with = "nil")]
    pub tasks: Vec<TaskDiff>,
    pub updates: Option<BTreeMap<String, u64>>,
}

/// The `TaskDiff` object of the HTTP API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TaskDiff {
    #[serde(deserialize_with = "or_default")]
    pub r#type: String,
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    #[serde(with = "nil")]
    pub fields: Vec<FieldDiff>,
    #[serde(with = "nil")]
    pub objects: Vec<ObjectDiff>,
    #[serde(with = "nil")]
    pub annotations: Vec<String>,
}
