//! A leader without threads, disk and network, and its invariants (`docs/dev/reliability.md`).
//!
//! - `cluster`: generated nodes and jobs. `world`: the store, the broker, the blocked evaluations, the loops. `worker`:
//!   work between scheduler and applier, interleaved with other workers. `events`: events of operators and nodes.
//! - `rules`: invariants after every entry. `rest`: checks after settling. `tally`: counts of events.

pub mod cluster;
pub mod events;
pub mod rest;
pub mod rules;
pub mod tally;
pub mod worker;
pub mod world;

use encamp_test_support::seeds::Suite;
pub use encamp_test_support::seeds::Verdict;

/// The test of these cases.
pub const SUITE: Suite = Suite { prefix: "ENCAMP_PIPELINE", test: "--test oracle pipeline_properties" };

/// Whether a single case is run, for analysis.
pub fn replayed() -> bool {
    SUITE.alone().is_some()
}
