//! Makes room for a job: moves as few allocations as possible so that all of its own are placed, without preemption.

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
use encamp_scheduler::candidates::covers;
use encamp_scheduler::explain::{Moment, Question, Verdict};
use encamp_scheduler::stack::{CompiledGroup, Judgement};
use encamp_state::State;

/// More moves that free room for one copy are not looked for together on one node.
const MOST_TOGETHER: usize = 3;

/// What a group of the job needs.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// Its name.
    group: String,
    /// Copies that are to be placed.
    copies: i64,
    /// Copies for which there is to be room besides, because jobs that wait for capacity take as much.
    more: i64,
    /// MHz, MB of memory, MB of disk.
    ask: [i64; 3],
    /// One copy on a node at most.
    alone: bool,
    /// The spots that can run it, and how many copies they take at most whatever leaves them.
    suits: Vec<i64>,
}

/// Room for the job.
#[derive(Debug, Clone)]
pub(super) struct Room {
    needs: Vec<Need>,
}

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

impl Room {
    /// What the job needs, and the board as it is once what the job stops has gone.
    pub(super) fn new(state: &State, board: &mut Board, job: &Job, now: i64) -> Result<Room, RebalanceError> {
        if !matches!(job.r#type, JobType::Service | JobType::Batch) {
            let job_type = job.r#type.to_string();
            return Err(RebalanceError::FitType { job: job.id.clone(), job_type });
        }
        let wrong = |e: &dyn ToString| RebalanceError::Unplanned { job: job.id.clone(), reason: e.to_string() };
        let run = dry_run(&without_preemption(state), job, now).map_err(|e| wrong(&e))?;
        let places: BTreeMap<String, usize> =
            board.spots.iter().enumerate().map(|(n, s)| (s.node.node.id.clone(), n)).collect();
        let mut placed: BTreeMap<String, i64> = BTreeMap::new();
        for a in run.plan.node_allocation.values().flatten().filter(|a| state.alloc(&a.id).is_none()) {
            *placed.entry(a.task_group.to_string()).or_default() += 1;
        }
        for (node, stopped) in &run.plan.node_update {
            let usages = stopped.iter().filter_map(|a| state.alloc(&a.id)).filter(|e| !e.phase.client_terminal());
            if let Some(spot) = places.get(node) {
                usages.for_each(|e| board.leaves(*spot, [e.usage.cpu, e.usage.memory, e.usage.disk]));
            }
        }
        let own = (job.namespace.clone(), job.id.clone());
        let mut needs = Vec::new();
        for group in &run.job.task_groups {
            let missing = run.failed_tg_allocs().get(&group.name).map_or(0, |m| m.failures());
            let copies = missing + placed.get(&group.name).copied().unwrap_or(0);
            if copies > 0 {
                needs.push(need(&run.state, board, (&run.job, group), copies, now));
            }
        }
        board.keep_job(&own);
        Ok(Room { needs })
    }

    /// Has the next search make room for more copies, by group.
    pub(super) fn add(&mut self, lacking: &BTreeMap<String, i64>) {
        for need in &mut self.needs {
            need.more = need.more.saturating_add(lacking.get(&need.group).copied().unwrap_or(0));
        }
    }

    /// The room for the copies of the job alone.
    fn for_copies(&self) -> Room {
        let needs = self.needs.iter().map(|n| Need { more: 0, ..n.clone() });
        Room { needs: needs.collect() }
    }

    fn copies_at(need: &Need, board: &Board, spot: usize) -> i64 {
        let free = board.spots[spot].free;
        let amounts = need.ask.iter().zip(free).filter(|(ask, _)| **ask > 0).map(|(ask, free)| free.max(0) / ask);
        amounts.min().unwrap_or(i64::MAX).min(board.spots[spot].slots.max(0)).min(need.suits[spot])
    }

    /// Copies of a group for which there is no room.
    fn deficit(need: &Need, board: &Board) -> i64 {
        let mut left = need.copies.saturating_add(need.more);
        for spot in 0..board.spots.len() {
            left -= Room::copies_at(need, board, spot).min(left);
            if left <= 0 {
                return 0;
            }
        }
        left
    }

    /// No fewer allocations have to leave the spots so that as many more copies fit.
    fn needed(need: &Need, board: &Board) -> usize {
        let deficit = usize::try_from(Room::deficit(need, board)).unwrap_or(0);
        if deficit == 0 {
            return 0;
        }
        // The fewest that have to leave for so many more copies, over the spots so far.
        let mut fewest: Vec<Option<usize>> = vec![None; deficit + 1];
        fewest[0] = Some(0);
        for spot in 0..board.spots.len() {
            let costs = costs(need, board, spot, deficit);
            if costs.is_empty() {
                continue;
            }
            for more in (1..=deficit).rev() {
                let with = costs.iter().enumerate().filter_map(|(k, cost)| {
                    let rest = more.saturating_sub(k + 1);
                    Some(fewest[rest]? + cost)
                });
                fewest[more] = with.chain(fewest[more]).min();
            }
        }
        fewest[deficit].unwrap_or(IMPOSSIBLE)
    }

