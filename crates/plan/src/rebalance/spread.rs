//! Moves allocations to where spread, affinity and anti-affinity want them.
//!
//! A group with spreads is off by the number of its allocations that stand on the wrong value; one with affinities by the
//! number on nodes that match less than the best ones; any other by the number of allocations that share a node with more
//! of their own than necessary.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::board::Board;
use super::course::{Alike, Course, Found, Hop};
use super::exact::{Objective, fewest, is_small};
use crate::stop::Stop;
use encamp_model::Spread;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::constraint::Target;
use encamp_scheduler::stack::CompiledGroup;

/// What one group wants.
#[derive(Debug)]
enum Aim {
    /// At most so many allocations on each value; `of` gives the value of each spot.
    Targets { of: Vec<usize>, most: Vec<i64> },
    /// As many on each value.
    Even { of: Vec<usize>, values: usize },
    /// At most so many on each spot.
    Apart { most: i64 },
    /// All on these spots.
    Best { spots: Vec<bool> },
}

/// What all groups want.
#[derive(Debug)]
pub(super) struct Aims {
    /// By group, with what may be more than one aim.
    groups: Vec<(usize, Vec<Aim>)>,
    /// So many allocations may be off.
    allowed: usize,
}

impl Aims {
    pub(super) fn new(board: &Board) -> Aims {
        let groups = (0..board.kinds.len()).map(|g| (g, aims(board, g))).filter(|(_, aims)| !aims.is_empty());
        Aims { groups: groups.collect(), allowed: 0 }
    }

    /// How many allocations are off.
    pub(super) fn off(&self, board: &Board) -> usize {
        self.groups.iter().map(|(group, aims)| off(board, *group, aims)).sum()
    }
}

fn off(board: &Board, group: usize, aims: &[Aim]) -> usize {
    off_by(&board.counts(group).collect::<Vec<_>>(), aims)
}

/// How many allocations of a group are off, by its number on each spot.
fn off_by(counts: &[(usize, i64)], aims: &[Aim]) -> usize {
    let most = aims.iter().map(|aim| aim.excess(counts)).max().unwrap_or(0);
    usize::try_from(most).unwrap_or(0)
}

impl Objective for Aims {
    fn left(&self, board: &Board) -> usize {
        // A move concerns one group, and takes one allocation off one value.
        self.off(board).saturating_sub(self.allowed)
    }
}

impl Alike for Aims {
    fn alike(&self, board: &mut Board, hop: Hop, to: usize) -> bool {
        let group = board.items[hop.item].group;
        let Some((_, aims)) = self.groups.iter().find(|(g, _)| *g == group) else { return hop.to == to };
        let moves = board.moves();
        let mut after = |spot: usize| {
            board.go(hop.item, spot);
            let off = off(board, group, aims);
            board.rewind(moves);
            off
        };
        let wanted = after(hop.to);
        after(to) <= wanted
    }
}

impl Aim {
    /// A number that is the same for spots between which it makes no difference where an allocation is placed.
    fn class(&self, spot: usize, count: i64) -> i64 {
        match self {
            Aim::Targets { of, .. } | Aim::Even { of, .. } => i64::try_from(of[spot]).unwrap_or(i64::MAX),
            Aim::Apart { most } => i64::from(count >= *most),
            Aim::Best { spots } => i64::from(spots[spot]),
        }
    }

