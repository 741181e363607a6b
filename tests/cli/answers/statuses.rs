//! What `job status`, `alloc status` and `what-if` say about single jobs and allocations.

use serde_json::{Value, json};

use crate::agent::{Agent, wait_for};
use crate::answers::root;
use crate::program::{Folder, run_in, run_with};
use crate::server::{Request, Response, Server};

const WINNER: &str = "7902699b-e42c-4a8e-86fb-bb4501726517";
const FIRST: &str = "4e074085-62be-4b8b-a0ce-05c1decfe3ad";
const SECOND: &str = "4b227777-d4dd-4fc6-9c6f-884f48641d02";

const DISPATCHED: &str = "job \"work\" {\n  type = \"batch\"\n  parameterized {\n    meta_required = [\"who\"]\n  }\n  group \"g\" {\n    \
                          task \"t\" {\n      driver = \"raw_exec\"\n      config {\n        command = \"true\"\n      }\n    }\n  }\n}\n";

#[test]
fn a_dispatched_job_is_not_parameterized_and_shows_its_allocations() {
    let folder = Folder::new("dispatched");
    folder.file("work.nomad.hcl", DISPATCHED);
    let agent = Agent::start(&folder, "", &["-dev"]);
    let address = agent.address();
    let run = |args: &[&str]| run_with(folder.path(), args, &[("NOMAD_ADDR", address.as_str())], None);
    assert_eq!(run(&["job", "run", "work.nomad.hcl"]).exit, 0);
    let dispatched = run(&["job", "dispatch", "-detach", "-meta", "who=me", "work"]);
    assert_eq!(dispatched.exit, 0, "{}", dispatched.stderr);
    let line = dispatched.stdout.lines().find(|l| l.starts_with("Dispatched Job ID")).expect("an ID");
    let id = line.rsplit(' ').next().expect("an ID").to_string();
    let path = format!("/v1/job/{}/allocations", id.replace('/', "%2F"));
    let mut alloc = String::new();
    wait_for("the allocation", || {
        let list = agent.list(&path);
        let first = list.first().and_then(|a| a["ID"].as_str()).ok_or("none")?;
        alloc = first.to_string();
        Ok(())
    });
    let status = run(&["job", "status", &id]).stdout;
    for part in ["Parameterized = false\n", "\nSummary\n", "\nAllocations\n", &alloc[..8]] {
        assert!(status.contains(part), "{part}: {status}");
    }
    assert!(!status.contains("Parameterized Job"), "{status}");
    let parent = run(&["job", "status", "work"]).stdout;
    assert!(parent.contains("Parameterized = true\n") && parent.contains(&id), "{parent}");

    // The search for its node took some time, and that was recorded.
    let whole = agent.get(&format!("/v1/allocation/{alloc}"));
    assert!(whole["Metrics"]["AllocationTime"].as_i64() > Some(0), "{}", whole["Metrics"]);
    let shown = run(&["alloc", "status", "-verbose", &alloc]).stdout;
    let line = shown.lines().find(|l| l.starts_with("Allocation Time")).expect("a row");
    assert!(!line.ends_with("= 0s"), "{line}");
}

/// Allocations as they are after a preemption; those that nobody names were collected.
fn preempted(known: &'static [&'static str]) -> Server {
    let victim = |id: &str| {
        json!({"ID": id, "Namespace": "default", "JobID": "reports", "TaskGroup": "render", "DesiredStatus": "evict",
               "PreemptedByAllocation": WINNER})
    };
    let winner = json!({"ID": WINNER, "Namespace": "default", "JobID": "webapp", "TaskGroup": "web", "DesiredStatus": "run",
                        "PreemptedAllocations": [FIRST, SECOND]});
    Server::start(move |r: &Request| {
        let all = || [victim(FIRST), victim(SECOND), winner.clone()].into_iter();
        let begins =
            |a: &Value| a["ID"].as_str().is_some_and(|id| id.starts_with(r.param("prefix").unwrap_or_default()));
        if r.path == "/v1/allocations" {
            return Response::json(&all().filter(begins).collect::<Vec<_>>());
        }
        let found = all().find(|a| known.iter().any(|id| a["ID"] == *id && r.path == format!("/v1/allocation/{id}")));
        found.map_or_else(|| Response::text(404, "not found"), |a| Response::json(&a))
    })
}

