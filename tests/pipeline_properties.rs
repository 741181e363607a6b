//! What the way from an evaluation to a committed plan keeps, whoever gets in between (`docs/reliability.md`).
//!
//! Runs 150 cases, or for `ENCAMP_PIPELINE_SECONDS`; seeds count up from `ENCAMP_PIPELINE_START` (1), on `ENCAMP_PIPELINE_THREADS`
//! threads (2). The first broken rule ends the run, or the `ENCAMP_PIPELINE_FAILURES`-th. `ENCAMP_PIPELINE_SEED=n` runs
//! case `n` alone and tells what happens in it. The same seed gives the same case.

mod pipeline_support;
// Parts of it serve here.
#[allow(dead_code)]
mod property_support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use pipeline_support::Verdict;
use pipeline_support::events;
use pipeline_support::tally::{EVENTS, Tally};
use pipeline_support::world::World;
use property_support::dice::Dice;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many cases a plain run has.
const CASES: u64 = 150;
/// Cases that have to meet all kinds of events.
const ENOUGH: u64 = 60;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

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

/// Runs a case; a panic is a failure like any other.
fn try_case(seed: u64, tally: &mut Tally) -> Verdict {
    catch_unwind(AssertUnwindSafe(|| run_case(seed, tally))).unwrap_or_else(|p| {
        let text = p.downcast_ref::<String>().cloned().or_else(|| p.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

#[test]
fn whoever_gets_in_between() {
    if let Some(seed) = setting("ENCAMP_PIPELINE_SEED") {
        run_case(seed, &mut Tally::default()).unwrap_or_else(|e| panic!("case {seed}: {e}"));
        return;
    }
    let seconds = setting("ENCAMP_PIPELINE_SECONDS");
    let first = setting("ENCAMP_PIPELINE_START").unwrap_or(1);
    let most_failures = setting("ENCAMP_PIPELINE_FAILURES").unwrap_or(1) as usize;
    let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
    let (total, failures) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let begin = Instant::now();
    let work = || {
        let mut tally = Tally::default();
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seconds.map_or(seed >= first + CASES, |s| begin.elapsed().as_secs() >= s) {
                break;
            }
            if let Err(e) = try_case(seed, &mut tally) {
                let mut failures = failures.lock().expect("no panic while held");
                failures.push((seed, e));
                stop.fetch_or(failures.len() >= most_failures, Ordering::Relaxed);
            }
        }
        total.lock().expect("no panic while held").merge(&tally);
    };
    std::thread::scope(|s| {
        for _ in 0..setting("ENCAMP_PIPELINE_THREADS").unwrap_or(2) {
            s.spawn(work);
        }
    });
    let (total, mut failures) =
        (total.into_inner().expect("no panic while held"), failures.into_inner().expect("no panic while held"));
    let counts: Vec<String> = EVENTS.iter().map(|e| format!("{} {e}", total.count(e))).collect();
    println!(
        "{} cases, {}; {} failures; seeds {first}..={}; {} s",
        total.count("cases"),
        counts.join(", "),
        failures.len(),
        next.into_inner() - 1,
        begin.elapsed().as_secs()
    );
    failures.sort();
    for (seed, e) in &failures {
        println!("ENCAMP_PIPELINE_SEED={seed} cargo test --test pipeline_properties   # {e}");
    }
    assert!(failures.is_empty(), "{} cases break a rule", failures.len());
    let idle: Vec<&&str> = EVENTS.iter().filter(|e| total.count(e) == 0).collect();
    assert!(idle.is_empty() || total.count("cases") < ENOUGH, "these never occurred: {idle:?}");
}
