//! Servers under load, and the invariants after faults (`docs/dev/reliability.md`). Each test uses a part of it.
//!
//! - [`ledger`]: records of writes, and their checks. [`writers`]: the writers. [`checks`]: the invariants.
//! - [`view`]: reads. [`kept`]: data saved after a failure.

#![allow(dead_code)]

pub mod checks;
pub mod kept;
pub mod ledger;
pub mod view;
pub mod writers;

/// Seed and rounds of a run, from `ENCAMP_<KIND>_SEED` and `ENCAMP_<KIND>_ROUNDS` or the tier; printed, so that it can
/// be reproduced.
pub fn run_of(kind: &str, change: u64, full: u64) -> (u64, u64) {
    let seed = encamp_test_support::seeds::setting(&format!("ENCAMP_{kind}_SEED"));
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(1, |d| d.as_secs());
    let rounds = encamp_test_support::tier::rounds(&format!("ENCAMP_{kind}_ROUNDS"), change, full);
    let run = (seed.unwrap_or(now % 1_000_000), rounds);
    println!("ENCAMP_{kind}_SEED={} ENCAMP_{kind}_ROUNDS={}", run.0, run.1);
    run
}
