//! The scheduler's proof that a node can be removed: its allocations placed on a copy of the cluster without it
//! (`docs/spec/cluster-scaling.md §4`, check 1).

use std::collections::BTreeMap;

use encamp_model::JobType;
use encamp_plan::what_if::{self, Cause, Displaced, Fate, Owner};
use encamp_state::State;
use serde::Serialize;

/// The fate of the allocations of a drained node. Those of system jobs are left out: they stay where they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Proof {
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Allocations that found another node.
    pub moved: usize,
    /// Allocations that end without a replacement: batch work that the drain would end.
    pub stopped: usize,
    /// Groups with allocations that no node takes, by namespace, job and group.
    pub unplaced: Vec<UnplacedGroup>,
}

/// A group with allocations that no node takes: its own that would migrate, or such that would be preempted for others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct UnplacedGroup {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job: String,
    /// The group.
    pub group: String,
    /// How many allocations.
    pub count: i64,
}

/// Why there is no proof.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The node is not part of the cluster any more.
    #[error("node {0} is not part of the cluster")]
    UnknownNode(String),
    /// The node cannot be drained.
    #[error("node {node} cannot be drained: {problem}")]
    NotDrainable {
        /// Its ID.
        node: String,
        /// Why.
        problem: String,
    },
}

impl Proof {
    /// Every allocation that would migrate found a place.
    pub fn holds(&self) -> bool {
        self.unplaced.is_empty()
    }
}

/// Drains a node on a copy of the state and runs the scheduler at `now` (Unix nanoseconds) until nothing happens any
/// more. What waited for capacity before does not count, nor does what other nodes' drains or rollouts that are under
/// way leave without a place.
///
/// # Errors
/// There is no node with this full ID, or it is down.
pub fn prove(state: &State, node_id: &str, now: i64) -> Result<Proof, ProofError> {
    if state.node(node_id).is_none() {
        return Err(ProofError::UnknownNode(node_id.to_string()));
    }
    let outcome = what_if::drain(state, node_id, now)
        .map_err(|e| ProofError::NotDrainable { node: node_id.to_string(), problem: e.problem.to_string() })?;
    let mut proof = Proof { node_id: node_id.to_string(), moved: 0, stopped: 0, unplaced: Vec::new() };
    let mut unplaced: BTreeMap<&Owner, i64> = BTreeMap::new();
    for displaced in outcome.displaced.iter().filter(|d| d.owner.job_type != JobType::System) {
        match consequence(displaced) {
            Consequence::None => {}
            Consequence::Moved => proof.moved += 1,
            Consequence::Stopped => proof.stopped += 1,
            Consequence::Unplaced => *unplaced.entry(&displaced.owner).or_default() += 1,
        }
    }
    proof.unplaced = unplaced
        .into_iter()
        .map(|(owner, count)| UnplacedGroup {
            namespace: owner.namespace.clone(),
            job: owner.job_id.clone(),
            group: owner.task_group.clone(),
            count,
        })
        .collect();
    Ok(proof)
}

/// The effect of the drain on an allocation.
enum Consequence {
    None,
    Moved,
    Stopped,
    Unplaced,
}

fn consequence(displaced: &Displaced) -> Consequence {
    match (displaced.cause, displaced.fate) {
        (Cause::Drained, Fate::Moved) => Consequence::Moved,
        (Cause::Drained, Fate::Stopped) => Consequence::Stopped,
        // Allocations that stay on a draining node keep the drain from finishing.
        (Cause::Drained, Fate::Unplaced | Fate::Stays) | (Cause::Preempted, Fate::Unplaced) => Consequence::Unplaced,
        (Cause::Preempted, Fate::Moved | Fate::Stopped | Fate::Stays) => Consequence::None,
        (Cause::Lost | Cause::Migrated | Cause::Updated | Cause::Stopped, _) => Consequence::None,
    }
}

#[cfg(test)]
mod tests;
