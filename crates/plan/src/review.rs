//! Outcomes of plans as records: what a plan does, and whether a later plan of the same job still does it
//! (`docs/spec/cli.md §19.3`).
//!
//! [`Outcome`] holds what is reviewed: placements with their nodes, stops, updates, evictions, unplaced allocations, the
//! diff. IDs of new allocations are not part of it, because they differ from plan to plan. [`compare`] names every
//! difference between two outcomes; [`Allow`] is the closed set of those that may be accepted.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use encamp_model::{Allocation, DesiredUpdates, JobDiff, JobType, PlanRejection, quoted, short_id};

use super::job::JobPlan;

/// A new allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Placement {
    /// The task group.
    pub task_group: String,
    /// `<job>.<group>[<index>]`.
    pub name: String,
    /// The node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// Its name.
    pub node_name: String,
    /// The allocation that it replaces; empty: none.
    #[serde(rename = "Replaces")]
    pub previous: String,
    /// Whether it is a canary.
    pub canary: bool,
}

/// An existing allocation that the plan stops, updates or evicts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Touched {
    /// Its ID.
    #[serde(rename = "AllocID")]
    pub alloc_id: String,
    /// `<job>.<group>[<index>]`.
    pub name: String,
    /// The namespace of its job.
    pub namespace: String,
    /// Its job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// Its task group.
    pub task_group: String,
    /// Its node.
    #[serde(rename = "NodeID")]
    pub node_id: String,
    /// The name of that node.
    pub node_name: String,
}

/// What the plan of a job does. All lists are sorted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Outcome {
    /// The type of the job.
    pub job_type: JobType,
    /// The modify index of the registered job; 0: there is none.
    pub job_modify_index: u64,
    /// The version of the registered job; absent: there is none.
    pub job_version: Option<u64>,
    /// The differences of the job to the registered one, with their consequences.
    pub diff: JobDiff,
    /// New allocations.
    pub placements: Vec<Placement>,
    /// Allocations of the job that are stopped, whether they are replaced or not.
    pub stops: Vec<Touched>,
    /// Allocations of the job that are updated and continue to run.
    pub updates: Vec<Touched>,
    /// Allocations of other jobs that are evicted.
    pub evictions: Vec<Touched>,
    /// Allocations that cannot be placed, by group.
    pub unplaced: BTreeMap<String, u64>,
    /// Parts of the plan that servers would reject.
    pub rejections: Vec<PlanRejection>,
    /// The counts that the plan shows, by group.
    pub counts: BTreeMap<String, DesiredUpdates>,
    /// Warnings about the job.
    pub warnings: String,
}

/// The outcome of a plan.
pub fn outcome(plan: &JobPlan) -> Outcome {
    let (run, response) = (&plan.run, &plan.response);
    let (mut placements, mut updates) = (Vec::new(), Vec::new());
    for alloc in run.plan.node_allocation.values().flatten() {
        if run.state.alloc(&alloc.id).is_some() {
            updates.push(touched(alloc));
        } else {
            placements.push(placement(alloc));
        }
    }
    let all = |allocs: &BTreeMap<String, Vec<Arc<Allocation>>>| sorted(allocs.values().flatten().map(|a| touched(a)));
    let annotations = run.plan.annotations.as_ref();
    let mut rejections = response.plan_rejections.clone();
    rejections.sort_by(|a, b| (&a.node_id, &a.reason).cmp(&(&b.node_id, &b.reason)));
    let failed = response.failed_tg_allocs.iter();
    // A plan names evicted allocations only by their IDs and jobs.
    let evicted = run.plan.node_preemptions.values().flatten();
    Outcome {
        job_type: run.job.r#type.clone(),
        job_modify_index: response.job_modify_index,
        job_version: run.old_job.as_ref().map(|job| job.version),
        diff: response.diff.clone().unwrap_or_default(),
        placements: sorted(placements),
        stops: all(&run.plan.node_update),
        updates: sorted(updates),
        evictions: sorted(evicted.map(|a| run.state.alloc(&a.id).map_or_else(|| touched(a), |e| touched(&e.alloc)))),
        unplaced: failed.map(|(group, metric)| (group.clone(), metric.failures().unsigned_abs())).collect(),
        rejections,
        counts: annotations.map(|a| a.desired_tg_updates.clone()).unwrap_or_default(),
        warnings: response.warnings.clone(),
    }
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut out: Vec<T> = items.into_iter().collect();
    out.sort();
    out
}

