//! Warnings about jobs that are valid (`docs/spec/jobspec.md §15`).

use super::errors::{Errors, warning_list};
use crate::admission::ServerContext;
use encamp_model::quoted;
use encamp_model::{Job, Service, Task, TaskGroup, WorkloadIdentity};

/// The text of all warnings, `""` when there are none.
pub fn warnings(job: &Job, ctx: &ServerContext) -> String {
    let mut items = Errors::default();
    for g in &job.task_groups {
        items.nest(format_args!("Group {} has warnings: ", quoted(&g.name)), group(g));
    }
    for g in &job.task_groups {
        shutdown_delays(&mut items, g);
    }
    let updates = || job.task_groups.iter().filter_map(|g| g.update.as_ref());
    items.add_if(
        updates().any(|u| u.auto_promote) && updates().any(|u| u.canary > 0 && !u.auto_promote),
        "auto_promote must be true for all groups to enable automatic promotion",
    );
    items.add_if(
        job.periodic.as_ref().is_some_and(|p| !p.spec.is_empty()),
        "cron is deprecated and may be removed in a future release. Use crons instead",
    );
    for t in job.task_groups.iter().flat_map(|g| &g.tasks).filter(|t| t.vault.is_none()) {
        for i in t.identities.iter().filter(|i| i.name.starts_with("vault_")) {
            items.add(format!("Task {} has an identity called {} but no vault block", t.name, i.name));
        }
    }
    if !oversubscription(job, ctx) {
        for (g, t) in job.task_groups.iter().flat_map(|g| g.tasks.iter().map(move |t| (g, t))) {
            items.add_if(
                t.resources.as_ref().is_some_and(|r| r.memory_max_mb != 0),
                format_args!(
                    "Memory oversubscription is not enabled; Task \"{}.{}\" memory_max value will be ignored. Update the \
                     Scheduler Configuration to allow oversubscription.",
                    g.name, t.name
                ),
            );
        }
    }
    warning_list(&items.into_items())
}

/// Whether tasks of the job may use more memory than they reserve: the node pool's setting, else the cluster's.
fn oversubscription(job: &Job, ctx: &ServerContext) -> bool {
    let pool = ctx.node_pools.iter().find(|p| p.name == job.node_pool);
    pool.and_then(|p| p.scheduler_configuration.as_ref()?.memory_oversubscription_enabled)
        .unwrap_or(ctx.scheduler.memory_oversubscription_enabled)
}

fn group(g: &TaskGroup) -> Vec<String> {
    let mut items = Errors::default();
    if let Some(u) = &g.update {
        items.add_if(
            g.count > 1 && u.max_parallel > g.count,
            format_args!(
                "Update max parallel count is greater than task group count ({} > {}). A destructive change would result in \
                 the simultaneous replacement of all allocations.",
                u.max_parallel, g.count
            ),
        );
    }
    items.add_if(
        g.networks.first().is_some_and(|n| n.mbits > 0),
        "mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network block",
    );
    items.flatten(services(&g.services));
    for t in &g.tasks {
        items.nest(format_args!("Task {} has warnings: ", quoted(&t.name)), task(t));
    }
    items.into_items()
}

fn task(t: &Task) -> Vec<String> {
    let mut items = Errors::default();
    if let Some(r) = &t.resources {
        items
            .add_if(r.iops != 0, "IOPS has been deprecated as of Nomad 0.9.0. Please remove IOPS from resource block.");
        items.add_if(
            !r.networks.is_empty(),
            "task network resources have been deprecated as of Nomad 0.12.0. Please configure networking via group network \
             block.",
        );
    }
    for (i, _) in t.templates.iter().enumerate().filter(|(_, template)| template.vault_grace != 0) {
        items.add(format!(
            "Template[{i}] VaultGrace has been deprecated as of Nomad 0.11 and ignored since Vault 0.5. Please remove \
             VaultGrace / vault_grace from template block."
        ));
    }
    items.flatten(services(&t.services));
    for i in &t.identities {
        let prefixed = identity(i).into_iter().map(|w| format!("Identity[{}] {w}", i.name)).collect();
        items.nest("", prefixed);
    }
    items.into_items()
}

