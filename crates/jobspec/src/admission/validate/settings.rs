//! The small validators: Vault, Consul, namespace, node pool, and features of the Enterprise edition
//! (`docs/spec/jobspec.md §14.2`). Each returns the first rule that the job violates.

use std::collections::BTreeSet;

use crate::admission::ServerContext;
use encamp_model::quoted;
use encamp_model::{Job, Task};

fn tasks(job: &Job) -> impl Iterator<Item = &Task> {
    job.task_groups.iter().flat_map(|g| &g.tasks)
}

fn is_default(cluster: &str) -> bool {
    matches!(cluster, "" | "default")
}

pub(super) fn vault(job: &Job, ctx: &ServerContext) -> Option<String> {
    let blocks = || tasks(job).filter_map(|t| t.vault.as_ref());
    // Only the default cluster can be configured.
    if let Some(v) = blocks().find(|v| !is_default(&v.cluster) || !ctx.vault_enabled) {
        let cluster = if v.cluster.is_empty() { "default" } else { &v.cluster };
        return Some(format!("Vault {} not enabled but used in the job", quoted(cluster)));
    }
    let namespaces: BTreeSet<&str> = blocks().map(|v| v.namespace.as_str()).filter(|n| !n.is_empty()).collect();
    if !namespaces.is_empty() {
        let list: Vec<&str> = namespaces.into_iter().collect();
        return Some(format!("multiple Vault namespaces requires Nomad Enterprise, Namespaces: {}", list.join(", ")));
    }
    None
}

pub(super) fn consul(job: &Job) -> Option<String> {
    job.task_groups.iter().find_map(|g| {
        let services = g.services.iter().chain(g.tasks.iter().flat_map(|t| &t.services));
        let of_services = services.filter(|s| s.provider != "nomad").map(|s| &s.cluster);
        let blocks = g.consul.iter().chain(g.tasks.iter().filter_map(|t| t.consul.as_ref()));
        if blocks.map(|c| &c.cluster).chain(of_services).any(|c| !is_default(c)) {
            return Some("non-default Consul cluster requires Nomad Enterprise".to_string());
        }
        let group = g.consul.as_ref().map_or("", |c| c.partition.as_str());
        let mut of_tasks = g.tasks.iter().filter_map(|t| t.consul.as_ref()).map(|c| c.partition.as_str());
        let other = of_tasks.find(|p| !p.is_empty() && !group.is_empty() && *p != group)?;
        Some(format!(
            "task.consul.partition {} must match group.consul.partition {} if both are set",
            quoted(other),
            quoted(group)
        ))
    })
}

pub(super) fn namespace(job: &Job, ctx: &ServerContext) -> Option<String> {
    let Some(ns) = ctx.namespaces.iter().find(|n| n.name == job.namespace) else {
        return Some(format!("job {} is in nonexistent namespace {}", quoted(&job.id), quoted(&job.namespace)));
    };
    let c = ns.capabilities.as_ref()?;
    let drivers = tasks(job).map(|t| t.driver.as_str());
    let modes = job.task_groups.iter().flat_map(|g| &g.networks).map(|n| match n.mode.as_str() {
        "" => "host",
        mode => mode,
    });
    refused("task driver", drivers, &c.enabled_task_drivers, &c.disabled_task_drivers, &ns.name)
        .or_else(|| refused("group network mode", modes, &c.enabled_network_modes, &c.disabled_network_modes, &ns.name))
}

/// The text about values that are not enabled (an empty list enables all) or are disabled.
fn refused<'a>(
    what: &str,
    used: impl Iterator<Item = &'a str>,
    enabled: &[String],
    disabled: &[String],
    namespace: &str,
) -> Option<String> {
    let mut wrong: Vec<String> = Vec::new();
    for value in used {
        let has = |list: &[String]| list.iter().any(|v| v == value);
        if (!enabled.is_empty() && !has(enabled)) || has(disabled) {
            wrong.push(quoted(value));
        }
    }
    let namespace = quoted(namespace);
    match wrong.as_slice() {
        [] => None,
        [one] => Some(format!("used {what} {one} is not allowed in namespace {namespace}")),
        many => Some(format!("used {what}s [{}] are not allowed in namespace {namespace}", many.join(" "))),
    }
}

pub(super) fn node_pool(job: &Job, ctx: &ServerContext) -> Option<String> {
    let exists = ctx.node_pools.iter().any(|p| p.name == job.node_pool);
    (!exists).then(|| format!("job {} is in nonexistent node pool {}", quoted(&job.id), quoted(&job.node_pool)))
}

pub(super) fn numa(job: &Job) -> Option<String> {
    let used = |t: &Task| {
        let numa = t.resources.as_ref().and_then(|r| r.numa.as_ref());
        numa.is_some_and(|n| !matches!(n.affinity.as_str(), "" | "none"))
    };
    tasks(job).any(used).then(|| "numa scheduling requires Nomad Enterprise".into())
}

