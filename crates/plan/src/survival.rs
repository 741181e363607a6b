//! Computes how many copies of a group fit after the worst loss of a node or datacenter, once the lost allocations have
//! been replaced.
//!
//! A loss is simulated to its end as `what_if` does. That takes time, so losses are tried in the order of the fewest
//! copies that they may leave ([`super::demand`]); once no remaining loss can leave fewer copies than one that was
//! tried, or only a few less ([`Accuracy`]), the search ends.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::capacity::{Count, MOST_COPIES, Subject, independent, sums_of};
use super::demand::{Demands, Units};
use super::threads::in_threads;
use super::what_if::change::Nodes;
use super::what_if::{ChangeError, Known, lose};
use encamp_model::NodeStatus;
use encamp_state::{NodeEntry, Snapshot, State};

/// Nodes that are tried before it is decided again whether to go on. It does not depend on the machine, so that the
/// same losses are tried everywhere.
const NODES_AT_ONCE: usize = 16;
/// The same of datacenters: there are few, and each takes long.
const DATACENTERS_AT_ONCE: usize = 2;
/// Until so many losses were tried, the search goes on in any case.
const ALWAYS_TRIED: usize = 32;

/// How exact an answer has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// The worst loss is found.
    Exact,
    /// On a large cluster the search ends once no loss can leave more than two percent fewer copies than the worst one
    /// that was tried.
    Near,
}

impl Accuracy {
    /// Whether the search ends: how many losses were tried, what the worst of them leaves, and the fewest copies that
    /// the others may leave.
    fn suffices(self, tried: usize, worst: i64, others: i64) -> bool {
        let near = || tried >= ALWAYS_TRIED && worst.saturating_sub(others) <= worst / 50;
        match self {
            Accuracy::Exact => worst <= others,
            Accuracy::Near => worst <= others || near(),
        }
    }
}

/// A possible loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Any one node.
    Node,
    /// All nodes of any one datacenter.
    Datacenter,
}

impl Loss {
    /// What it is called.
    pub fn noun(self) -> &'static str {
        match self {
            Loss::Node => "node",
            Loss::Datacenter => "datacenter",
        }
    }
}

/// The worst loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Survival {
    /// The node or datacenter whose loss leaves room for the fewest copies.
    pub lost: String,
    /// How many more copies fit after what was lost has been placed again.
    pub copies: i64,
    /// No loss leaves fewer copies than that: the same number if the worst loss is known.
    pub at_least: i64,
    /// Lost allocations that no node takes.
    pub unplaced: usize,
    /// How many losses were followed to their end.
    pub tried: usize,
    /// How many there are.
    pub of: usize,
}

/// One thing that can be lost.
struct Candidate {
    name: String,
    nodes: Nodes,
    /// No fewer copies than that fit afterwards.
    at_least: i64,
}

/// The remaining capacity after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    copies: i64,
    unplaced: usize,
}

/// How many fit after the worst of the losses, when what was lost has been placed again; `None` if there is nothing to
/// lose. Of losses that leave equally few copies any is named.
pub fn survival(
    state: &State,
    subject: &Subject,
    loss: Loss,
    accuracy: Accuracy,
    now: i64,
) -> Result<Option<Survival>, ChangeError> {
    let state = state.snapshot();
    let sums = sums_of(subject);
    // Counting by sums takes no longer if there is more to count.
    let limit = if sums.is_some() { i64::MAX } else { MOST_COPIES };
    let base = Count::new(&state, subject, limit, now);
    let most = base.most_by_place(&state);
    let everywhere = if independent(subject) { None } else { Some(most.values().copied().max().unwrap_or(0)) };
    let demands = Demands::new(&state, &Units { ask: sums, most, everywhere }, now);
    let (mut candidates, at_once) = match loss {
        Loss::Node => (nodes(&state, &base, &demands), NODES_AT_ONCE),
        Loss::Datacenter => (datacenters(&state, &base, &demands), DATACENTERS_AT_ONCE),
    };
    candidates.sort_by(|a, b| (a.at_least, &a.name).cmp(&(b.at_least, &b.name)));
    let of = candidates.len();
    let trial = Trial { state: &state, subject, base: &base, demands: &demands, limit, now };
    let mut worst: Option<(usize, Left)> = None;
    let (mut tried, mut at_least) = (0, i64::MAX);
    for batch in candidates.chunks(at_once) {
        let others = batch.first().map_or(i64::MAX, |c| c.at_least).min(MOST_COPIES);
        if worst.is_some_and(|(_, w)| accuracy.suffices(tried, w.copies, others)) {
            at_least = others;
            break;
        }
        for (i, left) in in_threads(batch, |c| trial.one(c)).into_iter().enumerate() {
            let left = left?;
            let rank = |l: &Left| (l.copies, Reverse(l.unplaced));
            if worst.as_ref().is_none_or(|(_, w)| rank(&left) < rank(w)) {
                worst = Some((tried + i, left));
            }
        }
        tried += batch.len();
    }
    Ok(worst.and_then(|(i, left)| {
        let lost = candidates.get(i)?.name.clone();
        let at_least = at_least.min(left.copies);
        Some(Survival { lost, copies: left.copies, at_least, unplaced: left.unplaced, tried, of })
    }))
}

