//! Compares a running cluster with what the rest of a plan assumes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use encamp_model::{JobType, Node, NodeEligibility, NodeStatus};
use encamp_state::{AllocEntry, AllocPhase, State};

use super::super::error::Drift;
use super::super::fit;
use super::super::follow::Followed;
use super::super::goal::{Goal, Request};
use super::super::steps::{Action, AllocKey, AllocRef, Move, NodeRef, RebalancePlan, Step};
use super::{Progress, held};

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Check {
    /// How the cluster differs from what the plan assumes, where the plan depends on it.
    pub differences: Vec<Difference>,
    /// The IDs of the allocations that the rest of the step stops.
    pub ids: BTreeMap<AllocKey, String>,
}

/// A difference between the cluster and what a plan assumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    /// A node that the plan needs is gone, down or drained.
    NodeLost {
        /// The node.
        node: NodeRef,
        /// What it is now.
        why: &'static str,
    },
    /// An allocation that is to move has ended.
    AllocationGone(AllocRef),
    /// An allocation is, or would be placed, on another node than the plan needs.
    Elsewhere {
        /// The allocation.
        allocation: AllocRef,
        /// The node of the plan.
        planned: NodeRef,
        /// The node now; `None`: no node takes it.
        now: Option<NodeRef>,
    },
    /// The step would also stop this allocation, which the plan does not move.
    AlsoStopped(String),
    /// A node that the plan frees runs an allocation that the plan does not move.
    Occupied {
        /// The node.
        node: NodeRef,
        /// The name of the allocation.
        allocation: String,
    },
    /// After the last step, the job of the goal still does not fit.
    DoesNotFit {
        /// The job.
        job: String,
        /// Its allocations that are not placed.
        unplaced: i64,
    },
    /// The step cannot be simulated.
    NotSimulated(Drift),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::NodeLost { node, why } => write!(f, "node {} is {why}", node.name),
            Difference::AllocationGone(a) => write!(f, "{} no longer runs on {}", a.name, a.node.name),
            Difference::Elsewhere { allocation, planned, now: Some(now) } => {
                write!(f, "{} goes to {}, not to {}", allocation.name, now.name, planned.name)
            }
            Difference::Elsewhere { allocation, planned, now: None } => {
                write!(f, "{} is not placed on {}, nor on another node", allocation.name, planned.name)
            }
            Difference::AlsoStopped(name) => write!(f, "{name} would be stopped, too"),
            Difference::Occupied { node, allocation } => write!(f, "node {} now runs {allocation}", node.name),
            Difference::DoesNotFit { job, unplaced } => {
                write!(f, "job {job} does not fit after the last step: {unplaced} of its allocations are unplaced")
            }
            Difference::NotSimulated(why) => write!(f, "{why}"),
        }
    }
}

/// Notes stops that a process began and did not note as done before it was killed.
pub fn catch_up(plan: &RebalancePlan, progress: &mut Progress, state: &State) {
    let Some(step) = plan.steps.get(progress.steps) else { return };
    while let Some(Action::StopAllocation { allocation }) = step.actions.get(progress.actions) {
        let noted = progress.stopped.iter().find(|s| s.key() == allocation.key()).and_then(|s| s.id.as_deref());
        let Some(id) = noted else { return };
        if !state.alloc(id).is_none_or(|e| is_stopped(e)) {
            return;
        }
        progress.actions = progress.actions.saturating_add(1);
    }
}

/// Whether a server was asked to stop an allocation, or it has ended.
pub fn is_stopped(entry: &AllocEntry) -> bool {
    let a = &entry.alloc;
    entry.phase.terminal() || a.desired_transition.migrate == Some(true) || !a.next_allocation.is_empty()
}

