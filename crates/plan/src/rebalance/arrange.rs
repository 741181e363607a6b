//! Turns moves into steps that lead to them, whatever order servers look at nodes in.
//!
//! A replacement may be placed on any node that has capacity for it, as far as scores allow. Where the rest of the plan
//! holds with all of them, several allocations are stopped in one step; otherwise a step moves one allocation, and keeps
//! ineligible whatever other node could be chosen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::board::Board;
use super::follow::{Order, follow_in};
use super::goal::Limits;
use super::steps::{Action, AllocRef, Move, NodeRef, Step};
use crate::drain_plan::worst_loss;
use crate::stop::Stop;
use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::explain::{Moment, NodeVerdict, Question, Verdict};
use encamp_scheduler::stack::{CompiledGroup, Judgement};
use encamp_state::{AllocEntry, State};

/// Nodes that one step marks ineligible so that a replacement is placed on one node, at most.
pub(super) const MOST_MARKS: usize = 50;
/// Allocations that one step moves at most.
const MOST_AT_ONCE: usize = 20;
/// Orders in which the finished plan is followed.
const ORDERS: u16 = 3;
/// Scores that differ by less are the same.
const SAME: f64 = 1e-9;
/// What is less likely than that does not happen.
const UNLIKELY: f64 = 1e-9;
/// The number of nodes that searches look at for jobs with affinities or spreads, unless it is configured.
const USUAL_LIMIT: usize = 100;

/// One allocation, and where it is to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hop {
    /// The allocation.
    pub item: usize,
    /// The spot.
    pub to: usize,
}

/// Moves in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    /// The moves. Each is possible after those before it.
    pub hops: Vec<Hop>,
    /// Spots that nothing may be placed on until the last step.
    pub closed: Vec<usize>,
    /// Spots that are empty in the end and were to become so.
    pub emptied: Vec<usize>,
    /// All that matters is that allocations leave closed spots: they may go wherever there is room.
    pub anywhere: bool,
}

/// Steps, and the state that they lead to.
#[derive(Debug, Clone)]
pub(super) struct Arranged {
    pub steps: Vec<Step>,
    /// As followed in each of several orders.
    pub ends: Vec<State>,
}

/// A move that the scheduler does not make, or that it makes with effects on others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused(pub Hop);

/// Which nodes serve as well as the one that a move is to.
pub(super) trait Alike {
    /// Whether the rest of the plan leads to the goal if the allocation is placed on this spot instead. The board is as
    /// it is before the move, and is left so.
    fn alike(&self, board: &mut Board, hop: Hop, to: usize) -> bool;
}

/// Only the node itself.
pub(super) struct OnlyThere;

impl Alike for OnlyThere {
    fn alike(&self, _: &mut Board, hop: Hop, to: usize) -> bool {
        hop.to == to
    }
}

/// What a step needs so that its replacement is placed where it should.
struct Pins {
    /// Spots to mark.
    marks: Vec<usize>,
    /// The replacement can only be placed on the one node.
    only_there: bool,
}

/// What steps are made with.
pub(super) struct Arranger<'a> {
    /// The cluster before the first step.
    pub before: &'a State,
    /// The same in numbers, nothing moved. It is left as it was.
    pub board: &'a mut Board,
    /// Nodes that serve as well.
    pub alike: &'a dyn Alike,
    /// What may be moved.
    pub limits: &'a Limits,
    /// Ends searches for the worst loss.
    pub stop: &'a Stop,
    /// Unix nanoseconds.
    pub now: i64,
}

/// Steps so far.
struct Work {
    steps: Vec<Step>,
    state: State,
    /// Nodes that the plan has marked ineligible.
    marked: BTreeSet<usize>,
    /// Allocations that the worst loss leaves unplaced now, if steps are to leave no more.
    unplaced: Option<usize>,
}

