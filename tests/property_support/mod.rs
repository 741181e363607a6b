//! Checks plans for random clusters against the rules that every plan has to satisfy (`docs/dev/reliability.md`).
//!
//! - `cluster`, `jobs`: generated nodes and jobs. `events`: events between evaluations.
//! - `apply`: runs an evaluation and applies its plan as the plan applier would.
//! - `capacity`, `eligible`, `preemption`: rules for plans. `again`, `order`: changes that
//!   must not affect a plan.
//! - `case`: one seed, one cluster, several evaluations. `tally`: counts what occurred.

pub mod again;
pub mod apply;
pub mod capacity;
pub mod case;
pub mod cluster;
pub mod eligible;
pub mod events;
pub mod jobs;
pub mod mutants;
pub mod order;
pub mod preemption;
pub mod tally;

use encamp_test_support::seeds::Suite;
pub use encamp_test_support::seeds::Verdict;

/// The test of these cases.
pub const SUITE: Suite = Suite { prefix: "ENCAMP_PROPERTY", test: "--test oracle scheduler_properties" };

/// Whether one case is run alone, to be looked into.
pub fn replayed() -> bool {
    SUITE.alone().is_some()
}
