//! Moves that are not made, and why.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::course::Hop;
use encamp_state::AllocEntry;

/// Names in a reason, at most.
const MOST_NAMES: usize = 5;

/// A move that is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refused {
    /// The move.
    pub hop: Hop,
    /// Why.
    pub reason: Reason,
}

/// Why a move is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// Too many nodes suit the allocation: wherever it is moved to, the node can't be chosen.
    NodeNotChosen,
    /// The scheduler does not make it, or it has effects on others.
    NotMade,
    /// What else is placed meanwhile stands against the goal.
    Harms,
}

impl Reason {
    /// The reason in words, for so many moves of a plan.
    pub(super) fn text(self, moves: usize, harmful: &[Arc<AllocEntry>]) -> String {
        match self {
            Reason::NodeNotChosen => {
                "The nodes of some replacements can't be chosen: too many others suit them".to_string()
            }
            Reason::NotMade => format!("The scheduler does not make {moves} of the moves that were found"),
            Reason::Harms => match some_names(harmful) {
                Some(names) => format!("Allocations that are placed meanwhile use a node as much: {names}"),
                None => "Jobs change by themselves meanwhile, and use a node as much".to_string(),
            },
        }
    }
}

/// The first names of allocations.
pub(super) fn some_names(allocs: &[Arc<AllocEntry>]) -> Option<String> {
    let names: BTreeSet<&str> = allocs.iter().map(|e| e.alloc.name.as_str()).collect();
    let mut text = names.iter().take(MOST_NAMES).copied().collect::<Vec<_>>().join(", ");
    if names.len() > MOST_NAMES {
        text.push_str(&format!(" and {} more", names.len() - MOST_NAMES));
    }
    (!names.is_empty()).then_some(text)
}
