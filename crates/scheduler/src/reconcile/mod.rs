//! The cluster reconciler of service and batch jobs: compares the desired with the actual allocations of a job
//! (`docs/spec/reconciliation.md §5`). Pure: everything, including the clock, is an argument.
//!
//! The sections are those of `docs/spec/reconciliation.md`:
//!
//! - `group`: reconciles one task group (`§5.3`).
//! - `classify`: classifies allocations by the state of their nodes (`§5.4`), and finds those that may be rescheduled
//!   (`§5.5`).
//! - `disconnect`: allocations whose node disconnected or reconnected (`§5.6-5.8`), follow-up evaluations (`§6.5`).
//! - `stops`: scaling down (`§5.10`). `placements`: placements, and their rate (`§5.12-5.15`).
//! - [`names`]: the allocation names of a group. `set`: sets of a group's allocations.
//!
//! Where Nomad iterates hash maps, groups are ordered by name, allocations and deployments by ID.

mod classify;
mod disconnect;
mod group;
pub mod names;
mod placements;
mod set;
mod stops;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::common::promotion_text;
use super::tainted::TaintedNodes;
use encamp_model::*;
pub use names::NameIndex;

/// The input of the reconciler.
pub struct Input<'a> {
    /// The current job; `None` when it was purged.
    pub job: Option<&'a Job>,
    /// The job's ID.
    pub job_id: &'a str,
    /// The batch scheduler's rules apply.
    pub batch: bool,
    /// The job's latest deployment (`None` for batch).
    pub deployment: Option<Deployment>,
    /// All allocations of the job, by ID.
    pub allocs: Vec<Arc<Allocation>>,
    /// The evaluation.
    pub eval_id: &'a str,
    /// Its priority, copied to follow-up evaluations and new deployments.
    pub eval_priority: i64,
    /// Nodes that are gone, down, disconnected or draining.
    pub tainted: &'a TaintedNodes,
    /// Unix nanoseconds.
    pub now: i64,
}

/// The effect of a new job version on an allocation (`docs/spec/reconciliation.md §7`).
#[derive(Debug)]
pub enum UpdateCheck {
    /// Nothing to do.
    Ignore,
    /// It has to be replaced.
    Destructive,
    /// It goes on as this.
    InPlace(Box<Allocation>),
}

/// Tells what the current job means for an allocation of the given group.
pub(crate) type CheckUpdate<'a> = dyn FnMut(&Arc<Allocation>, &TaskGroup) -> UpdateCheck + 'a;

/// An allocation to stop.
#[derive(Debug, Clone)]
pub struct Stop {
    /// The allocation.
    pub alloc: Arc<Allocation>,
    /// Its desired description.
    pub description: &'static str,
    /// Its new client status, if set.
    pub client_status: ClientStatus,
    /// Its new follow-up evaluation, if not empty.
    pub followup_eval: String,
}

/// An allocation to place.
#[derive(Debug, Clone)]
pub struct Placement {
    /// Its name.
    pub name: String,
    /// Its task group.
    pub group: Arc<str>,
    /// The allocation it replaces.
    pub previous: Option<Arc<Allocation>>,
    /// It replaces a failed allocation, which counts as an attempt.
    pub reschedule: bool,
    /// It is a canary.
    pub canary: bool,
    /// It replaces a stable allocation while canaries are not promoted, so it runs the stable version.
    pub downgrade: bool,
    /// Version of the allocation it replaces.
    pub min_version: u64,
}

/// The result of the reconciler. Lists are ordered by group.
#[derive(Debug, Default)]
pub struct Results {
    /// Destructive updates: the previous allocation stops when the new one has a node.
    pub destructive: Vec<Placement>,
    /// New allocations.
    pub place: Vec<Placement>,
    /// Allocations to stop.
    pub stop: Vec<Stop>,
    /// Allocations that go on with the new job version.
    pub in_place: Vec<Allocation>,
    /// Allocations that only get a follow-up evaluation.
    pub attribute_updates: Vec<Allocation>,
    /// Allocations whose node went away: client status `unknown`.
    pub disconnect_updates: Vec<Arc<Allocation>>,
    /// Allocations whose node came back.
    pub reconnect_updates: Vec<Allocation>,
    /// A new deployment.
    pub deployment: Option<Deployment>,
    /// Changes of existing deployments.
    pub deployment_updates: Vec<DeploymentStatusUpdate>,
    /// Delayed evaluations to create, in order.
    pub follow_ups: Vec<Evaluation>,
    /// Counts per group.
    pub desired: BTreeMap<String, DesiredUpdates>,
    /// Names per group, for names that two allocations have.
    pub names: BTreeMap<String, NameIndex>,
}

