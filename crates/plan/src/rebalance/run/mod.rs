//! Decides how a plan is carried out on a running cluster: no clock, no I/O.
//!
//! - [`Progress`]: how far a run has come. The driver writes it to disk before each change of the cluster, so that
//!   another process can go on, or mark nodes eligible again, after this one was killed at any moment.
//! - [`next`]: what the driver does next, given the plan, the progress and what the driver has read of the cluster.
//! - [`check`]: whether the rest of the plan still leads where it led when it was made.
//! - [`mod@replacement`]: what became of an allocation that the run stopped.
//!
//! Which nodes are ineligible follows from the position in the plan alone ([`held`]): [`next`] asks for the marks that
//! are missing and takes back those that are too many. Nodes that another client marked are never marked eligible.

pub mod check;
pub mod replacement;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::steps::{Action, AllocRef, Move, NodeRef, RebalancePlan, Step};
pub use check::{Check, Difference};
pub use replacement::replacement;

/// How far a run has come.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", deny_unknown_fields)]
pub struct Progress {
    /// The steps of the plan that are done.
    pub steps: usize,
    /// The actions of the next step that are done.
    pub actions: usize,
    /// Nodes that were eligible until the run marked them ineligible, or was about to.
    pub marked: Vec<NodeRef>,
    /// Allocations of the next step that the run has stopped, or was about to stop.
    pub stopped: Vec<AllocRef>,
    /// The moves that are done, of all plans of the run.
    pub moved: usize,
    /// How often the rest was planned again.
    pub replans: usize,
}

impl Progress {
    /// Whether the run has marked this node, or was about to.
    pub fn has_marked(&self, node: &NodeRef) -> bool {
        self.marked.iter().any(|m| m.id == node.id)
    }

    /// Notes that a node is about to be marked ineligible.
    pub fn mark(&mut self, node: &NodeRef) {
        if !self.has_marked(node) {
            self.marked.push(node.clone());
        }
    }

    /// Notes that a node needs not be marked eligible any more.
    pub fn release(&mut self, node: &NodeRef) {
        self.marked.retain(|m| m.id != node.id);
    }

    /// Whether the run has stopped this allocation, or was about to.
    pub fn has_stopped(&self, id: &str) -> bool {
        self.stopped.iter().any(|s| s.id.as_deref() == Some(id))
    }

    /// Notes that a step is done.
    pub fn finish_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        self.moved = self.moved.saturating_add(self.stopped.len());
        self.actions = 0;
        self.stopped.clear();
    }

    /// Notes that the rest was planned again: another plan begins. Nodes stay marked until the new plan no longer needs
    /// that.
    pub fn begin_again(&mut self) {
        self.moved = self.moved.saturating_add(self.stopped.len());
        self.replans = self.replans.saturating_add(1);
        (self.steps, self.actions) = (0, 0);
        self.stopped.clear();
    }
}

/// Whether a node takes allocations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeCondition {
    /// It does.
    Eligible,
    /// It does not.
    Ineligible,
    /// It is drained; servers refuse to mark it eligible until the drain ends.
    Draining,
    /// There is no such node any more.
    Gone,
}

/// What became of an allocation that the run stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// Nothing: it still runs, and no server was asked to stop it.
    NotStopped,
    /// It was stopped, and has no replacement yet.
    Awaited,
    /// The replacement is not healthy yet.
    Starting {
        /// The node of the replacement.
        node: NodeRef,
        /// What is missing, in words.
        why: String,
    },
    /// The replacement is healthy.
    Healthy {
        /// The node of the replacement.
        node: NodeRef,
    },
    /// The allocation and its replacements are gone: the job was stopped, changed or removed.
    Gone,
}

impl Replacement {
    /// Whether nothing can be waited for any more.
    fn settled(&self) -> bool {
        match self {
            Replacement::Healthy { .. } | Replacement::Gone => true,
            Replacement::NotStopped | Replacement::Awaited | Replacement::Starting { .. } => false,
        }
    }
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All steps are done.
    Finished,
    /// The run goes no further, for this reason.
    Stopped(String),
    /// A signal asked it to end.
    Interrupted,
    /// It was only asked to mark nodes eligible again.
    Aborted,
}

/// What the driver has read of the cluster, and for how long it has waited. Nothing of it outlives the process.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The result of the comparison with the plan; `None` at the beginning of a process and of a step.
    pub check: Option<Check>,
    /// Nodes as they were when they were last read, by ID. A change of a node removes it.
    pub nodes: BTreeMap<String, NodeCondition>,
    /// The replacements of [`Progress::stopped`], in its order, as of the last time that the driver read them.
    pub replacements: Option<Vec<Replacement>>,
    /// How long the driver has waited for these replacements, in nanoseconds.
    pub waited: i64,
    /// The run is to end.
    pub ending: Option<Ending>,
}

