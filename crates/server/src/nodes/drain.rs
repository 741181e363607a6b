//! Starts, updates and cancels drains (`docs/spec/server.md §12.1`).

use std::collections::BTreeMap;

use super::node_answer::NodeAnswer;
use super::node_status::change;
use crate::error::Error;
use crate::leading::Leading;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{DrainUpdate, NodeDrain, Operation};

/// Subsystem of drain events.
pub(crate) const DRAIN: &str = "Drain";

/// A drain event.
pub(crate) fn event(message: &str, now: i64) -> NodeEvent {
    NodeEvent::new(DRAIN, message, now)
}

/// A request to drain a node or to cancel its drain.
#[derive(Debug, Clone, Default)]
pub struct DrainRequest {
    /// The drain strategy, of which only `deadline` and `ignore_system_jobs` are used. `None` cancels the drain.
    pub strategy: Option<DrainStrategy>,
    /// Whether the node becomes eligible again; only without a strategy.
    pub mark_eligible: bool,
    /// Operator-supplied metadata of the drain.
    pub meta: BTreeMap<String, String>,
    /// The accessor ID of the request's token, shown as `LastDrain.AccessorID`.
    pub accessor_id: String,
}

/// Sets, updates or removes the drain strategy of a node. Creates evaluations if the node becomes eligible.
///
/// # Errors
/// The node is unknown, or there is no leader.
pub async fn set_drain(server: &Leading, node_id: &str, request: DrainRequest) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    if node_id.is_empty() {
        return Err(Error::internal("missing node ID for drain update"));
    }
    let node = server.snapshot().state().node(node_id).map(|n| n.node.clone());
    let node = node.ok_or_else(Error::node_not_found)?;
    let now = ids::now();
    let DrainRequest { strategy, mark_eligible, meta, accessor_id } = request;
    let strategy = strategy.map(|s| started(s, now));
    let message = match (&strategy, &node.drain_strategy) {
        (Some(_), None) => Some("Node drain strategy set"),
        (Some(_), Some(_)) => Some("Node drain strategy updated"),
        (None, Some(_)) => Some("Node drain disabled"),
        (None, None) => None,
    };
    let id = || node_id.to_string();
    let update = DrainUpdate { strategy, mark_eligible, complete: false, meta, accessor_id };
    let op = NodeDrain {
        nodes: [(id(), update)].into(),
        events: message.map(|m| (id(), event(m, now))).into_iter().collect(),
        updated_at: now,
    };
    let changed = change(server, Operation::NodeDrain(op)).await?;
    Ok(NodeAnswer::of(changed).completed(server, node_id))
}

/// The strategy with its times: it starts now, and only a positive deadline is converted to a time.
fn started(strategy: DrainStrategy, now: i64) -> DrainStrategy {
    let force_deadline = match strategy.deadline {
        1.. => Time::from_unix_nanos(now.saturating_add(strategy.deadline)),
        _ => Time::ZERO,
    };
    DrainStrategy { force_deadline, started_at: Time::from_unix_nanos(now), ..strategy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_get_their_times() {
        let at = |deadline| started(DrainStrategy { deadline, ..Default::default() }, 7).force_deadline;
        assert_eq!([at(-1), at(0), at(5)], [Time::ZERO, Time::ZERO, Time::from_unix_nanos(12)]);
    }
}
