//! The node agent with the real program: files that tasks cannot exploit, damaged state, workloads, garbage collection.
//!
//! `ENCAMP_LINK_REQUESTS=100000 cargo test --release --test server node_agent`: the number of requests while a task
//! swaps links.

mod collection;
mod links;
mod secret_blocks;
mod state;
mod task_api;
mod templates;
mod workloads;

use std::path::PathBuf;

use crate::agent::{Agent, wait_for};
use crate::program::Folder;
use encamp_model::{ClientStatus, JobType};
use serde_json::{Value as Json, json};

/// The configuration of an agent that is both server and node; `client`: additional settings of the node.
fn config(folder: &Folder, client: &str) -> String {
    let data = folder.path().join("data").display().to_string();
    format!(
        "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n{client}\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
         plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n"
    )
}

/// An agent whose node is ready.
fn start(folder: &Folder, client: &str) -> Agent {
    let agent = Agent::start(folder, &config(folder, client), &[]);
    ready(&agent);
    agent
}

/// Restarts an agent in the same directory.
fn start_again(folder: &Folder) -> Agent {
    let mut agent = Agent::spawn(folder, &["-config", "agent.hcl"]);
    agent.serves();
    ready(&agent);
    agent
}

fn ready(agent: &Agent) {
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    });
}

/// Stops an agent, and waits for it; its tasks keep running.
fn stop(mut agent: Agent) {
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
}

/// A `raw_exec` task that runs a script.
fn task(name: &str, script: &str) -> Json {
    json!({
        "Name": name, "Driver": "raw_exec",
        "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Resources": {"CPU": 20, "MemoryMB": 40},
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 1_000_000_000},
    })
}

/// A job with one group.
fn job(id: &str, kind: JobType, tasks: &[Json]) -> Json {
    json!({
        "ID": id, "Name": id, "Type": kind, "Datacenters": ["*"],
        "TaskGroups": [{
            "Name": "g", "Count": 1, "Tasks": tasks,
            "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 1_000_000_000},
            "ReschedulePolicy": {"Attempts": 0, "Unlimited": false},
        }],
    })
}

/// Registers a job and waits until its allocation is in the expected state.
fn run(agent: &Agent, job: &Json, status: ClientStatus) -> Json {
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    alloc(agent, job["ID"].as_str().expect("an ID"), status)
}

/// Waits for the only allocation of a job to have a client status.
fn alloc(agent: &Agent, job: &str, status: ClientStatus) -> Json {
    let mut found = Json::Null;
    wait_for(&format!("an allocation of {job} that is {status}"), || {
        let list = agent.list(&format!("/v1/job/{job}/allocations"));
        let alloc = list.into_iter().next().ok_or("none yet")?;
        let states = alloc["TaskStates"].to_string();
        found = alloc;
        if found["ClientStatus"] == status.as_str() {
            Ok(())
        } else {
            Err(format!("{} {states}", found["ClientStatus"]))
        }
    });
    found
}

/// Waits until the events of a task include this one. Returns the task's events.
fn events(agent: &Agent, alloc: &Json, task: &str, wanted: &str) -> Vec<Json> {
    let mut found = Vec::new();
    wait_for(&format!("event {wanted}"), || {
        let alloc = agent.get(&format!("/v1/allocation/{}", id(alloc)));
        found = alloc["TaskStates"][task]["Events"].as_array().cloned().unwrap_or_default();
        if found.iter().any(|e| e["Type"] == wanted) { Ok(()) } else { Err(format!("{found:?}")) }
    });
    found
}

fn id(alloc: &Json) -> &str {
    alloc["ID"].as_str().expect("an ID")
}

/// The directory of an allocation.
fn dir(folder: &Folder, alloc: &Json) -> PathBuf {
    folder.path().join("data/alloc").join(id(alloc))
}

/// Waits until a file has content; a script writes it elsewhere first and renames it.
fn content(path: &std::path::Path) -> String {
    let mut text = String::new();
    wait_for(&path.display().to_string(), || {
        text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        Ok(())
    });
    text
}
