//! Tasks of the driver `exec`: what they can't do, and their whole life on real processes, beside that of `raw_exec`.
//!
//! Without root, or without cgroups, the tests say so and end.

pub mod agent_files;
pub mod escapes;
pub mod host;
mod java;
mod life;
mod restarts;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::agent::{Agent, wait_for};
use crate::program::{Folder, run_with};
use encamp_model::{ClientStatus, JobType};
use encamp_test_support::notes;
use serde_json::{Value as Json, json};

/// Directories of the host that the tasks of these tests see: they hold a shell, perl, Java and their libraries.
pub const EMBEDDED: [&str; 12] = [
    "/bin",
    "/lib",
    "/lib64",
    "/usr/bin",
    "/usr/lib64",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/jvm",
    "/etc/passwd",
    "/etc/group",
    "/etc/alternatives",
    "/etc/java-17-openjdk",
    "/etc/java-21-openjdk",
];

/// The configuration of an agent that is both server and node; `plugin`: settings of the driver `exec`.
fn config(folder: &Folder, plugin: &str) -> String {
    let data = folder.path().join("data").display().to_string();
    let tools = folder.path().join("tools").display().to_string();
    let embedded = EMBEDDED.map(|p| format!("  \"{p}\" = \"{p}\"\n")).concat();
    format!(
        "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n\
         chroot_env {{\n{embedded}  \"{tools}\" = \"/tools\"\n }}\n}}\n\
         telemetry {{\n publish_allocation_metrics = true\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
         plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n\
         plugin \"exec\" {{\n config {{\n{plugin}\n }}\n}}\n"
    )
}

/// An agent whose node runs isolated tasks; none where that is not possible, which is said.
fn start(folder: &Folder, plugin: &str) -> Option<Agent> {
    if !rustix::process::geteuid().is_root() {
        notes::skipped("isolated tasks", "the user is not root");
        return None;
    }
    std::fs::create_dir_all(folder.path().join("tools")).expect("a folder");
    let agent = Agent::start(folder, &config(folder, plugin), &[]);
    ready(&agent);
    let nodes = agent.get("/v1/nodes");
    if nodes[0]["Drivers"]["exec"]["Healthy"] != true {
        let why = nodes[0]["Drivers"]["exec"]["HealthDescription"].to_string();
        assert!(std::env::var_os("ENCAMP_REQUIRE_ISOLATION").is_none(), "isolated tasks: {why}");
        notes::skipped("isolated tasks", &why);
        return None;
    }
    Some(agent)
}

/// Starts an agent again in the same directory.
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

/// A task that runs a script.
fn task(driver: &str, script: &str) -> Json {
    json!({
        "Name": "main", "Driver": driver,
        "Config": {"command": "/bin/sh", "args": ["-c", script]},
        "Env": {"LC_ALL": "C"},
        "Resources": {"CPU": 20, "MemoryMB": 40},
        "KillTimeout": 20_000_000_000_i64,
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 1_000_000_000},
    })
}

/// A task that runs `Main.java`.
fn java_task(args: &[&str]) -> Json {
    let mut task = task("java", "");
    task["Config"] = json!({"class": "/tools/Main.java", "args": args, "jvm_options": ["-Xmx128m"]});
    task["Resources"]["MemoryMB"] = json!(512);
    task
}

/// A task of any driver that runs a script.
fn scripted(driver: &str, script: &str) -> Json {
    match driver {
        "java" => java_task(&["command", "/bin/sh", "-c", script]),
        _ => task(driver, script),
    }
}

/// The drivers of the node that run processes.
fn drivers(folder: &Folder, agent: &Agent) -> Vec<&'static str> {
    let java = runs_java_sources(folder, agent).then_some("java");
    ["raw_exec", "exec"].into_iter().chain(java).collect()
}

/// Whether the node runs Java programs given as source, for which the command of a run-time environment alone does not
/// do. `Main.java` is there then.
fn runs_java_sources(folder: &Folder, agent: &Agent) -> bool {
    std::fs::write(folder.path().join("tools/Main.java"), include_str!("Main.java")).expect("a file");
    let java = &agent.get("/v1/nodes")[0]["Drivers"]["java"];
    let compiles = Command::new("javac").arg("-version").output().is_ok_and(|o| o.status.success());
    let runs = java["Healthy"] == true && compiles;
    if !runs {
        notes::skipped("Java tasks", &format!("no JDK: {}", java["HealthDescription"]));
    }
    runs
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
        let states = found["TaskStates"].to_string();
        if found["ClientStatus"] == status.as_str() {
            Ok(())
        } else {
            Err(format!("{} {states}", found["ClientStatus"]))
        }
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

/// What a task has written to its output.
fn output(folder: &Folder, alloc: &Json, task: &str) -> String {
    let path = dir(folder, alloc).join(format!("alloc/logs/{task}.stdout.0"));
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Waits until the output of a task contains a text; gives it.
fn until_output(folder: &Folder, alloc: &Json, task: &str, text: &str) -> String {
    let mut found = String::new();
    wait_for(text, || {
        found = output(folder, alloc, task);
        if found.contains(text) { Ok(()) } else { Err(found.clone()) }
    });
    found
}

/// Runs a command beside a task: its output, and its exit code.
fn exec(folder: &Folder, agent: &Agent, alloc: &Json, task: &str, command: &[&str]) -> (String, i32) {
    let address = agent.address();
    let args = [&["alloc", "exec", "-i=false", "-t=false", "-task", task, id(alloc)], command].concat();
    let ran = run_with(folder.path(), &args, &[("NOMAD_ADDR", &address)], None);
    (format!("{}{}", ran.stdout, ran.stderr), ran.exit)
}

/// What is left of an allocation on the host: cgroups, mounts, processes.
fn left(folder: &Folder, alloc: &str) -> Vec<String> {
    let found = Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", &format!("{alloc}*")]).output();
    let groups = String::from_utf8_lossy(&found.expect("find").stdout).into_owned();
    let mut left: Vec<String> = groups.lines().map(String::from).collect();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    left.extend(mounts.lines().filter(|l| l.contains(alloc)).map(String::from));
    left.extend(processes(alloc).iter().map(|pid| format!("process {pid}")));
    if folder.path().join("data/alloc").join(alloc).exists() {
        left.push("the directory".into());
    }
    left
}

/// The processes of an allocation: those that have its ID in their environment.
fn processes(alloc: &str) -> Vec<i32> {
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let own = |p: &procfs::process::Process| {
        let environment = p.environ().unwrap_or_default();
        environment.get(std::ffi::OsStr::new("NOMAD_ALLOC_ID")).is_some_and(|id| id.to_str() == Some(alloc))
    };
    all.filter(own).map(|p| p.pid).collect()
}

/// Stops a job, has everything of it collected, and waits until nothing is left on the host.
fn collect(folder: &Folder, agent: &Agent, job: &str, alloc: &str) {
    assert_eq!(agent.send("DELETE", &format!("/v1/job/{job}"), &Json::Null).status, 200);
    wait_for("the end of the tasks", || {
        let found = agent.get(&format!("/v1/allocation/{alloc}"));
        let status = found["ClientStatus"].as_str().unwrap_or_default().to_string();
        if ["complete", "failed"].contains(&status.as_str()) { Ok(()) } else { Err(status) }
    });
    wait_for("the collection", || {
        agent.send("GET", &format!("/v1/client/allocation/{alloc}/gc"), &Json::Null);
        let left = left(folder, alloc);
        if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
    });
}

/// A file of this repository.
pub fn file(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