pub(super) fn schedule(job: &Job) -> Option<String> {
    tasks(job).any(|t| t.schedule.is_some()).then(|| "task schedules requires Nomad Enterprise".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{
        Consul, Namespace, NamespaceCapabilities, NetworkResource, NodePool, Numa, Resources, Service, TaskGroup,
        TaskSchedule, Vault,
    };

    fn job(tasks: Vec<Task>) -> Job {
        Job {
            id: "j".into(),
            namespace: "default".into(),
            node_pool: "default".into(),
            task_groups: vec![TaskGroup { tasks, ..TaskGroup::default() }],
            ..Job::default()
        }
    }

    #[test]
    fn vault_texts() {
        let uses = |cluster: &str, namespace: &str| Task {
            vault: Some(Vault { cluster: cluster.into(), namespace: namespace.into(), ..Vault::default() }),
            ..Task::default()
        };
        let off = ServerContext::default();
        let on = ServerContext { vault_enabled: true, ..off.clone() };
        let text = |tasks, ctx| vault(&job(tasks), ctx).unwrap_or_default();
        assert_eq!(text(vec![Task::default()], &off), "");
        assert_eq!(text(vec![uses("default", "")], &on), "");
        assert_eq!(text(vec![uses("default", "")], &off), "Vault \"default\" not enabled but used in the job");
        assert_eq!(text(vec![uses("eng", "")], &on), "Vault \"eng\" not enabled but used in the job");
        assert_eq!(
            text(vec![uses("", "b"), uses("", "a"), uses("", "b"), uses("", "")], &on),
            "multiple Vault namespaces requires Nomad Enterprise, Namespaces: a, b"
        );
    }

    #[test]
    fn consul_texts() {
        let block = |cluster: &str, partition: &str| {
            Some(Consul { cluster: cluster.into(), partition: partition.into(), namespace: "".into() })
        };
        let cluster = "non-default Consul cluster requires Nomad Enterprise";
        let text = |group: Option<Consul>, task: Option<Consul>, service: Service| {
            let mut job = job(vec![Task { consul: task, services: vec![service], ..Task::default() }]);
            job.task_groups.iter_mut().for_each(|g| g.consul = group.clone());
            consul(&job).unwrap_or_default()
        };
        let service = |provider: &str, cluster: &str| Service {
            provider: provider.into(),
            cluster: cluster.into(),
            ..Service::default()
        };
        assert_eq!(text(block("default", "a"), block("", "a"), service("consul", "default")), "");
        assert_eq!(text(block("", ""), block("", "a"), service("nomad", "eng")), "");
        assert_eq!(text(block("eng", ""), None, Service::default()), cluster);
        assert_eq!(text(None, block("eng", ""), Service::default()), cluster);
        assert_eq!(text(None, None, service("consul", "eng")), cluster);
        assert_eq!(
            text(block("", "a"), block("", "b"), Service::default()),
            "task.consul.partition \"b\" must match group.consul.partition \"a\" if both are set"
        );
    }

    #[test]
    fn namespace_texts() {
        let list = |l: &[&str]| l.iter().map(|s| s.to_string()).collect::<Vec<_>>();
        let capabilities = |enabled: &[&str], disabled: &[&str], modes: &[&str], no_modes: &[&str]| ServerContext {
            namespaces: vec![Namespace {
                name: "default".into(),
                capabilities: Some(NamespaceCapabilities {
                    enabled_task_drivers: list(enabled),
                    disabled_task_drivers: list(disabled),
                    enabled_network_modes: list(modes),
                    disabled_network_modes: list(no_modes),
                }),
                ..Namespace::default()
            }],
            ..ServerContext::default()
        };
        let t = |driver: &str| Task { driver: driver.into(), ..Task::default() };
        let mut j = job(vec![t("exec"), t("docker"), t("raw_exec")]);
        let network = |mode: &str| NetworkResource { mode: mode.into(), ..NetworkResource::default() };
        j.task_groups.iter_mut().for_each(|g| g.networks = vec![network(""), network("bridge")]);
        let text = |ctx: &ServerContext| namespace(&j, ctx).unwrap_or_default();
        assert_eq!(text(&ServerContext::default()), "");
        assert_eq!(text(&capabilities(&[], &[], &[], &[])), "");
        assert_eq!(
            text(&capabilities(&["docker", "exec"], &[], &[], &[])),
            "used task driver \"raw_exec\" is not allowed in namespace \"default\""
        );
        assert_eq!(
            text(&capabilities(&[], &["raw_exec", "exec"], &[], &[])),
            "used task drivers [\"exec\" \"raw_exec\"] are not allowed in namespace \"default\""
        );
        assert_eq!(
            text(&capabilities(&[], &[], &["bridge"], &[])),
            "used group network mode \"host\" is not allowed in namespace \"default\""
        );
        assert_eq!(
            text(&capabilities(&[], &[], &[], &["bridge", "host"])),
            "used group network modes [\"host\" \"bridge\"] are not allowed in namespace \"default\""
        );
        let lost = Job { namespace: "gone".into(), ..j.clone() };
        assert_eq!(
            namespace(&lost, &ServerContext::default()).as_deref(),
            Some("job \"j\" is in nonexistent namespace \"gone\"")
        );
    }

    #[test]
    fn node_pool_texts() {
        let mut ctx = ServerContext::default();
        let j = Job { node_pool: "gpu".into(), ..job(vec![]) };
        assert_eq!(node_pool(&j, &ctx).as_deref(), Some("job \"j\" is in nonexistent node pool \"gpu\""));
        ctx.node_pools.push(NodePool { name: "gpu".into(), ..NodePool::default() });
        assert_eq!(node_pool(&j, &ctx), None);
    }

    #[test]
    fn enterprise_texts() {
        let with = |affinity: &str| {
            let numa = Some(Numa { affinity: affinity.into(), devices: vec![] });
            job(vec![Task { resources: Some(Resources { numa, ..Resources::default() }), ..Task::default() }])
        };
        assert_eq!(numa(&with("none")), None);
        assert_eq!(numa(&with("prefer")).as_deref(), Some("numa scheduling requires Nomad Enterprise"));
        assert_eq!(schedule(&job(vec![Task::default()])), None);
        let scheduled = Task { schedule: Some(TaskSchedule::default()), ..Task::default() };
        assert_eq!(schedule(&job(vec![scheduled])).as_deref(), Some("task schedules requires Nomad Enterprise"));
    }
}
