//! Garbage collection of a running agent: what a dry run says is what the run deletes, what keeps an object is
//! explained, and a caller that waits hears of everything that prevents a run.

use std::time::Duration;

use serde_json::{Value, json};

use crate::agent::{Agent, bootstrap, call_as, wait_for};
use crate::program::{Folder, Ran, run_for};

fn run(agent: &Agent, args: &[&str]) -> Ran {
    run_for(Duration::from_secs(60), &std::env::temp_dir(), args, &[("NOMAD_ADDR", &agent.address())], "")
}

fn parsed(ran: &Ran) -> Value {
    assert_eq!(ran.exit, 0, "{ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stdout))
}

/// Counts by kind, of a report or of what a plan deletes.
fn counts(value: &Value) -> Vec<(String, u64)> {
    let (rows, planned) = match value["Kinds"].as_array() {
        Some(kinds) => (kinds, true),
        None => (value["Collected"].as_array().expect("a report"), false),
    };
    let count = |row: &Value| {
        let list = row["Collected"].as_array().into_iter().flatten();
        if planned { list.filter_map(|c| c["Count"].as_u64()).sum() } else { row["Count"].as_u64().expect("a count") }
    };
    rows.iter().map(|row| (row["Kind"].as_str().expect("a kind").to_string(), count(row))).collect()
}

fn of(counts: &[(String, u64)], kind: &str) -> u64 {
    counts.iter().find(|(name, _)| name == kind).map(|(_, n)| *n).expect("all kinds")
}

fn job(id: &str, kind: &str, command: &str, args: &[&str]) -> Value {
    json!({"Job": {
        "ID": id, "Name": id, "Type": kind, "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{
            "Name": "t", "Driver": "raw_exec", "Config": {"command": command, "args": args},
            "Resources": {"CPU": 10, "MemoryMB": 10},
        }]}],
    }})
}

/// The allocation of a job, once it has a client status.
fn allocation(agent: &Agent, job: &str, status: &str) -> String {
    let mut id = String::new();
    wait_for("the allocation", || {
        let allocs = agent.list(&format!("/v1/job/{job}/allocations"));
        let found = allocs.iter().find(|a| a["ClientStatus"] == status).ok_or(format!("{allocs:?}"))?;
        id = found["ID"].as_str().expect("an ID").into();
        Ok(())
    });
    id
}

