//! Job diffs (`docs/spec/jobspec.md §17`) and their annotations (`§18`).
//!
//! Both jobs are turned into JSON once and walked side by side as `Pair`s, because the diff shows the names and values
//! of the HTTP API. For each object the code states which values are compared and the order of its nested objects:
//!
//! - this file: jobs and groups; `task`: tasks and their blocks; `network`; `service`, `connect`.
//! - `blocks`: the kinds of comparison (object, primitive object, string set, keyed set), `fields`: values to texts.
//! - `annotate`: annotations from the scheduler's counts.

mod annotate;
mod blocks;
mod connect;
mod fields;
mod network;
mod service;
#[cfg(test)]
mod states;
mod task;

pub use annotate::{annotate, forces_replacement};

use serde_json::Value;
use thiserror::Error;

use blocks::{Fill, Pair, SetMode, keyed, map_object, object, position_pairs, primitive_object, string_set};
use encamp_model::{DiffType, Job, JobDiff, ObjectDiff, TaskGroupDiff, quoted};
use fields::{Pick, changes, full, primitive};

const JOB_FIELDS: &[&str] = &[
    "AllAtOnce",
    "ConsulNamespace",
    "DispatchIdempotencyToken",
    "Dispatched",
    "Meta",
    "Name",
    "Namespace",
    "NodePool",
    "ParentID",
    "Priority",
    "Region",
    "Stop",
    "Type",
    "VaultNamespace",
];

