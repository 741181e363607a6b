//! Moves that a search has found.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::board::Board;
use encamp_state::State;

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
    /// Moves that can't be made may be left out.
    pub optional: bool,
}

/// Which nodes serve as well as the one that a move is to, and what a plan has led to.
pub(super) trait Alike {
    /// Whether the rest of the plan leads to the goal if the allocation is placed on this spot instead. The board is as
    /// it is before the move, and is left so.
    fn alike(&self, board: &mut Board, hop: Hop, to: usize) -> bool;

    /// What the plan is to lower, if it is a number that a state tells.
    fn measure(&self, _: &State) -> Option<i64> {
        None
    }

    /// The nodes, by ID, to which a step has done what a plan may not do.
    fn harmed(&self, _before: &State, _after: &State) -> BTreeSet<String> {
        BTreeSet::new()
    }
}

/// Only the node itself.
pub(super) struct OnlyThere;

impl Alike for OnlyThere {
    fn alike(&self, _: &mut Board, hop: Hop, to: usize) -> bool {
        hop.to == to
    }
}

/// Moves that lead to a goal, or towards it.
#[derive(Clone, Default)]
pub(super) struct Found {
    /// The moves.
    pub course: Course,
    /// Which nodes serve as well as those of the moves, if not these alone.
    pub alike: Option<Rc<dyn Alike>>,
    /// They reach the goal.
    pub reached: bool,
    /// No plan with fewer moves does.
    pub at_least: usize,
    /// Why the goal is not reached.
    pub missing: Vec<String>,
    /// The search ended early.
    pub cut: bool,
    /// What the plan is to lower is so low in the end.
    pub measure: Option<i64>,
}
