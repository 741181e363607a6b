//! The steps of a scale-in (`docs/spec/cluster-scaling.md §6`).

use encamp_model::{Node, NodeEligibility, NodeStatus};

use super::{At, Effect, Event, Next, demand, evacuation};
use crate::record::Step;

/// The known facts about the node that is removed.
enum Seen<'a> {
    /// It is not in the cluster.
    Gone,
    /// It takes no new work; it may be down.
    Closed(&'a Node),
    /// It is ready and takes work.
    Open,
}

fn takes_work(node: &Node) -> bool {
    node.drain_strategy.is_none() && node.scheduling_eligibility == NodeEligibility::Eligible
}

fn node<'a>(at: &At<'a>) -> Seen<'a> {
    match at.seen.state.node(&at.operation.node_id) {
        None => Seen::Gone,
        Some(entry) if takes_work(&entry.node) => Seen::Open,
        Some(entry) => Seen::Closed(&entry.node),
    }
}

fn has_work(at: &At<'_>) -> bool {
    evacuation::has_work(at.seen.state, &at.operation.node_id)
}

/// Whether the pool needs the node back. A node is taken back until its instance is about to be terminated: from then
/// on the provider may have been asked to, and cannot be asked not to.
fn needs_back(at: &At<'_>) -> bool {
    let Some(entry) = at.seen.state.node(&at.operation.node_id) else { return false };
    demand::needs_back(at.seen, at.operation, at.parameters, &entry.node).is_some()
}

/// The node is drained. One that is ineligible without a drain is drained only if it has work: a drain that is complete
/// leaves nodes like that.
pub(super) fn drain(at: &At<'_>) -> Next {
    if needs_back(at) {
        return at.go(Step::TakeBack);
    }
    let drained = match node(at) {
        Seen::Gone => return at.go(Step::Terminate),
        Seen::Closed(node) => node.drain_strategy.is_some() || !has_work(at),
        Seen::Open => false,
    };
    if drained {
        return at.go(Step::AwaitDrained);
    }
    Next::Act(Effect::Drain { node: at.operation.node_id.clone(), deadline: at.limits.drain_deadline })
}

/// The allocations of the node end, and services run elsewhere.
pub(super) fn await_drained(at: &At<'_>) -> Next {
    let id = &at.operation.node_id;
    let problem = match node(at) {
        Seen::Gone => return at.go(Step::Terminate),
        Seen::Closed(_) if needs_back(at) => return at.go(Step::TakeBack),
        Seen::Open => {
            let reason = format!("the drain of node {id} was cancelled by another client");
            return at.fail_and_recover(Step::CancelDrain, reason, |_| {});
        }
        Seen::Closed(_) if has_work(at) => "it still has allocations".to_string(),
        // Allocations on a node that is down are lost, and replaced as after the loss of any node.
        Seen::Closed(node) if node.status != NodeStatus::Ready => return at.go(Step::Terminate),
        Seen::Closed(_) => match evacuation::lacks_replacement(at.seen.state, id, at.operation.started_index) {
            None => return at.go(Step::Terminate),
            Some(group) => format!("an allocation of {group} does not run elsewhere yet"),
        },
    };
    if !at.over(at.limits.drain_deadline.saturating_add(at.limits.drain_grace)) {
        return Next::Wait;
    }
    let reason = format!("the drain of node {id} did not finish in time: {problem}");
    at.fail_and_recover(Step::CancelDrain, reason, |_| {})
}

/// The drain is cancelled; then the operation is over.
pub(super) fn cancel_drain(at: &At<'_>) -> Next {
    match node(at) {
        Seen::Closed(_) => Next::Act(Effect::CancelDrain { node: at.operation.node_id.clone() }),
        Seen::Open | Seen::Gone => {
            at.recovered(&format!("node {} could not be removed; its drain is cancelled", at.operation.node_id))
        }
    }
}

/// The drain is cancelled, and the node becomes eligible again; then the operation is over.
pub(super) fn take_back(at: &At<'_>) -> Next {
    let id = &at.operation.node_id;
    match node(at) {
        Seen::Closed(_) => Next::Act(Effect::CancelDrain { node: id.clone() }),
        Seen::Open => at.succeed(Event::TakenBack { node: id.clone() }),
        Seen::Gone => at.fail_and_end(format!("node {id} was to be taken back, but has left the cluster")),
    }
}

/// The instance is terminated and the group's desired size decremented, both by one call.
pub(super) fn terminate(at: &At<'_>) -> Next {
    let (id, target) = (&at.operation.node_id, at.operation.target);
    let Some(instance) = at.operation.instance_ids.first() else {
        return at.fail_and_recover(Step::CancelDrain, format!("the instance of node {id} is not known"), |_| {});
    };
    if !at.seen.group.has(instance) {
        return at.go(Step::Purge);
    }
    // An operator may have cancelled the drain while the provider was failing, or in failsafe mode.
    let back_in_use = match node(at) {
        Seen::Gone => false,
        Seen::Closed(_) => has_work(at),
        Seen::Open => true,
    };
    if back_in_use {
        let reason = format!("node {id} received allocations again before its instance was terminated");
        return at.fail_and_recover(Step::CancelDrain, reason, |_| {});
    }
    let desired = at.seen.group.desired;
    // A size that was decremented already must not be decremented again: the group then has one instance too many, and
    // does not replace this one.
    let decrement = match desired.checked_sub(target) {
        Some(1) => true,
        Some(0) => false,
        _ => {
            let wanted = target.saturating_add(1);
            let reason =
                format!("the desired size of the group is {desired} instead of {wanted}: another client set it");
            return at.fail_and_recover(Step::CancelDrain, reason, |_| {});
        }
    };
    Next::Act(Effect::Terminate { instance: instance.clone(), decrement })
}

/// The node is removed from the cluster once its instance has left the group: before, it would register again.
pub(super) fn purge(at: &At<'_>) -> Next {
    let (id, target) = (&at.operation.node_id, at.operation.target);
    let group = at.seen.group;
    let instance = at.operation.instance_ids.first();
    if let Some(left) = instance.and_then(|own| group.instances.iter().find(|i| i.id == *own)) {
        if !at.over(at.limits.gone) {
            return Next::Wait;
        }
        // The provider said that it was gone, or leaving, and takes it back.
        return at.fail(Step::Terminate, format!("instance {} does not leave its group", left.id));
    }
    match node(at) {
        Seen::Open => {
            return at.fail_and_end(format!("node {id} is eligible again, but its instance has left the group"));
        }
        Seen::Closed(_) if has_work(at) => {
            if !at.over(at.limits.gone) {
                return Next::Wait;
            }
            return at.fail_and_end(format!("node {id} has allocations, but its instance has left the group"));
        }
        Seen::Closed(_) => return Next::Act(Effect::Purge { node: id.clone() }),
        Seen::Gone => {}
    }
    if group.desired == target {
        return at.succeed(Event::ScaledIn { node: id.clone() });
    }
    if !at.over(at.limits.read_back) {
        return Next::Wait;
    }
    let desired = group.desired;
    at.fail_and_end(format!(
        "node {id} was removed, but the desired size of the group is {desired} instead of {target}"
    ))
}
