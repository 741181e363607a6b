//! `job convert` and `job inspect -hcl`: job files that are written from jobs.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::program::{Folder, Ran, run_in, run_with};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/preemption")
}

fn web() -> Value {
    json!({"ID": "web", "Datacenters": ["dc1"], "Priority": 70, "Version": 3, "Status": "running", "TaskGroups": [{
        "Name": "g", "Count": 2,
        "Networks": [{"ReservedPorts": [{"Label": "ssh", "Value": 22}], "DynamicPorts": [{"Label": "http", "To": 80}]}],
        "Tasks": [{
            "Name": "t", "Driver": "docker",
            "Config": {"image": "web:1", "ports": ["http"], "auth": [{"username": "u"}]},
            "Env": {"HOST": "${attr.unique.hostname}", "RAW": "${x}"},
            "Templates": [{"EmbeddedTmpl": "a {{ env \"B\" }}\nb\n", "DestPath": "local/a"}]
        }]
    }]})
}

/// Runs a command that has to succeed without a word on standard error.
fn output(dir: &Path, args: &[&str]) -> String {
    let ran = run_in(dir, args);
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""), "{args:?}: {}", ran.stdout);
    ran.stdout
}

#[test]
fn a_job_in_json_is_converted_to_the_same_job_in_hcl() {
    let dir = Folder::new("convert");
    dir.file("web.json", web().to_string());
    dir.file("wrapped.json", json!({"Job": web()}).to_string());
    let text = output(dir.path(), &["job", "convert", "web.json"]);
    for line in [
        "job \"web\" {",
        "  priority    = 70",
        "  region      = \"global\"  # default",
        "        HOST = \"${attr.unique.hostname}\"",
        "        RAW  = \"$${x}\"",
        "        data            = <<EOT",
        "a {{ env \"B\" }}",
        "        auth {",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is missing:\n{text}");
    }
    assert!(!text.contains("running"), "what servers set is left out");
    assert_eq!(output(dir.path(), &["job", "convert", "wrapped.json"]), text);
    let piped = run_with(dir.path(), &["job", "convert", "-"], &[], Some(&dir.path().join("web.json")));
    assert_eq!((piped.stdout, piped.exit), (text.clone(), 0));

    // The job file is in the standard format and makes the same job.
    dir.file("web.nomad.hcl", &text);
    output(dir.path(), &["fmt", "-check", "web.nomad.hcl"]);
    let again = output(dir.path(), &["job", "inspect", "-file", "web.nomad.hcl"]);
    dir.file("again.json", again);
    assert_eq!(output(dir.path(), &["job", "convert", "again.json"]), text);
    let stored: Value =
        serde_json::from_str(&output(dir.path(), &["job", "run", "-output", "web.nomad.hcl"])).expect("a job");
    let network = &stored["Job"]["TaskGroups"][0]["Networks"][0];
    assert_eq!((&network["ReservedPorts"][0]["Value"], &network["DynamicPorts"][0]["To"]), (&json!(22), &json!(80)));
}

#[test]
fn what_hcl_cannot_express_is_named() {
    let dir = Folder::new("convert");
    let mut job = web();
    job["TaskGroups"][0]["Services"] = json!([{"Name": "s", "Meta": {"not a name": "x"}}]);
    dir.file("web.json", job.to_string());
    let ran = run_in(dir.path(), &["job", "convert", "web.json"]);
    assert_eq!(ran.exit, 2, "{}", ran.stderr);
    assert!(ran.stdout.starts_with("job \"web\" {\n"));
    let error = "HCL cannot express all of the job. The job file differs in:";
    assert!(ran.stderr.starts_with(error) && ran.stderr.contains("TaskGroups[0].Services[0].Meta"), "{}", ran.stderr);
}

