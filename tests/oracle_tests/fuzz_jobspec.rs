//! The seeded fuzzer of job files, JSON jobs and variables: for `ENCAMP_FUZZ_SECONDS` seconds (5 without it), the three
//! targets share the time. A failing input is written to a file, and what is printed tells how to run it again.
//!
//! - `ENCAMP_FUZZ_SEED=n`: begin with this seed instead of the clock's. Input i of a run has the seed n + i.
//! - `ENCAMP_FUZZ_INPUT=target:file`: run this input only.
//! - `ENCAMP_FUZZ_SEEDS=folder`: write the seeds that are quick into `folder/<target>/` for the fuzzers in `fuzz/`, and
//!   end.

use std::cell::Cell;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::fuzz_support::pipeline::{self, Reached};
use crate::fuzz_support::{mutate, seeds};
use encamp_model::random::Random;
use encamp_test_support::meter::{FACTOR, measure};
use encamp_test_support::seeds::setting;

/// Largest input, in bytes.
const MAX_INPUT: usize = 1 << 20;

/// Takes an input all the way.
type Target = fn(&[u8]) -> Reached;

const TARGETS: [(&str, Target); 3] =
    [("hcl", pipeline::hcl), ("json", pipeline::json), ("variables", pipeline::variables)];

/// Runs one input. The error says what went wrong.
fn run(target: Target, data: &[u8]) -> Result<Reached, String> {
    let reached = Cell::new(Reached::Refused);
    let mut panicked = false;
    let cost = measure(|| panicked = catch_unwind(AssertUnwindSafe(|| reached.set(target(data)))).is_err());
    match cost.excess() {
        _ if panicked => Err("the input makes it panic".to_owned()),
        Some(excess) => Err(format!("the input {excess}")),
        None => Ok(reached.get()),
    }
}

/// Whether a fuzzer that begins with this seed makes many inputs of it in a second.
fn is_quick(target: Target, seed: &[u8]) -> bool {
    let cost = measure(|| {
        target(seed);
    });
    cost.seconds < 0.02 * FACTOR
}

fn input(seed: u64, seeds: &[Vec<u8>], target: usize) -> Vec<u8> {
    let mut random = Random::new(seed, "fuzz");
    match (target, random.below(8)) {
        // A seed as it is, now and then.
        (_, 7) => random.pick(seeds).cloned().unwrap_or_default(),
        (0, 0 | 1) => mutate::job(&mut random),
        (2, 0 | 1) => {
            [b"\x03".as_slice(), &[random.below(12) as u8], mutate::expression(&mut random, 0).as_bytes()].concat()
        }
        _ => mutate::derive(&mut random, seeds, MAX_INPUT),
    }
}

/// Set in the process that runs the inputs.
const INSIDE: &str = "ENCAMP_FUZZ_INSIDE";

/// Runs the inputs in a process of their own: time and memory are measured there, undisturbed by other tests.
#[test]
fn inputs_end_in_a_job_or_an_error() {
    if std::env::var_os(INSIDE).is_some() {
        return run_inputs();
    }
    let own = std::env::current_exe().expect("this program");
    let name = "fuzz_jobspec::inputs_end_in_a_job_or_an_error";
    let mut child = std::process::Command::new(own);
    child.args([name, "--exact", "--nocapture"]).env(INSIDE, "1");
    let ran = child.output().expect("the fuzzer");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&ran.stdout), text(&ran.stderr));
    print!("{out}");
    assert!(ran.status.success() && out.contains("1 passed"), "{out}{errors}");
}

fn run_inputs() {
    let seeds = seeds::seeds();
    let seeds = [seeds.hcl, seeds.json, seeds.variables];
    if let Some(folder) = std::env::var_os("ENCAMP_FUZZ_SEEDS") {
        for ((name, target), list) in TARGETS.iter().zip(&seeds) {
            let folder = std::path::Path::new(&folder).join(name);
            fs::create_dir_all(&folder).expect("a folder for the seeds");
            for (i, seed) in list.iter().enumerate().filter(|(_, seed)| is_quick(*target, seed)) {
                fs::write(folder.join(format!("seed-{i:04}")), seed).expect("a file for a seed");
            }
        }
        return;
    }
    if let Ok(given) = std::env::var("ENCAMP_FUZZ_INPUT") {
        let (name, file) = given.split_once(':').expect("ENCAMP_FUZZ_INPUT is target:file");
        let (_, target) = TARGETS.iter().find(|(n, _)| *n == name).expect("a target");
        println!("{:?}", run(*target, &fs::read(file).expect("the input")).expect("a good input"));
        return;
    }
    let time = Duration::from_secs(setting("ENCAMP_FUZZ_SECONDS").unwrap_or(5));
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
    let first = setting("ENCAMP_FUZZ_SEED").unwrap_or_else(clock);
    println!("fuzzing for {} s from seed {first}", time.as_secs());
    let (begin, mut seed) = (Instant::now(), first);
    let mut reached = std::collections::BTreeMap::new();
    while begin.elapsed() < time {
        let which = (seed % 3) as usize;
        let (name, target) = TARGETS[which];
        let data = input(seed, &seeds[which], which);
        let how = check(name, target, &data, &format!("ENCAMP_FUZZ_SEED={seed}"));
        *reached.entry((name, how)).or_insert(0_u64) += 1;
        seed = seed.wrapping_add(1);
    }
    println!("{} inputs; how far they came: {reached:?}", seed.wrapping_sub(first));
}

/// Runs an input; a failing one is kept in a file.
fn check(name: &str, target: Target, data: &[u8], origin: &str) -> Reached {
    run(target, data).unwrap_or_else(|what| {
        let file = std::env::temp_dir().join(format!("encamp-fuzz-{name}-{}", std::process::id()));
        fs::write(&file, data).expect("a file for the failing input");
        let file = file.display();
        panic!("{what} ({name}, {origin})\nwritten to {file}; again: ENCAMP_FUZZ_INPUT={name}:{file} cargo test --test oracle fuzz_jobspec")
    })
}
