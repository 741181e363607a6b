//! What is printed about job files with mistakes: `tests/diagnostics/*.txt` holds the output of the program for each
//! file.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli diagnostics` writes the expected output.

use std::path::{Path, PathBuf};

use crate::program::{Folder, Ran, run_in, run_with};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

const NOT_ASKED: &str =
    "Driver configuration not validated since connection to Nomad agent couldn't be established.\n\n";

/// Validates a file of the folder.
fn validate(file: &str, flags: &[&str]) -> Ran {
    let form: &[&str] = if file.ends_with(".json") { &["-json"] } else { &[] };
    let args: Vec<&str> = ["job", "validate"].iter().chain(form).chain(flags).chain(&[file]).copied().collect();
    run_in(&folder(), &args)
}

fn files() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|n| !n.ends_with(".txt"));
    names.sort();
    names
}

#[test]
fn mistakes_are_shown_as_recorded() {
    let update = std::env::var_os("ENCAMP_UPDATE").is_some();
    let names = files();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let ran = validate(&name, &[]);
        // Only jobs that could be read get as far as the question whether drivers were asked.
        let unread = ran.stderr.starts_with("Error getting job struct");
        let out = if unread { "" } else { NOT_ASKED };
        assert_eq!((ran.stdout.as_str(), ran.exit), (out, 1), "{name}");
        let expected = folder().join(&name).with_extension("txt");
        if update {
            std::fs::write(&expected, &ran.stderr).unwrap();
        }
        let want = std::fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(
            ran.stderr, want,
            "{name}; ENCAMP_UPDATE=1 cargo test --test cli diagnostics writes what is printed"
        );
    }
}

/// Every mistake has a place, and its source line stands at the column that is named.
#[test]
fn mistakes_as_json_tell_their_place() {
    for name in files() {
        let ran = validate(&name, &["-diagnostics=json"]);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1), "{name}");
        let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{name}: {e}\n{}", ran.stdout));
        assert_eq!((&answer["version"], &answer["valid"]), (&json!(1), &json!(false)), "{name}");
        let list = answer["diagnostics"].as_array().unwrap();
        assert!(!list.is_empty(), "{name}");
        let text = std::fs::read_to_string(folder().join(&name)).unwrap();
        for d in list {
            assert_eq!(d["severity"], "error");
            assert_eq!(d["file"], name.as_str(), "{d:#}");
            let line = d["line"].as_u64().unwrap() as usize;
            assert_eq!(text.lines().nth(line - 1), d["source"].as_str(), "{name}: {d:#}");
            assert!(d["column"].as_u64() >= Some(1) && d["end_line"].as_u64() >= d["line"].as_u64(), "{d:#}");
        }
    }
}

#[test]
fn valid_jobs_report_their_warnings_as_json() {
    let folder = Folder::new("diagnostics");
    folder.file(
        "ok.hcl",
        "job \"j\" {\n  type = \"batch\"\n  periodic {\n    cron = \"@daily\"\n  }\n  group \"g\" {\n    task \"t\" {\n      \
         driver = \"mock\"\n    }\n  }\n}\n",
    );
    let ran = run_in(folder.path(), &["job", "validate", "-diagnostics", "json", "ok.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["valid"], true);
    let warning = &answer["diagnostics"][0];
    assert_eq!((&warning["severity"], &warning["line"]), (&json!("warning"), &json!(4)), "{answer:#}");
}

#[test]
fn other_commands_explain_mistakes_too() {
    let file = "missing-label.hcl";
    let expected = std::fs::read_to_string(folder().join("missing-label.txt")).unwrap();
    for (args, exit) in
        [(vec!["job", "plan"], 255), (vec!["job", "run", "-output"], 1), (vec!["job", "inspect", "-file"], 1)]
    {
        let args: Vec<&str> = args.into_iter().chain([file]).collect();
        let ran = run_in(&folder(), &args);
        assert_eq!((ran.stderr.as_str(), ran.exit), (expected.as_str(), exit), "{args:?}");
    }
    let ran = run_in(&folder(), &["job", "plan", "-diagnostics=json", file]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 255));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(answer["diagnostics"][0]["line"], 2);
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/preemption/cluster.json");
    let ran = run_in(&folder(), &["job", "plan", "-snapshot", snapshot.to_str().unwrap(), "bad-port.hcl"]);
    assert_eq!(ran.exit, 255);
    assert!(
        ran.stderr.starts_with("Error during plan: ") && ran.stderr.contains("--> bad-port.hcl:5:9\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn files_that_cannot_be_read_are_reported_as_json() {
    let ran = run_in(&folder(), &["job", "validate", "-diagnostics=json", "nothing.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap();
    let first = &answer["diagnostics"][0];
    assert_eq!((&first["stage"], &first["line"]), (&json!("read"), &Value::Null));
    assert!(first["message"].as_str().unwrap().contains("nothing.hcl"));
    let ran = run_in(&folder(), &["job", "validate", "-diagnostics=xml", "nothing.hcl"]);
    assert_eq!(ran.exit, 1);
    assert!(ran.stderr.starts_with("invalid value \"xml\" for flag -diagnostics"), "{}", ran.stderr);
}

#[test]
fn colours_follow_the_flags() {
    let args = ["job", "validate", "missing-label.hcl"];
    let forced = [("NOMAD_CLI_FORCE_COLOR", "1")];
    let ran = run_with(&folder(), &args, &forced, None);
    assert!(ran.stderr.contains("\x1b[1;31merror\x1b[0m") && ran.stderr.contains("\x1b[1;31m^"), "{}", ran.stderr);
    for off in [("NOMAD_CLI_NO_COLOR", "1"), ("TZ", "UTC")] {
        let env = if off.0 == "TZ" { vec![off] } else { vec![forced[0], off] };
        assert!(!run_with(&folder(), &args, &env, None).stderr.contains('\x1b'));
    }
    let ran = run_with(&folder(), &["job", "validate", "-no-color", "missing-label.hcl"], &forced, None);
    assert!(!ran.stderr.contains('\x1b'));
}