fn placement(alloc: &Allocation) -> Placement {
    Placement {
        task_group: alloc.task_group.to_string(),
        name: alloc.name.to_string(),
        node_id: alloc.node_id.to_string(),
        node_name: alloc.node_name.to_string(),
        previous: alloc.previous_allocation.to_string(),
        canary: alloc.deployment_status.as_ref().is_some_and(|d| d.canary),
    }
}

fn touched(alloc: &Allocation) -> Touched {
    Touched {
        alloc_id: alloc.id.to_string(),
        name: alloc.name.to_string(),
        namespace: alloc.namespace.to_string(),
        job_id: alloc.job_id.to_string(),
        task_group: alloc.task_group.to_string(),
        node_id: alloc.node_id.to_string(),
        node_name: alloc.node_name.to_string(),
    }
}

/// A kind of difference that may be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Allow {
    /// An allocation is placed on another node.
    PlacementMoves,
    /// More allocations are placed.
    MorePlaced,
    /// Fewer allocations are placed.
    FewerPlaced,
    /// More or other allocations of the job are stopped or replaced.
    MoreStops,
    /// Fewer allocations of the job are stopped or replaced.
    FewerStops,
    /// Other allocations of the job are updated in place.
    Updates,
    /// Fewer allocations of other jobs are evicted.
    FewerEvictions,
    /// The counts of a group differ in nothing that the other kinds name, such as allocations that stay as they are.
    Counts,
    /// The warnings about the job differ.
    Warnings,
}

impl Allow {
    /// All kinds.
    pub const ALL: &[Allow] = &[
        Allow::PlacementMoves,
        Allow::MorePlaced,
        Allow::FewerPlaced,
        Allow::MoreStops,
        Allow::FewerStops,
        Allow::Updates,
        Allow::FewerEvictions,
        Allow::Counts,
        Allow::Warnings,
    ];

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Allow::PlacementMoves => "placement-moves",
            Allow::MorePlaced => "more-placed",
            Allow::FewerPlaced => "fewer-placed",
            Allow::MoreStops => "more-stops",
            Allow::FewerStops => "fewer-stops",
            Allow::Updates => "updates",
            Allow::FewerEvictions => "fewer-evictions",
            Allow::Counts => "counts",
            Allow::Warnings => "warnings",
        }
    }

    /// The kind with that name.
    pub fn from_name(name: &str) -> Option<Allow> {
        Allow::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// One difference between a reviewed outcome and the present one.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// The job was registered, changed or removed on the servers.
    JobChanged {
        /// The modify index in the reviewed plan.
        reviewed: u64,
        /// The present one.
        present: u64,
    },
    /// The job differs from the registered one in something else, because of settings of the servers.
    DiffChanged,
    /// An allocation is placed on another node.
    Moved {
        /// The reviewed placement.
        reviewed: Placement,
        /// The present one.
        present: Placement,
    },
    /// An allocation is placed that was not.
    Placed(Placement),
    /// An allocation is not placed that was.
    NotPlaced(Placement),
    /// Another number of allocations of a group cannot be placed.
    Unplaced {
        /// The group.
        task_group: String,
        /// How many in the reviewed plan.
        reviewed: u64,
        /// How many now.
        present: u64,
    },
    /// Servers would reject another part of the plan.
    Rejected(PlanRejection),
    /// Servers would no longer reject a part of the plan.
    NotRejected(PlanRejection),
    /// An allocation of the job is stopped or replaced that was not.
    Stopped {
        /// The allocation.
        alloc: Touched,
        /// Whether it was to be updated in place.
        updated_before: bool,
    },
    /// An allocation of the job is not stopped or replaced that was.
    NotStopped {
        /// The allocation.
        alloc: Touched,
        /// Whether it is updated in place instead.
        updated_now: bool,
    },
    /// An allocation of the job is updated in place that was not.
    Updated(Touched),
    /// An allocation of the job is not updated in place that was.
    NotUpdated(Touched),
    /// An allocation of another job is evicted that was not.
    Evicted(Touched),
    /// An allocation of another job is not evicted that was.
    NotEvicted(Touched),
    /// The counts of a group differ, and nothing else about the group does.
    Counts {
        /// The group.
        task_group: String,
    },
    /// The warnings about the job differ.
    Warnings,
}

