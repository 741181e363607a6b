//! Files of 1 MB made to hurt, given to the real program: `job validate` must end, soon, without taking much memory,
//! and without saying more than anybody can read. Builds without optimisation are not measured: CI names the release
//! build.
//!
//! `ENCAMP_PROGRAM=path`: an optimised build to measure instead of the one the tests were built with.
//! `ENCAMP_HOSTILE=text`: only the files whose names contain the text, in any build, with what each takes.

use crate::hostile;
use crate::program;
use encamp_test_support::notes;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::hostile::{Case, Kind, Outcome};

/// Bytes of a file.
const SIZE: usize = 1 << 20;
/// Seconds of processor time a run may take in a build with optimisation.
const MAX_SECONDS: f64 = 1.0;
/// How much longer builds without optimisation may take.
const DEBUG_FACTOR: f64 = 15.0;
/// Most memory a run may use, in kilobytes.
const MAX_MEMORY: u64 = 200 << 10;
/// Most a run may print, in bytes.
const MAX_OUTPUT: u64 = 32 << 20;
/// Ticks per second of the times in `/proc`, the same on every Linux of today.
const TICKS: f64 = 100.0;

#[derive(Debug)]
struct Run {
    exit: Option<i32>,
    seconds: f64,
    memory: u64,
    output: u64,
    said: String,
}

fn seconds(limit: f64) -> f64 {
    if program::optimised() { limit } else { limit * DEBUG_FACTOR }
}

/// State letter and seconds of processor time of a process; a process that has ended keeps them until it is waited for.
fn times(pid: u32) -> Option<(char, f64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some((fields.first()?.chars().next()?, ticks / TICKS))
}

/// Peak memory of a running process, in kilobytes.
fn peak(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn validate(folder: &program::Folder, case: &Case) -> Run {
    let path = folder.file(&format!("{}.nomad", case.name), &case.content);
    let said = folder.path().join(format!("{}.said", case.name));
    let out = fs::File::create(&said).expect("a file for the output");
    let mut command = Command::new("sh");
    // The limit is a safety net for the machine; what is checked is the memory in use.
    command.args(["-c", "ulimit -v 6000000; ulimit -t 60; exec \"$0\" \"$@\"", &program::path(), "job", "validate"]);
    if case.kind == Kind::Json {
        command.arg("-json");
    }
    let err = out.try_clone().expect("a second handle");
    let mut child =
        command.arg(&path).env_clear().stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("sh starts");
    let pid = child.id();
    let begin = Instant::now();
    let mut run = Run { exit: None, seconds: 0.0, memory: 0, output: 0, said: String::new() };
    while let Some((state, seconds)) = times(pid) {
        run.seconds = seconds;
        if state == 'Z' {
            break;
        }
        run.memory = run.memory.max(peak(pid).unwrap_or(0));
        if begin.elapsed() > Duration::from_secs(120) {
            child.kill().expect("the program can be stopped");
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    run.exit = child.wait().expect("the program ends").code();
    run.output = fs::metadata(&said).map_or(0, |m| m.len());
    let text = fs::read(&said).unwrap_or_default();
    run.said = String::from_utf8_lossy(text.get(..text.len().min(400)).unwrap_or_default()).into_owned();
    run
}

/// What is wrong with a run.
fn problem(case: &Case, run: &Run) -> Option<String> {
    let wanted: &[i32] = match case.outcome {
        Outcome::Valid => &[0],
        Outcome::Refused => &[1],
        Outcome::Either => &[0, 1],
    };
    if !run.exit.is_some_and(|code| wanted.contains(&code)) || run.said.contains("panicked") {
        return Some(format!("ended with {:?}", run.exit));
    }
    if run.seconds > seconds(MAX_SECONDS) {
        return Some(format!("took {:.2} s", run.seconds));
    }
    // Code without optimisation keeps more on the stack, not on the heap: the same limit holds.
    if run.memory > MAX_MEMORY {
        return Some(format!("used {} MB", run.memory >> 10));
    }
    (run.output > MAX_OUTPUT).then(|| format!("printed {} MB", run.output >> 20))
}

#[test]
fn hostile_files_end_soon_and_small() {
    if times(std::process::id()).is_none() {
        notes::skipped("hostile job files", "there is no /proc");
        return;
    }
    let only = std::env::var("ENCAMP_HOSTILE").ok();
    if !program::optimised() && only.is_none() {
        notes::skipped("hostile job files", "the program is not optimised: ENCAMP_PROGRAM names another one");
        return;
    }
    let folder = program::Folder::new("hostile");
    let mut problems = Vec::new();
    let (mut slowest, mut largest, mut count) = ((0.0, ""), (0, ""), 0);
    for case in hostile::cases(SIZE).iter().filter(|c| only.as_deref().is_none_or(|o| c.name.contains(o))) {
        let run = validate(&folder, case);
        count += 1;
        if run.seconds > slowest.0 {
            slowest = (run.seconds, case.name);
        }
        if run.memory > largest.0 {
            largest = (run.memory, case.name);
        }
        if only.is_some() {
            println!("{}: {run:?}", case.name);
        }
        if let Some(what) = problem(case, &run) {
            let said = run.said.lines().take(3).collect::<Vec<_>>().join(" | ");
            problems.push(format!("{}: {what}\n    {said}", case.name));
        }
    }
    println!(
        "{count} files; slowest {:.2} s ({}), largest {} MB ({})",
        slowest.0,
        slowest.1,
        largest.0 >> 10,
        largest.1
    );
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n"));
}
