//! Replays a day of load through the decisions of the autoscaler (`docs/spec/cluster-scaling.md §3` to `§8`): the
//! cluster is a snapshot, counts of groups follow a trace, the scheduler places their allocations, and a simulated
//! provider starts and stops instances. The seed is the only source of randomness.
//!
//! - [`trace`]: the load. [`report`]: the result. [`svg`]: a plot of it.
//! - `fleet`: the cluster and its instances. `run`: the order of events. `decide`: evaluations and operations.

mod decide;
mod fleet;
pub mod report;
mod run;
pub mod svg;
#[cfg(test)]
mod tests;
pub mod trace;

use std::time::Duration;

use encamp_state::State;

use crate::params::PoolParameters;
use crate::registry::{Fallbacks, Registry};
use report::Report;
use trace::{Trace, TraceError};

/// The most evaluations of a simulation.
pub const MOST_CYCLES: i64 = 1_000_000;

/// Parameters of the pool that are assumed instead of those of its nodes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The fewest nodes.
    pub min: Option<i64>,
    /// The most nodes.
    pub max: Option<i64>,
    /// Least time between two operations, for directions without a cooldown of their own.
    pub cooldown: Option<Duration>,
    /// Least time between two scale-outs.
    pub scale_out_cooldown: Option<Duration>,
    /// Least time between two scale-ins.
    pub scale_in_cooldown: Option<Duration>,
    /// Nodes whose capacity is held back.
    pub fault_tolerance: Option<i64>,
    /// Consecutive requests before an operation begins.
    pub scaling_threshold: Option<i64>,
    /// Nodes added by one operation.
    pub scale_factor: Option<i64>,
    /// Failures before failsafe mode.
    pub retry_threshold: Option<i64>,
}

impl Overrides {
    fn apply(&self, p: &mut PoolParameters) {
        p.min = self.min.unwrap_or(p.min);
        p.max = self.max.unwrap_or(p.max);
        p.cooldown.both = self.cooldown.unwrap_or(p.cooldown.both);
        p.cooldown.scale_out = self.scale_out_cooldown.or(p.cooldown.scale_out);
        p.cooldown.scale_in = self.scale_in_cooldown.or(p.cooldown.scale_in);
        p.node_fault_tolerance = self.fault_tolerance.unwrap_or(p.node_fault_tolerance);
        p.scaling_threshold = self.scaling_threshold.unwrap_or(p.scaling_threshold);
        p.scale_factor = self.scale_factor.unwrap_or(p.scale_factor);
        p.retry_threshold = self.retry_threshold.unwrap_or(p.retry_threshold);
    }

    /// The bounds of `docs/spec/cluster-scaling.md §1` for what is given, and between `min` and `max` as they are in
    /// the end.
    fn check(&self, p: &PoolParameters) -> Result<(), SimulateError> {
        let at_least = |name: &'static str, value: Option<i64>, least: i64| match value {
            Some(value) if value < least => Err(SimulateError::Parameter { name, value, least }),
            _ => Ok(()),
        };
        at_least("min", self.min, 0)?;
        at_least("max", self.max, 0)?;
        at_least("fault-tolerance", self.fault_tolerance, 0)?;
        at_least("scaling-threshold", self.scaling_threshold, 1)?;
        at_least("scale-factor", self.scale_factor, 1)?;
        at_least("retry-threshold", self.retry_threshold, 1)?;
        let mut p = p.clone();
        self.apply(&mut p);
        if p.min > p.max { Err(SimulateError::Bounds { min: p.min, max: p.max }) } else { Ok(()) }
    }
}

/// How a simulation runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The pool; it may be left out where there is one alone.
    pub pool: Option<String>,
    /// When it begins, Unix nanoseconds.
    pub start: i64,
    /// Time between two evaluations.
    pub interval: Duration,
    /// The seed of boot times and failures.
    pub seed: u64,
    /// Time between the launch of an instance and its registration as a node; it varies by a tenth.
    pub boot_time: Duration,
    /// In so many of a hundred cases an instance never registers.
    pub boot_failures: u64,
    /// Time between the beginning of a drain and the termination of the instance.
    pub drain_time: Duration,
    /// Parameters of the pool to assume.
    pub overrides: Overrides,
}

impl Default for Options {
    /// The intervals of `docs/spec/cluster-scaling.md §1.1`, instances that register after 90 s, drains of 60 s.
    fn default() -> Options {
        Options {
            pool: None,
            start: 0,
            interval: Duration::from_secs(10),
            seed: 1,
            boot_time: Duration::from_secs(90),
            boot_failures: 0,
            drain_time: Duration::from_secs(60),
            overrides: Overrides::default(),
        }
    }
}

/// Why there is no simulation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulateError {
    /// A row of the trace does not fit the cluster.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The pool has no registered node.
    #[error("the snapshot has no worker pool {0:?} with a ready node")]
    NoPool(String),
    /// No node is configured for scaling.
    #[error("the snapshot has no worker pool: no ready node has the replicator_ keys in its meta{0}")]
    NoPools(String),
    /// It has to be said which pool is meant.
    #[error("the snapshot has several worker pools: choose one of {0}")]
    SeveralPools(String),
    /// A parameter is below its bound.
    #[error("-{name} is {value}, but must be at least {least}")]
    Parameter {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: i64,
        /// The least value.
        least: i64,
    },
    /// The bounds contradict each other.
    #[error("the minimum of {min} nodes is more than the maximum of {max}")]
    Bounds {
        /// The fewest nodes.
        min: i64,
        /// The most nodes.
        max: i64,
    },
    /// The interval is too short for the trace.
    #[error("the trace takes {seconds} s: with this interval that is more than {MOST_CYCLES} evaluations")]
    TooManyCycles {
        /// How long the trace is.
        seconds: i64,
    },
}

/// Replays a trace on a cluster.
///
/// # Errors
/// The trace, the pool or the options do not fit.
pub fn simulate(state: &State, trace: &Trace, options: &Options) -> Result<Report, SimulateError> {
    run::run(state, trace, options, run::Repeats::Skipped)
}

/// The pool that is meant, and its parameters.
fn choose(state: &State, wanted: Option<&str>) -> Result<(String, PoolParameters), SimulateError> {
    let mut registry = Registry::default();
    registry.update(state, &Fallbacks::new());
    let pools = registry.pools();
    let found = match (wanted, pools.len()) {
        (Some(name), _) => pools.get(name).ok_or_else(|| SimulateError::NoPool(name.to_string()))?,
        (None, 1) => pools.values().next().ok_or_else(|| SimulateError::NoPools(String::new()))?,
        (None, 0) => {
            let problem = registry.problems().first().and_then(|p| Some((p, p.problems.first()?)));
            let reason = problem.map(|(p, what)| format!("; node {:?}: {what}", p.node_name));
            return Err(SimulateError::NoPools(reason.unwrap_or_default()));
        }
        (None, _) => {
            let names: Vec<&str> = pools.keys().map(String::as_str).collect();
            return Err(SimulateError::SeveralPools(names.join(", ")));
        }
    };
    Ok((found.name.clone(), found.parameters.clone()))
}
