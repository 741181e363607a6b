//! Writes node status changes and the evaluations that follow from them (`docs/spec/server.md §9`).

use crate::error::Error;
use crate::fsm::node_evals::{cluster_event, node_evals, system_jobs};
use crate::leading::Leading;
use crate::nodes::status_decision::{HEARTBEAT_MISSED, missed_heartbeat_status};
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{NodeChange, NodeStatusChange, Operation, Reply};

/// Maximum number of nodes in one operation, because it creates evaluations of all their jobs: other writes wait until it
/// is applied.
const TOGETHER: usize = 500;

/// Handles missed heartbeats of nodes (`docs/spec/server.md §9.2`). Nodes that are lost together share log entries; other
/// writes come in between.
pub(crate) async fn missed_heartbeats(server: Leading, ids: Vec<String>) {
    let _timer = server.metrics().timer("nomad.heartbeat.invalidate");
    for ids in ids.chunks(TOGETHER) {
        let statuses = missed(&server, ids);
        if !statuses.is_empty() {
            write_missed(&server, statuses).await;
        }
    }
}

/// What becomes of nodes whose timers fired, without those that have sent a heartbeat since.
fn missed(server: &Leading, ids: &[String]) -> Vec<NodeStatusChange> {
    let expired: Vec<&String> = {
        let heartbeats = server.queues().heartbeats();
        ids.iter().filter(|id| !heartbeats.contains(id)).collect()
    };
    let (snapshot, now) = (server.snapshot(), ids::now());
    let state = snapshot.state();
    let nodes = expired.into_iter().filter_map(|id| state.node(id).map(|n| &n.node));
    let missed = nodes.map(|node| {
        tracing::warn!(target: "nomad.heartbeat", node_id = node.id.as_str(), "node TTL expired");
        let allocs = state.allocs_of_node(&node.id);
        let status = missed_heartbeat_status(node, allocs.iter().map(|a| &*a.alloc), now);
        let event = Some(cluster_event(HEARTBEAT_MISSED, now));
        let id = node.id.clone();
        NodeStatusChange { id, status, event, identity_key_id: String::new(), updated_at: now }
    });
    missed.collect()
}

async fn write_missed(server: &Leading, statuses: Vec<NodeStatusChange>) {
    let count = statuses.len();
    let outcome: Vec<(String, bool)> = statuses.iter().map(|s| (s.id.clone(), s.status == NodeStatus::Down)).collect();
    let written = change(server, Operation::NodeStatusBatch { statuses }).await;
    if let Err(e) = &written {
        tracing::error!(target: "nomad.heartbeat", nodes = count, error = e.message.as_str(), "update node status failed");
    }
    let mut heartbeats = server.queues().heartbeats();
    for (id, down) in outcome {
        if written.is_ok() && down {
            heartbeats.remove(&id);
        } else {
            // The node is retried, or marked as down eventually if it stays away.
            let _ = heartbeats.reset(&id, ids::steady(), ids::random());
        }
    }
}

/// The result of a node change.
#[derive(Debug, Default)]
pub struct Changed {
    /// Index of the change.
    pub index: u64,
    /// IDs of the evaluations created by the change.
    pub eval_ids: Vec<String>,
}

impl Changed {
    /// The index at which the evaluations were written; 0 if there are none.
    pub(crate) fn eval_index(&self) -> u64 {
        if self.eval_ids.is_empty() { 0 } else { self.index }
    }
}

/// Commits a node change with the evaluations that follow from it.
///
/// # Errors
/// The change was refused, or there is no leader.
pub(crate) async fn change(server: &Leading, change: Operation) -> Result<Changed, Error> {
    let op = NodeChange { change, seed: ids::random(), now: ids::now() };
    let (index, reply) = server.commit_shared(Operation::NodeChange(Box::new(op)).into()).await?;
    let eval_ids = if let Reply::Evaluations(made) = reply { made } else { Vec::new() };
    Ok(Changed { index, eval_ids })
}

/// Writes a node's status and the evaluations that follow from it. The caller has to reset the timer of a node that is
/// not down. `identity_key_id`: see [`NodeStatusChange`].
///
/// # Errors
/// The node does not exist, or there is no leader.
pub(crate) async fn set_status(
    server: &Leading,
    node: &Node,
    status: NodeStatus,
    event: Option<NodeEvent>,
    identity_key_id: String,
) -> Result<Changed, Error> {
    let down = status == NodeStatus::Down;
    let op = NodeStatusChange { id: node.id.clone(), status, event, identity_key_id, updated_at: ids::now() };
    let changed = change(server, Operation::NodeStatus(op)).await?;
    if down {
        server.queues().heartbeats().remove(&node.id);
    }
    Ok(changed)
}

/// Creates evaluations of the jobs that a node affects in its current state (`docs/spec/server.md §9.6`). The index is
/// 0 if nothing was written.
///
/// # Errors
/// There is no leader.
pub(crate) async fn evaluate(server: &Leading, node: &Node) -> Result<Changed, Error> {
    let snapshot = server.snapshot();
    let state = snapshot.state();
    let made = node_evals(state, &system_jobs(state), node, node.modify_index, ids::now(), &mut ids::uuid);
    let Some(evals) = made else { return Ok(Changed::default()) };
    let eval_ids = evals.iter().map(|e| e.id.to_string()).collect();
    let (index, _) = server.commit_shared(Operation::EvalUpdate { evals }.into()).await?;
    Ok(Changed { index, eval_ids })
}
