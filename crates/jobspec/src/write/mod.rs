//! From a job to a job file: HCL that parses back to the same job, with a comment on each value that is a default.
//!
//! - here: the job as the parser's tables have it, and the check of the result
//! - [`body`] writes bodies, guided by the tables of [`crate::parse::schema`]
//! - [`value`] writes values

mod body;
mod value;

use encamp_model::json::differences;
use encamp_model::{JobType, api};
use serde_json::{Map, Value as Json};
use thiserror::Error;

use crate::canonicalize::canonicalize;
use crate::convert::{ConvertError, ConvertOptions, to_server};
use crate::fmt;
use crate::parse::{ParseError, ParseOptions, normalize, parse};

/// A job file that was made from a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The job file, in the standard format.
    pub text: String,
    /// Members of the stored job, such as `TaskGroups[0].Consul`, that HCL cannot express: they are not the same when
    /// the file is parsed. Mostly empty.
    pub lost: Vec<String>,
}

/// Members of a job that servers set: no part of a job file.
const SET_BY_SERVERS: &[&str] = &[
    "CreateIndex",
    "DispatchIdempotencyToken",
    "Dispatched",
    "JobModifyIndex",
    "ModifyIndex",
    "NomadTokenID",
    "ParentID",
    "Payload",
    "Stable",
    "Status",
    "StatusDescription",
    "Stop",
    "SubmitTime",
    "Version",
    "VersionTag",
];

/// Why there is no job file of a job.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The job has no JSON, or the JSON is none of a job.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// The JSON of the job is no object.
    #[error("the job is not an object")]
    NotAnObject,
    /// The job can't be stored.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// The job file is beyond what a parser takes.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

/// Writes a job as a job file.
///
/// # Errors
/// The job is broken, or its values are beyond what a parser takes.
pub fn write(job: &api::Job) -> Result<Written, WriteError> {
    let members = members(job)?;
    let id = job.id.clone().unwrap_or_default();
    let original = stored(members.clone(), &id)?;
    let members = body::expressible(&members);
    let complete = stored(members.clone(), &id)?;
    let same = |members: &Map<String, Json>| stored(members.clone(), &id).is_ok_and(|job| job == complete);
    let text = body::job(&id, &members, &same).to_string();
    let text = fmt::format(text.as_bytes(), "job")?;

    let options = ParseOptions { path: "job".into(), ..ParseOptions::default() };
    let parsed = parse(text.as_bytes(), &options)?;
    let parsed = stored_job(parsed)?;
    let differing = differences(&original, &parsed).into_iter();
    Ok(Written { text, lost: differing.map(|d| d.path.trim_start_matches('.').to_string()).collect() })
}

/// The members of the `job` block that make this job when they are normalised ([`normalize::job`]).
fn members(job: &api::Job) -> Result<Map<String, Json>, WriteError> {
    let Json::Object(mut members) = serde_json::to_value(job)? else {
        return Err(WriteError::NotAnObject);
    };
    SET_BY_SERVERS.iter().for_each(|name| drop(members.remove(*name)));
    // A stored job without rollouts has a block of zeros; in a job file that would be one.
    let updates = matches!(job.r#type.as_deref().map(JobType::from), Some(JobType::Service | JobType::System));
    if !updates && members.get("Update").is_some_and(is_zero) {
        members.remove("Update");
    }
    for group in objects(members.get_mut("TaskGroups")) {
        group.get_mut("Scaling").and_then(Json::as_object_mut).into_iter().for_each(forget_identity);
        objects(group.get_mut("Networks")).for_each(join_ports);
        for task in objects(group.get_mut("Tasks")) {
            let resources = task.get_mut("Resources").and_then(|r| r.get_mut("Networks"));
            objects(resources).for_each(join_ports);
            objects(task.get_mut("ScalingPolicies")).for_each(label_policy);
            first_identity(task);
        }
    }
    Ok(members)
}

/// Whether every value in it is the one that a member has when nothing is said.
fn is_zero(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(set) => !set,
        Json::Number(number) => number.as_f64() == Some(0.0),
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.values().all(is_zero),
    }
}

