//! Follows one step of a plan on a state with the full scheduler, to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::error::Drift;
use super::steps::{Action, AllocRef, Move, NodeRef, Step};
use crate::demand::stable;
use crate::evaluate::Made;
use crate::what_if::{Cascade, Edited, Known, Trigger};
use encamp_model::*;
use encamp_state::{AllocEntry, Id, State};

/// A series of IDs of its own.
const SERIES: u16 = 5;
/// IDs that one step takes at most: the next step, which has a higher index, takes others.
const IDS_PER_STEP: u64 = 1 << 14;
/// Indexes after which IDs come again.
const INDEXES: u64 = 1 << 24;

/// The order in which servers look at candidates is not known before: each number is one order of each evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Order(pub u16);

/// What a step leads to.
#[derive(Debug, Clone)]
pub struct Followed {
    /// The cluster afterwards: replacements run and are healthy.
    pub state: State,
    /// Stopped allocations and where their replacements run, in the order of the step. `only_there` is as promised.
    pub moves: Vec<Move>,
    /// Stopped allocations without a replacement.
    pub unplaced: Vec<AllocRef>,
    /// Other allocations that were preempted, or stopped although they went on where they were, by name. What jobs change
    /// by themselves when they are evaluated, as rollouts do, is no part of the step.
    pub displaced: Vec<String>,
    /// Other allocations that were placed: those of jobs that waited for capacity.
    pub placed: Vec<Arc<AllocEntry>>,
}

impl Followed {
    /// Whether the step leads to what it promises: every allocation is replaced, on the promised node where the plan
    /// holds only with that, and nothing else is displaced.
    pub fn keeps(&self, step: &Step) -> bool {
        let same = |(is, promised): (&Move, &Move)| {
            is.allocation.name == promised.allocation.name && (!promised.only_there || is.to.id == promised.to.id)
        };
        self.unplaced.is_empty()
            && self.displaced.is_empty()
            && self.moves.len() == step.moves.len()
            && self.moves.iter().zip(&step.moves).all(same)
    }
}

/// Follows a step at `now` (Unix nanoseconds) in the first order.
///
/// # Errors
/// The cluster is not as the step assumes; nothing happened then.
pub fn follow(state: &State, step: &Step, now: i64) -> Result<Followed, Drift> {
    follow_in(state, step, Order::default(), now)
}

/// Follows a step in one of the orders in which servers may look at candidates.
///
/// # Errors
/// The cluster is not as the step assumes.
pub fn follow_in(state: &State, step: &Step, order: Order, now: i64) -> Result<Followed, Drift> {
    let mut run = Run::new(state, order, now);
    for action in &step.actions {
        match action {
            Action::MarkIneligible { node } => run.mark(node, false)?,
            Action::MarkEligible { node } => run.mark(node, true)?,
            Action::StopAllocation { allocation } => run.stop(allocation)?,
            Action::AwaitHealthy => run.settle(),
        }
    }
    run.settle();
    Ok(run.followed(state, step))
}

/// A state in which actions are carried out.
struct Run {
    edited: Edited,
    order: Order,
    now: i64,
    made: Made,
    /// Stopped allocations, in order.
    stopped: Vec<(AllocRef, Arc<AllocEntry>)>,
    /// All allocations that plans wrote.
    touched: BTreeSet<Id>,
}

impl Run {
    fn new(state: &State, order: Order, now: i64) -> Run {
        let mut made = Made::new(SERIES.saturating_add(order.0));
        made.skip((state.index % INDEXES).saturating_mul(IDS_PER_STEP));
        let edited = Edited::unchanged(state);
        Run { edited, order, now, made, stopped: Vec::new(), touched: BTreeSet::new() }
    }

    fn mark(&mut self, node: &NodeRef, eligible: bool) -> Result<(), Drift> {
        let Some(entry) = self.edited.state.node(&node.id) else { return Err(Drift::NodeGone(node.clone())) };
        if eligible && entry.node.drain_strategy.is_some() {
            return Err(Drift::NodeDrains(node.clone()));
        }
        self.edited.mark(&node.id, eligible);
        Ok(())
    }

