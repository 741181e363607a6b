//! Replays the kept inputs of the fuzzers (`tests/fuzz_targets/corpus`), each within its bounds of time and memory. The
//! fuzzers in `fuzz/` begin with them, and findings are added to them.
//!
//! - `ENCAMP_FUZZ_INPUT=target:file` runs this input alone.
//! - `ENCAMP_FUZZ_TARGET=target` derives inputs of this target from the kept ones instead, for `ENCAMP_FUZZ_SECONDS`
//!   seconds from the seed `ENCAMP_FUZZ_SEED`. It finds less than the fuzzers, and needs no build of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::fuzz_support::mutate;
use encamp_fuzz_targets::{LONGEST, TARGETS, Target, check, named};
use encamp_model::random::Random;
use encamp_test_support::seeds::setting;

/// Set in the process that runs the inputs.
const INSIDE: &str = "ENCAMP_FUZZ_INSIDE";
/// Most bytes of the kept inputs of a target.
const MOST_KEPT: usize = 64 << 10;

fn corpus(target: Target) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz_targets/corpus").join(target.name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

/// Runs the inputs in a process of their own: memory is measured there, undisturbed by other tests.
#[test]
fn kept_inputs_stay_within_their_bounds() {
    if std::env::var_os(INSIDE).is_some() {
        return run_inputs();
    }
    let own = std::env::current_exe().expect("this program");
    let name = "fuzz_replay::kept_inputs_stay_within_their_bounds";
    let mut child = std::process::Command::new(own);
    child.args([name, "--exact", "--nocapture"]).env(INSIDE, "1");
    let ran = child.output().expect("the replay");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, errors) = (text(&ran.stdout), text(&ran.stderr));
    print!("{out}");
    assert!(ran.status.success() && out.contains("1 passed"), "{out}{errors}");
}

fn run_inputs() {
    // A panic of a task in the background fails no request.
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        usual(info);
    }));
    if let Ok(given) = std::env::var("ENCAMP_FUZZ_INPUT") {
        let (name, file) = given.split_once(':').expect("ENCAMP_FUZZ_INPUT is target:file");
        if let Some(target) = named(name) {
            println!("accepted: {}", check(target, &fs::read(file).expect("the input")));
        }
        return;
    }
    if let Some(target) = std::env::var("ENCAMP_FUZZ_TARGET").ok().and_then(|name| named(&name)) {
        return derive_inputs(target, &PANICS);
    }
    for target in TARGETS {
        let (begin, mut accepted, mut bytes) = (Instant::now(), 0, 0);
        let files = corpus(target);
        for file in &files {
            let data = fs::read(file).expect("an input");
            assert!(data.len() <= LONGEST, "{}: longer than the inputs of fuzzers", file.display());
            bytes += data.len();
            println!("{}", file.display());
            accepted += usize::from(check(target, &data));
            assert_eq!(PANICS.load(Ordering::SeqCst), 0, "{}: a task panicked", file.display());
        }
        let ms = begin.elapsed().as_millis();
        println!("{}: {} inputs, {accepted} accepted, {bytes} bytes, {ms} ms", target.name, files.len());
        assert!(accepted > 0, "{}: no input is accepted, so that fuzzers begin nowhere", target.name);
        assert!(bytes <= MOST_KEPT, "{}: {bytes} bytes are kept, more than {MOST_KEPT}", target.name);
    }
}

/// Runs inputs derived from the kept ones. The one that is run is in a file, which stays when it fails.
fn derive_inputs(target: Target, panics: &AtomicUsize) {
    let kept: Vec<Vec<u8>> = corpus(target).iter().map(|file| fs::read(file).expect("an input")).collect();
    let time = Duration::from_secs(setting("ENCAMP_FUZZ_SECONDS").unwrap_or(5));
    let first = setting("ENCAMP_FUZZ_SEED").unwrap_or(1);
    let file = std::env::temp_dir().join(format!("encamp-fuzz-{}-{}", target.name, std::process::id()));
    println!("{}: {} s from seed {first}; the input is in {}", target.name, time.as_secs(), file.display());
    let (begin, mut seed, mut accepted) = (Instant::now(), first, 0);
    while begin.elapsed() < time {
        let data = mutate::derive(&mut Random::new(seed, target.name), &kept, LONGEST);
        fs::write(&file, &data).expect("a file");
        accepted += usize::from(check(target, &data));
        assert_eq!(panics.load(Ordering::SeqCst), 0, "seed {seed}: a task panicked");
        seed = seed.wrapping_add(1);
    }
    fs::remove_file(&file).expect("the file");
    println!("{}: {} inputs, {accepted} accepted", target.name, seed.wrapping_sub(first));
}