#[test]
fn preempting_and_preempted_allocations_name_each_other_with_job_and_group() {
    let server = preempted(&[WINNER, FIRST, SECOND]);
    let run = |args: &[&str]| run_with(&root(), args, &[("NOMAD_ADDR", server.address.as_str())], None).stdout;
    let victim = run(&["alloc", "status", "4e074085"]);
    let row = |text: &str, name: &str| {
        let line = text.lines().find(|l| l.split(" = ").next().map(str::trim_end) == Some(name));
        line.and_then(|l| l.split_once(" = ")).map(|(_, value)| value.to_string())
    };
    assert_eq!(row(&victim, "Preempted By").as_deref(), Some("7902699b (job \"webapp\", group \"web\")"), "{victim}");
    assert_eq!(row(&victim, "Preempted"), None);
    let winner = run(&["alloc", "status", WINNER]);
    let want = "4e074085 (job \"reports\", group \"render\"), 4b227777 (job \"reports\", group \"render\")";
    assert_eq!(row(&winner, "Preempted").as_deref(), Some(want), "{winner}");
    assert_eq!(row(&winner, "Preempted By"), None);
    let whole = run(&["alloc", "status", "-verbose", "4e074085"]);
    assert!(row(&whole, "Preempted By").is_some_and(|v| v.starts_with(WINNER)), "{whole}");
}

#[test]
fn a_collected_allocation_is_named_by_its_id_alone() {
    let server = preempted(&[WINNER, SECOND]);
    let ran = run_with(&root(), &["alloc", "status", WINNER], &[("NOMAD_ADDR", server.address.as_str())], None);
    assert!(ran.stdout.contains("= 4e074085, 4b227777 (job \"reports\", group \"render\")\n"), "{}", ran.stdout);
}

#[test]
fn tables_of_a_what_if_say_what_they_leave_out() {
    let folder = Folder::new("left-out");
    let sim = ["sim", "cluster", "-nodes", "40", "-allocs", "800", "-seed", "3", "-out", "c.json"];
    assert_eq!(run_in(folder.path(), &sim).exit, 0);
    let run = |flags: &[&str]| {
        run_in(folder.path(), &[&["what-if", "-snapshot", "c.json", "-down", "dc=dc1"], flags].concat())
    };
    let json: Value = serde_json::from_str(&run(&["-json"]).stdout).expect("JSON");
    let displaced = json["Displaced"].as_array().expect("a list").len();
    assert!(displaced > 50, "{displaced}");
    let line = format!("\nAllocations\n{displaced} allocations are not listed; use -verbose to list them\n");
    let short = run(&[]).stdout;
    assert!(short.ends_with("\nUse -all to list every job, and -verbose to list every allocation.\n"), "{short}");
    let jobs = run(&["-all"]).stdout;
    assert!(jobs.contains(&line), "{jobs}");
    let whole = run(&["-verbose"]).stdout;
    assert!(!whole.contains("not listed"), "{whole}");
    assert!(whole.lines().count() > displaced);
}

#[test]
fn short_ids_of_the_demo_allocations_differ() {
    let text = std::fs::read_to_string(root().join("fixtures/demo/cluster.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let ids: Vec<&str> = file["Allocations"].as_array().unwrap().iter().filter_map(|a| a["ID"].as_str()).collect();
    let short: std::collections::BTreeSet<&str> = ids.iter().map(|id| &id[..8]).collect();
    assert_eq!((short.len(), ids.len()), (ids.len(), 22));
}