/// What is left of the next step: first the marks that are missing on this state, then its actions.
pub fn rest(plan: &RebalancePlan, progress: &Progress, state: &State) -> Option<Step> {
    let step = plan.steps.get(progress.steps)?;
    let eligible =
        |id: &str| state.node(id).is_some_and(|e| e.node.scheduling_eligibility == NodeEligibility::Eligible);
    let missing = held(plan, progress).into_iter().filter(|node| eligible(&node.id));
    let mut actions: Vec<Action> = missing.map(|node| Action::MarkIneligible { node }).collect();
    let left = step.actions.get(progress.actions..).unwrap_or_default();
    actions.extend(left.iter().filter(|a| !actions.contains(a)).cloned().collect::<Vec<_>>());
    let stops: BTreeSet<AllocKey> = stops(left).map(AllocRef::key).collect();
    let moves = step.moves.iter().filter(|m| stops.contains(&m.allocation.key())).cloned().collect();
    Some(Step { actions, moves, at_least: step.at_least })
}

fn stops(actions: &[Action]) -> impl Iterator<Item = &AllocRef> {
    actions.iter().filter_map(|action| match action {
        Action::StopAllocation { allocation } => Some(allocation),
        Action::MarkIneligible { .. } | Action::MarkEligible { .. } | Action::AwaitHealthy => None,
    })
}

/// Compares the cluster with what the rest of the plan assumes, at `now` (Unix nanoseconds); after the last step, with
/// what the plan promises. `follow` simulates a step with the full scheduler
/// ([`super::super::follow()`]).
pub fn check(
    request: &Request,
    plan: &RebalancePlan,
    progress: &Progress,
    (state, now): (&State, i64),
    follow: impl FnOnce(&State, &Step) -> Result<Followed, Drift>,
) -> Check {
    let mut check = Check::default();
    let Some(rest) = rest(plan, progress, state) else {
        check.differences = occupied(plan, progress, state);
        check.differences.extend(does_not_fit(request, plan, state, now));
        return check;
    };
    for allocation in stops(&rest.actions) {
        match running(state, allocation) {
            Ok(id) => drop(check.ids.insert(allocation.key(), id)),
            Err(difference) => check.differences.push(*difference),
        }
    }
    check.differences.extend(lost_nodes(plan, progress, state));
    check.differences.extend(occupied(plan, progress, state));
    if check.differences.is_empty() {
        match follow(state, &rest) {
            Ok(followed) => check.differences.extend(compare(&rest.moves, &followed)),
            Err(why) => check.differences.push(Difference::NotSimulated(why)),
        }
    }
    check
}

/// The ID of an allocation that is to stop.
fn running(state: &State, allocation: &AllocRef) -> Result<String, Box<Difference>> {
    let known = allocation.id.as_deref().and_then(|id| state.alloc(id)).filter(|e| !is_stopped(e));
    let named = |e: &&Arc<AllocEntry>| {
        let a = &e.alloc;
        a.task_group == allocation.task_group && a.name == allocation.name && !is_stopped(e)
    };
    let mut others: Vec<&Arc<AllocEntry>> =
        state.entries_of_job(&allocation.namespace, &allocation.job_id).filter(named).collect();
    others.sort_by_key(|e| (e.alloc.node_id != allocation.node.id, &e.alloc.id));
    let found = known.or_else(|| others.first().copied());
    let Some(entry) = found else { return Err(Box::new(Difference::AllocationGone(allocation.clone()))) };
    if entry.alloc.node_id == allocation.node.id {
        return Ok(entry.alloc.id.to_string());
    }
    let now = Some(NodeRef { id: entry.alloc.node_id.to_string(), name: entry.alloc.node_name.to_string() });
    Err(Box::new(Difference::Elsewhere { allocation: allocation.clone(), planned: allocation.node.clone(), now }))
}

