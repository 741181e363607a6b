//! Tests of runs. `runs`: against a small cluster that is disturbed, by a driver that is killed at any moment. `states`:
//! comparisons of states with plans.

mod runs;
mod states;

use super::super::steps::{Action, AllocRef, Move, NodeRef, RebalancePlan, Step};
use encamp_model::{JobType, SECOND};

fn node(id: &str) -> NodeRef {
    NodeRef { id: id.into(), name: format!("name-{id}") }
}

fn alloc(id: &str, on: &str) -> AllocRef {
    let (namespace, job_id, task_group) = ("default".into(), "web".into(), "g".into());
    AllocRef { namespace, job_id, task_group, name: format!("web.g[{id}]"), node: node(on), id: Some(id.into()) }
}

fn moved(id: &str, from: &str, to: &str, only_there: bool) -> Move {
    Move { allocation: alloc(id, from), job_type: JobType::Service, to: node(to), only_there }
}

/// Marks nodes, moves one allocation after the other, and marks the nodes eligible again.
fn step(marks: &[&str], moves: Vec<Move>, back: &[&str]) -> Step {
    let mut actions: Vec<Action> = marks.iter().map(|n| Action::MarkIneligible { node: node(n) }).collect();
    actions.extend(moves.iter().map(|m| Action::StopAllocation { allocation: m.allocation.clone() }));
    actions.push(Action::AwaitHealthy);
    actions.extend(back.iter().map(|n| Action::MarkEligible { node: node(n) }));
    Step { actions, moves, at_least: SECOND }
}

/// Empties node a in two steps; in the first, only node b may be chosen.
fn plan() -> RebalancePlan {
    let first = step(&["a", "c"], vec![moved("1", "a", "b", true), moved("2", "a", "b", true)], &["c"]);
    let second = step(&[], vec![moved("3", "a", "c", false)], &["a"]);
    RebalancePlan { steps: vec![first, second], moves: 3, freed: vec![node("a")], reached: true, ..Default::default() }
}