/// Why two jobs can't be compared.
#[derive(Debug, Error)]
pub enum DiffError {
    /// The jobs have different IDs.
    #[error("can not diff jobs with different IDs: {} and {}", quoted(old), quoted(new))]
    DifferentIds {
        /// The ID of the old job.
        old: String,
        /// The ID of the new job.
        new: String,
    },
    /// A job has no JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Compares two stored jobs (`docs/spec/jobspec.md §17`). An absent side means that the job is new or removed. With
/// `contextual`, objects that are reported list their unchanged fields too, which is what the plan endpoint returns.
///
/// # Errors
/// The jobs have different IDs.
pub fn diff_jobs(old: Option<&Job>, new: Option<&Job>, contextual: bool) -> Result<JobDiff, DiffError> {
    if let (Some(o), Some(n)) = (old, new)
        && o.id != n.id
    {
        return Err(DiffError::DifferentIds { old: o.id.clone(), new: n.id.clone() });
    }
    let json = |job: Option<&Job>| job.map_or(Ok(Value::Null), serde_json::to_value);
    let (old_value, new_value) = (json(old)?, json(new)?);
    let p = Pair { old: &old_value, new: &new_value, contextual };

    let mut diff = JobDiff {
        id: new.or(old).map(|job| job.id.clone()).unwrap_or_default(),
        fields: changes(primitive(p.old, Pick::Named(JOB_FIELDS)), primitive(p.new, Pick::Named(JOB_FIELDS)), false),
        ..JobDiff::default()
    };
    diff.objects.extend(string_set(p.get("Datacenters"), "Datacenters", SetMode::IfChanged));
    diff.objects.extend(constraints(p));
    diff.objects.extend(affinities(p));
    diff.objects.extend(object(p.get("Periodic"), "Periodic", |p, o| {
        o.named_fields(p, &["Enabled", "ProhibitOverlap", "Spec", "SpecType", "TimeZone"]);
        o.push(string_set(p.get("Specs"), "Specs", SetMode::IfChanged));
    }));
    diff.objects.extend(object(p.get("ParameterizedJob"), "ParameterizedJob", |p, o| {
        o.named_fields(p, &["Payload"]);
        o.push(string_set(p.get("MetaOptional"), "MetaOptional", SetMode::Always));
        o.push(string_set(p.get("MetaRequired"), "MetaRequired", SetMode::Always));
    }));
    diff.objects.extend(object(p.get("Multiregion"), "Multiregion", |p, o| {
        o.push(primitive_object(p.get("Strategy"), "Strategy", Pick::Scalars));
        o.extend(keyed(p.get("Regions"), "Name", |p| {
            object(p, "Region", |p, o| {
                o.named_fields(p, &["Count", "Meta", "Name", "NodePool"]);
                o.push(string_set(p.get("Datacenters"), "Datacenters", SetMode::Always));
            })
        }));
    }));
    diff.objects.extend(object(p.get("UI"), "UI", |p, o| {
        o.named_fields(p, &["Description"]);
        o.extend(
            position_pairs(p.get("Links")).into_iter().filter_map(|p| object(p, "Link", |p, o| o.scalar_fields(p))),
        );
    }));
    diff.task_groups = named_pairs(p.get("TaskGroups")).into_iter().map(|(name, p)| group(name, p)).collect();

    let changed = diff.fields.iter().any(|f| f.r#type != DiffType::None)
        || diff.objects.iter().any(|o| o.r#type != DiffType::None)
        || diff.task_groups.iter().any(|g| g.r#type != DiffType::None);
    diff.r#type = match (old.is_some(), new.is_some()) {
        (false, true) => DiffType::Added,
        (true, false) => DiffType::Deleted,
        _ if changed => DiffType::Edited,
        _ => DiffType::None,
    };
    Ok(diff)
}

/// The type of a group or task: any difference makes it edited, also one that the diff does not show.
fn whole_type(p: Pair<'_>) -> DiffType {
    match (p.old.is_null(), p.new.is_null()) {
        (true, false) => DiffType::Added,
        (false, true) => DiffType::Deleted,
        _ if p.same() => DiffType::None,
        _ => DiffType::Edited,
    }
}

/// Groups or tasks of both sides by name, sorted.
fn named_pairs(p: Pair<'_>) -> Vec<(String, Pair<'_>)> {
    p.by_key(|v| blocks::text(v, "Name"))
}

fn group(name: String, p: Pair<'_>) -> TaskGroupDiff {
    let mut diff = TaskGroupDiff { r#type: whole_type(p), name, ..TaskGroupDiff::default() };
    let pick = Pick::Named(&["Count", "Meta", "PreventRescheduleOnLost"]);
    let (mut old, mut new) = (primitive(p.old, pick), primitive(p.new, pick));
    if !p.old.is_null() && !p.new.is_null() {
        old.extend(primitive(p.old, Pick::Named(&["ShutdownDelay"])));
        new.extend(primitive(p.new, Pick::Named(&["ShutdownDelay"])));
    }
    diff.fields = changes(old, new, false);

    let objects = &mut diff.objects;
    objects.extend(constraints(p));
    objects.extend(affinities(p));
    objects.extend(primitive_object(p.get("RestartPolicy"), "RestartPolicy", Pick::Scalars));
    objects.extend(primitive_object(p.get("Migrate"), "Migrate", Pick::Scalars));
    objects.extend(primitive_object(p.get("ReschedulePolicy"), "ReschedulePolicy", Pick::Scalars));
    objects.extend(primitive_object(p.get("EphemeralDisk"), "EphemeralDisk", Pick::Scalars));
    objects.extend(primitive_object(p.get("Consul"), "Consul", Pick::Scalars));
    objects.extend(primitive_object(p.get("Update"), "Update", Pick::ScalarsBut(&["Stagger"])));
    objects.extend(object(p.get("Disconnect"), "Disconnect", |p, o| o.full_fields(p, full)));
    objects.extend(network::networks(p.get("Networks")));
    objects.extend(object(p.get("Scaling"), "Scaling", |p, o| {
        let p = p.without_context();
        o.named_fields(p, &["Enabled", "Max", "Min"]);
        o.push(map_object(p.get("Policy"), "Policy", fields::free_form));
    }));
    objects.extend(service::services(p.get("Services")));
    objects.extend(p.get("Volumes").by_map_key().into_iter().filter_map(|(_, p)| {
        object(p, "Volume", |p, o| {
            o.scalar_fields(p);
            o.push(object(p.get("MountOptions"), "MountOptions", |p, o| {
                o.named_fields(p, &["FSType"]);
                o.push(string_set(p.get("MountFlags"), "MountFlags", SetMode::Always));
            }));
        })
    }));
    diff.tasks = named_pairs(p.get("Tasks")).into_iter().map(|(name, p)| task::task(name, p)).collect();
    diff
}

/// The constraints of a job, group or task: matched by their whole text, so never edited.
fn constraints(p: Pair<'_>) -> Vec<ObjectDiff> {
    rules(p.get("Constraints"), "Constraint", &["LTarget", "Operand", "RTarget"])
}

/// The affinities of a job, group or task.
fn affinities(p: Pair<'_>) -> Vec<ObjectDiff> {
    rules(p.get("Affinities"), "Affinity", &["LTarget", "Operand", "RTarget", "Weight"])
}

fn rules(p: Pair<'_>, name: &str, key: &[&str]) -> Vec<ObjectDiff> {
    blocks::keyed_by(
        p,
        |v| key.iter().map(|k| blocks::text(v, k)).collect::<Vec<_>>().join(" "),
        |p| primitive_object(p, name, Pick::Scalars),
    )
}