    /// Marks an allocation for migration, as servers do when it is stopped (`docs/spec/server.md §11`).
    fn stop(&mut self, wanted: &AllocRef) -> Result<(), Drift> {
        let state = &self.edited.state;
        let entry = find(state, wanted).ok_or_else(|| Drift::NotRunning(Box::new(wanted.clone())))?;
        let job = state.job(&wanted.namespace, &wanted.job_id).filter(|j| !j.stop).cloned();
        let Some(job) = job else { return Err(Drift::NoJob(Box::new(wanted.clone()))) };
        let mut a = Allocation::clone(&entry.alloc);
        a.desired_transition.migrate = Some(true);
        a.desired_transition.reschedule = Some(false);
        a.desired_transition.no_shutdown_delay = Some(false);
        a.modify_index = self.edited.next_index();
        self.edited.state.upsert_allocs([Arc::new(a)]);
        let trigger = Trigger { reason: EvalTrigger::AllocStop, r#type: job.r#type.clone(), priority: job.priority };
        self.edited.triggers.entry((job.namespace.clone(), job.id.clone())).or_insert(trigger);
        self.stopped.push((wanted.clone(), entry));
        Ok(())
    }

    /// Lets happen what follows, and the replacements become healthy.
    fn settle(&mut self) {
        if self.edited.triggers.is_empty() && !self.edited.gained {
            return;
        }
        let before = self.edited.state.clone();
        let edited = std::mem::replace(&mut self.edited, Edited::unchanged(&before));
        let made = std::mem::replace(&mut self.made, Made::new(SERIES.saturating_add(self.order.0)));
        let cascade = Cascade::run_with(&before, edited, &Known::default(), self.now, made);
        let touched = cascade.touched.clone();
        (self.edited.state, self.made) = cascade.into_parts();
        self.heal(&before, &touched);
        self.touched.extend(touched);
    }

    fn heal(&mut self, before: &State, touched: &BTreeSet<Id>) {
        let state = &mut self.edited.state;
        let new = |id: &&Id| before.alloc_at(id).is_none();
        let running = touched.iter().filter(new).filter_map(|id| state.alloc_at(id)).filter(|e| !e.alloc.terminal());
        let healthy = running.map(|e| {
            let mut a = Allocation::clone(&e.alloc);
            a.deployment_status.get_or_insert_default().healthy = Some(true);
            Arc::new(a)
        });
        let healthy: Vec<Arc<Allocation>> = healthy.collect();
        let jobs: BTreeSet<(String, String)> =
            healthy.iter().map(|a| (a.namespace.to_string(), a.job_id.to_string())).collect();
        state.upsert_allocs(healthy);
        for (namespace, job) in jobs {
            let latest = state.latest_deployment(&namespace, &job);
            if let Some(d) = latest.filter(|d| d.active() && before.deployment(&d.id).is_none()) {
                let ended = Deployment { status: DeploymentStatus::Successful, ..Deployment::clone(&d) };
                state.upsert_deployment(Arc::new(ended));
            }
        }
        state.index = state.index.saturating_add(1);
    }

    /// Compares the state with that of before.
    fn followed(self, before: &State, step: &Step) -> Followed {
        let state = self.edited.state;
        let promised: BTreeMap<&AllocRef, bool> = step.moves.iter().map(|m| (&m.allocation, m.only_there)).collect();
        let mut own: BTreeSet<Id> = BTreeSet::new();
        let (mut moves, mut unplaced) = (Vec::new(), Vec::new());
        for (wanted, old) in self.stopped {
            own.insert(Id::new(&old.alloc.id));
            let Some(new) = successor(&state, &old.alloc.id) else {
                unplaced.push(wanted);
                continue;
            };
            own.insert(Id::new(&new.alloc.id));
            let name = state.node(&new.alloc.node_id).map(|n| n.node.name.clone()).unwrap_or_default();
            let only_there = promised.get(&wanted).copied().unwrap_or(false);
            moves.push(Move {
                to: NodeRef { id: new.alloc.node_id.to_string(), name },
                job_type: old.alloc.job.as_ref().map(|j| j.r#type.clone()).unwrap_or_default(),
                allocation: wanted,
                only_there,
            });
        }
        let others = || self.touched.iter().filter(|id| !own.contains(id));
        let live = |state: &State, id: &Id| state.alloc_at(id).is_some_and(|e| !e.alloc.terminal());
        let name = |id: &Id| state.alloc_at(id).map(|e| e.alloc.name.to_string());
        // What does not go on where it is whatever happens is no matter of the step, unless it is preempted.
        let effect = |id: &&Id| {
            let (Some(old), Some(new)) = (before.alloc_at(id), state.alloc_at(id)) else { return true };
            let job = before.job(&old.alloc.namespace, &old.alloc.job_id);
            let rollout = before.latest_deployment(&old.alloc.namespace, &old.alloc.job_id).is_some_and(|d| d.active());
            new.alloc.desired_status == DesiredStatus::Evict
                || !rollout && job.is_some_and(|job| stable(before, job, &old.alloc))
        };
        let ended = others().filter(|id| live(before, id) && !live(&state, id));
        let displaced = ended.filter(effect).filter_map(name).collect();
        let new = others().filter(|id| !live(before, id)).filter_map(|id| state.alloc_at(id));
        let placed = new.filter(|e| !e.alloc.terminal()).cloned().collect();
        Followed { moves, unplaced, displaced, placed, state: state.clone() }
    }
}

/// The allocation that a step means.
pub(super) fn find(state: &State, wanted: &AllocRef) -> Option<Arc<AllocEntry>> {
    let runs = |e: &&Arc<AllocEntry>| {
        let a = &e.alloc;
        !a.terminal()
            && (&*a.namespace, &*a.job_id, &*a.task_group) == (&*wanted.namespace, &*wanted.job_id, &*wanted.task_group)
            && (&*a.name, &*a.node_id) == (&*wanted.name, &*wanted.node.id)
            && !a.desired_transition.should_migrate()
    };
    let by_id = wanted.id.as_deref().and_then(|id| state.alloc(id)).filter(runs);
    let node = || state.node(&wanted.node.id)?.allocs.iter().find(runs);
    by_id.or_else(node).cloned()
}

/// The allocation that runs in the place of another one.
fn successor<'a>(state: &'a State, id: &str) -> Option<&'a Arc<AllocEntry>> {
    let mut next = &state.alloc(id)?.alloc.next_allocation;
    // Chains are short; a broken snapshot may hold circles.
    for _ in 0..1000 {
        let entry = state.alloc(next)?;
        if !entry.alloc.terminal() {
            return Some(entry);
        }
        next = &entry.alloc.next_allocation;
    }
    None
}
