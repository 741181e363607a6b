//! The first mutator: defaults that every stored job has (`docs/spec/jobspec.md §12`, `docs/spec/snapshot-archive.md
//! §11.2`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::canonicalize::policies;
use crate::convert::stored;
use encamp_model::*;

use super::super::ServerContext;
use super::{default_to, interpolate};

/// The audience of the identity every task has.
const DEFAULT_AUDIENCE: &str = "nomadproject.io";

/// Fills a whole job: the first mutator, and the only one an offline check runs.
pub fn canonicalize(job: &mut Job, ctx: &ServerContext) {
    if job.priority == 0 {
        job.priority = ctx.job_default_priority;
    }
    canonicalize_stored(job);
}

/// Fills what a job has at least, whatever the settings of servers: also what servers do with the jobs of older servers
/// that they load. Doing it again changes nothing.
pub fn canonicalize_stored(job: &mut Job) {
    default_to(&mut job.namespace, "default");
    if job.datacenters.is_empty() {
        job.datacenters.push("*".into());
    }
    if let Some(parameterized) = &mut job.parameterized_job {
        default_to(&mut parameterized.payload, "optional");
    }
    if let Some(multiregion) = &mut job.multiregion {
        multiregion.strategy.get_or_insert_default();
    }
    let mut groups = std::mem::take(&mut job.task_groups);
    for group in &mut groups {
        canonicalize_group(group, job);
    }
    job.task_groups = groups;
}

/// `job` is the job without its groups.
fn canonicalize_group(group: &mut TaskGroup, job: &Job) {
    default_policies(group, &job.r#type);
    if let Some(scaling) = &mut group.scaling {
        canonicalize_scaling(scaling, job, &group.name, None);
    }
    group.networks.iter_mut().for_each(canonicalize_network);
    for service in &mut group.services {
        canonicalize_service(service, &ServiceHome { job, group: &group.name, task: "group" });
    }
    for task in &mut group.tasks {
        canonicalize_task(task, group.restart_policy.as_ref());
        for policy in &mut task.scaling_policies {
            canonicalize_scaling(policy, job, &group.name, Some(&task.name));
        }
        for service in &mut task.services {
            default_to(&mut service.task_name, &task.name);
            canonicalize_service(service, &ServiceHome { job, group: &group.name, task: &task.name });
        }
    }
}

/// Policies of jobs that did not pass the client's canonicalisation.
fn default_policies(group: &mut TaskGroup, r#type: &JobType) {
    if group.restart_policy.is_none() && *r#type != JobType::Sysbatch {
        group.restart_policy = Some(stored(&policies::default_restart(r#type)));
    }
    if group.reschedule_policy.is_none() && matches!(r#type, JobType::Service | JobType::Batch) {
        group.reschedule_policy = Some(stored(&policies::default_reschedule(r#type)));
    }
    if let Some(disconnect) = &mut group.disconnect {
        disconnect.replace.get_or_insert(true);
        default_to(&mut disconnect.reconcile, "best_score");
    }
    if group.migrate.is_none() && *r#type == JobType::Service {
        group.migrate = Some(stored(&policies::default_migrate()));
    }
    if group.ephemeral_disk.is_none() {
        group.ephemeral_disk = Some(EphemeralDisk { size_mb: 300, ..EphemeralDisk::default() });
    }
}

/// A scaling policy knows what it scales.
fn canonicalize_scaling(policy: &mut ScalingPolicy, job: &Job, group: &str, task: Option<&str>) {
    if policy.r#type.is_unset() {
        policy.r#type = ScalingPolicyType::Horizontal;
    }
    let own = [("Namespace", job.namespace.as_str()), ("Job", &job.id), ("Group", group)];
    let names = own.into_iter().chain(task.map(|task| ("Task", task)));
    policy.target = BTreeMap::from_iter(names.map(|(key, name)| (key.to_string(), name.to_string())));
}

/// Ports belong to the host network `default` unless they say otherwise.
pub(super) fn canonicalize_network(network: &mut NetworkResource) {
    for port in network.reserved_ports.iter_mut().chain(&mut network.dynamic_ports) {
        default_to(&mut port.host_network, "default");
    }
}

/// Fills a task, services excepted; also for tasks that later mutators add.
pub(super) fn canonicalize_task(task: &mut Task, group_restart: Option<&RestartPolicy>) {
    if task.kill_timeout == 0 {
        task.kill_timeout = 5 * SECOND;
    }
    if task.restart_policy.is_none() {
        task.restart_policy = group_restart.cloned();
    }
    let least = || Resources { cpu: 100, memory_mb: 300, ..Resources::default() };
    let resources = task.resources.get_or_insert_with(least);
    resources.networks.iter_mut().for_each(canonicalize_network);
    if let Some(numa) = &mut resources.numa {
        default_to(&mut numa.affinity, "none");
    }
    if let Some(vault) = &mut task.vault {
        vault.change_signal = vault.change_signal.to_uppercase();
        default_to(&mut vault.change_mode, "restart");
    }
    for template in &mut task.templates {
        template.change_signal = template.change_signal.to_uppercase();
    }
    canonicalize_identities(task);
}

fn canonicalize_identities(task: &mut Task) {
    for identity in task.identity.iter_mut().chain(&mut task.identities) {
        default_to(&mut identity.name, "default");
        if identity.name == "default" {
            identity.audience = vec![DEFAULT_AUDIENCE.into()];
        }
        identity.change_signal = identity.change_signal.to_uppercase();
    }
    // The last default identity in the list is the one that stays.
    if let Some(listed) = task.identities.iter().rfind(|i| i.name == "default").cloned() {
        task.identities.retain(|i| i.name != "default");
        task.identity = Some(listed);
    }
    task.identity.get_or_insert_with(|| WorkloadIdentity {
        name: "default".into(),
        audience: vec![DEFAULT_AUDIENCE.into()],
        ..WorkloadIdentity::default()
    });
}

/// Where a service is; `task` is the word `group` for services of groups.
struct ServiceHome<'a> {
    job: &'a Job,
    group: &'a str,
    task: &'a str,
}

fn canonicalize_service(service: &mut Service, home: &ServiceHome) {
    let ServiceHome { job, group, task } = home;
    interpolate(&mut service.name, |name| match name {
        "JOB" => Some(Cow::Borrowed(job.name.as_str())),
        "TASKGROUP" => Some(Cow::Borrowed(*group)),
        "TASK" => Some(Cow::Borrowed(*task)),
        "BASE" => Some(Cow::Owned(format!("{}-{group}-{task}", job.name))),
        _ => None,
    });
    for check in &mut service.checks {
        if check.name.is_empty() {
            check.name = format!("service: \"{}\" check", service.name);
        }
        default_to(&mut check.task_name, &service.task_name);
        default_to(&mut check.on_update, "require_healthy");
    }
    default_to(&mut service.provider, "consul");
    match service.provider.as_str() {
        "nomad" => service.namespace.clone_from(&job.namespace),
        "consul" => default_to(&mut service.namespace, "default"),
        _ => {}
    }
}
