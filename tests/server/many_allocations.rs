//! 200 allocations on one node: all of them run, and nothing is left of them after their collection. The time of the
//! start, and the memory of the agent, are printed; with `ENCAMP_FIGURES` the processor time of the idle agent as well
//! (docs/dev/performance.md).

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::agent::{Agent, wait_for};
use crate::program::Folder;
use encamp_test_support::tier;
use serde_json::json;

/// How many allocations run.
const COPIES: usize = 200;
/// How many run where a change is proved.
const FEWER: usize = 40;
/// How long the idle agent is measured.
const IDLE: Duration = Duration::from_secs(30);

/// The configuration of a node that is large enough.
fn config(folder: &Folder) -> String {
    format!(
        "data_dir = \"{}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n cpu_total_compute = 100000\n memory_total_mb = 200000\n disk_total_mb = 200000\n \
         gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
         plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n",
        folder.path().join("data").display()
    )
}

/// Cgroups whose names begin with the ID of one of the allocations.
fn cgroups(dir: &Path, ids: &BTreeSet<String>, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|t| t.is_dir()) {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.get(..36).is_some_and(|id| ids.contains(id)) {
            found.push(entry.path().display().to_string());
        }
        cgroups(&entry.path(), ids, found);
    }
}

/// What is left of allocations: cgroups, mounts, processes, directories.
fn leftovers(agent: &Agent, folder: &Folder, ids: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    cgroups(Path::new("/sys/fs/cgroup"), ids, &mut found);
    let allocs = folder.path().join("data/alloc");
    let below = allocs.display().to_string();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    found.extend(mounts.lines().filter(|l| l.contains(&below)).map(String::from));
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        let own = pid.parse() == Ok(agent.pid());
        let dir = std::fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        if !own && dir.starts_with(folder.path()) {
            found.push(format!("process {pid} in {}", dir.display()));
        }
    }
    let dirs = std::fs::read_dir(allocs).into_iter().flatten().flatten();
    found.extend(dirs.map(|d| d.path().display().to_string()));
    found
}

/// Resident memory of a process in KiB, and its processor time in ticks.
fn usage(pid: u32) -> (u64, u64) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the status");
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).expect("the memory");
    let memory = line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("the times");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks = |i: usize| fields.get(i).and_then(|t| t.parse::<u64>().ok()).expect("ticks");
    (memory, ticks(11) + ticks(12))
}

#[test]
fn many_allocations_run_and_leave_nothing() {
    let copies = if tier::is_full() { COPIES } else { FEWER };
    let folder = Folder::new("many-allocations");
    let agent = Agent::start(&folder, &config(&folder), &[]);
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    });
    let job = json!({
        "ID": "many", "Name": "many", "Type": "service", "Datacenters": ["*"],
        "TaskGroups": [{"Name": "g", "Count": copies, "Tasks": [{
            "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["100000"]},
            "Resources": {"CPU": 10, "MemoryMB": 10},
        }]}],
    });
    let begun = Instant::now();
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let mut ids = BTreeSet::new();
    wait_for("all allocations run", || {
        let list = agent.list("/v1/job/many/allocations");
        let running = list.iter().filter(|a| a["ClientStatus"] == "running");
        ids = running.filter_map(|a| a["ID"].as_str().map(String::from)).collect();
        if ids.len() == copies { Ok(()) } else { Err(format!("{} run", ids.len())) }
    });
    let (took, (memory, before)) = (begun.elapsed().as_secs_f64(), usage(agent.pid()));
    println!("{copies} allocations: running after {took:.1} s, the agent has {} MiB", memory / 1024);
    if std::env::var_os("ENCAMP_FIGURES").is_some() {
        std::thread::sleep(IDLE);
        let ticks = u32::try_from(usage(agent.pid()).1 - before).expect("ticks");
        let percent = f64::from(ticks) / IDLE.as_secs_f64();
        println!("{copies} allocations: the idle agent uses {percent:.1} % of a core");
    }
    assert!(leftovers(&agent, &folder, &ids).len() >= copies, "leftovers are found");
    agent.send("DELETE", "/v1/job/many?purge=true", &json!(null));
    wait_for("the allocations end", || {
        agent.send("PUT", "/v1/system/gc", &json!(null));
        let left = leftovers(&agent, &folder, &ids);
        if left.is_empty() { Ok(()) } else { Err(format!("{} left, the first: {:?}", left.len(), left.first())) }
    });
}
