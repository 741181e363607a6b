//! Small runs of the load scenarios against real servers: servers, simulated nodes and the result, from the real
//! program.

use crate::program;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::Folder;
use rustix::process::{Pid, Signal};
use serde_json::Value as Json;

/// Maximum duration of a scenario: half a minute of it is waiting for missing heartbeats.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a subcommand of `sim`. Returns its result; it must leave no data behind.
fn sim(name: &str, args: &[&str]) -> Json {
    let folder = Folder::new(&format!("sim-{name}"));
    let data = folder.path().join("data");
    let mut child = start(name, &data, args);
    let end = Instant::now() + PATIENCE;
    while child.try_wait().expect("a child").is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The servers of a hanging command end with it.
    signal(&child, Signal::TERM);
    let out = child.wait_with_output().expect("the program");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(!data.exists(), "the data of the servers is gone");
    serde_json::from_str(&text).expect("JSON")
}

fn start(name: &str, data: &Path, args: &[&str]) -> Child {
    let mut command = Command::new(program::path());
    command.args(["sim", name, "-json", "-data-dir"]).arg(data).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program")
}

fn signal(child: &Child, signal: Signal) {
    // It may have ended already.
    let _ = rustix::process::kill_process(Pid::from_child(child), signal);
}

fn number(of: &Json, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {of}"))
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn redundant_evaluations_are_cancelled() {
    let report = sim("load-shedding", &["-nodes=30", "-system-jobs=2"]);
    assert_eq!((number(&report, "nodes"), number(&report, "servers"), number(&report, "allocations")), (30, 1, 60));
    assert!(number(&report, "peak_rss_mb") > 10, "{report}");
    let [enable, stop] = report["steps"].as_array().expect("steps").as_slice() else { panic!("{report}") };
    // One evaluation per registered job, and one per node and job; of each job, the first and the newest evaluation are
    // processed, and those that arrived meanwhile.
    assert!(enable["name"] == "enable" && number(enable, "evaluations_pending") >= 60, "{report}");
    assert!((4..20).contains(&number(enable, "evaluations_processed")), "{report}");
    assert!(number(enable, "evaluations_canceled") >= 40, "{report}");
    assert!(number(enable, "log_entries") <= number(enable, "operations"), "{report}");
    assert_eq!(stop["name"], "stop");
    // Nodes that are lost together create one evaluation per job; here they may be lost one by one.
    let ended = number(stop, "evaluations_processed") + number(stop, "evaluations_canceled");
    assert!(ended >= 2 && ended == number(stop, "evaluations_pending"), "{report}");
    assert!(number(stop, "log_entries") <= number(stop, "operations"), "{report}");
}

#[test]
fn load_shedding_may_end_before_the_nodes_fail() {
    let report = sim("load-shedding", &["-nodes=10", "-system-jobs=3", "-no-stop"]);
    let [enable] = report["steps"].as_array().expect("steps").as_slice() else { panic!("{report}") };
    assert_eq!((enable["name"].as_str(), number(&report, "allocations")), (Some("enable"), 30), "{report}");
    assert!(number(enable, "evaluations_canceled") >= 20, "{report}");
}

#[test]
fn jobs_are_placed_and_run() {
    let report = sim("c1m", &["-nodes=20", "-allocs=2500"]);
    assert_eq!((number(&report, "allocations"), number(&report, "false_expiries")), (2500, 0));
    assert!(report["allocations_per_second"].as_f64().is_some_and(|n| n > 10.0), "{report}");
    let [place, run] = report["steps"].as_array().expect("steps").as_slice() else { panic!("{report}") };
    assert_eq!((place["name"].as_str(), number(place, "evaluations_processed")), (Some("place"), 3));
    assert!(run["seconds"].as_f64() >= place["seconds"].as_f64(), "{report}");
    assert!((1..=number(&report, "peak_rss_mb")).contains(&number(&report, "rss_mb")), "{report}");
    let restart = &report["restart"];
    for seconds in ["from_log_seconds", "snapshot_seconds", "seconds", "restore_seconds"] {
        assert!(restart[seconds].as_f64().is_some_and(|s| s > 0.0), "{report}");
    }
    assert!(restart["restore_seconds"].as_f64() < restart["seconds"].as_f64(), "{report}");
    for writes in ["write, idle", "write, snapshot"] {
        let timing = report["timings"].as_array().expect("timings").iter().find(|t| t["name"] == writes);
        assert!(timing.is_some_and(|t| number(t, "count") >= 1), "{report}");
    }
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn garbage_is_collected_beside_other_work() {
    let report = sim("gc", &["-nodes=20", "-allocs=5000", "-percent=80", "-idle=1s"]);
    let steps = report["steps"].as_array().expect("steps");
    let names: Vec<_> = steps.iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["place", "stop", "idle", "collect"], "{report}");
    let [idle, collecting] = report["timings"].as_array().expect("timings").as_slice() else { panic!("{report}") };
    assert!(number(idle, "count") >= 5 && number(collecting, "count") >= 1, "{report}");
    assert!(collecting["p99_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{report}");
}

#[test]
fn live_nodes_do_not_expire() {
    let report = sim("heartbeats", &["-nodes=20", "-time=12", "-connection-nodes=3"]);
    assert_eq!((number(&report, "nodes"), number(&report, "false_expiries")), (20, 0));
    let [join, beat] = report["steps"].as_array().expect("steps").as_slice() else { panic!("{report}") };
    assert!(number(join, "operations") >= 40, "each registers and becomes ready: {report}");
    assert!(beat["seconds"].as_f64() >= Some(12.0) && number(beat, "evaluations_pending") == 0, "{report}");
}

#[test]
fn nodes_that_stop_heartbeating_are_replaced_and_return() {
    let report = sim("flap", &["-nodes=20", "-jobs=3"]);
    assert_eq!(number(&report, "allocations"), 40);
    let steps: Vec<&str> =
        report["steps"].as_array().expect("steps").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(steps, ["place", "lose", "return"]);
    let lose = &report["steps"][1];
    assert!(number(lose, "evaluations_processed") >= 1 && number(lose, "operations") > 2, "{report}");
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn jobs_are_complete_after_each_round() {
    let report = sim("churn", &["-nodes=20", "-jobs=3", "-rounds=2"]);
    assert_eq!((number(&report, "allocations"), number(&report, "false_expiries")), (40, 0));
    let churn = &report["steps"][1];
    assert!(churn["name"] == "churn" && number(churn, "evaluations_processed") >= 4, "{report}");
}

#[test]
fn a_signal_ends_servers_and_removes_their_data() {
    let folder = Folder::new("sim-signal");
    let data = folder.path().join("data");
    let child = start("heartbeats", &data, &["-nodes=5"]);
    let log = data.join("server-1/log");
    let end = Instant::now() + PATIENCE;
    let started = || std::fs::read_to_string(&log).is_ok_and(|text| text.contains("agent started"));
    while !started() {
        assert!(Instant::now() < end, "no server");
        std::thread::sleep(Duration::from_millis(20));
    }
    signal(&child, Signal::TERM);
    let out = child.wait_with_output().expect("the program");
    let stderr = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(143) && stderr.contains("Error: stopped by signal: terminated"), "{out:?}");
    assert!(!data.exists(), "the data of the servers is gone");
}

#[test]
fn wrong_numbers_are_refused() {
    for (args, want) in [
        (&["load-shedding", "-nodes=0"][..], "-nodes must be between 1 and 100000, not 0"),
        (&["load-shedding", "-servers=2"], "-servers must be 1, 3 or 5, not 2"),
        (&["c1m", "-allocs=-1"], "-allocs must be between 1 and 10000000, not -1"),
        (&["gc", "-percent=101"], "-percent must be between 1 and 100, not 101"),
        (&["gc", "-idle=soon"], "-idle"),
        (&["c1m", "x"], "This command takes no arguments"),
    ] {
        let out = Command::new(program::path()).arg("sim").args(args).output().expect("the program");
        let text = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && text.contains(want), "{args:?}: {text}");
    }
}
