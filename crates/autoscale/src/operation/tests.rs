//! The next step in every situation, on a pool of three nodes.

use std::time::Duration;

use encamp_model::JobType;
use serde_json::{Value, json};

use super::*;
use crate::provider::{Instance, InstanceState};
use crate::record::ResourceType;
use crate::test_cluster::{NOW, alloc, cluster, job, node, parameters};

const MINUTE: i64 = encamp_model::MINUTE;

fn limits() -> Limits {
    Limits::new(Duration::from_secs(900))
}

fn group(desired: i64, active: &[&str], leaving: &[&str]) -> ScalingGroup {
    let one = |state| move |id: &&str| Instance { id: id.to_string(), state };
    let active = active.iter().map(one(InstanceState::Active));
    let instances = active.chain(leaving.iter().map(one(InstanceState::Leaving))).collect();
    ScalingGroup { desired, min: 0, max: 10, instances }
}

/// A record with an operation on `n3` (in) or to four nodes (out).
fn record(step: Step) -> Record {
    let direction = match step {
        Step::SetDesired | Step::AwaitInstances | Step::AwaitNodes | Step::Replace | Step::Detach => Direction::Out,
        Step::Drain | Step::AwaitDrained | Step::CancelDrain | Step::TakeBack | Step::Terminate | Step::Purge => {
            Direction::In
        }
    };
    let (node, instances, target) = match direction {
        Direction::In => ("n3", vec!["i-n3".to_string()], 2),
        Direction::Out => ("", Vec::new(), 4),
    };
    let operation = Operation {
        direction,
        step,
        node_id: node.into(),
        instance_ids: instances,
        started: Time::from_unix_nanos(NOW),
        step_started: Time::from_unix_nanos(NOW),
        target,
        started_index: 20,
        unregistered: vec!["i-lost".into()],
    };
    Record { operation: Some(operation), ..Record::new(ResourceType::WorkerPool, "web") }
}

/// The next step, `after` nanoseconds later.
fn after(record: &Record, state: &State, group: &ScalingGroup, after: i64) -> Next {
    next(record, &Observation { state, group }, &parameters(), &limits(), NOW + after)
}

/// The step a written record has, its failures, and the events.
fn written(next: Next) -> (Option<Step>, Record, Vec<Event>) {
    match next {
        Next::Persist(record, events) => (record.operation.as_ref().map(|o| o.step), *record, events),
        other => panic!("nothing is written: {other:?}"),
    }
}

fn step_after(record: &Record, state: &State, group: &ScalingGroup) -> Option<Step> {
    written(after(record, state, group, 0)).0
}

fn ids(record: &Record) -> &[String] {
    record.operation.as_ref().map_or(&[], |o| &o.instance_ids)
}

/// Three nodes, and further ones that joined after the operation began.
fn joined(more: &[(&str, Value)]) -> State {
    let mut state = cluster(3);
    for (id, other) in more {
        let mut value = json!({"CreateIndex": 30, "ModifyIndex": 30});
        for (name, member) in other.as_object().into_iter().flatten() {
            value[name] = member.clone();
        }
        state.upsert_node(node(id, value));
    }
    state
}

/// Three nodes of which the third is closed, with these members.
fn closed(more: Value) -> State {
    let mut value = json!({"SchedulingEligibility": "ineligible"});
    for (name, member) in more.as_object().into_iter().flatten() {
        value[name] = member.clone();
    }
    let mut state = cluster(3);
    state.upsert_node(node("n3", value));
    state
}

fn draining() -> State {
    closed(json!({"DrainStrategy": {"IgnoreSystemJobs": true}}))
}

const THREE: [&str; 3] = ["i-n1", "i-n2", "i-n3"];
const FOUR: [&str; 4] = ["i-n1", "i-n2", "i-n3", "i-n4"];

