//! `what-if`, and the changes of `job plan`, by starting the program on the demo cluster.

use std::path::{Path, PathBuf};

use crate::docs;
use crate::program::{Ran, run_in};
use encamp_model::JobType;
use serde_json::{Value, json};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo")
}

fn run(command: &[&str], flags: &[&str]) -> Ran {
    let args: Vec<&str> = command.iter().chain(&["-snapshot", "cluster.json"]).chain(flags).copied().collect();
    run_in(&fixture(), &args)
}

fn what_if(flags: &[&str]) -> Ran {
    run(&["what-if"], flags)
}

fn answer(flags: &[&str]) -> Value {
    let ran = what_if(&[&["-json"], flags].concat());
    assert_eq!(ran.stderr, "", "{flags:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{flags:?}: {e}\n{}", ran.stdout))
}

fn snapshot() -> Value {
    serde_json::from_slice(&std::fs::read(fixture().join("cluster.json")).unwrap()).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("no list {name} in {value}"))
}

/// Drains every node in turn: its allocations are moved or unplaced, batch allocations end, system allocations stop.
#[test]
fn a_drain_of_each_node_conserves_allocations() {
    let cluster = snapshot();
    let mut moved = 0;
    for node in list(&cluster, "Nodes") {
        let (id, name) = (&node["ID"], node["Name"].as_str().unwrap());
        let there: Vec<&Value> = list(&cluster, "Allocations").iter().filter(|a| a["NodeID"] == *id).collect();
        let got = answer(&["-drain", name]);
        let drained: Vec<&Value> = list(&got, "Displaced").iter().filter(|d| d["Cause"] == "drained").collect();
        let ids = |of: &[&Value], id: &dyn Fn(&Value) -> String| {
            let mut ids: Vec<String> = of.iter().map(|v| id(v)).collect();
            ids.sort();
            ids
        };
        let text = |v: &Value| v.as_str().unwrap().to_string();
        let (was, left) = (ids(&there, &|a| text(&a["ID"])), ids(&drained, &|d| text(&d["From"]["AllocID"])));
        assert_eq!(was, left, "{name}");
        let mut targets = Vec::new();
        for d in &drained {
            let fate = d["Fate"].as_str().unwrap();
            match JobType::from(d["JobType"].as_str().unwrap()) {
                JobType::Service => assert!(matches!(fate, "moved" | "unplaced"), "{d}"),
                JobType::Batch | JobType::System => assert_eq!(fate, "stopped", "{d}"),
                other => panic!("{other}"),
            }
            assert_eq!(fate == "moved", !d["To"].is_null(), "{d}");
            assert_ne!(d["To"]["NodeID"], *id, "nothing moves to the node that drains");
            targets.extend(d["To"]["AllocID"].as_str().map(String::from));
        }
        moved += targets.len();
        targets.sort();
        targets.dedup();
        let fates = &got["Fates"];
        let count = |name: &str| fates[name].as_u64().unwrap() as usize;
        assert_eq!(count("Moved"), targets.len(), "each has a successor of its own");
        assert_eq!(count("Moved") + count("Unplaced") + count("Stopped"), there.len(), "{name}: {fates}");
    }
    assert!(moved >= 7, "the services of the demo cluster move: {moved}");
}

