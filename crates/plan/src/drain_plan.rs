//! Plans the drain of several nodes: in which order and how many at a time, so that no task group loses more allocations
//! at once than its `migrate` block allows, and every allocation that moves is placed.
//!
//! All nodes are ineligible from the beginning, so that no allocation moves to a node that is drained later. Batches are
//! drained one after the other, each simulated to its end as [`super::what_if`] does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;

use super::demand::{Demands, Units};
use super::stop::Stop;
use super::survival::Loss;
use super::threads::in_threads;
use super::what_if::change::Nodes;
use super::what_if::{Cause, ChangeError, Fate, Outcome, Unplaced, drain_all, lose};
use encamp_model::{Allocation, JobType, Node, NodeEligibility, NodeStatus};
use encamp_state::{NodeEntry, Snapshot, State};

/// What a batch may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainLimits {
    /// Nodes that are drained at a time; `None` for no limit.
    pub nodes: Option<usize>,
    /// Whether allocations of other jobs may be preempted.
    pub preempt: bool,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DrainNode {
    /// Its name.
    pub name: String,
    /// Its ID.
    #[serde(rename = "ID")]
    pub id: String,
}

/// Nodes that are drained at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Batch {
    /// The nodes.
    pub nodes: Vec<DrainNode>,
    /// Allocations that are placed elsewhere.
    pub moved: usize,
    /// Allocations that are not replaced: of system jobs, and of batch jobs that run when the deadline of the drain
    /// passes.
    pub stopped: usize,
    /// Allocations of batch jobs among them: the drain waits for them until its deadline.
    pub batch: usize,
    /// Allocations of other jobs that are preempted.
    pub preempted: usize,
    /// How often the drain waits until replacements are healthy.
    pub waves: i64,
    /// The shortest duration of these waits, in nanoseconds.
    pub at_least: i64,
}

/// A node that cannot be drained, and the task groups that it is needed for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Blocked {
    /// The node.
    #[serde(flatten)]
    pub node: DrainNode,
    /// Allocations that could not be placed.
    pub unplaced: Vec<Unplaced>,
    /// Allocations of other jobs that would be preempted, although that is not allowed.
    pub preempted: usize,
}

/// The worst loss once all batches are drained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct WorstLoss {
    /// The node or datacenter.
    pub lost: String,
    /// Allocations that could not be placed after its loss.
    pub unplaced: usize,
    /// No loss leaves more unplaced: the same number if the worst loss is known.
    pub at_most: usize,
    /// How many losses are decided: followed to their end, or known to leave no more unplaced.
    pub decided: usize,
    /// How many there are.
    pub of: usize,
}

/// The plan of a drain.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct DrainPlan {
    /// The batches, in order.
    pub batches: Vec<Batch>,
    /// The nodes that stay.
    pub blocked: Vec<Blocked>,
    /// The worst loss afterwards, if it was asked for.
    pub worst_loss: Option<WorstLoss>,
}

impl DrainPlan {
    /// Whether all nodes can be drained, and a loss afterwards leaves nothing unplaced.
    pub fn is_safe(&self) -> bool {
        self.blocked.is_empty() && self.worst_loss.as_ref().is_none_or(|w| w.at_most == 0)
    }
}

/// Plans the drain of nodes, given by their full IDs, at `now` (Unix nanoseconds).
///
/// IDs that no node has are left out. `stop` ends the search for the worst loss, not the plan of the drain.
///
/// # Errors
/// A node is down.
pub fn drain_plan(
    before: &State,
    ids: &[String],
    limits: DrainLimits,
    survive: Option<Loss>,
    stop: &Stop,
    now: i64,
) -> Result<DrainPlan, ChangeError> {
    let mut state = before.clone();
    let mut left: Vec<String> = Vec::new();
    for id in ids.iter().collect::<BTreeSet<_>>() {
        let Some(node) = before.node(id).map(|e| Node::clone(&e.node)) else { continue };
        let ineligible = Node { scheduling_eligibility: NodeEligibility::Ineligible, ..node };
        state.replace_node_record(Arc::new(ineligible));
        left.push(id.clone());
    }
    // No allocation comes to these nodes any more, so that what a node runs is counted once.
    let counts: BTreeMap<String, Counts> = left.iter().map(|id| (id.clone(), by_group(&state, id))).collect();
    // The emptiest first: should capacity run out, most nodes are drained.
    left.sort_by_cached_key(|id| (running(&state, id).count(), named(&state, id)));
    let mut plan = DrainPlan { batches: Vec::new(), blocked: Vec::new(), worst_loss: None };
    while !left.is_empty() {
        let mut batch = next_batch(&state, &left, &counts, limits.nodes.unwrap_or(usize::MAX).max(1));
        if batch.is_empty() {
            break;
        }
        loop {
            let drained = drain_all(&state, &batch, now)?;
            let preempted = preempted(&drained.outcome);
            let fits = !drained.outcome.falls_short() && (limits.preempt || preempted == 0);
            if fits {
                plan.batches.push(described(&state, &batch, &counts, &drained.outcome));
                state = drained.state;
            } else if batch.len() > 1 {
                batch.truncate(batch.len().div_ceil(2));
                continue;
            } else {
                let unplaced = drained.outcome.unplaced.into_iter().filter(|u| !u.waited).collect();
                let blocked = batch.iter().map(|id| named(&state, id));
                plan.blocked.extend(blocked.map(|node| Blocked { node, unplaced: Vec::clone(&unplaced), preempted }));
            }
            left.retain(|id| !batch.contains(id));
            break;
        }
    }
    if let Some(loss) = survive {
        plan.worst_loss = worst_loss(&state, loss, now, stop)?;
    }
    Ok(plan)
}

