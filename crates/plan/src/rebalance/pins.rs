//! Which nodes a step marks ineligible so that the scheduler places a replacement where it should.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::board::Board;
use super::course::{Alike, Hop};
use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::explain::{Moment, NodeVerdict, Question, Verdict};
use encamp_scheduler::stack::{CompiledGroup, Judgement};
use encamp_state::{AllocEntry, State};

/// Nodes that one step marks ineligible so that a replacement is placed on one node, at most.
const MOST_MARKS: usize = 50;
/// Scores that differ by less are the same.
const SAME: f64 = 1e-9;
/// What is less likely than that does not happen.
const UNLIKELY: f64 = 1e-9;
/// The number of nodes that searches look at for jobs with affinities or spreads, unless it is configured.
const USUAL_LIMIT: usize = 100;

/// What a step needs so that its replacement is placed where it should.
pub(super) struct Pins {
    /// Spots to mark.
    pub marks: Vec<usize>,
    /// The replacement can only be placed on the one node.
    pub only_there: bool,
}

/// The situation of a step.
pub(super) struct Pinning<'a> {
    /// As it is before the move; it is left so.
    pub board: &'a mut Board,
    /// Nodes that serve as well.
    pub alike: &'a dyn Alike,
    /// The cluster before the step.
    pub state: &'a State,
    /// Spots that are ineligible during the step already.
    pub marked: &'a BTreeSet<usize>,
    /// Unix nanoseconds.
    pub now: i64,
}

impl Pinning<'_> {
    /// What has to be ineligible so that the scheduler places a replacement on one node, or on one that serves as well;
    /// `None` if that is too much, `Some(None)` if the node can't take it.
    pub(super) fn pins(&mut self, entry: &Arc<AllocEntry>, hop: Hop) -> Option<Option<Pins>> {
        let kind = self.board.kind(hop.item);
        let (job, group) = (kind.group.job.clone(), kind.group.group.clone());
        let open = |s: &usize| self.board.spots[*s].open && !self.marked.contains(s);
        let spots: Vec<usize> = (0..self.board.spots.len()).filter(open).collect();
        let candidates = spots.iter().filter(|s| covers(&job, &self.board.spots[**s].node.node)).count();
        let feasible = self.feasible(entry, (&job, &group), &spots);
        let Some((own, _)) = feasible.iter().find(|(_, s)| *s == hop.to).copied() else { return Some(None) };
        // Nodes where it failed before count less; what that changes is not computed.
        let clear = entry.alloc.reschedule_tracker.is_none();
        let state = self.state;
        let limit = |marks: usize| seen(&job, &group, state, candidates.saturating_sub(marks));
        let one = rivals(&feasible, &|s| s == hop.to, if clear { own } else { f64::NEG_INFINITY }, limit);
        if one.len() <= MOST_MARKS {
            return Some(Some(Pins { marks: one, only_there: true }));
        }
        let good: BTreeSet<usize> =
            feasible.iter().map(|(_, s)| *s).filter(|s| self.alike.alike(self.board, hop, *s)).collect();
        let worst = feasible.iter().filter(|(_, s)| good.contains(s)).map(|(score, _)| *score).fold(own, f64::min);
        let worst = if clear { worst } else { f64::NEG_INFINITY };
        let several = rivals(&feasible, &|s| good.contains(&s), worst, limit);
        if several.len() <= MOST_MARKS {
            return Some(Some(Pins { marks: several, only_there: false }));
        }
        // Where better nodes are many, a search that looks at many nodes finds one.
        let better: Vec<usize> =
            feasible.iter().filter(|(score, s)| !good.contains(s) && *score >= worst - SAME).map(|(_, s)| *s).collect();
        let rest = feasible.len().saturating_sub(better.len()).max(1);
        let missed = (1.0 - good.len() as f64 / rest as f64).max(0.0).powf(limit(better.len()) as f64);
        (better.len() <= MOST_MARKS && missed < UNLIKELY).then_some(Some(Pins { marks: better, only_there: false }))
    }

    /// The spots that can take a replacement, with their scores.
    fn feasible(
        &self,
        entry: &Arc<AllocEntry>,
        (job, group): (&Arc<Job>, &TaskGroup),
        spots: &[usize],
    ) -> Vec<(f64, usize)> {
        let snapshot = self.state.snapshot();
        let mut plan = Plan::default();
        plan.node_update.insert(entry.alloc.node_id.to_string(), vec![entry.alloc.clone()]);
        let eval = Evaluation::default();
        let question = Question { state: &snapshot, eval: &eval, job, plan: &plan, now: self.now };
        let places: BTreeMap<&str, usize> =
            spots.iter().map(|s| (self.board.spots[*s].node.node.id.as_str(), *s)).collect();
        let nodes = spots.iter().filter_map(|s| snapshot.node(&self.board.spots[*s].node.node.id)).cloned();
        let fits = |v: NodeVerdict| match v.verdict {
            Verdict::Judged(Judgement::Fits { score, .. }) => Some((score, *places.get(v.node.node.id.as_str())?)),
            Verdict::Judged(_) | Verdict::NoCandidate(_) | Verdict::WithPreemption { .. } => None,
        };
        question.survey(group, Moment::BeforePlacements, nodes).into_iter().filter_map(fits).collect()
    }
}

/// The spots that have to be ineligible so that a search chooses a good one: what scores as well as the worst good one,
/// and so many of the others that the search looks at a good one in any order.
fn rivals(
    feasible: &[(f64, usize)],
    good: &dyn Fn(usize) -> bool,
    worst: f64,
    limit: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let others = || feasible.iter().filter(|(_, s)| !good(*s));
    let mut marks: Vec<usize> = others().filter(|(score, _)| *score >= worst - SAME).map(|(_, s)| *s).collect();
    let mut worse: Vec<usize> = others().filter(|(score, _)| *score < worst - SAME).map(|(_, s)| *s).collect();
    while worse.len() >= limit(marks.len()) {
        match worse.pop() {
            Some(spot) => marks.push(spot),
            None => break,
        }
    }
    marks
}

/// How many feasible nodes a search looks at, of so many candidates (`docs/spec/scheduling.md §4.1`).
fn seen(job: &Job, group: &TaskGroup, state: &State, candidates: usize) -> usize {
    let spreads = !job.spreads.is_empty() || !group.spreads.is_empty();
    if spreads || !CompiledGroup::new(job, group, false).affinities.is_empty() {
        let configured = state.scheduler_config.as_ref().map_or(0, |c| c.node_limit_for_feasibility_checks);
        let limit = usize::try_from(configured).ok().filter(|n| *n > 0).unwrap_or(USUAL_LIMIT);
        return limit.max(usize::try_from(group.count).unwrap_or(0));
    }
    match job.r#type {
        JobType::Batch => 2,
        _ => 2.max(usize::try_from(candidates.max(1).next_power_of_two().trailing_zeros()).unwrap_or(2)),
    }
}
