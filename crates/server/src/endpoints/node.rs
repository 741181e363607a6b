//! Node operations for operators: eligibility, evaluation, removal (`docs/spec/server.md §9.6, §12.1`). For drains see
//! [`set_drain`](crate::nodes::drain::set_drain).

use std::sync::Arc;

use crate::error::Error;
use crate::fsm::node_evals::{IDENTITY_REVOKED, cluster_event};
use crate::leading::Leading;
use crate::nodes::node_answer::NodeAnswer;
use crate::nodes::node_status;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{NodeRevoke, Operation};

fn node_of(server: &ServerState, id: &str) -> Result<Arc<Node>, Error> {
    let snapshot = server.snapshot();
    snapshot.state().node(id).map(|n| n.node.clone()).ok_or_else(Error::node_not_found)
}

/// Sets the scheduling eligibility of a node.
///
/// # Errors
/// The eligibility is invalid, the node is unknown or draining, or there is no leader.
pub async fn eligibility(server: &Leading, id: &str, eligibility: NodeEligibility) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    if !eligibility.is_known() {
        return Err(Error::internal(format!("invalid scheduling eligibility {}", quoted(eligibility.as_str()))));
    }
    let node = node_of(server, id)?;
    if node.drain_strategy.is_some() && eligibility == NodeEligibility::Eligible {
        let text = "can not set node's scheduling eligibility to eligible while it is draining";
        return Err(Error::internal(text));
    }
    if node.scheduling_eligibility == eligibility {
        return Ok(NodeAnswer::default());
    }
    let now = ids::now();
    let event = cluster_event(&format!("Node marked as {eligibility} for scheduling"), now);
    let op = Operation::NodeEligibility { id: id.into(), eligibility, event: Some(event), updated_at: now };
    // This response does not include the node's index.
    Ok(NodeAnswer { node_modify_index: 0, ..NodeAnswer::of(node_status::change(server, op).await?) })
}

/// Creates evaluations for all jobs of a node.
///
/// # Errors
/// The node is unknown, or there is no leader.
pub async fn evaluate(server: &Leading, id: &str) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    let node = node_of(server, id)?;
    let made = node_status::evaluate(server, &node).await?;
    let node_modify_index = made.eval_index();
    let answer = NodeAnswer { node_modify_index, eval_create_index: made.index, ..NodeAnswer::of(made) };
    Ok(answer.completed(server, id))
}

/// Revokes the identity of a node: its secret, its identities and the introduction tokens issued so far are refused, and
/// its allocations are replaced (`docs/spec/server.md §9.8`).
///
/// # Errors
/// The node is unknown, or there is no leader.
pub async fn revoke_identity(server: &Leading, id: &str) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    node_of(server, id)?;
    let now = ids::now();
    let event = cluster_event(IDENTITY_REVOKED, now);
    let op = Operation::NodeRevoke(NodeRevoke { id: id.into(), event, revoked_at: now });
    let changed = node_status::change(server, op).await?;
    server.queues().heartbeats().remove(id);
    Ok(NodeAnswer::of(changed).completed(server, id))
}

/// Removes a node; its allocations are replaced.
///
/// # Errors
/// The node is unknown, or there is no leader.
pub async fn purge(server: &Leading, id: &str) -> Result<NodeAnswer, Error> {
    server.wait_ready().await?;
    node_of(server, id)?;
    let changed = node_status::change(server, Operation::NodeDeregister { ids: vec![id.into()] }).await?;
    Ok(NodeAnswer::of(changed).completed(server, id))
}
