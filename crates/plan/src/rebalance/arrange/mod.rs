//! Turns moves into steps that lead to them, whatever order servers look at nodes in.
//!
//! A replacement may be placed on any node that has capacity for it, as far as scores allow. Where the rest of the plan
//! holds with all of them, several allocations are stopped in one step; otherwise a step moves one allocation, and keeps
//! ineligible whatever other node could be chosen.

mod ends;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::board::Board;
use super::course::{Alike, Course, Hop};
use super::follow::{Order, follow_in};
use super::goal::Limits;
use super::pins::{Pinning, Pins};
use super::refused::{Reason, Refused};
use super::steps::{Action, AllocRef, Move, NodeRef, Step};
use crate::drain_plan::worst_loss;
use crate::stop::Stop;
use encamp_model::*;
use encamp_state::{AllocEntry, State};
use ends::{Ends, Failed};

/// Allocations that one step moves at most.
const MOST_AT_ONCE: usize = 20;

/// Steps, and the state that they lead to.
#[derive(Debug, Clone)]
pub(super) struct Arranged {
    pub steps: Vec<Step>,
    /// As followed in each of several orders.
    pub ends: Vec<State>,
    /// Moves that were left out because the scheduler refuses them.
    pub skipped: Vec<Refused>,
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
    /// The plan may end before a step that fails in another order of candidates.
    pub may_end: bool,
    /// Allocations of jobs that wait for capacity which were placed while steps were followed.
    pub placed: Vec<Arc<AllocEntry>>,
    /// Those of them that stand against the goal.
    pub harmful: Vec<Arc<AllocEntry>>,
}

/// Steps so far.
pub(super) struct Work {
    steps: Vec<Step>,
    pub state: State,
    /// The state before the last step, in the first order.
    before_last: Option<State>,
    /// Nodes that the plan has marked ineligible.
    pub marked: BTreeSet<usize>,
    /// Allocations that the worst loss leaves unplaced now, if steps are to leave no more.
    unplaced: Option<usize>,
    /// Refused moves, if they may be left out.
    skipped: Option<Vec<Refused>>,
    /// What the plan is to lower, before the first step and after each one.
    measures: Vec<i64>,
}

impl Work {
    /// Leaves a refused move out.
    ///
    /// # Errors
    /// No move may be left out.
    fn skip(&mut self, refused: Refused) -> Result<(), Refused> {
        let Some(skipped) = &mut self.skipped else { return Err(refused) };
        skipped.push(refused);
        Ok(())
    }
}

