//! The job commands, by starting the program: `job plan` against snapshot files, `validate`, `run -output`, `inspect`.

use crate::oracle;
use std::path::{Path, PathBuf};

use crate::program::{Folder, Ran, run_in, run_with};
use encamp_model::{Job, JobStatus};
use serde_json::{Value, json};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/preemption")
}

fn plan(flags: &[&str]) -> Ran {
    let args: Vec<&str> = ["job", "plan", "-snapshot", "cluster.json"].iter().chain(flags).copied().collect();
    run_in(&fixture(), &args)
}

fn fails(ran: &Ran, exit: i32, line: &str) {
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", exit), "{}", ran.stderr);
    assert!(ran.stderr.starts_with(line), "{}", ran.stderr);
}

const WEBAPP: &str = "\
+ Job: \"webapp\"
+ Task Group: \"web\" (1 create)
  + Task: \"server\" (forces create)

Scheduler dry-run:
- All tasks successfully allocated.

Preemptions:

Alloc ID  Job ID           Task Group
a2        email-marketing  main
a1        email-marketing  main
a4        batch-analytics  main
Job Modify Index: 0
To submit the job with version verification run:

encamp job run -check-index 0 webapp.hcl

";

#[test]
fn a_plan_shows_diff_placements_and_preemptions() {
    let ran = plan(&["webapp.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    let (head, paragraph) = ran.stdout.split_at(WEBAPP.len().min(ran.stdout.len()));
    assert_eq!(head, WEBAPP);
    assert_eq!(paragraph.lines().count(), 4);
    assert!(paragraph.lines().all(|l| l.len() <= 80));
    assert_eq!(plan(&["webapp.hcl"]).stdout, ran.stdout, "a plan can be repeated");
}

#[test]
fn a_plan_reads_standard_input_and_repeats_its_flags() {
    let args = ["plan", "-hcl2-strict=false", "-var", "a=b c", "-namespace=default", "-snapshot=cluster.json", "-"];
    let ran = run_with(&fixture(), &args, &[], Some(&fixture().join("webapp.hcl")));
    let command = "\nencamp job run -check-index 0 -var=\"a=b c\" -namespace=\"default\" -hcl2-strict=false -\n";
    assert!(ran.stdout.contains(command), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn flags_choose_what_a_plan_prints() {
    let plain = plan(&["-diff=false", "webapp.hcl"]);
    assert!(plain.stdout.starts_with("Scheduler dry-run:\n"));
    assert_eq!(plain.exit, 1);

    let verbose = plan(&["-verbose", "webapp.hcl"]).stdout;
    assert!(
        verbose.contains("+ Priority:   \"75\"\n") && verbose.contains("      + CPU:         \"1000\"\n"),
        "{verbose}"
    );

    let response = plan(&["-json-output", "webapp.hcl"]);
    let value: Value = serde_json::from_str(&response.stdout).unwrap();
    let keys: Vec<&String> = value.as_object().unwrap().keys().collect();
    let want =
        ["Annotations", "CreatedEvals", "Diff", "FailedTGAllocs", "JobModifyIndex", "NextPeriodicLaunch", "Warnings"];
    assert_eq!(keys, want);
    assert_eq!((response.exit, &value["Annotations"]["DesiredTGUpdates"]["web"]["Place"]), (1, &json!(1)));

    let template = "{{.JobModifyIndex}}{{range .Annotations.PreemptedAllocs}} {{.ID}}@{{.JobID}}{{end}}";
    let ran = plan(&["-t", template, "webapp.hcl"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("0 a2@email-marketing a1@email-marketing a4@batch-analytics\n", 1));
    fails(
        &plan(&["-t", "{{.Nope}}", "webapp.hcl"]),
        255,
        "Error formatting the data: template: :1:2: executing \"\" at <.Nope>",
    );
    fails(
        &plan(&["-t", "x", "-json-output", "webapp.hcl"]),
        255,
        "Both -json-output and -t formatting are not allowed\n",
    );
}

#[test]
fn colours_follow_flags_and_environment() {
    let coloured = |args: &[&str], env: &[(&str, &str)]| {
        let all: Vec<&str> = ["plan", "-snapshot=cluster.json"].iter().chain(args).copied().collect();
        run_with(&fixture(), &all, env, None).stdout.contains("\x1b[32m+\x1b[0m \x1b[1mJob: \"webapp\"\n")
    };
    let term = ("TERM", "xterm-256color");
    assert!(!coloured(&["webapp.hcl"], &[term]), "a pipe gets no colours");
    assert!(coloured(&["-force-color", "webapp.hcl"], &[]));
    assert!(coloured(&["webapp.hcl"], &[("NOMAD_CLI_FORCE_COLOR", "1")]));
    assert!(!coloured(&["-force-color", "-no-color", "webapp.hcl"], &[]));
    assert!(!coloured(&["-force-color", "webapp.hcl"], &[("NOMAD_CLI_NO_COLOR", "1")]));
}

#[test]
fn a_job_that_fits_nowhere_says_why() {
    let folder = Folder::new("nofit");
    let text = std::fs::read_to_string(fixture().join("webapp.hcl")).unwrap();
    let job = folder.file("huge.hcl", text.replace("cpu    = 1000", "cpu    = 999999"));
    let ran = plan(&[job.to_str().unwrap()]);
    let want = "- WARNING: Failed to place all allocations.\n  Task Group \"web\" (failed to place 1 allocation):\n    * Resources exhausted on 1 nodes\n    * Dimension \"cpu\" exhausted on 1 nodes\n\nJob Modify Index: 0\n";
    assert!(ran.stdout.contains(want), "{}", ran.stdout);
    assert_eq!(ran.exit, 1);
}

/// A snapshot with one job as it is stored.
fn snapshot_of(job: &Job) -> String {
    let mut job = job.clone();
    (job.create_index, job.modify_index, job.job_modify_index) = (12, 15, 14);
    json!({ "Version": 1, "Index": 20, "Jobs": [job] }).to_string()
}

#[test]
fn an_unchanged_job_is_no_change() {
    let folder = Folder::new("unchanged");
    let stored = oracle::registered_job(&fixture().join("webapp.hcl"), "default").unwrap();
    folder.file("stored.json", snapshot_of(&stored));
    let text = std::fs::read_to_string(fixture().join("webapp.hcl")).unwrap();
    folder.file("same.hcl", &text);
    let ran = run_in(folder.path(), &["plan", "-snapshot", "stored.json", "same.hcl"]);
    assert!(
        ran.stdout.starts_with("Job: \"webapp\"\nTask Group: \"web\" (1 create)\n  Task: \"server\"\n\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("encamp job run -check-index 14 same.hcl\n"));
    assert_eq!(ran.exit, 0, "placing an unchanged job again is no change");

    folder.file("edited.hcl", text.replace("cpu    = 1000", "cpu    = 900"));
    let edited = run_in(folder.path(), &["plan", "-snapshot", "stored.json", "edited.hcl"]);
    assert!(edited.stdout.contains("\n      +/- CPU:         \"1000\" => \"900\"\n"), "{}", edited.stdout);
    assert_eq!(edited.exit, 1);
}

#[test]
fn an_inspected_job_can_be_planned_again() {
    let folder = Folder::new("inspected");
    let stored = oracle::registered_job(&fixture().join("webapp.hcl"), "default").unwrap();
    folder.file("stored.json", snapshot_of(&stored));
    let inspected = run_in(folder.path(), &["inspect", "-snapshot", "stored.json", "web"]);
    let value: Value = serde_json::from_str(&inspected.stdout).unwrap();
    assert_eq!((inspected.exit, &value["Job"]["ID"], &value["Job"]["Reschedule"]), (0, &json!("webapp"), &Value::Null));
    folder.file("job.json", &inspected.stdout);
    let ran = run_in(folder.path(), &["plan", "-json", "-snapshot", "stored.json", "job.json"]);
    assert!(ran.stdout.starts_with("Job: \"webapp\"\n"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.exit, 0);

    let missing = run_in(folder.path(), &["inspect", "-snapshot", "stored.json", "nope"]);
    fails(&missing, 1, "No job(s) with prefix or ID \"nope\" found\n");
    let version = run_in(folder.path(), &["inspect", "-snapshot", "stored.json", "-version", "7", "webapp"]);
    fails(&version, 1, "Error inspecting job: job \"webapp\" with version 7 couldn't be found\n");
}

#[test]
fn jobs_are_inspected_by_prefix_and_in_other_forms() {
    let folder = Folder::new("prefixes");
    let stored = oracle::registered_job(&fixture().join("webapp.hcl"), "default").unwrap();
    let job = |id: &str, status: JobStatus, submit_time: i64| {
        let times = (submit_time, 12, 15, 14);
        let mut job = Job { id: id.into(), name: id.into(), status, ..stored.clone() };
        (job.submit_time, job.create_index, job.modify_index, job.job_modify_index) = times;
        job
    };
    let stopped = Job { stop: true, ..job("webby", JobStatus::Dead, 0) };
    let jobs = [job("web", JobStatus::Running, 1_795_239_732_970_445_509), stopped];
    folder.file("two.json", json!({ "Version": 1, "Index": 20, "Jobs": jobs }).to_string());
    let inspect = |flags: &[&str]| {
        let args: Vec<&str> = ["job", "inspect", "-snapshot", "two.json"].iter().chain(flags).copied().collect();
        run_in(folder.path(), &args)
    };
    let table = "Prefix \"we\" matched multiple jobs\n\n\
                 ID     Type     Priority  Status          Submit Date\n\
                 web    service  75        running         2026-11-21T05:42:12Z\n\
                 webby  service  75        dead (stopped)  <none>\n";
    fails(&inspect(&["we"]), 1, table);
    fails(&inspect(&["-namespace=*", "we"]), 1, "Prefix \"we\" matched multiple jobs\n\nID     Namespace  Type ");
    let exact: Value = serde_json::from_str(&inspect(&["-json", "web"]).stdout).unwrap();
    assert_eq!((&exact["ID"], &exact["Status"]), (&json!("web"), &json!("running")));
    let template = inspect(&["-t", "{{.ID}} v{{.Version}} {{len .TaskGroups}}", "webb"]);
    assert_eq!((template.stdout.as_str(), template.stderr.as_str(), template.exit), ("webby v0 1\n", "", 0));
    fails(&inspect(&["-json", "-t", "x", "web"]), 1, "Both json and template formatting are not allowed\n");
}

#[test]
fn errors_leave_standard_output_empty() {
    let folder = Folder::new("errors");
    folder.file("latin1.hcl", b"job \"caf\xe9\" {}\n");
    folder.file("job.hcl", "job \"j\" {\n  group \"g\" {\n    task \"t\" { driver = \"exec\" }\n  }\n}\n");
    folder.file("broken.json", "{\"Version\": 1, \"Jobs\": [");
    folder.file("other.json", "{\"Version\": 9}");
    folder.file("bad.json", "jo");
    let run = |args: &[&str]| run_in(folder.path(), args);
    let stat = format!(
        "Error getting job struct: Error getting jobfile from \"none.hcl\": source path error: stat {}: no such file or directory\n",
        folder.path().join("none.hcl").display()
    );
    for command in [&["job", "plan", "-snapshot=x"][..], &["validate"], &["run", "-output"]] {
        let exit = if command.contains(&"plan") { 255 } else { 1 };
        let with = |rest: &[&str]| run(&command.iter().chain(rest).copied().collect::<Vec<_>>());
        fails(&with(&["none.hcl"]), exit, &stat);
        fails(
            &with(&["latin1.hcl"]),
            exit,
            "Error getting job struct: Error parsing job file from latin1.hcl:\nlatin1.hcl:1,9-10: Invalid character encoding;",
        );
        if command.contains(&"run") {
            // Plans and validations take all job files of a directory.
            fails(
                &with(&["."]),
                exit,
                "Error getting job struct: Error getting jobfile from \".\": source path error: ",
            );
        }
        fails(
            &with(&["https://example.com/job.hcl"]),
            exit,
            "Error getting job struct: Error getting jobfile from \"https://example.com/job.hcl\": only local files",
        );
        fails(
            &with(&["-var", "nope=1", "job.hcl"]),
            exit,
            "Error getting job struct: Error parsing job file from job.hcl:\n<nil>: Undefined -var variable; ",
        );
        fails(
            &with(&["-json", "-var", "a=b", "job.hcl"]),
            exit,
            "Invalid job options: cannot use variables with JSON files.\n",
        );
        fails(
            &with(&["-json", "bad.json"]),
            exit,
            "Error getting job struct: Failed to parse JSON job: invalid character 'j' looking for beginning of value\n",
        );
        let usage = with(&[]);
        let line = "This command takes one argument: <path>\nFor additional help try 'encamp job ";
        fails(&usage, exit, line);
        assert!(usage.stderr.ends_with(" -help'\n"));
    }
    fails(
        &run(&["plan", "-address", "http://127.0.0.1:1", "job.hcl"]),
        255,
        "Error reading the cluster: cannot read jobs: Get \"http://127.0.0.1:1/v1/jobs\"",
    );
    fails(&run(&["plan", "-snapshot", "none.json", "job.hcl"]), 255, "Error reading snapshot: cannot read snapshot ");
    fails(&run(&["plan", "-snapshot", "broken.json", "job.hcl"]), 255, "Error reading snapshot: ");
    fails(&run(&["plan", "-snapshot", "other.json", "job.hcl"]), 255, "Error reading snapshot: ");
    fails(
        &run(&["run", "-address", "http://127.0.0.1:1", "job.hcl"]),
        1,
        "Error submitting job: Put \"http://127.0.0.1:1/v1/jobs\": dial tcp 127.0.0.1:1: connect: connection refused",
    );
    fails(
        &run(&["inspect", "job.hcl"]),
        1,
        "Error querying job prefix \"job.hcl\": Get \"http://127.0.0.1:1/v1/jobs?prefix=job.hcl&per_page=20\": dial tcp",
    );
}

#[test]
fn variables_come_from_flags_files_and_the_environment() {
    let folder = Folder::new("variables");
    folder.file(
        "job.hcl",
        "variable \"n\" { default = \"1\" }\njob \"j\" {\n  meta { n = var.n }\n  group \"g\" {\n    task \"t\" { driver = \"exec\" }\n  }\n}\n",
    );
    folder.file("values.hcl", "n = \"2\"\n");
    let meta = |args: &[&str], env: &[(&str, &str)]| {
        let all: Vec<&str> = ["run", "-output"].iter().chain(args).copied().collect();
        let ran = run_with(folder.path(), &all, env, None);
        let value: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.stderr));
        value["Job"]["Meta"]["n"].as_str().map(String::from)
    };
    assert_eq!(meta(&["job.hcl"], &[]).as_deref(), Some("1"));
    assert_eq!(meta(&["-var-file", "values.hcl", "job.hcl"], &[]).as_deref(), Some("2"));
    assert_eq!(meta(&["-var", "n=3", "job.hcl"], &[("NOMAD_VAR_n", "4")]).as_deref(), Some("3"));
    assert_eq!(meta(&["job.hcl"], &[("NOMAD_VAR_n", "4")]).as_deref(), Some("4"));
    assert_eq!(meta(&["-hcl2-strict=false", "-var", "nope=1", "job.hcl"], &[]).as_deref(), Some("1"));
}

#[test]
fn validation_reports_errors_and_warnings() {
    let folder = Folder::new("validate");
    folder.file(
        "bad.hcl",
        "job \"j\" {\n  group \"g\" {\n    count = -1\n    task \"t\" { driver = \"exec\" }\n  }\n}\n",
    );
    let notice = "Driver configuration not validated since connection to Nomad agent couldn't be established.\n\n";
    let invalid = |ran: &Ran, line: &str| {
        assert_eq!((ran.stdout.as_str(), ran.exit), (notice, 1), "{}", ran.stderr);
        assert!(ran.stderr.starts_with(line), "{}", ran.stderr);
    };
    let bad = run_in(folder.path(), &["job", "validate", "bad.hcl"]);
    invalid(
        &bad,
        "Job validation errors:\n1 error occurred:\n\t* Task group g validation failed: 1 error occurred:\n\t* Task group count can't be negative\n",
    );

    folder.file(
        "pool.hcl",
        "job \"j\" {\n  node_pool = \"gpu\"\n  group \"g\" {\n    task \"t\" { driver = \"exec\" }\n  }\n}\n",
    );
    let offline = run_in(folder.path(), &["validate", "pool.hcl"]);
    let want = format!("{notice}Job validation successful\n");
    assert_eq!((offline.stdout, offline.stderr.as_str(), offline.exit), (want, "", 0));
    let cluster = fixture().join("cluster.json");
    let online = run_in(folder.path(), &["validate", "-snapshot", cluster.to_str().unwrap(), "pool.hcl"]);
    invalid(&online, "Job validation errors:\n1 error occurred:\n\t* job \"j\" is in nonexistent node pool \"gpu\"\n");
}

#[test]
fn example_jobs_are_valid_and_can_be_planned() {
    let folder = Folder::new("examples");
    for flags in [&["-short"][..], &["-connect"], &["-short", "-connect"], &[]] {
        let _ = std::fs::remove_file(folder.path().join("example.nomad.hcl"));
        let args: Vec<&str> = ["init"].iter().chain(flags).copied().collect();
        assert_eq!(run_in(folder.path(), &args).exit, 0);
        assert_eq!(run_in(folder.path(), &["validate", "example.nomad.hcl"]).exit, 0);
        let cluster = fixture().join("cluster.json");
        let cluster = cluster.to_str().unwrap();
        let valid = run_in(folder.path(), &["validate", "-snapshot", cluster, "example.nomad.hcl"]);
        assert_eq!(valid.exit, 0, "{flags:?}: {}", valid.stderr);
        assert!(!valid.stdout.contains("Warnings"), "{flags:?}: {}", valid.stdout);
        let planned = run_in(folder.path(), &["plan", "-snapshot", cluster, "example.nomad.hcl"]);
        assert_eq!(planned.exit, 1, "{flags:?}: {}", planned.stderr);
    }
    let inspected = run_in(folder.path(), &["inspect", "-file", "-json", "example.nomad.hcl"]);
    let value: Value = serde_json::from_str(&inspected.stdout).unwrap();
    assert_eq!((&value["ID"], &value["Priority"]), (&json!("example"), &json!(50)));
}

#[test]
fn errors_show_the_line_they_are_about() {
    let folder = Folder::new("excerpt");
    folder.file("bad.hcl", "job \"x\" {\n  group \"g\" {\n    cuont = 2\n  }\n}\n");
    let ran = run_in(folder.path(), &["validate", "bad.hcl"]);
    let want = "Error getting job struct: Error parsing job file from bad.hcl:\n\
                bad.hcl:3,5-10: Unsupported argument; An argument named \"cuont\" is not expected here. Did you mean \"count\"?\n\n\
                error: unknown attribute \"cuont\" in a group block\n --> bad.hcl:3:5\n  | in job \"x\" > group \"g\"\n  |\n\
                3 |     cuont = 2\n  |     ^^^^^\n  = help: did you mean \"count\"?\n";
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", want, 1));
}

/// Recorded runs that need no cluster: stdout, stderr and exit code as they were.
#[test]
fn recorded_offline_runs_are_reproduced() {
    let Some(folder) = oracle::folder("cli") else { return };
    let (mut equal, mut all) = (0, 0);
    for (name, shown_directory) in [
        ("026-job-validate-syntax.txt", ""),
        ("025-job-validate-errors.txt", ""),
        ("034-job-plan-both-formats.txt", ""),
        ("035-job-plan-undeclared-var.txt", ""),
        ("036-job-plan-missing-file.txt", "/home/op"),
        ("037-job-plan-noargs.txt", ""),
        ("040-job-run-output.txt", ""),
        ("407-job-run-json-file-bad.txt", ""),
        ("409-job-plan-json-with-var.txt", ""),
        ("411-job-validate-unreachable.txt", ""),
    ] {
        let Some(text) = oracle::text(&format!("cli/{name}")) else { continue };
        let text = text.replace("nomad job ", "encamp job ");
        let (command, rest) = text.split_once('\n').unwrap();
        let (output, exit) = rest.rsplit_once("[exit ").unwrap();
        let (mut stdout, stderr) = match output.split_once("[stderr]\n") {
            Some((stdout, stderr)) => (stdout.to_string(), stderr.to_string()),
            None => (output.to_string(), String::new()),
        };
        if name == "025-job-validate-errors.txt" {
            // A server was asked then.
            stdout.push_str(
                "Driver configuration not validated since connection to Nomad agent couldn't be established.\n\n",
            );
        }
        let args: Vec<&str> = command.split_whitespace().skip(2).collect();
        let ran = run_in(&folder, &args);
        let here = std::fs::canonicalize(&folder).unwrap();
        let got_err = if shown_directory.is_empty() {
            ran.stderr.clone()
        } else {
            ran.stderr.replace(here.to_str().unwrap(), shown_directory)
        };
        // Below the recorded text stand our own explanations.
        let got_err = match got_err.find("\n\nerror: ") {
            Some(i) => format!("{}\n", &got_err[..i]),
            None => got_err,
        };
        all += 1;
        if (ran.stdout.as_str(), got_err.as_str(), format!("{}]", ran.exit).as_str())
            == (stdout.as_str(), stderr.as_str(), exit.trim_end())
        {
            equal += 1;
        } else {
            println!("{name}: {}\n{}[stderr]\n{}[exit {}]", args.join(" "), ran.stdout, got_err, ran.exit);
        }
    }
    println!("offline command oracle: {equal}/{all} equal");
    assert_eq!(equal, all);
}
