//! Empties nodes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::board::Board;
use super::course::{Course, Found, Hop};
use super::error::RebalanceError;
use super::exact::{Objective, fewest, is_small};
use super::goal::Nodes;
use crate::stop::Stop;
use encamp_model::NodeStatus;
use encamp_state::State;

/// The nodes that may become empty, the best first, and how many are wanted.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    /// By spot.
    pub spots: Vec<usize>,
    /// So many of them.
    pub count: usize,
    /// Exactly the first ones that can be freed, whatever they need.
    pub in_order: bool,
    /// Nodes that were named but hold what cannot be moved.
    pub held: Vec<usize>,
}

/// Finds the nodes that may become empty.
pub(super) fn wanted(state: &State, board: &Board, covers: &[bool], nodes: &Nodes) -> Result<Wanted, RebalanceError> {
    match nodes {
        Nodes::Named(ids) => named(state, board, ids),
        Nodes::Count { count, cost } => {
            let candidates = (0..board.spots.len()).filter(|s| board.spots[*s].open && covers[*s]);
            let mut spots: Vec<usize> = candidates.filter(|s| board.spots[*s].can_be_freed()).collect();
            let items = |s: &usize| board.spots[*s].items.len();
            let Some(key) = cost else {
                spots.sort_by_key(|s| (items(s), board.spots[*s].node.node.name.clone()));
                return Ok(Wanted { spots, count: *count, in_order: false, held: Vec::new() });
            };
            let mut costs: BTreeMap<usize, f64> = BTreeMap::new();
            for s in &spots {
                let Some(value) = board.spots[*s].node.node.meta.get(key) else { continue };
                let number = value.trim().parse::<f64>().ok().filter(|n| n.is_finite());
                let wrong =
                    || RebalanceError::Cost { node: board.spots[*s].named(), key: key.clone(), value: value.clone() };
                costs.insert(*s, number.ok_or_else(wrong)?);
            }
            if costs.is_empty() && !spots.is_empty() {
                return Err(RebalanceError::NoCost(key.clone()));
            }
            let of = |s: &usize| costs.get(s).copied().unwrap_or(f64::NEG_INFINITY);
            spots.sort_by(|a, b| of(b).total_cmp(&of(a)).then_with(|| items(a).cmp(&items(b))));
            Ok(Wanted { spots, count: *count, in_order: true, held: Vec::new() })
        }
    }
}

fn named(state: &State, board: &Board, ids: &[String]) -> Result<Wanted, RebalanceError> {
    let places: BTreeMap<&str, usize> =
        board.spots.iter().enumerate().map(|(n, s)| (s.node.node.id.as_str(), n)).collect();
    let (mut spots, mut held) = (Vec::new(), Vec::new());
    for id in ids.iter().collect::<BTreeSet<_>>() {
        let found = state.node(id).and_then(|_| places.get(id.as_str()));
        let Some(spot) = found.copied() else { return Err(RebalanceError::NoNode(id.clone())) };
        if board.spots[spot].node.node.status != NodeStatus::Ready {
            return Err(RebalanceError::NodeDown(board.spots[spot].named()));
        }
        if !board.spots[spot].can_be_freed() {
            held.push(spot);
        }
        spots.push(spot);
    }
    let count = spots.len();
    Ok(Wanted { spots, count, in_order: true, held })
}

impl Objective for Wanted {
    /// The allocations on the nodes that have the fewest.
    fn left(&self, board: &Board) -> usize {
        let mut needs: Vec<usize> = self.spots.iter().map(|s| board.spots[*s].items.len()).collect();
        if !self.in_order {
            needs.sort_unstable();
        }
        needs.into_iter().take(self.count).sum()
    }
}

/// Looks for the fewest moves that empty so many nodes; of more than a few nodes, for few moves. If so many can't be
/// emptied, for moves that empty as many as possible.
pub(super) fn search(board: &mut Board, wanted: &Wanted, most: usize, stop: &Stop) -> Found {
    let mut at_least = wanted.left(board);
    if !is_small(board) {
        let found = greedy(board, wanted, most, stop);
        return Found { at_least, ..found };
    }
    // On a small board this takes no time, so that there is a result whenever the search is asked to end.
    let mut found = greedy(board, wanted, most, &Stop::never());
    if !wanted.held.is_empty() {
        return Found { at_least, ..found };
    }
    let possible = most_emptied(board, wanted).min(wanted.spots.len());
    if found.reached {
        let most = most.min(found.course.hops.len());
        let fewest = fewest(board, wanted, most, stop);
        if board.exact {
            at_least = at_least.max(fewest.at_least.min(most));
        }
        found.cut = stop.now() && fewest.hops.is_none();
        if let Some(hops) = fewest.hops {
            found.course = course(board, wanted, hops);
        }
        return Found { at_least, ..found };
    }
    // One node after the other.
    for count in found.course.emptied.len() + 1..=possible.min(wanted.count) {
        let part = Wanted { count, ..wanted.clone() };
        let fewest = fewest(board, &part, most, stop);
        if count == wanted.count && board.exact {
            at_least = at_least.max(fewest.at_least);
        }
        let Some(hops) = fewest.hops else {
            found.cut = stop.now();
            break;
        };
        found.course = course(board, &part, hops);
        found.reached = count == wanted.count;
    }
    Found { at_least, ..found }
}

