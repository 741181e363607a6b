//! Bad input and adverse conditions: each causes a clear error, none stops the server, and no acknowledged write is
//! lost (`docs/dev/reliability.md`). Wire-level input is tested in [`requests`] and [`connections`]; this file tests
//! writers with an old index, a second agent, and disk failures.

mod connections;
mod requests;
mod support;

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit};
use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, Reply, call, wait_for};
use crate::program::{Folder, run_in};
use support::*;

/// A service without allocations.
fn job(id: &str, priority: u64) -> Value {
    let task = json!({ "Name": "t", "Driver": "mock_driver", "Config": { "run_for": "1h" } });
    json!({ "ID": id, "Name": id, "Type": "service", "Datacenters": ["*"], "Priority": priority,
            "TaskGroups": [{ "Name": "g", "Count": 0, "Tasks": [task] }] })
}

fn put(port: u16, path: &str, body: &Value) -> Reply {
    call(port, "PUT", path, &body.to_string(), PATIENCE).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Runs the same operation in eight concurrent clients.
fn together(work: impl Fn(u64) -> Reply + Sync) -> Vec<Reply> {
    thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..8).map(|i| scope.spawn(move || work(i))).collect();
        all.into_iter().map(|t| t.join().expect("a client")).collect()
    })
}

#[test]
fn a_stale_index_changes_nothing() {
    let folder = Folder::new("hardship-index");
    let mut agent = Agent::start(&folder, "", &["-dev"]);
    led(&agent);
    let port = agent.port;
    let register = |id: &str, priority: u64, index: u64| {
        let body = json!({ "Job": job(id, priority), "EnforceIndex": true, "JobModifyIndex": index });
        put(port, "/v1/jobs", &body)
    };
    let missing = register("web", 50, 7);
    assert_eq!((missing.status, missing.body.as_str()), (500, "Enforcing job modify index 7: job does not exist"));
    assert_eq!(agent.get("/v1/jobs"), json!([]));
    let first = register("web", 50, 0);
    let index = first.json()["JobModifyIndex"].as_u64().expect("an index");
    assert_eq!(first.status, 200);
    let conflict = format!("job exists with conflicting job modify index: {index}");
    for (asked, text) in [
        (0, "job already exists"),
        (index - 1, conflict.as_str()),
        (index + 1, conflict.as_str()),
        (u64::MAX, conflict.as_str()),
    ] {
        let response = register("web", 60, asked);
        assert_eq!((response.status, response.body), (500, format!("Enforcing job modify index {asked}: {text}")));
    }
    let stored = agent.get("/v1/job/web");
    assert_eq!(
        (&stored["Priority"], &stored["Version"], &stored["JobModifyIndex"]),
        (&json!(50), &json!(0), &json!(index))
    );
    assert_eq!(agent.get("/v1/job/web/versions")["Versions"].as_array().map(Vec::len), Some(1));
    // Of several writers with the same index, one succeeds.
    let response = together(|i| register("web", 60 + i, index));
    let won: Vec<usize> = (0..8).filter(|i| response[*i].status == 200).collect();
    assert!(
        won.len() == 1 && response.iter().all(|r| r.status == 200 || r.body.contains("conflicting")),
        "{response:?}"
    );
    let stored = agent.get("/v1/job/web");
    assert_eq!((&stored["Priority"], &stored["Version"]), (&json!(60 + won[0]), &json!(1)));

    let path = "/v1/operator/scheduler/configuration";
    let modified = || agent.get(path)["SchedulerConfig"]["ModifyIndex"].as_u64().expect("an index");
    let change = |cas: u64| {
        let body = json!({ "SchedulerAlgorithm": "spread", "MemoryOversubscriptionEnabled": true });
        put(port, &format!("{path}?cas={cas}"), &body)
    };
    let before = agent.get(path)["SchedulerConfig"].clone();
    for wrong in [0, modified() - 1, modified() + 1] {
        let response = change(wrong);
        assert_eq!((response.status, &response.json()["Updated"]), (200, &json!(false)), "{response:?}");
    }
    assert_eq!(agent.get(path)["SchedulerConfig"], before);
    let text = agent.send("PUT", &format!("{path}?cas=x"), &json!({ "SchedulerAlgorithm": "spread" }));
    assert!(text.status == 400 && text.body.starts_with("Error parsing cas value: "), "{text:?}");
    let now = modified();
    let response = together(|_| change(now));
    assert_eq!(response.iter().filter(|r| r.json()["Updated"] == true).count(), 1, "{response:?}");
    assert_eq!(agent.get(path)["SchedulerConfig"]["SchedulerAlgorithm"], "spread");

    let autopilot = "/v1/operator/autopilot/configuration";
    let before = agent.get(autopilot);
    let response = agent.send("PUT", &format!("{autopilot}?cas=1"), &json!({ "CleanupDeadServers": false }));
    assert_eq!((response.status, response.body.as_str(), agent.get(autopilot)), (200, "false", before));
    let body = json!({ "Items": { "k": "new" } });
    assert_eq!(agent.send("PUT", "/v1/var/x?cas=7", &body).status, 409);
    let response = together(|_| put(port, "/v1/var/x?cas=0", &body));
    assert_eq!(response.iter().filter(|r| r.status == 200).count(), 1, "{response:?}");
    assert!(response.iter().all(|r| matches!(r.status, 200 | 409)), "{response:?}");
    assert_eq!(agent.send("DELETE", "/v1/var/x?cas=1", &Value::Null).status, 409);
    assert_eq!(agent.get("/v1/var/x")["Items"], json!({ "k": "new" }));
    unharmed(&mut agent);
}

