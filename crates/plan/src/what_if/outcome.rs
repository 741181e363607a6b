//! The fate of every allocation: compares the initial state with the final state.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::cascade::Cascade;
use super::edit::JobKey;
use super::headroom::{DatacenterRoom, PoolRoom};
use encamp_model::*;
use encamp_scheduler::descriptions;
use encamp_state::{Id, State};

/// Why an allocation was displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Its node drains.
    Drained,
    /// Its node went down.
    Lost,
    /// An allocation of higher priority preempted it.
    Preempted,
    /// It was already marked for migration: its node was draining, or an operator stopped it.
    Migrated,
    /// Its job specifies a new version: a rollout that was in progress continues.
    Updated,
    /// Its job no longer needs it.
    Stopped,
}

/// The outcome for a displaced allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// A replacement runs.
    Moved,
    /// Its job needs a replacement, which cannot be placed.
    Unplaced,
    /// It is not replaced: system and sysbatch allocations are bound to their node, batch allocations are not replaced
    /// when a drain stops them, and the job may no longer need it.
    Stopped,
    /// It stays: its node is disconnected, but its job specifies not to replace it.
    Stays,
}

/// An allocation on a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Place {
    /// ID of the allocation.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// ID of the node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Name of the node.
    pub node_name: String,
}

/// The job and group of an allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Owner {
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// Type of the job.
    #[serde(rename = "JobType")]
    pub job_type: JobType,
    /// The group.
    pub task_group: String,
}

/// An allocation that ran and does not go on where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Displaced {
    /// Its job and group.
    #[serde(flatten)]
    pub owner: Owner,
    /// Its name.
    pub name: String,
    /// Priority of its job.
    pub priority: i64,
    /// Where it ran.
    pub from: Place,
    /// Why it left.
    pub cause: Cause,
    /// The outcome.
    pub fate: Fate,
    /// Its successor, if it moved.
    pub to: Option<Place>,
}

/// A new allocation that replaces none of the displaced ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Placed {
    /// Its job and group.
    #[serde(flatten)]
    pub owner: Owner,
    /// Its name.
    pub name: String,
    /// Where it runs.
    pub on: Place,
}

/// A group with allocations that no node takes in the end.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Unplaced {
    /// Their job and group.
    #[serde(flatten)]
    pub owner: Owner,
    /// How many.
    pub count: i64,
    /// Priority of their job.
    pub priority: i64,
    /// The changes did not concern the job: it waited for capacity before and still does.
    pub waited: bool,
    /// Metrics of the search for a node.
    pub metrics: AllocMetric,
}

/// The result of the changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Outcome {
    /// The changes in words.
    pub changes: Vec<String>,
    /// Allocations that left their nodes, by job, group and name.
    pub displaced: Vec<Displaced>,
    /// New allocations besides their successors.
    pub placed: Vec<Placed>,
    /// Unplaced allocations.
    pub unplaced: Vec<Unplaced>,
    /// Free capacity of node pools before and after.
    pub headroom: Vec<PoolRoom>,
    /// Free capacity of datacenters before and after, and their displaced allocations.
    pub datacenters: Vec<DatacenterRoom>,
    /// Evaluations processed.
    pub evaluations: usize,
    /// Notes.
    pub notes: Vec<String>,
}

impl Outcome {
    /// How many of the displaced allocations had this cause and this fate.
    pub fn count(&self, cause: Option<Cause>, fate: Fate) -> usize {
        self.displaced.iter().filter(|d| cause.is_none_or(|c| c == d.cause) && d.fate == fate).count()
    }

    /// Whether an allocation affected by the changes is unplaced.
    pub fn falls_short(&self) -> bool {
        self.unplaced.iter().any(|u| !u.waited)
    }
}

