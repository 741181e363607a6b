//! `node drain -plan`, by starting the program on synthetic clusters and on the demo cluster.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::program::{Folder, Ran, run_in};

fn demo(flags: &[&str]) -> Ran {
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    run_in(&fixture, &[&["node", "drain", "-plan", "-snapshot", "cluster.json"], flags].concat())
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

fn ids(nodes: &[Value]) -> Vec<String> {
    nodes.iter().map(|n| n["ID"].as_str().expect("an ID").to_string()).collect()
}

/// No group has more allocations on the nodes of a batch than its migrate block allows, unless the batch is one node;
/// each node is in one batch or is reported; and what-if agrees that a batch can be drained.
#[test]
fn batches_respect_migrate_blocks_and_everything_is_placed() {
    let folder = Folder::new("drain-plan");
    let mut shared = 0;
    for seed in ["1", "2", "3", "4", "5", "6"] {
        let sim = ["sim", "cluster", "-nodes", "60", "-allocs", "900", "-seed", seed, "-out", "c.json"];
        assert_eq!(run_in(folder.path(), &sim).exit, 0);
        let cluster = parsed(&std::fs::read_to_string(folder.path().join("c.json")).expect("a snapshot"));
        let jobs: BTreeMap<(&str, &str), &Value> = list(&cluster, "Jobs")
            .iter()
            .map(|j| ((j["Namespace"].as_str().expect("a namespace"), j["ID"].as_str().expect("an ID")), j))
            .collect();
        let args = ["node", "drain", "-plan", "-json", "-batch", "4", "-snapshot", "c.json", "dc=dc2"];
        let ran = run_in(folder.path(), &args);
        let plan = parsed(&ran.stdout);
        assert_eq!(ran.exit, i32::from(!list(&plan, "Blocked").is_empty()), "{plan}");
        let batches: Vec<Vec<String>> = list(&plan, "Batches").iter().map(|b| ids(list(b, "Nodes"))).collect();
        let mut seen: Vec<String> = batches.iter().flatten().cloned().chain(ids(list(&plan, "Blocked"))).collect();
        seen.sort();
        let nodes = list(&cluster, "Nodes").iter().filter(|n| n["Datacenter"] == "dc2" && n["Status"] != "down");
        let wanted: BTreeSet<String> = nodes.map(|n| n["ID"].as_str().expect("an ID").to_string()).collect();
        assert_eq!(seen, wanted.into_iter().collect::<Vec<_>>(), "seed {seed}");
        for batch in batches.iter().filter(|b| b.len() > 1) {
            assert!(batch.len() <= 4, "{batch:?}");
            shared += 1;
            let mut away: BTreeMap<(&str, &str, &str), i64> = BTreeMap::new();
            for a in list(&cluster, "Allocations") {
                let on = batch.iter().any(|id| a["NodeID"] == id.as_str());
                let ended = ["complete", "failed", "lost"].iter().any(|s| a["ClientStatus"] == *s);
                let stopped = a["DesiredStatus"] != "run";
                let name = |key: &str| a[key].as_str().expect("a name");
                let key = (name("Namespace"), name("JobID"), name("TaskGroup"));
                if on && !ended && !stopped && jobs.get(&(key.0, key.1)).is_some_and(|j| j["Type"] == "service") {
                    *away.entry(key).or_default() += 1;
                }
            }
            for ((namespace, job, group), n) in away {
                let groups = list(jobs[&(namespace, job)], "TaskGroups");
                let found = groups.iter().find(|g| g["Name"] == group).expect("the group");
                let allowed = found["Migrate"]["MaxParallel"].as_i64().unwrap_or(1).max(1);
                assert!(n <= allowed, "seed {seed}: {n} of {job}.{group}, {allowed} allowed: {batch:?}");
            }
        }
        if let Some(first) = batches.first() {
            let drains: Vec<String> = first.iter().map(|id| format!("-drain={id}")).collect();
            let args: Vec<&str> = ["what-if", "-json", "-snapshot", "c.json"]
                .into_iter()
                .chain(drains.iter().map(String::as_str))
                .collect();
            let outcome = parsed(&run_in(folder.path(), &args).stdout);
            assert!(list(&outcome, "Unplaced").iter().all(|u| u["Waited"] == true), "seed {seed}: {outcome}");
        }
    }
    assert!(shared > 2, "{shared} batches have several nodes");
}

#[test]
fn the_plan_is_shown_as_text_and_as_commands() {
    let shown = demo(&["dc1-general-01", "dc1-general-02", "dc2-general-07"]);
    assert_eq!((shown.stderr.as_str(), shown.exit), ("", 0));
    let first = "3 nodes can be drained, in 2 batches.\n4 allocations are moved, 4 stopped, 0 preempted. ";
    assert!(shown.stdout.starts_with(first), "{}", shown.stdout);
    let commands = demo(&["-commands", "-selector", "node.class=gpu"]);
    let count = |what: &str| commands.stdout.lines().filter(|l| l.starts_with(what)).count();
    let counts = ["node eligibility -disable 0000000", "node drain -enable -yes -detach ", "node drain -monitor "];
    assert_eq!(counts.map(|what| count(&format!("encamp {what}"))), [3, 3, 3], "{}", commands.stdout);
    let safe = demo(&["-survive", "node", "dc1-general-01"]);
    assert!(
        safe.stdout.contains("\nAfterwards, the loss of any one node leaves no allocation unplaced.\n"),
        "{safe:?}"
    );
}

#[test]
fn nodes_that_are_needed_stay() {
    let all = demo(&["class=general"]);
    assert_eq!(all.exit, 1, "{}", all.stdout);
    assert!(all.stdout.contains(" of 9 cannot be drained; the others can, in "), "{}", all.stdout);
    assert!(all.stdout.contains("\nCannot be drained\nNode "), "{}", all.stdout);
    let json = parsed(&demo(&["-json", "class=general"]).stdout);
    let blocked = list(&json, "Blocked");
    assert!(!blocked.is_empty() && blocked.iter().all(|b| !list(b, "Unplaced").is_empty()), "{json}");
    assert_eq!((&json["SchemaVersion"], &json["WorstLoss"]), (&json!(1), &json!(null)));
    let documented = parsed(include_str!("../../docs/reference/drain-plan.schema.json"));
    let named = |v: &Value| v.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(named(&documented["properties"]), named(&json));
    assert_eq!(named(&documented["$defs"]["batch"]["properties"]), named(&list(&json, "Batches")[0]));
}

#[test]
fn mistakes_are_named() {
    for (flags, error) in [
        (&["nosuch"][..], "\"nosuch\": no node has this ID or name"),
        (&["-selector", "rack=1"], "the key must be node.class"),
        (&["-selector", "meta.rack=nosuch"], "No node matches -selector \"meta.rack=nosuch\""),
        (&["-batch", "0", "dc=dc1"], "-batch must be at least 1"),
        (&["-enable", "dc1-general-01"], "-plan drains nothing"),
        (&["-commands", "-json", "dc1-general-01"], "-commands can't be combined with -json"),
        (&["dc1-general-01", "-json"], "Flags must come before the nodes"),
        (&[], "-plan needs nodes or -selector"),
    ] {
        let ran = demo(flags);
        assert!(ran.exit == 1 && ran.stderr.contains(error), "{flags:?}: {ran:?}");
    }
    let ran = run_in(std::path::Path::new("/"), &["node", "drain", "-json", "-enable", "x"]);
    assert!(ran.exit == 1 && ran.stderr.contains(" need -plan"), "{ran:?}");
}
