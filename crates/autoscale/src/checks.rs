//! The safety checks of an evaluation, in order (`docs/spec/cluster-scaling.md §4`).

use serde::Serialize;

/// A safety check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The pool without one node, by arithmetic and by the scheduler.
    SimulatedRemoval,
    /// The bounds of the scaling group.
    ProviderLimits,
    /// The bounds of the pool.
    PoolLimits,
    /// The time since the last operation.
    Cooldown,
    /// Consecutive requests for the same direction.
    ConsecutiveRequests,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CheckResult {
    /// Which check.
    pub check: Check,
    /// It passed, or did not apply.
    pub passed: bool,
    /// The figures it compared, as a sentence.
    pub detail: String,
}
