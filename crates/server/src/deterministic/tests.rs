//! Runs of many seeds, of the same seed twice, and with deliberate bugs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::run::{Kind, run};
use super::sim::Bug;
use super::starved::{LONGEST, STARVED, TERMS};
use encamp_test_support::seeds::{Suite, setting};
use encamp_test_support::tier;

/// The default number of seeds.
const SEEDS: u64 = 60;
/// Where a change is proved.
const FEWER: u64 = 24;
/// The number of seeds within which a deliberate bug has to be found.
const ENOUGH: u64 = 300;
/// The bugs that a plain run looks for.
const AT_ONCE: [Bug; 3] = [Bug::AckBeforeFsync, Bug::DoubleDequeue, Bug::LostCancel];

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

/// What must be seen over many seeds with churn and wrong clocks.
const CHURN_OCCURS: [&str; 19] = [
    "changes of members",
    "clocks set",
    "clocks that drift",
    "clocks that stand still",
    "crashes",
    "events received",
    "holds of a lock",
    "leaders stopped",
    "machines stopped",
    "messages that met a cut",
    "reads of lists",
    "servers down for long",
    "servers removed while down",
    "servers that joined",
    "servers that returned with an old disk",
    "servers that left",
    "servers that lost their disk",
    "two changes of members at once",
    "writes lost",
];

const CHURN: Suite =
    Suite { prefix: "ENCAMP_CHURN", test: "-p encamp-server --lib churn_and_clocks_break_nothing -- --nocapture" };

/// The number of seeds with churn, and where a change is proved.
const CHURN_SEEDS: u64 = 40;
const CHURN_FEWER: u64 = 4;

/// What must be seen over many seeds with damaged files.
const ROT_OCCURS: [&str; 9] = [
    "bits changed",
    "blocks overwritten",
    "blocks swapped",
    "damage reported",
    "files cut off",
    "files damaged",
    "files replaced by an older copy",
    "files replaced by another",
    "servers in doubt",
];

const ROT: Suite =
    Suite { prefix: "ENCAMP_ROT", test: "-p encamp-server --lib damaged_files_are_repaired -- --nocapture" };

const STARVED_SUITE: Suite =
    Suite { prefix: "ENCAMP_STARVED", test: "-p encamp-server --lib starved_servers_keep_a_leader -- --nocapture" };

/// The number of seeds with servers without a processor, and where a change is proved.
const STARVED_SEEDS: u64 = 10;
const STARVED_FEWER: u64 = 2;
/// How many seconds a term lasts at least, on average over all seeds.
const TERM_LASTS: u64 = 8;

/// The number of seeds with damaged files, and where a change is proved.
const ROT_SEEDS: u64 = 30;
const ROT_FEWER: u64 = 1;

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

