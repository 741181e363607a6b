//! What one loss displaces at most.
//!
//! Let `c(n)` be the copies that fit on node `n` now. A placement takes the room of at most `unit` copies, of one node,
//! and what is stopped or evicted only gives room, so the nodes that are not lost keep at least the sum of `c(n)` less
//! the units of all placements. What is placed is known where nothing is evicted: what is lost, what jobs lack that are
//! evaluated, and, once something is stopped, what others lack. Three facts exclude evictions:
//!
//! - A placement evicts only if no node has room. A group for which more nodes have room than placements can take the
//!   room of finds one that has.
//! - A group that finds no node now, not even by evicting, finds none as long as nothing is stopped: a placement takes
//!   from a node's room what it adds to what may be evicted there, or more.
//! - Once something is stopped, such a group finds nothing on a node where it lacks room even if all that may be stopped
//!   or evicted there is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Activity, DemandType, Demands, JobDemand, OnNode, stable, unstable_on};
use crate::what_if::{Cut, JobKey};
use encamp_scheduler::candidates::covers;
use encamp_state::{NodeEntry, Snapshot};

/// What the loss of a node may displace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Displaced {
    /// No more copies than that.
    pub copies: i64,
    /// Something may be stopped on other nodes, which gives room.
    pub frees: bool,
    /// Nothing is: all jobs concerned are steady.
    pub steady: bool,
    /// Allocations that may remain unplaced at most.
    pub unplaced: i64,
}

impl Displaced {
    /// What the loss of two nodes displaces at most.
    pub(crate) fn and(self, other: Displaced) -> Displaced {
        Displaced {
            copies: self.copies.saturating_add(other.copies),
            frees: self.frees || other.frees,
            steady: self.steady && other.steady,
            unplaced: self.unplaced.saturating_add(other.unplaced),
        }
    }
}

/// The allocations on lost nodes, by job and group.
type LostOf = BTreeMap<JobKey, BTreeMap<String, OnNode>>;

fn lost_of<'a>(state: &Snapshot, nodes: impl IntoIterator<Item = &'a NodeEntry>) -> LostOf {
    let mut lost = LostOf::new();
    for e in nodes.into_iter().flat_map(|n| n.allocs.iter()).filter(|e| !e.phase.client_terminal()) {
        let a = &e.alloc;
        let groups = lost.entry((a.namespace.to_string(), a.job_id.to_string())).or_default();
        let group = groups.entry(a.task_group.to_string()).or_default();
        let current = state.job(&a.namespace, &a.job_id);
        group.lost += 1;
        group.stable += i64::from(current.is_some_and(|job| stable(state, job, a)));
    }
    lost
}

impl Demands {
    /// What the loss of a node may displace besides the copies on it; `None` if that can't be known beforehand. `on`:
    /// the copies on the node in a slot. With `others`, other nodes are lost at the same time.
    pub(crate) fn displaced(
        &self,
        state: &Snapshot,
        node: &NodeEntry,
        on: impl Fn(u32) -> i64,
        others: bool,
    ) -> Option<Displaced> {
        let lost = lost_of(state, [node]);
        // Of jobs that are gone everything is stopped.
        let active = |key: &JobKey| self.jobs.get(key).is_none_or(|job| job.activity == Activity::Active);
        let frees = lost.keys().any(active);
        let gains = frees || others;
        let (mut copies, mut placed, mut stuck): (i64, i64, i64) = (0, 0, 0);
        for (key, groups) in &lost {
            let Some(job) = self.jobs.get(key) else { continue };
            copies = copies.saturating_add(job.takes(groups, gains)?);
            placed = placed.saturating_add(job.places(groups, gains));
            stuck = stuck.saturating_add(job.stuck_of(groups));
        }
        let freed = if frees { self.freed(state, &lost) } else { BTreeSet::new() };
        if !self.without_evictions(&lost, placed, (frees, &freed), others) || self.disturbs(state, node, frees) {
            return None;
        }
        if frees {
            // A job that waits finds room only where something is stopped, and there no more copies are lost than fit.
            let there = freed.iter().map(|slot| on(*slot)).fold(0, i64::saturating_add);
            copies = copies.saturating_add(self.restless).saturating_add(self.waiting.min(there));
        }
        let calm = |(key, groups): (&JobKey, &BTreeMap<String, OnNode>)| {
            self.jobs.get(key).is_some_and(|job| match (job.r#type, job.activity) {
                (DemandType::PerNode, _) => true,
                (_, Activity::Settled) => !others && job.stuck_of(groups) == 0 && !job.is_crowded(groups, placed),
                (_, Activity::Waiting | Activity::Places | Activity::Active) => false,
            })
        };
        let unplaced = match () {
            () if frees => i64::MAX,
            () if lost.iter().all(calm) => 0,
            () => placed.saturating_add(stuck),
        };
        let steady = !frees && lost.keys().all(|key| self.jobs.get(key).is_some_and(|job| job.steady));
        Some(Displaced { copies, frees, steady, unplaced })
    }

