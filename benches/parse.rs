//! Measures the time from a job file's text to the result of `job validate`: parse, defaults, conversion, admission.
//!
//! Two files: a job of 300 lines, and one of 20,000 lines with many groups. `cargo bench --bench parse -- 300` runs the
//! file whose name contains the text.

use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use encamp_jobspec::admission::{ServerContext, check};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_jobspec::parse::{ParseOptions, parse};

/// The command's own allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SHOP: &str = include_str!("data/shop.hcl");

/// The shop with its group `web` again and again, until the job has this many lines.
fn grown(lines: usize) -> String {
    let (before, rest) = SHOP.split_once("  group \"web\" {\n").expect("there is a group web");
    let (group, after) = rest.split_once("\n  group ").expect("there is a next group");
    let have = SHOP.lines().count();
    let each = group.lines().count() + 2;
    let mut text = before.to_owned();
    for i in 0..lines.saturating_sub(have).div_ceil(each) + 1 {
        // Strings can be written to.
        let _ = write!(text, "  group \"web-{i}\" {{\n{group}\n\n");
    }
    text + "  group " + after
}

/// Reads the job and judges it; the number of its groups.
fn judge(text: &str) -> usize {
    let options = ParseOptions { path: "job.hcl".into(), ..ParseOptions::default() };
    let mut job = parse(text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}"));
    canonicalize(&mut job);
    let stored = to_server(&job, &ConvertOptions { region: "global".into(), ..ConvertOptions::default() });
    let checked = check(stored.expect("the job converts"), &ServerContext::default()).expect("the job can be mutated");
    assert!(checked.errors.is_empty(), "{:?}", checked.errors);
    black_box(checked).job.task_groups.len()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    println!("{:<14} {:>7} {:>7} {:>12} {:>12} {:>12}", "file", "lines", "groups", "best ms", "median ms", "target ms");
    for (name, text, rounds, target) in
        [("300-lines", SHOP.to_owned(), 300, 3.0), ("20000-lines", grown(20_000), 15, 300.0)]
    {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        let mut groups = 0;
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let start = Instant::now();
                groups = judge(black_box(&text));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let (best, median) =
            (times.first().copied().unwrap_or_default(), times.get(rounds / 2).copied().unwrap_or_default());
        let lines = text.lines().count();
        println!("{name:<14} {lines:>7} {groups:>7} {:>12.2} {:>12.2} {target:>12}", ms(best), ms(median));
    }
}
