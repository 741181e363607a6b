//! Defaults of policies, and the merging of a group's policies with the job's (`docs/spec/jobspec.md §10`).

use encamp_model::api::*;
use encamp_model::{HOUR, JobType, MINUTE, RestartMode, SECOND};

/// Values that are taken from elsewhere where they are null.
pub(crate) trait Fill {
    /// Takes every null field from `from`.
    fn fill(&mut self, from: &Self);
}

macro_rules! fill_fields {
    ($($policy:ident { $($field:ident),* })*) => {
        $(impl Fill for $policy {
            fn fill(&mut self, from: &Self) {
                $(if self.$field.is_none() {
                    self.$field.clone_from(&from.$field);
                })*
            }
        })*
    };
}

fill_fields! {
    UpdateStrategy {
        stagger, max_parallel, health_check, min_healthy_time, healthy_deadline, progress_deadline, canary, auto_revert,
        auto_promote
    }
    ReschedulePolicy { attempts, interval, delay, delay_function, max_delay, unlimited }
    MigrateStrategy { max_parallel, health_check, min_healthy_time, healthy_deadline }
    RestartPolicy { interval, attempts, delay, mode, render_templates }
    EphemeralDisk { sticky, migrate, size_mb }
    LogConfig { max_files, max_file_size_mb, enabled, disabled }
}

/// The update strategy of jobs that say nothing.
pub(crate) fn default_update() -> UpdateStrategy {
    UpdateStrategy {
        stagger: Some(30 * SECOND),
        max_parallel: Some(1),
        health_check: Some("checks".into()),
        min_healthy_time: Some(10 * SECOND),
        healthy_deadline: Some(5 * MINUTE),
        progress_deadline: Some(10 * MINUTE),
        canary: Some(0),
        auto_revert: Some(false),
        auto_promote: Some(false),
    }
}

/// The reschedule policy of a job type; all zero for types that do not reschedule.
pub(crate) fn default_reschedule(r#type: &JobType) -> ReschedulePolicy {
    let (attempts, interval, delay, function, max_delay, unlimited) = match r#type {
        JobType::Service => (0, 0, 30 * SECOND, "exponential", HOUR, true),
        JobType::Batch => (1, 24 * HOUR, 5 * SECOND, "constant", 0, false),
        JobType::System | JobType::Sysbatch | JobType::Core | JobType::Unset | JobType::Other(_) => {
            (0, 0, 0, "", 0, false)
        }
    };
    ReschedulePolicy {
        attempts: Some(attempts),
        interval: Some(interval),
        delay: Some(delay),
        delay_function: Some(function.into()),
        max_delay: Some(max_delay),
        unlimited: Some(unlimited),
    }
}

/// The migrate strategy of service jobs.
pub(crate) fn default_migrate() -> MigrateStrategy {
    MigrateStrategy {
        max_parallel: Some(1),
        health_check: Some("checks".into()),
        min_healthy_time: Some(10 * SECOND),
        healthy_deadline: Some(5 * MINUTE),
    }
}

/// The restart policy of a job type.
pub(crate) fn default_restart(r#type: &JobType) -> RestartPolicy {
    let (attempts, interval) = match r#type {
        JobType::Service | JobType::System => (2, 30 * MINUTE),
        JobType::Batch | JobType::Sysbatch | JobType::Core | JobType::Unset | JobType::Other(_) => (3, 24 * HOUR),
    };
    RestartPolicy {
        interval: Some(interval),
        attempts: Some(attempts),
        delay: Some(15 * SECOND),
        mode: Some(RestartMode::Fail.to_string()),
        render_templates: Some(false),
    }
}

/// Where logs go that say nothing: ten files of 10 MB.
pub(crate) fn default_logs() -> LogConfig {
    LogConfig { max_files: Some(10), max_file_size_mb: Some(10), enabled: None, disabled: Some(false) }
}

/// Update, reschedule, migrate and restart of a group, in this order.
pub(crate) fn merge_group_policies(group: &mut TaskGroup, job: &Job, r#type: &JobType) {
    // An empty update block of the job still lies below the group's own.
    let job_update = job.update.as_ref().filter(|u| group.update.is_some() || !is_empty(u));
    inherit(&mut group.update, job_update, || None, &default_update());
    let reschedule = default_reschedule(r#type);
    let own = || (!matches!(r#type, JobType::System | JobType::Sysbatch)).then(|| reschedule.clone());
    inherit(&mut group.reschedule_policy, job.reschedule.as_ref(), own, &reschedule);
    let migrate = default_migrate();
    inherit(
        &mut group.migrate,
        job.migrate.as_ref(),
        || (*r#type == JobType::Service).then(|| migrate.clone()),
        &migrate,
    );
    group.restart_policy.get_or_insert_default().fill(&default_restart(r#type));
}

/// The group's values over the job's; with neither, `neither`; the rest from the default.
fn inherit<P: Fill + Clone>(group: &mut Option<P>, job: Option<&P>, neither: impl Fn() -> Option<P>, default: &P) {
    match (group.as_mut(), job) {
        (Some(group), Some(job)) => group.fill(job),
        (None, Some(job)) => *group = Some(job.clone()),
        (None, None) => *group = neither(),
        (Some(_), None) => {}
    }
    if let Some(policy) = group {
        policy.fill(default);
    }
}

/// Whether an update block says nothing at all; such a block does not reach the groups that have none.
fn is_empty(update: &UpdateStrategy) -> bool {
    let numbers = [
        update.stagger,
        update.max_parallel,
        update.min_healthy_time,
        update.healthy_deadline,
        update.progress_deadline,
        update.canary,
    ];
    numbers.iter().all(|n| n.unwrap_or(0) == 0)
        && update.health_check.as_deref().unwrap_or_default().is_empty()
        && !update.auto_revert.unwrap_or(false)
        && !update.auto_promote.unwrap_or(false)
}
