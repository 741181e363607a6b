//! The truth about small clusters: all moves in all orders, by breadth-first search.

use std::collections::{BTreeMap, HashSet};

use super::cluster::Small;

/// Positions that are visited, at most.
const MOST_POSITIONS: usize = 60_000;

/// How many moves a goal needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// So many, and no fewer.
    Moves(usize),
    /// No moves lead there.
    Never,
    /// There are too many positions.
    TooLarge,
}

/// Where each allocation is, by its number.
pub type Position = Vec<u8>;

impl Small {
    /// Where all allocations are in the beginning.
    pub fn position(&self) -> Position {
        self.allocs.iter().map(|(_, node)| *node as u8).collect()
    }

    /// The CPU and memory in use on a node.
    pub fn used(&self, at: &[u8], node: usize) -> (i64, i64) {
        let here =
            self.allocs.iter().zip(at).filter(|(_, n)| usize::from(**n) == node).map(|((g, _), _)| &self.groups[*g]);
        here.fold((0, 0), |(cpu, memory), g| (cpu + g.cpu, memory + g.memory))
    }

    fn may_go(&self, at: &[u8], alloc: usize, to: usize, (cpu, memory): (i64, i64)) -> bool {
        let group = self.allocs[alloc].0;
        let (g, node) = (&self.groups[group], &self.nodes[to]);
        let mut here = at.iter().enumerate().filter(|(_, n)| usize::from(**n) == to).map(|(a, _)| self.allocs[a].0);
        !g.sticky
            && usize::from(at[alloc]) != to
            && cpu + g.cpu <= node.cpu
            && memory + g.memory <= node.memory
            && g.rack.is_none_or(|r| r == node.rack)
            && !here.any(|o| g.alone && o == group || g.port.is_some() && self.groups[o].port == g.port)
    }

    /// Allocations of one group can take each other's place.
    fn canonical(&self, mut at: Position) -> Position {
        let mut first = 0;
        while first < at.len() {
            let group = self.allocs[first].0;
            let end = (first..at.len()).find(|i| self.allocs[*i].0 != group).unwrap_or(at.len());
            at[first..end].sort_unstable();
            first = end;
        }
        at
    }

    /// All positions that can be reached, by the fewest moves, up to `most`, until `enough` says so.
    fn walk(&self, most: usize, mut see: impl FnMut(usize, &[u8]) -> bool) -> Option<bool> {
        let start = self.canonical(self.position());
        let mut known: HashSet<Position> = HashSet::from([start.clone()]);
        let mut layer = vec![start];
        for depth in 0..=most {
            for at in &layer {
                if see(depth, at) {
                    return Some(true);
                }
            }
            let mut next = Vec::new();
            for at in &layer {
                let used: Vec<(i64, i64)> = (0..self.nodes.len()).map(|n| self.used(at, n)).collect();
                for alloc in 0..at.len() {
                    for to in (0..self.nodes.len()).filter(|to| self.may_go(at, alloc, *to, used[*to])) {
                        let mut new = at.clone();
                        new[alloc] = to as u8;
                        let new = self.canonical(new);
                        if depth < most && known.insert(new.clone()) {
                            next.push(new);
                        }
                    }
                }
                if known.len() > MOST_POSITIONS {
                    return None;
                }
            }
            if next.is_empty() {
                return Some(false);
            }
            layer = next;
        }
        Some(false)
    }

    /// The fewest moves to a position that `reached` accepts.
    pub fn fewest(&self, reached: impl Fn(&[u8]) -> bool) -> Truth {
        let mut found = None;
        let walked = self.walk(usize::MAX, |depth, at| {
            found = reached(at).then_some(depth);
            found.is_some()
        });
        match (walked, found) {
            (Some(true), Some(depth)) => Truth::Moves(depth),
            (Some(_), _) => Truth::Never,
            (None, _) => Truth::TooLarge,
        }
    }

    /// The lowest value of `measure` within so many moves, and the fewest moves to it.
    pub fn lowest(&self, most: usize, measure: impl Fn(&[u8]) -> i64) -> Option<(i64, usize)> {
        let mut best = (i64::MAX, 0);
        self.walk(most, |depth, at| {
            let value = measure(at);
            if value < best.0 {
                best = (value, depth);
            }
            false
        })?;
        Some(best)
    }

    /// How many nodes are empty that can be emptied.
    pub fn empty(&self, at: &[u8]) -> usize {
        (0..self.nodes.len()).filter(|n| at.iter().all(|on| usize::from(*on) != *n)).count()
    }

    /// How many allocations of such a group fit, one on a node at most if it is alone.
    pub fn copies(&self, at: &[u8], (cpu, memory, alone): (i64, i64, bool)) -> i64 {
        let on = |n: usize| {
            let (used_cpu, used_memory) = self.used(at, n);
            let copies = ((self.nodes[n].cpu - used_cpu) / cpu).min((self.nodes[n].memory - used_memory) / memory);
            if alone { copies.min(1) } else { copies }
        };
        (0..self.nodes.len()).map(on).sum()
    }

    /// The highest CPU or memory use of a node, in thousandths.
    pub fn highest(&self, at: &[u8]) -> i64 {
        let of = |n: usize| {
            let (cpu, memory) = self.used(at, n);
            (cpu * 1000 / self.nodes[n].cpu).max(memory * 1000 / self.nodes[n].memory)
        };
        (0..self.nodes.len()).map(of).max().unwrap_or(0)
    }

    /// How many allocations stand in the wrong datacenter.
    pub fn off_target(&self, at: &[u8]) -> i64 {
        let mut off = 0;
        for (number, group) in self.groups.iter().enumerate() {
            let Some(targets) = group.spread else {
                let on = |n: usize| {
                    self.allocs.iter().zip(at).filter(|((g, _), on)| *g == number && usize::from(**on) == n).count()
                };
                let total: usize = (0..self.nodes.len()).map(on).sum();
                let most = total.div_ceil(self.nodes.len());
                off += (0..self.nodes.len()).map(|n| on(n).saturating_sub(most) as i64).sum::<i64>();
                continue;
            };
            let mut counts: BTreeMap<&str, i64> = self.nodes.iter().map(|n| (n.datacenter, 0)).collect();
            for (_, on) in self.allocs.iter().zip(at).filter(|((g, _), _)| *g == number) {
                *counts.entry(self.nodes[usize::from(*on)].datacenter).or_default() += 1;
            }
            let count: i64 = counts.values().sum();
            let values: Vec<i64> = counts.values().copied().collect();
            off += match targets {
                None => {
                    let (low, high) = (count / values.len() as i64, count % values.len() as i64);
                    let over: i64 = values.iter().map(|n| (n - low).max(0)).sum();
                    over - high.min(values.iter().filter(|n| **n > low).count() as i64)
                }
                Some((a, b)) => {
                    let over = |dc: &str, percent: i64| {
                        let wanted = (percent * count + 99) / 100;
                        (counts.get(dc).copied().unwrap_or(0) - wanted).max(0)
                    };
                    over("dc1", a) + over("dc2", b)
                }
            };
        }
        off
    }
}