impl Difference {
    /// The kind that accepts this difference; `None`: nothing does.
    pub fn allowed_by(&self) -> Option<Allow> {
        match self {
            Difference::JobChanged { .. } | Difference::DiffChanged | Difference::Evicted(_) => None,
            Difference::Moved { .. } => Some(Allow::PlacementMoves),
            Difference::Placed(_) | Difference::NotRejected(_) => Some(Allow::MorePlaced),
            Difference::NotPlaced(_) | Difference::Rejected(_) => Some(Allow::FewerPlaced),
            Difference::Unplaced { reviewed, present, .. } if present > reviewed => Some(Allow::FewerPlaced),
            Difference::Unplaced { .. } => Some(Allow::MorePlaced),
            Difference::Stopped { .. } => Some(Allow::MoreStops),
            Difference::NotStopped { .. } => Some(Allow::FewerStops),
            Difference::Updated(_) | Difference::NotUpdated(_) => Some(Allow::Updates),
            Difference::NotEvicted(_) => Some(Allow::FewerEvictions),
            Difference::Counts { .. } => Some(Allow::Counts),
            Difference::Warnings => Some(Allow::Warnings),
        }
    }

    /// The name of the difference, for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Difference::JobChanged { .. } => "job-changed",
            Difference::DiffChanged => "diff-changed",
            Difference::Moved { .. } => "moved",
            Difference::Placed(_) => "placed",
            Difference::NotPlaced(_) => "not-placed",
            Difference::Unplaced { .. } => "unplaced",
            Difference::Rejected(_) => "rejected",
            Difference::NotRejected(_) => "not-rejected",
            Difference::Stopped { .. } => "stopped",
            Difference::NotStopped { .. } => "not-stopped",
            Difference::Updated(_) => "updated",
            Difference::NotUpdated(_) => "not-updated",
            Difference::Evicted(_) => "evicted",
            Difference::NotEvicted(_) => "not-evicted",
            Difference::Counts { .. } => "counts",
            Difference::Warnings => "warnings",
        }
    }

    /// The group of the job that it is about, if it is about one.
    fn group(&self) -> Option<&str> {
        match self {
            Difference::Moved { present, .. } => Some(&present.task_group),
            Difference::Placed(p) | Difference::NotPlaced(p) => Some(&p.task_group),
            Difference::Unplaced { task_group, .. } | Difference::Counts { task_group } => Some(task_group),
            Difference::Stopped { alloc, .. } | Difference::NotStopped { alloc, .. } => Some(&alloc.task_group),
            Difference::Updated(a) | Difference::NotUpdated(a) => Some(&a.task_group),
            Difference::JobChanged { .. }
            | Difference::DiffChanged
            | Difference::Rejected(_)
            | Difference::NotRejected(_)
            | Difference::Evicted(_)
            | Difference::NotEvicted(_)
            | Difference::Warnings => None,
        }
    }
}

/// `"web" (0a1b2c3d)`, or the ID alone.
fn node(id: &str, name: &str) -> String {
    if name.is_empty() { short_id(id).to_string() } else { format!("{} ({})", quoted(name), short_id(id)) }
}

impl Placement {
    fn node(&self) -> String {
        node(&self.node_id, &self.node_name)
    }
}

/// `allocation 0a1b2c3d "web.front[1]"`
impl fmt::Display for Touched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "allocation {} {}", short_id(&self.alloc_id), quoted(&self.name))
    }
}

