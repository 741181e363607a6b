//! Comparisons of states with plans.

use std::sync::Arc;

use serde_json::json;

use super::super::check::{Difference, catch_up, check, rest};
use super::super::{Action, Move, Progress, Step};
use super::{alloc, moved, node, plan};
use crate::rebalance::error::Drift;
use crate::rebalance::follow::Followed;
use crate::rebalance::goal::{Goal, Limits, Nodes, Request};
use crate::rebalance::steps::AllocKey;
use encamp_model::{Allocation, Job, Node};
use encamp_state::State;

fn stored_node(id: &str, more: serde_json::Value) -> Arc<Node> {
    let mut value = json!({"ID": id, "Name": format!("name-{id}"), "Status": "ready",
        "SchedulingEligibility": "eligible", "Datacenter": "dc1", "NodePool": "default"});
    for (name, member) in more.as_object().into_iter().flatten() {
        value[name] = member.clone();
    }
    Arc::new(serde_json::from_value(value).expect("a node"))
}

fn stored_alloc(id: &str, on: &str, job_type: &str, more: serde_json::Value) -> Arc<Allocation> {
    let job: Job =
        serde_json::from_value(json!({"ID": "web", "Namespace": "default", "Type": job_type})).expect("a job");
    let mut value = json!({"ID": id, "Name": format!("web.g[{id}]"), "Namespace": "default", "JobID": "web",
        "TaskGroup": "g", "NodeID": on, "NodeName": format!("name-{on}"), "DesiredStatus": "run",
        "ClientStatus": "running"});
    for (name, member) in more.as_object().into_iter().flatten() {
        value[name] = member.clone();
    }
    let alloc: Allocation = serde_json::from_value(value).expect("an allocation");
    Arc::new(Allocation { job: Some(Arc::new(job)), ..alloc })
}

/// The state that the plan was made on.
fn state() -> State {
    let mut state = State::new();
    ["a", "b", "c"].iter().for_each(|id| state.upsert_node(stored_node(id, json!({}))));
    state.upsert_allocs(["1", "2", "3"].map(|id| stored_alloc(id, "a", "service", json!({}))));
    state
}

fn followed(state: &State, moves: Vec<Move>) -> Followed {
    Followed { state: state.clone(), moves, unplaced: Vec::new(), displaced: Vec::new(), placed: Vec::new() }
}

fn follow_as_planned(state: &State, step: &Step) -> Result<Followed, Drift> {
    Ok(followed(state, step.moves.clone()))
}

fn request() -> Request {
    Request { goal: Goal::Free(Nodes::Named(vec!["a".into()])), limits: Limits::default() }
}