#[test]
fn a_second_agent_is_refused_and_the_first_goes_on() {
    let (folder, second) = (Folder::new("hardship-first"), Folder::new("hardship-second"));
    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    let write = |agent: &Agent, i: u64| {
        let response = agent.send("PUT", &format!("/v1/var/n/{i}"), &json!({ "Items": { "i": i.to_string() } }));
        assert_eq!(response.status, 200, "{}", response.body);
    };
    write(&agent, 0);
    second.file("same.hcl", config(&folder));
    let data = folder.path().join("data").display().to_string();
    let own = second.path().join("own").display().to_string();
    let port = agent.port;
    second.file("taken.hcl", format!("ports {{\n  http = {port}\n  rpc = 0\n  serf = 0\n}}"));
    let in_use =
        format!("==> Error starting agent: server setup failed: {data}/server/raft is in use by another process");
    let taken = format!(
        "==> Error starting http server: 1 error occurred: listen tcp 127.0.0.1:{port}: bind: address already in use"
    );
    for (i, (args, want)) in [
        (&["agent", "-config", "same.hcl"][..], &in_use),
        (&["agent", "-dev", "-data-dir", &data, "-config", "free.hcl"], &in_use),
        (&["agent", "-dev", "-data-dir", &own, "-config", "taken.hcl"], &taken),
    ]
    .into_iter()
    .enumerate()
    {
        second.file("free.hcl", "ports {\n  http = 0\n  rpc = 0\n  serf = 0\n}");
        let ran = run_in(second.path(), args);
        assert_eq!((ran.stderr.trim_end().lines().last(), ran.exit), (Some(want.as_str()), 1), "{args:?}");
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        write(&agent, 1 + i as u64);
        unharmed(&mut agent);
    }
    agent.kill();
    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    for i in 0..4 {
        assert_eq!(agent.get(&format!("/v1/var/n/{i}"))["Items"]["i"], i.to_string());
    }
    unharmed(&mut agent);
}

#[test]
fn a_data_dir_that_cannot_be_written_is_named() {
    let folder = Folder::new("hardship-readonly");
    folder.file("agent.hcl", config(&folder));
    let data = folder.path().join("data").display().to_string();
    folder.file("file", "no folder");
    let below = folder.path().join("file/data").display().to_string();
    let ran = run_in(folder.path(), &["agent", "-config", "agent.hcl", "-data-dir", &below]);
    let want = |dir: &str, why: &str| {
        format!("==> Error starting agent: server setup failed: data_dir {dir} cannot be used: {why}")
    };
    assert_eq!((ran.stderr.lines().last(), ran.exit), (Some(want(&below, "not a directory").as_str()), 1));
    // With and without data of an earlier run.
    for earlier in [false, true] {
        fs::create_dir_all(&data).expect("a folder");
        if earlier {
            let agent = Agent::start(&folder, &config(&folder), &[]);
            led(&agent);
        }
        let Some(mut command) = with_mounts(&folder, "mount --bind data data && mount -o remount,bind,ro data data")
        else {
            return;
        };
        let ran = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        let last = said.trim_end().lines().last();
        assert_eq!((last, ran.status.code()), (Some(want(&data, "read-only file system").as_str()), Some(1)), "{said}");
    }
    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    unharmed(&mut agent);
}

