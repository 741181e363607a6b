//! The effects of a plan in numbers, for the summary of `job plan` (`docs/spec/cli.md §7.6`): what the servers do when
//! the job is registered, and which allocations are replaced later.
//!
//! The numbers are the difference between two states, that in which the plan was made and that which its accepted parts
//! leave. The counts of the response ([`DesiredUpdates`]) are intentions: they include allocations that cannot be
//! placed, and of a system job, all nodes that are eligible.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use encamp_model::*;
use encamp_state::{AllocEntry, State};

use super::apply::apply;
use super::dry_run::DryRun;

/// The effects of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// The effects on the task groups of the job, also on those that the job no longer has.
    pub groups: BTreeMap<String, GroupTally>,
    /// The number of evicted allocations, by the ID of their job.
    pub evicted: BTreeMap<String, u64>,
    /// Why a registration of the job places nothing by itself.
    pub launched: Option<Launched>,
    /// Whether the replacement of outdated allocations was simulated to its end.
    pub simulated: bool,
}

/// What launches the runs of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launched {
    /// Its schedule.
    Periodically,
    /// A dispatch.
    OnDispatch,
}

/// The effects of a plan on one task group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupTally {
    /// New allocations that replace no running one, without canaries.
    pub placed: u64,
    /// New allocations that are canaries.
    pub canaries: u64,
    /// Running allocations that are stopped and replaced.
    pub replaced: u64,
    /// Allocations that are updated while they run on.
    pub updated: u64,
    /// Running allocations that are stopped without a replacement.
    pub stopped: u64,
    /// Allocations that become unknown because their node is disconnected.
    pub disconnected: u64,
    /// Allocations that cannot be placed.
    pub unplaced: u64,
    /// Running allocations whose replacement cannot be placed, which is why they continue to run.
    pub unreplaced: u64,
    /// New or updated allocations that the servers would reject.
    pub rejected: u64,
    /// Failed allocations that are rescheduled after a delay.
    pub rescheduled_later: u64,
    /// Allocations of older versions that run on for now, without [`GroupTally::unreplaced`].
    pub outdated: u64,
    /// What becomes of them.
    pub next: Next,
    /// Those of them that cannot be replaced when it is their turn, according to a simulation of the rollout.
    pub stuck: u64,
}

/// When the outdated allocations of a group are replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Next {
    /// As new allocations become healthy.
    Steps(Step),
    /// After the canaries are promoted.
    Promotion {
        /// Whether the deployment promotes itself when the canaries are healthy.
        automatic: bool,
        /// The steps after it.
        step: Step,
    },
    /// Once the allocations that cannot be placed now are placed and healthy.
    Placement,
    /// Once the paused deployment is resumed.
    Resumption,
    /// Not by this version of the job: its deployment has failed, or there is none.
    #[default]
    Never,
}

/// The number of allocations that may be replaced at a time; 0: any number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub u64);

impl Tally {
    /// The effects of a dry run at `now` (Unix nanoseconds).
    pub fn of(run: &DryRun, now: i64) -> Tally {
        let accepted = run.accepted();
        let after = apply(&run.state, &accepted, now);
        let mut tally = Tally { launched: launched(&run.job), ..Tally::default() };
        for stub in accepted.node_preemptions.values().flatten() {
            let job = run.state.alloc(&stub.id).map_or(&stub.job_id, |e| &e.alloc.job_id);
            add(tally.evicted.entry(job.to_string()).or_default(), 1);
        }
        tally.count_changes(&run.job, &run.state, &after);
        tally.count_failures(run, &accepted);
        tally.foresee(&run.job, &after);
        tally
    }

    /// The effects as far as the response of servers tells them: they do not say which allocations are replaced later.
    pub fn of_response(response: &JobPlanResponse, job: &api::Job) -> Tally {
        let system = matches!(
            job.r#type.as_deref().map_or(JobType::Service, JobType::from),
            JobType::System | JobType::Sysbatch
        );
        let launched = if job.parameterized_job.is_some() {
            Some(Launched::OnDispatch)
        } else {
            job.periodic.as_ref().filter(|p| p.enabled != Some(false)).map(|_| Launched::Periodically)
        };
        let mut tally = Tally { launched, ..Tally::default() };
        let annotations = response.annotations.iter();
        for stub in annotations.clone().flat_map(|a| &a.preempted_allocs) {
            add(tally.evicted.entry(stub.job_id.to_string()).or_default(), 1);
        }
        for (name, desired) in annotations.flat_map(|a| &a.desired_tg_updates) {
            let failures = response.failed_tg_allocs.get(name).map_or(0, |m| m.failures().unsigned_abs());
            tally.groups.insert(name.clone(), of_counts(desired, failures, system));
        }
        for (name, n) in response.plan_rejections.iter().flat_map(|r| &r.task_groups) {
            let group = tally.groups.entry(name.clone()).or_default();
            add(&mut group.rejected, *n);
            group.placed = group.placed.saturating_sub(*n);
        }
        tally
    }

