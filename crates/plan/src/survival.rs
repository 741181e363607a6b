//! Computes how many copies of a group fit after the worst loss of a node or datacenter, once the lost allocations have
//! been replaced.
//!
//! A loss is simulated to its end as `what_if` does. That takes time, so losses are tried in the order of the fewest
//! copies that they may leave ([`super::demand`]); once no remaining loss can leave fewer copies than one that was
//! tried, the answer is known.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;

use super::capacity::{Count, MOST_COPIES, Subject, independent, sums_of};
use super::demand::{Demands, Units, threads};
use super::what_if::change::Nodes;
use super::what_if::{ChangeError, Known, lose};
use encamp_model::NodeStatus;
use encamp_state::{NodeEntry, Snapshot, State};

/// Losses that are tried before it is decided again whether to go on. It does not depend on the machine, so that the
/// same losses are tried everywhere.
const AT_ONCE: usize = 16;

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
    /// Lost allocations that no node takes.
    pub unplaced: usize,
    /// How many losses were followed to their end; no other one can leave fewer copies.
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
/// lose.
pub fn survival(state: &State, subject: &Subject, loss: Loss, now: i64) -> Result<Option<Survival>, ChangeError> {
    let state = state.snapshot();
    let sums = sums_of(subject);
    // Counting by sums takes no longer if there is more to count.
    let limit = if sums.is_some() { i64::MAX } else { MOST_COPIES };
    let base = Count::new(&state, subject, limit, now);
    let most = base.most_by_place(&state);
    let everywhere = if independent(subject) { None } else { Some(most.values().copied().max().unwrap_or(0)) };
    let demands = Demands::new(&state, &Units { ask: sums, most, everywhere }, now);
    let mut candidates = match loss {
        Loss::Node => nodes(&state, &base, &demands),
        Loss::Datacenter => datacenters(&state),
    };
    candidates.sort_by(|a, b| (a.at_least, &a.name).cmp(&(b.at_least, &b.name)));
    let of = candidates.len();
    let trial = Trial { state: &state, subject, base: &base, demands: &demands, limit, now };
    let mut worst: Option<(usize, Left)> = None;
    let mut tried = 0;
    for batch in candidates.chunks(AT_ONCE) {
        let first = batch.first().map_or(i64::MAX, |c| c.at_least);
        if worst.is_some_and(|(_, w)| w.copies <= first.min(MOST_COPIES)) {
            break;
        }
        for (i, left) in trial.all(batch)?.into_iter().enumerate() {
            let rank = |l: &Left| (l.copies, Reverse(l.unplaced));
            if worst.as_ref().is_none_or(|(_, w)| rank(&left) < rank(w)) {
                worst = Some((tried + i, left));
            }
        }
        tried += batch.len();
    }
    Ok(worst.and_then(|(i, left)| {
        let lost = candidates.get(i)?.name.clone();
        Some(Survival { lost, copies: left.copies, unplaced: left.unplaced, tried, of })
    }))
}

/// The nodes that can be lost.
fn nodes(state: &Snapshot, base: &Count, demands: &Demands) -> Vec<Candidate> {
    let total = base.total();
    let up = state.nodes().filter(|e| e.node.status != NodeStatus::Down);
    let candidate = |e: &Arc<NodeEntry>| {
        let displaced = demands.displaced(state, e).filter(|_| !base.capped);
        let at_least = displaced.map_or(0, |d| total.saturating_sub(base.on(e.slot)).saturating_sub(d).max(0));
        Candidate { name: e.node.name.clone(), nodes: Nodes::One(e.node.id.clone()), at_least }
    };
    up.map(candidate).collect()
}

/// The datacenters that can be lost. There are few of them: each is tried.
fn datacenters(state: &State) -> Vec<Candidate> {
    let up = state.nodes().map(|e| &e.node).filter(|n| n.status != NodeStatus::Down);
    let names: BTreeSet<&str> = up.map(|n| n.datacenter.as_str()).collect();
    let candidate =
        |dc: &str| Candidate { name: dc.to_string(), nodes: Nodes::Datacenter(dc.to_string()), at_least: 0 };
    names.into_iter().map(candidate).collect()
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

    /// Tries all of them, some at the same time; the results are in their order.
    fn all(&self, batch: &[Candidate]) -> Result<Vec<Left>, ChangeError> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let Some((i, candidate)) = {
                let i = next.fetch_add(1, Ordering::Relaxed);
                batch.get(i).map(|c| (i, c))
            } {
                done.push((i, self.one(candidate)));
            }
            done
        };
        let mut all = std::thread::scope(|scope| {
            let running: Vec<_> = (1..threads().min(batch.len())).map(|_| scope.spawn(work)).collect();
            let mut all = work();
            for thread in running {
                match thread.join() {
                    Ok(done) => all.extend(done),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        });
        all.sort_by_key(|(i, _)| *i);
        all.into_iter().map(|(_, left)| left).collect()
    }
}
