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

/// The violation found by a check, or `Ok`.
pub type Verdict = Result<(), String>;

/// Whether a single case is run, for analysis.
pub fn replayed() -> bool {
    std::env::var_os("ENCAMP_PIPELINE_SEED").is_some()
}
