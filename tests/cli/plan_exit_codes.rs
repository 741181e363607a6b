//! The exit codes of `job plan` are those that its help and the guides state.

use std::collections::BTreeSet;
use std::path::Path;

use encamp_cli::command::Run;
use encamp_cli::job_plan::JobPlan;
use serde_json::Value;

use crate::program::{Folder, run_in};

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Changes of a job file: a name, and what is replaced by what.
const CHANGES: &[(&str, &str, &str)] = &[
    ("nothing", "", ""),
    ("image", "image = \"registry.example/", "image = \"registry.example/new-"),
    ("count", "count = ", "count = 1"),
    ("meta", "group \"", "meta {\n    changed = \"yes\"\n  }\n\n  group \""),
    ("name", "job \"", "job \"new-"),
    ("no node", "datacenters = [", "datacenters = [\"nowhere\"] # ["),
];

/// The rule of the help and of the guide (docs/guide/plan.md).
fn stated(plan: &Value) -> i32 {
    let changed = plan["Diff"]["Type"] != "None";
    let groups = plan["Annotations"]["DesiredTGUpdates"].as_object().cloned().unwrap_or_default();
    let acts = |group: &Value| {
        let counts = ["Place", "Canary", "DestructiveUpdate", "Migrate", "Stop"];
        counts.iter().any(|name| group[*name].as_u64().is_some_and(|n| n > 0))
    };
    i32::from(changed && groups.values().any(acts))
}

#[test]
fn the_codes_are_the_stated_ones() {
    let folder = Folder::new("plan-exit-codes");
    let all: Value = serde_json::from_str(&fixture("cluster.json")).expect("JSON");
    folder.file("all.json", all.to_string());
    let mut fewer = all.clone();
    // Allocations are missing: an unchanged job creates them, and the code is 0 all the same.
    fewer["Allocations"]
        .as_array_mut()
        .expect("allocations")
        .retain(|a| !a["ID"].as_str().unwrap_or("").ends_with('2'));
    folder.file("fewer.json", fewer.to_string());
    let mut empty = all;
    empty["Allocations"] = Value::Array(Vec::new());
    folder.file("empty.json", empty.to_string());
    let (mut cases, mut met, mut unseen) = (0, BTreeSet::new(), 0);
    for job in ["api", "exporter", "report", "web"] {
        let text = fixture(&format!("registered/{job}.hcl"));
        for (change, from, to) in CHANGES {
            let edited = if from.is_empty() { text.clone() } else { text.replacen(from, to, 1) };
            folder.file("job.hcl", edited);
            for cluster in ["all", "fewer", "empty"] {
                let snapshot = format!("-snapshot={cluster}.json");
                let args = ["job", "plan", &snapshot, "-json-output", "job.hcl"];
                let ran = run_in(folder.path(), &args);
                let plan: Value =
                    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{job} {change}: {e}: {ran:?}"));
                assert_eq!(ran.exit, stated(&plan), "{job}, {change}, {cluster}: {plan}");
                let text = run_in(folder.path(), &["job", "plan", &snapshot, "job.hcl"]);
                assert_eq!(text.exit, ran.exit, "{job}, {change}, {cluster}");
                let groups = plan["Annotations"]["DesiredTGUpdates"].as_object().cloned().unwrap_or_default();
                let places = groups.values().any(|g| g["Place"].as_u64().is_some_and(|n| n > 0));
                unseen += usize::from(plan["Diff"]["Type"] == "None" && places);
                met.insert(ran.exit);
                cases += 1;
            }
        }
    }
    assert_eq!(met.into_iter().collect::<Vec<_>>(), [0, 1]);
    assert!(cases == 72 && unseen > 0, "{cases} cases, {unseen} of unchanged jobs that create");
}

#[test]
fn help_and_guides_state_the_same() {
    let codes = JobPlan::META.exit_status;
    let stated: Vec<u8> = codes.iter().map(|(code, _)| *code).collect();
    assert_eq!(stated, [0, 1, 2, 255]);
    assert!(codes[0].1.contains("unchanged") && codes[1].1.contains("new or changed"), "{codes:?}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, text) in [
        ("docs/guide/plan.md", "the job is new or changed, and allocations would be created or destroyed"),
        ("docs/guide/review.md", "the job is new or changed and allocations would be created or destroyed"),
        ("README.md", "the job is new, and allocations would be created or destroyed"),
        ("docs/examples/github.yml", "a new or changed job would create or destroy allocations"),
        ("docs/examples/gitlab.yml", "a new or changed job would create or destroy allocations"),
        ("man/encamp-job-plan.1", "The job is new or changed, and allocations would be created or destroyed."),
    ] {
        let content = std::fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        let content = content.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(content.contains(text), "{file}");
    }
}