/// The objects of a list.
fn objects(list: Option<&mut Json>) -> impl Iterator<Item = &mut Map<String, Json>> {
    list.and_then(Json::as_array_mut).into_iter().flatten().filter_map(Json::as_object_mut)
}

/// Removes what servers set in a scaling policy: its identity and what it scales. A job file has to say `max`, and -1
/// stands for none.
fn forget_identity(policy: &mut Map<String, Json>) {
    let max = policy.entry("Max").or_insert(Json::Null);
    if max.is_null() {
        *max = Json::from(-1);
    }
    for name in ["ID", "Namespace", "Target", "CreateIndex", "ModifyIndex"] {
        policy.remove(name);
    }
}

/// A policy of a task is named by what it scales: `vertical_cpu` is `scaling "cpu"`.
fn label_policy(policy: &mut Map<String, Json>) {
    forget_identity(policy);
    let kind = policy.get("Type").and_then(Json::as_str).unwrap_or_default();
    let label = kind.strip_prefix("vertical_").unwrap_or(kind).to_string();
    policy.insert("Label".into(), Json::from(label));
}

/// A job file has one list of ports: those with a fixed number are the reserved ones.
fn join_ports(network: &mut Map<String, Json>) {
    let mut ports = Vec::new();
    for name in ["ReservedPorts", "DynamicPorts"] {
        if let Some(Json::Array(list)) = network.remove(name) {
            ports.extend(list);
        }
    }
    if !ports.is_empty() {
        network.insert("DynamicPorts".into(), Json::Array(ports));
    }
}

/// The default identity of a task is one of its `identity` blocks.
fn first_identity(task: &mut Map<String, Json>) {
    let Some(identity @ Json::Object(_)) = task.remove("Identity") else { return };
    let mut identities = vec![identity];
    if let Some(Json::Array(others)) = task.remove("Identities") {
        identities.extend(others);
    }
    task.insert("Identities".into(), Json::Array(identities));
}

/// The stored job that members make, without what servers set.
fn stored(mut members: Map<String, Json>, id: &str) -> Result<Json, WriteError> {
    for group in objects(members.get_mut("TaskGroups")) {
        for task in objects(group.get_mut("Tasks")) {
            for policy in objects(task.get_mut("ScalingPolicies")) {
                let label = policy.remove("Label");
                let label = label.as_ref().and_then(Json::as_str).unwrap_or_default();
                policy.insert("Type".into(), Json::from(format!("vertical_{label}")));
            }
        }
    }
    stored_job(normalize::job(members, id)?)
}

fn stored_job(mut job: api::Job) -> Result<Json, WriteError> {
    canonicalize(&mut job);
    let stored = to_server(&job, &ConvertOptions::default())?;
    let mut stored = serde_json::to_value(&stored)?;
    if let Some(members) = stored.as_object_mut() {
        SET_BY_SERVERS.iter().for_each(|name| drop(members.remove(*name)));
    }
    normalise(&mut stored);
    Ok(stored)
}

/// No list and an empty one mean the same, and so do no volumes and an empty map of them. Other empty maps may be blocks
/// that say something by being there.
fn normalise(value: &mut Json) {
    match value {
        Json::Object(members) => {
            members.values_mut().for_each(normalise);
            members.retain(|name, value| match value {
                Json::Null => false,
                Json::Array(items) => !items.is_empty(),
                Json::Object(inner) => !inner.is_empty() || name != "Volumes",
                Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
            });
        }
        Json::Array(items) => items.iter_mut().for_each(normalise),
        // 70.0 and 70 are one number.
        Json::Number(number) => {
            if let Some(float) = number.as_f64().filter(|f| number.is_f64() && f.fract() == 0.0 && f.abs() < EXACT) {
                *value = Json::from(float as i64);
            }
        }
        Json::Null | Json::Bool(_) | Json::String(_) => {}
    }
}

/// Below it floats hold every whole number.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod levels;
#[cfg(test)]
mod tests;
