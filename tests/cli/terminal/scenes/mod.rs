//! What commands show on terminals of three sizes is stored in `tests/cli/terminal/scenes`.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli scenes` writes the screens: read them before they are committed.

use std::path::{Path, PathBuf};

use crate::program::{Folder, run_in};
use crate::terminal::encamp_with;
use crate::terminal::screen::Size;

const SIZES: [Size; 3] =
    [Size { columns: 80, rows: 24 }, Size { columns: 120, rows: 40 }, Size { columns: 200, rows: 50 }];

/// When garbage collection runs.
const TIME: &str = "2026-03-02T12:30:00Z";

/// Each scene: its name, the command and the exit code.
const SCENES: &[(&str, &[&str], i32)] = &[
    ("what-if-drain", &["what-if", "-snapshot", "demo.json", "-drain", "dc1-general-01"], 0),
    ("what-if-datacenter", &["what-if", "-snapshot", "demo.json", "-down", "dc=dc2"], 1),
    ("what-if-all", &["what-if", "-snapshot", "demo.json", "-down", "dc=dc2", "-all"], 1),
    ("what-if-large", &["what-if", "-snapshot", "large.json.zst", "-down", "dc=dc2"], 1),
    ("capacity", &["capacity", "-snapshot", "demo.json", "-survive", "1 dc", "api.hcl"], 0),
    ("capacity-large", &["capacity", "-snapshot", "large.json.zst", "api.hcl"], 0),
    ("rebalance", &["rebalance", "-snapshot", "demo.json", "-free-nodes", "dc1-general-01,dc1-general-04"], 0),
    ("rebalance-large", &["rebalance", "-snapshot", "large.json.zst", "-free", "6"], 0),
    ("job-plan", &["job", "plan", "-snapshot", "demo.json", "api-destructive.hcl"], 1),
    ("job-plan-evicts", &["job", "plan", "-snapshot", "preemption.json", "webapp.hcl"], 1),
    ("job-plan-placements", &["job", "plan", "-snapshot", "demo.json", "-placements", "web-canary.hcl"], 1),
    ("job-plan-unplaced", &["job", "plan", "-snapshot", "demo.json", "trainer-fails.hcl"], 1),
    ("job-plan-many", &["job", "plan", "-snapshot", "demo.json", "api-destructive.hcl", "web-canary.hcl"], 1),
    ("snapshot-inspect", &["snapshot", "inspect", "large.json.zst"], 0),
    ("snapshot-diff", &["snapshot", "diff", "demo.json", "preemption.json"], 1),
    ("snapshot-diff-jobs", &["snapshot", "diff", "-only", "jobs,nodes", "demo.json", "large.json.zst"], 1),
    ("system-gc", &["system", "gc", "-dry-run", "-at", TIME, "-snapshot", "demo.json"], 0),
    ("gc-explain", &["gc", "explain", "-at", TIME, "-snapshot", "demo.json", "web"], 0),
];

fn bench() -> Folder {
    let folder = Folder::new("scenes");
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for (from, to) in [
        ("demo/cluster.json", "demo.json"),
        ("demo/registered/api.hcl", "api.hcl"),
        ("demo/api-destructive.hcl", "api-destructive.hcl"),
        ("demo/web-canary.hcl", "web-canary.hcl"),
        ("demo/trainer-fails.hcl", "trainer-fails.hcl"),
        ("preemption/cluster.json", "preemption.json"),
        ("preemption/webapp.hcl", "webapp.hcl"),
    ] {
        std::fs::copy(fixtures.join(from), folder.path().join(to)).unwrap_or_else(|e| panic!("{from}: {e}"));
    }
    let large = ["sim", "cluster", "-nodes", "120", "-allocs", "3000", "-seed", "4", "-out", "large.json.zst"];
    let made = run_in(folder.path(), &large);
    assert_eq!(made.exit, 0, "{made:?}");
    folder
}

fn stored(name: &str, size: Size) -> PathBuf {
    let file = format!("{name}-{}x{}.txt", size.columns, size.rows);
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal/scenes").join(file)
}

