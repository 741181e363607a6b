//! Nodes that were not heard of, and the evaluations that follow from what nodes do (`spec/server.md §9`).

use super::error::Error;
use super::handle::Server;
use super::ids;
use super::node_evals::node_status::DOWN;
use super::node_evals::{HEARTBEAT_MISSED, cluster_event, missed_heartbeat_status, node_evals, transition_makes_evals};
use super::ops::{NodeStatus, Operation};
use crate::model::*;

/// A node's heartbeat did not come in time (§9.2).
pub async fn missed_heartbeat(server: Server, id: String) {
    let _timer = server.metrics().timer("nomad.heartbeat.invalidate");
    let snapshot = server.snapshot();
    let Some(node) = snapshot.state().node(&id).map(|n| n.node.clone()) else { return };
    let now = ids::now();
    let allocs = snapshot.state().allocs_of_node(&id);
    let status = missed_heartbeat_status(&node, allocs.iter().map(|a| &*a.alloc), now);
    tracing::warn!(target: "nomad.heartbeat", node_id = id.as_str(), "node TTL expired");
    let event = Some(cluster_event(HEARTBEAT_MISSED, now));
    let written = set_status(&server, &node, status, event, String::new()).await;
    if let Err(e) = &written {
        tracing::error!(target: "nomad.heartbeat", node_id = id.as_str(), error = e.message.as_str(), "update node status failed");
    }
    // Tried again, or down in the end if it stays away.
    if written.is_err() || status != DOWN {
        let _ = server.queues().heartbeats().reset(&id, ids::now(), ids::random());
    }
}

/// Writes a node's status and what follows from it; gives the index of the status and the evaluations. The timer of a node
/// that is not down is the caller's to reset. `identity_key_id`: see [`NodeStatus`].
pub async fn set_status(
    server: &Server,
    node: &Node,
    status: &str,
    event: Option<NodeEvent>,
    identity_key_id: String,
) -> Result<(u64, Vec<String>, u64), Error> {
    let op = NodeStatus { id: node.id.clone(), status: status.into(), event, identity_key_id, updated_at: ids::now() };
    let (index, _) = server.commit_shared(Operation::NodeStatus(op).into()).await?;
    let mut made = (Vec::new(), 0);
    if transition_makes_evals(&node.status, status) {
        made = create_evals(server, &node.id, index).await?;
    }
    if status == DOWN {
        server.queues().heartbeats().remove(&node.id);
    }
    Ok((index, made.0, made.1))
}

/// Evaluations of the jobs a node concerns (§9.6): their IDs and the index they were written at.
pub async fn create_evals(server: &Server, node_id: &str, index: u64) -> Result<(Vec<String>, u64), Error> {
    let snapshot = server.snapshot();
    let Some(node) = snapshot.state().node(node_id).map(|n| n.node.clone()) else { return Ok((vec![], 0)) };
    create_evals_of(server, &node, index).await
}

/// [`create_evals`] for a node that may be gone.
pub async fn create_evals_of(server: &Server, node: &Node, index: u64) -> Result<(Vec<String>, u64), Error> {
    let snapshot = server.snapshot();
    let made = node_evals(snapshot.state(), node, index, ids::now(), &mut ids::uuid);
    let Some(evals) = made else { return Ok((vec![], 0)) };
    let ids = evals.iter().map(|e| e.id.clone()).collect();
    let (index, _) = server.commit_shared(Operation::EvalUpdate { evals }.into()).await?;
    Ok((ids, index))
}
