//! Runs of many seeds, of the same seed twice, and with deliberate bugs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::run::run;
use super::sim::Bug;
use encamp_test_support::seeds::Suite;
use encamp_test_support::tier;

/// The default number of seeds.
const SEEDS: u64 = 60;
/// Where a change is proved.
const FEWER: u64 = 24;
/// The number of seeds within which a deliberate bug has to be found.
const ENOUGH: u64 = 100;

/// Progress is printed after this many seeds, for long runs.
const PROGRESS: u64 = 500;

/// Occurrences that must be seen over many seeds; otherwise the test would not cover them.
const OCCURS: [&str; 17] = [
    "crashes",
    "crashes of all servers",
    "cuts around a server",
    "cuts in one direction",
    "cuts in two",
    "leaders that handed over",
    "messages late",
    "messages lost",
    "messages that met a cut",
    "messages twice",
    "nodes away",
    "raised capability levels",
    "reports of failed allocations",
    "snapshots sent",
    "storms",
    "writes lost",
    "writes torn",
];

const SUITE: Suite =
    Suite { prefix: "ENCAMP_CLUSTER", test: "-p encamp-server --lib faults_break_nothing -- --nocapture" };

/// The result of many seeds.
#[derive(Default)]
struct Tally {
    occurred: BTreeMap<&'static str, u64>,
    /// The same for the same seeds, regardless of their order.
    digest: u64,
}

impl Tally {
    fn merge(&mut self, other: &Tally) {
        other.occurred.iter().for_each(|(what, n)| *self.occurred.entry(what).or_default() += n);
        self.digest ^= other.digest;
    }
}

#[test]
fn faults_break_nothing() {
    if let Some(seed) = SUITE.alone() {
        let outcome = run(seed, None, true);
        println!("{:?}, digest {:x}", outcome.counts, outcome.digest);
        assert!(outcome.broken.is_none(), "seed {seed}: {}", outcome.broken.unwrap_or_default());
        return;
    }
    let count = tier::rounds("ENCAMP_CLUSTER_SEEDS", FEWER, SEEDS);
    let done = AtomicU64::new(0);
    let case = |seed, tally: &mut Tally| {
        let outcome = run(seed, None, false);
        tally.merge(&Tally { occurred: outcome.counts, digest: outcome.digest });
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS) {
            eprintln!("{done} of {count} seeds");
        }
        outcome.broken.map_or(Ok(()), Err)
    };
    let ran = SUITE.run(|seed, _| seed >= SUITE.first() + count, case, Tally::merge);
    let Tally { occurred, digest } = &ran.total;
    occurred.iter().for_each(|(what, n)| println!("{n:>10} {what}"));
    SUITE.judge(&ran, &format!("{count} seeds, digest {digest:016x}"));
    let missing: Vec<_> = OCCURS.into_iter().filter(|o| occurred.get(o).is_none_or(|n| *n == 0)).collect();
    assert!(count < SEEDS || missing.is_empty(), "never seen: {missing:?}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [3, 4] {
        let (first, second) = (run(seed, None, false), run(seed, None, false));
        assert_eq!(first.digest, second.digest, "seed {seed}");
        assert_ne!(first.digest, run(seed + 100, None, false).digest);
    }
}

/// The first seed that finds a bug, and the message.
fn found(bug: Bug) -> Option<(u64, String)> {
    (1..=ENOUGH).find_map(|seed| Some((seed, run(seed, Some(bug), false).broken?)))
}

#[test]
fn acknowledgements_before_the_disk_are_found() {
    let (seed, why) = found(Bug::AckBeforeFsync).expect("found");
    println!("found by seed {seed}: {}", why.lines().next().unwrap_or_default());
}

#[test]
fn evaluations_delivered_twice_are_found() {
    let (seed, why) = found(Bug::DoubleDequeue).expect("found");
    println!("found by seed {seed}: {}", why.lines().next().unwrap_or_default());
    assert!(why.contains("is delivered while"), "{why}");
}

#[test]
fn forgotten_cancellations_are_found() {
    let (seed, why) = found(Bug::LostCancel).expect("found");
    println!("found by seed {seed}: {}", why.lines().next().unwrap_or_default());
    assert!(why.contains("not settled: evaluation"), "{why}");
}