#[test]
fn a_full_disk_refuses_writes_until_there_is_space() {
    let folder = Folder::new("hardship-full");
    fs::create_dir_all(folder.path().join("data")).expect("a folder");
    folder.file("agent.hcl", config(&folder));
    let Some(mut command) = with_mounts(&folder, "mount -t tmpfs -o size=64m none data") else { return };
    let mut agent = Agent::launch(&folder, &mut command);
    agent.serves();
    led(&agent);
    // The agent's disk, as seen from outside.
    let data = format!("/proc/{}/root{}/data", agent.pid(), folder.path().display());
    let disk = rustix::fs::statvfs(&data).expect("a disk");
    let free = disk.f_bavail * disk.f_frsize;
    assert!(free <= 64 << 20, "{data} is another disk");
    fs::write(format!("{data}/ballast"), vec![b'x'; (free - (3 << 20)) as usize]).expect("ballast");

    let (written, refused) = fill(&agent, "full");
    let text = format!("the disk of {}/data/server/raft is nearly full: ", folder.path().display());
    for response in &refused {
        assert!(response.status == 500 && response.is_plain() && response.body.starts_with(&text), "{response:?}");
        assert!(response.body.ends_with("are reserved for the server's log; free some space"), "{response:?}");
    }
    assert!(refused.len() == 4 && written.len() > 20, "{} writes", written.len());
    agent.until("operations are refused");
    let namespace = json!({ "Name": "later" });
    let response = agent.send("PUT", "/v1/namespace", &namespace);
    assert!(response.status == 500 && response.body.starts_with(&text), "{response:?}");
    // All existing data can be read consistently; the server is still the leader.
    kept(&agent, &written);
    assert_eq!(agent.list("/v1/vars").len(), written.len());
    assert_eq!(agent.get("/v1/agent/health")["server"]["ok"], true);
    unharmed(&mut agent);

    fs::remove_file(format!("{data}/ballast")).expect("ballast");
    wait_for("writes", || match agent.send("PUT", "/v1/namespace", &namespace) {
        Reply { status: 200, .. } => Ok(()),
        other => Err(format!("{other:?}")),
    });
    kept(&agent, &written);
    let more = agent.send("PUT", "/v1/jobs", &json!({ "Job": job("web", 50) }));
    assert_eq!(more.status, 200, "{}", more.body);
    let eval = format!("/v1/evaluation/{}", more.json()["EvalID"].as_str().expect("an ID"));
    wait_for("the scheduler", || match agent.get(&eval)["Status"].as_str() {
        Some("complete") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    unharmed(&mut agent);
}

/// The disk fails during a write: from then on its content is unknown.
#[test]
fn a_log_that_cannot_be_written_says_so_and_loses_nothing() {
    let folder = Folder::new("hardship-log");
    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    // The capability level of the cluster may be raised at any moment: then the log goes on in another segment.
    let log = folder.path().join("data/server/raft/log-");
    let first = fs::metadata(format!("{}00000000000000000000.seg", log.display())).expect("the log").len();
    let limit = Some(first + 500_000);
    let pid = Pid::from_raw(agent.pid() as i32).expect("a process");
    rustix::process::prlimit(Some(pid), Resource::Fsize, Rlimit { current: limit, maximum: None }).expect("a limit");

    let (mut written, refused) = fill(&agent, "limit");
    assert!(refused.len() == 4 && written.len() > 10, "{} writes", written.len());
    let reason = format!("consensus has stopped: can't write {}", log.display());
    let advice = "; raise the limit on the size of files, then start the server again";
    let says = |status: u16, body: &str| {
        assert!(
            status == 500 && body.starts_with(&reason) && body.contains(".seg: ") && body.ends_with(advice),
            "{body}"
        )
    };
    refused.iter().for_each(|response| says(response.status, &response.body));
    agent.until("the log stops taking writes");
    // All later calls return the same error immediately.
    let started = Instant::now();
    let response = agent.send("PUT", "/v1/namespace", &json!({ "Name": "later" }));
    says(response.status, &response.body);
    let response = exchange(&agent, &head("GET", "/v1/vars", ""));
    says(response.status, &response.body);
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    let health = exchange(&agent, &head("GET", "/v1/agent/health", ""));
    let message = health.json()["server"]["message"].to_string();
    assert!(health.status == 500 && message.contains("File too large"), "{health:?}");
    // Acknowledged writes can be read with stale reads, which need no leader.
    kept(&agent, &written);
    assert!(agent.runs() && !agent.log().contains("panicked"), "{}", agent.log());
    agent.signal(rustix::process::Signal::TERM);
    agent.until("Caught signal: terminated");
    assert_eq!(agent.exit(), 1, "without leave_on_terminate");

    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    kept(&agent, &written);
    for i in 0..20 {
        let (path, value) = (format!("after/{i}"), noise(i, 1000));
        let response = agent.send("PUT", &format!("/v1/var/{path}"), &json!({ "Items": { "v": value } }));
        assert_eq!(response.status, 200, "{}", response.body);
        written.push((path, value));
    }
    agent.kill();
    let mut agent = Agent::start(&folder, &config(&folder), &[]);
    led(&agent);
    kept(&agent, &written);
    unharmed(&mut agent);
}
