//! Invariants from an evaluation to a committed plan, under concurrent changes (`docs/dev/reliability.md`).
//!
//! Runs 150 cases, or for `ENCAMP_PIPELINE_SECONDS`; seeds count up from `ENCAMP_PIPELINE_START` (1), on
//! `ENCAMP_PIPELINE_THREADS` threads (2). The first violated rule ends the run, or the `ENCAMP_PIPELINE_FAILURES`-th.
//! `ENCAMP_PIPELINE_SEED=n` runs case `n` alone and prints its events. The same seed gives the same case.

use crate::pipeline_support::SUITE;
use crate::pipeline_support::events;
use crate::pipeline_support::tally::{EVENTS, Tally};
use crate::pipeline_support::world::World;
use encamp_test_support::dice::Dice;
use encamp_test_support::seeds::{Verdict, setting};

/// How many cases a plain run has.
const CASES: u64 = 150;
/// Cases that have to meet all kinds of events.
const ENOUGH: u64 = 60;

/// Runs the case of a seed.
fn run_case(seed: u64, tally: &mut Tally) -> Verdict {
    let mut world = World::new(seed);
    for _ in 0..3 {
        events::register(&mut world);
    }
    for _ in 0..80 {
        if world.random.one_in(2) || !world.work() {
            events::happen(&mut world);
        }
        if let Some(broken) = &world.broken {
            return Err(broken.clone());
        }
    }
    let verdict = world.come_to_rest();
    tally.merge(&world.tally);
    tally.add("cases", 1);
    verdict
}

#[test]
fn whoever_gets_in_between() {
    if let Some(seed) = SUITE.alone() {
        run_case(seed, &mut Tally::default()).unwrap_or_else(|e| panic!("case {seed}: {e}"));
        return;
    }
    let seconds = setting("ENCAMP_PIPELINE_SECONDS");
    let enough = |seed, elapsed| seconds.map_or(seed >= SUITE.first() + CASES, |s| elapsed >= s);
    let run = SUITE.run(enough, run_case, Tally::merge);
    let total = &run.total;
    let counts: Vec<String> = EVENTS.iter().map(|e| format!("{} {e}", total.count(e))).collect();
    SUITE.judge(&run, &format!("{} cases, {}", total.count("cases"), counts.join(", ")));
    let idle: Vec<&&str> = EVENTS.iter().filter(|e| total.count(e) == 0).collect();
    assert!(idle.is_empty() || total.count("cases") < ENOUGH, "these never occurred: {idle:?}");
}
