//! Settings of a valid job that have no effect or can never come true, such as a cron specification that never fires or
//! a spread over an attribute that every node has the same value of. Servers accept such jobs without a word.
//!
//! - [`cron`]: launches. [`nodes`]: spreads, affinities and `distinct_…` constraints. [`groups`]: counts, scaling,
//!   rollouts
//! - [`place`]: where a remark is in the job file, and its words

mod cron;
mod groups;
mod nodes;
mod place;
#[cfg(test)]
mod tests;

use encamp_model::Job;
use encamp_state::State;
use serde::{Deserialize, Serialize};

pub use cron::Never;
pub use place::findings;

/// A block that a remark is about; numbers count blocks of the same kind in the same block, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Block {
    /// The `periodic` block of a job.
    Periodic,
    /// A `spread` block.
    Spread(usize),
    /// An `affinity` block.
    Affinity(usize),
    /// A `constraint` block.
    Constraint(usize),
    /// The `scaling` block of a group.
    Scaling,
    /// The `update` block of a group, or the job's where the group has none.
    Update,
    /// A `check` block of a `service` block.
    Check {
        /// The number of the service.
        service: usize,
        /// The number of the check.
        check: usize,
    },
}

/// Where in a job a remark belongs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// The group; `None`: the job itself.
    pub group: Option<String>,
    /// The task; `None`: the group itself.
    pub task: Option<String>,
    /// The block in it.
    pub block: Block,
}

/// What is remarkable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fact {
    /// A cron specification has no launch any more.
    CronNever {
        /// The specification.
        spec: String,
        /// Why it does not fire.
        why: Never,
    },
    /// The nodes do not differ in the attribute of a spread.
    SpreadOneValue {
        /// The attribute.
        attribute: String,
        /// The value; `None`: no node has the attribute.
        value: Option<String>,
        /// How many nodes there are; `None`: the job's own settings leave one value.
        nodes: Option<usize>,
    },
    /// A spread wants everything in one place.
    SpreadOneTarget {
        /// The value of the target.
        value: String,
    },
    /// Every target of a spread wants nothing.
    SpreadNoShares,
    /// Another spread over the same attribute counts instead.
    SpreadShadowed {
        /// The attribute.
        attribute: String,
        /// Whether it is one of the job; if not, a later one of the same block.
        by_job: bool,
    },
    /// An affinity holds for all nodes or for none.
    AffinityConstant {
        /// The condition.
        condition: String,
        /// Whether it holds for all.
        holds: bool,
        /// How many nodes there are; `None`: the job's own settings decide.
        nodes: Option<usize>,
    },
    /// All affinities of a group together give every node the same score.
    AffinitiesCancel {
        /// How many nodes there are.
        nodes: usize,
    },
    /// `distinct_hosts` in a job that runs once on each node.
    DistinctHostsOfSystem,
    /// `distinct_hosts` wants more nodes than there are.
    TooFewHosts {
        /// Allocations that need a node each.
        count: i64,
        /// Nodes that satisfy the constraints.
        nodes: usize,
    },
    /// `distinct_property` wants more values than there are.
    TooFewValues {
        /// The attribute.
        attribute: String,
        /// Allocations.
        count: i64,
        /// Allocations that each value takes.
        each: i64,
        /// Values of the nodes.
        values: usize,
    },
    /// Least and largest count of a scaling policy are the same.
    NothingToScale {
        /// Both.
        count: i64,
    },
    /// Registering the job sets back a count that scaling has changed.
    CountResets {
        /// The count of the registered job.
        registered: i64,
        /// The count of the file.
        count: i64,
    },
    /// `max_parallel = 0` switches the rollout off, and with it the other settings of its block.
    RolloutOff {
        /// The setting without effect.
        setting: RolloutSetting,
    },
    /// Canaries are promoted when they are healthy, which only an operator says.
    ManualPromotion,
    /// A check cannot pass often enough before the deadline.
    CheckTooSlow {
        /// The time that the successes take at least, nanoseconds.
        needed: i64,
        /// The deadline, nanoseconds.
        deadline: i64,
    },
    /// Canaries need nodes beside those of the running allocations.
    NoNodesForCanaries {
        /// The count of the group.
        count: i64,
        /// Its canaries.
        canaries: i64,
        /// Nodes that satisfy the constraints.
        nodes: usize,
        /// Why each needs a node.
        because: OnePerNode,
    },
}

/// A setting of a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RolloutSetting {
    /// The number of canaries.
    Canary,
    /// Whether a failed rollout is reverted.
    AutoRevert,
}

impl RolloutSetting {
    /// The name of the attribute.
    pub fn name(self) -> &'static str {
        match self {
            RolloutSetting::Canary => "canary",
            RolloutSetting::AutoRevert => "auto_revert",
        }
    }
}

/// Why a node takes one allocation of a group only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnePerNode {
    /// A `distinct_hosts` constraint.
    DistinctHosts,
    /// A static port.
    StaticPort,
}

/// A setting without effect, or one that can never come true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remark {
    /// Where it is.
    pub at: At,
    /// What it is.
    pub fact: Fact,
}

/// The remarks on a valid job in its stored form. `state`: the cluster, if it is known. `now`: Unix nanoseconds.
pub fn remarks(job: &Job, state: Option<&State>, now: i64) -> Vec<Remark> {
    let mut out = Remarks::default();
    cron::look(job, now, &mut out);
    nodes::look(job, state, &mut out);
    groups::look(job, state, &mut out);
    out.list
}

/// The remarks so far.
#[derive(Default)]
struct Remarks {
    list: Vec<Remark>,
}

impl Remarks {
    fn add(&mut self, group: Option<&str>, task: Option<&str>, block: Block, fact: Fact) {
        let at = At { group: group.map(String::from), task: task.map(String::from), block };
        self.list.push(Remark { at, fact });
    }
}
