//! Computes how many copies of a group fit after the worst loss of a node or datacenter, once the lost allocations have
//! been replaced.
//!
//! A loss is simulated to its end as `what_if` does. That takes time, so losses are tried in the order of the fewest
//! copies that they may leave ([`super::demand`]); once no remaining loss can leave fewer copies than one that was
//! tried, or only a few less ([`Accuracy`]), the search ends.
//!
//! It also ends when it is asked to ([`Stop`]), at any moment. The answer is then an interval: every loss that was not
//! followed to its end leaves no fewer copies than its lower bound, and the worst loss leaves no more than any loss is
//! known to leave at most. A loss that only places allocations on other nodes (it frees no room, and nothing is evicted)
//! can only take copies away: such a loss leaves no more copies than there are on the other nodes now, and a simulation
//! that was cut off gives bounds too.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::capacity::{Ask, Count, MOST_COPIES, Subject, constraints, independent};
use super::demand::{Demands, Displaced, Units};
use super::stop::Stop;
use super::threads::in_threads;
use super::what_if::change::Nodes;
use super::what_if::{ChangeError, lose};
use encamp_model::NodeStatus;
use encamp_state::{NodeEntry, Snapshot, State};

/// Losses that are tried before it is decided again whether to go on. It does not depend on the machine, so that the
/// same losses are tried everywhere.
const LOSSES_AT_ONCE: usize = 16;
/// Later more are tried before that: this part of those that were tried.
const PART_AT_ONCE: usize = 4;
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// The worst loss is known.
    Exact,
    /// The interval is narrow enough ([`Accuracy::Near`]).
    Near,
    /// It was asked to end.
    Stopped,
}

/// The worst loss, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Survival {
    /// The node or datacenter whose loss leaves the fewest copies, of those of which that is known.
    pub lost: String,
    /// How many copies fit at most after the worst loss, once what was lost has been placed again.
    pub copies: i64,
    /// No loss leaves fewer copies than that: the same number if the worst loss is known.
    pub at_least: i64,
    /// Lost allocations that no node takes; `None` if the loss was not followed to its end.
    pub unplaced: Option<usize>,
    /// How many losses were followed to their end.
    pub tried: usize,
    /// How many are decided: these, and those that cannot leave fewer copies.
    pub decided: usize,
    /// How many there are.
    pub of: usize,
    /// How the search ended.
    pub ended: Ended,
}

/// When a search ends, and who hears of it.
pub struct Limits<'a> {
    /// How exact the answer has to be.
    pub accuracy: Accuracy,
    /// Ends the search before that.
    pub stop: Stop,
    /// Hears what is known so far, now and then.
    pub progress: &'a dyn Fn(&Survival),
}

impl Limits<'_> {
    /// No end but that of the search.
    pub fn none(accuracy: Accuracy) -> Limits<'static> {
        Limits { accuracy, stop: Stop::never(), progress: &|_| {} }
    }
}

/// One thing that can be lost, and what is known about the copies that fit afterwards.
#[derive(Debug)]
struct Candidate {
    name: String,
    nodes: Nodes,
    /// Copies that go with its nodes.
    on: i64,
    /// No fewer fit than that.
    at_least: i64,
    /// No more fit than that.
    at_most: i64,
    /// What its allocations displace, if that is known.
    displaced: Option<Displaced>,
    /// Room only shrinks while the loss is followed.
    shrinks: bool,
    /// What it leaves, once it was followed to its end.
    left: Option<Left>,
}

/// The remaining capacity after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    copies: i64,
    unplaced: usize,
}

/// What following a loss gave.
enum Followed {
    /// Its end.
    Whole(Left),
    /// Bounds of the copies: it was cut off on the way.
    Part { at_least: i64, at_most: i64 },
}

/// How many fit after the worst of the losses, when what was lost has been placed again; `None` if there is nothing to
/// lose. Of losses that leave equally few copies any is named.
pub fn survival(
    state: &State,
    subject: &Subject,
    loss: Loss,
    limits: &Limits,
    now: i64,
) -> Result<Option<Survival>, ChangeError> {
    let (state, stop) = (state.snapshot(), &limits.stop);
    let base = Count::all(&state, subject, now, stop);
    let most = base.most_by_place(&state);
    let everywhere = if independent(subject) { None } else { Some(most.values().copied().max().unwrap_or(0)) };
    let units = Units { ask: Ask::of(subject), most, everywhere };
    let demands = Demands::new(&state, &units, false, now, stop);
    let (total, known) = (base.total(), known(subject, &base));
    let scene = Scene { state: &state, subject, base: &base, total, demands: &demands, known, stop, now };
    let candidates = match loss {
        Loss::Node => scene.nodes(),
        Loss::Datacenter => scene.datacenters(),
    };
    let mut search = Search::new(candidates);
    while !search.is_done(limits.accuracy) && !stop.now() {
        let at_once = LOSSES_AT_ONCE.max(search.next / PART_AT_ONCE);
        let end = search.next.saturating_add(at_once).min(search.candidates.len());
        let Some(batch) = search.candidates.get_mut(search.next..end) else { break };
        let followed = in_threads(batch, |c| scene.follow(c));
        for (candidate, followed) in batch.iter_mut().zip(followed) {
            candidate.learn(followed?);
        }
        search.next = end;
        if let Some(so_far) = search.survival(limits.accuracy) {
            (limits.progress)(&so_far);
        }
    }
    Ok(search.survival(limits.accuracy))
}

