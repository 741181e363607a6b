//! `system gc` with `-dry-run` and `-wait`, and `gc explain`, as operators run them: on snapshot files, on backups of
//! servers, and with servers that answer from a script.

use serde_json::{Value, json};

use crate::cluster::{Cluster, serve};
use crate::oracle;
use crate::program::{Folder, Ran, run_in, run_with};
use crate::server::{Response, Server};

const ALLOC: &str = "a1000000-0000-4000-8000-000000000001";
const OTHER: &str = "a2000000-0000-4000-8000-000000000002";
const NODE: &str = "c0000000-0000-4000-8000-000000000003";
/// 2026-11-20T12:00:00Z.
const CHANGED: i64 = 1_795_176_000_000_000_000;

/// A stopped service job with an allocation that has ended and one whose node has not reported its end.
fn snapshot() -> String {
    let alloc = |id: &str, client: &str| {
        json!({
            "ID": id, "Namespace": "default", "JobID": "web", "TaskGroup": "g", "NodeID": NODE, "ClientStatus": client,
            "DesiredStatus": "stop", "ModifyTime": CHANGED, "CreateIndex": 5, "JobVersion": 0,
        })
    };
    let job = json!({
        "ID": "web", "Namespace": "default", "Type": "service", "Status": "dead", "Stop": true, "Version": 0,
        "SubmitTime": CHANGED, "TaskGroups": [{"Name": "g"}],
    });
    let node = json!({"ID": NODE, "Name": "n", "Status": "down", "StatusUpdatedAt": CHANGED / 1_000_000_000});
    json!({
        "Version": 2, "Index": 9, "TakenAt": "2026-11-20T13:00:00Z", "Nodes": [node], "Jobs": [job],
        "Allocations": [alloc(ALLOC, "complete"), alloc(OTHER, "running")],
    })
    .to_string()
}

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("cluster.json", snapshot());
    folder
}

fn run(folder: &Folder, args: &[&str]) -> Ran {
    run_in(folder.path(), args)
}

fn parsed(ran: &Ran) -> Value {
    assert_eq!(ran.exit, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stdout))
}

/// The figures of a kind.
fn kind<'a>(plan: &'a Value, name: &str) -> &'a Value {
    plan["Kinds"].as_array().expect("kinds").iter().find(|k| k["Kind"] == name).expect("all kinds")
}

fn count(list: &Value) -> u64 {
    list.as_array().expect("a list").iter().map(|row| row["Count"].as_u64().expect("a count")).sum()
}

