//! Task groups, in the order in which their parts are checked (`docs/spec/jobspec.md §14.6`).

use std::collections::BTreeMap;

use super::constraint::{affinities, constraints, spreads};
use super::errors::Errors;
use super::{network, policies, service, task, volume};
use encamp_model::quoted;
use encamp_model::{JobType, TaskGroup};

const MIN_DISK_MB: i64 = 10;

/// The errors of one group of a job of that type.
pub(super) fn group(g: &TaskGroup, job_type: &JobType) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(g.name.is_empty(), "Missing task group name");
    errors.add_if(g.name.contains('\0'), "Task group name contains null character");
    errors.add_if(g.count < 0, "Task group count can't be negative");
    errors.add_if(g.tasks.is_empty(), "Missing tasks for task group");
    errors.flatten(g.disconnect.iter().flat_map(|d| policies::disconnect(d, job_type)));
    if let Some(duration) = g.max_run_duration {
        errors.add_if(duration <= 0, "MaxRunDuration must be greater than zero");
        errors.add_if(!is_batch(job_type), not_allowed(job_type, "max_run_duration"));
    }
    constraints(&mut errors, &g.constraints);
    affinities(&mut errors, &g.affinities, job_type);
    errors.flatten(g.restart_policy.iter().flat_map(policies::restart));
    spreads(&mut errors, &g.spreads, job_type);
    reschedule(&mut errors, g, job_type);
    let disk = g.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb);
    errors.add_if(disk < MIN_DISK_MB, format_args!("minimum DiskMB value is {MIN_DISK_MB}; got {disk}"));
    if let Some(u) = &g.update {
        errors.add_if(!matches!(job_type, JobType::Service | JobType::System), not_allowed(job_type, "update block"));
        errors.flatten(policies::update(u));
    }
    if let Some(m) = &g.migrate {
        if *job_type == JobType::Service {
            errors.flatten(policies::migrate(m));
        } else {
            errors.add(not_allowed(job_type, "migrate block"));
        }
    }
    task_names(&mut errors, g);
    volume::volumes(&mut errors, g, job_type);
    errors.nest("Task group network validation failed: ", network::networks(g));
    errors.nest("Task group service validation failed: ", service::group_services(g));
    errors.nest("Task group service check validation failed: ", service::script_checks(g));
    if let Some(p) = &g.scaling {
        errors.nest("Task group scaling policy validation failed: ", policies::scaling(p, g.count));
    }
    for t in &g.tasks {
        errors.nest(format_args!("Task {} validation failed: ", t.name), task::task(t, g, job_type));
    }
    errors.into_items()
}

/// Jobs whose allocations end by themselves.
pub(super) fn is_batch(job_type: &JobType) -> bool {
    matches!(job_type, JobType::Batch | JobType::Sysbatch)
}

fn not_allowed(job_type: &JobType, what: &str) -> String {
    format!("Job type {} does not allow {what}", quoted(job_type.as_str()))
}

fn reschedule(errors: &mut Errors, g: &TaskGroup, job_type: &JobType) {
    let on_every_node = matches!(job_type, JobType::System | JobType::Sysbatch);
    match &g.reschedule_policy {
        Some(_) if on_every_node => errors.add("System or sysbatch jobs should not have a reschedule policy"),
        None if on_every_node => {}
        Some(p) => errors.flatten(policies::reschedule(p)),
        None => errors.add(format!("Task Group {} should have a reschedule policy", g.name)),
    }
}

