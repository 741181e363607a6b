//! Predicts how a job would be rolled out: which steps the servers would take until its deployment ends
//! (`docs/spec/server.md §13`, `docs/spec/cli.md §7.8`).
//!
//! The prediction runs the code of the servers - state machine, evaluation broker, scheduler, plan check, deployment
//! watcher - on a copy of the state, with a clock of its own. Clients are assumed to start and stop allocations at once,
//! and each new allocation is assumed to become healthy after `min_healthy_time`. The durations are therefore the
//! shortest possible ones.
//!
//! - This file: what a prediction consists of. `simulation`: how it is made.

mod simulation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use encamp_model::Job;
use encamp_ops::Refusal;
use encamp_plan::evaluate::Made;
use encamp_scheduler::ScheduleError;
use encamp_state::State;

/// More evaluations than that are not made.
const MOST_EVALUATIONS: usize = 10_000;

/// The series of the IDs of new objects: they differ from those of other plans.
const SERIES: u16 = 3;

/// What sets off a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The job is registered.
    Registration,
    /// Allocations became healthy.
    Health,
    /// All canaries are healthy, and the deployment promotes itself.
    Promotion,
    /// All canaries are healthy; the deployment waits until an operator promotes it, which is assumed to happen at once.
    ManualPromotion,
    /// Capacity became available, or a follow-up evaluation is due.
    Capacity,
    /// The deployment failed, and the job goes back to an older version.
    Rollback,
}

/// What a step does to a task group, and what runs right after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct GroupStep {
    /// New allocations, canaries included.
    pub placed: usize,
    /// New allocations that are canaries.
    pub canaries: usize,
    /// Stopped allocations.
    pub stopped: usize,
    /// Allocations that are updated while they run on.
    pub updated: usize,
    /// Allocations that no node takes.
    pub unplaced: i64,
    /// Right after the step: allocations of older versions that run.
    pub old: usize,
    /// Right after the step: healthy allocations of the new version.
    pub healthy: usize,
    /// Right after the step: allocations of the new version that are not healthy yet.
    pub starting: usize,
}

impl GroupStep {
    /// The allocations that can serve right after the step.
    pub fn serving(&self) -> usize {
        self.old + self.healthy
    }

    /// The allocations that run right after the step.
    pub fn running(&self) -> usize {
        self.old + self.healthy + self.starting
    }

    fn changes(&self) -> bool {
        self.placed + self.stopped + self.updated > 0 || self.unplaced > 0
    }
}

/// Allocations of another job that a step evicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Evicted {
    /// The namespace of the job.
    pub namespace: String,
    /// The job.
    #[serde(rename = "JobID")]
    pub job_id: String,
    /// How many.
    pub allocations: usize,
}

/// A step: one plan that servers carry out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Step {
    /// Nanoseconds since the registration.
    pub at: i64,
    /// What sets it off.
    pub cause: Cause,
    /// The groups it changes.
    pub groups: BTreeMap<String, GroupStep>,
    /// The jobs that lose allocations.
    pub evicted: Vec<Evicted>,
}

/// Resources of all allocations of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Need {
    /// Number of allocations.
    #[serde(rename = "Allocations")]
    pub allocations: usize,
    /// MHz.
    #[serde(rename = "CPU")]
    pub cpu: i64,
    /// MB.
    #[serde(rename = "MemoryMB")]
    pub memory: i64,
}

/// How a rollout ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "Status", content = "Description")]
pub enum End {
    /// The deployment is successful, or, without a deployment, everything is placed.
    Complete,
    /// The deployment fails, for this reason.
    Failed(String),
    /// Nothing more happens, although allocations are unplaced.
    Unplaced,
    /// The deployment is paused or never ends; its description.
    Waiting(String),
}

/// The prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Rollout {
    /// The steps in their order.
    pub steps: Vec<Step>,
    /// How it ends.
    pub end: End,
    /// Nanoseconds until it ends; times of waiting for operators are not included.
    pub duration: i64,
    /// Whether the servers make a deployment of it.
    pub deployment: bool,
    /// The count of each group; of system jobs, the number of nodes.
    pub counts: BTreeMap<String, i64>,
    /// The fewest allocations of each group that serve at any time.
    pub lowest: BTreeMap<String, usize>,
    /// What the job uses before the rollout.
    pub before: Need,
    /// What it uses at most at any time, with allocations that are about to stop.
    pub peak: Need,
    /// Whether an operator has to tell which allocations are healthy.
    pub manual_health: bool,
}

impl Rollout {
    /// The number of allocations of older versions that run at the end, by group; groups that no step changes are
    /// missing.
    pub fn left(&self) -> BTreeMap<String, u64> {
        let steps = self.steps.iter().flat_map(|step| &step.groups);
        steps.map(|(group, step)| (group.clone(), u64::try_from(step.old).unwrap_or(u64::MAX))).collect()
    }
}

/// Why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum RolloutError {
    /// The state machine refuses a write.
    #[error("servers would refuse a step of the rollout: {0:?}")]
    Refused(Refusal),
    /// The scheduler decides nothing.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// The rollout does not end.
    #[error("the rollout has not ended after {0} evaluations")]
    Endless(usize),
}

/// Predicts the rollout of an admitted job on a state, at a time in Unix nanoseconds.
///
/// # Errors
/// See [`RolloutError`].
pub fn rollout(state: &State, job: &Arc<Job>, now: i64) -> Result<Rollout, RolloutError> {
    rollout_within(state, job, now, MOST_EVALUATIONS)
}

/// The same with at most so many evaluations.
///
/// # Errors
/// See [`RolloutError`].
pub fn rollout_within(
    state: &State,
    job: &Arc<Job>,
    now: i64,
    most_evaluations: usize,
) -> Result<Rollout, RolloutError> {
    simulation::Simulation::new(state, job, now, Made::new(SERIES)).within(most_evaluations).run()
}