impl Seen {
    /// Forgets what is only valid until the next step.
    pub fn begin_step(&mut self) {
        *self = Seen { ending: self.ending.take(), ..Seen::default() };
    }
}

/// The rules of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// How long a step may wait for its replacements, in nanoseconds.
    pub step_timeout: i64,
}

/// What the driver does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// Reads the cluster and compares it with the plan ([`check::check`]).
    Check,
    /// Plans the rest again, or ends the run.
    Drifted(Vec<Difference>),
    /// Reads whether the node is eligible.
    ReadNode(NodeRef),
    /// Notes the node in the progress, writes that, and marks the node ineligible.
    Mark(NodeRef),
    /// Marks the node eligible, and then notes and writes that.
    MarkBack(NodeRef),
    /// Notes that the node needs not be marked eligible by this run.
    Release(NodeRef),
    /// Notes the allocation in the progress, writes that, and stops the allocation. The reference has an ID.
    Stop(AllocRef),
    /// Notes that the next action is done.
    ActionDone,
    /// Reads the replacements again, after a pause if they have been read before.
    AwaitReplacements,
    /// Notes that the step is done.
    StepDone,
    /// The run is to end for this reason.
    End(Ending),
    /// The run has ended: no node is marked by it any more, but for those that are to stay so.
    Ended(Ending),
}

/// The longest wait for the placement of replacements once a run is to end, in nanoseconds: marks are only taken back
/// afterwards, so that no replacement returns to a node that is to become empty.
const PLACEMENT_WAIT: i64 = 10 * 1_000_000_000;

/// The nodes that are ineligible while the next action is carried out, and after the last one.
pub fn held(plan: &RebalancePlan, progress: &Progress) -> Vec<NodeRef> {
    let mut held: BTreeMap<&str, &NodeRef> = BTreeMap::new();
    let done = plan.steps.iter().take(progress.steps).flat_map(|s| &s.actions);
    let current = plan.steps.get(progress.steps).map_or(&[][..], |s| &s.actions);
    for action in done.chain(current.iter().take(progress.actions)) {
        match action {
            Action::MarkIneligible { node } => drop(held.insert(&node.id, node)),
            Action::MarkEligible { node } => drop(held.remove(node.id.as_str())),
            Action::StopAllocation { .. } | Action::AwaitHealthy => {}
        }
    }
    // Marking is the action itself.
    if let Some(Action::MarkIneligible { node }) = current.get(progress.actions) {
        held.insert(&node.id, node);
    }
    held.into_values().cloned().collect()
}

/// Whether the next step marks this node before it stops an allocation. If another plan had it marked before, it stays so.
fn marks_soon(plan: &RebalancePlan, progress: &Progress, node: &NodeRef) -> bool {
    let left = plan.steps.get(progress.steps).and_then(|s| s.actions.get(progress.actions..)).unwrap_or_default();
    let marks = left.iter().map_while(|action| match action {
        Action::MarkIneligible { node } => Some(node),
        Action::MarkEligible { .. } | Action::StopAllocation { .. } | Action::AwaitHealthy => None,
    });
    marks.into_iter().any(|m| m.id == node.id)
}

/// What is to be done next.
pub fn next(plan: &RebalancePlan, progress: &Progress, seen: &Seen, limits: RunLimits) -> Decision {
    if let Some(ending) = &seen.ending {
        return end(plan, progress, seen, ending);
    }
    let held = held(plan, progress);
    // Before the comparison: the plan assumes that all other nodes take allocations.
    let needed = |node: &NodeRef| held.iter().any(|h| h.id == node.id) || marks_soon(plan, progress, node);
    if let Some(decision) = take_back(progress, seen, |node| !needed(node)) {
        return decision;
    }
    let Some(check) = &seen.check else { return Decision::Check };
    if !check.differences.is_empty() {
        return Decision::Drifted(check.differences.clone());
    }
    for node in held.iter().filter(|node| !progress.has_marked(node)) {
        match seen.nodes.get(&node.id) {
            None => return Decision::ReadNode(node.clone()),
            Some(NodeCondition::Eligible) => return Decision::Mark(node.clone()),
            // Another client marked it: it stays as it is.
            Some(NodeCondition::Ineligible | NodeCondition::Draining | NodeCondition::Gone) => {}
        }
    }
    let Some(step) = plan.steps.get(progress.steps) else { return Decision::End(Ending::Finished) };
    match step.actions.get(progress.actions) {
        None => Decision::StepDone,
        Some(Action::MarkIneligible { node }) => marking(progress, seen, node),
        Some(Action::MarkEligible { .. }) => Decision::ActionDone,
        Some(Action::StopAllocation { allocation }) => stopping(check, allocation),
        Some(Action::AwaitHealthy) => awaiting(step, progress, seen, limits),
    }
}