#[test]
fn without_an_operation_or_in_failsafe_mode_nothing_is_done() {
    let (state, group) = (cluster(3), group(3, &THREE, &[]));
    assert_eq!(after(&Record::new(ResourceType::WorkerPool, "web"), &state, &group, 0), Next::Idle);
    let mut held = record(Step::SetDesired);
    held.failsafe_mode = true;
    assert_eq!(after(&held, &state, &group, 0), Next::Idle);
}

#[test]
fn the_desired_size_is_set_once_and_never_lowered() {
    let (state, r) = (cluster(3), record(Step::SetDesired));
    assert_eq!(after(&r, &state, &group(3, &THREE, &[]), 0), Next::Act(Effect::SetDesired(4)));
    for desired in [4, 6] {
        assert_eq!(step_after(&r, &state, &group(desired, &THREE, &[])), Some(Step::AwaitInstances));
    }
}

#[test]
fn instances_are_waited_for_three_minutes() {
    let (state, r) = (cluster(3), record(Step::AwaitInstances));
    let few = group(4, &THREE, &["i-old"]);
    assert_eq!(after(&r, &state, &few, 3 * MINUTE - 1), Next::Wait);
    let (step, failed, events) = written(after(&r, &state, &few, 3 * MINUTE));
    assert_eq!((step, failed.failure_count, failed.failsafe_mode), (Some(Step::AwaitInstances), 1, false));
    let reason = "the group has 3 instances instead of 4".to_string();
    assert_eq!(events, [Event::Failed { direction: Direction::Out, reason: reason.clone() }]);
    assert_eq!(failed.operation.as_ref().unwrap().step_started, Time::from_unix_nanos(NOW + 3 * MINUTE));
    let last = Record { failure_count: 2, ..r.clone() };
    let (step, failed, events) = written(after(&last, &state, &few, 3 * MINUTE));
    assert_eq!((step, failed.failure_count, failed.failsafe_mode), (Some(Step::AwaitInstances), 3, true));
    assert_eq!(events[1], Event::EnteredFailsafe { reason });
    // Instances that were unregistered before are not new.
    let all = group(4, &["i-n1", "i-n2", "i-n3", "i-n4", "i-lost"], &[]);
    let (step, moved, _) = written(after(&r, &state, &all, 0));
    assert_eq!((step, ids(&moved)), (Some(Step::AwaitNodes), &["i-n4".to_string()][..]));
}

#[test]
fn a_scale_out_succeeds_when_every_new_instance_is_a_ready_node_of_the_pool() {
    let mut r = record(Step::AwaitNodes);
    r.operation.as_mut().unwrap().instance_ids = vec!["i-n4".into()];
    r.failure_count = 2;
    let all = group(4, &FOUR, &[]);
    let (step, done, events) = written(after(&r, &joined(&[("n4", json!({}))]), &all, MINUTE));
    assert_eq!((step, done.failure_count), (None, 0));
    assert_eq!(done.last_scaling_event, Some(Time::from_unix_nanos(NOW + MINUTE)));
    assert_eq!(events, [Event::ScaledOut { instances: vec!["i-n4".into()] }]);
    for not_yet in [
        json!({"Status": "initializing"}),
        json!({"SchedulingEligibility": "ineligible"}),
        json!({"Meta": {"replicator_worker_pool": "other"}}),
        json!({"Attributes": {}}),
    ] {
        assert_eq!(after(&r, &joined(&[("n4", not_yet.clone())]), &all, MINUTE), Next::Wait, "{not_yet}");
    }
    // A node that holds its configuration in the pool's Variable.
    let alone = joined(&[("n4", json!({"Meta": {"replicator_worker_pool": "web"}}))]);
    assert_eq!(step_after(&r, &alone, &all), None);
    // The nodes are there, but the group is short.
    let short = group(4, &["i-n1", "i-n2", "i-n4"], &[]);
    assert_eq!(after(&r, &joined(&[("n4", json!({}))]), &short, MINUTE), Next::Wait);
}

