//! A leader without threads, disk and network, and the rules it has to keep (`docs/reliability.md`).
//!
//! - `cluster`: made-up nodes and jobs. `world`: the store, the broker, the blocked evaluations, the loops. `worker`:
//!   what happens between a scheduler and the applier while others go on. `events`: what operators and nodes do.
//! - `rules`: what holds after every entry. `rest`: what holds once nothing is left to do. `tally`: what occurred.

pub mod cluster;
pub mod events;
pub mod rest;
pub mod rules;
pub mod tally;
pub mod worker;
pub mod world;

/// What a rule found wrong, or nothing.
pub type Verdict = Result<(), String>;

/// Whether one case is run alone, to be looked into.
pub fn replayed() -> bool {
    std::env::var_os("ENCAMP_PIPELINE_SEED").is_some()
}