/// The allocations that run on a node.
fn running<'a>(state: &'a State, id: &str) -> impl Iterator<Item = &'a Arc<Allocation>> {
    let allocs = state.node(id).into_iter().flat_map(|e| &e.allocs);
    allocs.map(|e| &e.alloc).filter(|a| !a.terminal())
}

fn named(state: &State, id: &str) -> DrainNode {
    let name = state.node(id).map_or_else(String::new, |e| e.node.name.clone());
    DrainNode { name, id: id.to_string() }
}

/// Namespace, job and group.
type GroupKey = (String, String, String);
/// Allocations by group.
type Counts = BTreeMap<GroupKey, i64>;

/// The service allocations of each group on a node.
fn by_group(state: &State, id: &str) -> Counts {
    let mut counts = BTreeMap::new();
    for a in running(state, id).filter(|a| a.job.as_ref().is_some_and(|j| j.r#type == JobType::Service)) {
        *counts.entry((a.namespace.to_string(), a.job_id.to_string(), a.task_group.to_string())).or_default() += 1;
    }
    counts
}

/// How many allocations of a group may be away at a time, and how long a replacement has to be healthy, in nanoseconds.
fn migrate(state: &State, (namespace, job, group): &GroupKey) -> (i64, i64) {
    let job = state.job(namespace, job);
    let migrate = job.and_then(|j| j.lookup_group(group)).and_then(|g| g.migrate.as_ref());
    migrate.map_or((1, 0), |m| (m.max_parallel.max(1), m.min_healthy_time.max(0)))
}

/// The next nodes: of no group do they run more allocations than may be away at a time, unless that is one
/// node alone.
fn next_batch(state: &State, left: &[String], counts: &BTreeMap<String, Counts>, most: usize) -> Vec<String> {
    let mut batch: Vec<String> = Vec::new();
    let mut away: BTreeMap<&GroupKey, i64> = BTreeMap::new();
    for id in left {
        if batch.len() >= most {
            break;
        }
        let Some(counts) = counts.get(id) else { continue };
        let allowed = |(key, n): (&GroupKey, &i64)| n + away.get(key).copied().unwrap_or(0) <= migrate(state, key).0;
        let fits = counts.iter().all(allowed);
        if !fits && batch.is_empty() {
            return vec![id.clone()];
        }
        if fits {
            batch.push(id.clone());
            for (key, n) in counts {
                *away.entry(key).or_default() += n;
            }
        }
    }
    batch
}

fn preempted(outcome: &Outcome) -> usize {
    outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).count()
}

fn described(state: &State, batch: &[String], counts: &BTreeMap<String, Counts>, outcome: &Outcome) -> Batch {
    let mut away: BTreeMap<&GroupKey, i64> = BTreeMap::new();
    for (key, n) in batch.iter().filter_map(|id| counts.get(id)).flatten() {
        *away.entry(key).or_default() += n;
    }
    let waits = away.iter().map(|(key, n)| {
        let (parallel, healthy) = migrate(state, key);
        let waves = n.saturating_add(parallel - 1) / parallel;
        (waves, waves.saturating_mul(healthy))
    });
    let (waves, at_least) = waits.fold((0, 0), |(a, b), (waves, time)| (a.max(waves), b.max(time)));
    let stopped = outcome.displaced.iter().filter(|d| d.cause == Cause::Drained && d.fate == Fate::Stopped);
    Batch {
        nodes: batch.iter().map(|id| named(state, id)).collect(),
        moved: outcome.count(None, Fate::Moved),
        stopped: stopped.clone().count(),
        batch: stopped.filter(|d| matches!(d.owner.job_type, JobType::Batch | JobType::Sysbatch)).count(),
        preempted: preempted(outcome),
        waves,
        at_least,
    }
}