#[test]
fn a_dry_run_on_a_snapshot_names_what_it_cannot_see() {
    let folder = folder("gc-dry-run");
    let ran = run(&folder, &["system", "gc", "-dry-run", "-snapshot", "cluster.json", "-at", "2026-11-20T13:00:00Z"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    assert!(ran.stderr.contains("Evaluations are not visible in this source"), "{ran:?}");
    for text in [
        "Run    = system gc: objects may have any age",
        "Would be deleted",
        "terminal, and not needed for rescheduling",
        "stopped by the servers, but its node still runs it",
        "down, and all its allocations are terminal",
        "an allocation of the job is kept",
        "Not visible in this source: evaluations, one-time tokens, local tokens, global tokens, root keys",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    // With the thresholds of the configuration, everything is too young before one hour.
    let dry = |args: &[&str]| {
        let flags = ["system", "gc", "-dry-run", "-json", "-periodic", "-snapshot=cluster.json"];
        parsed(&run(&folder, &[&flags, args].concat()))
    };
    let early = dry(&["-at=2026-11-20T12:59:59.999999999Z"]);
    let late = dry(&["-at=2026-11-20T13:00:00Z", "-verbose"]);
    assert_eq!(
        (count(&kind(&early, "allocation")["Collected"]), count(&kind(&late, "allocation")["Collected"])),
        (0, 1)
    );
    assert_eq!(kind(&early, "allocation")["Kept"][0]["Next"], "2026-11-20T13:00:00Z");
    let hidden = kind(&late, "evaluation");
    assert_eq!((&hidden["Visible"], &hidden["Collected"], &hidden["Kept"]), (&json!(false), &json!([]), &json!([])));
    assert_eq!(late["Objects"].as_array().map(Vec::len), Some(4));
    let verbose = run(&folder, &["system", "gc", "-dry-run", "-verbose", "-snapshot=cluster.json"]);
    assert!(verbose.stdout.contains(OTHER) && verbose.stdout.contains("Objects"), "{}", verbose.stdout);
}

#[test]
fn an_object_of_a_snapshot_is_explained() {
    let folder = folder("gc-explain");
    let explain = |args: &[&str]| run(&folder, &[&["gc", "explain", "-snapshot=cluster.json"], args].concat());
    let ran = explain(&["-at=2026-11-20T12:24:00Z", "a100"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
    for text in [
        &format!("Object     = allocation {ALLOC}") as &str,
        "Job        = web@default",
        "State      = complete, desired stop",
        "Decision   = kept until 2026-11-20T13:00:00Z (in 36m0s), then deleted by eval-gc (every 5m0s)",
        "Decided By = eval_gc_threshold (1h0m0s) after ModifyTime 2026-11-20T12:00:00Z",
        "system gc  = would delete it now",
        "What to do\nNothing: it is deleted when it is old enough. encamp system gc deletes it at once.",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    let ran = explain(&["-at=2026-11-21T12:00:00Z", "web"]);
    for text in [
        "job web@default",
        "What keeps it",
        OTHER,
        "stopped by the servers, but its node still runs it",
        "alloc status a2000000",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {}", ran.stdout);
    }
    let e = parsed(&explain(&["-json", "-at=2026-11-20T13:00:00Z", ALLOC]));
    assert_eq!(
        (&e["Chain"][0]["Collect"], &e["Run"], &e["SchemaVersion"]),
        (&json!(true), &json!("eval-gc"), &json!(1))
    );
    let ran = explain(&["c000"]);
    assert!(ran.stdout.contains("node_gc_threshold") || ran.stdout.contains("allocation of the node"), "{ran:?}");
}

#[test]
fn wrong_arguments_are_explained() {
    let folder = folder("gc-wrong");
    for (args, text, exit) in [
        (&["gc", "explain"][..], "This command takes one argument: <id>", 1),
        (&["gc", "explain", "-snapshot=cluster.json", "a"], "Identifier must contain at least two characters.", 1),
        (&["gc", "explain", "-snapshot=cluster.json", "ffff"], "No object with prefix or ID \"ffff\" found in", 1),
        (&["gc", "explain", "-snapshot=none.json", "ffff"], "Error reading snapshot: ", 1),
        (&["gc", "explain", "-at=noon", "web"], "Invalid value \"noon\" for -at: it has to be a time in RFC 3339", 1),
        (&["gc", "explain", "-in=x", "web"], "Invalid value \"x\" for -in: time: invalid duration", 1),
        (&["system", "gc", "-periodic"], "-periodic can only be used together with -dry-run", 1),
        (&["system", "gc", "-snapshot=cluster.json"], "-snapshot can only be used together with -dry-run", 1),
        (&["system", "gc", "-in=1h"], "-at and -in can only be used together with -dry-run", 1),
        (&["system", "gc", "-json"], "-json can only be used together with -dry-run or -wait", 1),
        (&["system", "gc", "-wait", "-dry-run"], "-wait and -dry-run exclude each other", 1),
        (&["system", "gc", "-dry-run", "-in=1h", "-at=2026-11-20T13:00:00Z"], "-at and -in exclude each other", 1),
    ] {
        let ran = run(&folder, args);
        assert!(ran.stderr.contains(text) && ran.exit == exit, "{args:?}: {ran:?}");
    }
    // "a" matches two allocations.
    folder.file("cluster.json", snapshot().replace("a2000000", "a1000000"));
    let ran = run(&folder, &["gc", "explain", "-snapshot=cluster.json", "a100"]);
    assert!(ran.stderr.contains("Prefix matched multiple objects") && ran.stderr.contains("Kind"), "{ran:?}");
}

fn backup(name: &str) -> Option<String> {
    Some(oracle::file(&format!("archive/{name}.snap"))?.to_str()?.to_string())
}

#[test]
fn every_object_of_a_backup_is_decided_once() {
    let folder = Folder::new("gc-backup");
    let modes = [&["-periodic"][..], &[], &["-in=100000h"]];
    for (name, modes) in [("dev-acl", &modes[..]), ("fleet", &modes[..1])] {
        let (Some(file), Some(all)) = (backup(name), oracle::json(&format!("archive/{name}.expected.json"))) else {
            return;
        };
        for mode in modes {
            let flags = ["system", "gc", "-dry-run", "-json", "-snapshot", &file];
            let plan = parsed(&run(&folder, &[&flags, *mode].concat()));
            for (kind_name, list) in [
                ("evaluation", "Evaluations"),
                ("allocation", "Allocations"),
                ("job", "Jobs"),
                ("deployment", "Deployments"),
                ("node", "Nodes"),
            ] {
                let Some(objects) = all[list].as_array() else { continue };
                let figures = kind(&plan, kind_name);
                let decided = count(&figures["Collected"]) + count(&figures["Kept"]);
                assert_eq!(decided, objects.len() as u64, "{name}, {mode:?}: {kind_name}");
                assert_eq!(figures["Visible"], json!(true));
            }
            assert_eq!(kind(&plan, "one-time-token")["Visible"], json!(false));
            assert_eq!(kind(&plan, "root-key")["Visible"], json!(true));
        }
    }
}

#[test]
fn objects_of_a_backup_are_explained() {
    let (Some(file), Some(all)) = (backup("dev-acl"), oracle::json("archive/dev-acl.expected.json")) else { return };
    let folder = Folder::new("gc-backup-explain");
    for (list, name) in [
        ("Evaluations", "ID"),
        ("Allocations", "ID"),
        ("Nodes", "ID"),
        ("Deployments", "ID"),
        ("ACLTokens", "AccessorID"),
    ] {
        for object in all[list].as_array().into_iter().flatten().take(5) {
            let id = object[name].as_str().expect("an ID");
            let ran = run(&folder, &["gc", "explain", "-snapshot", &file, id]);
            assert!(
                ran.exit == 0 && ran.stdout.contains(id) && ran.stdout.contains("What to do"),
                "{list} {id}: {ran:?}"
            );
            assert!(ran.stderr.contains("Thresholds are the defaults"), "{ran:?}");
        }
    }
}

/// Servers that do not know the requests show their state by lists.
#[test]
fn other_servers_are_read_through_their_lists() {
    let (Some(cluster), Some(all)) = (Cluster::recorded("dev-acl"), oracle::json("archive/dev-acl.expected.json"))
    else {
        return;
    };
    let (server, cluster) = serve(cluster);
    let own = json!({"config": {"Server": {"EvalGCThreshold": "2h", "NodeGCThreshold": ""}}});
    cluster.lock().expect("no test has failed").failures = vec![
        ("/v1/system/gc/".into(), Response::text(404, "not found")),
        ("/v1/evaluations".into(), Response::json(&all["Evaluations"])),
        ("/v1/acl/tokens".into(), Response::text(403, "Permission denied")),
        ("/v1/agent/self".into(), Response::json(&own)),
    ];
    let folder = Folder::new("gc-lists");
    let cache = folder.path().join("cache").display().to_string();
    let env = [("NOMAD_ADDR", server.address.as_str()), ("ENCAMP_CACHE_DIR", cache.as_str())];
    let plan = parsed(&run_with(folder.path(), &["system", "gc", "-dry-run", "-periodic", "-json"], &env, None));
    let evals = kind(&plan, "evaluation");
    let decided = count(&evals["Collected"]) + count(&evals["Kept"]);
    assert_eq!(decided, all["Evaluations"].as_array().map_or(0, Vec::len) as u64);
    for hidden in ["one-time-token", "local-token", "root-key"] {
        assert_eq!(kind(&plan, hidden)["Visible"], json!(false), "{hidden}");
    }
    let threshold = |name: &str| {
        let found = plan["Thresholds"].as_array().expect("thresholds").iter().find(|t| t["Setting"] == name);
        found.map(|t| t["Threshold"].as_i64().expect("nanoseconds") / 3_600_000_000_000)
    };
    assert_eq!((threshold("eval_gc_threshold"), threshold("node_gc_threshold")), (Some(2), Some(24)));
    let id = all["Nodes"][0]["ID"].as_str().expect("an ID");
    let ran = run_with(folder.path(), &["gc", "explain", id], &env, None);
    assert!(ran.exit == 0 && ran.stdout.contains("the node is not down"), "{ran:?}");
}

#[test]
fn a_forced_run_is_followed() {
    let report = json!({"Collected": [{"Kind": "evaluation", "Count": 3}, {"Kind": "job", "Count": 0}]});
    let folder = Folder::new("gc-wait");
    let with = |response: Response, args: &[&str]| {
        let server = Server::start(move |_| response.clone());
        let env = [("NOMAD_ADDR", server.address.as_str())];
        let ran = run_with(folder.path(), &[&["system", "gc"], args].concat(), &env, None);
        let line = |r: &crate::server::Request| format!("{} {}", r.line(), r.param("wait").unwrap_or("-"));
        let lines: Vec<String> = server.take().iter().map(line).collect();
        (ran, lines)
    };
    let (ran, lines) = with(Response::json(&report), &["-wait", "-wait-timeout=90s"]);
    assert_eq!(
        (ran.stdout.as_str(), ran.exit),
        ("Kind         Deleted\nevaluations  3\njobs         0\n", 0),
        "{ran:?}"
    );
    assert_eq!(lines, ["PUT /v1/system/gc 1m30s"]);
    let (ran, _) = with(Response::json(&report), &["-wait", "-json"]);
    assert_eq!(parsed(&ran)["Collected"], report["Collected"]);
    let (ran, _) = with(Response::text(200, ""), &["-wait"]);
    assert!(ran.exit == 1 && ran.stderr.contains("these servers do not report its end"), "{ran:?}");
    let (ran, _) = with(Response::text(403, "Permission denied"), &["-wait"]);
    let want = "Error running system garbage-collection: Unexpected response code: 403 (Permission denied)\n";
    assert_eq!((ran.stderr.as_str(), ran.exit), (want, 1));
    // Without flags, as before: nothing is said.
    let (ran, lines) = with(Response::text(200, ""), &[]);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str(), ran.exit), ("", "", 0));
    assert_eq!(lines, ["PUT /v1/system/gc -"]);
}
