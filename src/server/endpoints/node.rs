//! What operators do with nodes: drain, eligibility, evaluation, removal (`spec/server.md §9.6, §12.1`).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::*;
use crate::server::error::Error;
use crate::server::node_evals::cluster_event;
use crate::server::node_status::{create_evals, create_evals_of};
use crate::server::ops::{DrainUpdate, NodeDrain, Operation};
use crate::server::{Server, ids};

/// What a change of a node led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed {
    /// Index of the write; 0 if nothing was written.
    pub index: u64,
    /// Evaluations that were made.
    pub eval_ids: Vec<String>,
    /// Index they were written at.
    pub eval_create_index: u64,
}

/// How a node is to be drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainSpec {
    /// Nanoseconds until all is stopped; 0: never; below: at once.
    pub deadline: i64,
    /// System jobs stay.
    pub ignore_system_jobs: bool,
}

fn node_of(server: &Server, id: &str) -> Result<Arc<Node>, Error> {
    let snapshot = server.snapshot();
    snapshot.state().node(id).map(|n| n.node.clone()).ok_or_else(|| Error::internal("node not found"))
}

/// Sets whether a node takes allocations.
///
/// # Errors
/// Another word, an unknown node, a node that drains, no leader.
pub async fn eligibility(server: &Server, id: &str, word: &str) -> Result<Changed, Error> {
    server.wait_ready().await?;
    if !matches!(word, "eligible" | "ineligible") {
        return Err(Error::internal(format!("invalid scheduling eligibility {}", quoted(word))));
    }
    let node = node_of(server, id)?;
    if node.drain_strategy.is_some() && word == "eligible" {
        let text = "can not set node's scheduling eligibility to eligible while it is draining";
        return Err(Error::internal(text));
    }
    if node.scheduling_eligibility == word {
        return Ok(Changed::default());
    }
    let now = ids::now();
    let event = cluster_event(&format!("Node marked as {word} for scheduling"), now);
    let op =
        Operation::NodeEligibility { id: id.into(), eligibility: word.into(), event: Some(event), updated_at: now };
    let mut changed = Changed { index: server.commit(op).await?.0, ..Default::default() };
    if word == "eligible" {
        (changed.eval_ids, changed.eval_create_index) = create_evals(server, id, changed.index).await?;
    }
    Ok(changed)
}

/// Starts, changes or ends a drain.
///
/// # Errors
/// An unknown node, no leader.
pub async fn drain(
    server: &Server,
    id: &str,
    spec: Option<DrainSpec>,
    mark_eligible: bool,
    meta: BTreeMap<String, String>,
    accessor_id: &str,
) -> Result<Changed, Error> {
    server.wait_ready().await?;
    let node = node_of(server, id)?;
    let now = ids::now();
    let strategy = spec.map(|s| DrainStrategy {
        deadline: s.deadline,
        ignore_system_jobs: s.ignore_system_jobs,
        force_deadline: if s.deadline > 0 { Time::from_unix_nanos(now.saturating_add(s.deadline)) } else { Time::ZERO },
        started_at: Time::from_unix_nanos(now),
    });
    let message = match (&strategy, &node.drain_strategy) {
        (Some(_), None) => "Node drain strategy set",
        (Some(_), Some(_)) => "Node drain strategy updated",
        (None, _) => "Node drain disabled",
    };
    let event = NodeEvent { subsystem: "Drain".into(), ..cluster_event(message, now) };
    let was_ineligible = node.scheduling_eligibility == "ineligible";
    let ends = strategy.is_none();
    let update = DrainUpdate { strategy, mark_eligible, complete: false, meta, accessor_id: accessor_id.into() };
    let op = NodeDrain {
        nodes: BTreeMap::from([(id.to_string(), update)]),
        events: BTreeMap::from([(id.to_string(), event)]),
        updated_at: now,
    };
    let mut changed = Changed { index: server.commit(Operation::NodeDrain(op)).await?.0, ..Default::default() };
    if ends && mark_eligible && was_ineligible {
        (changed.eval_ids, changed.eval_create_index) = create_evals(server, id, changed.index).await?;
    }
    Ok(changed)
}

/// Has all jobs of a node evaluated.
///
/// # Errors
/// An unknown node, no leader.
pub async fn evaluate(server: &Server, id: &str) -> Result<Changed, Error> {
    server.wait_ready().await?;
    let node = node_of(server, id)?;
    let (eval_ids, eval_create_index) = create_evals(server, id, node.modify_index).await?;
    Ok(Changed { index: eval_create_index, eval_ids, eval_create_index })
}

/// Removes a node; its allocations are replaced.
///
/// # Errors
/// An unknown node, no leader.
pub async fn purge(server: &Server, id: &str) -> Result<Changed, Error> {
    server.wait_ready().await?;
    let node = node_of(server, id)?;
    let (index, _) = server.commit(Operation::NodeDeregister { ids: vec![id.into()] }).await?;
    let (eval_ids, eval_create_index) = create_evals_of(server, &node, index).await?;
    Ok(Changed { index, eval_ids, eval_create_index })
}
