//! Admission validators and warnings (`docs/spec/jobspec.md §14-15`). Every text is exact.
//!
//! - [`job`], [`group`], [`task`]: the structure, top down, in the order in which it is checked; they use [`policies`],
//!   [`constraint`], [`network`], [`volume`], [`service`] with [`check`] and [`connect`] with [`gateway`],
//!   [`task_files`], [`task_blocks`].
//! - [`settings`]: the small validators that compare a job with the server's settings.
//! - [`warnings`]: warnings about valid jobs. [`errors`]: the formatting of lists.

mod check;
mod connect;
mod constraint;
mod errors;
mod gateway;
mod group;
mod job;
mod network;
mod policies;
mod service;
mod settings;
mod task;
mod task_blocks;
mod task_files;
mod volume;
mod warnings;

use super::ServerContext;
use encamp_model::Job;

pub use errors::{add_warning, error_list};
pub use warnings::{source_size_warning, warnings};

/// All errors of a mutated job, in the validators' order (`docs/spec/jobspec.md §14.1-14.3`); none: the job is valid.
pub fn validate(job: &Job, ctx: &ServerContext) -> Vec<String> {
    let before = [
        connect::validator(job),
        connect::expose_check(job),
        settings::vault(job, ctx),
        settings::consul(job),
        settings::namespace(job, ctx),
        settings::node_pool(job, ctx),
    ];
    let after = [settings::numa(job), settings::schedule(job)];
    before.into_iter().flatten().chain(job::validate(job, ctx)).chain(after.into_iter().flatten()).collect()
}

/// The errors of the job's structure alone (`docs/spec/jobspec.md §14.5` and below): what can be said without a server.
pub(crate) fn validate_structure(job: &Job) -> Vec<String> {
    job::structure(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::*;

    /// A service job of one group `g` with one task `t` that no rule objects to.
    pub(super) fn good_job() -> Job {
        let task = Task {
            name: "t".into(),
            driver: "mock".into(),
            kill_timeout: 5 * SECOND,
            resources: Some(Resources { cpu: 100, memory_mb: 300, ..Resources::default() }),
            log_config: Some(LogConfig { max_files: 10, max_file_size_mb: 10, disabled: false }),
            ..Task::default()
        };
        let group = TaskGroup {
            name: "g".into(),
            count: 1,
            tasks: vec![task],
            restart_policy: Some(RestartPolicy {
                attempts: 2,
                interval: 30 * MINUTE,
                delay: 15 * SECOND,
                mode: RestartMode::Fail,
                render_templates: false,
            }),
            reschedule_policy: Some(ReschedulePolicy {
                delay: 30 * SECOND,
                delay_function: "exponential".into(),
                max_delay: HOUR,
                unlimited: true,
                ..ReschedulePolicy::default()
            }),
            ephemeral_disk: Some(EphemeralDisk { size_mb: 300, ..EphemeralDisk::default() }),
            update: Some(UpdateStrategy {
                stagger: 30 * SECOND,
                max_parallel: 1,
                health_check: "checks".into(),
                min_healthy_time: 10 * SECOND,
                healthy_deadline: 5 * MINUTE,
                progress_deadline: 10 * MINUTE,
                ..UpdateStrategy::default()
            }),
            migrate: Some(MigrateStrategy {
                max_parallel: 1,
                health_check: "checks".into(),
                min_healthy_time: 10 * SECOND,
                healthy_deadline: 5 * MINUTE,
            }),
            ..TaskGroup::default()
        };
        Job {
            region: "global".into(),
            namespace: "default".into(),
            id: "j".into(),
            name: "j".into(),
            r#type: JobType::Service,
            priority: 50,
            datacenters: vec!["*".into()],
            node_pool: "default".into(),
            task_groups: vec![group],
            ..Job::default()
        }
    }

    #[test]
    fn validators_report_in_order() {
        let mut job = good_job();
        assert!(validate(&job, &ServerContext::default()).is_empty());
        assert!(validate_structure(&job).is_empty());
        (job.namespace, job.node_pool, job.priority) = ("gone".into(), "gone".into(), 0);
        for g in &mut job.task_groups {
            let exposed =
                ServiceCheck { name: "c".into(), r#type: "http".into(), expose: true, ..ServiceCheck::default() };
            g.services = vec![
                Service {
                    name: "s".into(),
                    provider: "consul".into(),
                    connect: Some(ConsulConnect {
                        sidecar_service: Some(ConsulSidecarService::default()),
                        ..ConsulConnect::default()
                    }),
                    ..Service::default()
                },
                Service { name: "e".into(), provider: "etcd".into(), checks: vec![exposed], ..Service::default() },
            ];
            g.consul = Some(Consul { cluster: "eng".into(), ..Consul::default() });
            for t in &mut g.tasks {
                t.vault = Some(Vault { change_mode: "noop".into(), ..Vault::default() });
                t.schedule = Some(TaskSchedule::default());
                t.resources.iter_mut().for_each(|r| {
                    r.numa = Some(Numa { affinity: "prefer".into(), devices: vec![] });
                });
            }
        }
        let items = validate(&job, &ServerContext::default());
        let starts = [
            "connect sidecar: must have exactly one network",
            "connect expose check: must have exactly one network",
            "Vault \"default\" not enabled",
            "non-default Consul cluster",
            "job \"j\" is in nonexistent namespace \"gone\"",
            "job \"j\" is in nonexistent node pool \"gone\"",
            "Task group g validation failed: ",
            "job priority must be between [1, 100]",
            "numa scheduling requires",
            "task schedules requires",
        ];
        assert_eq!(items.len(), starts.len(), "{items:#?}");
        for (item, start) in items.iter().zip(starts) {
            assert!(item.starts_with(start), "{item} / {start}");
        }
        assert_eq!(validate_structure(&job).len(), 1);
    }
}