/// One line for the operator.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::JobChanged { reviewed, present } => match (reviewed, present) {
                (0, present) => write!(f, "the job has been registered since (job modify index {present})"),
                (_, 0) => f.write_str("the job has been removed from the servers since"),
                _ => write!(f, "the job has been changed on the servers since: modify index {present}, not {reviewed}"),
            },
            Difference::DiffChanged => f.write_str("the job now differs from the registered job in another way"),
            Difference::Moved { reviewed, present } => {
                let (from, to) = (reviewed.node(), present.node());
                write!(f, "{} would be placed on node {to}, not on {from}", quoted(&present.name))
            }
            Difference::Placed(p) => write!(f, "{} would also be placed, on node {}", quoted(&p.name), p.node()),
            Difference::NotPlaced(p) => write!(f, "{} would not be placed on node {}", quoted(&p.name), p.node()),
            Difference::Unplaced { task_group, reviewed, present } => {
                let noun = if *present == 1 { "allocation" } else { "allocations" };
                let group = quoted(task_group);
                write!(f, "{present} {noun} of group {group} could not be placed, {reviewed} in the reviewed plan")
            }
            Difference::Rejected(r) => write!(f, "servers would reject a part of the plan: {r}"),
            Difference::NotRejected(r) => write!(f, "servers would no longer reject a part of the plan: {r}"),
            Difference::Stopped { alloc, updated_before: true } => {
                write!(f, "{alloc} would be stopped, not updated in place")
            }
            Difference::Stopped { alloc, updated_before: false } => write!(f, "{alloc} would be stopped or replaced"),
            Difference::NotStopped { alloc, updated_now: true } => {
                write!(f, "{alloc} would be updated in place, not stopped")
            }
            Difference::NotStopped { alloc, updated_now: false } => {
                write!(f, "{alloc} would not be stopped: it stays as it is or is gone")
            }
            Difference::Updated(alloc) => write!(f, "{alloc} would be updated in place"),
            Difference::NotUpdated(alloc) => {
                write!(f, "{alloc} would not be updated: it stays as it is or is gone")
            }
            Difference::Evicted(alloc) => {
                let (job, at) = (quoted(&alloc.job_id), node(&alloc.node_id, &alloc.node_name));
                write!(f, "{alloc} of job {job} would be evicted from node {at}")
            }
            Difference::NotEvicted(alloc) => {
                write!(f, "{alloc} of job {} would not be evicted", quoted(&alloc.job_id))
            }
            Difference::Counts { task_group } => {
                write!(
                    f,
                    "the counts of group {} differ, such as allocations that stay as they are",
                    quoted(task_group)
                )
            }
            Difference::Warnings => f.write_str("the warnings about the job differ"),
        }
    }
}

/// Whether a reviewed outcome is still the outcome.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// Differences that the given kinds accept.
    pub accepted: Vec<Difference>,
    /// All others.
    pub refused: Vec<Difference>,
}

impl Verdict {
    /// Whether the job may be registered.
    pub fn holds(&self) -> bool {
        self.refused.is_empty()
    }
}

/// Compares outcomes and accepts differences of these kinds.
pub fn verdict(reviewed: &Outcome, present: &Outcome, allow: &BTreeSet<Allow>) -> Verdict {
    let accepts = |d: &Difference| d.allowed_by().is_some_and(|kind| allow.contains(&kind));
    let (accepted, refused) = compare(reviewed, present).into_iter().partition(accepts);
    Verdict { accepted, refused }
}

