//! Decisions on a deployment, given its allocations (`docs/spec/server.md §13.2-13.4`).

use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::reschedule;
use encamp_state::StateStore;

/// The result of a change of a deployment's allocations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Set if the deployment fails; the value says whether an affected group has `auto_revert` set.
    pub fail: Option<bool>,
    /// Unhealthy allocations that may be rescheduled, but are not marked yet.
    pub reschedule: Vec<String>,
}

fn allocs_of<'a>(store: &'a StateStore, d: &'a Deployment) -> impl Iterator<Item = &'a Arc<Allocation>> {
    store.allocs_of_deployment(&d.id).map(|e| &e.alloc)
}

fn group<'a>(d: &'a Deployment, name: &str) -> Option<&'a DeploymentState> {
    d.task_groups.get(name)?.as_ref()
}

/// Identifies the state of a deployment and its allocations: the highest indexes at which they were written.
pub fn seen(store: &StateStore, d: &Deployment) -> (u64, u64) {
    (d.modify_index, store.deployment_writes(&d.id).any)
}

/// Whether allocations became healthy and no evaluation of the job has seen it or is certain to see it
/// (`docs/spec/server.md §13.2`).
pub(crate) fn unseen_health(store: &StateStore, d: &Deployment) -> bool {
    let newest = store.deployment_writes(&d.id).healthy;
    let evaluated = |e: &Evaluation| if e.snapshot_index == 0 { e.create_index } else { e.snapshot_index };
    let mut evals = store.evals_of_job(&d.namespace, &d.job_id).filter(|e| e.status != EvalStatus::Canceled);
    newest > 0 && !evals.any(|e| evaluated(e) >= newest)
}

/// Evaluates the allocations of a deployment (`docs/spec/server.md §13.2`). `now` is in Unix nanoseconds.
pub fn verdict(store: &StateStore, d: &Deployment, now: i64) -> Verdict {
    let mut v = Verdict::default();
    // The counters are updated with every write of an allocation, so most deployments need no check of their
    // allocations.
    if d.task_groups.values().flatten().all(|g| g.unhealthy_allocs == 0) {
        return v;
    }
    for a in allocs_of(store, d).filter(|a| a.health() == Some(false)) {
        let Some(group) = group(d, &a.task_group) else { continue };
        let replaceable = reschedule::eligible_on_server(a, now);
        if group.progress_deadline == 0 || (d.active() && !replaceable) {
            v.fail = Some(v.fail.unwrap_or(false) || group.auto_revert);
        } else if d.active() && !a.desired_transition.should_reschedule() {
            v.reschedule.push(a.id.to_string());
        }
    }
    v
}

/// Whether the canaries of a deployment are promoted automatically (`docs/spec/server.md §13.3`).
pub(crate) fn promotes_itself(store: &StateStore, d: &Deployment) -> bool {
    let placed = d.task_groups.values().flatten().any(|g| !g.placed_canaries.is_empty());
    let ready = |(name, g): (&String, &DeploymentState)| {
        let healthy = allocs_of(store, d)
            .filter(|a| a.task_group == *name && a.is_canary() && !a.terminal() && a.health() == Some(true))
            .count();
        let count = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        g.auto_promote && count(g.placed_canaries.len()) >= g.desired_canaries && count(healthy) == g.desired_canaries
    };
    let mut with_canaries =
        d.task_groups.iter().filter_map(|(n, g)| Some((n, g.as_ref()?))).filter(|(_, g)| g.desired_canaries >= 1);
    placed && d.requires_promotion() && with_canaries.all(ready)
}

/// The progress deadline of a deployment in Unix nanoseconds (`docs/spec/server.md §13.4`): the earliest deadline of
/// its unfinished groups.
pub fn progress_deadline(store: &StateStore, d: &Deployment) -> Option<i64> {
    let live = |name: &str| {
        allocs_of(store, d).filter(|a| a.task_group == *name && !a.terminal() && a.health() == Some(true)).count()
    };
    // A group cannot have more live allocations than ever were healthy: they are counted only if they may suffice.
    let done = |name: &str, g: &DeploymentState| {
        (g.promoted || g.desired_canaries == 0)
            && g.healthy_allocs >= g.desired_total
            && i64::try_from(live(name)).is_ok_and(|n| n >= g.desired_total)
    };
    let groups = d.task_groups.iter().filter_map(|(name, g)| Some((name, g.as_ref()?)));
    groups.filter(|(name, g)| !done(name, g)).filter_map(|(_, g)| g.require_progress_by.unix_nanos()).min()
}

/// Called when the deadline has passed: returns whether the deployment fails, and if so whether an unsatisfied group of
/// the job has `auto_revert` set. A deployment that only waits for its promotion is satisfied.
pub(crate) fn missed_deadline(d: &Deployment, job: &Job) -> Option<bool> {
    let unsatisfied = |g: &DeploymentState| match g.desired_canaries > 0 && !g.promoted {
        true => g.healthy_allocs < g.desired_canaries,
        false => g.healthy_allocs < g.desired_total,
    };
    let groups = d.task_groups.iter().filter_map(|(name, g)| Some((name, g.as_ref()?)));
    let goes_back =
        |name: &String| job.lookup_group(name).and_then(|g| g.update.as_ref()).is_some_and(|u| u.auto_revert);
    groups.filter(|(_, g)| unsatisfied(g)).map(|(name, _)| goes_back(name)).reduce(|a, b| a || b)
}