/// No more nodes can be empty at a time: of each of these groups, which no node runs together, one node keeps some.
fn most_emptied(board: &Board, wanted: &Wanted) -> usize {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for group in 0..board.kinds.len() {
        let movable = board.items.iter().any(|i| i.group == group);
        let may = |s: &usize| board.count_at(group, *s) > 0 || board.spots[*s].open && board.may_run(group, *s);
        if movable {
            runs.push((0..board.spots.len()).filter(may).collect());
        }
    }
    runs.sort_by_key(Vec::len);
    let mut used: BTreeSet<usize> = BTreeSet::new();
    let mut kept = 0;
    for spots in runs {
        if spots.iter().all(|s| wanted.spots.contains(s) && !used.contains(s)) {
            used.extend(spots);
            kept += 1;
        }
    }
    wanted.spots.len().saturating_sub(kept)
}

/// The nodes that the moves leave empty are closed from the beginning, unless something is moved there in between.
fn course(board: &mut Board, wanted: &Wanted, hops: Vec<Hop>) -> Course {
    let moves = board.moves();
    let sources: BTreeSet<usize> = hops.iter().map(|h| board.at[h.item]).collect();
    hops.iter().for_each(|h| board.go(h.item, h.to));
    let mut spots = wanted.spots.clone();
    if !wanted.in_order {
        spots.sort_by_key(|s| (board.spots[*s].items.len(), !sources.contains(s)));
    }
    board.rewind(moves);
    let emptied: Vec<usize> = spots.into_iter().take(wanted.count).collect();
    let closed = emptied.iter().copied().filter(|s| hops.iter().all(|h| h.to != *s)).collect();
    Course { hops, closed, emptied, anywhere: true, optional: false }
}

/// Empties node after node, each with the room that is left on nodes that stay.
fn greedy(board: &mut Board, wanted: &Wanted, most: usize, stop: &Stop) -> Found {
    let mut found = Found { course: Course { anywhere: true, ..Course::default() }, ..Found::default() };
    let moves = board.moves();
    // Nothing is placed on nodes that may still be chosen, as long as there are others.
    let mut closed: BTreeSet<usize> = wanted.spots.iter().take(wanted.count).copied().collect();
    let mut freed: Vec<usize> = Vec::new();
    for spot in wanted.spots.iter().copied() {
        if freed.len() >= wanted.count {
            break;
        }
        if stop.now() {
            found.cut = true;
            break;
        }
        closed.insert(spot);
        let held = wanted.held.contains(&spot);
        match empty(board, spot, &closed, most.saturating_sub(found.course.hops.len())) {
            Ok(hops) => {
                found.course.hops.extend(hops);
                if !held {
                    freed.push(spot);
                }
            }
            Err(()) => {
                closed.remove(&spot);
            }
        }
    }
    found.course.closed = closed.into_iter().filter(|s| freed.contains(s) || wanted.held.contains(s)).collect();
    found.course.emptied.clone_from(&freed);
    found.reached = freed.len() >= wanted.count;
    board.rewind(moves);
    found
}

/// Moves all of a spot elsewhere, the largest first; nothing is moved if that is not possible.
fn empty(board: &mut Board, spot: usize, closed: &BTreeSet<usize>, most: usize) -> Result<Vec<Hop>, ()> {
    let mut items: Vec<usize> = board.spots[spot].items.iter().copied().collect();
    if items.len() > most {
        return Err(());
    }
    items.sort_by_key(|i| (Reverse(board.usage(*i)), *i));
    let moves = board.moves();
    let mut done: Vec<Hop> = Vec::new();
    for item in items {
        match best_fit(board, item, closed) {
            Some(to) => {
                board.go(item, to);
                done.push(Hop { item, to });
            }
            None => {
                board.rewind(moves);
                return Err(());
            }
        }
    }
    Ok(done)
}

/// The spot with the least room of those that can take an allocation.
pub(super) fn best_fit(board: &Board, item: usize, closed: &BTreeSet<usize>) -> Option<usize> {
    let candidates = (0..board.spots.len()).filter(|s| !closed.contains(s) && board.can(item, *s));
    let empty = |s: &usize| board.spots[*s].items.is_empty();
    candidates.min_by_key(|s| {
        let [cpu, memory, _] = board.spots[*s].free;
        (empty(s), cpu.saturating_add(memory), *s)
    })
}