/// A run of the reconciler.
struct Reconciler<'a> {
    input: Input<'a>,
    check: &'a mut CheckUpdate<'a>,
    new_id: &'a mut dyn FnMut() -> String,
    /// A deployment of another version, or one that is over.
    old: Option<Deployment>,
    /// The deployment of this version, perhaps made in this run.
    current: Option<Deployment>,
    /// `current` was made in this run.
    created: bool,
    paused: bool,
    failed: bool,
    out: Results,
}

/// Compares what the job wants with what it has (`docs/spec/reconciliation.md §5.1`).
pub fn reconcile<'a>(
    input: Input<'a>,
    check: &'a mut CheckUpdate<'a>,
    new_id: &'a mut dyn FnMut() -> String,
) -> Results {
    let mut r = Reconciler::new(input, check, new_id);
    r.run();
    r.out
}

impl<'a> Reconciler<'a> {
    fn new(input: Input<'a>, check: &'a mut CheckUpdate<'a>, new_id: &'a mut dyn FnMut() -> String) -> Self {
        Reconciler {
            input,
            check,
            new_id,
            old: None,
            current: None,
            created: false,
            paused: false,
            failed: false,
            out: Results::default(),
        }
    }

    fn run(&mut self) {
        let mut groups: BTreeMap<String, Vec<Arc<Allocation>>> = BTreeMap::new();
        for a in std::mem::take(&mut self.input.allocs) {
            match groups.get_mut(&*a.task_group) {
                Some(list) => list.push(a),
                None => {
                    groups.insert(a.task_group.to_string(), vec![a]);
                }
            }
        }
        for g in self.input.job.iter().flat_map(|j| &j.task_groups) {
            groups.entry(g.name.clone()).or_default();
        }
        let live = self.input.job.filter(|j| !j.stop);
        self.triage(live);
        let Some(job) = live else {
            for (name, mut allocs) in groups {
                allocs.retain(|a| !a.terminal());
                let stop = self.stop_all(allocs);
                self.out.desired.insert(name, DesiredUpdates { stop, ..Default::default() });
            }
            return;
        };
        self.paused = self.current.as_ref().is_some_and(|d| {
            matches!(d.status, DeploymentStatus::Paused | DeploymentStatus::Pending | DeploymentStatus::Initializing)
        });
        self.failed = self.current.as_ref().is_some_and(|d| d.status == DeploymentStatus::Failed);
        let mut complete = true;
        for (name, allocs) in groups {
            complete &= self.group(job, &name, allocs);
        }
        self.finish(complete);
    }

    /// Tells whether the latest deployment is this job version's, and cancels it if it is no longer wanted.
    fn triage(&mut self, live: Option<&Job>) {
        let Some(d) = self.input.deployment.take() else { return };
        let cancel = match live {
            None => Some("Cancelled because job is stopped"),
            Some(j) if d.job_create_index != j.create_index || d.job_version != j.version => {
                Some("Cancelled due to newer version of job")
            }
            Some(_) => None,
        };
        if let Some(description) = cancel {
            if d.active() {
                self.update_deployment(&d.id, DeploymentStatus::Cancelled, description);
            }
            self.old = Some(d);
        } else if d.status == DeploymentStatus::Successful {
            self.old = Some(d);
        } else {
            self.current = Some(d);
        }
    }

    fn update_deployment(&mut self, id: &str, status: DeploymentStatus, description: &str) {
        self.out.deployment_updates.push(DeploymentStatusUpdate {
            deployment_id: id.into(),
            status,
            status_description: description.into(),
        });
    }

    fn finish(&mut self, complete: bool) {
        if complete && let Some(id) = self.current.as_ref().map(|d| d.id.clone()) {
            self.update_deployment(&id, DeploymentStatus::Successful, "Deployment completed successfully");
        }
        if !self.created {
            return;
        }
        self.out.deployment = self.current.take().map(|mut d| {
            if d.requires_promotion() {
                d.status_description = promotion_text(&d).into();
            }
            d
        });
    }
}
