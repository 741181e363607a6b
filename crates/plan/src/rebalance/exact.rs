//! The fewest moves that reach a goal, by iterative deepening with a lower bound: exact on small boards, within a limit
//! of work on others.

use std::collections::HashMap;

use super::board::Board;
use super::course::Hop;
use crate::stop::Stop;

/// Moves that are tried, at most.
const MOST_WORK: usize = 2_000_000;
/// What it counts to look at a position.
const POSITION: usize = 30;
/// Boards with more pairs of an allocation and a node are not searched.
const MOST_PAIRS: usize = 3_000;

/// More moves than any plan has: no moves lead there.
pub(super) const IMPOSSIBLE: usize = usize::MAX / 4;

/// A goal on the board.
pub(super) trait Objective {
    /// No fewer moves lead to the goal from here; 0: it is reached; [`IMPOSSIBLE`]: none do.
    fn left(&self, board: &Board) -> usize;
}

/// What the search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fewest {
    /// The moves, if some were found: no fewer reach the goal.
    pub hops: Option<Vec<Hop>>,
    /// No fewer moves reach the goal.
    pub at_least: usize,
    /// The goal cannot be reached with as many moves as are allowed.
    pub impossible: bool,
}

/// Whether a board is small enough.
pub(super) fn is_small(board: &Board) -> bool {
    board.items.len().saturating_mul(board.spots.len()) <= MOST_PAIRS
}

/// Looks for the fewest moves, at most `most`. The board is left as it was.
pub(super) fn fewest(board: &mut Board, goal: &dyn Objective, most: usize, stop: &Stop) -> Fewest {
    let first = goal.left(board);
    let classes = classes(board);
    let mut search =
        Search { goal, stop, work: 0, cut: false, next: None, known: HashMap::new(), hops: Vec::new(), classes };
    let mut budget = first;
    if first >= IMPOSSIBLE {
        return Fewest { hops: None, at_least: 0, impossible: true };
    }
    loop {
        if budget > most {
            return Fewest { hops: None, at_least: budget, impossible: true };
        }
        search.known.clear();
        search.next = None;
        if search.reach(board, budget, None) {
            return Fewest { hops: Some(search.hops), at_least: budget, impossible: false };
        }
        if search.cut {
            return Fewest { hops: None, at_least: budget, impossible: false };
        }
        match search.next {
            Some(next) => budget = next,
            None => return Fewest { hops: None, at_least: budget, impossible: true },
        }
    }
}

/// Allocations that can take each other's place, by a number that they share.
fn classes(board: &Board) -> Vec<u64> {
    let number = |item: usize| {
        let kind = board.kind(item);
        let ask = [kind.ask.cpu, kind.ask.memory, kind.ask.disk];
        let group = board.items[item].group;
        let usual = board.usage(item) == ask && !kind.odd && kind.ports_alike(&board.items[item].entry);
        u64::try_from(if usual { group } else { board.kinds.len() + item }).unwrap_or(u64::MAX)
    };
    (0..board.items.len()).map(number).collect()
}

struct Search<'a> {
    goal: &'a dyn Objective,
    stop: &'a Stop,
    work: usize,
    cut: bool,
    /// The smallest number of moves beyond the budget that may do.
    next: Option<usize>,
    /// Positions by hash, and with how many moves left nothing was found.
    known: HashMap<u64, usize>,
    hops: Vec<Hop>,
    classes: Vec<u64>,
}

impl Search<'_> {
    /// Whether the goal is reached with so many moves. `last`: the allocation that was moved last; moving it once more
    /// is no better than moving it there at once.
    fn reach(&mut self, board: &mut Board, budget: usize, last: Option<usize>) -> bool {
        self.work += POSITION;
        let left = self.goal.left(board);
        if left == 0 {
            return true;
        }
        if left >= IMPOSSIBLE {
            return false;
        }
        if left > budget {
            let needed = self.hops.len() + left;
            self.next = Some(self.next.map_or(needed, |n| n.min(needed)));
            return false;
        }
        let position = self.hash(board);
        if self.known.get(&position).is_some_and(|tried| *tried >= budget) {
            return false;
        }
        for item in 0..board.items.len() {
            if last == Some(item) {
                continue;
            }
            let from = board.at[item];
            for to in 0..board.spots.len() {
                self.work += 1;
                if self.work > MOST_WORK || self.work.is_multiple_of(1024) && self.stop.now() {
                    self.cut = true;
                    return false;
                }
                if to == from || !board.can(item, to) {
                    continue;
                }
                let moves = board.moves();
                board.go(item, to);
                self.hops.push(Hop { item, to });
                let reached = self.reach(board, budget - 1, Some(item));
                board.rewind(moves);
                if reached {
                    return true;
                }
                self.hops.pop();
                if self.cut {
                    return false;
                }
            }
        }
        self.known.insert(position, budget);
        false
    }

    fn hash(&self, board: &Board) -> u64 {
        let mix = |class: u64, spot: usize| {
            let mut x = class.wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (spot as u64).wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03);
            x ^= x >> 30;
            x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x ^= x >> 27;
            x = x.wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        self.classes.iter().zip(&board.at).fold(0, |sum: u64, (class, spot)| sum.wrapping_add(mix(*class, *spot)))
    }
}