/// A node is marked before its action is done: after a crash between both, the node may be noted and not marked.
fn marking(progress: &Progress, seen: &Seen, node: &NodeRef) -> Decision {
    if !progress.has_marked(node) {
        return Decision::ActionDone;
    }
    match seen.nodes.get(&node.id) {
        None => Decision::ReadNode(node.clone()),
        Some(NodeCondition::Eligible) => Decision::Mark(node.clone()),
        Some(NodeCondition::Ineligible | NodeCondition::Draining | NodeCondition::Gone) => Decision::ActionDone,
    }
}

fn stopping(check: &Check, allocation: &AllocRef) -> Decision {
    match check.ids.get(&allocation.key()) {
        Some(id) => Decision::Stop(AllocRef { id: Some(id.clone()), ..allocation.clone() }),
        // The check that comes next says what became of it.
        None => Decision::Check,
    }
}

fn awaiting(step: &Step, progress: &Progress, seen: &Seen, limits: RunLimits) -> Decision {
    let Some(replacements) = &seen.replacements else {
        return if progress.stopped.is_empty() { Decision::ActionDone } else { Decision::AwaitReplacements };
    };
    if !replacements.iter().all(Replacement::settled) {
        if seen.waited < limits.step_timeout {
            return Decision::AwaitReplacements;
        }
        let late = progress.stopped.iter().zip(replacements).filter(|(_, r)| !r.settled());
        let texts: Vec<String> = late.map(|(a, r)| waited_for(a, r)).collect();
        let time = encamp_model::format_duration(limits.step_timeout);
        return Decision::End(Ending::Stopped(format!("not healthy after {time}: {}", texts.join("; "))));
    }
    let differences: Vec<Difference> =
        progress.stopped.iter().zip(replacements).filter_map(|(a, r)| arrived(step, a, r)).collect();
    if differences.is_empty() { Decision::ActionDone } else { Decision::Drifted(differences) }
}

/// What a replacement lacks, in words.
fn waited_for(allocation: &AllocRef, replacement: &Replacement) -> String {
    let name = &allocation.name;
    match replacement {
        Replacement::NotStopped => format!("{name} has not been stopped"),
        Replacement::Awaited => format!("{name} has no replacement: no node takes it"),
        Replacement::Starting { node, why } => format!("{name} on {}: {why}", node.name),
        Replacement::Healthy { .. } | Replacement::Gone => name.clone(),
    }
}

/// Whether a replacement is not where the plan needs it.
fn arrived(step: &Step, allocation: &AllocRef, replacement: &Replacement) -> Option<Difference> {
    let of_move = |m: &&Move| m.allocation.key() == allocation.key();
    match replacement {
        Replacement::Healthy { node } => {
            let planned = step.moves.iter().find(of_move).filter(|m| m.only_there && m.to.id != node.id)?;
            let (planned, now) = (planned.to.clone(), Some(node.clone()));
            Some(Difference::Elsewhere { allocation: allocation.clone(), planned, now })
        }
        Replacement::Gone => Some(Difference::AllocationGone(allocation.clone())),
        Replacement::NotStopped | Replacement::Awaited | Replacement::Starting { .. } => None,
    }
}

/// Takes back the first mark for which this is true; `None` if there is none.
fn take_back(progress: &Progress, seen: &Seen, surplus: impl Fn(&NodeRef) -> bool) -> Option<Decision> {
    let node = progress.marked.iter().find(|node| surplus(node))?.clone();
    Some(match seen.nodes.get(&node.id) {
        None => Decision::ReadNode(node),
        Some(NodeCondition::Ineligible) => Decision::MarkBack(node),
        Some(NodeCondition::Eligible | NodeCondition::Draining | NodeCondition::Gone) => Decision::Release(node),
    })
}

/// The last decisions of a run: all marks are taken back.
fn end(plan: &RebalancePlan, progress: &Progress, seen: &Seen, ending: &Ending) -> Decision {
    let unplaced = |all: &[Replacement]| all.contains(&Replacement::Awaited);
    let may_wait = *ending != Ending::Aborted && !progress.marked.is_empty() && seen.waited < PLACEMENT_WAIT;
    if may_wait && !progress.stopped.is_empty() && seen.replacements.as_deref().is_none_or(unplaced) {
        return Decision::AwaitReplacements;
    }
    // A plan that has been carried out leaves only the nodes marked that it was asked to leave so.
    let stay = match ending {
        Ending::Finished => held(plan, progress),
        Ending::Stopped(_) | Ending::Interrupted | Ending::Aborted => Vec::new(),
    };
    let surplus = |node: &NodeRef| stay.iter().all(|s| s.id != node.id);
    take_back(progress, seen, surplus).unwrap_or(Decision::Ended(ending.clone()))
}