#[test]
fn what_is_waited_for_is_written_without_more_time() {
    let mut r = record(Step::AwaitNodes);
    r.operation.as_mut().unwrap().instance_ids = vec!["i-n4".into()];
    let other = group(4, &["i-n1", "i-n2", "i-n3", "i-n5"], &[]);
    let (step, changed, events) = written(after(&r, &cluster(3), &other, MINUTE));
    assert_eq!((step, ids(&changed), events.len()), (Some(Step::AwaitNodes), &["i-n5".to_string()][..], 0));
    assert_eq!(changed.operation.unwrap().step_started, Time::from_unix_nanos(NOW));
}

#[test]
fn instances_that_do_not_join_are_replaced_and_at_the_threshold_detached() {
    let mut r = record(Step::AwaitNodes);
    r.operation.as_mut().unwrap().instance_ids = vec!["i-n4".into()];
    let (state, all) = (cluster(3), group(4, &FOUR, &[]));
    assert_eq!(after(&r, &state, &all, 5 * MINUTE - 1), Next::Wait);
    let (step, failed, events) = written(after(&r, &state, &all, 5 * MINUTE));
    assert_eq!((step, failed.failure_count, events.len()), (Some(Step::Replace), 1, 1));
    let terminate = Effect::Terminate { instance: "i-n4".into(), decrement: false };
    assert_eq!(after(&failed, &state, &all, 5 * MINUTE), Next::Act(terminate));
    let gone = group(4, &THREE, &["i-n4"]);
    let (step, again, _) = written(after(&failed, &state, &gone, 6 * MINUTE));
    assert_eq!((step, ids(&again)), (Some(Step::AwaitInstances), &[][..]));

    r.failure_count = 2;
    let (step, last, events) = written(after(&r, &state, &all, 5 * MINUTE));
    assert_eq!((step, last.failure_count, last.failsafe_mode, events.len()), (Some(Step::Detach), 3, false, 1));
    assert_eq!(last.operation.as_ref().unwrap().target, 3);
    let at = 5 * MINUTE;
    assert_eq!(after(&last, &state, &all, at), Next::Act(Effect::Detach { instance: "i-n4".into() }));
    let (step, over, events) = written(after(&last, &state, &group(3, &THREE, &[]), at));
    assert_eq!((step, over.failsafe_mode, over.failure_count), (None, true, 3));
    let reason = "i-n4 did not become ready nodes, left the group and keep running".to_string();
    assert_eq!(events, [Event::EnteredFailsafe { reason }]);
    // The size went down, but the provider still shows the instance: nothing is taken away twice.
    assert_eq!(written(after(&last, &state, &group(3, &FOUR, &[]), at)).0, None);
}

#[test]
fn an_instance_that_a_ready_node_runs_on_is_never_removed() {
    let all = group(4, &FOUR, &[]);
    // It runs as a node of another pool, or was made ineligible by an operator.
    for other in [json!({"Meta": {}}), json!({"SchedulingEligibility": "ineligible"})] {
        let state = joined(&[("n4", other)]);
        for step in [Step::Replace, Step::Detach] {
            let mut r = record(step);
            let operation = r.operation.as_mut().unwrap();
            (operation.instance_ids, operation.target) = (vec!["i-n1".into(), "i-n4".into()], 2);
            written(after(&r, &state, &all, 0));
        }
        let mut r = record(Step::AwaitNodes);
        let (step, waiting, _) = written(after(&r, &state, &all, 5 * MINUTE));
        assert_eq!((step, ids(&waiting)), (Some(Step::AwaitInstances), &[][..]));
        r.failure_count = 2;
        let (step, last, _) = written(after(&r, &state, &all, 5 * MINUTE));
        assert_eq!((step, ids(&last), last.operation.as_ref().unwrap().target), (Some(Step::Detach), &[][..], 4));
        assert!(written(after(&last, &state, &all, 5 * MINUTE)).1.failsafe_mode);
    }
}