/// Runs the seeds of a suite.
fn runs(suite: &Suite, kind: Kind, (fewer, seeds): (u64, u64), occurs: &[&'static str]) -> BTreeMap<&'static str, u64> {
    if let Some(seed) = suite.alone() {
        let outcome = run(seed, kind, None, true);
        println!("{:?}, digest {:x}", outcome.counts, outcome.digest);
        assert!(outcome.broken.is_none(), "seed {seed}: {}", outcome.broken.unwrap_or_default());
        return outcome.counts;
    }
    let count = tier::rounds(&format!("{}_SEEDS", suite.prefix), fewer, seeds);
    let done = AtomicU64::new(0);
    let case = |seed, tally: &mut Tally| {
        let outcome = run(seed, kind, None, false);
        tally.merge(&Tally { occurred: outcome.counts, digest: outcome.digest });
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(PROGRESS) {
            eprintln!("{done} of {count} seeds");
        }
        outcome.broken.map_or(Ok(()), Err)
    };
    let ran = suite.run(|seed, _| seed >= suite.first() + count, case, Tally::merge);
    let Tally { occurred, digest } = &ran.total;
    occurred.iter().for_each(|(what, n)| println!("{n:>10} {what}"));
    suite.judge(&ran, &format!("{count} seeds, digest {digest:016x}"));
    let missing: Vec<_> = occurs.iter().filter(|o| occurred.get(*o).is_none_or(|n| *n == 0)).collect();
    assert!(count < seeds || missing.is_empty(), "never seen: {missing:?}");
    ran.total.occurred
}

#[test]
fn faults_break_nothing() {
    runs(&SUITE, Kind::Dense, (FEWER, SEEDS), &OCCURS);
}

/// `ENCAMP_CHURN_LONG=1` runs the long form.
#[test]
fn churn_and_clocks_break_nothing() {
    let kind = if setting("ENCAMP_CHURN_LONG").is_some_and(|n| n > 0) { Kind::Long } else { Kind::Churn };
    runs(&CHURN, kind, (CHURN_FEWER, CHURN_SEEDS), &CHURN_OCCURS);
}

/// Damage of at most a minority: nothing that was acknowledged is lost, no answer is wrong, all of it is reported, and
/// nearly all of it is repaired within a minute.
#[test]
fn damaged_files_are_repaired() {
    let counts = runs(&ROT, Kind::Rot, (ROT_FEWER, ROT_SEEDS), &ROT_OCCURS);
    let [rounds, repaired] = ["rounds of damage", "rounds repaired"].map(|what| counts.get(what).copied().unwrap_or(0));
    assert!(rounds > 0 && repaired * 100 >= rounds * 99, "{repaired} of {rounds} rounds were repaired");
}

/// Each server stops for half a second to three and a half, again and again, longer than others wait for a leader.
#[test]
fn starved_servers_keep_a_leader() {
    let counts = runs(&STARVED_SUITE, Kind::Starved, (STARVED_FEWER, STARVED_SEEDS), &["machines stopped"]);
    let of = |what| counts.get(what).copied().unwrap_or(0);
    println!("{} terms in {} s, longest {} s in total", of(TERMS), of(STARVED), of(LONGEST));
    // Without longer waits, a term lasts four seconds on average.
    assert!(of(TERMS) * TERM_LASTS <= of(STARVED), "elections again and again");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [3, 4] {
        for kind in [Kind::Dense, Kind::Churn] {
            let (first, second) = (run(seed, kind, None, false), run(seed, kind, None, false));
            assert_eq!(first.digest, second.digest, "{kind:?}, seed {seed}");
            assert_ne!(first.digest, run(seed + 100, kind, None, false).digest);
        }
    }
}

/// A deliberate bug, the kind of runs in which it is looked for, the first seed that finds it, and what is found.
type Found = (Bug, Kind, u64, &'static str);

/// The table of `docs/dev/reliability.md`.
const FOUND: [Found; 19] = [
    (Bug::AckBeforeFsync, Kind::Dense, 2, "finds damage that nobody did"),
    (Bug::SkippedFsync, Kind::Dense, 2, "finds damage that nobody did"),
    (Bug::SkippedDirectorySync, Kind::Dense, 2, "finds damage that nobody did"),
    (Bug::ForgottenVote, Kind::Dense, 3, "finds damage that nobody did"),
    (Bug::IgnoredChecksum, Kind::Dense, 1, "does not start"),
    (Bug::DoubleDequeue, Kind::Dense, 1, "is delivered while"),
    (Bug::LostCancel, Kind::Dense, 1, "not settled: evaluation"),
    (Bug::AppliedTwice, Kind::Dense, 1, "publish different events"),
    (Bug::SkippedEntry, Kind::Dense, 1, "and is now"),
    (Bug::StaleRead, Kind::Dense, 5, "is not linearizable"),
    (Bug::LongLease, Kind::Dense, 65, "is not linearizable"),
    (Bug::UnconfirmedLease, Kind::Churn, 16, "is not linearizable"),
    (Bug::UncheckedIndex, Kind::Dense, 1, "is not linearizable"),
    (Bug::ShortLock, Kind::Churn, 1, "two clients held a lock"),
    (Bug::TimersOfWallClock, Kind::Churn, 2, "after a heartbeat"),
    (Bug::UncheckedPlan, Kind::Dense, 5, "are given away"),
    (Bug::LostEvent, Kind::Churn, 1, "was lost"),
    (Bug::DoubledEvent, Kind::Churn, 1, "arrived twice"),
    (Bug::ForgottenWake, Kind::Churn, 1, "nobody woke the read"),
];

/// Looks for a bug with all seeds that are enough.
fn find(bug: Bug, kind: Kind) -> Option<(u64, String)> {
    (1..=ENOUGH).find_map(|seed| Some((seed, run(seed, kind, Some(bug), false).broken?)))
}

/// Checks that a seed finds a bug.
fn finds((bug, kind, seed, what): Found) {
    let why = run(seed, kind, Some(bug), false).broken;
    let first = why.as_deref().and_then(|w| w.lines().next());
    assert!(first.is_some_and(|line| line.contains(what)), "{bug:?}: seed {seed} finds {first:?}, not {what:?}");
}

/// Three bugs with the seeds that are known to find them.
#[test]
fn deliberate_bugs_are_found() {
    FOUND.into_iter().filter(|f| AT_ONCE.contains(&f.0)).for_each(finds);
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn all_deliberate_bugs_are_found_within_300_seeds() {
    let only = std::env::var("ENCAMP_DELIBERATE_BUG").unwrap_or_default();
    let wanted: Vec<Found> = FOUND.into_iter().filter(|(bug, ..)| format!("{bug:?}").contains(&only)).collect();
    let next = AtomicUsize::new(0);
    let look = || {
        while let Some((bug, kind, ..)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (seed, why) = find(*bug, *kind).unwrap_or_else(|| panic!("{bug:?} is not found"));
            println!("{bug:?} | {kind:?} | {seed} | {}", why.lines().next().unwrap_or_default());
        }
    };
    std::thread::scope(|s| [s.spawn(look), s.spawn(look)].into_iter().for_each(|t| t.join().expect("found")));
}
