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

/// The operators of constraints, each with values that are compared with those of the nodes.
const OPERATORS: &[(&str, &[&str])] = &[
    ("=", &["1.2.0", "x", ""]),
    ("!=", &["1.2.0", ""]),
    ("<", &["1.0.0", "2"]),
    ("<=", &["1.0.0"]),
    (">", &["9", "1.2.0"]),
    (">=", &["9.0"]),
    ("regexp", &["^9", "[.]2"]),
    ("version", &[">= 2.0", "~> 1.2"]),
    ("semver", &[">= 2.0.0", "= 1.2.0"]),
    ("set_contains", &["a,b", "1.2.0"]),
    ("set_contains_all", &["a,b"]),
    ("set_contains_any", &["a,b", "x,1.2.0"]),
    ("is_set", &[""]),
    ("is_not_set", &[""]),
    ("distinct_property", &["", "1", "2", "x"]),
];

/// What constraints name: attributes that all nodes have, some have, and none has; texts; and attributes in texts.
const ATTRIBUTES: &[&str] = &[
    "${attr.kind}",
    "${meta.rack}",
    "${meta.nothing}",
    "${node.class}",
    "${node.unique.name}",
    "${node.nonsense}",
    "plain",
];

/// The node's value of an attribute, by the documentation of constraints.
fn value<'a>(node: &'a Value, attribute: &'a str) -> Option<&'a str> {
    let Some(name) = attribute.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) else {
        return Some(attribute);
    };
    if let Some(key) = name.strip_prefix("attr.") {
        return node["Attributes"][key].as_str();
    }
    if let Some(key) = name.strip_prefix("meta.") {
        return node["Meta"][key].as_str();
    }
    match name {
        "node.class" => node["NodeClass"].as_str(),
        "node.unique.name" => node["Name"].as_str(),
        _ => None,
    }
}

/// Four nodes with different values, and a job with two allocations on two of them.
fn known_cluster() -> Value {
    let text = std::fs::read_to_string(root().join("fixtures/demo/cluster.json")).unwrap();
    let mut content: Value = serde_json::from_str(&text).unwrap();
    let pattern = content["Nodes"][0].clone();
    let kinds = [(Some("1.2.0"), Some("r1")), (Some("0.9"), Some("")), (Some("a, b"), None), (None, Some("r1"))];
    let nodes = kinds.iter().enumerate().map(|(i, (kind, rack))| {
        let mut node = pattern.clone();
        node["ID"] = format!("{i:08}-0000-4000-8000-000000000000").into();
        node["Name"] = format!("n{i}").into();
        node["NodeClass"] = format!("class{}", i % 2).into();
        node["ComputedClass"] = format!("v1:{i}").into();
        node["Meta"] = serde_json::json!({});
        if let Some(kind) = kind {
            node["Attributes"]["kind"] = (*kind).into();
        }
        if let Some(rack) = rack {
            node["Meta"]["rack"] = (*rack).into();
        }
        node
    });
    content["Nodes"] = nodes.collect::<Vec<_>>().into();
    content["Allocations"] = Value::Array(Vec::new());
    content["Deployments"] = Value::Array(Vec::new());
    content["Jobs"] = Value::Array(Vec::new());
    content
}

