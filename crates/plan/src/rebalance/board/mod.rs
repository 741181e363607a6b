//! Allocations and nodes in numbers, so that many moves can be tried in a short time.
//!
//! A move that is possible here is nearly always possible for the scheduler, and the other way round; plans are followed
//! with the scheduler in the end. Where numbers do not decide (devices, reserved cores, claims of volumes), only what the
//! scheduler says of the cluster as it is counts, and [`Board::exact`] is false.

mod build;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::claims::Claims;
use super::kind::{Kind, Suits};
use super::movable::Stays;
use super::steps::{AllocRef, NodeRef};
use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_scheduler::constraint::Target;
use encamp_scheduler::explain::{Moment, Question, Verdict};
use encamp_scheduler::stack::Judgement;
use encamp_state::{AllocEntry, AllocUsage, NodeEntry, Snapshot};

/// An allocation that may be moved.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// As it is before the first step.
    pub entry: Arc<AllocEntry>,
    /// Its group.
    pub group: usize,
}

/// A node.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    /// As it is before the first step.
    pub node: Arc<NodeEntry>,
    /// Allocations may be placed here.
    pub open: bool,
    /// Free MHz, MB of memory and MB of disk.
    pub free: [i64; 3],
    /// How many more allocations it takes.
    pub slots: i64,
    /// The allocations that may be moved and are here now.
    pub items: BTreeSet<usize>,
    /// The others that count, by reason.
    pub fixed: BTreeMap<Stays, usize>,
    /// Static ports in use.
    ports: BTreeMap<i64, u32>,
    /// Allocations with devices or the like that came.
    odd: u32,
}

impl Spot {
    /// Itself, to be shown.
    pub(super) fn named(&self) -> NodeRef {
        NodeRef { id: self.node.node.id.clone(), name: self.node.node.name.clone() }
    }

    /// Whether all that runs here may be moved.
    pub(super) fn can_be_freed(&self) -> bool {
        self.fixed.is_empty()
    }
}

/// A `distinct_property` constraint of a job or group.
struct Property {
    target: Target,
    /// Namespace and job; the group, if it is one of a group.
    owner: (String, String, Option<String>),
    allowed: i64,
    /// Allocations by value.
    counts: BTreeMap<String, i64>,
}

/// The cluster.
pub(super) struct Board {
    state: Snapshot,
    now: i64,
    /// All nodes.
    pub spots: Vec<Spot>,
    /// All allocations that may be moved.
    pub items: Vec<Item>,
    /// Their groups.
    pub kinds: Vec<Kind>,
    /// Where each allocation is now.
    pub at: Vec<usize>,
    /// How often each was moved.
    moved: Vec<u32>,
    /// What was moved, and from where.
    trail: Vec<(usize, usize)>,
    properties: Vec<Property>,
    /// Live allocations by job (namespace, ID) and spot, of jobs whose allocations may not share nodes.
    of_job: BTreeMap<(String, String), BTreeMap<usize, i64>>,
    /// The same by group.
    of_group: BTreeMap<usize, BTreeMap<usize, i64>>,
    /// Moves that the scheduler refused although the numbers allow them.
    pub refused: BTreeSet<(usize, usize)>,
    /// What waiting jobs take. It is not free.
    pub claims: Claims,
    /// Numbers decide about every move.
    pub exact: bool,
}

fn amounts(usage: &AllocUsage) -> [i64; 3] {
    [usage.cpu, usage.memory, usage.disk]
}

impl Board {
    /// The kind of an allocation.
    pub(super) fn kind(&self, item: usize) -> &Kind {
        &self.kinds[self.items[item].group]
    }

    /// How an allocation is named in a plan, where it is now.
    pub(super) fn named(&self, item: usize) -> AllocRef {
        let a = &self.items[item].entry.alloc;
        AllocRef {
            namespace: a.namespace.to_string(),
            job_id: a.job_id.to_string(),
            task_group: a.task_group.to_string(),
            name: a.name.to_string(),
            node: self.spots[self.at[item]].named(),
            id: (self.moved[item] == 0).then(|| a.id.to_string()),
        }
    }

