//! Nodes that were not heard of, and the evaluations that follow from what nodes do (`spec/server.md §9`).

use std::sync::Arc;

use futures_util::future::join_all;

use super::error::Error;
use super::handle::Server;
use super::ids;
use super::node_evals::node_status::DOWN;
use super::node_evals::{HEARTBEAT_MISSED, cluster_event, missed_heartbeat_status, node_evals, system_jobs};
use super::ops::{NodeChange, NodeStatus, Operation, Reply};
use crate::model::*;
use crate::state::State;

/// Heartbeats of nodes did not come in time (§9.2). All changes are proposed together: they share entries of the log.
pub async fn missed_heartbeats(server: Server, ids: Vec<String>) {
    let _timer = server.metrics().timer("nomad.heartbeat.invalidate");
    let snapshot = server.snapshot();
    // Some may have been heard of since their timers fired.
    let nodes: Vec<Arc<Node>> = {
        let heartbeats = server.queues().heartbeats();
        let silent = ids.iter().filter(|id| !heartbeats.contains(id));
        silent.filter_map(|id| snapshot.state().node(id).map(|n| n.node.clone())).collect()
    };
    join_all(nodes.iter().map(|node| missed(&server, snapshot.state(), node))).await;
}

async fn missed(server: &Server, state: &State, node: &Node) {
    let now = ids::now();
    let id = node.id.as_str();
    let allocs = state.allocs_of_node(id);
    let status = missed_heartbeat_status(node, allocs.iter().map(|a| &*a.alloc), now);
    tracing::warn!(target: "nomad.heartbeat", node_id = id, "node TTL expired");
    let event = Some(cluster_event(HEARTBEAT_MISSED, now));
    let written = set_status(server, node, status, event, String::new()).await;
    if let Err(e) = &written {
        tracing::error!(target: "nomad.heartbeat", node_id = id, error = e.message.as_str(), "update node status failed");
    }
    // Tried again, or down in the end if it stays away.
    if written.is_err() || status != DOWN {
        let _ = server.queues().heartbeats().reset(id, ids::now(), ids::random());
    }
}

/// What a change of a node entailed.
#[derive(Debug, Default)]
pub struct Changed {
    /// Index of the change.
    pub index: u64,
    /// The evaluations that follow from it.
    pub eval_ids: Vec<String>,
}

impl Changed {
    /// The index the evaluations were written at, 0 if there are none.
    pub fn eval_index(&self) -> u64 {
        if self.eval_ids.is_empty() { 0 } else { self.index }
    }
}

/// Commits a change of nodes with the evaluations that follow from it.
///
/// # Errors
/// The change is refused, or there is no leader.
pub async fn change(server: &Server, change: Operation) -> Result<Changed, Error> {
    let op = NodeChange { change, seed: ids::random(), now: ids::now() };
    let (index, reply) = server.commit_shared(Operation::NodeChange(Box::new(op)).into()).await?;
    let eval_ids = if let Reply::Evaluations(made) = reply { made } else { Vec::new() };
    Ok(Changed { index, eval_ids })
}

/// Writes a node's status and what follows from it. The timer of a node that is not down is the caller's to reset.
/// `identity_key_id`: see [`NodeStatus`].
///
/// # Errors
/// The node is gone, or there is no leader.
pub async fn set_status(
    server: &Server,
    node: &Node,
    status: &str,
    event: Option<NodeEvent>,
    identity_key_id: String,
) -> Result<Changed, Error> {
    let op = NodeStatus { id: node.id.clone(), status: status.into(), event, identity_key_id, updated_at: ids::now() };
    let changed = change(server, Operation::NodeStatus(op)).await?;
    if status == DOWN {
        server.queues().heartbeats().remove(&node.id);
    }
    Ok(changed)
}

/// Has the jobs evaluated that a node concerns as it is (§9.6). The index is 0 if nothing was written.
///
/// # Errors
/// There is no leader.
pub async fn evaluate(server: &Server, node: &Node) -> Result<Changed, Error> {
    let snapshot = server.snapshot();
    let state = snapshot.state();
    let made = node_evals(state, &system_jobs(state), node, node.modify_index, ids::now(), &mut ids::uuid);
    let Some(evals) = made else { return Ok(Changed::default()) };
    let eval_ids = evals.iter().map(|e| e.id.clone()).collect();
    let (index, _) = server.commit_shared(Operation::EvalUpdate { evals }.into()).await?;
    Ok(Changed { index, eval_ids })
}
