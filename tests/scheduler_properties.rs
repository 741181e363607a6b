//! What every plan keeps, whatever the cluster: checked on random clusters (`docs/reliability.md`).
//!
//! Runs for `ENCAMP_PROPERTY_SECONDS` (10), or until `ENCAMP_PROPERTY_PLACEMENTS` placements were made; seeds count up
//! from `ENCAMP_PROPERTY_START` (1), on `ENCAMP_PROPERTY_THREADS` threads (2). The first broken rule ends the
//! run, or the `ENCAMP_PROPERTY_FAILURES`-th. `ENCAMP_PROPERTY_SEED=n` runs case `n` alone and tells what happens in it.

#[path = "property_support/mod.rs"]
mod property_support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use property_support::case::run_case;
use property_support::tally::{EVENTS, Tally};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Runs a case; a panic is a failure like any other.
fn try_case(seed: u64, tally: &mut Tally) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(|| run_case(seed, tally))).unwrap_or_else(|p| {
        let text = p.downcast_ref::<String>().cloned().or_else(|| p.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

#[test]
fn every_plan_keeps_the_rules() {
    if let Some(seed) = setting("ENCAMP_PROPERTY_SEED") {
        run_case(seed, &mut Tally::default()).unwrap_or_else(|e| panic!("case {seed}: {e}"));
        return;
    }
    let seconds = setting("ENCAMP_PROPERTY_SECONDS").unwrap_or(10);
    let placements = setting("ENCAMP_PROPERTY_PLACEMENTS");
    let first = setting("ENCAMP_PROPERTY_START").unwrap_or(1);
    let most_failures = setting("ENCAMP_PROPERTY_FAILURES").unwrap_or(1) as usize;
    let (next, placed, stop) = (AtomicU64::new(first), AtomicU64::new(0), AtomicBool::new(false));
    let (total, failures) = (Mutex::new(Tally::default()), Mutex::new(Vec::new()));
    let begin = Instant::now();
    let work = || {
        let mut tally = Tally::default();
        while !stop.load(Ordering::Relaxed) {
            let enough = match placements {
                Some(wanted) => placed.load(Ordering::Relaxed) >= wanted,
                None => begin.elapsed().as_secs() >= seconds,
            };
            if enough {
                break;
            }
            let seed = next.fetch_add(1, Ordering::Relaxed);
            let before = tally.count("placements");
            if let Err(e) = try_case(seed, &mut tally) {
                let mut failures = failures.lock().expect("no panic while held");
                failures.push((seed, e));
                stop.fetch_or(failures.len() >= most_failures, Ordering::Relaxed);
            }
            placed.fetch_add(tally.count("placements") - before, Ordering::Relaxed);
        }
        total.lock().expect("no panic while held").merge(&tally);
    };
    std::thread::scope(|s| {
        for _ in 0..setting("ENCAMP_PROPERTY_THREADS").unwrap_or(2) {
            s.spawn(work);
        }
    });
    let (total, mut failures) =
        (total.into_inner().expect("no panic while held"), failures.into_inner().expect("no panic while held"));
    let counts: Vec<String> = EVENTS.iter().map(|e| format!("{} {e}", total.count(e))).collect();
    println!(
        "{} cases, {} evaluations, {}; {} failures; seeds {first}..={}; {} s",
        total.cases,
        total.evaluations,
        counts.join(", "),
        failures.len(),
        next.into_inner() - 1,
        begin.elapsed().as_secs()
    );
    failures.sort();
    for (seed, e) in &failures {
        println!("ENCAMP_PROPERTY_SEED={seed} cargo test --test scheduler_properties   # {e}");
    }
    assert!(failures.is_empty(), "{} cases break a rule", failures.len());
    let idle: Vec<&&str> = EVENTS.iter().filter(|e| total.count(e) == 0).collect();
    assert!(idle.is_empty(), "these never occurred: {idle:?}");
}
