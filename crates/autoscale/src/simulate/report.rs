//! The report of a simulation.

use serde::Serialize;

use crate::checks::Check;
use crate::params::PoolParameters;
use crate::record::Direction;
use crate::view::{Amounts, Metric};

/// The result of a simulation. Times are whole seconds since its beginning.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Report {
    /// The pool.
    pub pool: String,
    /// The seed.
    pub seed: u64,
    /// How long it was.
    pub seconds: i64,
    /// Seconds between two evaluations.
    pub interval: i64,
    /// The parameters of the pool.
    pub parameters: Parameters,
    /// Nodes and what they cost.
    pub nodes: Nodes,
    /// How the evaluations ended.
    pub cycles: Cycles,
    /// Operations in the order in which they began.
    pub operations: Vec<Operation>,
    /// The refusals of checks, the most frequent first.
    pub refusals: Vec<Refusal>,
    /// Unplaced allocations.
    pub saturation: Saturation,
    /// The failures, in order.
    pub failures: Vec<Failure>,
    /// When the pool entered failsafe mode.
    pub failsafe: Option<i64>,
    /// The course of it, a sample for each moment at which something changed.
    pub samples: Vec<Sample>,
}

/// The parameters that decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Parameters {
    /// The fewest nodes.
    pub min: i64,
    /// The most nodes.
    pub max: i64,
    /// Seconds between two operations, for directions without a cooldown of their own.
    pub cooldown: u64,
    /// Seconds between two scale-outs, if they have a cooldown of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_out_cooldown: Option<u64>,
    /// Seconds between two scale-ins, if they have a cooldown of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_in_cooldown: Option<u64>,
    /// Nodes whose capacity is held back.
    pub fault_tolerance: i64,
    /// Consecutive requests before an operation begins.
    pub scaling_threshold: i64,
    /// Nodes added by one operation.
    pub scale_factor: i64,
    /// Failures before failsafe mode.
    pub retry_threshold: i64,
}

impl Parameters {
    pub(super) fn of(p: &PoolParameters) -> Parameters {
        Parameters {
            min: p.min,
            max: p.max,
            cooldown: p.cooldown.both.as_secs(),
            scale_out_cooldown: p.cooldown.scale_out.map(|own| own.as_secs()),
            scale_in_cooldown: p.cooldown.scale_in.map(|own| own.as_secs()),
            fault_tolerance: p.node_fault_tolerance,
            scaling_threshold: p.scaling_threshold,
            scale_factor: p.scale_factor,
            retry_threshold: p.retry_threshold,
        }
    }
}

/// Nodes over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Nodes {
    /// Registered nodes at the beginning.
    pub start: i64,
    /// Registered nodes at the end.
    pub end: i64,
    /// The fewest registered nodes.
    pub least: i64,
    /// The most registered nodes.
    pub most: i64,
    /// Hours that instances ran, from launch to termination.
    pub hours: f64,
    /// Hours of a pool that has the most nodes all the time.
    pub hours_of_most: f64,
}

/// Evaluations by how they ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Cycles {
    /// All of them.
    pub total: u64,
    /// A check refused.
    pub refused: u64,
    /// All checks passed, but there were not enough consecutive requests.
    pub requested: u64,
    /// An operation began.
    pub began: u64,
    /// An operation was in progress.
    pub in_progress: u64,
    /// The pool was in failsafe mode.
    pub failsafe: u64,
    /// The pool had no nodes.
    pub without_nodes: u64,
}

/// How an operation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It did what it was to do.
    Completed,
    /// It did not.
    Failed,
    /// The pool needed the node of a scale-in again.
    TakenBack,
    /// It was in progress when the simulation ended.
    InProgress,
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Operation {
    /// When it began.
    pub started: i64,
    /// When it ended.
    pub ended: Option<i64>,
    /// Its direction.
    pub direction: Direction,
    /// Registered nodes when it began.
    pub from: i64,
    /// Desired size of the group when all is done.
    pub to: i64,
    /// Names of the nodes that joined or left.
    pub nodes: Vec<String>,
    /// Why it began.
    pub reason: String,
    /// How it ended.
    pub ending: Ending,
}

/// Evaluations that were refused for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Refusal {
    /// Where the pool should have gone.
    pub direction: Direction,
    /// The check that failed.
    pub check: Check,
    /// The scheduler found no place for what runs on the node; false where figures alone refused.
    pub by_scheduler: bool,
    /// How many evaluations.
    pub count: u64,
    /// When it was so first.
    pub first: i64,
    /// An example of its message.
    pub example: String,
}

/// Time during which allocations of the trace's groups had no node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Saturation {
    /// Seconds during which any had none.
    pub seconds: i64,
    /// The longest time without a break, in seconds.
    pub longest: i64,
    /// The most at the same time.
    pub most: i64,
    /// Seconds summed over the allocations.
    pub allocation_seconds: i64,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Failure {
    /// When.
    pub seconds: i64,
    /// What.
    pub problem: String,
}

/// The pool at a moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct Sample {
    /// When.
    pub seconds: i64,
    /// Registered nodes.
    pub nodes: i64,
    /// Instances that run: booting and draining ones too.
    pub instances: i64,
    /// Allocations that the trace wants.
    pub wanted: i64,
    /// Those of them that are unplaced.
    pub unplaced: i64,
    /// The prioritised metric.
    pub metric: Option<Metric>,
    /// The capacity of registered nodes.
    pub total: Amounts,
    /// Their usage.
    pub consumed: Amounts,
    /// The most that may be used of the metric (CPU without one).
    pub max_allowed: i64,
}

impl Sample {
    /// The usage of the prioritised metric, as percent of the capacity.
    pub fn used_percent(&self) -> f64 {
        let metric = self.metric.unwrap_or(Metric::Cpu);
        percent(self.consumed.get(metric), self.total.get(metric))
    }

    /// The allowed usage of it, as percent of the capacity.
    pub fn allowed_percent(&self) -> f64 {
        percent(self.max_allowed, self.total.get(self.metric.unwrap_or(Metric::Cpu)))
    }
}

fn percent(part: i64, of: i64) -> f64 {
    if of > 0 { part as f64 * 100.0 / of as f64 } else { 0.0 }
}
