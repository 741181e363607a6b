//! Converts the job that clients send to the stored job (`docs/spec/jobspec.md §11`).
//!
//! - this file: fields that depend on the context or are dropped. [`fields`]: the conversion field by field.

mod fields;

use std::collections::BTreeMap;

use encamp_model::api;
use thiserror::Error;

use fields::Stored;

/// Where a job goes when its own fields do not decide (`docs/spec/jobspec.md §1`).
#[derive(Debug, Clone, Default)]
pub struct ConvertOptions {
    /// The agent's region, which replaces an empty or `global` job region.
    pub region: String,
    /// Region of the request, its body before its query; wins over the job's.
    pub request_region: Option<String>,
    /// Namespace of the request, its query before its body; wins over the job's.
    pub namespace: Option<String>,
}

/// Why a job can't be converted. Displays as the text of the 400 answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConvertError {
    /// A `volume_mount` names a volume, but not where to mount it.
    #[error("Task {task:?}: volume_mount of volume {volume:?} has no destination")]
    NoDestination {
        /// The name of the task.
        task: String,
        /// The name of the volume.
        volume: String,
    },
}

/// Converts a canonicalised job.
///
/// # Errors
/// The job has parts without a stored form.
pub fn to_server(job: &api::Job, opts: &ConvertOptions) -> Result<encamp_model::Job, ConvertError> {
    let mut stored: encamp_model::Job = job.stored();
    stored.namespace = match &opts.namespace {
        Some(namespace) if !namespace.is_empty() => namespace.clone(),
        _ if stored.namespace.is_empty() => "default".into(),
        _ => stored.namespace,
    };
    if let Some(region) = opts.request_region.as_ref().filter(|r| !r.is_empty()) {
        stored.region.clone_from(region);
    }
    if stored.multiregion.is_some() {
        stored.region = "global".into();
    } else if stored.region.is_empty() || stored.region == "global" {
        stored.region.clone_from(&opts.region);
    }
    stored.update = match &job.update {
        Some(update) if update.max_parallel > Some(0) => encamp_model::UpdateStrategy {
            stagger: update.stagger.stored(),
            max_parallel: update.max_parallel.stored(),
            ..encamp_model::UpdateStrategy::default()
        },
        _ => encamp_model::UpdateStrategy::default(),
    };
    let mut groups = Vec::new();
    for group in job.task_groups.iter().flatten() {
        groups.push(group_to_server(group, &stored)?);
    }
    stored.task_groups = groups;
    Ok(stored)
}

/// The stored form of a part of a client job, field by field.
pub(super) fn stored<A: Stored<M>, M>(part: &A) -> M {
    part.stored()
}

/// `job` is the stored job so far: its names are in scaling targets and Vault blocks.
fn group_to_server(group: &api::TaskGroup, job: &encamp_model::Job) -> Result<encamp_model::TaskGroup, ConvertError> {
    let mut stored: encamp_model::TaskGroup = group.stored();
    if let Some(volumes) = &mut stored.volumes {
        volumes.retain(|_, v| matches!(v.r#type.as_str(), "host" | "csi"));
    }
    let mut target = BTreeMap::from([
        ("Namespace".to_string(), job.namespace.clone()),
        ("Job".to_string(), job.id.clone()),
        ("Group".to_string(), stored.name.clone()),
    ]);
    stored.scaling = group.scaling.as_ref().map(|s| scaling_to_server(s, stored.count, &target));
    for task in group.tasks.iter().flatten() {
        target.insert("Task".to_string(), task.name.clone());
        stored.tasks.push(task_to_server(task, job, &target)?);
    }
    Ok(stored)
}

fn task_to_server(
    task: &api::Task,
    job: &encamp_model::Job,
    target: &BTreeMap<String, String>,
) -> Result<encamp_model::Task, ConvertError> {
    let mut stored: encamp_model::Task = task.stored();
    for service in &mut stored.services {
        for check in &mut service.checks {
            check.task_name.clear();
        }
    }
    if let Some(vault) = &mut stored.vault
        && vault.namespace.is_empty()
    {
        vault.namespace.clone_from(&job.vault_namespace);
    }
    for mount in task.volume_mounts.iter().flatten() {
        match (&mount.volume, &mount.destination) {
            (None, _) => {}
            (Some(volume), None) => {
                return Err(ConvertError::NoDestination { task: task.name.clone(), volume: volume.clone() });
            }
            (Some(_), Some(_)) => stored.volume_mounts.push(mount.stored()),
        }
    }
    stored.schedule = stored.schedule.filter(|s| s.cron.is_some());
    stored.scaling_policies = task.scaling_policies.iter().flatten().map(|p| scaling_to_server(p, 0, target)).collect();
    Ok(stored)
}

fn scaling_to_server(
    policy: &api::ScalingPolicy,
    min: i64,
    target: &BTreeMap<String, String>,
) -> encamp_model::ScalingPolicy {
    encamp_model::ScalingPolicy {
        id: policy.id.clone(),
        r#type: policy.r#type.as_str().into(),
        target: target.clone(),
        policy: policy.policy.clone(),
        min: policy.min.unwrap_or(min),
        max: policy.max.unwrap_or(-1),
        enabled: policy.enabled.unwrap_or(true),
        create_index: 0,
        modify_index: 0,
    }
}

#[cfg(test)]
mod tests;
