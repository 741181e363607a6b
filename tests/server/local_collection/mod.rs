//! Local collection with the real program, a server and a node in one.
//!
//! - [`killed`]: limits by count, disk and inodes, while the agent is killed again and again.
//! - [`leftovers`]: directories that cannot be removed. [`pinned`]: disks that are taken over.
//!
//! `ENCAMP_COLLECTION_KILLS=50 cargo test --test server local_collection -- --nocapture`: how often the agent is
//! killed.

mod killed;
mod leftovers;
mod pinned;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use encamp_test_support::notes;
use serde_json::{Value as Json, json};

use crate::agent::{Agent, wait_for};
use crate::program::Folder;

/// The configuration of an agent with capacity for any number of allocations; `client`: additional settings of the
/// node.
fn config(folder: &Folder, client: &str) -> String {
    let path = folder.path().display();
    format!(
        "ports {{\n  http = 0\n  rpc  = 0\n  serf = 0\n}}\ndata_dir = \"{path}/data\"\nbind_addr = \"127.0.0.1\"\n\
         server {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
         client {{\n enabled = true\n alloc_dir = \"{path}/alloc\"\n gc_interval = \"1h\"\n \
         cpu_total_compute = 1000000\n memory_total_mb = 1000000\n disk_total_mb = 1000000\n{client}\n}}\n\
         advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
         plugin \"mock_driver\" {{\n config {{}}\n}}\nplugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n"
    )
}

/// Starts an agent in the directory, and waits until its node is ready.
fn start(folder: &Folder) -> Agent {
    let mut agent = Agent::spawn(folder, &["-config", "agent.hcl"]);
    agent.serves();
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    });
    agent
}

/// Stops an agent, and waits for it.
fn stop(mut agent: Agent) {
    agent.signal(rustix::process::Signal::TERM);
    agent.exit();
}

/// A job of so many allocations that end at once, each with a log of that many bytes.
fn ending(id: &str, count: usize, bytes: usize) -> Json {
    let task = json!({
        "Name": "main", "Driver": "mock_driver", "Config": {"stdout_string": "x".repeat(bytes)},
        "Resources": {"CPU": 20, "MemoryMB": 20}, "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
    });
    let group = json!({"Name": "g", "Count": count, "EphemeralDisk": {"SizeMB": 10}, "Tasks": [task]});
    json!({"ID": id, "Name": id, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]})
}

/// Runs such a job until all its allocations are complete; gives their IDs.
fn run(agent: &Agent, id: &str, count: usize, bytes: usize) -> Vec<String> {
    let reply = agent.send("PUT", "/v1/jobs", &json!({"Job": ending(id, count, bytes)}));
    assert_eq!(reply.status, 200, "{}", reply.body);
    let (mut complete, mut before) = (0, usize::MAX);
    while complete < count {
        // However many there are, some of them end within the time of a wait.
        assert_ne!(complete, before, "no allocation of {id} ended");
        before = complete;
        wait_for(&format!("allocations of {id}"), || {
            let summary = agent.get(&format!("/v1/job/{id}/summary"));
            let now = summary["Summary"]["g"]["Complete"].as_u64().unwrap_or(0) as usize;
            if now > complete {
                complete = now;
                return Ok(());
            }
            Err(summary.to_string())
        });
    }
    let allocs = agent.list(&format!("/v1/job/{id}/allocations"));
    assert_eq!(allocs.len(), count);
    allocs.iter().map(|a| a["ID"].as_str().expect("an ID").to_string()).collect()
}

/// The directory of an allocation.
fn dir(folder: &Folder, id: &str) -> PathBuf {
    folder.path().join("alloc").join(id)
}

/// Runs a program; false, with a line about it, if it fails.
fn done(program: &str, args: &[&OsStr]) -> bool {
    let out = Command::new(program).args(args).output();
    let done = out.as_ref().is_ok_and(|o| o.status.success());
    if !done {
        notes::skipped("clean-up of file systems", &format!("{program} {args:?}: {out:?}"));
    }
    done
}

/// A mounted file system; it is unmounted at the end.
struct Mount(PathBuf);

impl Mount {
    /// Mounts a file system in memory; `None`, with a line about it, if that is not permitted.
    fn memory(path: &Path, options: &str) -> Option<Mount> {
        std::fs::create_dir_all(path).expect("a directory");
        let args = ["-t", "tmpfs", "-o", options, "none"].map(OsStr::new);
        done("mount", &[&args[..], &[path.as_os_str()]].concat()).then(|| Mount(path.into()))
    }

    /// Shows a directory at another path, too.
    fn bind(from: &Path, to: &Path) -> Option<Mount> {
        std::fs::create_dir_all(to).expect("a directory");
        done("mount", &["--bind".as_ref(), from.as_ref(), to.as_ref()]).then(|| Mount(to.into()))
    }

    /// Makes it read-only (`ro`), or writable again (`rw`).
    fn remount(&self, mode: &str) {
        let options = format!("remount,{mode}");
        assert!(done("mount", &["-o".as_ref(), options.as_ref(), self.0.as_ref()]));
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
