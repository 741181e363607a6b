//! Several job files in one plan.

use std::path::{Path, PathBuf};

use crate::program::{Folder, Ran, run_in};
use serde_json::Value;

fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo")
}

fn plan(args: &[&str]) -> Ran {
    run_in(&demo(), &[&["job", "plan", "-snapshot", "cluster.json"], args].concat())
}

/// A job that takes up most of each node it gets.
fn job(id: &str, priority: u32, count: u32) -> String {
    format!(
        "job \"{id}\" {{\n  datacenters = [\"*\"]\n  priority = {priority}\n  group \"g\" {{\n    count = {count}\n    task \"t\" {{\n      \
         driver = \"docker\"\n      config {{\n        image = \"i\"\n      }}\n      resources {{\n        cpu = 4500\n        memory = 64\n      }}\n    }}\n  }}\n}}\n"
    )
}

#[test]
fn a_folder_is_planned_by_priority_with_one_summary() {
    let ran = plan(&["."]);
    assert_eq!(ran.stderr.lines().count(), 1, "two files are of the same job: {}", ran.stderr);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255));
    assert!(ran.stderr.contains("are files of the same job \"api\""), "{}", ran.stderr);

    let ran = plan(&["trainer-fails.hcl", "api-inplace.hcl", "exporter-system.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    let headings: Vec<&str> = ran.stdout.lines().filter(|l| l.starts_with("==> ")).collect();
    let priorities: Vec<u32> = headings.iter().map(|h| h.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(headings.len(), 3);
    assert!(priorities.is_sorted_by(|a, b| a >= b), "{headings:?}");
    let with_nodes = plan(&["-placements", "trainer-fails.hcl", "api-inplace.hcl", "exporter-system.hcl"]);
    let alone = plan(&["-placements", "trainer-fails.hcl"]);
    let nodes = |text: &str| -> Vec<String> {
        let (_, list) = text.split_once("\nPlacements\n").expect("placements");
        list.lines().take_while(|l| !l.is_empty()).map(String::from).collect()
    };
    let trainer = with_nodes.stdout.split("==> ").find(|part| part.contains("job \"trainer\"")).expect("the job");
    assert_eq!(nodes(trainer), nodes(&alone.stdout), "{}", with_nodes.stdout);
    let (_, summary) = ran.stdout.split_once("\nSummary\n").expect("a summary");
    assert!(summary.starts_with("Job       Priority  Create  Replace  In Place "), "{summary}");
    assert!(summary.lines().any(|l| l.starts_with("trainer ") && l.contains(" 3 ")), "{summary}");
    assert_eq!(summary.matches("\nencamp job run -check-index ").count(), 3, "{summary}");
}

#[test]
fn jobs_are_planned_on_what_those_before_leave() {
    let folder = Folder::new("plan-many");
    folder.file("a-low.nomad", job("low", 40, 9));
    folder.file("b-high.hcl", job("high", 60, 9));
    folder.file("notes.txt", "no job");
    let cluster = demo().join("cluster.json").display().to_string();
    let json = |paths: &[&str]| -> Value {
        let ran = run_in(folder.path(), &[&["job", "plan", "-snapshot", &cluster, "-json-output"], paths].concat());
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let without_node = |plan: &Value| {
        let failed = plan["FailedTGAllocs"]["g"]["CoalescedFailures"].as_u64();
        failed.map_or(0, |n| n + 1)
    };
    let (low, high) = (json(&["a-low.nomad"]), json(&["b-high.hcl"]));
    let both = json(&["./"]);
    assert_eq!(both["SchemaVersion"], 1);
    let plans = both["Plans"].as_array().unwrap();
    let ids: Vec<&str> = plans.iter().map(|p| p["JobID"].as_str().unwrap()).collect();
    assert_eq!(ids, ["high", "low"]);
    assert_eq!(without_node(&plans[0]["Plan"]), without_node(&high), "the first one finds the cluster as it is");
    assert!(without_node(&plans[1]["Plan"]) > without_node(&low), "the second one finds less room: {both}");
    assert_eq!(plans[1]["Counts"]["NoNode"].as_u64(), Some(without_node(&plans[1]["Plan"])));

    let comment = run_in(folder.path(), &["job", "plan", "-snapshot", &cluster, "-markdown", "."]);
    assert!(comment.stdout.starts_with("## Plan of 2 jobs\n\n| Job | Create | Replace | "), "{}", comment.stdout);
    assert!(comment.stdout.contains("\n### Plan of job `high` (new job)\n"), "{}", comment.stdout);
}

#[test]
fn what_is_wrong_with_any_file_is_told_before_anything_is_planned() {
    let folder = Folder::new("plan-many-wrong");
    folder.file("a.hcl", job("a", 50, 1));
    folder.file("b.hcl", "job \"b\" {");
    folder.file("c.hcl", "job \"c\" { cont = 1 }");
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let cluster = demo().join("cluster.json").display().to_string();
    let plan = |paths: &[&str]| run_in(folder.path(), &[&["job", "plan", "-snapshot", &cluster], paths].concat());
    let ran = plan(&["."]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255));
    assert!(ran.stderr.contains("b.hcl:1,9") && ran.stderr.contains("c.hcl:1,11"), "{}", ran.stderr);
    let ran = plan(&["empty", "a.hcl"]);
    assert_eq!(ran.stderr, "No job files (.nomad, .hcl) in directory \"empty\"\n");
    let ran = plan(&["a.hcl", "none.hcl"]);
    assert!(ran.exit == 255 && ran.stderr.contains("none.hcl"), "{}", ran.stderr);
    let ran = plan(&["-remote", "a.hcl", "b.hcl"]);
    assert!(ran.exit == 255, "{}", ran.stdout);
    // A job that is refused does not keep the others from being planned.
    folder.file("b.hcl", job("b", 90, 1).replace("docker", ""));
    let ran = plan(&["a.hcl", "b.hcl"]);
    assert_eq!(ran.exit, 255);
    assert!(
        ran.stderr.starts_with("b.hcl: Error during plan: ") && ran.stdout.contains("+ Job: \"a\""),
        "{}",
        ran.stderr
    );
}