fn differences(state: &State, progress: &Progress) -> Vec<String> {
    check(&request(), &plan(), progress, (state, 0), follow_as_planned)
        .differences
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn an_unchanged_cluster_has_not_drifted() {
    let found = check(&request(), &plan(), &Progress::default(), (&state(), 0), follow_as_planned);
    assert_eq!(found.differences, []);
    let want = [("1", "a"), ("2", "a")].map(|(id, on)| (alloc(id, on).key(), id.to_string()));
    assert_eq!(found.ids, want.into());
}

#[test]
fn each_difference_is_named() {
    let fresh = Progress::default();
    let with = |change: &dyn Fn(&mut State)| {
        let mut state = state();
        change(&mut state);
        differences(&state, &fresh)
    };
    let gone = with(&|s| drop(s.remove_node("b")));
    assert_eq!(gone, ["node name-b is gone"]);
    let down = with(&|s| s.upsert_node(stored_node("b", json!({"Status": "down"}))));
    assert_eq!(down, ["node name-b is down"]);
    let drained = with(&|s| s.upsert_node(stored_node("a", json!({"DrainStrategy": {"Deadline": 1}}))));
    assert_eq!(drained, ["node name-a is drained"]);
    let stopped = with(&|s| s.upsert_allocs([stored_alloc("2", "a", "service", json!({"DesiredStatus": "stop"}))]));
    assert_eq!(stopped, ["web.g[2] no longer runs on name-a"]);
    let new = with(&|s| s.upsert_allocs([stored_alloc("9", "a", "batch", json!({}))]));
    assert_eq!(new, ["node name-a now runs web.g[9]"]);
    // Neither system jobs nor nodes that stay matter.
    let system = with(&|s| s.upsert_allocs([stored_alloc("9", "a", "system", json!({}))]));
    let elsewhere = with(&|s| s.upsert_allocs([stored_alloc("9", "b", "batch", json!({}))]));
    assert_eq!((system, elsewhere), (vec![], vec![]));
    // Replaced under another ID, on another node.
    let moved = with(&|s| {
        s.remove_allocs(["1"]);
        let name = json!({"Name": "web.g[1]"});
        s.upsert_allocs([stored_alloc("7", "c", "service", name)]);
    });
    assert_eq!(moved, ["web.g[1] goes to name-c, not to name-a"]);
}

#[test]
fn the_simulation_decides_where_a_node_is_needed() {
    let state = state();
    let found = |moves: Vec<Move>| {
        let check = check(&request(), &plan(), &Progress::default(), (&state, 0), |s, _| Ok(followed(s, moves)));
        check.differences.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let (one, two) = (moved("1", "a", "b", true), moved("2", "a", "b", true));
    assert_eq!(found(vec![one.clone(), two.clone()]), Vec::<String>::new());
    assert_eq!(found(vec![one.clone(), moved("2", "a", "c", true)]), ["web.g[2] goes to name-c, not to name-b"]);
    assert_eq!(found(vec![two.clone()]), ["web.g[1] is not placed on name-b, nor on another node"]);
    let also = |s: &State, step: &Step| {
        let displaced = vec!["web.g[8]".to_string()];
        Ok(Followed { displaced, ..followed(s, step.moves.clone()) })
    };
    let also = check(&request(), &plan(), &Progress::default(), (&state, 0), also);
    assert_eq!(also.differences[0].to_string(), "web.g[8] would be stopped, too");
    let failed = check(&request(), &plan(), &Progress::default(), (&state, 0), |_, _| Err(Drift::NodeGone(node("c"))));
    assert_eq!(failed.differences, [Difference::NotSimulated(Drift::NodeGone(node("c")))]);
    // In the second step, any node will do.
    let second = Progress { steps: 1, ..Progress::default() };
    let mut state = state.clone();
    state.remove_allocs(["1", "2"]);
    let check =
        check(&request(), &plan(), &second, (&state, 0), |s, _| Ok(followed(s, vec![moved("3", "a", "b", false)])));
    assert_eq!(check.differences, []);
}

#[test]
fn a_step_that_was_interrupted_is_compared_from_where_it_was() {
    // The process was killed between the stop of allocation 1 and its note that this is done; then another one took the
    // marks back.
    let mut progress = Progress { actions: 2, stopped: vec![alloc("1", "a")], ..Progress::default() };
    let mut state = state();
    catch_up(&plan(), &mut progress, &state);
    assert_eq!(progress.actions, 2, "it still runs: it was not stopped");
    state.upsert_allocs([stored_alloc("1", "a", "service", json!({"DesiredTransition": {"Migrate": true}}))]);
    catch_up(&plan(), &mut progress, &state);
    assert_eq!(progress.actions, 3);
    let rest = rest(&plan(), &progress, &state).expect("a step");
    let first = [Action::MarkIneligible { node: node("a") }, Action::MarkIneligible { node: node("c") }];
    assert_eq!(rest.actions[..2], first);
    assert_eq!(rest.actions[2..], plan().steps[0].actions[3..]);
    assert_eq!(rest.moves, [moved("2", "a", "b", true)]);
    assert_eq!(differences(&state, &progress), Vec::<String>::new());
}

#[test]
fn at_the_end_freed_nodes_are_empty() {
    let done = Progress { steps: 2, ..Progress::default() };
    assert_eq!(differences(&state(), &done).len(), 3);
    let mut empty = state();
    empty.remove_allocs(["1", "2", "3"]);
    assert_eq!(differences(&empty, &done), Vec::<String>::new());
}

#[test]
fn keys_tell_allocations_apart_by_node() {
    assert_ne!(alloc("1", "a").key(), alloc("1", "b").key());
    assert_eq!(alloc("1", "a").key(), AllocKey::new("default", "web", "web.g[1]", "a"));
}