/// Reads it off the two states; `(draining, down)` are IDs of nodes.
pub(super) fn outcome(
    before: &State,
    cascade: &Cascade,
    (draining, down): (&BTreeSet<String>, &BTreeSet<String>),
    changes: Vec<String>,
    notes: Vec<String>,
) -> Outcome {
    let after = cascade.state();
    let (mut gone, new) = gone_and_new(before, cascade, draining, down);
    let mut successors = Successors::new(after, new);
    gone.sort_by(|a, b| order(a.old).cmp(&order(b.old)));
    let displaced = displaced(gone, &mut successors, cascade);
    let mut placed: Vec<Placed> =
        successors.rest().map(|a| Placed { owner: owner(a), name: a.name.to_string(), on: place_of(a) }).collect();
    placed.sort_by(|a, b| (&a.owner, &a.name, &a.on.node_name).cmp(&(&b.owner, &b.name, &b.on.node_name)));
    let (unplaced, evaluations) = (unplaced(cascade), cascade.evaluations);
    let (headroom, datacenters) = (Vec::new(), Vec::new());
    Outcome { changes, displaced, placed, unplaced, headroom, datacenters, evaluations, notes }
}

/// An allocation that left its node: as it was, as it is in the end, and why.
struct Gone<'a> {
    old: &'a Allocation,
    new: &'a Allocation,
    cause: Cause,
}

/// The allocations that left their nodes, and those that came up.
fn gone_and_new<'a>(
    before: &'a State,
    cascade: &'a Cascade,
    draining: &BTreeSet<String>,
    down: &BTreeSet<String>,
) -> (Vec<Gone<'a>>, Vec<&'a Allocation>) {
    let after = cascade.state();
    let mut ids = cascade.touched.clone();
    for entry in draining.iter().chain(down).filter_map(|id| before.node(id)) {
        ids.extend(entry.allocs.iter().map(|a| Id::new(&a.alloc.id)));
    }
    let (mut gone, mut new_allocs) = (Vec::new(), Vec::new());
    for id in &ids {
        let Some(new) = after.alloc_at(id) else { continue };
        let new = &*new.alloc;
        let Some(old) = before.alloc_at(id) else {
            new_allocs.extend((!new.terminal()).then_some(new));
            continue;
        };
        let old = &*old.alloc;
        if old.terminal() {
            continue;
        }
        let cause = match () {
            () if draining.contains(&*old.node_id) => Cause::Drained,
            () if down.contains(&*old.node_id) => Cause::Lost,
            () if new.client_status == ClientStatus::Lost => Cause::Lost,
            () if new.desired_status == DesiredStatus::Evict => Cause::Preempted,
            () if old.desired_transition.should_migrate() => Cause::Migrated,
            () if new.desired_description == descriptions::UPDATING => Cause::Updated,
            () => Cause::Stopped,
        };
        if new.terminal() || matches!(cause, Cause::Drained | Cause::Lost) {
            gone.push(Gone { old, new, cause });
        }
    }
    (gone, new_allocs)
}

/// The fates of allocations that left their nodes.
fn displaced(gone: Vec<Gone>, successors: &mut Successors, cascade: &Cascade) -> Vec<Displaced> {
    let mut short: BTreeMap<(JobKey, String), i64> = BTreeMap::new();
    for (key, groups) in &cascade.failed {
        short.extend(groups.iter().map(|(g, m)| ((key.clone(), g.clone()), m.failures())));
    }
    let direct: Vec<Option<Place>> = gone.iter().map(|g| successors.chained(g.old)).collect();
    let mut displaced = Vec::with_capacity(gone.len());
    for (Gone { old, new, cause }, direct) in gone.into_iter().zip(direct) {
        let place = direct.or_else(|| successors.namesake(old, cause));
        let lacking = short.get_mut(&((old.namespace.to_string(), old.job_id.to_string()), old.task_group.to_string()));
        let fate = match &place {
            Some(_) => Fate::Moved,
            None if !new.terminal() && *kind(old) != JobType::Sysbatch => Fate::Stays,
            None if cause == Cause::Stopped || !moves(new) => Fate::Stopped,
            None => match lacking.filter(|n| **n > 0) {
                Some(n) => {
                    *n -= 1;
                    Fate::Unplaced
                }
                None => Fate::Stopped,
            },
        };
        let (owner, from) = (owner(old), place_of(old));
        let priority = old.job.as_ref().map_or(0, |j| j.priority);
        displaced.push(Displaced { owner, name: old.name.to_string(), priority, from, cause, fate, to: place });
    }
    displaced
}

