//! Lowers the highest utilisation of a node.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use super::board::Board;
use super::course::{Alike, Course, Found, Hop};
use super::exact::{IMPOSSIBLE, Objective, fewest, is_small};
use super::figures::utilisation;
use crate::stop::Stop;
use encamp_state::{NodeEntry, State};

/// Moves that are looked for one after the other, at most, unless the request says how many.
const MOST_IMPROVEMENTS: usize = 500;

/// A level of utilisation, in thousandths of CPU or memory.
struct Level {
    /// No node is used more.
    most: i64,
    /// The highest one before the first step.
    first: i64,
}

impl Alike for Level {
    fn alike(&self, board: &mut Board, hop: Hop, to: usize) -> bool {
        let moves = board.moves();
        board.go(hop.item, to);
        let level = level_of(board, to);
        board.rewind(moves);
        level <= self.most
    }

    fn measure(&self, state: &State) -> Option<i64> {
        Some(state.nodes().filter(|e| e.node.ready()).map(|e| level_of_node(e)).max().unwrap_or(0))
    }

    fn harmed(&self, before: &State, after: &State) -> BTreeSet<String> {
        let higher = |e: &NodeEntry| before.node(&e.node.id).is_none_or(|old| level_of_node(e) > level_of_node(old));
        let filled = |e: &NodeEntry| e.live_allocs().any(|a| before.alloc(&a.alloc.id).is_none());
        let harmed = after.nodes().filter(|e| level_of_node(e) >= self.first && (higher(e) || filled(e)));
        harmed.map(|e| e.node.id.clone()).collect()
    }
}

/// The use of a node in a state, measured as that of a spot.
fn level_of_node(e: &NodeEntry) -> i64 {
    let used = utilisation([e.info.cpu, e.info.memory], [e.usage.cpu, e.usage.memory]);
    used.cpu.max(used.memory)
}

/// The use of a node, in thousandths: the larger one of CPU and memory.
fn level_of(board: &Board, spot: usize) -> i64 {
    let spot = &board.spots[spot];
    let has = [spot.node.info.cpu, spot.node.info.memory];
    let used = utilisation(has, [has[0] - spot.free[0], has[1] - spot.free[1]]);
    used.cpu.max(used.memory)
}

/// Why an allocation of the node that is used most is not moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Its job can't run on any other node.
    NoOtherNode,
    /// Those that can run it have no capacity, or run others of its group.
    NoCapacity,
    /// Another node would be used as much.
    NotLower,
    /// Another one of the node has to leave as well, or too few moves are allowed.
    NotAlone,
}

impl Obstacle {
    /// The reason in words.
    pub(super) fn text(self) -> &'static str {
        match self {
            Obstacle::NoOtherNode => "no other node can run it",
            Obstacle::NoCapacity => "the other nodes that can run it have no capacity for it",
            Obstacle::NotLower => "the node that takes it would be used as much",
            Obstacle::NotAlone => "its move alone does not lower the highest utilisation",
        }
    }
}

/// Why a move of an allocation does not lower the highest utilisation.
pub(super) fn obstacle(board: &mut Board, item: usize) -> Obstacle {
    let (from, group) = (board.at[item], board.items[item].group);
    let level = level_of(board, from);
    let others = (0..board.spots.len()).filter(|s| *s != from && board.spots[*s].open && board.may_run(group, *s));
    let others: Vec<usize> = others.collect();
    if others.is_empty() {
        return Obstacle::NoOtherNode;
    }
    let able: Vec<usize> = others.into_iter().filter(|s| board.can(item, *s)).collect();
    if able.is_empty() {
        return Obstacle::NoCapacity;
    }
    let lower = |to: &usize| {
        let moves = board.moves();
        board.go(item, *to);
        let after = level_of(board, *to);
        board.rewind(moves);
        after < level
    };
    if able.iter().any(lower) { Obstacle::NotAlone } else { Obstacle::NotLower }
}

/// No fewer moves lead to the level, whatever waiting jobs take.
pub(super) fn at_least(board: &mut Board, level: i64) -> usize {
    board.without_claims(|board| Level { most: level, first: level }.left(board))
}

/// The highest use of a node, in thousandths, and the node.
pub(super) fn highest(board: &Board) -> Option<(i64, usize)> {
    let open = (0..board.spots.len()).filter(|s| board.spots[*s].open);
    open.map(|s| (level_of(board, s), s)).max_by_key(|(level, s)| (*level, Reverse(*s)))
}

