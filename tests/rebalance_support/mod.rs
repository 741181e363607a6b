//! Plans of `encamp_plan::rebalance` on generated small clusters (`docs/dev/reliability.md`).
//!
//! - `cluster`: the clusters. `truth`: exhaustive search over orders and targets, in numbers of its own. `replay`: a plan
//!   carried out on a leader.

pub mod cluster;
pub mod replay;
pub mod truth;

use encamp_test_support::seeds::Suite;

/// The test of these cases.
pub const SUITE: Suite = Suite { prefix: "ENCAMP_REBALANCE", test: "--test oracle rebalance" };