    fn excess(&self, counts: &[(usize, i64)]) -> i64 {
        let by_value = |of: &[usize], values: usize| {
            let mut sums = vec![0i64; values];
            counts.iter().for_each(|(spot, n)| sums[of[*spot]] += n);
            sums
        };
        match self {
            Aim::Targets { of, most } => {
                by_value(of, most.len()).iter().zip(most).map(|(n, most)| (n - most).max(0)).sum()
            }
            Aim::Even { of, values } => {
                // The last value stands for spots without the property, where none should be.
                let mut sums = by_value(of, values + 1);
                let without = sums.pop().unwrap_or(0);
                let (total, number) = (sums.iter().sum::<i64>() + without, i64::try_from(*values).unwrap_or(1).max(1));
                let (low, high) = (total / number, total % number);
                let over: i64 = sums.iter().map(|n| (n - low).max(0)).sum();
                let above = i64::try_from(sums.iter().filter(|n| **n > low).count()).unwrap_or(0);
                over - above.min(high) + without
            }
            Aim::Apart { most } => counts.iter().map(|(_, n)| (n - most).max(0)).sum(),
            Aim::Best { spots } => counts.iter().filter(|(spot, _)| !spots[*spot]).map(|(_, n)| *n).sum(),
        }
    }
}

fn aims(board: &Board, group: usize) -> Vec<Aim> {
    let kind = &board.kinds[group];
    let (job, tasks) = (&kind.group.job, &kind.group.group);
    let runs: Vec<usize> = (0..board.spots.len())
        .filter(|s| board.spots[*s].open && covers(job, &board.spots[*s].node.node) && board.may_run(group, *s))
        .collect();
    if runs.is_empty() {
        return Vec::new();
    }
    let spreads = job.spreads.iter().chain(&tasks.spreads);
    let aims: Vec<Aim> = spreads.map(|s| spread(board, s, tasks.count, &runs)).collect();
    if !aims.is_empty() {
        return aims;
    }
    let compiled = CompiledGroup::new(job, tasks, false);
    if compiled.affinities.is_empty() {
        let total: i64 = board.counts(group).map(|(_, n)| n).sum();
        let spots = i64::try_from(runs.len()).unwrap_or(1).max(1);
        return vec![Aim::Apart { most: (total + spots - 1) / spots }];
    }
    let score = |spot: usize| {
        let node = &board.spots[spot].node.node;
        compiled.affinities.iter().filter(|a| a.check.matches(node)).map(|a| a.weight).sum::<f64>()
    };
    let best = runs.iter().map(|s| score(*s)).fold(f64::NEG_INFINITY, f64::max);
    vec![Aim::Best { spots: (0..board.spots.len()).map(|s| score(s) >= best - 1e-9).collect() }]
}

fn spread(board: &Board, spread: &Spread, count: i64, runs: &[usize]) -> Aim {
    let target = Target::parse(&spread.attribute);
    let value = |spot: usize| target.resolve(&board.spots[spot].node.node);
    if spread.spread_target.is_empty() {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        for v in runs.iter().filter_map(|s| value(*s)) {
            let next = numbers.len();
            numbers.entry(v).or_insert(next);
        }
        let values = numbers.len();
        let of = (0..board.spots.len()).map(|s| value(s).and_then(|v| numbers.get(v)).copied().unwrap_or(values));
        return Aim::Even { of: of.collect(), values };
    }
    let wanted = |percent: u64| {
        let percent = i64::try_from(percent).unwrap_or(100).min(100);
        percent.saturating_mul(count).saturating_add(99) / 100
    };
    let mut most: Vec<i64> = spread.spread_target.iter().map(|t| wanted(t.percent)).collect();
    let named: BTreeMap<&str, usize> =
        spread.spread_target.iter().enumerate().map(|(n, t)| (t.value.as_str(), n)).collect();
    let rest = most.len();
    most.push(count.saturating_sub(most.iter().sum()).max(0));
    let of = (0..board.spots.len()).map(|s| value(s).and_then(|v| named.get(v)).copied().unwrap_or(rest));
    Aim::Targets { of: of.collect(), most }
}

/// Looks for the fewest moves after which as few allocations as possible are off.
pub(super) fn search(board: &mut Board, aims: Aims, most: usize, stop: &Stop) -> Found {
    let mut aims = aims;
    let found = found(board, &mut aims, most, stop);
    Found { alike: Some(Rc::new(aims)), ..found }
}