impl Arranger<'_> {
    /// Makes steps of moves and follows them in several orders. If the course is optional, refused moves are left out,
    /// and the plan ends before a step that another order refuses.
    ///
    /// # Errors
    /// A move is not possible.
    pub(super) fn arrange(&mut self, course: &Course) -> Result<Arranged, Refused> {
        let moves = self.board.moves();
        let made = self.steps(course);
        self.board.rewind(moves);
        let mut work = made?;
        loop {
            match self.ends(&work) {
                Ok(Ends { states, useful }) if useful >= work.steps.len() => {
                    let skipped = work.skipped.unwrap_or_default();
                    return Ok(Arranged { steps: work.steps, ends: states, skipped });
                }
                Ok(Ends { useful, .. }) => self.end_before(useful, course, &mut work),
                Err(Failed { number, name, reason }) => {
                    let refused = Refused { hop: self.blamed(course, name.as_deref()), reason };
                    if !self.may_end {
                        return Err(refused);
                    }
                    work.skip(refused)?;
                    self.end_before(number, course, &mut work);
                }
            }
        }
    }

    /// The move of an allocation.
    fn blamed(&self, course: &Course, name: Option<&AllocRef>) -> Hop {
        let of = |hop: &&Hop| {
            let a = &self.board.items[hop.item].entry.alloc;
            name.is_some_and(|n| (&*n.namespace, &*n.job_id, &*n.name) == (&*a.namespace, &*a.job_id, &*a.name))
        };
        course.hops.iter().find(of).or(course.hops.first()).copied().unwrap_or(Hop { item: 0, to: 0 })
    }

    /// Leaves a step and all after it out.
    fn end_before(&self, number: usize, course: &Course, work: &mut Work) {
        work.steps.truncate(number);
        work.before_last = None;
        work.measures.truncate(number.saturating_add(1));
        let mut marked: BTreeSet<&str> = BTreeSet::new();
        for action in work.steps.iter().flat_map(|s| &s.actions) {
            match action {
                Action::MarkIneligible { node } => _ = marked.insert(&node.id),
                Action::MarkEligible { node } => _ = marked.remove(node.id.as_str()),
                Action::StopAllocation { .. } | Action::AwaitHealthy => {}
            }
        }
        let spots = 0..self.board.spots.len();
        work.marked = spots.filter(|s| marked.contains(self.board.spots[*s].node.node.id.as_str())).collect();
        self.finish(course, work);
    }

    fn steps(&mut self, course: &Course) -> Result<Work, Refused> {
        let closed: BTreeSet<usize> = course.closed.iter().copied().collect();
        let unplaced = self.worst(self.before, Worst::Known);
        let skipped = course.optional.then(Vec::new);
        let (steps, marked) = (Vec::new(), BTreeSet::new());
        let state = self.before.clone();
        let measures = self.alike.measure(&state).into_iter().collect();
        let mut work = Work { steps, state, before_last: None, marked, unplaced, skipped, measures };
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
            next += 1;
            let marked = work.marked.clone();
            match self.one(hop, &closed, &mut work) {
                Ok(to) => self.board.go(hop.item, to),
                Err(refused) => {
                    work.skip(refused)?;
                    work.marked = marked;
                    // What is to be lowered stays where it is, whatever else is moved.
                    if !work.measures.is_empty() {
                        break;
                    }
                    if course.anywhere {
                        // The others of its node are of no use without it.
                        let from = self.board.at[hop.item];
                        let rest = hops.split_off(next);
                        hops.extend(rest.into_iter().filter(|h| self.board.at[h.item] != from));
                    }
                }
            }
        }
        self.finish(course, &mut work);
        Ok(work)
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
            self.stop_all(&turn, closed, work)?;
            left = later;
        }
        Ok(())
    }

    /// One step, or two that do half of it each if it has effects that it should not have.
    fn stop_all(&mut self, turn: &[Hop], closed: &BTreeSet<usize>, work: &mut Work) -> Result<(), Refused> {
        let Some(hop) = turn.first().copied() else { return Ok(()) };
        let marked = work.marked.clone();
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
        if self.take(Step { actions, moves: promised.collect(), at_least }, hop, work).is_ok() {
            return Ok(());
        }
        work.marked = marked;
        let (one, other) = turn.split_at(turn.len() / 2);
        if one.is_empty() {
            return work.skip(Refused { hop, reason: Reason::NodeNotChosen });
        }
        self.stop_all(one, closed, work)?;
        self.stop_all(other, closed, work)
    }

    /// A step that moves one allocation to one node, or to one that serves as well; the spot it is placed on.
    fn one(&mut self, hop: Hop, closed: &BTreeSet<usize>, work: &mut Work) -> Result<usize, Refused> {
        let from = self.board.at[hop.item];
        let refused = Refused { hop, reason: Reason::NotMade };
        let mut actions = self.marks(closed.iter().copied().chain([from]), work);
        let allocation = self.board.named(hop.item);
        let entry = super::follow::find(&work.state, &allocation).ok_or(refused)?;
        let (alike, now) = (self.alike, self.now);
        let mut pinning = Pinning { board: self.board, alike, state: &work.state, marked: &work.marked, now };
        let pins = pinning.pins(&entry, hop).ok_or(Refused { hop, reason: Reason::NodeNotChosen })?;
        let Pins { marks, only_there } = pins.ok_or(refused)?;
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
        to.ok_or(refused)
    }

    /// Marks spots that are not marked yet and take allocations.
    fn marks(&self, spots: impl Iterator<Item = usize>, work: &mut Work) -> Vec<Action> {
        let new = spots.filter(|s| self.board.spots[*s].open && work.marked.insert(*s));
        new.map(|s| Action::MarkIneligible { node: self.board.spots[s].named() }).collect()
    }

    /// Follows a step, notes where its replacements run, and goes on from there.
    fn take(&mut self, mut step: Step, hop: Hop, work: &mut Work) -> Result<(), Refused> {
        let not_made = Refused { hop, reason: Reason::NotMade };
        let followed = follow_in(&work.state, &step, Order::default(), self.now).map_err(|_| not_made)?;
        self.placed.extend(followed.placed.iter().cloned());
        if !followed.keeps(&step) || !self.survives(&step, work) {
            return Err(not_made);
        }
        self.harms(&work.state, &followed).map_err(|reason| Refused { hop, reason })?;
        step.moves = followed.moves;
        work.measures.extend(self.alike.measure(&followed.state));
        work.before_last = Some(std::mem::replace(&mut work.state, followed.state));
        work.steps.push(step);
        Ok(())
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