#[test]
fn a_run_deletes_what_the_dry_run_says() {
    let folder = Folder::new("gc-agent");
    let agent = Agent::start(&folder, "server {\n eval_gc_threshold = \"30m\"\n}\n", &["-dev"]);
    wait_for("a node", || match agent.list("/v1/nodes").iter().any(|n| n["Status"] == "ready") {
        true => Ok(()),
        false => Err("no node is ready".into()),
    });
    for (id, kind, command, args) in [("once", "batch", "/bin/true", &[][..]), ("web", "batch", "/bin/sleep", &["600"])]
    {
        assert_eq!(agent.send("PUT", "/v1/jobs", &job(id, kind, command, args)).status, 200);
    }
    let (once, web) = (allocation(&agent, "once", "complete"), allocation(&agent, "web", "running"));
    ended(&agent, "once");

    // Nothing is old enough by the configuration, which differs from the defaults.
    let periodic = parsed(&run(&agent, &["system", "gc", "-dry-run", "-periodic", "-json"]));
    assert!(counts(&periodic).iter().all(|(_, n)| *n == 0), "{periodic}");
    let thresholds = periodic["Thresholds"].as_array().expect("thresholds");
    assert!(thresholds.contains(&json!({"Setting": "eval_gc_threshold", "Threshold": 1_800_000_000_000_i64})));
    let later = parsed(&run(&agent, &["system", "gc", "-dry-run", "-periodic", "-json", "-in=5h"]));
    assert_eq!((of(&counts(&later), "job"), of(&counts(&later), "allocation")), (1, 1), "{later}");

    let ran = run(&agent, &["gc", "explain", &once[..8]]);
    for text in [
        "State      = complete, desired run",
        "would delete it now",
        "job_gc_threshold (4h0m0s)",
        "then deleted by job-gc",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let ran = run(&agent, &["gc", "explain", &web]);
    for text in ["the allocation is not terminal", "encamp job stop web", "would keep it"] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    let eval = agent.get(&format!("/v1/allocation/{web}"))["EvalID"].as_str().expect("an ID").to_string();
    let chain = parsed(&run(&agent, &["gc", "explain", "-json", &eval]));
    let reasons: Vec<&str> =
        chain["Chain"].as_array().expect("a chain").iter().filter_map(|step| step["Reason"].as_str()).collect();
    assert_eq!(reasons, ["allocation-of-evaluation", "allocation-not-terminal"]);

    let dry = counts(&parsed(&run(&agent, &["system", "gc", "-dry-run", "-json"])));
    assert_eq!((of(&dry, "job"), of(&dry, "allocation"), of(&dry, "node")), (1, 1, 0), "{dry:?}");
    assert_eq!(agent.list("/v1/jobs").len(), 2, "a dry run deletes nothing");
    let report = counts(&parsed(&run(&agent, &["system", "gc", "-wait", "-json"])));
    assert_eq!(report, dry);
    let jobs = agent.list("/v1/jobs");
    assert_eq!(jobs.iter().map(|j| &j["ID"]).collect::<Vec<_>>(), ["web"]);
    let again = run(&agent, &["system", "gc", "-wait"]);
    let evaluations = again.stdout.lines().find_map(|l| l.strip_prefix("evaluations ")).map(str::trim);
    assert_eq!((again.exit, evaluations), (0, Some("0")), "{again:?}");
    let ran = run(&agent, &["gc", "explain", &once]);
    assert!(ran.exit == 1 && ran.stderr.contains("No object with prefix or ID"), "{ran:?}");

    // Objects that do not run are reported at once.
    assert_eq!(run(&agent, &["operator", "scheduler", "set-config", "-pause-eval-broker=true"]).exit, 0);
    let ran = run(&agent, &["system", "gc", "-wait"]);
    assert!(ran.exit == 1 && ran.stderr.contains("while the evaluation broker is paused"), "{ran:?}");
    let plain = run(&agent, &["system", "gc"]);
    assert_eq!((plain.stdout.as_str(), plain.stderr.as_str(), plain.exit), ("", "", 0));
    assert_eq!(run(&agent, &["operator", "scheduler", "set-config", "-pause-eval-broker=false"]).exit, 0);
    for (path, text) in [
        ("/v1/system/gc?wait=0s", "invalid wait: must be above 0s"),
        ("/v1/system/gc?wait=1", "invalid wait: time: missing unit"),
    ] {
        let reply = agent.send("PUT", path, &Value::Null);
        assert!(reply.status == 400 && reply.body.contains(text), "{path}: {reply:?}");
    }
    for path in ["plan?at=noon", "plan?in=1h&at=2026-11-20T13:00:00Z", "plan?periodic=maybe", "explain"] {
        assert_eq!(agent.send("GET", &format!("/v1/system/gc/{path}"), &Value::Null).status, 400, "{path}");
    }
    // Without the parameter, the answer is empty, as that of other servers.
    let reply = agent.send("PUT", "/v1/system/gc", &Value::Null);
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    assert_eq!(agent.send("POST", "/v1/system/gc", &Value::Null).status, 405);
}

#[test]
fn tokens_are_counted_and_only_managers_may_ask() {
    let folder = Folder::new("gc-acl");
    let agent = Agent::start(&folder, "acl {\n enabled = true\n token_min_expiration_ttl = \"1s\"\n}\n", &["-dev"]);
    let mut root = String::new();
    wait_for("a leader", || {
        let reply = call_as(agent.port, "", "GET", "/v1/status/leader", "", Duration::from_secs(5));
        match reply {
            Ok(reply) if reply.body.len() > 4 => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    root.push_str(&bootstrap(agent.port));
    let send = |token: &str, method: &str, path: &str, body: Value| {
        call_as(agent.port, token, method, path, &body.to_string(), Duration::from_secs(60)).expect("an answer")
    };
    let policy = json!({"Name": "reader", "Rules": "operator {\n policy = \"write\"\n}"});
    assert_eq!(send(&root, "PUT", "/v1/acl/policy/reader", policy).status, 200);
    let body = json!({"Name": "short", "Type": "client", "Policies": ["reader"], "ExpirationTTL": "1s"});
    let short = send(&root, "PUT", "/v1/acl/token", body).json();
    let body = json!({"Name": "operator", "Type": "client", "Policies": ["reader"]});
    let operator = send(&root, "PUT", "/v1/acl/token", body).json()["SecretID"].as_str().expect("a secret").to_string();
    for (method, path) in
        [("GET", "/v1/system/gc/plan"), ("GET", "/v1/system/gc/explain?id=ab"), ("PUT", "/v1/system/gc?wait=5s")]
    {
        for token in ["", operator.as_str()] {
            assert_eq!(send(token, method, path, Value::Null).status, 403, "{method} {path}");
        }
    }
    let accessor = short["AccessorID"].as_str().expect("an accessor");
    wait_for("the token expires", || {
        let explained = send(&root, "GET", &format!("/v1/system/gc/explain?id={accessor}"), Value::Null).json();
        match explained["Explanation"]["Forced"]["Collect"].as_bool() {
            Some(true) => Ok(()),
            _ => Err(explained.to_string()),
        }
    });
    let explained = send(&root, "GET", &format!("/v1/system/gc/explain?id={accessor}"), Value::Null);
    assert!(!explained.body.contains(short["SecretID"].as_str().expect("a secret")), "no secrets");
    let report = send(&root, "PUT", "/v1/system/gc?wait=60s", Value::Null).json();
    assert_eq!(of(&counts(&report), "local-token"), 1, "{report}");
    assert_eq!(send(&root, "GET", &format!("/v1/acl/token/{accessor}"), Value::Null).status, 404);
}

#[test]
fn an_agent_without_workers_says_so() {
    let folder = Folder::new("gc-no-workers");
    let agent = Agent::start(&folder, "server {\n num_schedulers = 0\n}\n", &["-dev"]);
    wait_for("a leader", || match agent.send("GET", "/v1/vars", &Value::Null).status {
        200 => Ok(()),
        status => Err(format!("status {status}")),
    });
    let ran = run(&agent, &["system", "gc", "-wait"]);
    assert!(ran.exit == 1 && ran.stderr.contains("num_schedulers is 0 on the only server"), "{ran:?}");
    assert_eq!(run(&agent, &["system", "gc", "-dry-run"]).exit, 0, "dry runs need no worker");
}

#[test]
fn a_backup_of_a_server_is_decided_like_the_server() {
    let folder = Folder::new("gc-own-backup");
    let data = folder.path().join("data").display().to_string();
    let config = format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = \"{data}\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n"
    );
    let agent = Agent::start(&folder, &config, &[]);
    wait_for("a leader", || match agent.send("GET", "/v1/vars", &Value::Null).status {
        200 => Ok(()),
        status => Err(format!("status {status}")),
    });
    // No node: the evaluation of the job is blocked, then the stop ends it.
    assert_eq!(agent.send("PUT", "/v1/jobs", &job("web", "service", "/bin/true", &[])).status, 200);
    assert_eq!(agent.send("DELETE", "/v1/job/web", &Value::Null).status, 200);
    ended(&agent, "web");
    let file = folder.path().join("backup.snap").display().to_string();
    assert_eq!(run(&agent, &["operator", "snapshot", "save", &file]).exit, 0);
    let live = counts(&parsed(&run(&agent, &["system", "gc", "-dry-run", "-json", "-in=1m"])));
    let saved = parsed(&run(&agent, &["system", "gc", "-dry-run", "-json", "-in=1m", "-snapshot", &file]));
    assert_eq!((counts(&saved), of(&live, "job")), (live, 1));
    assert!(saved["Kinds"].as_array().expect("kinds").iter().all(|k| k["Visible"] == true));
    let ran = run(&agent, &["gc", "explain", "-snapshot", &file, "web"]);
    assert!(ran.exit == 0 && ran.stdout.contains("job_gc_threshold (4h0m0s)"), "{ran:?}");
    assert!(ran.stderr.contains("The backup was taken at"), "{ran:?}");
}

/// Waits until a job has ended, with all its evaluations.
fn ended(agent: &Agent, job: &str) {
    wait_for("the job ends", || {
        let now = agent.get(&format!("/v1/job/{job}"));
        let evals = agent.list(&format!("/v1/job/{job}/evaluations"));
        let over = evals.iter().all(|e| e["Status"] == "complete" || e["Status"] == "canceled");
        if now["Status"] == "dead" && over { Ok(()) } else { Err(format!("{} {evals:?}", now["Status"])) }
    });
}