#[test]
fn a_drain_is_shown_as_text() {
    let ran = what_if(&["-drain", "dc1-general-01"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    assert!(
        ran.stdout.starts_with("No allocation would be unplaced.\n3 allocations are displaced: "),
        "{}",
        ran.stdout
    );
    for part in [
        "\n\nWhat if:\n- drain node \"dc1-general-01\" (00000001)\n\nDatacenter ",
        "\nAllocations\nAlloc ID ",
        "exporter",
        "  9 -> 8  ",
    ] {
        assert!(ran.stdout.contains(part), "{part:?}: {}", ran.stdout);
    }
    assert!(!ran.stdout.contains("\nJobs\n"), "the allocations are listed: {}", ran.stdout);
    let all = what_if(&["-drain", "dc1-general-01", "-all"]).stdout;
    for part in ["\nJobs\nJob ", "\nFree capacity of ready nodes\nPool ", "81.7 -> 71.8 GHz"] {
        assert!(all.contains(part), "{part:?}: {all}");
    }
    assert_eq!(what_if(&["-drain", "dc1-general-01"]).stdout, ran.stdout, "the same again");
}

#[test]
fn unplaced_allocations_are_shown_with_their_reason() {
    let ran = what_if(&["-scale", "web/front=12"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 1), "{}", ran.stdout);
    let want = "\nUnplaced\nJob \"web\", group \"front\" (3 allocations):\n";
    assert!(ran.stdout.contains(want), "{}", ran.stdout);
    assert!(ran.stdout.contains("network: reserved port collision http=8080"), "{}", ran.stdout);
}

#[test]
fn changes_combine() {
    // A datacenter goes; new nodes and a stopped job make up for it.
    let lost = answer(&["-down", "dc=dc2"]);
    let without: usize = list(&lost, "Unplaced").iter().map(|u| u["Count"].as_u64().unwrap() as usize).sum();
    assert!(without > 0, "the batch job may only run in dc2: {lost}");
    assert!(list(&lost, "Unplaced").iter().all(|u| u["JobID"] == "report" && u["Waited"] == false));
    let saved = answer(&["-down", "dc=dc2", "-add", "3:like=dc2-general-06"]);
    assert_eq!(saved["Unplaced"], json!([]), "the new nodes take it");
    assert_eq!(list(&saved, "Changes").len(), 2);
    let to_new = |d: &&Value| d["To"]["NodeName"].as_str().is_some_and(|n| n.starts_with("dc2-general-06-new-"));
    assert!(list(&saved, "Displaced").iter().filter(to_new).count() >= without);
    let stopped = answer(&["-stop", "api", "-stop=web", "-config", "scheduler_algorithm=spread"]);
    assert_eq!(stopped["Fates"], json!({"Moved": 0, "Unplaced": 0, "Stopped": 7, "Stays": 0}));
}

#[test]
fn mistakes_name_what_is_not_there_and_what_is_near() {
    for (flags, want) in [
        (
            &["-drain", "dc1-general-1"][..],
            "-drain \"dc1-general-1\": no node has this ID or name; did you mean \"dc1-general-01\"?\n",
        ),
        (&["-down", "dc=dc9"], "-down \"dc=dc9\": no node has datacenter \"dc9\"; did you mean \"dc1\"?\n"),
        (&["-down", "class=arm"], "-down \"class=arm\": no node has node class \"arm\"; there are general, gpu\n"),
        (&["-drain", "0000000"], "-drain \"0000000\": 12 nodes match; give the ID of one: "),
        (
            &["-scale", "apo/server=2"],
            "-scale \"apo/server=2\": no job in namespace \"default\" has this ID; did you mean \"api\"?\n",
        ),
        (&["-scale", "api/web=2"], "-scale \"api/web=2\": job \"api\" has no group \"web\"; there are server\n"),
        (
            &["-scale", "exporter/node=2"],
            "-scale \"exporter/node=2\": jobs of type \"system\" can only be scaled between 0 and 1\n",
        ),
        (&["-config", "x=1"], "-config \"x=1\": there is no such setting"),
        (&["-add", "x"], "-add \"x\": write it as N:like=NODE, for example 3:like=worker-1\n"),
    ] {
        let ran = what_if(flags);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{flags:?}");
        assert!(ran.stderr.starts_with(want), "{flags:?}: {}", ran.stderr);
    }
    assert!(what_if(&[]).stderr.starts_with("No changes given: use at least one of -drain"));
    assert!(what_if(&["-stop", "api", "x"]).stderr.starts_with("This command takes no arguments"));
}

#[test]
fn a_job_is_planned_on_the_changed_cluster() {
    let plain = run(&["job", "plan"], &["trainer-fails.hcl"]);
    assert!(plain.stdout.contains("failed to place 2 allocations"));
    let roomy = run(&["job", "plan"], &["-add", "2:like=dc1-gpu-10", "trainer-fails.hcl"]);
    assert_eq!(roomy.stderr, "");
    assert!(roomy.stdout.starts_with("What if:\n- add 2 like node \"dc1-gpu-10\" (0000000a)\n"), "{}", roomy.stdout);
    assert!(roomy.stdout.contains("- All tasks successfully allocated."), "{}", roomy.stdout);
    assert!(roomy.stdout.contains("+ Job: \"trainer\""));
    let flags = ["-drain", "dc1-general-01", "-markdown", "trainer-fails.hcl"];
    let warned = run(&["job", "plan"], &flags).stderr;
    assert!(
        warned.starts_with("What if: drain node \"dc1-general-01\" (00000001). 3 allocations are displaced"),
        "{warned}"
    );
    let ran = run(&["job", "plan"], &["-remote", "-drain", "x", "trainer-fails.hcl"]);
    assert_eq!(ran.exit, 255, "{}", ran.stderr);
}

/// What programs read tells by itself what was assumed; without changes nothing is added.
#[test]
fn assumed_changes_are_part_of_what_programs_read() {
    let changes = ["-drain=dc1-general-01", "-scale=web/front=12"];
    let outcome = answer(&changes);
    let plan = |flags: &[&str], paths: &[&str]| run(&["job", "plan"], &[flags, paths].concat());
    let value = |ran: &Ran| -> Value { serde_json::from_str(&ran.stdout).unwrap() };
    let with = |output: &[&'static str], paths: &[&str]| plan(&[&changes[..], output].concat(), paths);
    let (one, several) = (["trainer-fails.hcl"], ["trainer-fails.hcl", "exporter-system.hcl"]);

    let planned = value(&with(&["-json-output"], &one));
    assert_eq!(planned["WhatIf"], outcome);
    let all = value(&with(&["-json-output"], &several));
    assert_eq!(all["WhatIf"], outcome);
    assert!(list(&all, "Plans").iter().all(|p| p["Plan"].get("WhatIf").is_none()), "the change is shown once");

    let template = "{{range .WhatIf.Changes}}{{.}}; {{end}}{{.WhatIf.Fates.Moved}} moved, {{.JobModifyIndex}}";
    let want = "drain node \"dc1-general-01\" (00000001)";
    let filled = with(&["-t", template], &one).stdout;
    let (shown, moved) = (texts(list(&outcome, "Changes")).join("; "), &outcome["Fates"]["Moved"]);
    assert_eq!(filled, format!("{shown}; {moved} moved, 0\n"));
    assert!(filled.contains(want), "{filled}");

    let lines = |ran: Ran| ran.stdout.lines().map(String::from).collect::<Vec<_>>();
    for (comment, heading) in [
        (lines(with(&["-markdown"], &one)), "### Plan of job `trainer` (new job)"),
        (lines(with(&["-markdown"], &several)), "## Plan of 2 jobs"),
    ] {
        assert_eq!((comment[0].as_str(), comment[1].as_str(), comment[3].as_str()), (heading, "", ""));
        let shown: Vec<&String> = comment.iter().filter(|l| l.contains("What if")).collect();
        assert_eq!(shown, [&comment[2]]);
        assert!(shown[0].starts_with(":warning: **What if:** `"), "{shown:?}");
        assert!(shown[0].contains(&format!("`{want}`")), "{shown:?}");
        assert!(shown[0].contains(" Unplaced: ") && shown[0].contains("of group `front` of job `web`"), "{shown:?}");
    }

    let plain = plan(&["-json-output"], &one);
    let members: Vec<String> = value(&plain).as_object().unwrap().keys().cloned().collect();
    let response =
        ["Annotations", "CreatedEvals", "Diff", "FailedTGAllocs", "JobModifyIndex", "NextPeriodicLaunch", "Warnings"];
    assert_eq!(members, response);
    assert!(!plan(&["-markdown"], &one).stdout.contains("What if"));
    let absent = plan(&["-t", "{{.WhatIf}}"], &one);
    assert_eq!((absent.stdout.as_str(), absent.exit), ("", 255), "{}", absent.stderr);
}

fn texts(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(Value::as_str).collect()
}

#[test]
fn the_documentation_shows_real_output() {
    docs::shows_what_is_printed("what-if.md", docs::folder_of_guide("what-if-guide").path(), 3);
}

#[test]
fn capacity_counts_copies_and_names_what_runs_out() {
    let ran = run(&["capacity"], &["registered/api.hcl"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    assert!(ran.stdout.starts_with("Job \"api\", group \"server\": "), "{}", ran.stdout);
    let answer = |flags: &[&str]| -> Value {
        let ran = run(&["capacity", "-json-output"], flags);
        assert_eq!(ran.stderr, "", "{flags:?}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let now = answer(&["registered/api.hcl"]);
    let group = &now["Groups"][0];
    assert_eq!((&now["SchemaVersion"], &group["Running"], &group["Survival"]), (&json!(1), &json!(4), &Value::Null));
    let copies = group["Copies"].as_i64().unwrap();
    assert_eq!(list(group, "Nodes").iter().map(|n| n["Copies"].as_i64().unwrap()).sum::<i64>(), copies);
    assert_eq!(list(group, "RunsOut")[0]["Dimension"], "memory");
    // The plan of a count agrees: so many more, and no more.
    let scaled = |more: i64| what_if(&[&format!("-scale=api/server={}", 4 + more)]).exit;
    assert_eq!((scaled(copies), scaled(copies + 1)), (0, 1));

    let ran = run(&["capacity"], &["-survive", "1", "node", "registered/api.hcl"]);
    assert!(ran.stdout.contains("After the worst loss, of node "), "{}{}", ran.stdout, ran.stderr);
    let node = answer(&["-survive=node", "registered/api.hcl"]);
    let dc = answer(&["-survive", "1 dc", "registered/api.hcl"]);
    let left = |v: &Value| v["Groups"][0]["Survival"]["Copies"].as_i64().unwrap();
    assert!(left(&dc) < left(&node) && left(&node) < copies, "{dc} {node}");
    assert_eq!(dc["Groups"][0]["Survival"]["Of"], 2);

    // Changes come first; a job that fits nowhere has exit code 1; a system job has room where it does not run.
    let more = answer(&["-add", "1:like=dc1-general-01", "registered/api.hcl"]);
    assert!(more["Groups"][0]["Copies"].as_i64().unwrap() > copies);
    let exporter = run(&["capacity"], &["registered/exporter.hcl"]);
    assert_eq!(exporter.exit, 1, "it runs on all nodes: {}", exporter.stdout);
    let more =
        answer(&["-add", "2:like=dc1-general-01", "-config", "scheduler_algorithm=binpack", "registered/exporter.hcl"]);
    assert_eq!(more["Groups"][0]["Copies"], 0, "the new nodes get the system job at once");
}

#[test]
fn capacity_says_how_it_is_used() {
    for (flags, want) in [
        (&[][..], "This command takes one argument: <path>"),
        (&["-survive", "2", "node", "registered/api.hcl"], "-survive supports the loss of one at a time"),
        (&["-survive", "rack", "registered/api.hcl"], "-survive must be 1 node or 1 dc"),
        (&["-group", "x", "registered/api.hcl"], "The job has no group \"x\"; its groups are: server"),
        (&["-drain", "x", "registered/api.hcl"], "-drain \"x\": no node has this ID or name"),
    ] {
        let ran = run(&["capacity"], flags);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 255), "{flags:?}");
        assert!(ran.stderr.contains(want), "{flags:?}: {}", ran.stderr);
    }
}