/// Losses that are tried before it is decided again whether to go on.
const LOSSES_AT_ONCE: usize = 16;

/// The loss of a node or datacenter that leaves most allocations unplaced; any of several. Losses that may leave most are
/// tried first, until no other one can leave more, or the search is asked to end.
pub(crate) fn worst_loss(state: &State, loss: Loss, now: i64, stop: &Stop) -> Result<Option<WorstLoss>, ChangeError> {
    let state = state.snapshot();
    let nothing = Units { ask: None, most: BTreeMap::new(), everywhere: Some(0) };
    let demands = Demands::new(&state, &nothing, true, now, stop);
    let candidates = candidates(&state, loss, &demands);
    let (mut worst, mut decided): (Option<(&str, usize)>, usize) = (None, 0);
    let mut rest = candidates.as_slice();
    while let Some(next) = rest.first() {
        if worst.is_some_and(|(_, unplaced)| unplaced >= next.at_most) || stop.now() {
            break;
        }
        let (batch, others) = rest.split_at(LOSSES_AT_ONCE.min(rest.len()));
        let lost = in_threads(batch, |c| {
            let known = |down: &BTreeSet<String>| {
                let lost: Vec<&Arc<NodeEntry>> = down.iter().filter_map(|id| state.node(id)).collect();
                demands.known(&state, &lost, stop)
            };
            lose(&state, &c.nodes, known, now)
        });
        let mut cut = false;
        for (candidate, lost) in batch.iter().zip(lost) {
            let lost = lost?;
            if lost.cut.is_some() {
                cut = true;
                continue;
            }
            decided += 1;
            if worst.is_none_or(|(_, unplaced)| unplaced < lost.unplaced) {
                worst = Some((&candidate.name, lost.unplaced));
            }
        }
        if cut {
            break;
        }
        rest = others;
    }
    let Some(first) = candidates.first() else { return Ok(None) };
    let (lost, unplaced) = worst.unwrap_or((&first.name, 0));
    // Those that were cut off are among the rest.
    let at_most = rest.first().map_or(unplaced, |next| next.at_most.max(unplaced));
    let settled = rest.iter().filter(|c| c.at_most <= unplaced).count();
    let decided = if at_most == unplaced { candidates.len() } else { decided + settled };
    Ok(Some(WorstLoss { lost: lost.to_string(), unplaced, at_most, decided, of: candidates.len() }))
}

/// One thing that can be lost.
struct Candidate {
    name: String,
    nodes: Nodes,
    /// No more allocations remain unplaced.
    at_most: usize,
}

/// All that can be lost, what may leave most allocations unplaced first.
fn candidates(state: &Snapshot, loss: Loss, demands: &Demands) -> Vec<Candidate> {
    let ready = |e: &&Arc<NodeEntry>| e.node.status == NodeStatus::Ready && e.node.drain_strategy.is_none();
    let up: Vec<&Arc<NodeEntry>> = state.nodes().filter(ready).collect();
    let all = state.allocs().filter(|e| !e.phase.client_terminal()).count();
    let unplaced = in_threads(&up, |e| {
        let displaced = demands.displaced(state, e, |_| 0, loss == Loss::Datacenter);
        displaced.and_then(|d| usize::try_from(d.unplaced).ok()).map_or(all, |n| n.min(all))
    });
    let mut out: BTreeMap<String, Candidate> = BTreeMap::new();
    for (e, unplaced) in up.into_iter().zip(unplaced) {
        let (key, name, nodes) = match loss {
            Loss::Node => (e.node.id.clone(), e.node.name.clone(), Nodes::One(e.node.id.clone())),
            Loss::Datacenter => {
                let dc = &e.node.datacenter;
                (dc.clone(), dc.clone(), Nodes::Datacenter(dc.clone()))
            }
        };
        let candidate = out.entry(key).or_insert(Candidate { name, nodes, at_most: 0 });
        candidate.at_most = candidate.at_most.saturating_add(unplaced).min(all);
    }
    let mut out: Vec<Candidate> = out.into_values().collect();
    out.sort_by(|a, b| (Reverse(a.at_most), &a.name).cmp(&(Reverse(b.at_most), &b.name)));
    out
}
