use std::sync::Arc;

use encamp_model::{Job, JobType, PreemptionConfig, SchedulerConfiguration};
use serde_json::json;

use super::*;
use crate::test_cluster::{NOW, alloc, cluster, group, job, node, task};

/// A stored job whose group `g` wants `count` allocations of so many MHz.
fn stored(state: &mut State, id: &str, kind: JobType, count: i64, cpu: i64) -> Arc<Job> {
    let groups = json!([group("g", count, json!({"Tasks": [task("t", cpu, 100)]}))]);
    let job = job(id, kind, json!({"TaskGroups": groups}));
    state.upsert_job(job.clone());
    job
}

/// Runs allocation `number` of a job on a node.
fn run(state: &mut State, job: &Arc<Job>, number: usize, node: &str) {
    let cpu = job.task_groups[0].tasks[0].resources.as_ref().expect("resources").cpu;
    let name = json!({"Name": format!("{}.g[{number}]", job.id)});
    state.upsert_allocs([alloc(&format!("{}-{number}", job.id), job, node, (cpu, 100, 10), name)]);
}

fn unplaced(proof: &Proof) -> Vec<(&str, &str, i64)> {
    proof.unplaced.iter().map(|u| (u.job.as_str(), u.group.as_str(), u.count)).collect()
}

#[test]
fn what_migrates_finds_a_place() {
    let mut state = cluster(12);
    let web = stored(&mut state, "web", JobType::Service, 3, 600);
    let nightly = stored(&mut state, "nightly", JobType::Batch, 1, 600);
    let system = stored(&mut state, "logs", JobType::System, 1, 100);
    for number in 0..3 {
        run(&mut state, &web, number, "n1");
    }
    run(&mut state, &nightly, 0, "n1");
    run(&mut state, &system, 0, "n1");
    // n1 is also how the IDs of n10 to n12 begin.
    let found = prove(&state, "n1", NOW).expect("a proof");
    assert_eq!(found, Proof { node_id: "n1".into(), moved: 3, stopped: 1, unplaced: vec![] });
    assert!(found.holds());
    let idle = prove(&state, "n12", NOW).expect("a proof");
    assert_eq!((idle.moved, idle.stopped, idle.holds()), (0, 0, true));
}

#[test]
fn groups_that_find_no_place_are_named() {
    let mut state = cluster(3);
    let big = stored(&mut state, "big", JobType::Service, 2, 6_000);
    let small = stored(&mut state, "small", JobType::Service, 3, 1_500);
    let fills = stored(&mut state, "fills", JobType::Service, 2, 6_000);
    run(&mut state, &big, 0, "n1");
    run(&mut state, &small, 0, "n1");
    run(&mut state, &fills, 0, "n2");
    run(&mut state, &fills, 1, "n3");
    run(&mut state, &small, 1, "n2");
    run(&mut state, &small, 2, "n3");
    // One of two of `big` waited for capacity before.
    let found = prove(&state, "n1", NOW).expect("a proof");
    assert_eq!((unplaced(&found), found.moved), (vec![("big", "g", 1)], 1));
    assert!(!found.holds());
}

#[test]
fn what_waited_for_room_before_does_not_count() {
    let mut state = cluster(3);
    let waits = stored(&mut state, "waits", JobType::Service, 9, 6_000);
    let small = stored(&mut state, "small", JobType::Service, 1, 500);
    run(&mut state, &waits, 0, "n1");
    run(&mut state, &waits, 1, "n2");
    run(&mut state, &small, 0, "n3");
    let found = prove(&state, "n3", NOW).expect("a proof");
    assert_eq!((found.moved, found.holds()), (1, true), "seven of them wait");
    // Once n3 takes one of them, it takes no other one.
    run(&mut state, &waits, 2, "n3");
    let found = prove(&state, "n1", NOW).expect("a proof");
    assert_eq!(unplaced(&found), [("waits", "g", 1)], "one of seven");
}

/// A job of high priority that moves takes the place of another one, which finds none.
#[test]
fn what_would_be_preempted_needs_a_place_too() {
    let mut state = cluster(2);
    let vip = job(
        "vip",
        JobType::Service,
        json!({"Priority": 90, "TaskGroups": [group("g", 1, json!({"Tasks": [task("t", 6_000, 100)]}))]}),
    );
    state.upsert_job(vip.clone());
    let low = stored(&mut state, "low", JobType::Service, 1, 6_000);
    run(&mut state, &vip, 0, "n1");
    run(&mut state, &low, 0, "n2");
    // Without a stored configuration every scheduler may preempt.
    state.set_scheduler_config(Arc::default());
    let found = prove(&state, "n1", NOW).expect("a proof");
    assert_eq!(unplaced(&found), [("vip", "g", 1)]);
    let preemption_config = PreemptionConfig { service_scheduler_enabled: true, ..Default::default() };
    state.set_scheduler_config(Arc::new(SchedulerConfiguration { preemption_config, ..Default::default() }));
    let found = prove(&state, "n1", NOW).expect("a proof");
    assert_eq!((unplaced(&found), found.moved), (vec![("low", "g", 1)], 1));
}

#[test]
fn nodes_that_cannot_be_drained() {
    let mut state = cluster(2);
    state.upsert_node(node("down", json!({"Status": "down"})));
    assert_eq!(prove(&state, "n", NOW), Err(ProofError::UnknownNode("n".into())), "the beginning of two IDs");
    assert_eq!(prove(&state, "name-n1", NOW), Err(ProofError::UnknownNode("name-n1".into())));
    let error = prove(&state, "down", NOW).expect_err("it is down").to_string();
    assert!(error.starts_with("node down cannot be drained: "), "{error}");
}