/// The nodes that can be lost.
fn nodes(state: &Snapshot, base: &Count, demands: &Demands) -> Vec<Candidate> {
    let total = base.total();
    let candidate = |(e, taken): (&Arc<NodeEntry>, Option<i64>)| Candidate {
        name: e.node.name.clone(),
        nodes: Nodes::One(e.node.id.clone()),
        at_least: at_least(total, taken),
    };
    taken_by_each(state, base, demands).into_iter().map(candidate).collect()
}

/// What the loss of each node takes that is not down.
fn taken_by_each<'a>(state: &'a Snapshot, base: &Count, demands: &Demands) -> Vec<(&'a Arc<NodeEntry>, Option<i64>)> {
    let up: Vec<&Arc<NodeEntry>> = state.nodes().filter(|e| e.node.status != NodeStatus::Down).collect();
    in_threads(&up, |e| (*e, taken(state, e, base, demands)))
}

/// The datacenters that can be lost. What nodes take together is no more than the sum.
fn datacenters(state: &Snapshot, base: &Count, demands: &Demands) -> Vec<Candidate> {
    let (total, mut sums) = (base.total(), BTreeMap::<&str, Option<i64>>::new());
    for (e, taken) in taken_by_each(state, base, demands) {
        let sum = sums.entry(&e.node.datacenter).or_insert(Some(0));
        *sum = sum.zip(taken).map(|(a, b)| a.saturating_add(b));
    }
    let candidate = |(name, sum): (&str, Option<i64>)| Candidate {
        name: name.to_string(),
        nodes: Nodes::Datacenter(name.to_string()),
        at_least: at_least(total, sum),
    };
    sums.into_iter().map(candidate).collect()
}

/// How many copies less fit at most after the loss of a node: on itself, and where others take its allocations; `None`
/// if that is not known beforehand.
fn taken(state: &Snapshot, node: &NodeEntry, base: &Count, demands: &Demands) -> Option<i64> {
    let displaced = demands.displaced(state, node).filter(|_| !base.capped)?;
    Some(displaced.saturating_add(base.on(node.slot)))
}

/// The fewest of all copies that fit after a loss that takes so many.
fn at_least(total: i64, taken: Option<i64>) -> i64 {
    taken.map_or(0, |taken| total.saturating_sub(taken).max(0))
}

/// The state in which losses are simulated.
struct Trial<'a> {
    state: &'a Snapshot,
    subject: &'a Subject,
    base: &'a Count,
    demands: &'a Demands,
    limit: i64,
    now: i64,
}

impl Trial<'_> {
    fn one(&self, candidate: &Candidate) -> Result<Left, ChangeError> {
        let known = |down: &BTreeSet<String>| {
            let lost: Vec<&Arc<NodeEntry>> = down.iter().filter_map(|id| self.state.node(id)).collect();
            Known {
                quiet: self.demands.quiet.clone(),
                stirred: self.demands.stirred(self.state, &lost),
                settled: self.demands.settled.clone(),
                waiting: Some(self.demands.short.clone()),
            }
        };
        let lost = lose(self.state, &candidate.nodes, known, self.now)?;
        let copies = self.base.total_after(&lost.state, &lost.changed, self.subject, self.limit, self.now);
        Ok(Left { copies: copies.min(MOST_COPIES), unplaced: lost.unplaced })
    }
}
