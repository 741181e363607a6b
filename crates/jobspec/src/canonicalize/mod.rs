//! Sets defaults before a job is sent or converted (`docs/spec/jobspec.md §10`).
//!
//! - this file: job and group. [`policies`]: merging and defaults of policies. [`task`], [`service`]: the rest.

pub mod policies;
mod service;
mod task;

use encamp_model::api::*;
use encamp_model::{JobType, ScalingPolicyType};

use policies::Fill;

/// Fills what the client left out, top-down. Canonicalising twice changes nothing more.
pub fn canonicalize(job: &mut Job) {
    let id = job.id.get_or_insert_default().clone();
    let name = job.name.get_or_insert(id).clone();
    let service = JobType::Service;
    for (field, default) in [
        (&mut job.parent_id, ""),
        (&mut job.namespace, "default"),
        (&mut job.region, "global"),
        (&mut job.node_pool, ""),
        (&mut job.r#type, service.as_str()),
        (&mut job.consul_namespace, ""),
        (&mut job.vault_namespace, ""),
        (&mut job.nomad_token_id, ""),
        (&mut job.status, ""),
        (&mut job.status_description, ""),
    ] {
        field.get_or_insert_with(|| default.to_string());
    }
    job.priority.get_or_insert(50);
    for flag in [&mut job.stop, &mut job.all_at_once, &mut job.stable] {
        flag.get_or_insert(false);
    }
    for number in [&mut job.version, &mut job.create_index, &mut job.modify_index, &mut job.job_modify_index] {
        number.get_or_insert(0);
    }
    if let Some(periodic) = &mut job.periodic {
        canonicalize_periodic(periodic);
    }
    let r#type = JobType::from(job.r#type.as_deref().unwrap_or_default());
    match &mut job.update {
        Some(update) => update.fill(&policies::default_update()),
        None if matches!(r#type, JobType::Service | JobType::System) => job.update = Some(policies::default_update()),
        None => {}
    }
    let mut groups = std::mem::take(&mut job.task_groups);
    let parent = JobFacts { name: &name, r#type: &r#type, job };
    for group in groups.iter_mut().flatten() {
        canonicalize_group(group, &parent);
    }
    job.task_groups = groups;
    fill_weights(&mut job.spreads, &mut job.affinities);
}

/// The facts about a job that its groups need.
struct JobFacts<'a> {
    name: &'a str,
    r#type: &'a JobType,
    /// The job without its groups.
    job: &'a Job,
}

fn canonicalize_periodic(periodic: &mut PeriodicConfig) {
    periodic.enabled.get_or_insert(true);
    periodic.spec.get_or_insert_default();
    periodic.specs.get_or_insert_default();
    periodic.spec_type.get_or_insert_with(|| "cron".into());
    periodic.prohibit_overlap.get_or_insert(false);
    if periodic.time_zone.as_deref().unwrap_or_default().is_empty() {
        periodic.time_zone = Some("UTC".into());
    }
}

fn canonicalize_group(group: &mut TaskGroup, parent: &JobFacts) {
    let group_name = group.name.get_or_insert_default().clone();
    let count = *group.count.get_or_insert(group.scaling.as_ref().and_then(|s| s.min).unwrap_or(1));
    if let Some(scaling) = &mut group.scaling {
        scaling.enabled.get_or_insert(true);
        scaling.min.get_or_insert(count);
        default_to(&mut scaling.r#type, ScalingPolicyType::Horizontal.as_str());
    }
    let disk = EphemeralDisk { sticky: Some(false), migrate: Some(false), size_mb: Some(300) };
    group.ephemeral_disk.get_or_insert_default().fill(&disk);
    if let Some(consul) = &mut group.consul {
        default_to(&mut consul.namespace, parent.job.consul_namespace.as_deref().unwrap_or_default());
        default_to(&mut consul.cluster, "default");
    }
    policies::merge_group_policies(group, parent.job, parent.r#type);
    for task in group.tasks.iter_mut().flatten() {
        task::canonicalize(task, group.restart_policy.as_ref());
        let name = format!("{}-{group_name}-{}", parent.name, task.name);
        for service in task.services.iter_mut().flatten() {
            service::canonicalize(service, &name);
        }
    }
    fill_weights(&mut group.spreads, &mut group.affinities);
    let name = format!("{}-{group_name}", parent.name);
    for service in group.services.iter_mut().flatten() {
        service::canonicalize(service, &name);
    }
    if let Some(disconnect) = &mut group.disconnect {
        disconnect.replace.get_or_insert(true);
        disconnect.reconcile.get_or_insert_with(|| "best_score".into());
    }
}

fn fill_weights(spreads: &mut Option<Vec<Spread>>, affinities: &mut Option<Vec<Affinity>>) {
    for spread in spreads.iter_mut().flatten() {
        spread.weight.get_or_insert(50);
    }
    fill_affinity_weights(affinities);
}

fn fill_affinity_weights(affinities: &mut Option<Vec<Affinity>>) {
    for affinity in affinities.iter_mut().flatten() {
        affinity.weight.get_or_insert(50);
    }
}

/// Replaces an empty text.
fn default_to(text: &mut String, default: &str) {
    if text.is_empty() {
        *text = default.to_string();
    }
}

/// A list or map that may be null.
trait Collection {
    fn is_empty(&self) -> bool;
}

impl<T> Collection for Vec<T> {
    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl<K, V> Collection for std::collections::BTreeMap<K, V> {
    fn is_empty(&self) -> bool {
        std::collections::BTreeMap::is_empty(self)
    }
}

/// Makes an empty list or map null.
fn null_if_empty<C: Collection>(field: &mut Option<C>) {
    if field.as_ref().is_some_and(Collection::is_empty) {
        *field = None;
    }
}

#[cfg(test)]
mod tests;
