//! Makes room for a job: moves as few allocations as possible so that all of its own are placed, without preemption.

mod room;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::board::Board;
use super::course::{Course, Found, Hop};
use super::error::RebalanceError;
use super::exact::{IMPOSSIBLE, Objective, fewest, is_small};
use super::free::best_fit;
use crate::dry_run::dry_run;
use crate::settings;
use crate::stop::Stop;
use encamp_model::*;
use encamp_state::State;
pub(super) use room::Room;
use room::{Need, costs};

/// More moves that free room for one copy are not looked for together on one node.
const MOST_TOGETHER: usize = 3;

/// A state in which nothing is preempted.
fn without_preemption(state: &State) -> State {
    let mut state = state.clone();
    let mut config = settings::current(&state);
    config.preemption_config = PreemptionConfig {
        system_scheduler_enabled: false,
        sys_batch_scheduler_enabled: false,
        batch_scheduler_enabled: false,
        service_scheduler_enabled: false,
    };
    state.set_scheduler_config(Arc::new(config));
    state
}

/// How many allocations of the job are not placed, by group; in several orders of candidates the most.
pub(super) fn unplaced(state: &State, job: &Job, now: i64) -> Result<BTreeMap<String, i64>, RebalanceError> {
    let wrong = |e: &dyn ToString| RebalanceError::Unplanned { job: job.id.clone(), reason: e.to_string() };
    let mut state = without_preemption(state);
    let mut most: BTreeMap<String, i64> = BTreeMap::new();
    for _ in 0..3 {
        let run = dry_run(&state, job, now).map_err(|e| wrong(&e))?;
        for (group, metric) in run.failed_tg_allocs() {
            let n = most.entry(group.clone()).or_default();
            *n = (*n).max(metric.failures());
        }
        // Another index is another order.
        state.index = state.index.saturating_add(1);
    }
    Ok(most)
}

/// Looks for few moves that make room.
pub(super) fn search(board: &mut Board, room: &Room, most: usize, stop: &Stop) -> Found {
    let mut at_least = board.without_claims(|board| room.for_copies().left(board));
    if is_small(board) {
        let fewest = fewest(board, room, most, stop);
        // Whether several groups fit together is not decided exactly.
        let asked = room.needs.iter().all(|n| n.more == 0);
        if board.exact && asked && room.needs.len() < 2 {
            at_least = at_least.max(fewest.at_least);
        }
        if let Some(hops) = fewest.hops {
            let course = Course { hops, ..Course::default() };
            return Found { course, reached: true, at_least, ..Found::default() };
        }
        if fewest.impossible && board.exact && asked && most == usize::MAX {
            at_least = IMPOSSIBLE;
        }
    }
    if at_least >= IMPOSSIBLE {
        let missing = vec!["No node has enough capacity, whatever is moved away".to_string()];
        return Found { missing, at_least: 0, ..Found::default() };
    }
    let mut found = greedy(board, room, most, stop);
    if !found.reached {
        found.missing.push("No moves were found that make enough capacity for all allocations of the job".into());
    }
    Found { at_least, ..found }
}

/// Frees room for one copy after another, where the fewest allocations have to leave.
fn greedy(board: &mut Board, room: &Room, most: usize, stop: &Stop) -> Found {
    let mut found = Found::default();
    let moves = board.moves();
    let mut closed: BTreeSet<usize> = BTreeSet::new();
    let mut failed: BTreeSet<usize> = BTreeSet::new();
    let mut needs: Vec<&Need> = room.needs.iter().collect();
    needs.sort_by_key(|n| Reverse(n.ask));
    'needs: for need in needs {
        let mut left = need.copies.saturating_add(need.more);
        // What has room already, the most first, is closed.
        for (n, spot) in with_room(board, need, &closed) {
            if left <= 0 {
                break;
            }
            left -= n.min(left);
            closed.insert(spot);
        }
        let mut queue: BTreeSet<(usize, usize)> =
            (0..board.spots.len()).filter_map(|s| Some((*costs(need, board, s, 1).first()?, s))).collect();
        while left > 0 {
            let Some((_, spot)) = queue.pop_first() else { break 'needs };
            if stop.now() {
                found.cut = true;
                break 'needs;
            }
            if failed.contains(&spot) {
                continue;
            }
            let new = closed.insert(spot);
            let room_left = most.saturating_sub(found.course.hops.len());
            match make_room(board, need, spot, &closed, room_left) {
                Some(hops) => {
                    found.course.hops.extend(hops);
                    left -= 1;
                    queue.extend(costs(need, board, spot, 1).first().map(|cost| (*cost, spot)));
                }
                None => {
                    failed.insert(spot);
                    if new {
                        closed.remove(&spot);
                    }
                }
            }
        }
    }
    found.reached = room.left(board) == 0;
    board.rewind(moves);
    found.course.closed = closed.into_iter().collect();
    found.course.anywhere = true;
    // Moves that are left out cost the room of one copy, which another attempt looks for elsewhere.
    found.course.optional = true;
    found
}