    /// What an allocation takes where it is now.
    pub(super) fn usage(&self, item: usize) -> [i64; 3] {
        if self.moved[item] == 0 { amounts(&self.items[item].entry.usage) } else { amounts(&self.kind(item).ask) }
    }

    /// The spots at which the scheduler may place allocations of a group.
    fn suits(&self, kind: &Kind) -> Arc<Vec<Suits>> {
        if let Some(known) = kind.suits.borrow().as_ref() {
            return known.clone();
        }
        let (job, group) = (&kind.group.job, &kind.group.group);
        let (eval, plan) = (Evaluation::default(), Plan::default());
        let question = Question { state: &self.state, eval: &eval, job, plan: &plan, now: self.now };
        let mut out = vec![Suits::Never; self.spots.len()];
        let candidates: Vec<usize> =
            (0..self.spots.len()).filter(|s| self.spots[*s].open && covers(job, &self.spots[*s].node.node)).collect();
        let nodes = candidates.iter().map(|s| self.spots[*s].node.clone());
        for (verdict, spot) in question.survey(group, Moment::BeforePlacements, nodes).into_iter().zip(candidates) {
            out[spot] = match verdict.verdict {
                Verdict::Judged(Judgement::Fits { .. }) => Suits::Now,
                Verdict::Judged(Judgement::Exhausted { .. }) | Verdict::WithPreemption { .. } => Suits::WithRoom,
                Verdict::Judged(Judgement::Filtered { reason, .. }) if reason.starts_with("distinct_") => {
                    Suits::WithRoom
                }
                Verdict::Judged(_) | Verdict::NoCandidate(_) => Suits::Never,
            };
        }
        let out = Arc::new(out);
        *kind.suits.borrow_mut() = Some(out.clone());
        out
    }

    /// Whether an allocation can be moved to a spot.
    pub(super) fn can(&self, item: usize, to: usize) -> bool {
        let (from, kind, spot) = (self.at[item], self.kind(item), &self.spots[to]);
        if from == to || !spot.open || spot.slots < 1 || self.refused.contains(&(item, to)) {
            return false;
        }
        let room = amounts(&kind.ask).iter().zip(&spot.free).all(|(ask, free)| *ask <= 0 || ask <= free);
        if !room || kind.ports.iter().any(|p| spot.ports.get(p).is_some_and(|n| *n > 0)) {
            return false;
        }
        let suits = self.suits(kind)[to];
        if suits == Suits::Never || kind.odd && (suits != Suits::Now || spot.odd > 0) {
            return false;
        }
        let held = |counts: Option<&BTreeMap<usize, i64>>| counts.and_then(|c| c.get(&to)).is_some_and(|n| *n > 0);
        let job = || (kind.group.job.namespace.clone(), kind.group.job.id.clone());
        if kind.alone.0 && held(self.of_job.get(&job()))
            || kind.alone.1 && held(self.of_group.get(&self.items[item].group))
        {
            return false;
        }
        let value = |p: &Property, spot: usize| p.target.resolve(&self.spots[spot].node.node).map(str::to_string);
        kind.properties.iter().map(|n| &self.properties[*n]).all(|p| {
            let Some(new) = value(p, to) else { return false };
            let own = i64::from(value(p, from).as_ref() == Some(&new));
            p.counts.get(&new).copied().unwrap_or(0) - own < p.allowed
        })
    }

    /// Moves an allocation.
    pub(super) fn go(&mut self, item: usize, to: usize) {
        let from = self.at[item];
        self.trail.push((item, from));
        let (leaves, group) = (self.usage(item), self.items[item].group);
        let old_ports: Vec<i64> = self.held_ports(item);
        self.moved[item] += 1;
        let arrives = self.usage(item);
        self.shift(item, (from, to), (leaves, arrives), &old_ports);
        if self.kinds[group].odd {
            self.spots[to].odd += 1;
        }
    }