fn task_names(errors: &mut Errors, g: &TaskGroup) {
    let mut seen = BTreeMap::new();
    for (i, t) in g.tasks.iter().enumerate().map(|(i, t)| (i + 1, t)) {
        if t.name.is_empty() {
            errors.add(format!("Task {i} missing name"));
        } else if let Some(other) = seen.get(&t.name) {
            errors.add(format!("Task {i} redefines '{}' from task {other}", t.name));
        } else {
            seen.insert(&t.name, i);
        }
    }
    errors.add_if(g.tasks.iter().filter(|t| t.leader).count() > 1, "Only one task may be marked as leader");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::validate::tests::good_job;
    use encamp_model::{
        Affinity, DisconnectStrategy, MigrateStrategy, Port, ReschedulePolicy, SECOND, ScalingPolicy, Service, Spread,
        Task, UpdateStrategy, VolumeRequest,
    };

    fn good() -> TaskGroup {
        good_job().task_groups.remove(0)
    }

    #[test]
    fn group_texts() {
        type Case = (JobType, fn(&mut TaskGroup), &'static [&'static str]);
        let cases: &[Case] = &[
            (JobType::Service, |_| {}, &[]),
            (JobType::Service, |g| g.name = "".into(), &["Missing task group name"]),
            (JobType::Service, |g| g.name = "a\0".into(), &["Task group name contains null character"]),
            (JobType::Service, |g| g.count = -1, &["Task group count can't be negative"]),
            (JobType::Service, |g| g.tasks.clear(), &["Missing tasks for task group"]),
            (
                JobType::Service,
                |g| {
                    g.disconnect = Some(DisconnectStrategy {
                        lost_after: -1,
                        reconcile: "best_score".into(),
                        ..DisconnectStrategy::default()
                    });
                },
                &["lost_after cannot be a negative duration"],
            ),
            (
                JobType::Service,
                |g| g.max_run_duration = Some(0),
                &["MaxRunDuration must be greater than zero", "Job type \"service\" does not allow max_run_duration"],
            ),
            (
                JobType::Service,
                |g| g.restart_policy.iter_mut().for_each(|r| r.mode = "loop".into()),
                &["Unsupported restart mode: \"loop\""],
            ),
            (JobType::Service, |g| g.reschedule_policy = None, &["Task Group g should have a reschedule policy"]),
            (
                JobType::Service,
                |g| g.reschedule_policy.iter_mut().for_each(|r| r.delay_function = "x".into()),
                &["Invalid delay function \"x\", must be one of [\"constant\" \"exponential\" \"fibonacci\"]"],
            ),
            (
                JobType::Service,
                |g| {
                    g.ephemeral_disk.iter_mut().for_each(|d| d.size_mb = 9);
                    g.tasks.iter_mut().for_each(|t| t.log_config = None);
                },
                &["minimum DiskMB value is 10; got 9"],
            ),
            (
                JobType::Service,
                |g| g.update.iter_mut().for_each(|u| u.canary = -1),
                &["Canary count can not be less than zero: -1 < 0"],
            ),
            (
                JobType::Service,
                |g| g.migrate.iter_mut().for_each(|m| m.max_parallel = -1),
                &["MaxParallel must be >= 0 but found -1"],
            ),
            (
                JobType::Service,
                |g| g.tasks.push(Task { leader: true, ..g.tasks.first().cloned().unwrap_or_default() }),
                &["Task 2 redefines 't' from task 1"],
            ),
            (
                JobType::Service,
                |g| {
                    g.volumes = Some(
                        [("v".to_string(), VolumeRequest { r#type: "host".into(), ..VolumeRequest::default() })].into(),
                    );
                },
                &["Task group volume validation for v failed: 1 error occurred:\n\t* volume has an empty source\n\n"],
            ),
            (
                JobType::Service,
                |g| {
                    let port = Port { label: "p".into(), value: 70000, ..Port::default() };
                    g.networks = vec![encamp_model::NetworkResource {
                        reserved_ports: vec![port],
                        ..encamp_model::NetworkResource::default()
                    }];
                },
                &[
                    "Task group network validation failed: 1 error occurred:\n\t* Port p (70000) cannot be greater than \
                   65535\n\n",
                ],
            ),
            (
                JobType::Service,
                |g| g.services = vec![Service { name: "a".into(), provider: "etcd".into(), ..Service::default() }],
                &[
                    "Task group service validation failed: 1 error occurred:\n\t* Service[0] a validation failed: 1 error \
                   occurred:\n\t* Service provider must be \"consul\", or \"nomad\"; not \"etcd\"\n\n\n\n",
                ],
            ),
            (
                JobType::Service,
                |g| g.scaling = Some(ScalingPolicy { max: 0, ..ScalingPolicy::default() }),
                &[
                    "Task group scaling policy validation failed: 1 error occurred:\n\t* Scaling policy invalid: task group \
                   count must not be greater than maximum count in scaling policy\n\n",
                ],
            ),
            (
                JobType::Service,
                |g| g.tasks.iter_mut().for_each(|t| t.driver.clear()),
                &["Task t validation failed: 1 error occurred:\n\t* Missing task driver\n\n"],
            ),
            (
                JobType::System,
                |g| (g.affinities, g.spreads) = (vec![Affinity::default()], vec![Spread::default()]),
                &[
                    "System jobs may not have an affinity block",
                    "System jobs may not have a spread block",
                    "System or sysbatch jobs should not have a reschedule policy",
                    "Job type \"system\" does not allow migrate block",
                ],
            ),
            (
                JobType::Batch,
                |g| g.max_run_duration = Some(SECOND),
                &["Job type \"batch\" does not allow update block", "Job type \"batch\" does not allow migrate block"],
            ),
            (JobType::Sysbatch, |g| (g.reschedule_policy, g.update, g.migrate) = (None, None, None), &[]),
        ];
        for (job_type, change, want) in cases {
            let mut g = good();
            change(&mut g);
            assert_eq!(group(&g, job_type), *want, "{job_type} {g:?}");
        }
    }

    #[test]
    fn task_name_texts() {
        let t = |name: &str, leader| Task { name: name.into(), leader, ..Task::default() };
        let g = TaskGroup {
            tasks: vec![t("a", true), t("", false), t("a", true), t("a", false), t("", false)],
            ..TaskGroup::default()
        };
        let mut errors = Errors::default();
        task_names(&mut errors, &g);
        assert_eq!(
            errors.into_items(),
            [
                "Task 2 missing name",
                "Task 3 redefines 'a' from task 1",
                "Task 4 redefines 'a' from task 1",
                "Task 5 missing name",
                "Only one task may be marked as leader",
            ]
        );
    }

    #[test]
    fn disabled_parts_are_not_checked() {
        let mut g = good();
        g.reschedule_policy = Some(ReschedulePolicy::default());
        g.update = Some(UpdateStrategy { progress_deadline: 0, ..g.update.unwrap_or_default() });
        g.migrate = Some(MigrateStrategy::default());
        assert!(group(&g, &JobType::Service).is_empty());
    }
}
