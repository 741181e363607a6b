//! `job diff`, `job validate` of several files, and `job init -from`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, Ran, run_in};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo")
}

fn diff(args: &[&str]) -> Ran {
    run_in(&fixture(), &[&["job", "diff"], args].concat())
}

fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[test]
fn a_file_is_compared_with_the_registered_job() {
    let same = diff(&["-snapshot", "cluster.json", "registered/api.hcl"]);
    assert_eq!((same.stdout.as_str(), same.stderr.as_str(), same.exit), ("The jobs are the same.\n", "", 0));
    let other = diff(&["-snapshot", "cluster.json", "api", "api-destructive.hcl"]);
    assert_eq!((other.stderr.as_str(), other.exit), ("", 1));
    let first = "job \"api\" version 0 => api-destructive.hcl\n\n+/- Job: \"api\"\n+/- Task Group: \"server\"\n";
    assert!(other.stdout.starts_with(first), "{}", other.stdout);
    assert_eq!(diff(&["-snapshot", "cluster.json", "api-destructive.hcl"]).stdout, other.stdout);
    assert_eq!(diff(&["-snapshot", "cluster.json", "api@0", "api-destructive.hcl"]).stdout, other.stdout);
    let new = diff(&["-snapshot", "cluster.json", "trainer-fails.hcl"]);
    let first = "job \"trainer\" (not registered) => trainer-fails.hcl\n\n+ Job: \"trainer\"\n";
    assert!(new.exit == 1 && new.stdout.starts_with(first), "{new:?}");
    let plan = run_in(&fixture(), &["job", "plan", "-snapshot", "cluster.json", "api-destructive.hcl"]).stdout;
    let count = "+/- Count: \"4\" => \"6\"";
    assert!(plan.contains(count) && other.stdout.contains(count), "{plan}");
}

