//! Runs of many seeds, of the same seed twice, and with deliberate bugs.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::run::run;
use super::sim::Bug;
use encamp_test_support::tier;

/// The default number of seeds.
const SEEDS: u64 = 60;
/// Where a change is proved.
const FEWER: u64 = 24;
/// The number of seeds within which a deliberate bug has to be found.
const ENOUGH: u64 = 100;

/// Progress is printed after this many seeds, for long runs.
const WORD: u64 = 500;

/// Occurrences that must be seen over many seeds; otherwise the test would not cover them.
const OCCURS: [&str; 16] = [
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
    "reports of failed allocations",
    "snapshots sent",
    "storms",
    "writes lost",
    "writes torn",
];

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// The result of many seeds.
#[derive(Default)]
struct Tally {
    occurred: BTreeMap<&'static str, u64>,
    failures: Vec<String>,
    done: u64,
    /// The same for the same seeds, regardless of their order.
    digest: u64,
}

/// Runs seeds on two threads.
fn seeds(first: u64, count: u64, most_failures: usize) -> Tally {
    let threads = setting("ENCAMP_CLUSTER_THREADS").unwrap_or(2);
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + count || tally.lock().unwrap().failures.len() >= most_failures {
            return;
        }
        let outcome = run(seed, None, false);
        let mut tally = tally.lock().unwrap();
        outcome.counts.into_iter().for_each(|(what, n)| *tally.occurred.entry(what).or_default() += n);
        tally.digest ^= outcome.digest;
        tally.done += 1;
        if tally.done.is_multiple_of(WORD) {
            eprintln!("{} of {count} seeds", tally.done);
        }
        if let Some(why) = outcome.broken {
            let again = format!(
                "ENCAMP_CLUSTER_SEED={seed} cargo test -p encamp-server --lib faults_break_nothing -- --nocapture"
            );
            eprintln!("seed {seed}: {why}\nto reproduce:\n  {again}");
            tally.failures.push(format!("seed {seed}: {why}to reproduce:\n  {again}"));
        }
    };
    std::thread::scope(|s| (0..threads).for_each(|_| drop(s.spawn(work))));
    tally.into_inner().unwrap()
}

#[test]
fn faults_break_nothing() {
    if let Some(seed) = setting("ENCAMP_CLUSTER_SEED") {
        let outcome = run(seed, None, true);
        println!("{:?}, digest {:x}", outcome.counts, outcome.digest);
        assert!(outcome.broken.is_none(), "seed {seed}: {}", outcome.broken.unwrap_or_default());
        return;
    }
    let (first, count) =
        (setting("ENCAMP_CLUSTER_START").unwrap_or(1), tier::rounds("ENCAMP_CLUSTER_SEEDS", FEWER, SEEDS));
    let begin = Instant::now();
    let Tally { occurred, failures, digest, .. } =
        seeds(first, count, setting("ENCAMP_CLUSTER_FAILURES").unwrap_or(1) as usize);
    println!("{count} seeds from {first} in {:.1} s, digest {digest:016x}", begin.elapsed().as_secs_f64());
    occurred.iter().for_each(|(what, n)| println!("{n:>10} {what}"));
    assert!(failures.is_empty(), "{} seeds failed:\n{}", failures.len(), failures.join("\n"));
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
