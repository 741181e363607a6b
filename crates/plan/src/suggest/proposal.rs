//! An edit whose value is to be found, and what it is for.

use encamp_model::{Job, TaskGroup};

use super::edit::Edit;
use super::search::Values;
use super::trial::{Scene, Trial};

/// The kinds of edits, for searches that try some of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The job asks for less of something: CPU, memory, disk, devices.
    Less,
    /// All tasks of a group ask for less together.
    Together,
    /// Fewer copies.
    Count,
    /// The job may go to more places: constraints, datacenters, pools, ports.
    Wider,
    /// The rollout needs less room.
    Rollout,
    /// The job evicts others.
    Evicting,
    /// The cluster grows or empties.
    Cluster,
}

/// Makes the edits for a value.
pub(super) type Make<'p> = Box<dyn Fn(i64) -> Vec<Edit> + 'p>;

/// An edit whose value is to be found.
pub(super) struct Proposal<'p> {
    pub kind: Kind,
    pub values: Values,
    pub make: Make<'p>,
}

impl<'p> Proposal<'p> {
    pub(super) fn new(kind: Kind, values: Values, make: impl Fn(i64) -> Vec<Edit> + 'p) -> Proposal<'p> {
        Proposal { kind, values, make: Box::new(make) }
    }

    /// An edit without a value.
    pub(super) fn only(kind: Kind, edit: Edit) -> Proposal<'p> {
        Proposal::new(kind, Values::Only, move |_| vec![edit.clone()])
    }
}

/// What needs edits: a scene, its plan, and what does not fit in it.
pub(super) struct Look<'l> {
    pub scene: &'l Scene,
    pub trial: &'l Trial,
    pub now: i64,
    pub highest_priority: i64,
}

impl Look<'_> {
    /// The job as it was planned.
    pub(super) fn job(&self) -> &Job {
        &self.trial.run.job
    }

    /// The groups that are not placed in full: all groups if only the rollout is blocked.
    pub(super) fn groups(&self) -> Vec<&TaskGroup> {
        let failed = self.trial.run.failed_tg_allocs();
        let all = self.job().task_groups.iter();
        all.filter(|g| failed.is_empty() || failed.contains_key(&g.name)).collect()
    }
}