    /// The number of steps that replace the outdated allocations; 0: the rollout need not be simulated.
    pub fn steps(&self) -> u64 {
        let steps = |g: &GroupTally| match g.next {
            Next::Steps(step) | Next::Promotion { step, .. } => g.outdated.div_ceil(step.0.max(1)),
            Next::Placement | Next::Resumption | Next::Never => 0,
        };
        self.groups.values().map(steps).max().unwrap_or(0)
    }

    /// Takes over the result of a simulated rollout: how many outdated allocations it leaves in each group.
    pub fn simulated(&mut self, left: &BTreeMap<String, u64>) {
        self.simulated = true;
        for (name, group) in &mut self.groups {
            if matches!(group.next, Next::Steps(_) | Next::Promotion { .. }) {
                // Where no step changes the group, all of them are left.
                group.stuck = left.get(name).map_or(group.outdated, |n| (*n).min(group.outdated));
            }
        }
    }

    /// The sum of a count over all groups.
    pub fn sum(&self, count: impl Fn(&GroupTally) -> u64) -> u64 {
        self.groups.values().map(count).fold(0, u64::saturating_add)
    }

    /// The number of evicted allocations.
    pub fn evictions(&self) -> u64 {
        self.evicted.values().copied().fold(0, u64::saturating_add)
    }

    fn group(&mut self, name: &str) -> &mut GroupTally {
        self.groups.entry(name.to_string()).or_default()
    }

    /// The differences between the two states.
    fn count_changes(&mut self, job: &Job, before: &State, after: &State) {
        let old: HashMap<String, Arc<AllocEntry>> =
            before.allocs_of_job(&job.namespace, &job.id).into_iter().map(|e| (e.alloc.id.to_string(), e)).collect();
        let ran = |id: &str| old.get(id).is_some_and(|e| !e.phase.terminal());
        let new: Vec<Arc<AllocEntry>> = after.allocs_of_job(&job.namespace, &job.id);
        let ended: BTreeSet<&str> =
            new.iter().filter(|e| e.phase.terminal()).map(|e| e.alloc.id.as_str()).filter(|id| ran(id)).collect();
        let mut replaced: BTreeSet<&str> = BTreeSet::new();
        for a in new.iter().map(|e| &e.alloc).filter(|a| !old.contains_key(&*a.id)) {
            let group = self.group(&a.task_group);
            if ended.contains(a.previous_allocation.as_str()) && replaced.insert(&a.previous_allocation) {
                add(&mut group.replaced, 1);
            } else if a.is_canary() {
                add(&mut group.canaries, 1);
            } else {
                add(&mut group.placed, 1);
            }
        }
        for e in &new {
            let Some(was) = old.get(&*e.alloc.id).filter(|was| !was.phase.terminal()) else { continue };
            let group = self.group(&e.alloc.task_group);
            if e.phase.terminal() {
                add(&mut group.stopped, u64::from(!replaced.contains(e.alloc.id.as_str())));
                continue;
            }
            let became =
                e.alloc.client_status == ClientStatus::Unknown && was.alloc.client_status != ClientStatus::Unknown;
            add(&mut group.disconnected, u64::from(became));
            add(&mut group.updated, u64::from(outdated(&was.alloc, job) && !outdated(&e.alloc, job)));
        }
    }

