//! `job plan -explain` through the program.

use std::path::{Path, PathBuf};

use crate::program::{Folder, Ran, run_in};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// What stands behind the plan itself.
fn explanation(ran: &Ran) -> &str {
    let start = ran.stdout.rfind("\n\nencamp job run").expect("a plan");
    let (_, rest) = ran.stdout[start..].split_once("overwriting that change.\n").expect("the footer");
    rest
}

/// Every command and its output in the documentation are as the program has them.
#[test]
fn the_documentation_shows_what_is_printed() {
    let text = std::fs::read_to_string(root().join("docs/guide/explain.md")).unwrap();
    let blocks: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let Some(command) = pair[0].strip_prefix("sh\nencamp ") else { continue };
        let args: Vec<&str> = command.split_whitespace().collect();
        let ran = run_in(&root(), &args);
        assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1), "{command}");
        assert_eq!(explanation(&ran), pair[1].trim_start_matches('\n'), "{command}");
        shown += 1;
    }
    assert_eq!(shown, 2);
}

#[test]
fn the_explanation_is_part_of_the_json() {
    let plan = |flags: &[&str]| {
        let cluster = ["job", "plan", "-snapshot", "fixtures/demo/cluster.json", "-json-output"];
        run_in(&root(), &[&cluster, flags, &["fixtures/demo/trainer-fails.hcl"]].concat())
    };
    let (plain, explained) = (plan(&[]), plan(&["-explain"]));
    let value: Value = serde_json::from_str(&explained.stdout).unwrap();
    let plain: Value = serde_json::from_str(&plain.stdout).unwrap();
    for member in ["Annotations", "Diff", "FailedTGAllocs", "JobModifyIndex", "Warnings"] {
        assert!(value[member] == plain[member], "the plan itself stays as it is: {member}");
    }
    assert_eq!(plain.get("Explanation"), None);
    let explanation = &value["Explanation"];
    assert_eq!(explanation["SchemaVersion"], 1);
    let group = &explanation["Groups"][0];
    let failed = &value["FailedTGAllocs"]["train"];
    assert_eq!(group["Failed"].as_u64(), failed["CoalescedFailures"].as_u64().map(|n| n + 1));
    // The node pool's nodes are filtered or exhausted, as the plan's metrics count them.
    let sum = |list: &str| group[list].as_array().unwrap().iter().map(|r| r["Nodes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(sum("Filtered")), failed["NodesFiltered"].as_u64());
    assert_eq!(Some(sum("Exhausted")), failed["NodesExhausted"].as_u64());
    assert_eq!(group["Fitting"], 0);
    let story: Value = serde_json::from_str(&plan(&["-explain=dc2-gpu-12"]).stdout).unwrap();
    let story = &story["Explanation"]["Node"];
    assert_eq!(story["Name"], "dc2-gpu-12");
    assert_eq!(
        story["Groups"][0]["Verdict"][0],
        "filtered: ${attr.cuda.version} version >= 12.0; the node has \"11.8\""
    );
}

#[test]
fn a_large_cluster_reads_on_one_screen() {
    let folder = Folder::new("explain-large");
    let sim = ["sim", "cluster", "-nodes", "600", "-allocs", "6000", "-seed", "3", "-out", "c.json"];
    assert_eq!(run_in(folder.path(), &sim).exit, 0);
    let job = std::fs::read_to_string(root().join("fixtures/demo/web-canary.hcl")).unwrap();
    folder.file("job.hcl", job);
    let ran = run_in(folder.path(), &["job", "plan", "-snapshot", "c.json", "-explain", "job.hcl"]);
    assert_eq!(ran.stderr, "");
    let lines = explanation(&ran).lines().count();
    assert!((5..=60).contains(&lines), "{lines} lines:\n{}", explanation(&ran));
    assert!(explanation(&ran).contains("600 nodes"), "{}", explanation(&ran));
}

#[test]
fn a_plan_can_be_a_comment() {
    let plan = |flags: &[&str]| {
        let cluster = ["job", "plan", "-snapshot", "fixtures/preemption/cluster.json", "-markdown"];
        run_in(&root(), &[&cluster, flags, &["fixtures/preemption/webapp.hcl"]].concat())
    };
    let ran = plan(&["-explain"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1));
    let want = "### Plan of job `webapp` (new job)\n\n:warning: **1** to create, **3** preempted.\n\n\
                | Group | Changes | Unplaced |\n|---|---|---|\n| `web` | 1 create | - |\n\n\
                **Preempts 3 allocations**\n\n| Allocation | Job | Group |\n|---|---|---|\n\
                | `a2` | `email-marketing` | `main` |\n| `a1` | `email-marketing` | `main` |\n| `a4` | `batch-analytics` | `main` |\n\n\
                <details><summary>Diff</summary>\n\n```diff\n+ Job: \"webapp\"\n";
    assert!(ran.stdout.starts_with(want), "{}", ran.stdout);
    assert!(ran.stdout.contains("<details><summary>Explanation</summary>"), "{}", ran.stdout);
    let end = "```sh\nencamp job run -check-index 0 fixtures/preemption/webapp.hcl\n```\n";
    assert!(ran.stdout.ends_with(end), "{}", ran.stdout);
    assert_eq!(ran.stdout.matches("<details>").count(), ran.stdout.matches("</details>").count());
    let both = plan(&["-json-output"]);
    assert_eq!((both.stdout.as_str(), both.exit), ("", 255));
}

#[test]
fn nodes_that_are_meant_have_to_be_clear() {
    let plan = |node: &str| {
        let cluster = ["job", "plan", "-snapshot", "fixtures/demo/cluster.json"];
        run_in(&root(), &[&cluster[..], &[node, "fixtures/demo/trainer-fails.hcl"]].concat())
    };
    for (node, want) in [
        ("-explain=nowhere", "Error explaining the plan: no node has the name or ID \"nowhere\""),
        ("-remote -explain", "flag provided but not defined"),
    ] {
        let ran = plan(node);
        assert_eq!(ran.exit, 255, "{}", ran.stderr);
        assert!(ran.stderr.starts_with(want), "{}", ran.stderr);
    }
    let ran = run_in(&root(), &["job", "plan", "-remote", "-explain", "fixtures/demo/trainer-fails.hcl"]);
    assert!(ran.stderr.starts_with("-explain requires a local plan"), "{}", ran.stderr);
}