    /// Whether nothing is evicted when these allocations are lost and so many are placed for that. `freed`: where
    /// something may be stopped.
    fn without_evictions(
        &self,
        lost: &LostOf,
        placed: i64,
        (frees, freed): (bool, &BTreeSet<u32>),
        others: bool,
    ) -> bool {
        let waits = |key: &JobKey| self.jobs.get(key).is_some_and(|job| job.activity == Activity::Waiting);
        let mut taken = placed;
        if frees {
            taken = taken.saturating_add(self.restless_places);
            // What waits for room takes it only on nodes where something is stopped.
            if self.waiting > 0 || lost.keys().any(waits) {
                taken = taken.saturating_add(i64::try_from(freed.len()).unwrap_or(i64::MAX));
            }
        }
        let crowded = |(key, groups): (&JobKey, &BTreeMap<String, OnNode>)| {
            self.jobs.get(key).is_some_and(|job| job.moves_evicting() && (others || job.is_crowded(groups, taken)))
        };
        if lost.iter().any(crowded) {
            return false;
        }
        let anybody = frees && self.jobs.values().any(JobDemand::moves_evicting);
        let room = usize::try_from(taken).is_ok_and(|taken| taken < self.restless_roomy);
        !anybody || !others && room && freed.is_disjoint(&self.unlocked)
    }

    /// Whether jobs with an allocation per node do something that is not known.
    fn disturbs(&self, state: &Snapshot, node: &NodeEntry, frees: bool) -> bool {
        let mut per_node = self.per_node.iter().filter_map(|key| Some((key, self.jobs.get(key)?)));
        let targets = |key: &JobKey| state.job(&key.0, &key.1).is_some_and(|j| !j.stop && covers(j, &node.node));
        per_node.any(|(key, job)| {
            frees && job.activity != Activity::Settled || job.activity == Activity::Active && targets(key)
        })
    }

    /// The nodes on which something may be stopped when these allocations are lost.
    fn freed(&self, state: &Snapshot, lost: &LostOf) -> BTreeSet<u32> {
        let mut freed = self.restless_nodes.clone();
        for key in lost.keys() {
            match self.jobs.get(key) {
                Some(job) => freed.extend(&job.unstable),
                None => freed.extend(unstable_on(state, key)),
            }
        }
        freed
    }

    /// The copies that the allocations on lost nodes may still displace when their loss was followed so far. The jobs are
    /// such that [`Demands::displaced`] knows what they do; `frees`: they may free room.
    pub(crate) fn left(&self, state: &Snapshot, lost: &[&Arc<NodeEntry>], cut: &Cut, frees: bool) -> i64 {
        let mut total: i64 = if frees { self.restless.saturating_add(self.waiting) } else { 0 };
        let done = if frees { &cut.whole } else { &cut.finished };
        let lost = lost_of(state, lost.iter().map(|n| &***n));
        for (key, groups) in lost.iter().filter(|(key, _)| !cut.whole.contains(*key) && !done.contains(*key)) {
            let Some(job) = self.jobs.get(key).filter(|j| j.r#type != DemandType::PerNode) else { continue };
            total = total.saturating_add(job.takes(groups, frees).unwrap_or(i64::MAX));
        }
        total
    }
}

impl JobDemand {
    /// The copies that its placements may take the room of once these allocations are lost; `None` if that is not
    /// known. `gains`: something may be stopped on other nodes.
    fn takes(&self, lost: &BTreeMap<String, OnNode>, gains: bool) -> Option<i64> {
        match (self.r#type, self.activity) {
            (DemandType::PerNode, Activity::Settled | Activity::Waiting) => Some(0),
            (DemandType::PerNode, Activity::Places | Activity::Active) => None,
            (_, Activity::Settled) => self.replaced(lost, gains),
            (_, Activity::Waiting | Activity::Places | Activity::Active) => Some(self.open(lost, gains)),
        }
    }

    /// The most allocations that it has placed at any moment.
    fn places(&self, lost: &BTreeMap<String, OnNode>, gains: bool) -> i64 {
        match (self.r#type, self.activity) {
            (DemandType::PerNode, _) => 0,
            (_, Activity::Settled) => {
                lost.values().map(|g| g.lost).sum::<i64>() - if gains { 0 } else { self.stuck_of(lost) }
            }
            (_, Activity::Waiting) if !gains => {
                let open = self.groups.iter().filter(|(_, g)| !g.stuck);
                open.map(|(name, g)| g.missing(lost.get(name))).fold(0, i64::saturating_add)
            }
            (_, Activity::Waiting | Activity::Places | Activity::Active) => self.missing(lost),
        }
    }

    /// The lost allocations of groups that cannot be placed.
    fn stuck_of(&self, lost: &BTreeMap<String, OnNode>) -> i64 {
        let stuck = |name: &String| self.groups.get(name).is_some_and(|g| g.stuck);
        lost.iter().filter(|(name, _)| stuck(name)).map(|(_, on_node)| on_node.lost).sum()
    }

    /// Copies displaced by replacements of what is lost, allocation by allocation; `None` if a group is not known.
    fn replaced(&self, lost: &BTreeMap<String, OnNode>, gains: bool) -> Option<i64> {
        let mut total: i64 = 0;
        for (name, on_node) in lost {
            let group = self.groups.get(name)?;
            if gains || !group.stuck {
                total = total.saturating_add(group.unit.saturating_mul(on_node.lost));
            }
        }
        Some(total)
    }

    /// Whether a placement of one of these groups may find no room without evictions once so many nodes have given theirs
    /// to others. The lost node is none of those that have room. Groups that cannot be placed are not asked about.
    fn is_crowded(&self, lost: &BTreeMap<String, OnNode>, taken: i64) -> bool {
        let needed = usize::try_from(taken.saturating_add(1)).unwrap_or(usize::MAX);
        // Others than settled jobs place allocations of groups that lost nothing, too.
        let open = self.groups.iter().filter(|(_, g)| self.activity != Activity::Settled && g.wanted > g.stable);
        let mut names = lost.keys().chain(open.map(|(name, _)| name));
        names.any(|name| self.groups.get(name).is_none_or(|g| !g.stuck && g.roomy < needed))
    }
}
