//! Default workload identities for Consul and Vault (`docs/spec/jobspec.md §13.6`).

use encamp_model::*;

use super::super::ServerContext;
use super::{add_full, constraint};

/// Names the identities of Consul services and adds those the server configuration has templates for.
pub(super) fn mutate(job: &mut Job, ctx: &ServerContext) {
    for group in &mut job.task_groups {
        let task_services = group.tasks.iter_mut().flat_map(|t| &mut t.services);
        for service in group.services.iter_mut().chain(task_services) {
            identify_service(service, ctx.consul_service_identity.as_ref());
        }
        let group_cluster = group.consul.as_ref().map(|c| c.cluster.clone());
        for task in &mut group.tasks {
            let consul = task.consul.as_ref().map(|c| c.cluster.clone()).or_else(|| group_cluster.clone());
            let vault = task.vault.as_ref().map(|v| v.cluster.clone());
            add_identity(task, "consul", consul, ctx.consul_task_identity.as_ref());
            add_identity(task, "vault", vault, ctx.vault_default_identity.as_ref());
        }
        let services = group.services.iter().chain(group.tasks.iter().flat_map(|t| &t.services));
        if services.into_iter().any(|s| s.identity.is_some()) || group.tasks.iter().any(|t| !t.identities.is_empty()) {
            add_full(&mut group.constraints, constraint("${attr.nomad.version}", "semver", ">= 1.7.0-a"));
        }
    }
}

fn identify_service(service: &mut Service, template: Option<&WorkloadIdentity>) {
    if !matches!(service.provider.as_str(), "" | "consul") {
        return;
    }
    if service.identity.is_none() && is_configured(&service.cluster) {
        service.identity = template.map(from_template);
    }
    if let Some(identity) = &mut service.identity {
        let task = if service.task_name.is_empty() { String::new() } else { format!("{}-", service.task_name) };
        identity.name = format!("consul-service_{task}{}-{}", service.name, service.port_label);
        identity.service_name.clone_from(&service.name);
    }
}

/// Templates belong to a cluster, and only the default one can be configured.
fn is_configured(cluster: &str) -> bool {
    matches!(cluster, "" | "default")
}

/// Adds the identity `<system>_<cluster>` to a task that uses the cluster, unless the task has one of that name.
fn add_identity(task: &mut Task, system: &str, cluster: Option<String>, template: Option<&WorkloadIdentity>) {
    let (Some(cluster), Some(template)) = (cluster.filter(|c| is_configured(c)), template) else { return };
    let name = format!("{system}_{cluster}");
    if task.identities.iter().all(|i| i.name != name) {
        task.identities.push(WorkloadIdentity { name, ..from_template(template) });
    }
}

/// The settings of an identity that the configuration may contain; the rest is zero.
fn from_template(template: &WorkloadIdentity) -> WorkloadIdentity {
    WorkloadIdentity {
        audience: template.audience.clone(),
        env: template.env,
        file: template.file,
        filepath: template.filepath.clone(),
        ttl: template.ttl,
        ..WorkloadIdentity::default()
    }
}
