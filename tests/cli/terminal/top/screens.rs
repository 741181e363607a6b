//! Screens of three sizes, which are stored in `tests/cli/terminal/top/screens`.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli terminal::top::screens` writes the screens: read them before they are committed.

use std::path::PathBuf;
use std::time::Duration;

use regex::Regex;

use super::{canned, repository_file};
use crate::program::{Folder, run_in};
use crate::terminal::encamp;
use crate::terminal::screen::{Screen, Size};

const SIZES: [Size; 3] =
    [Size { columns: 80, rows: 24 }, Size { columns: 120, rows: 40 }, Size { columns: 200, rows: 50 }];
/// Smaller than any terminal that people choose.
const SMALL: Size = Size { columns: 40, rows: 8 };

/// A scene: its name, the keys that lead to it from the one before, and a text that it shows.
type Scene = (&'static str, &'static str, &'static str);

const OF_FILE: &[Scene] = &[
    ("jobs", "", "jobs (4)"),
    ("jobs-sorted", "sssS", "TYPEv"),
    ("jobs-filtered", "sssss/we", "jobs (1)"),
    ("job-allocations", "\x1b\r", "of job"),
    ("job-explained", "\x1be", "Explanation of job"),
    ("job-json", "\x1by", "job api"),
    ("allocations", "\x1b:alloc\r", "allocations (22)"),
    ("nodes", ":no\r", "nodes (12)"),
    ("node-allocations", "\r", "of node"),
    ("deployments", ":dep\r", "deployments (3)"),
    ("topology", ":topo\r", "dc1-general-01 (ready"),
    ("topology-by-pool", "s", "By node pool"),
    ("file-events", ":events\r", "A file has no events"),
    ("file-queues", ":queues\r", "No evaluation is pending"),
    ("namespaces", ":ns\r", "0  all namespaces"),
    ("help", "\x1b?", "Keys"),
    ("plan-empty", "\x1b:plan\r", "No job file is planned"),
    ("plan-files", ":plan files/\r", "api-destructive.hcl"),
    ("plan", "j\r", "Plan of"),
    ("plan-end", "G", "Plan of"),
    ("plan-of-file", "W", "A file accepts no jobs"),
    ("plan-topology", "t", "+ placed"),
    ("plan-unplaced", ":plan files/trainer-fails.hcl\r", "Plan of files/trainer"),
    ("what-if-empty", ":what-if\r", "Nothing is assumed"),
    ("what-if-nodes", ":nodes\r", "nodes (12)"),
    ("what-if-marked", "m", "Assumed: "),
    ("what-if", "w", "Outcome"),
    ("what-if-topology", "t", "+ placed"),
];

const OF_PREEMPTION: &[Scene] =
    &[("preemption-plan", ":plan webapp.hcl\r", "Evictions"), ("preemption-topology", "t", "3 preempted")];

const OF_LARGE_FILE: &[Scene] =
    &[("large-topology", ":topo\r", "allocations, CPU"), ("large-nodes", ":nodes\r", "nodes (120)")];

const OF_CLUSTER: &[Scene] = &[
    ("live-jobs", "", "· live"),
    ("live-prod", "2", "namespace prod"),
    ("live-all", "0", "jobs (3)"),
    ("live-actions", "a", "Actions on job"),
    ("live-question", "K", "? [y/N]"),
    ("live-refused", "n", "Nothing was changed."),
    ("live-groups", "C", "cache (1)"),
    ("live-count", "\r12", "(now 3): 12"),
    ("live-scale", "\r", "from 3 to 12?"),
    ("live-deployment", "n:dep\r", "deployments (1)"),
    ("live-deployment-actions", "a", "P  promote"),
    ("live-events", "\x1b:events\r", "events (4)"),
    ("live-topology", ":topo\r", "node-n1 (ready"),
    ("live-queues", ":queues\r", "stored"),
    ("live-unknown-view", ":nothing\r", "There is no view"),
    ("live-allocations", ":alloc\r", "allocations (4)"),
    ("live-tasks", "l", "Output of a task"),
    ("live-log", "j\r", "stdout: line 3 of"),
    ("live-log-stderr", "o", "stderr: line 3 of"),
    ("live-exec-tasks", "\x1bx", "Run a command"),
    ("live-exec", "j\r", ": /bin/sh"),
];

fn stored(name: &str, size: Size) -> PathBuf {
    repository_file(&format!("tests/cli/terminal/top/screens/{name}-{}x{}.txt", size.columns, size.rows)).into()
}

/// The screen without the blanks that end its lines, and without what differs between two runs.
fn tidy(contents: &str) -> String {
    let age = Regex::new(r"\d+s ago *").expect("a pattern");
    let port = Regex::new(r"127\.0\.0\.1:\d{5}").expect("a pattern");
    let contents = age.replace_all(contents, |found: &regex::Captures<'_>| format!("{:<1$}", "0s ago", found[0].len()));
    let contents = port.replace_all(&contents, "127.0.0.1:00000");
    let places = Regex::new(r"(Job files in )/?[-\w./:]+").expect("a pattern");
    let contents = places.replace_all(&contents, "${1}…");
    let lines: Vec<&str> = contents.lines().map(str::trim_end).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

/// Waits until the screen stays the same, for screens that are written.
fn settled(screen: &Screen) -> String {
    let mut last = tidy(&screen.contents());
    loop {
        std::thread::sleep(Duration::from_millis(700));
        let shown = tidy(&screen.contents());
        if shown == last {
            return shown;
        }
        last = shown;
    }
}

/// Goes through the scenes; those that differ from the stored ones.
fn differing(screen: &Screen, size: Size, scenes: &[Scene]) -> Vec<String> {
    screen.wait_for("jobs (");
    let mut differ = Vec::new();
    for (name, keys, text) in scenes {
        screen.press(keys);
        let file = stored(name, size);
        if std::env::var_os("ENCAMP_UPDATE").is_some() {
            screen.wait_for(text);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, settled(screen)).unwrap();
        }
        let want = std::fs::read_to_string(&file).unwrap_or_default();
        let is_shown = |shown: &str| shown.contains(text) && tidy(shown) == want;
        if !screen.shows_within(Duration::from_secs(20), is_shown) {
            differ.push(format!("{}:\n{}", file.display(), tidy(&screen.contents())));
        }
    }
    differ
}

#[test]
fn screens_of_a_file_are_the_stored_ones() {
    let folder = Folder::new("top-screens-file");
    let file = repository_file("fixtures/demo/cluster.json");
    let files = folder.path().join("files");
    std::fs::create_dir(&files).expect("a directory");
    for name in ["api-destructive.hcl", "trainer-fails.hcl"] {
        std::fs::copy(repository_file(&format!("fixtures/demo/{name}")), files.join(name)).expect("a job file");
    }
    let mut differ = Vec::new();
    for size in SIZES.into_iter().chain([SMALL]) {
        let screen = encamp(size, &folder, "http://127.0.0.1:1", &["top", "-snapshot", &file]);
        differ.extend(differing(&screen, size, OF_FILE));
        screen.press("\x1bq");
        screen.ends().with(0);
    }
    assert!(differ.is_empty(), "ENCAMP_UPDATE=1 writes what is shown; different:\n{}", differ.join("\n"));
}

#[test]
fn screens_of_a_preemption_are_the_stored_ones() {
    let folder = Folder::new("top-screens-preemption");
    let file = repository_file("fixtures/preemption/cluster.json");
    std::fs::copy(repository_file("fixtures/preemption/webapp.hcl"), folder.path().join("webapp.hcl")).expect("a file");
    let mut differ = Vec::new();
    for size in SIZES {
        let screen = encamp(size, &folder, "http://127.0.0.1:1", &["top", "-snapshot", &file]);
        differ.extend(differing(&screen, size, OF_PREEMPTION));
        screen.press("q");
        screen.ends().with(0);
    }
    assert!(differ.is_empty(), "ENCAMP_UPDATE=1 writes what is shown; different:\n{}", differ.join("\n"));
}

#[test]
fn screens_of_a_large_file_are_the_stored_ones() {
    let folder = Folder::new("top-screens-large");
    let large = ["sim", "cluster", "-nodes", "120", "-allocs", "3000", "-seed", "4", "-out", "large.json.zst"];
    let made = run_in(folder.path(), &large);
    assert_eq!(made.exit, 0, "{made:?}");
    let mut differ = Vec::new();
    for size in SIZES {
        let screen = encamp(size, &folder, "http://127.0.0.1:1", &["top", "-snapshot", "large.json.zst"]);
        differ.extend(differing(&screen, size, OF_LARGE_FILE));
        screen.press("q");
        screen.ends().with(0);
    }
    assert!(differ.is_empty(), "ENCAMP_UPDATE=1 writes what is shown; different:\n{}", differ.join("\n"));
}

#[test]
fn screens_of_a_cluster_are_the_stored_ones() {
    let folder = Folder::new("top-screens-live");
    let mut differ = Vec::new();
    for size in SIZES {
        let server = canned::cluster();
        let screen = encamp(size, &folder, &server.address, &["top"]);
        differ.extend(differing(&screen, size, OF_CLUSTER));
        screen.press("\x1bq");
        screen.ends().with(0);
        // Nothing was changed: every question was answered with no.
        let written: Vec<String> = server.take().iter().filter(|r| r.method != "GET").map(|r| r.line()).collect();
        assert_eq!(written, Vec::<String>::new());
    }
    assert!(differ.is_empty(), "ENCAMP_UPDATE=1 writes what is shown; different:\n{}", differ.join("\n"));
}