/// The nodes to which the rest of the plan moves allocations have to take them, and those that it marks have to be
/// there.
fn lost_nodes(plan: &RebalancePlan, progress: &Progress, state: &State) -> Vec<Difference> {
    let steps = || plan.steps.iter().skip(progress.steps);
    let targets = steps().flat_map(|s| &s.moves).filter(|m| m.only_there).map(|m| &m.to);
    let marked = steps().flat_map(|s| &s.actions).filter_map(|action| match action {
        Action::MarkIneligible { node } => Some(node),
        Action::MarkEligible { .. } | Action::StopAllocation { .. } | Action::AwaitHealthy => None,
    });
    let nodes: BTreeMap<&str, &NodeRef> = targets.chain(marked).map(|n| (n.id.as_str(), n)).collect();
    let lost = |node: &&NodeRef| {
        let why = state.node(&node.id).map_or(Some("gone"), |e| unusable(&e.node))?;
        Some(Difference::NodeLost { node: (*node).clone(), why })
    };
    nodes.values().filter_map(lost).collect()
}

/// Why a node takes no part in a plan. Nodes that are only ineligible do.
fn unusable(node: &Node) -> Option<&'static str> {
    match node.status {
        NodeStatus::Down => Some("down"),
        NodeStatus::Disconnected => Some("disconnected"),
        _ if node.drain_strategy.is_some() => Some("drained"),
        _ => None,
    }
}

/// Allocations on nodes that the plan frees, and that the rest of the plan does not move.
fn occupied(plan: &RebalancePlan, progress: &Progress, state: &State) -> Vec<Difference> {
    let left: BTreeSet<AllocKey> =
        plan.steps.iter().skip(progress.steps).flat_map(|s| &s.moves).map(|m| m.allocation.key()).collect();
    let mut found = Vec::new();
    // Of nodes that were empty before, the plan promises only that it does not fill them.
    let promised = if plan.reached { plan.chosen.as_slice() } else { &[] };
    let nodes: BTreeSet<&NodeRef> = plan.freed.iter().chain(promised).collect();
    for node in nodes {
        let on_node = state.node(&node.id).into_iter().flat_map(|e| e.live_allocs());
        for entry in on_node.filter(|e| counts(e) && !is_stopped(e)) {
            let a = &entry.alloc;
            if !left.contains(&AllocKey::new(&a.namespace, &a.job_id, &a.name, &a.node_id)) {
                found.push(Difference::Occupied { node: node.clone(), allocation: a.name.to_string() });
            }
        }
    }
    found
}

/// Whether the job of the goal still does not fit, although the plan reaches the goal.
fn does_not_fit(request: &Request, plan: &RebalancePlan, state: &State, now: i64) -> Option<Difference> {
    let Goal::Fit(job) = &request.goal else { return None };
    let unplaced: i64 = fit::unplaced(state, job, now).ok()?.values().sum();
    (plan.reached && unplaced > 0).then(|| Difference::DoesNotFit { job: job.id.clone(), unplaced })
}

/// Whether an allocation keeps a node from being empty.
fn counts(entry: &AllocEntry) -> bool {
    let job_type = entry.alloc.job.as_ref().map(|j| &j.r#type);
    let everywhere = matches!(job_type, Some(JobType::System | JobType::Sysbatch));
    !everywhere && entry.phase != AllocPhase::Ended
}

/// How what the scheduler does differs from the plan, where the plan depends on it.
fn compare(planned: &[Move], followed: &Followed) -> Vec<Difference> {
    let targets: BTreeMap<AllocKey, &NodeRef> = followed.moves.iter().map(|m| (m.allocation.key(), &m.to)).collect();
    let differs = |wanted: &Move| {
        let now = targets.get(&wanted.allocation.key()).map(|to| (*to).clone());
        let holds = now.as_ref().is_some_and(|to| !wanted.only_there || to.id == wanted.to.id);
        let (allocation, to) = (wanted.allocation.clone(), wanted.to.clone());
        (!holds).then_some(Difference::Elsewhere { allocation, planned: to, now })
    };
    let also = followed.displaced.iter().map(|name| Difference::AlsoStopped(name.clone()));
    planned.iter().filter_map(differs).chain(also).collect()
}