#[test]
fn a_provider_that_reports_unknown_instances_does_not_empty_the_group() {
    let names: Vec<String> = (0..500).map(|n| format!("i-unknown-{n}")).collect();
    let many = group(4, &names.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let r = Record { failure_count: 2, ..record(Step::AwaitNodes) };
    let (step, last, _) = written(after(&r, &cluster(3), &many, 5 * MINUTE));
    assert_eq!((step, ids(&last).len()), (Some(Step::Detach), 3), "the pool keeps replicator_min nodes");
    let first = Record { failure_count: 0, ..r };
    assert_eq!(ids(&written(after(&first, &cluster(3), &many, 0)).1).len(), MOST_INSTANCES);
}

#[test]
fn a_node_is_drained_once() {
    let r = record(Step::Drain);
    let drain = Effect::Drain { node: "n3".into(), deadline: Duration::from_secs(900) };
    let three = group(3, &THREE, &[]);
    assert_eq!(after(&r, &cluster(3), &three, 0), Next::Act(drain.clone()));
    assert_eq!(step_after(&r, &draining(), &three), Some(Step::AwaitDrained));
    // A drain that is complete, and an ineligible node that was never drained.
    let mut state = closed(json!({}));
    assert_eq!(step_after(&r, &state, &three), Some(Step::AwaitDrained));
    state.upsert_allocs([alloc("a", &job("web", JobType::Service, json!({})), "n3", (1, 1, 1), json!({}))]);
    assert_eq!(after(&r, &state, &three, 0), Next::Act(drain));
    state.remove_node("n3");
    assert_eq!(step_after(&r, &state, &three), Some(Step::Terminate));
}

#[test]
fn a_drain_is_complete_when_the_work_runs_elsewhere() {
    let (r, three) = (record(Step::AwaitDrained), group(3, &THREE, &[]));
    let web = job("web", JobType::Service, json!({}));
    let old = |more: Value| {
        let mut value = json!({"DesiredStatus": "stop", "ClientStatus": "complete", "NextAllocation": "b",
            "DesiredTransition": {"Migrate": true}, "ModifyIndex": 25});
        for (name, member) in more.as_object().into_iter().flatten() {
            value[name] = member.clone();
        }
        alloc("a", &web, "n3", (1, 1, 1), value)
    };
    let new = |more: Value| alloc("b", &web, "n1", (1, 1, 1), more);
    let with = |allocs: &[std::sync::Arc<encamp_model::Allocation>]| {
        let mut state = draining();
        state.upsert_job(web.clone());
        state.upsert_allocs(allocs.iter().cloned());
        after(&r, &state, &three, 0)
    };
    let done = |next: Next| match next {
        Next::Persist(record, _) => record.operation.is_some_and(|o| o.step == Step::Terminate),
        Next::Wait => false,
        other => panic!("{other:?}"),
    };
    assert!(!done(with(&[old(json!({"ClientStatus": "running"})), new(json!({}))])), "it still runs");
    assert!(!done(with(&[old(json!({}))])), "no replacement");
    assert!(!done(with(&[old(json!({})), new(json!({"ClientStatus": "pending"}))])), "not running yet");
    assert!(done(with(&[old(json!({})), new(json!({}))])));
    assert!(done(with(&[old(json!({"ModifyIndex": 20}))])), "it ended before the operation began");
    // A system job stays.
    let agent = alloc("s", &job("agent", JobType::System, json!({})), "n3", (1, 1, 1), json!({}));
    assert!(done(with(&[agent])));
    // The job is stopped, or the group gone: nobody wants a replacement.
    for more in [json!({"Stop": true}), json!({"TaskGroups": []})] {
        let mut state = draining();
        state.upsert_job(job("web", JobType::Service, more));
        state.upsert_allocs([old(json!({}))]);
        assert!(done(after(&r, &state, &three, 0)));
    }
    // The replacement was replaced in turn.
    let failed = new(json!({"ClientStatus": "failed", "NextAllocation": "c"}));
    let third = alloc("c", &web, "n2", (1, 1, 1), json!({}));
    assert!(done(with(&[old(json!({})), failed, third])));
    // A node that went down: what ran on it is lost, and replaced as after any loss.
    let mut state = closed(json!({"Status": "down"}));
    state.upsert_job(web.clone());
    state.upsert_allocs([old(json!({"ClientStatus": "lost"}))]);
    assert!(done(after(&r, &state, &three, 0)));
}

#[test]
fn a_drain_that_does_not_finish_is_cancelled() {
    let (mut r, three) = (record(Step::AwaitDrained), group(3, &THREE, &[]));
    let mut state = draining();
    state.upsert_allocs([alloc("a", &job("web", JobType::Service, json!({})), "n3", (1, 1, 1), json!({}))]);
    assert_eq!(after(&r, &state, &three, 17 * MINUTE - 1), Next::Wait);
    r.failure_count = 2;
    let (step, back, events) = written(after(&r, &state, &three, 17 * MINUTE));
    assert_eq!((step, back.failure_count, back.failsafe_mode), (Some(Step::CancelDrain), 3, false));
    let reason = "the drain of node n3 did not finish in time: it still has allocations".to_string();
    assert_eq!(events, [Event::Failed { direction: Direction::In, reason }]);
    let cancel = Effect::CancelDrain { node: "n3".into() };
    assert_eq!(after(&back, &state, &three, 17 * MINUTE), Next::Act(cancel.clone()));
    assert_eq!(after(&back, &closed(json!({})), &three, 17 * MINUTE), Next::Act(cancel));
    let (step, over, events) = written(after(&back, &cluster(3), &three, 17 * MINUTE));
    assert_eq!((step, over.failsafe_mode, over.last_scaling_event, events.len()), (None, true, None, 1));
    // Another client has cancelled it.
    let (step, back, _) = written(after(&record(Step::AwaitDrained), &cluster(3), &three, 0));
    assert_eq!((step, back.failure_count), (Some(Step::CancelDrain), 1));
}

/// Three nodes of which `n3` is as `node` says, and so many MHz in use on each.
fn busy(mut state: State, mhz: [i64; 3]) -> State {
    for (node, mhz) in ["n1", "n2", "n3"].into_iter().zip(mhz).filter(|(_, mhz)| *mhz > 0) {
        let job = job(&format!("on-{node}"), JobType::Service, json!({}));
        state.upsert_job(job.clone());
        state.upsert_allocs([alloc(&format!("a-{node}"), &job, node, (mhz, 1, 1), json!({}))]);
    }
    state
}

#[test]
fn a_node_is_taken_back_when_its_pool_needs_it() {
    let three = group(3, &THREE, &[]);
    let began = record(Step::AwaitDrained);
    // Two nodes of 10,000 MHz may use 10,000 MHz, and one more is held back.
    let needed = [[5_000, 5_000, 0], [5_000, 4_000, 1_000], [0, 0, 10_000]];
    for mhz in needed {
        for step in [Step::Drain, Step::AwaitDrained] {
            for state in [draining(), closed(json!({}))] {
                let (next, back, events) = written(after(&record(step), &busy(state, mhz), &three, 0));
                assert_eq!((next, back.failure_count, events.len()), (Some(Step::TakeBack), 0, 0), "{step:?} {mhz:?}");
            }
        }
        // From then on the provider may have been asked to terminate the instance.
        let terminated = after(&record(Step::Terminate), &busy(draining(), [mhz[0], mhz[1], 0]), &three, 0);
        assert!(matches!(terminated, Next::Act(Effect::Terminate { .. })), "{terminated:?}");
    }
    let cancel = Next::Act(Effect::CancelDrain { node: "n3".into() });
    let mut r = record(Step::TakeBack);
    r.failure_count = 2;
    for state in [draining(), closed(json!({}))] {
        // Also when the demand has gone again.
        assert_eq!(after(&r, &state, &three, MINUTE), cancel);
    }
    let (step, over, events) = written(after(&r, &cluster(3), &three, MINUTE));
    assert_eq!((step, over.failure_count, over.failsafe_mode), (None, 0, false));
    let at = Some(Time::from_unix_nanos(NOW + MINUTE));
    assert_eq!((over.last_scaling_event, over.last_scalein_event, over.last_scaleout_event), (at, at, None));
    assert_eq!(events, [Event::TakenBack { node: "n3".into() }]);
    let mut gone = cluster(3);
    gone.remove_node("n3");
    assert_eq!(written(after(&r, &gone, &three, 0)).0, None);

    // Less is in use than the others may use, or the node would be of no use.
    let is_back = |state: State, group: &ScalingGroup| {
        let next = after(&began, &state, group, 0);
        matches!(next, Next::Persist(r, _) if r.operation.as_ref().is_some_and(|o| o.step == Step::TakeBack))
    };
    let full = [5_000, 5_000, 0];
    assert!(!is_back(busy(draining(), [5_000, 4_999, 0]), &three));
    assert!(!is_back(busy(closed(json!({"Status": "down"})), full), &three));
    assert!(!is_back(busy(closed(json!({"Meta": {}})), full), &three));
    for other in [group(3, &["i-n1", "i-n2"], &["i-n3"]), group(3, &["i-n1", "i-n2"], &[])] {
        assert!(!is_back(busy(draining(), full), &other));
    }
    // Fewer nodes are left than the pool must have.
    let mut lost = draining();
    for id in ["n1", "n2"] {
        assert!(!is_back(lost.clone(), &three), "before {id} is lost");
        lost.upsert_node(node(id, json!({"Status": "down"})));
    }
    assert!(is_back(lost, &three), "no node is left, of at least 1");
}

#[test]
fn an_instance_is_terminated_once_and_the_size_decremented_once() {
    let (r, state) = (record(Step::Terminate), draining());
    let terminate = |decrement| Next::Act(Effect::Terminate { instance: "i-n3".into(), decrement });
    assert_eq!(after(&r, &state, &group(3, &THREE, &[]), 0), terminate(true));
    assert_eq!(after(&r, &state, &group(2, &THREE, &[]), 0), terminate(false));
    for desired in [1, 4, i64::MIN] {
        let (step, back, _) = written(after(&r, &state, &group(desired, &THREE, &[]), 0));
        assert_eq!((step, back.failure_count), (Some(Step::CancelDrain), 1), "{desired}");
    }
    for gone in [group(2, &["i-n1", "i-n2"], &["i-n3"]), group(2, &["i-n1", "i-n2"], &[])] {
        assert_eq!(step_after(&r, &state, &gone), Some(Step::Purge));
    }
    // The node is back in use.
    let mut busy = draining();
    busy.upsert_allocs([alloc("a", &job("web", JobType::Service, json!({})), "n3", (1, 1, 1), json!({}))]);
    for state in [cluster(3), busy] {
        assert_eq!(step_after(&r, &state, &group(3, &THREE, &[])), Some(Step::CancelDrain));
    }
}

#[test]
fn a_node_is_purged_when_its_instance_has_left_the_group() {
    let (r, mut state) = (record(Step::Purge), draining());
    let leaving = group(2, &["i-n1", "i-n2"], &["i-n3"]);
    assert_eq!(after(&r, &state, &leaving, 10 * MINUTE - 1), Next::Wait);
    let (step, failed, events) = written(after(&r, &state, &leaving, 10 * MINUTE));
    assert_eq!((step, failed.failure_count, events.len()), (Some(Step::Terminate), 1, 1));
    let gone = group(2, &["i-n1", "i-n2"], &[]);
    assert_eq!(after(&r, &state, &gone, 0), Next::Act(Effect::Purge { node: "n3".into() }));
    // It is in use again: it stays.
    let (step, failed, _) = written(after(&r, &cluster(3), &gone, 0));
    assert_eq!((step, failed.failure_count), (None, 1));
    state.remove_node("n3");
    let (step, done, events) = written(after(&r, &state, &gone, MINUTE));
    assert_eq!((step, done.last_scaling_event), (None, Some(Time::from_unix_nanos(NOW + MINUTE))));
    assert_eq!(events, [Event::ScaledIn { node: "n3".into() }]);
    // The instance is gone, but the group will replace it.
    let wrong = group(3, &["i-n1", "i-n2"], &[]);
    assert_eq!(after(&r, &state, &wrong, 29_000_000_000), Next::Wait);
    let (step, failed, events) = written(after(&r, &state, &wrong, 30_000_000_000));
    assert_eq!((step, failed.failure_count, failed.last_scaling_event), (None, 1, None));
    let reason = "node n3 was removed, but the desired size of the group is 3 instead of 2".to_string();
    assert_eq!(events, [Event::Failed { direction: Direction::In, reason }]);
}

#[test]
fn a_step_that_began_in_the_future_begins_now() {
    let (r, few) = (record(Step::AwaitInstances), group(4, &THREE, &[]));
    let (step, corrected, events) = written(after(&r, &cluster(3), &few, -MINUTE));
    assert_eq!((step, corrected.failure_count, events.len()), (Some(Step::AwaitInstances), 0, 0));
    assert_eq!(after(&corrected, &cluster(3), &few, -MINUTE), Next::Wait);
    assert_eq!(written(after(&corrected, &cluster(3), &few, 2 * MINUTE)).1.failure_count, 1);
}

#[test]
fn what_fails_for_good_is_counted_once() {
    let drain = Effect::Drain { node: "n3".into(), deadline: Duration::ZERO };
    let count = |r: &Record, failure| failed(r, failure, &"no answer", &parameters(), NOW);
    let (back, events) = count(&record(Step::Drain), Failure::Effect(&drain));
    assert_eq!((back.operation.unwrap().step, back.failure_count), (Step::CancelDrain, 1));
    let reason = "draining node n3 failed: no answer".to_string();
    assert_eq!(events, [Event::Failed { direction: Direction::In, reason }]);
    let terminate = Effect::Terminate { instance: "i-n3".into(), decrement: true };
    for failure in [Failure::Effect(&terminate), Failure::ReadingCluster, Failure::ReadingGroup] {
        let mut r = record(Step::Terminate);
        for n in 1..=3 {
            let (next, events) = count(&r, failure);
            assert_eq!((next.failure_count, next.failsafe_mode, events.len()), (n, n == 3, if n == 3 { 2 } else { 1 }));
            assert_eq!(next.operation, record(Step::Terminate).operation, "it stays where it is");
            r = next;
        }
        r.set_failsafe(false, "ops", NOW + 7);
        assert_eq!(r.operation.unwrap().step_started, Time::from_unix_nanos(NOW + 7), "limits of time begin anew");
    }
    let nothing = Record::new(ResourceType::WorkerPool, "web");
    assert_eq!(count(&nothing, Failure::ReadingGroup), (nothing.clone(), Vec::new()));
}

#[test]
fn operations_are_described() {
    let of = |step| describe(&record(step).operation.unwrap());
    assert_eq!(of(Step::SetDesired), "out: setting the desired size of the group to 4");
    assert_eq!(of(Step::AwaitNodes), "out: waiting for new instances to become ready nodes");
    assert_eq!(of(Step::TakeBack), "in: taking node n3 back, since the pool needs it");
    assert_eq!(of(Step::Terminate), "in: terminating instance i-n3 of node n3");
}