    /// Something that may not be moved has left a spot.
    pub(super) fn leaves(&mut self, spot: usize, usage: [i64; 3]) {
        let spot = &mut self.spots[spot];
        (0..3).for_each(|n| spot.free[n] = spot.free[n].saturating_add(usage[n]));
        spot.slots = spot.slots.saturating_add(1);
    }

    /// Leaves the allocations of a job (namespace, ID) where they are.
    pub(super) fn keep_job(&mut self, (namespace, id): &(String, String)) {
        let own = |i: &usize| {
            let a = &self.items[*i].entry.alloc;
            a.namespace == *namespace && a.job_id == *id
        };
        let items: Vec<usize> = (0..self.items.len()).filter(own).collect();
        for item in items {
            self.spots[self.at[item]].items.remove(&item);
            self.refuse_everywhere(item);
        }
    }

    /// Leaves an allocation where it is from now on.
    pub(super) fn refuse_everywhere(&mut self, item: usize) {
        self.refused.extend((0..self.spots.len()).map(|to| (item, to)));
    }

    /// How many moves were made.
    pub(super) fn moves(&self) -> usize {
        self.trail.len()
    }

    /// Takes moves back until only so many are left.
    pub(super) fn rewind(&mut self, moves: usize) {
        while self.trail.len() > moves
            && let Some((item, from)) = self.trail.pop()
        {
            let to = self.at[item];
            let (leaves, group) = (self.usage(item), self.items[item].group);
            self.moved[item] -= 1;
            let arrives = self.usage(item);
            let ports = self.held_ports(item);
            self.shift(item, (to, from), (leaves, arrives), &ports);
            if self.kinds[group].odd {
                self.spots[to].odd -= 1;
            }
        }
    }

    /// The static ports of an allocation.
    fn held_ports(&self, item: usize) -> Vec<i64> {
        self.kind(item).ports.clone()
    }

    fn shift(&mut self, item: usize, (from, to): (usize, usize), usage: ([i64; 3], [i64; 3]), ports: &[i64]) {
        self.at[item] = to;
        let (leaves, arrives) = usage;
        for n in 0..3 {
            self.spots[from].free[n] += leaves[n];
            self.spots[to].free[n] -= arrives[n];
        }
        self.spots[from].slots = self.spots[from].slots.saturating_add(1);
        if self.spots[to].slots != i64::MAX {
            self.spots[to].slots -= 1;
        }
        self.spots[from].items.remove(&item);
        self.spots[to].items.insert(item);
        for port in ports {
            if let Some(n) = self.spots[from].ports.get_mut(port) {
                *n = n.saturating_sub(1);
            }
            *self.spots[to].ports.entry(*port).or_default() += 1;
        }
        let group = self.items[item].group;
        let kind = &self.kinds[group];
        let job = (kind.group.job.namespace.clone(), kind.group.job.id.clone());
        for counts in [self.of_job.get_mut(&job), self.of_group.get_mut(&group)].into_iter().flatten() {
            *counts.entry(from).or_default() -= 1;
            *counts.entry(to).or_default() += 1;
        }
        for number in &kind.properties {
            let property = &mut self.properties[*number];
            debug_assert!(property.owner.1 == kind.group.job.id);
            for (spot, by) in [(from, -1), (to, 1)] {
                if let Some(value) = property.target.resolve(&self.spots[spot].node.node) {
                    *property.counts.entry(value.to_string()).or_default() += by;
                }
            }
        }
    }

    /// How many allocations of a group are at a spot.
    pub(super) fn count_at(&self, group: usize, spot: usize) -> i64 {
        self.of_group.get(&group).and_then(|c| c.get(&spot)).copied().unwrap_or(0)
    }

    /// The spots with live allocations of a group, and how many.
    pub(super) fn counts(&self, group: usize) -> impl Iterator<Item = (usize, i64)> {
        self.of_group.get(&group).into_iter().flatten().map(|(s, n)| (*s, *n)).filter(|(_, n)| *n > 0)
    }

    /// Whether a spot can ever run allocations of a group.
    pub(super) fn may_run(&self, group: usize, spot: usize) -> bool {
        self.suits(&self.kinds[group])[spot] != Suits::Never
    }
}