fn found(board: &mut Board, aims: &mut Aims, most: usize, stop: &Stop) -> Found {
    let before = aims.off(board);
    if before == 0 {
        return Found { reached: true, ..Found::default() };
    }
    if is_small(board) {
        for allowed in 0..before {
            aims.allowed = allowed;
            let fewest = fewest(board, aims, most, stop);
            if let Some(hops) = fewest.hops {
                let course = Course { hops, ..Course::default() };
                let missing = remaining(allowed);
                let at_least = if board.exact { fewest.at_least } else { before - allowed };
                return Found { course, reached: true, at_least, missing, ..Found::default() };
            }
            if !fewest.impossible {
                break;
            }
            if allowed + 1 == before {
                return Found { reached: true, missing: remaining(before), ..Found::default() };
            }
        }
    }
    aims.allowed = 0;
    let never = Stop::never();
    let found = greedy(board, aims, most, if is_small(board) { &never } else { stop });
    // A small board is only left to this when the exact search ends early.
    Found { cut: found.cut || stop.now(), ..found }
}

/// What can't be improved, in words.
fn remaining(off: usize) -> Vec<String> {
    match off {
        0 => Vec::new(),
        n => vec![format!("No moves improve the position of {n} more allocations")],
    }
}

/// Moves one allocation after the other to where it is wanted.
fn greedy(board: &mut Board, aims: &Aims, most: usize, stop: &Stop) -> Found {
    let course = Course { optional: !is_small(board), ..Course::default() };
    let mut found = Found { course, ..Found::default() };
    let (before, moves) = (aims.off(board), board.moves());
    let mut complete = true;
    'groups: for (group, wanted) in &aims.groups {
        while off(board, *group, wanted) > 0 {
            if found.course.hops.len() >= most {
                complete = improvement(board, *group, wanted).is_none();
                break 'groups;
            }
            if stop.now() {
                found.cut = true;
                break 'groups;
            }
            let Some(hop) = improvement(board, *group, wanted) else { break };
            board.go(hop.item, hop.to);
            found.course.hops.push(hop);
        }
    }
    let after = aims.off(board);
    board.rewind(moves);
    // No move improves anything any more, or no more are allowed.
    found.reached = !found.cut && complete;
    found.at_least = before.saturating_sub(after);
    found.missing =
        if complete { remaining(after) } else { vec![format!("{after} allocations are still off after {most} moves")] };
    found
}

/// The first move found that lowers the number of allocations of a group that are off, to the emptiest node.
fn improvement(board: &Board, group: usize, aims: &[Aim]) -> Option<Hop> {
    let counts: Vec<(usize, i64)> = board.counts(group).collect();
    let now = off_by(&counts, aims);
    let mut spots: Vec<usize> = (0..board.spots.len()).filter(|s| board.spots[*s].open).collect();
    spots.sort_by_key(|s| (board.count_at(group, *s), -board.spots[*s].free[1], *s));
    for (n, (from, _)) in counts.iter().enumerate() {
        let item = board.spots[*from].items.iter().copied().find(|i| board.items[*i].group == group);
        let Some(item) = item else { continue };
        let mut without = counts.clone();
        without[n].1 -= 1;
        if off_by(&without, aims) >= now {
            continue;
        }
        // Spots that are alike to all aims are as good.
        let mut better: BTreeMap<Vec<i64>, bool> = BTreeMap::new();
        for to in spots.iter().copied() {
            let class: Vec<i64> = aims.iter().map(|aim| aim.class(to, board.count_at(group, to))).collect();
            let better = *better.entry(class).or_insert_with(|| {
                let mut with = without.clone();
                match with.iter_mut().find(|(spot, _)| *spot == to) {
                    Some((_, n)) => *n += 1,
                    None => with.push((to, 1)),
                }
                off_by(&with, aims) < now
            });
            if better && board.can(item, to) {
                return Some(Hop { item, to });
            }
        }
    }
    None
}