impl Objective for Level {
    fn left(&self, board: &Board) -> usize {
        let mut left = 0;
        for spot in (0..board.spots.len()).filter(|s| board.spots[*s].open && level_of(board, *s) > self.most) {
            match leaving(board, spot, self.most) {
                Some(n) => left += n,
                None => return IMPOSSIBLE,
            }
        }
        left
    }
}

/// No fewer allocations have to leave a spot so that it is used no more than that; `None`: it is even when all have left.
fn leaving(board: &Board, spot: usize, level: i64) -> Option<usize> {
    let here = &board.spots[spot];
    let has = [here.node.info.cpu, here.node.info.memory];
    let mut most = 0;
    for (dimension, has) in has.into_iter().enumerate() {
        let mut amounts: Vec<i64> = here.items.iter().map(|i| board.usage(*i)[dimension].max(0)).collect();
        amounts.sort_unstable_by_key(|n| Reverse(*n));
        let mut used = has - here.free[dimension];
        let over = |used: i64| i128::from(used.max(0)) * 1000 / i128::from(has.max(1)) > i128::from(level);
        let mut n = 0;
        while over(used) {
            used -= amounts.get(n)?;
            n += 1;
        }
        most = most.max(n);
    }
    Some(most)
}

/// Looks for the lowest level, and the fewest moves to it.
pub(super) fn search(board: &mut Board, most: usize, stop: &Stop) -> Found {
    let Some((first, _)) = highest(board) else { return Found { reached: true, ..Found::default() } };
    let below = |most: i64| Level { most, first };
    // On a small board this takes no time, so that there is a result whenever the search is asked to end.
    let never = Stop::never();
    let mut best = greedy(board, most, if is_small(board) { &never } else { stop });
    let mut level = level_after(board, &best.course.hops);
    best.reached = !best.cut || level < first;
    if is_small(board) && !best.cut {
        // The fewest moves to the level that is known, then lower ones.
        let mut target = level;
        loop {
            let fewest = fewest(board, &below(target), most, stop);
            let Some(hops) = fewest.hops else {
                best.cut |= stop.now();
                break;
            };
            let reached = level_after(board, &hops);
            if reached < level || hops.len() < best.course.hops.len() {
                best.course = Course { hops, ..Course::default() };
                level = reached;
            }
            target = level - 1;
        }
    }
    if level >= first {
        best.course = Course::default();
    }
    best.alike = Some(Rc::new(below(level)));
    best.at_least = if level < first { at_least(board, level) } else { 0 };
    best.measure = Some(level);
    if is_small(board) && board.exact && !best.course.hops.is_empty() {
        best.at_least = best.at_least.max(fewest(board, &below(level), most, stop).at_least);
    }
    best
}

fn level_after(board: &mut Board, hops: &[Hop]) -> i64 {
    let moves = board.moves();
    hops.iter().for_each(|h| board.go(h.item, h.to));
    let level = highest(board).map_or(0, |(level, _)| level);
    board.rewind(moves);
    level
}

/// Moves one allocation after the other off the node that is used most.
fn greedy(board: &mut Board, most: usize, stop: &Stop) -> Found {
    let course = Course { optional: !is_small(board), ..Course::default() };
    let mut found = Found { course, ..Found::default() };
    let moves = board.moves();
    let mut lowest = (highest(board).map_or(0, |(level, _)| level), 0);
    while found.course.hops.len() < most.min(MOST_IMPROVEMENTS) {
        if stop.now() {
            found.cut = true;
            break;
        }
        let Some(hop) = improvement(board) else { break };
        board.go(hop.item, hop.to);
        found.course.hops.push(hop);
        let level = highest(board).map_or(0, |(level, _)| level);
        if level < lowest.0 {
            lowest = (level, found.course.hops.len());
        }
    }
    board.rewind(moves);
    // Moves after the last improvement are of no use.
    found.course.hops.truncate(lowest.1);
    found
}

/// The move off the most used node after which the two nodes are used least.
fn improvement(board: &mut Board) -> Option<Hop> {
    let (level, from) = highest(board)?;
    let items: Vec<usize> = board.spots[from].items.iter().copied().collect();
    let mut best: Option<(i64, Hop)> = None;
    for item in items {
        for to in 0..board.spots.len() {
            if !board.can(item, to) {
                continue;
            }
            let moves = board.moves();
            board.go(item, to);
            let after = level_of(board, from).max(level_of(board, to));
            board.rewind(moves);
            if after < level && best.as_ref().is_none_or(|(b, _)| after < *b) {
                best = Some((after, Hop { item, to }));
            }
        }
    }
    best.map(|(_, hop)| hop)
}
