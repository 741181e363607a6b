//! Carries a plan out on a leader: the log, the broker, the schedulers with random IDs, the plan applier, and nodes that
//! report.

use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::*;
use encamp_ops::Operation;
use encamp_plan::rebalance::{Action, AllocRef, RebalancePlan, Step};
use encamp_state::State;

use crate::pipeline_support::events;
use crate::pipeline_support::world::World;
use encamp_test_support::seeds::Verdict;

/// The state after all steps, if each leads to what it promises.
pub fn replay(before: &State, plan: &RebalancePlan, seed: u64) -> Result<State, String> {
    let mut world = World::of_state(seed, before.clone());
    for (number, step) in plan.steps.iter().enumerate() {
        carry_out(&mut world, step).map_err(|e| format!("step {} of {}: {e}", number + 1, plan.steps.len()))?;
    }
    if let Some(broken) = &world.broken {
        return Err(broken.clone());
    }
    Ok(State::clone(world.store.state()))
}

fn carry_out(world: &mut World, step: &Step) -> Verdict {
    let before = world.store.state().clone();
    let mut stopped: Vec<Arc<Allocation>> = Vec::new();
    let mut away: BTreeMap<(String, String), i64> = BTreeMap::new();
    for action in &step.actions {
        match action {
            Action::MarkIneligible { node } => mark(world, &node.id, NodeEligibility::Ineligible),
            Action::MarkEligible { node } => mark(world, &node.id, NodeEligibility::Eligible),
            Action::StopAllocation { allocation } => {
                let found = running(world.store.state(), allocation);
                let Some(a) = found else { return Err(format!("{} does not run there", allocation.name)) };
                *away.entry((a.job_id.to_string(), a.task_group.to_string())).or_default() += 1;
                stop(world, &a);
                stopped.push(a);
            }
            Action::AwaitHealthy => settle(world),
        }
    }
    settle(world);
    for ((job, group), n) in away {
        let at_once =
            before.job("default", &job).and_then(|j| j.lookup_group(&group)?.migrate.as_ref().map(|m| m.max_parallel));
        if at_once.is_some_and(|most| n > most) {
            return Err(format!("{n} allocations of {job} are away at a time"));
        }
    }
    let after = world.store.state();
    for (a, promised) in stopped.iter().zip(&step.moves) {
        if promised.allocation.name != a.name {
            return Err(format!("{} is promised, {} is stopped", promised.allocation.name, a.name));
        }
        let next = after.alloc(&a.id).and_then(|e| after.alloc(&e.alloc.next_allocation));
        let Some(next) = next else { return Err(format!("{} is not replaced", a.name)) };
        if next.alloc.node_id == a.node_id {
            return Err(format!("{} is placed on its own node again", a.name));
        }
        if promised.only_there && next.alloc.node_id != promised.to.id {
            return Err(format!("{} is placed on {}, not on {}", a.name, next.alloc.node_name, promised.to.name));
        }
    }
    let live = |state: &State| state.allocs().filter(|e| !e.alloc.terminal()).count();
    if live(&before) != live(after) || stopped.len() != step.moves.len() {
        return Err(format!("{} allocations ran, {} run", live(&before), live(after)));
    }
    Ok(())
}

fn running(state: &State, wanted: &AllocRef) -> Option<Arc<Allocation>> {
    let mut all = state.allocs().map(|e| &e.alloc).filter(|a| !a.terminal());
    all.find(|a| a.name == wanted.name && a.job_id == wanted.job_id && a.node_id == wanted.node.id).cloned()
}

fn mark(world: &mut World, id: &str, eligibility: NodeEligibility) {
    let updated_at = world.now;
    events::change(world, Operation::NodeEligibility { id: id.into(), eligibility, event: None, updated_at });
}

fn stop(world: &mut World, a: &Allocation) {
    let Some(job) = world.store.state().job(&a.namespace, &a.job_id).cloned() else { return };
    let eval = Evaluation {
        job_modify_index: job.modify_index,
        ..Evaluation::pending(&job, EvalTrigger::AllocStop, world.now, world.id())
    };
    let migrate = DesiredTransition { migrate: Some(true), ..Default::default() };
    world.commit(Operation::AllocTransition { transitions: [(a.id.to_string(), migrate)].into(), evals: vec![eval] });
}

/// Evaluations are processed and nodes report until nothing is left to do.
fn settle(world: &mut World) {
    let nodes: Vec<String> = world.store.state().nodes().map(|n| n.node.id.clone()).collect();
    loop {
        let worked = world.work();
        let mut reported = false;
        for id in &nodes {
            reported |= events::report_of(world, id);
        }
        world.look();
        if !worked && !reported {
            return;
        }
    }
}
