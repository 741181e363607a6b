//! `job plan -fail-on`, `-junit` and `-sarif`, and the pipelines of `docs/examples`, which run as they are.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::agent::{Agent, wait_for};
use crate::program::{self, Folder, run_in};
use encamp_test_support::notes;

fn fixture(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).display().to_string()
}

#[test]
fn conditions_fail_a_plan() {
    let folder = Folder::new("fail-on");
    let plan = |cluster: &str, flags: &[&str], files: &[&str]| {
        let snapshot = fixture(&format!("{cluster}/cluster.json"));
        let files: Vec<String> = files.iter().map(|file| fixture(&format!("{cluster}/{file}"))).collect();
        let mut args = vec!["job", "plan", "-snapshot", &snapshot];
        args.extend(flags);
        args.extend(files.iter().map(String::as_str));
        run_in(folder.path(), &args)
    };
    for (cluster, condition, file, exit) in [
        ("demo", "changed", "trainer-fails.hcl", 2),
        ("demo", "changed", "api-inplace.hcl", 2),
        ("demo", "changed", "registered/api.hcl", 0),
        ("demo", "create", "api-destructive.hcl", 2),
        ("demo", "create", "api-inplace.hcl", 0),
        ("demo", "create", "registered/api.hcl", 0),
        ("demo", "create", "exporter-system.hcl", 2),
        ("demo", "unplaced", "trainer-fails.hcl", 2),
        ("demo", "evict", "trainer-fails.hcl", 1),
        ("demo", "destroy", "api-destructive.hcl", 2),
        ("demo", "unplaced,evict,reject", "api-destructive.hcl", 1),
        ("demo", "destroy", "api-inplace.hcl", 0),
        ("demo", "priority>=1", "api-inplace.hcl", 2),
        ("demo", "priority>=101", "api-inplace.hcl", 0),
        ("preemption", "evict", "webapp.hcl", 2),
    ] {
        let ran = plan(cluster, &["-fail-on", condition], &[file]);
        assert_eq!(ran.exit, exit, "{condition} {file}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("The plan fails the conditions of -fail-on:\n"), exit == 2, "{}", ran.stderr);
    }
    let mistyped = plan("demo", &["-fail-on", "evicted"], &["trainer-fails.hcl"]);
    assert_eq!(mistyped.exit, 255);
    assert!(mistyped.stderr.starts_with(
        "Invalid -fail-on value \"evicted\"\nDid you mean evict? Valid are changed, create, unplaced, evict"
    ));

    let flags = ["-fail-on=unplaced,evict", "-junit=plan.xml", "-sarif=plan.sarif", "-json-output"];
    let several = plan("demo", &flags, &["trainer-fails.hcl", "api-destructive.hcl"]);
    assert_eq!(several.exit, 2, "{}", several.stderr);
    serde_json::from_str::<Value>(&several.stdout).expect("JSON");
    let junit = std::fs::read_to_string(folder.path().join("plan.xml")).expect("a file");
    assert!(junit.contains("<testsuites name=\"encamp job plan\" tests=\"4\" failures=\"1\" errors=\"0\">"), "{junit}");
    assert!(junit.contains("<testcase classname=\"default.trainer\" name=\"unplaced\">"), "{junit}");
    assert!(junit.contains("of group &quot;train&quot; could not be placed</failure>"), "{junit}");
    let sarif = std::fs::read_to_string(folder.path().join("plan.sarif")).expect("a file");
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let findings: Vec<(&str, &str)> =
        results.iter().map(|r| (r["ruleId"].as_str().unwrap(), r["level"].as_str().unwrap())).collect();
    assert!(findings.contains(&("unplaced", "error")) && findings.contains(&("destroy", "note")), "{findings:?}");
    let rules = sarif["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    assert!(findings.iter().all(|(rule, _)| rules.iter().any(|r| r["id"] == *rule)));
}

/// A YAML file, as the function `yamldecode` of job files reads it.
fn yaml(folder: &Folder, name: &str) -> Value {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(name);
    std::fs::copy(&file, folder.path().join("pipeline.yml")).expect("a copy");
    let job = "job \"yaml\" {\n  meta { text = jsonencode(yamldecode(file(\"pipeline.yml\"))) }\n}\n";
    folder.file("yaml.hcl", job);
    let ran = run_in(folder.path(), &["job", "run", "-output", "yaml.hcl"]);
    assert_eq!(ran.exit, 0, "{name}: {}", ran.stderr);
    let printed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    serde_json::from_str(printed["Job"]["Meta"]["text"].as_str().expect("a text")).expect("JSON")
}

/// The scripts of a pipeline that start encamp, in the order in which they run.
fn scripts(pipeline: &Value, jobs: [&str; 2]) -> Vec<String> {
    let mut out = Vec::new();
    for job in jobs {
        let github = pipeline["jobs"][job]["steps"].as_array();
        let steps = github.into_iter().flatten().filter_map(|step| step["run"].as_str().map(String::from));
        let gitlab = pipeline[job]["script"].as_array();
        let lines: Vec<&str> = gitlab.into_iter().flatten().filter_map(Value::as_str).collect();
        out.extend(steps.chain([lines.join("\n")]).filter(|script| script.contains("encamp ")));
    }
    out
}

const JOB: &str = r#"job "web" {
  group "g" {
    count = 2
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3600"]
      }
      resources {
        cpu    = 10
        memory = 20
      }
    }
  }
  update {
    min_healthy_time = "0s"
  }
}
"#;

fn pipeline_runs(name: &str) {
    if notes::lacks("pipelines", "openssl") {
        return;
    }
    let folder = Folder::new(&format!("pipeline-{name}"));
    let pipeline = yaml(&folder, &format!("{name}.yml"));
    let agent = Agent::start(&folder, "", &["-dev"]);
    wait_for("a node", || match agent.list("/v1/nodes").iter().any(|n| n["Status"] == "ready") {
        true => Ok(()),
        false => Err("no node is ready".into()),
    });
    std::fs::create_dir(folder.path().join("jobs")).expect("a directory");
    folder.file("jobs/web.nomad.hcl", JOB);
    let shell = |script: &str| {
        let program = program::path();
        let directory = Path::new(&program).parent().expect("a directory").display().to_string();
        let path = format!("{directory}:{}", std::env::var("PATH").unwrap_or_default());
        let key = std::fs::read_to_string(folder.path().join("secret.pem")).unwrap_or_default();
        let mut command = Command::new("sh");
        command.current_dir(folder.path()).env_clear().env("PATH", path).env("PLAN_KEY", key.trim_end());
        command.env("ENCAMP_ADDR", agent.address()).args(["-e", "-c", script]);
        let ran = command.output().expect("a shell");
        let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{name}: {script}\n{said}");
    };
    shell("openssl genpkey -algorithm ed25519 -out secret.pem");
    shell("openssl pkey -in secret.pem -pubout -out plan-key.pub.pem");
    let scripts = scripts(&pipeline, ["plan", "register"]);
    assert_eq!(scripts.len(), 2, "{scripts:?}");
    scripts.iter().for_each(|script| shell(script));
    let jobs = agent.list("/v1/jobs");
    assert!(jobs.iter().any(|j| j["ID"] == "web"), "{jobs:?}");
    let comment = std::fs::read_to_string(folder.path().join("plan.md")).expect("a comment");
    assert!(comment.starts_with("### Plan of job `web` (new job)"), "{comment}");
}

#[test]
fn the_workflow_of_github_runs() {
    pipeline_runs("github");
}

#[test]
fn the_pipeline_of_gitlab_runs() {
    pipeline_runs("gitlab");
}