/// The groups with allocations that no node takes in the end.
fn unplaced(cascade: &Cascade) -> Vec<Unplaced> {
    let mut unplaced = Vec::new();
    for (key, groups) in &cascade.failed {
        let job = cascade.state().job(&key.0, &key.1);
        let job_type = job.map(|j| j.r#type.clone()).unwrap_or_default();
        unplaced.extend(groups.iter().map(|(group, metrics)| Unplaced {
            owner: Owner {
                namespace: key.0.clone(),
                job_id: key.1.clone(),
                job_type: job_type.clone(),
                task_group: group.clone(),
            },
            count: metrics.failures(),
            priority: job.map_or(0, |j| j.priority),
            waited: !cascade.affected.contains(key),
            metrics: metrics.clone(),
        }));
    }
    unplaced
}

/// Whether an allocation that leaves is to be replaced elsewhere.
fn moves(a: &Allocation) -> bool {
    matches!(kind(a), JobType::Service | JobType::Batch) && !a.desired_transition.migrate_disable_placement()
}

fn kind(a: &Allocation) -> &JobType {
    a.job.as_ref().map_or(&JobType::Service, |j| &j.r#type)
}

fn owner(a: &Allocation) -> Owner {
    Owner {
        namespace: a.namespace.to_string(),
        job_id: a.job_id.to_string(),
        job_type: kind(a).clone(),
        task_group: a.task_group.to_string(),
    }
}

/// What the list is sorted by: as [`owner`], then by name.
fn order(a: &Allocation) -> (&str, &str, &JobType, &str, usize, &str) {
    (&a.namespace, &a.job_id, kind(a), &a.task_group, a.index(), &a.id)
}

fn place_of(a: &Allocation) -> Place {
    Place { alloc_id: a.id.to_string(), node_id: a.node_id.to_string(), node_name: a.node_name.to_string() }
}

/// The allocations that are new in the end, less those that were taken as somebody's successor.
struct Successors<'a> {
    after: &'a State,
    new: BTreeMap<&'a str, &'a Allocation>,
    /// IDs of the same by group, then by name.
    by_group: BTreeMap<Group<'a>, BTreeSet<(&'a str, &'a str)>>,
}

/// Namespace, job and group.
type Group<'a> = (&'a str, &'a str, &'a str);

fn group_of(a: &Allocation) -> Group<'_> {
    (&a.namespace, &a.job_id, &a.task_group)
}

impl<'a> Successors<'a> {
    /// `new`: in the state `after` only.
    fn new(after: &'a State, new: Vec<&'a Allocation>) -> Successors<'a> {
        let new: BTreeMap<_, _> = new.into_iter().map(|a| (a.id.as_str(), a)).collect();
        let mut by_group: BTreeMap<Group<'a>, BTreeSet<(&str, &str)>> = BTreeMap::new();
        for a in new.values() {
            by_group.entry(group_of(a)).or_default().insert((&a.name, &a.id));
        }
        Successors { after, new, by_group }
    }

    fn take(&mut self, id: &str) -> Option<Place> {
        let a = self.new.remove(id)?;
        if let Some(group) = self.by_group.get_mut(&group_of(a)) {
            group.remove(&(&a.name, &a.id));
        }
        Some(place_of(a))
    }

    /// The end of the chain of allocations that replaced each other.
    fn chained(&mut self, old: &Allocation) -> Option<Place> {
        let mut next = self.after.alloc(&old.id)?.alloc.next_allocation.as_str();
        // Chains are as short as the number of moves; a broken snapshot may hold circles.
        for _ in 0..1000 {
            if next.is_empty() {
                return None;
            }
            if let Some(place) = self.take(next) {
                return Some(place);
            }
            next = &self.after.alloc(next)?.alloc.next_allocation;
        }
        None
    }

    /// One of the same group that names no predecessor, as replacements of preempted allocations do: the one of the
    /// same name, else any.
    fn namesake(&mut self, old: &Allocation, cause: Cause) -> Option<Place> {
        if cause == Cause::Stopped || !matches!(kind(old), JobType::Service | JobType::Batch) {
            return None;
        }
        let group = self.by_group.get(&group_of(old))?;
        let named = group.range((old.name.as_str(), "")..).next().filter(|(name, _)| *name == old.name);
        let (_, id) = named.or_else(|| group.first())?;
        let id = id.to_string();
        self.take(&id)
    }

    fn rest(&self) -> impl Iterator<Item = &'a Allocation> {
        self.new.values().copied()
    }
}