/// All differences between a reviewed outcome and the present one; none if and only if they are equal.
pub fn compare(reviewed: &Outcome, present: &Outcome) -> Vec<Difference> {
    let mut out = Vec::new();
    let (was, is) = (reviewed.job_modify_index, present.job_modify_index);
    if (was, reviewed.job_version) != (is, present.job_version) {
        out.push(Difference::JobChanged { reviewed: was, present: is });
    } else if specification(&reviewed.diff) != specification(&present.diff) || reviewed.job_type != present.job_type {
        out.push(Difference::DiffChanged);
    }
    let evictions = Sets::new(&reviewed.evictions, &present.evictions);
    out.extend(evictions.added.into_iter().cloned().map(Difference::Evicted));
    out.extend(evictions.gone.into_iter().cloned().map(Difference::NotEvicted));
    let stops = Sets::new(&reviewed.stops, &present.stops);
    let updates = Sets::new(&reviewed.updates, &present.updates);
    // An allocation that is stopped instead of updated, or the other way, and what replaces it, is one difference.
    let ids = |list: &[&Touched]| list.iter().map(|t| t.alloc_id.clone()).collect::<BTreeSet<String>>();
    let (stopped, spared) = (ids(&stops.added), ids(&stops.gone));
    let (updated, not_updated) = (ids(&updates.added), ids(&updates.gone));
    out.extend(
        stops
            .added
            .iter()
            .map(|t| Difference::Stopped { alloc: (*t).clone(), updated_before: not_updated.contains(&t.alloc_id) }),
    );
    out.extend(
        stops
            .gone
            .iter()
            .map(|t| Difference::NotStopped { alloc: (*t).clone(), updated_now: updated.contains(&t.alloc_id) }),
    );
    let other = |t: &&&Touched, covered: &BTreeSet<String>| !covered.contains(&t.alloc_id);
    out.extend(updates.added.iter().filter(|t| other(t, &spared)).map(|t| Difference::Updated((*t).clone())));
    out.extend(updates.gone.iter().filter(|t| other(t, &stopped)).map(|t| Difference::NotUpdated((*t).clone())));
    let by_node = matches!(present.job_type, JobType::System | JobType::Sysbatch);
    let placed = Sets::new(&reviewed.placements, &present.placements);
    let gone = placed.gone.into_iter().filter(|p| p.previous.is_empty() || !spared.contains(&p.previous)).collect();
    let added = placed.added.into_iter().filter(|p| p.previous.is_empty() || !stopped.contains(&p.previous)).collect();
    placements(gone, added, by_node, &mut out);
    unplaced(reviewed, present, &mut out);
    let rejections = |a: &Outcome, b: &Outcome| -> Vec<PlanRejection> {
        a.rejections.iter().filter(|r| !b.rejections.contains(r)).cloned().collect()
    };
    out.extend(rejections(present, reviewed).into_iter().map(Difference::Rejected));
    out.extend(rejections(reviewed, present).into_iter().map(Difference::NotRejected));
    counts(reviewed, present, &mut out);
    if reviewed.warnings != present.warnings {
        out.push(Difference::Warnings);
    }
    out
}

/// The entries of two sorted lists that are only in one of them.
struct Sets<'a, T> {
    gone: Vec<&'a T>,
    added: Vec<&'a T>,
}

impl<'a, T: Ord> Sets<'a, T> {
    fn new(reviewed: &'a [T], present: &'a [T]) -> Sets<'a, T> {
        let mut balance: BTreeMap<&T, i64> = BTreeMap::new();
        present.iter().for_each(|item| *balance.entry(item).or_default() += 1);
        reviewed.iter().for_each(|item| *balance.entry(item).or_default() -= 1);
        let (mut gone, mut added) = (Vec::new(), Vec::new());
        for (item, n) in balance {
            let side = if n < 0 { &mut gone } else { &mut added };
            side.extend((0..n.unsigned_abs()).map(|_| item));
        }
        Sets { gone, added }
    }
}

/// Pairs placements of the same name that have other nodes; those of system jobs belong to their nodes.
fn placements(gone: Vec<&Placement>, added: Vec<&Placement>, by_node: bool, out: &mut Vec<Difference>) {
    let mut waiting: BTreeMap<(&str, &str), Vec<&Placement>> = BTreeMap::new();
    for p in gone.into_iter().rev() {
        waiting.entry((&p.task_group, &p.name)).or_default().push(p);
    }
    for present in added {
        let same_name = waiting.get_mut(&(present.task_group.as_str(), present.name.as_str()));
        match same_name.filter(|_| !by_node).and_then(Vec::pop) {
            // What it replaces, or that it is a canary, differs although the node is the same.
            Some(reviewed) if reviewed.node_id == present.node_id => {
                out.push(Difference::NotPlaced(reviewed.clone()));
                out.push(Difference::Placed(present.clone()));
            }
            Some(reviewed) => out.push(Difference::Moved { reviewed: reviewed.clone(), present: present.clone() }),
            None => out.push(Difference::Placed(present.clone())),
        }
    }
    out.extend(waiting.into_values().flatten().cloned().map(Difference::NotPlaced));
}

