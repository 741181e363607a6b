//! The driver `docker` with the real program and the service of Podman or Docker's daemon (`docs/spec/client.md §23.3`).
//!
//! - [`engine`]: what Podman and Docker have in common. [`podman`]: the service. [`life`]: start, limits, stop, removal. [`commands`]: commands beside tasks. [`restarts`]:
//!   agents and daemons that end at any moment. [`reboot`]: the host starts again. [`networks`]: networks of allocations. [`refused`]: what tasks must not
//!   do. [`escapes`]: what containers can't do. [`broken`]: a daemon that does not do what it should. [`docker`]: Docker
//!   itself.

mod broken;
mod commands;
mod docker;
pub mod engine;
mod escapes;
mod life;
mod networks;
pub mod podman;
mod reboot;
mod refused;
mod restarts;

use crate::agent::{Agent, PATIENCE, call, wait_for};
use crate::program::Folder;
use encamp_model::{ClientStatus, JobType};
use engine::{Engine, IMAGE};
use podman::Podman;
use serde_json::{Value as Json, json};

/// The configuration of an agent that is both server and node, and runs containers.
fn config(folder: &Folder, plugin: &str) -> String {
    let data = folder.path().join("data").display().to_string();
    format!(
        "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n}}\n\
         telemetry {{\n publish_allocation_metrics = true\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n{plugin}"
    )
}

/// Waits until the node has the driver in that state.
fn driver(agent: &Agent, healthy: bool) -> Json {
    let mut found = Json::Null;
    wait_for("the state of the driver", || {
        let nodes = agent.get("/v1/nodes");
        let Some(id) = nodes[0]["ID"].as_str() else { return Err(nodes.to_string()) };
        found = agent.get(&format!("/v1/node/{id}"));
        let driver = &found["Drivers"]["docker"];
        if found["Status"] == "ready" && driver["Healthy"] == healthy { Ok(()) } else { Err(driver.to_string()) }
    });
    found
}

/// An agent whose node runs containers.
fn start(folder: &Folder, podman: &Podman, more: &str) -> Agent {
    let agent = Agent::start(folder, &config(folder, &podman.plugin(more)), &[]);
    driver(&agent, true);
    agent
}

/// Starts the agent again in the same directory.
fn start_again(folder: &Folder) -> Agent {
    let mut agent = Agent::spawn(folder, &["-config", "agent.hcl"]);
    agent.serves();
    driver(&agent, true);
    agent
}

/// A task that runs a script in the image; `more`: other keys of its `config` block.
fn task(script: &str, more: &Json) -> Json {
    let mut config = json!({"image": IMAGE, "command": "/bin/sh", "args": ["-c", script]});
    for (key, value) in more.as_object().expect("a map") {
        config[key] = value.clone();
    }
    json!({
        "Name": "t", "Driver": "docker", "Config": config, "KillTimeout": 2_000_000_000_i64,
        "Resources": {"CPU": 50, "MemoryMB": 32},
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 100_000_000},
    })
}

/// A job of one task.
fn job(id: &str, kind: JobType, task: Json) -> Json {
    json!({
        "ID": id, "Name": id, "Type": kind, "Datacenters": ["*"],
        "TaskGroups": [{
            "Name": "g", "Count": 1, "Tasks": [task],
            "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 100_000_000},
            "ReschedulePolicy": {"Attempts": 0, "Unlimited": false},
        }],
    })
}

fn register(agent: &Agent, job: &Json) {
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// Registers a job and waits until its allocation is in the expected state.
fn run(agent: &Agent, job: &Json, status: ClientStatus) -> Json {
    register(agent, job);
    alloc(agent, job["ID"].as_str().expect("an ID"), status)
}

/// Waits for the only allocation of a job to have a client status.
fn alloc(agent: &Agent, job: &str, status: ClientStatus) -> Json {
    let mut found = Json::Null;
    wait_for(&format!("an allocation of {job} that is {status}"), || {
        let list = agent.list(&format!("/v1/job/{job}/allocations"));
        found = list.into_iter().next().ok_or("none yet")?;
        if found["ClientStatus"] == status.as_str() {
            Ok(())
        } else {
            Err(format!("{} {}", found["ClientStatus"], found["TaskStates"]))
        }
    });
    found
}

fn id(alloc: &Json) -> &str {
    alloc["ID"].as_str().expect("an ID")
}

/// The output of a task, as the node has it.
fn output(agent: &Agent, alloc: &Json, kind: &str) -> String {
    let path = format!("/v1/client/fs/logs/{}?task=t&type={kind}&plain=true&origin=start", id(alloc));
    call(agent.port, "GET", &path, "", PATIENCE).expect("an answer").body
}

/// Waits until a task has said something.
fn says(agent: &Agent, alloc: &Json, text: &str) {
    wait_for(&format!("output with {text:?}"), || {
        let said = output(agent, alloc, "stdout");
        if said.contains(text) { Ok(()) } else { Err(said) }
    });
}

/// The texts of the events of the task of an allocation.
fn events(agent: &Agent, alloc: &Json) -> Vec<String> {
    let found = agent.get(&format!("/v1/allocation/{}", id(alloc)));
    let events = found["TaskStates"]["t"]["Events"].as_array().cloned().unwrap_or_default();
    events.iter().map(|e| format!("{}: {}", e["Type"], e["DisplayMessage"]).replace('"', "")).collect()
}

/// Stops a job, and waits for the end of its allocation.
fn stop(agent: &Agent, job: &str) -> Json {
    assert_eq!(agent.ask("DELETE", &format!("/v1/job/{job}")).0.split(' ').nth(1), Some("200"));
    alloc(agent, job, ClientStatus::Complete)
}