/// What is known about every count of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KnownOf {
    /// Less room never means more copies, and what one allocation takes is known.
    Both,
    /// What one allocation takes.
    Losses,
    /// Nothing.
    Nothing,
}

fn known(subject: &Subject, base: &Count) -> KnownOf {
    let Subject { job, group } = subject;
    let properties = constraints(job, group).filter(|c| c.operand == "distinct_property").count();
    let volumes = group.volumes.iter().flatten().any(|(_, v)| v.sticky || v.per_alloc);
    // What one of several such conditions forbids depends on the order of the copies.
    if base.cut || base.capped || properties > 1 || volumes {
        return KnownOf::Nothing;
    }
    // Cores differ in speed, and one device may be given for another: with less room copies may be put together better.
    let devices = group.tasks.iter().filter_map(|t| t.resources.as_ref()).map(|r| r.devices.len()).sum::<usize>();
    let cores = group.tasks.iter().filter_map(|t| t.resources.as_ref()).any(|r| r.cores > 0);
    // What is lost gives back the value of a property that it held, and its claims of volumes.
    let shared = properties > 0 || group.volumes.iter().flatten().any(|(_, v)| v.r#type == "csi");
    if cores || devices > 1 || shared { KnownOf::Losses } else { KnownOf::Both }
}

/// The losses, those that may leave the fewest copies first, and how far the search has come.
struct Search {
    candidates: Vec<Candidate>,
    /// The next one that is followed.
    next: usize,
}

impl Search {
    fn new(mut candidates: Vec<Candidate>) -> Search {
        candidates.sort_by(|a, b| (a.at_least, Reverse(a.on), &a.name).cmp(&(b.at_least, Reverse(b.on), &b.name)));
        Search { candidates, next: 0 }
    }

    /// The worst of the losses that were followed to their end.
    fn worst(&self) -> Option<(&Candidate, Left)> {
        let followed = self.candidates.iter().take(self.next).filter_map(|c| Some((c, c.left?)));
        followed.min_by_key(|(_, left)| (left.copies, Reverse(left.unplaced)))
    }

    /// No loss leaves fewer copies than that.
    fn at_least(&self) -> i64 {
        let followed = self.candidates.iter().take(self.next).map(|c| c.at_least);
        // They are sorted by this number.
        followed.chain(self.candidates.get(self.next).map(|c| c.at_least)).min().unwrap_or(0)
    }

    fn is_done(&self, accuracy: Accuracy) -> bool {
        let Some(next) = self.candidates.get(self.next) else { return true };
        self.worst().is_some_and(|(_, left)| accuracy.suffices(self.next, left.copies, next.at_least))
    }

    fn survival(&self, accuracy: Accuracy) -> Option<Survival> {
        let worst = self.worst();
        let smallest = self.candidates.iter().min_by_key(|c| (c.at_most, c.left.is_none()))?;
        let (named, copies, unplaced) = match worst {
            Some((c, left)) if left.copies <= smallest.at_most => (c, left.copies, Some(left.unplaced)),
            _ => (smallest, smallest.at_most, None),
        };
        let at_least = self.at_least().min(copies);
        let tried = self.candidates.iter().filter(|c| c.left.is_some()).count();
        let decided = self.candidates.iter().filter(|c| c.left.is_some() || c.at_least >= copies).count();
        let ended = match () {
            () if at_least == copies => Ended::Exact,
            () if accuracy == Accuracy::Near && self.is_done(accuracy) => Ended::Near,
            () => Ended::Stopped,
        };
        let (lost, of) = (named.name.clone(), self.candidates.len());
        Some(Survival { lost, copies, at_least, unplaced, tried, decided, of, ended })
    }
}

impl Candidate {
    /// Takes over what following it gave.
    fn learn(&mut self, followed: Followed) {
        match followed {
            Followed::Whole(left) => {
                debug_assert!((self.at_least..=self.at_most).contains(&left.copies), "{left:?} of {self:?}");
                (self.at_least, self.at_most, self.left) = (left.copies, left.copies, Some(left));
            }
            Followed::Part { at_least, at_most } => {
                self.at_least = self.at_least.max(at_least);
                self.at_most = self.at_most.min(at_most);
            }
        }
    }
}

/// The state in which losses are followed.
struct Scene<'a> {
    state: &'a Snapshot,
    subject: &'a Subject,
    base: &'a Count,
    /// Copies that fit now.
    total: i64,
    demands: &'a Demands,
    known: KnownOf,
    stop: &'a Stop,
    now: i64,
}

