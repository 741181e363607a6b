//! Counts, scaling policies and rollouts.

use encamp_model::{Job, JobType, Service, TaskGroup, UpdateStrategy};
use encamp_state::State;

use super::{Block, Fact, Remarks, RolloutSetting};

pub(super) fn look(job: &Job, state: Option<&State>, out: &mut Remarks) {
    let registered = state.and_then(|s| s.job(&job.namespace, &job.id)).filter(|j| !j.stop);
    for group in &job.task_groups {
        let before = registered.and_then(|j| j.task_groups.iter().find(|g| g.name == group.name)).map(|g| g.count);
        scaling(group, before, out);
        if let (JobType::Service, Some(update)) = (&job.r#type, &group.update) {
            rollout(group, update, out);
        }
    }
}

fn scaling(group: &TaskGroup, registered: Option<i64>, out: &mut Remarks) {
    let Some(policy) = group.scaling.as_ref().filter(|p| p.enabled) else { return };
    let mut add = |fact| out.add(Some(&group.name), None, Block::Scaling, fact);
    if policy.min == policy.max {
        add(Fact::NothingToScale { count: policy.max });
    } else if let Some(registered) = registered.filter(|count| *count != group.count) {
        add(Fact::CountResets { registered, count: group.count });
    }
}

fn rollout(group: &TaskGroup, update: &UpdateStrategy, out: &mut Remarks) {
    let mut add = |block, fact| out.add(Some(&group.name), None, block, fact);
    if update.max_parallel == 0 {
        let set = [(RolloutSetting::Canary, update.canary > 0), (RolloutSetting::AutoRevert, update.auto_revert)];
        set.iter()
            .filter(|(_, set)| *set)
            .for_each(|(setting, _)| add(Block::Update, Fact::RolloutOff { setting: *setting }));
        return;
    }
    match update.health_check.as_str() {
        "manual" if update.auto_promote => return add(Block::Update, Fact::ManualPromotion),
        "checks" => {}
        _ => return,
    }
    let mut slow = |task: Option<&str>, services: &[Service]| {
        for (service, check, needed) in slow_checks(services, update) {
            let fact = Fact::CheckTooSlow { needed, deadline: update.healthy_deadline };
            out.add(Some(&group.name), task, Block::Check { service, check }, fact);
        }
    };
    slow(None, &group.services);
    group.tasks.iter().for_each(|t| slow(Some(&t.name), &t.services));
}

/// The checks that cannot pass before the deadline: the numbers of service and check, and the time that is needed.
fn slow_checks(services: &[Service], update: &UpdateStrategy) -> Vec<(usize, usize, i64)> {
    let mut out = Vec::new();
    for (s, service) in services.iter().enumerate() {
        for (c, check) in service.checks.iter().enumerate() {
            // The first success may come at once, and each further one after an interval.
            let intervals = check.success_before_passing.saturating_sub(1).max(0);
            let needed = intervals.saturating_mul(check.interval).saturating_add(update.min_healthy_time);
            if intervals > 0 && check.on_update != "ignore" && needed >= update.healthy_deadline {
                out.push((s, c, needed));
            }
        }
    }
    out
}