    /// Whether all copies of all groups fit together.
    fn fits(&self, board: &Board) -> bool {
        let mut free: Vec<[i64; 3]> = board.spots.iter().map(|s| s.free).collect();
        let mut slots: Vec<i64> = board.spots.iter().map(|s| s.slots).collect();
        let mut needs: Vec<&Need> = self.needs.iter().collect();
        needs.sort_by_key(|n| Reverse(n.ask));
        needs.into_iter().all(|need| {
            let mut left = need.copies.saturating_add(need.more);
            for spot in 0..free.len() {
                let parts = need.ask.iter().zip(free[spot]).filter(|(a, _)| **a > 0).map(|(a, f)| f.max(0) / a);
                let n = parts.min().unwrap_or(i64::MAX).min(slots[spot].max(0)).min(need.suits[spot]).min(left);
                (0..3).for_each(|d| free[spot][d] -= need.ask[d].saturating_mul(n));
                slots[spot] = slots[spot].saturating_sub(n);
                left -= n;
            }
            left <= 0
        })
    }
}

impl Objective for Room {
    fn left(&self, board: &Board) -> usize {
        let most = self.needs.iter().map(|n| Room::needed(n, board)).max().unwrap_or(0);
        if most == 0 && !self.fits(board) { 1 } else { most }
    }
}

/// How many copies a spot can take at most whatever leaves it, of a group.
fn need(
    state: &encamp_state::Snapshot,
    board: &Board,
    (job, group): (&Arc<Job>, &TaskGroup),
    copies: i64,
    now: i64,
) -> Need {
    let compiled = CompiledGroup::new(job, group, false);
    let (eval, plan) = (Evaluation::default(), Plan::default());
    let question = Question { state, eval: &eval, job, plan: &plan, now };
    let distinct = job.constraints.iter().any(|c| c.operand == "distinct_hosts") || compiled.distinct_hosts;
    let ports = compiled.network.as_ref().is_some_and(|n| !n.reserved_ports.is_empty());
    let odd = !compiled.devices.is_empty() || compiled.tasks.iter().any(|t| t.cores > 0 || t.network.is_some());
    let mut suits = vec![0; board.spots.len()];
    let candidates: Vec<usize> =
        (0..suits.len()).filter(|s| board.spots[*s].open && covers(job, &board.spots[*s].node.node)).collect();
    let nodes = candidates.iter().filter_map(|s| state.node(&board.spots[*s].node.node.id)).cloned();
    let alone = distinct || ports;
    for (verdict, spot) in question.survey(group, Moment::BeforePlacements, nodes).into_iter().zip(candidates) {
        let most = if alone || odd { 1 } else { i64::MAX };
        suits[spot] = match verdict.verdict {
            Verdict::Judged(Judgement::Fits { .. }) => most,
            Verdict::Judged(Judgement::Exhausted { dimension, .. }) | Verdict::WithPreemption { dimension, .. } => {
                let amount = matches!(dimension.as_str(), "cpu" | "memory" | "disk" | "max allocation exceeded");
                if odd || !amount { 0 } else { most }
            }
            Verdict::Judged(_) | Verdict::NoCandidate(_) => 0,
        };
    }
    let usage = &compiled.usage;
    Need { group: group.name.clone(), copies, more: 0, ask: [usage.cpu, usage.memory, usage.disk], alone, suits }
}

/// No fewer allocations have to leave a spot for one more copy, two more, and so on, as far as that is possible and
/// wanted.
fn costs(need: &Need, board: &Board, spot: usize, most: usize) -> Vec<usize> {
    let here = &board.spots[spot];
    if need.suits[spot] == 0 || here.items.is_empty() {
        return Vec::new();
    }
    let now = Room::copies_at(need, board, spot);
    let mut sums: [Vec<i64>; 3] = Default::default();
    for (dimension, sums) in sums.iter_mut().enumerate() {
        let mut amounts: Vec<i64> = here.items.iter().map(|i| board.usage(*i)[dimension].max(0)).collect();
        amounts.sort_unstable_by_key(|n| Reverse(*n));
        *sums = amounts
            .into_iter()
            .scan(0i64, |sum, n| {
                *sum = sum.saturating_add(n);
                Some(*sum)
            })
            .collect();
    }
    let mut out = Vec::new();
    for k in 1..=i64::try_from(most).unwrap_or(i64::MAX) {
        let copies = now.saturating_add(k);
        if copies > need.suits[spot] {
            break;
        }
        let mut cost = usize::try_from(copies.saturating_sub(here.slots.max(0))).unwrap_or(0);
        let enough = (0..3).all(|d| {
            let lacks = need.ask[d].max(0).saturating_mul(copies).saturating_sub(here.free[d]);
            if lacks <= 0 || need.ask[d] <= 0 {
                return true;
            }
            let n = sums[d].iter().position(|sum| *sum >= lacks);
            cost = cost.max(n.map_or(0, |n| n + 1));
            n.is_some()
        });
        if !enough || cost > here.items.len() {
            break;
        }
        out.push(cost);
    }
    out
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
