//! The steps of a scale-out (`docs/spec/cluster-scaling.md §5`).

use std::collections::{HashMap, HashSet};

use encamp_model::{Node, NodeStatus};

use super::{At, Effect, Event, MOST_INSTANCES, Next};
use crate::params::NodeConfiguration;
use crate::record::Step;
use crate::view::instance_id;

/// Nodes by the instance they run on.
type Nodes<'a> = HashMap<&'a str, Vec<&'a Node>>;

fn nodes_by_instance<'a>(at: &At<'a>) -> Nodes<'a> {
    let mut nodes = Nodes::new();
    for entry in at.seen.state.nodes() {
        if let Some(instance) = instance_id(&entry.node) {
            nodes.entry(instance).or_default().push(&entry.node);
        }
    }
    nodes
}

/// Whether the node is one of the pool.
pub(super) fn in_pool(node: &Node, pool: &str) -> bool {
    match NodeConfiguration::read(&node.meta) {
        NodeConfiguration::Full(p) => p.enabled && p.worker_pool == pool,
        NodeConfiguration::Pool(name) => name == pool,
        NodeConfiguration::Absent | NodeConfiguration::Invalid(_) => false,
    }
}

/// Whether an instance is a ready node of the pool.
fn has_joined(at: &At<'_>, nodes: &Nodes<'_>, instance: &str) -> bool {
    let pool = &at.parameters.worker_pool;
    nodes.get(instance).is_some_and(|nodes| nodes.iter().any(|n| n.ready() && in_pool(n, pool)))
}

/// Whether an instance belongs to a node that is ready, of the pool or not, eligible or not. It is never removed: it
/// may run work, whatever a provider says of it.
fn is_in_use(nodes: &Nodes<'_>, instance: &str) -> bool {
    nodes.get(instance).is_some_and(|nodes| nodes.iter().any(|n| n.status == NodeStatus::Ready))
}

/// The instances that are new since the operation began, by ID.
fn new_instances(at: &At<'_>, nodes: &Nodes<'_>) -> Vec<String> {
    let known: HashSet<&str> = at.operation.unregistered.iter().map(String::as_str).collect();
    let is_old = |instance: &str| {
        let registered = nodes.get(instance);
        known.contains(instance)
            || registered.is_some_and(|n| n.iter().any(|n| n.create_index <= at.operation.started_index))
    };
    let active = at.seen.group.active().map(|i| i.id.as_str());
    let mut new: Vec<String> = active.filter(|i| !is_old(i)).map(str::to_string).collect();
    new.sort_unstable();
    new.dedup();
    new.truncate(MOST_INSTANCES);
    new
}

fn active(at: &At<'_>) -> i64 {
    i64::try_from(at.seen.group.active().count()).unwrap_or(i64::MAX)
}

/// The group's desired size is set. A larger one, set by another client meanwhile, is never lowered.
pub(super) fn set_desired(at: &At<'_>) -> Next {
    if at.seen.group.desired >= at.operation.target {
        return at.go(Step::AwaitInstances);
    }
    Next::Act(Effect::SetDesired(at.operation.target))
}

/// The group starts instances.
pub(super) fn await_instances(at: &At<'_>) -> Next {
    let (active, target) = (active(at), at.operation.target);
    if active >= target {
        let new = new_instances(at, &nodes_by_instance(at));
        return at.persist(at.moved(Step::AwaitNodes, |o| o.instance_ids = new), Vec::new());
    }
    if !at.over(at.limits.instances) {
        return Next::Wait;
    }
    at.fail(Step::AwaitInstances, format!("the group has {active} instances instead of {target}"))
}

/// The new instances register as nodes.
pub(super) fn await_nodes(at: &At<'_>) -> Next {
    let nodes = nodes_by_instance(at);
    let new = new_instances(at, &nodes);
    let joined = new.iter().all(|i| has_joined(at, &nodes, i));
    if joined && !new.is_empty() && active(at) >= at.operation.target {
        return at.succeed(Event::ScaledOut { instances: new });
    }
    if !at.over(at.limits.nodes) {
        if new == at.operation.instance_ids {
            return Next::Wait;
        }
        // The limit of time goes on: instances that come and go must not put it off.
        let began = at.operation.step_started;
        return at.stay(|o| (o.instance_ids, o.step_started) = (new, began));
    }
    let late: Vec<String> = new.iter().filter(|i| !has_joined(at, &nodes, i)).cloned().collect();
    let reason = match late.as_slice() {
        [] => format!("the group has {} instances instead of {}", active(at), at.operation.target),
        late => format!("{} did not become ready nodes of the pool in time", late.join(", ")),
    };
    let mut missing: Vec<String> = late.into_iter().filter(|i| !is_in_use(&nodes, i)).collect();
    if !at.is_last_chance() {
        let step = if missing.is_empty() { Step::AwaitInstances } else { Step::Replace };
        return at.fail_and_recover(step, reason, |o| o.instance_ids = missing);
    }
    missing.truncate(spare(at));
    at.fail_and_recover(Step::Detach, reason, |o| {
        let detached = i64::try_from(missing.len()).unwrap_or(i64::MAX);
        o.target = at.seen.group.desired.saturating_sub(detached);
        o.instance_ids = missing;
    })
}

/// How many instances may leave the group until it is as small as it may be.
fn spare(at: &At<'_>) -> usize {
    let least = at.parameters.min.max(at.seen.group.min);
    usize::try_from(at.seen.group.desired.saturating_sub(least)).unwrap_or(0)
}

/// The first of the operation's instances that is still in the group and that no ready node runs on.
fn to_remove(at: &At<'_>) -> Option<String> {
    let nodes = nodes_by_instance(at);
    let removable = |i: &&String| at.seen.group.has(i) && !is_in_use(&nodes, i);
    at.operation.instance_ids.iter().find(removable).cloned()
}

/// Instances that did not register are terminated, and the group replaces them.
pub(super) fn replace(at: &At<'_>) -> Next {
    match to_remove(at) {
        Some(instance) => Next::Act(Effect::Terminate { instance, decrement: false }),
        None => at.persist(at.moved(Step::AwaitInstances, |o| o.instance_ids.clear()), Vec::new()),
    }
}

/// Instances that did not register leave the group; then the operation is over. A group that is smaller than it will be
/// has lost one already: the size is not decremented below.
pub(super) fn detach(at: &At<'_>) -> Next {
    match to_remove(at) {
        Some(instance) if at.seen.group.desired > at.operation.target => Next::Act(Effect::Detach { instance }),
        _ => {
            let left = at.operation.instance_ids.iter().filter(|i| !at.seen.group.has(i));
            let left: Vec<&str> = left.map(String::as_str).collect();
            at.recovered(&match left.as_slice() {
                [] => "new instances did not become ready nodes of the pool".to_string(),
                left => format!("{} did not become ready nodes, left the group and keep running", left.join(", ")),
            })
        }
    }
}
