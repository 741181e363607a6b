//! What a job needs of the nodes, and how many allocations have to leave for it at least.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::without_preemption;
use crate::dry_run::dry_run;
use crate::rebalance::board::Board;
use crate::rebalance::error::RebalanceError;
use crate::rebalance::exact::{IMPOSSIBLE, Objective};
use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::explain::{Moment, Question, Verdict};
use encamp_scheduler::stack::{CompiledGroup, Judgement};
use encamp_state::State;
/// What a group of the job needs.
#[derive(Debug, Clone)]
pub(super) struct Need {
    /// Its name.
    group: String,
    /// Copies that are to be placed.
    pub copies: i64,
    /// Copies for which there is to be room besides, because jobs that wait for capacity take as much.
    pub more: i64,
    /// MHz, MB of memory, MB of disk.
    pub ask: [i64; 3],
    /// One copy on a node at most.
    pub alone: bool,
    /// The spots that can run it, and how many copies they take at most whatever leaves them.
    pub suits: Vec<i64>,
}

/// Room for the job.
#[derive(Debug, Clone)]
pub(in crate::rebalance) struct Room {
    pub(super) needs: Vec<Need>,
}

impl Room {
    /// What the job needs, and the board as it is once what the job stops has gone.
    pub(in crate::rebalance) fn new(
        state: &State,
        board: &mut Board,
        job: &Job,
        now: i64,
    ) -> Result<Room, RebalanceError> {
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
    pub(in crate::rebalance) fn add(&mut self, lacking: &BTreeMap<String, i64>) {
        for need in &mut self.needs {
            need.more = need.more.saturating_add(lacking.get(&need.group).copied().unwrap_or(0));
        }
    }

    /// The room for the copies of the job alone.
    pub(super) fn for_copies(&self) -> Room {
        let needs = self.needs.iter().map(|n| Need { more: 0, ..n.clone() });
        Room { needs: needs.collect() }
    }

    pub(super) fn copies_at(need: &Need, board: &Board, spot: usize) -> i64 {
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
pub(super) fn costs(need: &Need, board: &Board, spot: usize, most: usize) -> Vec<usize> {
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
