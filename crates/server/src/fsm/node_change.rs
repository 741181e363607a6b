//! Node changes together with the evaluations that follow from them (`docs/spec/server.md §9.6`): one operation, so
//! that no crash can separate the two. Nomad writes two; after a crash in between, the affected jobs are not evaluated.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::txn::Txn;
use super::{Limits, eval, run};
use crate::fsm::node_evals::{node_evals, registration_makes_evals, system_jobs, transition_makes_evals};
use encamp_model::random::Random;
use encamp_model::{Evaluation, Node, NodeEligibility};
use encamp_ops::{NodeChange, Operation, Refusal, Reply};

/// Applies a change, then writes its evaluations. Returns their IDs.
pub(crate) fn apply(txn: &mut Txn, c: &NodeChange, limits: Limits) -> Result<Reply, Refusal> {
    let ids: Vec<&str> = match &c.change {
        Operation::NodeRegister(r) => vec![&r.node.id],
        Operation::NodeStatus(s) => vec![&s.id],
        Operation::NodeRevoke(r) => vec![&r.id],
        Operation::NodeStatusBatch { statuses } => statuses.iter().map(|s| s.id.as_str()).collect(),
        Operation::NodeEligibility { id, .. } => vec![id],
        Operation::NodeDrain(d) => d.nodes.keys().map(String::as_str).collect(),
        Operation::NodeDeregister { ids } => ids.iter().map(String::as_str).collect(),
        _ => return Err(Refusal::NotANodeChange),
    };
    let stored = |txn: &Txn, id: &str| txn.store.state().node(id).map(|n| n.node.clone());
    let before: BTreeMap<&str, Arc<Node>> = ids.into_iter().filter_map(|id| Some((id, stored(txn, id)?))).collect();
    run(txn, &c.change, limits)?;
    let mut new_ids = Random::new(c.seed, "node-update");
    let mut evals: Vec<Evaluation> = Vec::new();
    // For nodes that change together, one evaluation per job is sufficient: the others would be cancelled.
    let mut jobs = FxHashSet::default();
    let state = txn.store.state();
    // Most changes create no evaluations.
    let system = LazyCell::new(|| system_jobs(state));
    let mut make = |node: &Node| {
        let made = node_evals(state, &system, node, txn.index, c.now, &mut || new_ids.uuid());
        let new = made.unwrap_or_default().into_iter();
        evals.extend(new.filter(|e| jobs.insert(e.job_key())));
    };
    match &c.change {
        Operation::NodeRegister(r) => {
            let old = before.get(r.node.id.as_str()).map(|n| &**n);
            if let Some(node) = stored(txn, &r.node.id).filter(|n| registration_makes_evals(old, n)) {
                make(&node);
            }
        }
        Operation::NodeDeregister { .. } => before.values().for_each(|node| make(node)),
        change => {
            let entails = |old: &Node, node: &Node| match change {
                Operation::NodeStatus(_) | Operation::NodeStatusBatch { .. } | Operation::NodeRevoke(_) => {
                    transition_makes_evals(&old.status, &node.status)
                }
                _ => {
                    old.scheduling_eligibility == NodeEligibility::Ineligible
                        && node.scheduling_eligibility == NodeEligibility::Eligible
                }
            };
            for (id, old) in &before {
                if let Some(node) = stored(txn, id).filter(|node| entails(old, node)) {
                    make(&node);
                }
            }
        }
    }
    if !evals.is_empty() {
        eval::update(txn, &evals)?;
    }
    Ok(Reply::Evaluations(evals.into_iter().map(|e| e.id.to_string()).collect()))
}