impl Scene<'_> {
    /// The nodes that can be lost.
    fn nodes(&self) -> Vec<Candidate> {
        let up = self.up();
        in_threads(&up, |e| {
            let name = e.node.name.clone();
            self.candidate(name, Nodes::One(e.node.id.clone()), self.base.on(e.slot), self.displaced(e, false))
        })
    }

    fn up(&self) -> Vec<&Arc<NodeEntry>> {
        self.state.nodes().filter(|e| e.node.status != NodeStatus::Down).collect()
    }

    /// The datacenters that can be lost. What nodes take together is no more than the sum.
    fn datacenters(&self) -> Vec<Candidate> {
        let up = self.up();
        let displaced = in_threads(&up, |e| self.displaced(e, true));
        let mut sums: BTreeMap<&str, (i64, Option<Displaced>)> = BTreeMap::new();
        for (e, displaced) in up.into_iter().zip(displaced) {
            let none = Displaced { copies: 0, frees: false, steady: true, unplaced: 0 };
            let (on, sum) = sums.entry(&e.node.datacenter).or_insert((0, Some(none)));
            *on = on.saturating_add(self.base.on(e.slot));
            *sum = sum.zip(displaced).map(|(a, b)| a.and(b));
        }
        let candidate = |(name, (on, sum)): (&str, _)| {
            self.candidate(name.to_string(), Nodes::Datacenter(name.to_string()), on, sum)
        };
        sums.into_iter().map(candidate).collect()
    }

    fn displaced(&self, node: &NodeEntry, others: bool) -> Option<Displaced> {
        if self.known == KnownOf::Nothing || self.stop.now() {
            return None;
        }
        self.demands.displaced(self.state, node, |slot| self.base.on(slot), others)
    }

    /// `on`: the copies that go with the nodes. `displaced`: what their allocations displace elsewhere.
    fn candidate(&self, name: String, nodes: Nodes, on: i64, displaced: Option<Displaced>) -> Candidate {
        let rest = self.total.saturating_sub(on).max(0);
        let shrinks = self.known == KnownOf::Both && displaced.is_some_and(|d| d.steady);
        if self.keeps_room() {
            let copies = rest.min(MOST_COPIES);
            return Candidate { name, nodes, on, at_least: copies, at_most: copies, displaced, shrinks, left: None };
        }
        let at_least = displaced.map_or(0, |d| rest.saturating_sub(d.copies).clamp(0, MOST_COPIES));
        // Where copies depend on each other, other nodes may take those of the lost ones.
        let most = if independent(self.subject) { rest } else { self.total };
        let at_most = if shrinks { most.min(MOST_COPIES) } else { MOST_COPIES };
        Candidate { name, nodes, on, at_least, at_most, displaced, shrinks, left: None }
    }

    /// Whether the nodes that are not lost have room for as many copies as now in any case: these depend on free resources
    /// alone, not on where allocations of their own job are.
    fn keeps_room(&self) -> bool {
        let job = &self.subject.job;
        let own = self.state.allocs_of_job_id(&job.id).next().is_some();
        self.demands.keeps_room && !self.base.cut && !own && independent(self.subject)
    }

    /// Follows a loss to its end, or until the search is to end.
    fn follow(&self, candidate: &Candidate) -> Result<Followed, ChangeError> {
        let mut all: Vec<Arc<NodeEntry>> = Vec::new();
        let known = |down: &BTreeSet<String>| {
            let lost: Vec<&Arc<NodeEntry>> = down.iter().filter_map(|id| self.state.node(id)).collect();
            all.extend(lost.iter().map(|e| Arc::clone(e)));
            self.demands.known(self.state, &lost, self.stop)
        };
        let lost = lose(self.state, &candidate.nodes, known, self.now)?;
        let count = |stop: &Stop| self.base.total_after(&lost.state, &lost.changed, self.subject, self.now, stop);
        let unknown = Followed::Part { at_least: 0, at_most: MOST_COPIES };
        let Some(cut) = &lost.cut else {
            let copies = if self.base.cut { None } else { count(self.stop) };
            return Ok(copies.map_or(unknown, |copies| {
                Followed::Whole(Left { copies: copies.min(MOST_COPIES), unplaced: lost.unplaced })
            }));
        };
        // Where amounts do not decide, counting may take long.
        let Some(displaced) = candidate.displaced.filter(|_| !lost.changed.is_empty()) else { return Ok(unknown) };
        if Ask::of(self.subject).is_none() {
            return Ok(unknown);
        }
        let nodes: Vec<&Arc<NodeEntry>> = all.iter().collect();
        let so_far = count(&Stop::never()).unwrap_or(0);
        let left = self.demands.left(self.state, &nodes, cut, displaced.frees);
        let at_least = so_far.saturating_sub(left).clamp(0, MOST_COPIES);
        Ok(Followed::Part { at_least, at_most: if candidate.shrinks { so_far.min(MOST_COPIES) } else { MOST_COPIES } })
    }
}