/// Spots that have room for copies, and for how many, the most first.
fn with_room(board: &Board, need: &Need, closed: &BTreeSet<usize>) -> Vec<(i64, usize)> {
    let open = (0..board.spots.len()).filter(|s| !closed.contains(s));
    let mut found: Vec<(i64, usize)> =
        open.map(|s| (Room::copies_at(need, board, s), s)).filter(|(n, _)| *n > 0).collect();
    found.sort_unstable_by_key(|(n, s)| (Reverse(*n), *s));
    found
}

/// Moves allocations off a spot so that one more copy fits; nothing is moved if that is not possible.
fn make_room(board: &mut Board, need: &Need, spot: usize, closed: &BTreeSet<usize>, most: usize) -> Option<Vec<Hop>> {
    let copies = Room::copies_at(need, board, spot).saturating_add(1);
    if copies > need.suits[spot] || need.alone && copies > 1 {
        return None;
    }
    let lacks: Vec<i64> =
        (0..3).map(|d| need.ask[d].max(0).saturating_mul(copies) - board.spots[spot].free[d]).collect();
    let sets = leaving(board, spot, &lacks);
    let moves = board.moves();
    for set in sets.into_iter().filter(|s| s.len() <= most) {
        let mut hops = Vec::new();
        for item in &set {
            let Some(to) = best_fit(board, *item, closed) else { break };
            board.go(*item, to);
            hops.push(Hop { item: *item, to });
        }
        if hops.len() == set.len() && Room::copies_at(need, board, spot) >= copies {
            return Some(hops);
        }
        board.rewind(moves);
    }
    None
}

/// Sets of allocations whose leaving gives what a spot lacks: the smallest sets, of these the ones that take the least
/// elsewhere, first.
fn leaving(board: &Board, spot: usize, lacks: &[i64]) -> Vec<Vec<usize>> {
    let items: Vec<usize> = board.spots[spot].items.iter().copied().collect();
    let gives = |set: &[usize]| (0..3).all(|d| set.iter().map(|i| board.usage(*i)[d]).sum::<i64>() >= lacks[d]);
    let takes = |set: &Vec<usize>| set.iter().map(|i| board.usage(*i)[0] + board.usage(*i)[1]).sum::<i64>();
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..MOST_TOGETHER {
        let longer = |set: &Vec<usize>| {
            let last = set.last().copied();
            let next = items.iter().copied().filter(move |i| last.is_none_or(|l| *i > l));
            next.map(|i| set.iter().copied().chain([i]).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        sets = sets.iter().flat_map(longer).collect();
        let mut enough: Vec<Vec<usize>> = sets.iter().filter(|s| gives(s)).cloned().collect();
        if !enough.is_empty() {
            enough.sort_by_key(|s| (takes(s), s.clone()));
            enough.truncate(8);
            return enough;
        }
    }
    // More than a few: what gives most of what is lacking first.
    let mut left = items;
    let (mut set, mut lacking) = (Vec::new(), lacks.to_vec());
    while lacking.iter().any(|n| *n > 0) {
        let gain =
            |i: &usize| (0..3).map(|d| board.usage(*i)[d].min(lacking[d].max(0)) * 1000 / lacks[d].max(1)).sum::<i64>();
        let Some(best) = left.iter().copied().max_by_key(|i| (gain(i), Reverse(*i))) else { return Vec::new() };
        left.retain(|i| *i != best);
        (0..3).for_each(|d| lacking[d] -= board.usage(best)[d]);
        set.push(best);
    }
    vec![set]
}