fn services(list: &[Service]) -> impl Iterator<Item = String> {
    list.iter().flat_map(|s| {
        let warnings = s.identity.as_ref().map(identity).unwrap_or_default();
        warnings.into_iter().map(move |w| format!("Service {}: {w}", quoted(&s.name)))
    })
}

/// The default identity, which has no name of its own, is not warned about.
fn identity(i: &WorkloadIdentity) -> Vec<String> {
    let mut items = Errors::default();
    if matches!(i.name.as_str(), "" | "default") {
        return items.into_items();
    }
    items.add_if(i.audience.is_empty(), "identities without an audience are insecure");
    items.add_if(
        i.audience.len() > 1,
        "while multiple audiences is allowed, it is more secure to use 1 audience per identity",
    );
    items.add_if(i.ttl == 0, "identities without an expiration are insecure");
    items.add_if(
        i.env && i.change_mode != "restart",
        "using env=true without change_mode=\"restart\" may result in task not getting updated identity",
    );
    items.into_items()
}

fn shutdown_delays(items: &mut Errors, g: &TaskGroup) {
    let name = quoted(&g.name);
    for s in &g.services {
        let sidecar = s.connect.as_ref().and_then(|c| c.sidecar_task.as_ref());
        items.add_if(
            sidecar.is_some_and(|t| t.shutdown_delay.is_none()),
            format_args!(
                "service {} defines a sidecar task in Consul Connect definition, but the task has no shutdown_delay set",
                quoted(&s.name)
            ),
        );
    }
    for t in g.tasks.iter().filter(|t| t.shutdown_delay == 0) {
        let task = quoted(&t.name);
        items.add_if(
            !t.name.is_empty() && g.services.iter().any(|s| s.task_name == t.name),
            format_args!(
                "group {name} references task {task} in a service definition, but the task has no shutdown_delay set"
            ),
        );
        items.add_if(
            !t.services.is_empty(),
            format_args!("task {task} in group {name} defines services, but has no shutdown_delay set"),
        );
    }
    let delayed = g.shutdown_delay.is_some_and(|d| d != 0) || g.tasks.iter().any(|t| t.shutdown_delay != 0);
    let on_their_own =
        |s: &Service| s.task_name.is_empty() && s.connect.as_ref().is_none_or(|c| c.sidecar_task.is_none());
    items.add_if(
        !delayed && g.services.iter().any(on_their_own),
        format_args!(
            "group {name} defines services, but neither the group nor any of its tasks have shutdown_delay set"
        ),
    );
}

/// Job files are kept beside their jobs unless they are larger than the server wants; sizes in bytes. The warning joins
/// those of registration.
pub fn source_size_warning(size: u64, max: u64) -> Option<String> {
    (size > max).then(|| {
        format!("job source size of {} exceeds maximum of {} and will be discarded", human_size(size), human_size(max))
    })
}