    /// What the plan wants and does not achieve.
    fn count_failures(&mut self, run: &DryRun, accepted: &Plan) {
        let is_new = |a: &&Arc<Allocation>| run.state.alloc(&a.id).is_none();
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for a in run.plan.node_allocation.values().flatten().filter(is_new) {
            add(found.entry(&a.task_group).or_default(), 1);
        }
        let system = matches!(run.job.r#type, JobType::System | JobType::Sysbatch);
        let desired = run.plan.annotations.as_ref().map(|a| &a.desired_tg_updates);
        for (name, metric) in run.failed_tg_allocs() {
            let failures = metric.failures().unsigned_abs();
            let updates = desired.and_then(|d| d.get(name)).map_or(0, |d| d.destructive_update);
            // Destructive updates come first, and after the first failure nothing else of the group is placed.
            let missed = updates.saturating_sub(found.get(name.as_str()).copied().unwrap_or(0));
            let group = self.group(name);
            group.unreplaced = if system { 0 } else { missed.min(failures) };
            group.unplaced = failures.saturating_sub(group.unreplaced);
        }
        for (node, allocs) in &run.plan.node_allocation {
            if !accepted.node_allocation.contains_key(node) {
                allocs.iter().for_each(|a| add(&mut self.group(&a.task_group).rejected, 1));
            }
        }
        for (name, updates) in desired.into_iter().flatten().filter(|(_, updates)| updates.reschedule_later > 0) {
            self.group(name).rescheduled_later = updates.reschedule_later;
        }
    }

    /// What becomes of allocations that are not of this version.
    fn foresee(&mut self, job: &Arc<Job>, after: &State) {
        if job.stop {
            return;
        }
        let latest = after.latest_deployment(&job.namespace, &job.id);
        let deployment = latest.filter(|d| d.job_version == job.version && d.job_create_index == job.create_index);
        let allocs = after.allocs_of_job(&job.namespace, &job.id);
        for task_group in &job.task_groups {
            let live = || allocs.iter().filter(|e| e.alloc.task_group == task_group.name && !e.phase.terminal());
            let known = |e: &&Arc<AllocEntry>| e.alloc.client_status != ClientStatus::Unknown;
            let running = live().filter(known).filter(|e| outdated(&e.alloc, job)).count() as u64;
            if running == 0 {
                continue;
            }
            let group = self.group(&task_group.name);
            group.outdated = running.saturating_sub(group.unreplaced);
            let unhealthy = deployment
                .as_ref()
                .is_some_and(|d| live().any(|e| e.alloc.deployment_id == d.id && e.alloc.health() == Some(false)));
            group.next = next(deployment.as_deref(), task_group, job, group, unhealthy);
        }
    }
}

fn add(sum: &mut u64, n: u64) {
    *sum = sum.saturating_add(n);
}

fn launched(job: &Job) -> Option<Launched> {
    let kind = if job.is_parameterized() { Launched::OnDispatch } else { Launched::Periodically };
    (job.is_template() && !job.stop).then_some(kind)
}

/// Whether an allocation is not of the job's present version.
fn outdated(a: &Allocation, job: &Job) -> bool {
    match &a.job {
        Some(old) => (old.create_index, old.version) != (job.create_index, job.version),
        None => a.job_version() != Some(job.version),
    }
}

/// When outdated allocations of a group are replaced. `deployment` is that of the job's present version.
fn next(
    deployment: Option<&Deployment>,
    task_group: &TaskGroup,
    job: &Job,
    tally: &GroupTally,
    unhealthy: bool,
) -> Next {
    let Some(d) = deployment.filter(|d| d.active()) else { return Next::Never };
    let state = d.task_groups.get(&task_group.name).and_then(Option::as_ref);
    if d.status == DeploymentStatus::Paused {
        return Next::Resumption;
    }
    let system = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    let most = task_group.update.as_ref().map_or(0, |u| u.max_parallel).max(0).unsigned_abs();
    let canarying = state.is_some_and(|s| s.desired_canaries > 0 && !s.promoted);
    // Allocations that are missing are placed first, within the same limit.
    let held_up = !system && (tally.unreplaced > 0 || (most > 0 && tally.unplaced >= most));
    match () {
        () if unhealthy => Next::Never,
        () if held_up || (canarying && tally.unplaced > 0) => Next::Placement,
        () if canarying => Next::Promotion { automatic: d.has_auto_promote(), step: Step(most) },
        () => Next::Steps(Step(most)),
    }
}

/// The effects on a group by the counts of a response.
fn of_counts(d: &DesiredUpdates, failures: u64, system: bool) -> GroupTally {
    let mut group = GroupTally {
        canaries: d.canary,
        updated: d.in_place_update,
        disconnected: d.disconnect,
        rescheduled_later: d.reschedule_later,
        ..GroupTally::default()
    };
    if system {
        // The count of places is that of eligible nodes, whatever runs there.
        let there = d.ignore.saturating_add(d.in_place_update).saturating_add(d.destructive_update);
        group.placed = d.place.saturating_sub(there);
        group.replaced = if d.canary > 0 { 0 } else { d.destructive_update };
        group.stopped = d.stop;
        group.unplaced = failures;
        return group;
    }
    let others = d.place.saturating_add(d.canary).saturating_add(d.migrate);
    group.unreplaced = failures.saturating_sub(others);
    group.unplaced = failures.saturating_sub(group.unreplaced);
    group.stopped = d.stop.saturating_sub(d.reschedule_now);
    // Migrations are placed last.
    let stranded = group.unplaced.min(d.migrate);
    group.replaced = d.destructive_update.saturating_sub(group.unreplaced).saturating_add(d.migrate - stranded);
    add(&mut group.stopped, stranded);
    group.placed = d.place.saturating_sub(group.unplaced - stranded);
    group
}