/// Plans a job with each constraint, and compares what the explanation says it found with the nodes.
#[test]
fn explanations_claim_only_what_nodes_have() {
    let folder = Folder::new("explain-claims");
    let cluster = known_cluster();
    folder.file("cluster.json", cluster.to_string());
    let nodes = cluster["Nodes"].as_array().unwrap();
    let mut constraints: Vec<(String, &str, String)> = Vec::new();
    for (operator, values) in OPERATORS {
        for attribute in ATTRIBUTES {
            constraints.extend(values.iter().map(|value| (attribute.to_string(), *operator, value.to_string())));
            constraints.push((attribute.to_string(), operator, "${meta.rack}".into()));
        }
    }
    let mut files = Vec::new();
    for (i, (attribute, operator, value)) in constraints.iter().enumerate() {
        let name = format!("job{i}.hcl");
        folder.file(
            &name,
            format!(
                "job \"job{i}\" {{\n datacenters = [\"*\"]\n group \"g\" {{\n  count = 3\n  constraint {{\n   attribute = \
                 \"{}\"\n   operator = \"{operator}\"\n   value = \"{}\"\n  }}\n  task \"t\" {{\n   driver = \"docker\"\n   \
                 config {{\n    image = \"i\"\n   }}\n  }}\n }}\n}}\n",
                attribute.replace("${", "$${"),
                value.replace("${", "$${"),
            ),
        );
        files.push(name);
    }
    let (mut claims, mut unset, mut used, mut refused) = (0, 0, 0, 0);
    for (name, (left, operator, right)) in files.iter().zip(&constraints) {
        let ran = run_in(folder.path(), &["job", "plan", "-snapshot=cluster.json", "-json-output", "-explain", name]);
        if ran.exit > 1 {
            // Admission refuses some, such as a version that is none.
            refused += 1;
            continue;
        }
        let plan: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{name}: {e}: {ran:?}"));
        let group = &plan["Explanation"]["Groups"][0];
        let own = format!("{left} {operator} {right}");
        for reason in group["Filtered"].as_array().into_iter().flatten() {
            let text = reason["Reason"].as_str().unwrap();
            let found = reason["Found"].as_array().cloned().unwrap_or_default();
            if let Some(rest) = text.strip_prefix("distinct_property: ") {
                // The reason itself names the value and its use; nothing else is claimed.
                assert_eq!(found, Vec::<Value>::new(), "{own}: {reason}");
                let (property, count) = rest.rsplit_once(" used by ").unwrap();
                let (_, value_text) = property.split_once('=').unwrap();
                let placed = group["Placements"].as_array().into_iter().flatten();
                let there = placed.filter(|p| {
                    let id = p["NodeID"].as_str();
                    nodes.iter().any(|n| n["ID"].as_str() == id && value(n, left) == Some(value_text))
                });
                let uses: u64 = there.map(|p| p["Count"].as_u64().unwrap()).sum();
                assert_eq!(count, format!("{uses} allocs"), "{own}: {group}");
                used += 1;
                continue;
            }
            if text != own {
                assert_eq!(found, Vec::<Value>::new(), "{own}: {reason}");
                continue;
            }
            let sides: Vec<&str> =
                [left.as_str(), right.as_str()].into_iter().filter(|s| s.starts_with("${")).collect();
            let claim = |node: &Value| -> Option<String> {
                let quoted = |side: &&str| value(node, side).map(|v| format!("{v:?}"));
                match sides.as_slice() {
                    [] => None,
                    [one] => Some(quoted(one).unwrap_or_else(|| "unset".into())),
                    both => {
                        let values: Vec<Option<String>> = both.iter().map(quoted).collect();
                        let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "nothing".into());
                        if values.iter().all(Option::is_none) {
                            return Some("unset".into());
                        }
                        Some(values.iter().map(text).collect::<Vec<_>>().join(" and "))
                    }
                }
            };
            let shown: u64 = found.iter().map(|f| f["Nodes"].as_u64().unwrap()).sum();
            for f in &found {
                let (claimed, n) = (f["Value"].as_str().unwrap(), f["Nodes"].as_u64().unwrap());
                let with: Vec<&Value> = nodes.iter().filter(|n| claim(n).as_deref() == Some(claimed)).collect();
                assert!(n >= 1 && n <= with.len() as u64, "{own}: {claimed} on {n} nodes: {reason}");
                (claims, unset) = (claims + 1, unset + usize::from(claimed == "unset"));
            }
            let want = if sides.is_empty() { 0 } else { reason["Nodes"].as_u64().unwrap() };
            // Three values are named at most.
            assert!(shown == want || (found.len() == 3 && shown < want), "{own}: {reason}");
            // The story of one node says the same about it.
            let example = reason["Examples"][0].as_str().unwrap();
            let of = format!("-explain={example}");
            let ran = run_in(folder.path(), &["job", "plan", "-snapshot=cluster.json", "-json-output", &of, name]);
            let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
            let verdict = plan["Explanation"]["Node"]["Groups"][0]["Verdict"][0].as_str().unwrap().to_string();
            let node = nodes.iter().find(|n| n["Name"] == example).unwrap();
            let has = match claim(node).as_deref() {
                None => String::new(),
                Some("unset") => "; the node does not have it".into(),
                Some(text) => format!("; the node has {text}"),
            };
            assert_eq!(verdict, format!("filtered: {own}{has}"));
        }
    }
    println!("{} constraints, {refused} refused; {claims} claims, {unset} unset, {used} uses", constraints.len());
    assert!(constraints.len() > 150 && claims > 100 && unset > 20 && used > 3, "{claims} {unset} {used} {refused}");
}
