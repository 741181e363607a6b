//! CSI volumes end to end (`docs/spec/client.md §24.2`): plugins as jobs, volumes that they create, claims of
//! allocations, which move with drains and after the loss of a node. The test plugin records what breaks the rules.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value as Json, json};

use super::agent::{PATIENCE, Reply, call_as, wait_for};
use super::csi_plugin;
use super::member::{Member, Role};
use super::program::Folder;

const NODES: usize = 3;
const SERVER: &str = "server {\n  enabled = true\n  bootstrap_expect = 1\n  heartbeat_grace = \"1s\"\n  \
                      min_heartbeat_ttl = \"1s\"\n  max_heartbeats_per_second = 1000\n}\n";

/// Ends with everything that the nodes have mounted, and every process that they have started.
struct Cluster {
    server: Member,
    nodes: Vec<Member>,
    storage: Folder,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            node.kill();
            end_processes(&node.data());
        }
        for path in mounts(&self.nodes) {
            let _ = Command::new("umount").arg("--lazy").arg(path).status();
        }
    }
}

/// Kills the processes that a killed agent left: those whose environment names its directory.
fn end_processes(data: &Path) {
    let data = data.display().to_string();
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        let environment = process.environ().unwrap_or_default();
        if environment.values().any(|v| v.to_string_lossy().contains(&data))
            && let Some(pid) = rustix::process::Pid::from_raw(process.pid)
        {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

/// Mount points in the directories of nodes, the innermost first.
fn mounts(nodes: &[Member]) -> Vec<PathBuf> {
    let all = procfs::process::Process::myself().and_then(|p| p.mountinfo()).expect("the mounts");
    let own = |m: &PathBuf| nodes.iter().any(|n| m.starts_with(n.data()));
    let mut found: Vec<PathBuf> = all.into_iter().map(|m| m.mount_point).filter(own).collect();
    found.sort_by_key(|m| std::cmp::Reverse(m.components().count()));
    found
}

impl Cluster {
    fn start() -> Cluster {
        let mut server = Member::new("csi-server", Role::Other(SERVER.into()));
        server.start();
        let node = |n: usize| {
            let mut node = Member::new(&format!("csi-{n}"), Role::Node { servers: vec![server.rpc()] });
            node.start();
            node
        };
        let nodes = (0..NODES).map(node).collect();
        let cluster = Cluster { server, nodes, storage: Folder::new("csi-storage") };
        wait_for("all nodes are ready", || {
            let nodes = cluster.get("/v1/nodes");
            let ready = nodes.as_array().map_or(0, |n| n.iter().filter(|n| n["Status"] == "ready").count());
            if ready == NODES { Ok(()) } else { Err(nodes.to_string()) }
        });
        cluster
    }

    fn ask(&self, method: &str, path: &str, body: &Json) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        call_as(self.server.port(), "", method, path, &body, PATIENCE)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    fn get(&self, path: &str) -> Json {
        self.ask("GET", path, &Json::Null).json()
    }

    fn put(&self, path: &str, body: &Json) -> Json {
        let reply = self.ask("PUT", path, body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.json()
    }

    /// Runs the plugin on every node.
    fn run_plugin(&self) {
        let (program, storage) = (csi_plugin::path().display().to_string(), self.storage.path().display().to_string());
        let script = format!(
            "exec {program} --endpoint \"$CSI_ENDPOINT\" --mode monolith --node-id \"${{node.unique.id}}\" --storage {storage}"
        );
        let task = json!({
            "Name": "plugin", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 50},
            "CSIPluginConfig": {"ID": "disks", "Type": "monolith", "MountDir": "/csi"},
        });
        let groups = json!([{"Name": "plugin", "Tasks": [task]}]);
        let job = json!({"ID": "disks", "Type": "system", "Datacenters": ["*"], "TaskGroups": groups});
        self.put("/v1/jobs", &json!({ "Job": job }));
        wait_for("the plugin is healthy on all nodes", || {
            let reply = self.ask("GET", "/v1/plugin/csi/disks", &Json::Null);
            let plugin = if reply.status == 200 { reply.json() } else { Json::Null };
            let healthy = ["NodesHealthy", "ControllersHealthy"].map(|k| plugin[k].as_u64());
            if healthy == [Some(NODES as u64); 2] { Ok(()) } else { Err(reply.body) }
        });
    }

    fn create_volume(&self, id: &str, access: &str) {
        let capability = json!({"AccessMode": access, "AttachmentMode": "file-system"});
        let volume = json!({
            "ID": id, "Name": id, "PluginID": "disks", "RequestedCapabilities": [capability],
            "RequestedCapacityMin": 1 << 20,
        });
        let made = self.put(&format!("/v1/volume/csi/{id}/create"), &json!({ "Volumes": [volume] }));
        assert!(made["Volumes"][0]["ExternalID"].as_str().is_some_and(|id| !id.is_empty()), "{made}");
    }

    /// Runs a job whose allocations mount a volume.
    fn run_user(&self, id: &str, volume: &str, access: &str, count: usize) {
        let task = json!({
            "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["10000"]},
            "Resources": {"CPU": 20, "MemoryMB": 20}, "KillTimeout": 1_000_000_000u64,
        });
        let request = json!({
            "Name": "data", "Type": "csi", "Source": volume, "AccessMode": access, "AttachmentMode": "file-system",
        });
        let groups = json!([{
            "Name": "main", "Count": count, "Tasks": [task], "Volumes": {"data": request},
            "Constraints": [{"Operand": "distinct_hosts", "RTarget": "true"}],
        }]);
        let job = json!({"ID": id, "Type": "service", "Datacenters": ["*"], "TaskGroups": groups});
        self.put("/v1/jobs", &json!({ "Job": job }));
    }

    /// Waits until so many allocations of a job run, none of them on a node, and they alone claim the volume. Returns
    /// their IDs and nodes.
    fn users(&self, id: &str, volume: &str, count: usize, not_on: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        wait_for(&format!("{count} allocations of {id} mount {volume}"), || {
            let rows = self.get(&format!("/v1/job/{id}/allocations"));
            let running = rows.as_array().into_iter().flatten().filter(|a| a["ClientStatus"] == "running");
            let text = |v: &Json| v.as_str().unwrap_or_default().to_string();
            found = running.map(|a| (text(&a["ID"]), text(&a["NodeID"]))).collect();
            let stored = self.get(&format!("/v1/volume/csi/{volume}"));
            let claims = stored["WriteAllocs"].as_object().map(|c| c.keys().cloned().collect::<Vec<_>>());
            let mut ids: Vec<String> = found.iter().map(|(id, _)| id.clone()).collect();
            ids.sort();
            if ids.len() == count && claims.as_ref() == Some(&ids) && found.iter().all(|(_, node)| node != not_on) {
                return Ok(());
            }
            let told: Vec<_> = rows
                .as_array()
                .into_iter()
                .flatten()
                .map(|a| json!([a["ID"], a["NodeID"], a["ClientStatus"], a["TaskStates"]["main"]["Events"]]))
                .collect();
            Err(format!("{claims:?}, {}", json!(told)))
        });
        found
    }

    /// What broke the rules of the storage provider.
    fn violations(&self) -> String {
        std::fs::read_to_string(self.storage.path().join("violations.jsonl")).unwrap_or_default()
    }

    /// The place of the node with that ID.
    fn place(&self, id: &str) -> usize {
        let named = |n: &Member| {
            let own = call_as(n.port(), "", "GET", "/v1/agent/self", "", PATIENCE).expect("an answer").json();
            own["stats"]["client"]["node_id"] == id
        };
        self.nodes.iter().position(named).expect("a node of the test")
    }
}

#[test]
fn volumes_follow_their_allocations() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: mounting needs root");
        return;
    }
    let mut cluster = Cluster::start();
    cluster.run_plugin();
    cluster.create_volume("one", "single-node-writer");
    cluster.create_volume("many", "multi-node-multi-writer");
    cluster.run_user("single", "one", "single-node-writer", 1);
    cluster.run_user("multi", "many", "multi-node-multi-writer", 2);
    cluster.users("multi", "many", 2, "");
    let first = cluster.users("single", "one", 1, "").remove(0);
    assert!(mounts(&cluster.nodes).len() >= 3, "{:?}", mounts(&cluster.nodes));
    let refused = cluster.ask("DELETE", "/v1/volume/csi/one/delete", &Json::Null);
    assert!(refused.status == 500 && refused.body.contains("volume in use: one"), "{}", refused.body);

    // A drain moves the allocation with its volume.
    let drain = json!({"DrainSpec": {"Deadline": 60_000_000_000u64, "IgnoreSystemJobs": true}});
    cluster.put(&format!("/v1/node/{}/drain", first.1), &drain);
    let second = cluster.users("single", "one", 1, &first.1).remove(0);
    assert_eq!(cluster.violations(), "");
    cluster.put(&format!("/v1/node/{}/drain", first.1), &json!({"DrainSpec": null, "MarkEligible": true}));

    // The loss of a node does too, once the controller has taken the volume away from it.
    let lost = cluster.place(&second.1);
    cluster.nodes[lost].kill();
    end_processes(&cluster.nodes[lost].data());
    let third = cluster.users("single", "one", 1, &second.1).remove(0);
    assert!(third.0 != second.0 && third.1 != second.1, "{third:?}");
    let told = cluster.violations();
    assert!(told.lines().all(|l| l.contains("detached while mounted")), "{told}");

    // Stopped jobs leave nothing claimed, and volumes can be deleted.
    for job in ["single", "multi"] {
        assert_eq!(cluster.ask("DELETE", &format!("/v1/job/{job}"), &Json::Null).status, 200);
    }
    for volume in ["one", "many"] {
        wait_for("the volume is deleted", || {
            let reply = cluster.ask("DELETE", &format!("/v1/volume/csi/{volume}/delete"), &Json::Null);
            if reply.status == 200 { Ok(()) } else { Err(reply.body) }
        });
    }
    assert_eq!(cluster.get("/v1/volumes?type=csi"), json!([]));
}