fn unplaced(reviewed: &Outcome, present: &Outcome, out: &mut Vec<Difference>) {
    let groups: BTreeSet<&String> = reviewed.unplaced.keys().chain(present.unplaced.keys()).collect();
    for group in groups {
        let of = |outcome: &Outcome| outcome.unplaced.get(group).copied();
        if of(reviewed) != of(present) {
            out.push(Difference::Unplaced {
                task_group: group.clone(),
                reviewed: of(reviewed).unwrap_or_default(),
                present: of(present).unwrap_or_default(),
            });
        }
    }
}

/// Groups whose counts differ, unless another difference is about the group. The diff shows some of the counts too.
fn counts(reviewed: &Outcome, present: &Outcome, out: &mut Vec<Difference>) {
    let reported: BTreeSet<String> = out.iter().filter_map(|d| d.group().map(String::from)).collect();
    let shown = |outcome: &Outcome| -> BTreeMap<String, Option<BTreeMap<String, u64>>> {
        outcome.diff.task_groups.iter().map(|g| (g.name.clone(), g.updates.clone())).collect()
    };
    let (shown_then, shown_now) = (shown(reviewed), shown(present));
    let groups: BTreeSet<&String> = reviewed.counts.keys().chain(present.counts.keys()).collect();
    for group in groups.into_iter().chain(shown_now.keys()).collect::<BTreeSet<_>>() {
        let same =
            reviewed.counts.get(group) == present.counts.get(group) && shown_then.get(group) == shown_now.get(group);
        if !same && !reported.contains(group) {
            out.push(Difference::Counts { task_group: group.clone() });
        }
    }
}