#[test]
fn two_files_are_compared_without_a_cluster() {
    let ran = diff(&["-json-output", "api-inplace.hcl", "api-destructive.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    let value = parsed(&ran);
    let names = (&value["SchemaVersion"], &value["Old"], &value["New"]);
    assert_eq!(names, (&json!(1), &json!("api-inplace.hcl"), &json!("api-destructive.hcl")));
    assert_eq!((&value["Diff"]["Type"], &value["Diff"]["ID"]), (&json!("Edited"), &json!("api")));
    let back = parsed(&diff(&["-json-output", "api-destructive.hcl", "api-inplace.hcl"]));
    let count = |v: &Value| {
        let fields = v["Diff"]["TaskGroups"][0]["Fields"].as_array().expect("fields").clone();
        fields.into_iter().find(|f| f["Name"] == "Count").expect("the count")
    };
    let (there, back) = (count(&value), count(&back));
    assert_eq!((&there["Old"], &there["New"]), (&back["New"], &back["Old"]));
}

#[test]
fn a_json_job_is_compared_with_an_hcl_file() {
    let folder = Folder::new("job-diff-json");
    let run = |args: &[&str]| run_in(folder.path(), &[&["job", "diff"], args].concat());
    folder.file("web.hcl", format!("variable \"count\" {{}}\n\n{}", JOB.replace("count = 0", "count = var.count")));
    folder.file("plain.hcl", JOB);
    let job = run_in(folder.path(), &["job", "run", "-output", "plain.hcl"]);
    folder.file("web.json", &job.stdout);
    folder.file("web.api", &job.stdout);
    assert_eq!((run(&["web.json", "plain.hcl"]).exit, run(&["plain.hcl", "web.json"]).exit), (0, 0));
    // Variables are those of the HCL file.
    assert_eq!(run(&["-var", "count=0", "web.json", "web.hcl"]).exit, 0);
    let other = run(&["-var", "count=2", "web.json", "web.hcl"]);
    assert!(other.exit == 1 && other.stdout.contains("Count: \"0\" => \"2\""), "{other:?}");
    let none = run(&["-var", "count=2", "web.json", "web.json"]);
    assert!(none.exit == 255 && none.stderr.contains("cannot use variables with JSON files"), "{none:?}");
    // A name that says nothing is HCL without -json.
    assert_eq!((run(&["-json", "web.api", "plain.hcl"]).exit, run(&["web.api", "plain.hcl"]).exit), (0, 255));
}

#[test]
fn mistakes_are_named() {
    for (args, error) in [
        (&[][..], "This command takes one or two arguments"),
        (&["-", "-"], "Only one of the jobs can be read from standard input"),
        (&["api"], "\"api\" is no job file"),
        (&["-snapshot", "cluster.json", "nosuch", "api-inplace.hcl"], "no job in namespace \"default\" has this ID"),
        (&["-snapshot", "cluster.json", "api@7", "api-inplace.hcl"], "Job \"api\" has no version 7"),
        (&["-snapshot", "cluster.json", "no@1", "api-inplace.hcl"], "\"no@1\" means version 1 of job \"no\""),
        (&["missing.hcl", "api-inplace.hcl"], "no such file or directory"),
        (&["-snapshot", "cluster.json", "api", "web"], "can not diff jobs with different IDs"),
    ] {
        let ran = diff(args);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(error), "{args:?}: {}", ran.stderr);
    }
    let folder = Folder::new("job-diff");
    folder.file("broken.hcl", "job \"x\" {\n  count = \n}\n");
    let ran = run_in(folder.path(), &["job", "diff", "broken.hcl", "broken.hcl"]);
    assert!(ran.exit == 255 && ran.stderr.contains("broken.hcl:2"), "{ran:?}");
}

const JOB: &str = "job \"web\" {\n  type = \"batch\"\n\n  group \"front\" {\n    count = 0\n\n    task \"t\" {\n      driver = \
                   \"raw_exec\"\n\n      config {\n        command = \"/bin/true\"\n      }\n    }\n  }\n}\n";

#[test]
fn versions_of_a_registered_job_are_compared_and_written() {
    let folder = Folder::new("job-diff-live");
    let agent = Agent::start(&folder, "", &["-dev"]);
    wait_for("the node", || if agent.list("/v1/nodes").is_empty() { Err("no node".into()) } else { Ok(()) });
    let address = format!("-address={}", agent.address());
    let run = |command: &[&str], args: &[&str]| run_in(folder.path(), &[command, &[&address], args].concat());
    for (name, text) in [("one.hcl", JOB.to_string()), ("two.hcl", JOB.replace("/bin/true", "/bin/false"))] {
        folder.file(name, text);
        let ran = run(&["job", "run"], &["-detach", name]);
        assert_eq!(ran.exit, 0, "{ran:?}");
    }
    let versions = run(&["job", "diff"], &["web@0", "web@1"]);
    assert_eq!((versions.stderr.as_str(), versions.exit), ("", 1));
    assert!(versions.stdout.starts_with("job \"web\" version 0 => job \"web\" version 1\n"), "{}", versions.stdout);
    assert!(versions.stdout.contains("\"/bin/true\" => \"/bin/false\""), "{}", versions.stdout);
    assert_eq!(run(&["job", "diff"], &["web@0", "one.hcl"]).exit, 0);
    assert_eq!(run(&["job", "diff"], &["two.hcl"]).exit, 0);
    assert_eq!(run(&["job", "diff"], &["one.hcl"]).exit, 1);
    let none = run(&["job", "diff"], &["web@9", "two.hcl"]);
    assert!(none.exit == 255 && none.stderr.contains("has no version 9"), "{none:?}");

    // Variables of the submission are named.
    folder.file("three.hcl", format!("variable \"count\" {{}}\n\n{}", JOB.replace("count = 0", "count = var.count")));
    let ran = run(&["job", "run"], &["-detach", "-var", "count=1", "three.hcl"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    let ran = run(&["job", "init"], &["-from", "web", "again.hcl"]);
    let command = "    encamp job run -var=\"count=1\" again.hcl\n";
    assert!(ran.exit == 0 && ran.stdout.ends_with(command), "{ran:?}");
    let ran = run(&["job", "run"], &["-detach", "two.hcl"]);
    assert_eq!(ran.exit, 0, "{ran:?}");

    // The submitted file comes back as it was.
    let ran = run(&["job", "init"], &["-from", "web", "copy.hcl"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("Job file written to copy.hcl\n", 0), "{ran:?}");
    let copy = std::fs::read_to_string(folder.path().join("copy.hcl")).expect("the file");
    assert_eq!(copy, JOB.replace("/bin/true", "/bin/false"));
    let again = run(&["job", "init"], &["-from", "web", "copy.hcl"]);
    assert!(again.exit == 1 && again.stderr == "Job 'copy.hcl' already exists\n", "{again:?}");
    let none = run(&["job", "init"], &["-from", "nosuch", "none.hcl"]);
    assert!(none.exit == 1 && !folder.path().join("none.hcl").exists(), "{none:?}");
}

#[test]
fn a_job_of_a_snapshot_becomes_a_job_file() {
    let folder = Folder::new("job-init-from");
    std::fs::copy(fixture().join("cluster.json"), folder.path().join("cluster.json")).expect("a copy");
    let ran = run_in(folder.path(), &["job", "init", "-from", "web", "-snapshot", "cluster.json", "web.hcl"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    let same = run_in(folder.path(), &["job", "diff", "-snapshot", "cluster.json", "web.hcl"]);
    assert_eq!((same.stdout.as_str(), same.exit), ("The jobs are the same.\n", 0), "{same:?}");
    for (args, error) in [
        (&["-snapshot", "cluster.json"][..], "-snapshot needs -from"),
        (&["-from", "web", "-short"], "-from can't be combined with"),
    ] {
        let ran = run_in(folder.path(), &[&["job", "init"], args].concat());
        assert!(ran.exit == 1 && ran.stderr.contains(error), "{ran:?}");
    }
}

#[test]
fn all_files_of_a_directory_are_validated() {
    let folder = Folder::new("job-validate-many");
    for name in ["cluster.json", "api-inplace.hcl", "trainer-fails.hcl"] {
        std::fs::copy(fixture().join(name), folder.path().join(name)).expect("a copy");
    }
    let run =
        |args: &[&str]| run_in(folder.path(), &[&["job", "validate", "-snapshot", "cluster.json"], args].concat());
    let good = run(&["."]);
    assert_eq!((good.stderr.as_str(), good.exit), ("", 0));
    assert!(good.stdout.ends_with("\n2 job files: 1 valid, 1 valid with warnings, 0 invalid\n"), "{}", good.stdout);
    folder.file("broken.hcl", "job \"x\" {\n");
    folder.file("wrong.hcl", "job \"y\" {\n  datacenters = [\"*\"]\n}\n");
    let bad = run(&["."]);
    assert_eq!(bad.exit, 1);
    assert!(bad.stdout.ends_with("\n4 job files: 1 valid, 1 valid with warnings, 2 invalid\n"), "{}", bad.stdout);
    assert!(
        bad.stderr.contains("./broken.hcl:1:9") && bad.stderr.contains("Missing job task groups"),
        "{}",
        bad.stderr
    );
    let json = parsed(&run(&["-diagnostics=json", "broken.hcl", "api-inplace.hcl"]));
    let files: Vec<&str> =
        json["diagnostics"].as_array().expect("a list").iter().filter_map(|d| d["file"].as_str()).collect();
    assert!(json["valid"] == false && files.contains(&"broken.hcl") && files.contains(&"api-inplace.hcl"), "{json}");
    let twice = run(&["-", "-"]);
    assert!(twice.exit == 1 && twice.stderr.contains("Standard input can only be given once"), "{twice:?}");
    std::fs::create_dir(folder.path().join("empty")).expect("a directory");
    let none = run(&["empty"]);
    assert!(none.exit == 1 && none.stderr.contains("No job files (.nomad, .hcl) in directory \"empty\""), "{none:?}");
}