/// Decimal units, at most one digit after the point below 10: `999 B`, `1.0 MB`, `12 kB`.
fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let exponent = bytes.max(1).ilog(1000) as usize;
    let unit = UNITS.get(exponent).copied().unwrap_or("EB");
    if bytes < 10 {
        return format!("{bytes} B");
    }
    let value = (bytes as f64 / 1000f64.powi(exponent as i32) * 10.0 + 0.5).floor() / 10.0;
    if value < 10.0 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::validate::tests::good_job;
    use encamp_model::{
        ConsulConnect, NetworkResource, NodePool, NodePoolSchedulerConfiguration, PeriodicConfig, SECOND, SidecarTask,
        Template,
    };

    fn with_group(change: impl Fn(&mut TaskGroup)) -> Job {
        let mut job = good_job();
        job.task_groups.iter_mut().for_each(change);
        job
    }

    fn with_task(change: impl Fn(&mut Task)) -> Job {
        with_group(|g| g.tasks.iter_mut().for_each(&change))
    }

    fn text(job: &Job) -> String {
        warnings(job, &ServerContext::default())
    }

    fn in_group(lines: &str) -> String {
        format!("1 warning:\n\n* Group \"g\" has warnings: {lines}")
    }

    fn unsafe_identity(name: &str) -> WorkloadIdentity {
        WorkloadIdentity { name: name.into(), ..WorkloadIdentity::default() }
    }

    #[test]
    fn group_and_task_texts() {
        assert_eq!(text(&good_job()), "");
        let parallel = with_group(|g| {
            g.count = 2;
            g.update.iter_mut().for_each(|u| u.max_parallel = 3);
        });
        assert_eq!(
            text(&parallel),
            in_group(
                "1 error occurred:\n\t* Update max parallel count is greater than task group count (3 > 2). A destructive \
                 change would result in the simultaneous replacement of all allocations."
            )
        );
        let single = with_group(|g| g.update.iter_mut().for_each(|u| u.max_parallel = 3));
        assert_eq!(text(&single), "");
        let deprecated = with_group(|g| {
            g.networks = vec![NetworkResource { mbits: 10, ..NetworkResource::default() }];
            for t in &mut g.tasks {
                t.resources.iter_mut().for_each(|r| {
                    (r.iops, r.networks) = (1, vec![NetworkResource::default()]);
                });
                t.templates = vec![Template::default(), Template { vault_grace: SECOND, ..Template::default() }];
            }
        });
        assert_eq!(
            text(&deprecated),
            in_group(
                "2 errors occurred:\n\t* mbits has been deprecated as of Nomad 0.12.0. Please remove mbits from the network \
                 block\n\t* Task \"t\" has warnings: 3 errors occurred:\n\t* IOPS has been deprecated as of Nomad 0.9.0. \
                 Please remove IOPS from resource block.\n\t* task network resources have been deprecated as of Nomad \
                 0.12.0. Please configure networking via group network block.\n\t* Template[1] VaultGrace has been \
                 deprecated as of Nomad 0.11 and ignored since Vault 0.5. Please remove VaultGrace / vault_grace from \
                 template block."
            )
        );
    }

    #[test]
    fn identity_texts() {
        let service = Service { name: "s".into(), identity: Some(unsafe_identity("id")), ..Service::default() };
        let job = with_group(|g| {
            (g.services, g.shutdown_delay) = (vec![service.clone()], Some(SECOND));
            for t in &mut g.tasks {
                t.identities = vec![
                    unsafe_identity("default"),
                    WorkloadIdentity {
                        audience: vec!["a".into(), "b".into()],
                        env: true,
                        ttl: SECOND,
                        ..unsafe_identity("loose")
                    },
                    unsafe_identity("bare"),
                    WorkloadIdentity {
                        audience: vec!["a".into()],
                        env: true,
                        change_mode: "restart".into(),
                        ttl: SECOND,
                        ..unsafe_identity("good")
                    },
                ];
            }
        });
        assert_eq!(
            text(&job),
            in_group(
                "3 errors occurred:\n\t* Service \"s\": identities without an audience are insecure\n\t* Service \"s\": \
                 identities without an expiration are insecure\n\t* Task \"t\" has warnings: 2 errors occurred:\n\t* 2 errors \
                 occurred:\n\t* Identity[loose] while multiple audiences is allowed, it is more secure to use 1 audience \
                 per identity\n\t* Identity[loose] using env=true without change_mode=\"restart\" may result in task not \
                 getting updated identity\n\n\n\t* 2 errors occurred:\n\t* Identity[bare] identities without an audience \
                 are insecure\n\t* Identity[bare] identities without an expiration are insecure"
            )
        );
    }

    #[test]
    fn shutdown_delay_texts() {
        let one = |line: &str| format!("1 warning:\n\n* {line}");
        let service = |task: &str| Service { name: "s".into(), task_name: task.into(), ..Service::default() };
        let with_service = |s: Service| with_group(move |g| g.services = vec![s.clone()]);
        let lonely = "group \"g\" defines services, but neither the group nor any of its tasks have shutdown_delay set";
        assert_eq!(text(&with_service(service(""))), one(lonely));
        let mut delayed = with_service(service(""));
        delayed.task_groups.iter_mut().for_each(|g| g.shutdown_delay = Some(SECOND));
        assert_eq!(text(&delayed), "");
        assert_eq!(
            text(&with_service(service("t"))),
            one("group \"g\" references task \"t\" in a service definition, but the task has no shutdown_delay set")
        );
        assert_eq!(
            text(&with_task(|t| t.services = vec![service("")])),
            one("task \"t\" in group \"g\" defines services, but has no shutdown_delay set")
        );
        let connect = Some(ConsulConnect { sidecar_task: Some(SidecarTask::default()), ..ConsulConnect::default() });
        assert_eq!(
            text(&with_service(Service { connect, ..service("") })),
            one(
                "service \"s\" defines a sidecar task in Consul Connect definition, but the task has no shutdown_delay set"
            )
        );
    }

    #[test]
    fn job_texts() {
        let mut mixed = good_job();
        mixed.task_groups.push(mixed.task_groups[0].clone());
        for (g, promote) in mixed.task_groups.iter_mut().zip([true, false]) {
            g.update.iter_mut().for_each(|u| (u.canary, u.auto_promote) = (1, promote));
        }
        assert_eq!(
            text(&mixed),
            "1 warning:\n\n* auto_promote must be true for all groups to enable automatic promotion"
        );
        let mut job = with_task(|t| {
            t.identities =
                vec![WorkloadIdentity { audience: vec!["a".into()], ttl: SECOND, ..unsafe_identity("vault_default") }]
        });
        job.periodic = Some(PeriodicConfig { spec: "@daily".into(), ..PeriodicConfig::default() });
        assert_eq!(
            text(&job),
            "2 warnings:\n\n* cron is deprecated and may be removed in a future release. Use crons instead\n* Task t has an \
             identity called vault_default but no vault block"
        );
    }

    #[test]
    fn memory_oversubscription_follows_the_pool() {
        let job = with_task(|t| t.resources.iter_mut().for_each(|r| r.memory_max_mb = 1000));
        let mut ctx = ServerContext::default();
        let want = "1 warning:\n\n* Memory oversubscription is not enabled; Task \"g.t\" memory_max value will be ignored. \
                    Update the Scheduler Configuration to allow oversubscription.";
        assert_eq!(warnings(&job, &ctx), want);
        ctx.scheduler.memory_oversubscription_enabled = true;
        assert_eq!(warnings(&job, &ctx), "");
        let scheduler_configuration = Some(NodePoolSchedulerConfiguration {
            memory_oversubscription_enabled: Some(false),
            ..NodePoolSchedulerConfiguration::default()
        });
        ctx.node_pools = vec![NodePool { name: "default".into(), scheduler_configuration, ..NodePool::default() }];
        assert_eq!(warnings(&job, &ctx), want);
    }

    #[test]
    fn source_sizes() {
        assert_eq!(source_size_warning(1_000_000, 1_000_000), None);
        assert_eq!(
            source_size_warning(2_345_678, 1_000_000).as_deref(),
            Some("job source size of 2.3 MB exceeds maximum of 1.0 MB and will be discarded")
        );
        for (n, want) in [(5, "5 B"), (999, "999 B"), (1000, "1.0 kB"), (12_345, "12 kB"), (1_500_000_000, "1.5 GB")] {
            assert_eq!(human_size(n), want);
        }
    }
}
