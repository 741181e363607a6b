//! Rollouts of the usual shapes on a few nodes.

use super::simulation::Simulation;
use super::*;
use crate::tests::{job, node};
use encamp_model::{DeploymentStatus, NodeEligibility, NodeStatus, SECOND, TaskGroup, UpdateStrategy};

const NOW: i64 = 1_700_000_000 * SECOND;

fn update(max_parallel: i64, canary: i64, auto_promote: bool) -> UpdateStrategy {
    UpdateStrategy {
        max_parallel,
        canary,
        auto_promote,
        health_check: "task_states".into(),
        min_healthy_time: 10 * SECOND,
        healthy_deadline: 300 * SECOND,
        progress_deadline: 600 * SECOND,
        ..Default::default()
    }
}

/// A cluster of `nodes` nodes on which version 0 of the job runs.
fn cluster(nodes: usize, count: i64) -> State {
    let mut state = State::default();
    for n in 0..nodes {
        let mut node = node(&format!("00000000-0000-0000-0000-{n:012}"));
        (node.create_index, node.status) = (1, NodeStatus::Ready);
        (node.scheduling_eligibility, node.node_pool) = (NodeEligibility::Eligible, "default".into());
        state.upsert_node(Arc::new(node));
    }
    let job = version(count, "one", update(count.max(1), 0, false));
    let mut first = Simulation::new(&state, &job, NOW - 3600 * SECOND, Made::new(SERIES + 1));
    first.follow().expect("a rollout");
    let state = first.state();
    let successful = state.deployments().filter(|d| d.status == DeploymentStatus::Successful).count();
    assert_eq!(successful, 1, "{:#?}", first.finish());
    state
}

/// A version of the job; its tasks differ by `meta`.
fn version(count: i64, meta: &str, update: UpdateStrategy) -> Arc<Job> {
    let mut job = job("web", count);
    let group = |g: &mut TaskGroup| {
        g.update = Some(update.clone());
        g.tasks.iter_mut().for_each(|t| drop(t.meta.insert("version".into(), meta.into())));
    };
    job.task_groups.iter_mut().for_each(group);
    Arc::new(job)
}

fn group(step: &Step) -> &GroupStep {
    step.groups.values().next().expect("a group")
}

/// Cause, placed, canaries, stopped, serving and starting of each step.
fn shape(rollout: &Rollout) -> Vec<(Cause, usize, usize, usize, usize, usize)> {
    let of = |s: &Step| {
        let g = group(s);
        (s.cause, g.placed, g.canaries, g.stopped, g.serving(), g.starting)
    };
    rollout.steps.iter().map(of).collect()
}

fn lowest(rollout: &Rollout) -> usize {
    *rollout.lowest.values().next().expect("a group")
}

#[test]
fn a_rolling_update_goes_batch_by_batch() {
    let state = cluster(3, 3);
    let rollout = rollout(&state, &version(3, "two", update(1, 0, false)), NOW).expect("a rollout");
    let step = |cause| (cause, 1, 0, 1, 2, 1);
    assert_eq!(shape(&rollout), [step(Cause::Registration), step(Cause::Health), step(Cause::Health)]);
    assert_eq!((&rollout.end, rollout.deployment, lowest(&rollout)), (&End::Complete, true, 2));
    assert_eq!(rollout.peak.allocations, 4, "the stopped one holds its resources until it has ended");
    // Three times the health, and the updates are gathered after the first two.
    assert!((30 * SECOND..36 * SECOND).contains(&rollout.duration), "{}", rollout.duration);
    assert_eq!(rollout.steps[0].at, 0);
    assert!(rollout.steps[1].at >= 10 * SECOND && rollout.steps[2].at >= 20 * SECOND);
}

#[test]
fn canaries_wait_for_their_promotion() {
    let state = cluster(3, 3);
    for (auto, cause) in [(true, Cause::Promotion), (false, Cause::ManualPromotion)] {
        let rollout = rollout(&state, &version(3, "two", update(2, 1, auto)), NOW).expect("a rollout");
        let shape = shape(&rollout);
        assert_eq!(shape[0], (Cause::Registration, 1, 1, 0, 3, 1), "{shape:?}");
        // The canary replaces one of the old version when it is promoted.
        assert_eq!(shape[1].0, cause, "{shape:?}");
        assert_eq!((shape.iter().map(|s| s.1).sum::<usize>(), shape.iter().map(|s| s.3).sum::<usize>()), (3, 3));
        assert_eq!((&rollout.end, rollout.deployment), (&End::Complete, true), "{shape:?}");
        assert!(lowest(&rollout) >= 1, "{shape:?}");
    }
}

#[test]
fn a_rollout_stops_at_what_cannot_be_placed() {
    let state = cluster(1, 1);
    let mut big = Job::clone(&version(1, "two", update(1, 1, true)));
    big.task_groups.iter_mut().flat_map(|g| &mut g.tasks).for_each(|t| {
        t.resources.get_or_insert_default().memory_mb = 1 << 30;
    });
    let rollout = rollout(&state, &Arc::new(big), NOW).expect("a rollout");
    assert_eq!((group(&rollout.steps[0]).unplaced, lowest(&rollout)), (1, 1));
    assert_eq!((&rollout.end, rollout.duration), (&End::Unplaced, 0));
}

#[test]
fn jobs_without_deployments_change_at_once() {
    let state = cluster(3, 3);
    let rollout = rollout(&state, &version(5, "two", update(0, 0, false)), NOW).expect("a rollout");
    assert_eq!(shape(&rollout), [(Cause::Registration, 5, 0, 3, 5, 0)]);
    assert_eq!((&rollout.end, rollout.deployment, rollout.duration), (&End::Complete, false, 0));
}

#[test]
fn an_unchanged_job_has_no_steps() {
    let state = cluster(3, 3);
    let rollout = rollout(&state, &version(3, "one", update(3, 0, false)), NOW).expect("a rollout");
    assert_eq!((rollout.steps.len(), &rollout.end, rollout.duration), (0, &End::Complete, 0));
}
