//! Notes about a run of `cargo test`: what was skipped, and which tests took long.
//!
//! `cargo test` captures what passing tests print, so the tests of all programs write their notes to one file, and
//! the program that Cargo starts last (`xtask/tests/summary.rs`) prints them.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::program::build_directory;

/// Tests that run for longer are noted.
pub const SLOW: Duration = Duration::from_secs(10);

/// The kinds of notes.
const SKIPPED: &str = "skipped";
const TOOK: &str = "slow";

/// The notes of all tests that one Cargo process started.
#[derive(Debug, Default)]
pub struct Notes {
    /// What was not tested, and why.
    pub skipped: Vec<String>,
    /// Tests and the seconds they took.
    pub slow: Vec<(f64, String)>,
}

/// Notes that the machine lacks something a test needs. Continuous integration installs every program: there
/// (`CI` is set), it is a failure.
///
/// # Panics
///
/// If `CI` is set.
pub fn missing(suite: &str, why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{suite}: {why}");
    skipped(suite, why);
}

/// Whether a program is in one of the directories of `PATH`.
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Whether a program that a test needs is not installed, which is noted.
///
/// # Panics
///
/// If the program is missing and `CI` is set.
pub fn lacks(suite: &str, program: &str) -> bool {
    let lacks = !installed(program);
    if lacks {
        missing(suite, &format!("{program} is not installed"));
    }
    lacks
}

/// Notes that something can't be tested here, on no account: the kernel or the user has no right to it.
pub fn skipped(suite: &str, why: &str) {
    println!("skipped: {suite}: {why}");
    write(SKIPPED, &format!("{suite}: {why}"));
}

/// Notes the test of the current thread when it ends, if it took long.
#[derive(Debug)]
pub struct Timed {
    start: Instant,
    test: Option<String>,
}

impl Timed {
    /// Starts the clock. The harness names the thread of a test after the test.
    pub fn start() -> Timed {
        let test = std::thread::current().name().filter(|name| *name != "main").map(String::from);
        Timed { start: Instant::now(), test }
    }
}

impl Drop for Timed {
    fn drop(&mut self) {
        let time = self.start.elapsed();
        if let Some(test) = self.test.as_ref().filter(|_| time >= SLOW) {
            write(TOOK, &format!("{:.0} {test}", time.as_secs_f64()));
        }
    }
}

/// The notes of the tests that the same Cargo process started; they are removed.
pub fn take() -> Notes {
    let mut notes = Notes::default();
    let Some(path) = path() else { return notes };
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(&path);
    for (kind, note) in text.lines().filter_map(|line| line.split_once('\t')) {
        match kind {
            SKIPPED => notes.skipped.push(note.into()),
            _ => notes.slow.extend(note.split_once(' ').and_then(|(s, test)| Some((s.parse().ok()?, test.into())))),
        }
    }
    notes.skipped.sort();
    notes.skipped.dedup();
    // A test with several directories notes each of them.
    notes.slow.sort_by(|a, b| a.1.cmp(&b.1).then(b.0.total_cmp(&a.0)));
    notes.slow.dedup_by(|a, b| a.1 == b.1);
    notes.slow.sort_by(|a, b| b.0.total_cmp(&a.0));
    notes
}

/// One line per note; the name has the number of the process that started this one.
fn path() -> Option<PathBuf> {
    let parent = rustix::process::getppid()?.as_raw_nonzero();
    let dir = build_directory().parent()?.join("tmp");
    fs::create_dir_all(&dir).ok()?;
    Some(dir.join(format!("notes-{parent}")))
}

fn write(kind: &str, note: &str) {
    let Some(path) = path() else { return };
    let file = File::options().create(true).append(true).open(path);
    // A run without notes is still a run.
    let _ = file.and_then(|mut file| file.write_all(format!("{kind}\t{}\n", note.replace('\n', " ")).as_bytes()));
}