/// The diff without the counts that the scheduler adds to it.
fn specification(diff: &JobDiff) -> JobDiff {
    let mut diff = diff.clone();
    diff.task_groups.iter_mut().for_each(|group| group.updates = None);
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement(index: u64, node: &str, previous: &str) -> Placement {
        Placement {
            task_group: "g".into(),
            name: format!("web.g[{index}]"),
            node_id: node.into(),
            previous: previous.into(),
            ..Placement::default()
        }
    }

    fn touched(id: &str, job: &str) -> Touched {
        Touched {
            alloc_id: id.into(),
            name: format!("{job}.g[0]"),
            job_id: job.into(),
            task_group: "g".into(),
            node_id: "n1".into(),
            ..Touched::default()
        }
    }

    /// Names, kinds and sentences of the differences.
    fn findings(reviewed: &Outcome, present: &Outcome) -> Vec<(&'static str, &'static str, String)> {
        let kind = |d: &Difference| d.allowed_by().map_or("never", Allow::name);
        compare(reviewed, present).iter().map(|d| (d.name(), kind(d), d.to_string())).collect()
    }

    fn names(reviewed: &Outcome, present: &Outcome) -> Vec<(&'static str, &'static str)> {
        findings(reviewed, present).into_iter().map(|(name, kind, _)| (name, kind)).collect()
    }

    #[test]
    fn placements_move_appear_and_disappear() {
        let outcome = |placements: Vec<Placement>| Outcome { placements, ..Outcome::default() };
        let (a, b) = (outcome(vec![placement(0, "n1", "")]), outcome(vec![placement(0, "n2", "")]));
        let moved = "\"web.g[0]\" would be placed on node n2, not on n1".to_string();
        assert_eq!(findings(&a, &b), [("moved", "placement-moves", moved)]);
        let both = outcome(vec![placement(0, "n1", ""), placement(1, "n1", "")]);
        assert_eq!(names(&a, &both), [("placed", "more-placed")]);
        assert_eq!(names(&both, &a), [("not-placed", "fewer-placed")]);
        // Two copies of one name are two placements.
        assert_eq!(names(&a, &outcome(vec![placement(0, "n1", ""); 2])), [("placed", "more-placed")]);
        // Allocations of system jobs belong to their nodes.
        let system = |o: &Outcome| Outcome { job_type: JobType::System, ..o.clone() };
        assert_eq!(names(&system(&a), &system(&b)), [("placed", "more-placed"), ("not-placed", "fewer-placed")]);
    }

    #[test]
    fn what_replaces_a_stopped_allocation_is_no_difference_of_its_own() {
        let updated = Outcome { updates: vec![touched("a1", "web")], ..Outcome::default() };
        let replaced = Outcome {
            stops: vec![touched("a1", "web")],
            placements: vec![placement(0, "n2", "a1")],
            ..Outcome::default()
        };
        assert_eq!(names(&updated, &replaced), [("stopped", "more-stops")]);
        assert_eq!(
            findings(&updated, &replaced)[0].2,
            "allocation a1 \"web.g[0]\" would be stopped, not updated in place"
        );
        assert_eq!(names(&replaced, &updated), [("not-stopped", "fewer-stops")]);
        assert_eq!(names(&Outcome::default(), &updated), [("updated", "updates")]);
        let unplaced = Outcome { placements: Vec::new(), unplaced: [("g".into(), 1)].into(), ..replaced.clone() };
        assert_eq!(names(&replaced, &unplaced), [("not-placed", "fewer-placed"), ("unplaced", "fewer-placed")]);
    }

    #[test]
    fn evictions_and_changes_of_the_job_are_never_accepted() {
        let all: BTreeSet<Allow> = Allow::ALL.iter().copied().collect();
        let evicting = |id: &str| Outcome { evictions: vec![touched(id, "db")], ..Outcome::default() };
        let none = Outcome::default();
        assert_eq!(names(&none, &evicting("a")), [("evicted", "never")]);
        assert_eq!(names(&evicting("a"), &none), [("not-evicted", "fewer-evictions")]);
        assert_eq!(names(&evicting("a"), &evicting("b")), [("evicted", "never"), ("not-evicted", "fewer-evictions")]);
        let registered = Outcome { job_modify_index: 7, job_version: Some(0), ..none.clone() };
        assert_eq!(findings(&none, &registered)[0].2, "the job has been registered since (job modify index 7)");
        assert_eq!(findings(&registered, &none)[0].2, "the job has been removed from the servers since");
        let mut edited = none.clone();
        edited.diff.r#type = encamp_model::DiffType::Edited;
        assert_eq!(names(&none, &edited), [("diff-changed", "never")]);
        for present in [evicting("a"), registered, edited] {
            assert!(!verdict(&none, &present, &all).holds());
        }
        assert!(verdict(&evicting("a"), &none, &all).holds());
        assert!(!verdict(&evicting("a"), &none, &BTreeSet::new()).holds());
    }

    #[test]
    fn counts_and_warnings_are_told_when_nothing_else_is() {
        let counting = |ignore: u64, place: u64| Outcome {
            counts: [("g".to_string(), DesiredUpdates { ignore, place, ..DesiredUpdates::default() })].into(),
            ..Outcome::default()
        };
        assert_eq!(names(&counting(1, 0), &counting(2, 0)), [("counts", "counts")]);
        let placing = Outcome { placements: vec![placement(0, "n1", "")], ..counting(1, 1) };
        assert_eq!(names(&counting(1, 0), &placing), [("placed", "more-placed")]);
        let warned = Outcome { warnings: "1 warning".into(), ..Outcome::default() };
        assert_eq!(names(&warned, &Outcome::default()), [("warnings", "warnings")]);
        let rejected = Outcome { rejections: vec![PlanRejection::default()], ..Outcome::default() };
        assert_eq!(names(&Outcome::default(), &rejected), [("rejected", "fewer-placed")]);
        assert_eq!(names(&rejected, &Outcome::default()), [("not-rejected", "more-placed")]);
    }

    #[test]
    fn kinds_have_names() {
        for kind in Allow::ALL {
            assert_eq!(Allow::from_name(kind.name()), Some(*kind));
        }
        assert_eq!(Allow::from_name("evictions"), None);
    }
}
