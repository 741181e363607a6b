//! The scenarios that load real servers, small: servers, simulated nodes and the result, from the real program.

#[path = "support/program.rs"]
mod program;

use std::process::Command;

use program::Folder;
use serde_json::Value as Json;

/// Runs a command of `sim`; its result, of which nothing may be left behind.
fn sim(name: &str, args: &[&str]) -> Json {
    let folder = Folder::new(&format!("sim-{name}"));
    let data = folder.path().join("data");
    let out = Command::new(env!("CARGO_BIN_EXE_encamp"))
        .args(["sim", name, "-json", "-data-dir"])
        .arg(&data)
        .args(args)
        .output()
        .expect("the program");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{text}{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    assert!(!data.exists(), "the data of the servers is gone");
    serde_json::from_str(&text).expect("JSON")
}

fn number(of: &Json, key: &str) -> u64 {
    of[key].as_u64().unwrap_or_else(|| panic!("no number {key} in {of}"))
}

#[test]
fn superfluous_evaluations_are_shed() {
    let told = sim("load-shedding", &["-nodes=30", "-system-jobs=2"]);
    assert_eq!((number(&told, "nodes"), number(&told, "servers"), number(&told, "allocations")), (30, 1, 60));
    assert!(number(&told, "peak_rss_mb") > 10, "{told}");
    let [enable, stop] = told["steps"].as_array().expect("steps").as_slice() else { panic!("{told}") };
    // One of each job's registration, one of each node and job; of each job the first and the newest are processed.
    assert_eq!((enable["name"].as_str(), number(enable, "evaluations_pending")), (Some("enable"), 62));
    assert_eq!((number(enable, "evaluations_processed"), number(enable, "evaluations_canceled")), (4, 58));
    assert!(number(enable, "log_entries") <= number(enable, "operations"), "{told}");
    assert_eq!(stop["name"], "stop");
    assert_eq!(number(stop, "evaluations_processed") + number(stop, "evaluations_canceled"), 60, "{told}");
    assert!(number(stop, "log_entries") < 60, "{told}");
}

#[test]
fn jobs_are_placed_and_run() {
    let told = sim("c1m", &["-nodes=20", "-allocs=2500"]);
    assert_eq!((number(&told, "allocations"), number(&told, "false_expiries")), (2500, 0));
    assert!(told["allocations_per_second"].as_f64().is_some_and(|n| n > 10.0), "{told}");
    let [place, run] = told["steps"].as_array().expect("steps").as_slice() else { panic!("{told}") };
    assert_eq!((place["name"].as_str(), number(place, "evaluations_processed")), (Some("place"), 3));
    assert!(run["seconds"].as_f64() >= place["seconds"].as_f64(), "{told}");
}

#[test]
fn wrong_numbers_are_refused() {
    for (args, want) in [
        (&["load-shedding", "-nodes=0"][..], "-nodes must be between 1 and 20000, not 0"),
        (&["load-shedding", "-servers=2"], "-servers must be 1, 3 or 5, not 2"),
        (&["c1m", "-allocs=-1"], "-allocs must be between 1 and 10000000, not -1"),
        (&["c1m", "x"], "This command takes no arguments"),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_encamp")).arg("sim").args(args).output().expect("the program");
        let text = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && text.contains(want), "{args:?}: {text}");
    }
}