impl Arranger<'_> {
    /// Makes steps of moves and follows them in several orders.
    ///
    /// # Errors
    /// A move is not possible.
    pub(super) fn arrange(&mut self, course: &Course) -> Result<Arranged, Refused> {
        let moves = self.board.moves();
        let arranged = self.steps(course);
        self.board.rewind(moves);
        let steps = arranged?;
        let mut ends = Vec::new();
        for order in 0..ORDERS {
            let mut state = self.before.clone();
            for (number, step) in steps.iter().enumerate() {
                let kept = follow_in(&state, step, Order(order), self.now).ok().filter(|f| f.keeps(step));
                let Some(followed) = kept else { return Err(Refused(self.blamed(course, &steps, number))) };
                state = followed.state;
            }
            ends.push(state);
        }
        Ok(Arranged { steps, ends })
    }

    /// The first move of a step that fails.
    fn blamed(&self, course: &Course, steps: &[Step], number: usize) -> Hop {
        let name = steps.get(number).and_then(|s| s.moves.first()).map(|m| &m.allocation);
        let of = |hop: &&Hop| {
            let a = &self.board.items[hop.item].entry.alloc;
            name.is_some_and(|n| (&n.namespace, &n.job_id, &n.name) == (&a.namespace, &a.job_id, &a.name))
        };
        course.hops.iter().find(of).or(course.hops.first()).copied().unwrap_or(Hop { item: 0, to: 0 })
    }

    fn steps(&mut self, course: &Course) -> Result<Vec<Step>, Refused> {
        let closed: BTreeSet<usize> = course.closed.iter().copied().collect();
        let unplaced = self.worst(self.before, Worst::Known);
        let mut work = Work { steps: Vec::new(), state: self.before.clone(), marked: BTreeSet::new(), unplaced };
        let mut hops = course.hops.clone();
        let single = {
            let mut seen = BTreeSet::new();
            hops.iter().all(|h| closed.contains(&self.board.at[h.item]) && seen.insert(h.item))
        };
        let anywhere = course.anywhere && single;
        if anywhere && !hops.is_empty() {
            self.scarce_first(&mut hops, &closed);
        }
        let mut next = 0;
        while next < hops.len() {
            if anywhere && self.holds_anywhere(&hops[next..], &closed) {
                self.at_once(&hops[next..], &closed, &mut work)?;
                break;
            }
            let hop = hops[next];
            let to = self.one(hop, &closed, &mut work)?;
            self.board.go(hop.item, to);
            next += 1;
        }
        self.finish(course, &mut work);
        Ok(work.steps)
    }

    /// Puts allocations first that few nodes have room for.
    fn scarce_first(&self, hops: &mut [Hop], closed: &BTreeSet<usize>) {
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        hops.sort_by_cached_key(|hop| {
            let group = self.board.items[hop.item].group;
            *known.entry(group).or_insert_with(|| self.spots_for(hop.item, closed))
        });
    }

    /// How many spots have room for an allocation.
    fn spots_for(&self, item: usize, closed: &BTreeSet<usize>) -> usize {
        (0..self.board.spots.len()).filter(|s| !closed.contains(s) && self.board.can(item, *s)).count()
    }

    /// Whether each of the allocations finds a node whichever nodes the others are placed on: every other one takes the
    /// room on one node at most.
    fn holds_anywhere(&self, rest: &[Hop], closed: &BTreeSet<usize>) -> bool {
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        rest.iter().all(|hop| {
            let kind = self.board.kind(hop.item);
            let group = self.board.items[hop.item].group;
            kind.takes_one_spot()
                && *known.entry(group).or_insert_with(|| self.spots_for(hop.item, closed)) >= rest.len()
        })
    }

    /// Steps of several allocations each.
    fn at_once(&mut self, rest: &[Hop], closed: &BTreeSet<usize>, work: &mut Work) -> Result<(), Refused> {
        let mut left: Vec<Hop> = rest.to_vec();
        while !left.is_empty() {
            let (mut turn, mut later) = (Vec::new(), Vec::new());
            let mut away: BTreeMap<usize, usize> = BTreeMap::new();
            for hop in left {
                let group = self.board.items[hop.item].group;
                let n = away.entry(group).or_default();
                if turn.len() < MOST_AT_ONCE && *n < self.board.kind(hop.item).group.at_once {
                    *n += 1;
                    turn.push(hop);
                } else {
                    later.push(hop);
                }
            }
            let mut actions = self.marks(closed.iter().copied(), work);
            let stopped: Vec<AllocRef> = turn.iter().map(|h| self.board.named(h.item)).collect();
            actions.extend(stopped.iter().map(|a| Action::StopAllocation { allocation: a.clone() }));
            actions.push(Action::AwaitHealthy);
            let promised = stopped.into_iter().map(|allocation| Move {
                allocation,
                job_type: JobType::Service,
                to: NodeRef::default(),
                only_there: false,
            });
            let at_least = turn.iter().map(|h| self.board.kind(h.item).group.healthy_after).max().unwrap_or(0);
            self.take(Step { actions, moves: promised.collect(), at_least }, turn[0], work)?;
            left = later;
        }
        Ok(())
    }

    /// A step that moves one allocation to one node, or to one that serves as well; the spot it is placed on.
    fn one(&mut self, hop: Hop, closed: &BTreeSet<usize>, work: &mut Work) -> Result<usize, Refused> {
        let from = self.board.at[hop.item];
        let mut actions = self.marks(closed.iter().copied().chain([from]), work);
        let allocation = self.board.named(hop.item);
        let entry = super::follow::find(&work.state, &allocation).ok_or(Refused(hop))?;
        let Pins { marks, only_there } = self.pins(&entry, hop, work).ok_or(Refused(hop))?;
        let marks: Vec<usize> = marks.into_iter().filter(|s| !work.marked.contains(s)).collect();
        actions.extend(self.marks(marks.iter().copied(), work));
        actions.push(Action::StopAllocation { allocation: allocation.clone() });
        actions.push(Action::AwaitHealthy);
        let release = marks.into_iter().chain([from]).filter(|s| !closed.contains(s));
        for spot in release.collect::<BTreeSet<_>>() {
            if work.marked.remove(&spot) {
                actions.push(Action::MarkEligible { node: self.board.spots[spot].named() });
            }
        }
        let kind = self.board.kind(hop.item);
        let promised = Move {
            allocation,
            job_type: kind.group.job.r#type.clone(),
            to: self.board.spots[hop.to].named(),
            only_there,
        };
        let at_least = kind.group.healthy_after;
        self.take(Step { actions, moves: vec![promised], at_least }, hop, work)?;
        let landed = work.steps.last().and_then(|s| s.moves.first()).map(|m| m.to.id.clone()).unwrap_or_default();
        let to = (0..self.board.spots.len()).find(|s| self.board.spots[*s].node.node.id == landed);
        to.filter(|to| only_there || self.alike.alike(self.board, hop, *to)).ok_or(Refused(hop))
    }

    /// Marks spots that are not marked yet and take allocations.
    fn marks(&self, spots: impl Iterator<Item = usize>, work: &mut Work) -> Vec<Action> {
        let new = spots.filter(|s| self.board.spots[*s].open && work.marked.insert(*s));
        new.map(|s| Action::MarkIneligible { node: self.board.spots[s].named() }).collect()
    }

    /// Follows a step, notes where its replacements run, and goes on from there.
    fn take(&self, mut step: Step, hop: Hop, work: &mut Work) -> Result<(), Refused> {
        let followed = follow_in(&work.state, &step, Order::default(), self.now).map_err(|_| Refused(hop))?;
        if !followed.keeps(&step) || !self.survives(&step, work) {
            return Err(Refused(hop));
        }
        step.moves = followed.moves;
        work.state = followed.state;
        work.steps.push(step);
        Ok(())
    }

    /// What has to be ineligible so that the scheduler places a replacement on one node, or on one that serves as well;
    /// `None` if that is too much, or the node can't take it.
    fn pins(&mut self, entry: &Arc<AllocEntry>, hop: Hop, work: &Work) -> Option<Pins> {
        let kind = self.board.kind(hop.item);
        let (job, group) = (kind.group.job.clone(), kind.group.group.clone());
        let open = |s: &usize| self.board.spots[*s].open && !work.marked.contains(s);
        let spots: Vec<usize> = (0..self.board.spots.len()).filter(open).collect();
        let candidates = spots.iter().filter(|s| covers(&job, &self.board.spots[**s].node.node)).count();
        let feasible = self.feasible(entry, (&job, &group), &spots, &work.state);
        let own = feasible.iter().find(|(_, s)| *s == hop.to)?.0;
        // Nodes where it failed before count less; what that changes is not computed.
        let clear = entry.alloc.reschedule_tracker.is_none();
        let limit = |marks: usize| seen(&job, &group, &work.state, candidates.saturating_sub(marks));
        let one = rivals(&feasible, &|s| s == hop.to, if clear { own } else { f64::NEG_INFINITY }, limit);
        if one.len() <= MOST_MARKS {
            return Some(Pins { marks: one, only_there: true });
        }
        let good: BTreeSet<usize> =
            feasible.iter().map(|(_, s)| *s).filter(|s| self.alike.alike(self.board, hop, *s)).collect();
        let worst = feasible.iter().filter(|(_, s)| good.contains(s)).map(|(score, _)| *score).fold(own, f64::min);
        let worst = if clear { worst } else { f64::NEG_INFINITY };
        let several = rivals(&feasible, &|s| good.contains(&s), worst, limit);
        if several.len() <= MOST_MARKS {
            return Some(Pins { marks: several, only_there: false });
        }
        // Where better nodes are many, a search that looks at many nodes finds one.
        let better: Vec<usize> =
            feasible.iter().filter(|(score, s)| !good.contains(s) && *score >= worst - SAME).map(|(_, s)| *s).collect();
        let rest = feasible.len().saturating_sub(better.len()).max(1);
        let missed = (1.0 - good.len() as f64 / rest as f64).max(0.0).powf(limit(better.len()) as f64);
        (better.len() <= MOST_MARKS && missed < UNLIKELY).then_some(Pins { marks: better, only_there: false })
    }

    /// The spots that can take a replacement, with their scores.
    fn feasible(
        &self,
        entry: &Arc<AllocEntry>,
        (job, group): (&Arc<Job>, &TaskGroup),
        spots: &[usize],
        state: &State,
    ) -> Vec<(f64, usize)> {
        let snapshot = state.snapshot();
        let mut plan = Plan::default();
        plan.node_update.insert(entry.alloc.node_id.clone(), vec![entry.alloc.clone()]);
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

    /// Allocations that the worst loss leaves unplaced, if steps are to leave no more than that.
    fn worst(&self, state: &State, how: Worst) -> Option<usize> {
        let worst = worst_loss(state, self.limits.survive?, self.now, self.stop).ok()??;
        Some(match how {
            Worst::Known => worst.unplaced,
            Worst::AtMost => worst.at_most,
        })
    }

    /// Whether the loss of a node while a step is done leaves no more unplaced than before.
    fn survives(&self, step: &Step, work: &Work) -> bool {
        let Some(before) = work.unplaced else { return true };
        let marks = |a: &&Action| matches!(a, Action::MarkIneligible { .. });
        let until = |a: &&Action| !matches!(a, Action::MarkEligible { .. });
        let first: Vec<Action> = step.actions.iter().filter(marks).cloned().collect();
        let most: Vec<Action> = step.actions.iter().filter(until).cloned().collect();
        [first, most].into_iter().all(|actions| {
            let part = Step { actions, moves: Vec::new(), at_least: 0 };
            let during = follow_in(&work.state, &part, Order::default(), self.now);
            during.is_ok_and(|f| self.worst(&f.state, Worst::AtMost).is_none_or(|n| n <= before))
        })
    }

    /// Marks eligible what is still marked, in the last step.
    fn finish(&self, course: &Course, work: &mut Work) {
        let stays = |s: &usize| self.limits.leave_ineligible && course.emptied.contains(s);
        let back: Vec<usize> = work.marked.iter().copied().filter(|s| !stays(s)).collect();
        if self.limits.leave_ineligible {
            let actions = self.marks(course.emptied.iter().copied(), work);
            match work.steps.last_mut() {
                Some(last) => last.actions.extend(actions),
                None if actions.is_empty() => {}
                None => work.steps.push(Step { actions, moves: Vec::new(), at_least: 0 }),
            }
        }
        if let Some(last) = work.steps.last_mut() {
            let eligible = back.into_iter().map(|s| Action::MarkEligible { node: self.board.spots[s].named() });
            last.actions.extend(eligible);
        }
    }
}

/// Whether a number is what is known, or what is certain.
#[derive(Debug, Clone, Copy)]
enum Worst {
    Known,
    AtMost,
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