/// Fields of blocks that stand in the job and in its groups, at either level and at both. The last value is the default
/// of a service.
#[test]
fn fields_keep_their_values_at_each_level() {
    let blocks = [
        ("Reschedule", "ReschedulePolicy", "Unlimited", [json!(false), json!(true)], json!(true)),
        ("Reschedule", "ReschedulePolicy", "Attempts", [json!(0), json!(3)], json!(0)),
        ("Reschedule", "ReschedulePolicy", "DelayFunction", [json!(""), json!("fibonacci")], json!("exponential")),
        ("Migrate", "Migrate", "MaxParallel", [json!(0), json!(2)], json!(1)),
        ("Migrate", "Migrate", "HealthCheck", [json!(""), json!("task_states")], json!("checks")),
        ("Update", "Update", "MaxParallel", [json!(0), json!(2)], json!(1)),
        ("Update", "Update", "AutoRevert", [json!(false), json!(true)], json!(false)),
        ("Update", "Update", "MinHealthyTime", [json!(0), json!(7_000_000_000_i64)], json!(10_000_000_000_i64)),
    ];
    let dir = Folder::new("convert-levels");
    let mut cases = 0;
    for (in_job, in_group, field, values, default) in blocks {
        for of_job in [None, Some(&values[0]), Some(&values[1])] {
            for of_group in [None, Some(&values[0]), Some(&values[1])] {
                let mut job = web();
                job["TaskGroups"][0]["Tasks"][0]["Config"] = json!({"image": "web:1"});
                let mut other = job["TaskGroups"][0].clone();
                other["Name"] = json!("h");
                job["TaskGroups"].as_array_mut().expect("groups").push(other);
                of_job.into_iter().for_each(|value| job[in_job] = json!({field: value}));
                of_group.into_iter().for_each(|value| job["TaskGroups"][0][in_group] = json!({field: value}));
                dir.file("job.json", job.to_string());
                let text = output(dir.path(), &["job", "convert", "job.json"]);
                dir.file("job.nomad.hcl", &text);
                let parsed = output(dir.path(), &["job", "run", "-output", "job.nomad.hcl"]);
                let parsed: Value = serde_json::from_str(&parsed).expect("a job");
                for (at, own) in [of_group, None].into_iter().enumerate() {
                    let Some(want) = own.or(of_job) else { continue };
                    let group = &parsed["Job"]["TaskGroups"][at][in_group][field];
                    // A default may be written or left out.
                    let stored = [group, &parsed["Job"][in_job][field]].into_iter().find(|value| !value.is_null());
                    let stored = stored.unwrap_or(&default);
                    assert_eq!(stored, want, "{in_job} {field} {of_job:?} {of_group:?}\n{text}");
                }
                cases += 1;
            }
        }
    }
    assert_eq!(cases, 72);
}

#[test]
fn what_is_no_job_in_json_is_refused() {
    let dir = Folder::new("convert");
    dir.file("web.nomad.hcl", "job \"web\" {}\n");
    dir.file("broken.json", "{\"ID\": ");
    dir.file("other.json", "{\"Nodes\": []}");
    let refused = |args: &[&str], text: &str| {
        let Ran { stdout, stderr, exit } = run_in(dir.path(), &[&["job", "convert"], args].concat());
        assert_eq!((stdout.as_str(), exit), ("", 1), "{args:?}: {stderr}");
        assert!(stderr.contains(text), "{args:?}: {stderr}");
    };
    refused(&["web.nomad.hcl"], "is not a job in JSON");
    refused(&["broken.json"], "Failed to parse JSON job");
    refused(&["other.json"], "it has no ID");
    refused(&["missing.json"], "no such file or directory");
    refused(&[], "This command takes one argument: <path>");
}

#[test]
fn a_job_of_a_snapshot_is_written_as_a_job_file() {
    let ran = run_in(&fixture(), &["job", "inspect", "-hcl", "-snapshot", "cluster.json", "email-marketing"]);
    assert_eq!(ran.exit, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("is generated from the job"), "{}", ran.stderr);
    let dir = Folder::new("convert");
    dir.file("job.nomad.hcl", &ran.stdout);
    dir.file("cluster.json", std::fs::read(fixture().join("cluster.json")).expect("a snapshot"));
    let plan = run_in(dir.path(), &["job", "plan", "-snapshot", "cluster.json", "job.nomad.hcl"]);
    assert!(plan.stdout.starts_with("Job: \"email-marketing\"\nTask Group: "), "no change: {}", plan.stdout);
}
