//! Rules that every plan has to satisfy, checked on random clusters (`docs/dev/reliability.md`).
//!
//! Runs for `ENCAMP_PROPERTY_SECONDS` (10), or until `ENCAMP_PROPERTY_PLACEMENTS` placements were made; seeds count up
//! from `ENCAMP_PROPERTY_START` (1), on `ENCAMP_PROPERTY_THREADS` threads (2). The first violated rule ends the run, or
//! the `ENCAMP_PROPERTY_FAILURES`-th. `ENCAMP_PROPERTY_SEED=n` runs case `n` alone and prints its events.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::property_support::SUITE;
use crate::property_support::case::run_case;
use crate::property_support::tally::{EVENTS, Tally};
use encamp_test_support::seeds::setting;

#[test]
fn every_plan_keeps_the_rules() {
    if let Some(seed) = SUITE.alone() {
        run_case(seed, &mut Tally::default()).unwrap_or_else(|e| panic!("case {seed}: {e}"));
        return;
    }
    let seconds = setting("ENCAMP_PROPERTY_SECONDS").unwrap_or(10);
    let placements = setting("ENCAMP_PROPERTY_PLACEMENTS");
    let placed = AtomicU64::new(0);
    let enough = |_, elapsed| match placements {
        Some(wanted) => placed.load(Ordering::Relaxed) >= wanted,
        None => elapsed >= seconds,
    };
    let case = |seed, tally: &mut Tally| {
        let before = tally.count("placements");
        let verdict = run_case(seed, tally);
        placed.fetch_add(tally.count("placements") - before, Ordering::Relaxed);
        verdict
    };
    let run = SUITE.run(enough, case, Tally::merge);
    let total = &run.total;
    let counts: Vec<String> = EVENTS.iter().map(|e| format!("{} {e}", total.count(e))).collect();
    SUITE.judge(&run, &format!("{} cases, {} evaluations, {}", total.cases, total.evaluations, counts.join(", ")));
    let idle: Vec<&&str> = EVENTS.iter().filter(|e| total.count(e) == 0).collect();
    assert!(idle.is_empty(), "these never occurred: {idle:?}");
}
