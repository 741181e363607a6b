//! Planning again: the job and the cluster as edits make them, by the same admission and scheduler as any plan.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::ScheduleError;
use encamp_state::State;

use super::edit::Edit;
use super::question::Question;
use super::search::Cut;
use crate::dry_run::{DryRun, DryRunError, SERIES, dry_run_until};
use crate::evaluate::{Limits, Made};
use crate::job::admitted;

/// Plans that are made at most for one question.
const MOST_RUNS: usize = 1500;

/// A job and a cluster.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    /// The job as a client sends it.
    pub job: api::Job,
    /// The cluster.
    pub state: State,
}

impl Scene {
    /// The scene after edits; `None` if one of them can't be made.
    pub(super) fn with(&self, edits: &[Edit]) -> Option<Scene> {
        let mut scene = self.clone();
        edits.iter().all(|edit| edit.make(&mut scene.job, &mut scene.state)).then_some(scene)
    }
}

/// What has to be placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal<'g> {
    /// Everything, and the rollout that follows completes.
    Everything,
    /// All allocations of a group.
    Group(&'g str),
}

/// The plan of a scene.
#[derive(Debug)]
pub(super) struct Trial {
    /// The dry run.
    pub run: DryRun,
    /// Everything is placed now, but not later in the rollout.
    pub blocked: bool,
    /// Allocations of others that later steps of the rollout evict.
    pub evicted_later: usize,
}

impl Trial {
    /// Unplaced allocations by group.
    pub(super) fn unplaced(&self) -> BTreeMap<&str, i64> {
        self.run.failed_tg_allocs().iter().map(|(group, metric)| (group.as_str(), metric.failures())).collect()
    }

    /// Whether this plan places everything at once.
    fn at_once(&self) -> bool {
        self.run.failed_tg_allocs().is_empty() && self.run.rejections.is_empty()
    }

    /// Whether a goal is reached.
    pub(super) fn reaches(&self, goal: Goal<'_>) -> bool {
        match goal {
            Goal::Everything => self.at_once() && !self.blocked,
            Goal::Group(name) => !self.run.failed_tg_allocs().contains_key(name) && self.run.rejections.is_empty(),
        }
    }

    /// Allocations that the plan places.
    pub(super) fn placed(&self) -> usize {
        let all = self.run.plan.node_allocation.values().flatten();
        all.filter(|a| self.run.state.alloc(&a.id).is_none()).count()
    }

    /// Whether others are evicted, now or later.
    pub(super) fn evicts(&self) -> bool {
        self.evicted_later > 0 || self.evicted().next().is_some()
    }

    /// Allocations of others that the plan evicts.
    pub(super) fn evicted(&self) -> impl Iterator<Item = &Arc<Allocation>> {
        self.run.plan.node_preemptions.values().flatten()
    }
}

/// Plans scenes and counts them.
pub(super) struct Bench<'a> {
    question: &'a Question<'a>,
    runs: Cell<usize>,
    cut: Cell<bool>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(question: &'a Question<'a>) -> Bench<'a> {
        Bench { question, runs: Cell::new(0), cut: Cell::new(false) }
    }

    /// Plans that were made.
    pub(super) fn runs(&self) -> usize {
        self.runs.get()
    }

    /// Whether a plan was not made because there was no time, or there were too many.
    pub(super) fn was_cut(&self) -> bool {
        self.cut.get()
    }

    fn cut<T>(&self) -> Result<T, Cut> {
        self.cut.set(true);
        Err(Cut)
    }

    /// The plan of a scene; `None` if servers would refuse the job.
    pub(super) fn plan(&self, scene: &Scene) -> Result<Option<Trial>, Cut> {
        let Question { options, server, now, stop, .. } = self.question;
        if self.cut.get() || self.runs.get() >= MOST_RUNS || stop.now() {
            return self.cut();
        }
        self.runs.set(self.runs.get() + 1);
        let Ok(admitted) = admitted(&scene.state, &scene.job, options, server) else { return Ok(None) };
        let limits = Limits::stopped_by(stop);
        let run = match dry_run_until(&scene.state, &admitted.job, *now, &mut Made::new(SERIES), &limits) {
            Ok(run) => run,
            Err(DryRunError::Schedule(ScheduleError::Stopped)) => return self.cut(),
            Err(_) => return Ok(None),
        };
        let mut trial = Trial { run, blocked: false, evicted_later: 0 };
        if trial.at_once() && has_more_steps(&trial.run) {
            self.follow(scene, &mut trial);
        }
        Ok(Some(trial))
    }

    /// Follows the rollout that this plan begins.
    fn follow(&self, scene: &Scene, trial: &mut Trial) {
        let Some(check) = self.question.rollout else { return };
        match check(&scene.state, &trial.run.job) {
            Some(evicted) => trial.evicted_later = evicted.saturating_sub(trial.evicted().count()),
            None => trial.blocked = true,
        }
    }

    /// The plan after edits; `None` if they can't be made, or servers would refuse the job.
    pub(super) fn after(&self, scene: &Scene, edits: &[Edit]) -> Result<Option<Trial>, Cut> {
        scene.with(edits).map_or(Ok(None), |scene| self.plan(&scene))
    }
}

/// Whether a rollout goes on after this plan.
fn has_more_steps(run: &DryRun) -> bool {
    let updates = run.plan.annotations.iter().flat_map(|a| a.desired_tg_updates.values());
    updates.into_iter().any(|u| u.destructive_update > 0 || u.canary > 0)
}