/// The screen without the blanks that end its lines.
fn tidy(contents: &str) -> String {
    let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

#[test]
fn screens_are_the_stored_ones() {
    let folder = bench();
    let mut differ = Vec::new();
    for (name, args, code) in SCENES {
        for size in SIZES {
            let env = [("TERM", "xterm-256color"), ("PAGER", "cat")];
            let ended = encamp_with(size, &folder, "http://127.0.0.1:9", &env, args).ends().with(*code);
            let (shown, file) = (tidy(&ended.contents), stored(name, size));
            if std::env::var_os("ENCAMP_UPDATE").is_some() {
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(&file, &shown).unwrap();
            }
            let want = std::fs::read_to_string(&file).unwrap_or_default();
            if want != shown {
                differ.push(format!("{}:\n{shown}", file.display()));
            }
        }
    }
    assert!(differ.is_empty(), "ENCAMP_UPDATE=1 writes what is shown; different:\n{}", differ.join("\n"));
}

/// A loss with thousands of consequences is shown on one screen: what breaks, where, and the worst of it.
#[test]
fn a_large_loss_is_told_in_forty_lines() {
    let folder = bench();
    let run = |more: &[&str]| {
        let args = [&["what-if", "-snapshot", "large.json.zst", "-down", "dc=dc2"], more].concat();
        run_in(folder.path(), &args).stdout
    };
    let (short, all) = (run(&[]), run(&["-verbose"]));
    assert!(all.lines().count() > 500, "{all}");
    assert!(short.lines().count() <= 40, "{} lines:\n{short}", short.lines().count());
    let first = short.lines().next().unwrap_or_default();
    assert!(first.ends_with(" would be unplaced."), "{first}");
    assert!(short.contains("\nProblems, worst first\nJob ") && short.contains("\nand "), "{short}");
}

/// Long output goes to the pager, but not into a pipe, not if it is short, and not if that is unwanted.
#[test]
fn long_output_goes_to_the_pager() {
    let folder = bench();
    folder.file("pager", "#!/bin/sh\nread -r line\necho \"paged: $line\"\n");
    let status = std::process::Command::new("chmod").args(["+x", "pager"]).current_dir(folder.path()).status();
    assert!(status.expect("chmod").success());
    let pager = folder.path().join("pager").display().to_string();
    let size = SIZES[0];
    let show = |variables: &[(&str, &str)], args: &[&str]| {
        let env = [&[("TERM", "xterm-256color")], variables].concat();
        encamp_with(size, &folder, "http://127.0.0.1:9", &env, args).ends()
    };
    let long = ["what-if", "-snapshot", "demo.json", "-down", "dc=dc2", "-all"];
    let short = ["capacity", "-snapshot", "demo.json", "api.hcl"];
    show(&[("PAGER", &pager)], &long).with(1).showing("paged: ");
    show(&[("ENCAMP_PAGER", &pager), ("PAGER", "cat")], &long).with(1).showing("paged: ");
    show(&[("PAGER", &pager)], &[&long[..], &["-no-pager"]].concat()).with(1).without("paged: ");
    show(&[("PAGER", &pager)], &short).with(0).without("paged: ");
    show(&[("PAGER", &pager), ("ENCAMP_PAGER", "")], &long).with(1).without("paged: ");
    show(&[("PAGER", "/nonexistent/pager")], &long).with(1).showing("Free capacity of ready nodes");
}

/// Tables keep to the width; `-wide` lifts that.
#[test]
fn tables_keep_to_the_width_of_the_terminal() {
    let folder = bench();
    let env = [("TERM", "xterm-256color"), ("PAGER", "cat")];
    let narrow = Size { columns: 60, rows: 100 };
    let args = ["what-if", "-snapshot", "large.json.zst", "-down", "dc=dc2"];
    let shown = encamp_with(narrow, &folder, "http://127.0.0.1:9", &env, &args).ends();
    assert!(shown.contents.contains('…'), "{}", shown.contents);
    let wide = encamp_with(narrow, &folder, "http://127.0.0.1:9", &env, &[&args[..], &["-wide"]].concat()).ends();
    assert!(!wide.contents.contains('…'), "{}", wide.contents);
}
