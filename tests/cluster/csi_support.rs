//! A cluster with CSI plugins: servers, nodes that run the test plugin as a job, volumes, and jobs that use them.

use std::path::{Path, PathBuf};
use std::process::Command;

use encamp_test_support::notes;
use serde_json::{Value as Json, json};

use super::agent::{PATIENCE, Reply, call_as, wait_for};
use super::csi_plugin;
use super::member::{Member, Role, leader};
use super::program::{Folder, Ran, end_processes, run_with};

/// Settings of servers that notice the loss of a node at once.
pub const FAST: &str = "  heartbeat_grace = \"1s\"\n  min_heartbeat_ttl = \"1s\"\n  max_heartbeats_per_second = 1000\n";
/// Settings of servers that let a node be away for a while.
pub const PATIENT: &str = "  heartbeat_grace = \"60s\"\n";

/// The user task of jobs with a volume.
const SLEEPER: &str = "/bin/sleep";

/// Ends with everything that the nodes have mounted, and every process that they have started.
pub struct Cluster {
    pub servers: Vec<Member>,
    pub nodes: Vec<Member>,
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

/// Mount points of volumes in the directories of nodes, the innermost first.
pub fn mounts(nodes: &[Member]) -> Vec<PathBuf> {
    let all = procfs::process::Process::myself().and_then(|p| p.mountinfo()).expect("the mounts");
    let own = |m: &PathBuf| nodes.iter().any(|n| m.starts_with(n.data()) && !m.starts_with(n.data().join("alloc")));
    let mut found: Vec<PathBuf> = all.into_iter().map(|m| m.mount_point).filter(own).collect();
    found.sort_by_key(|m| std::cmp::Reverse(m.components().count()));
    found
}

/// A storage provider: the directory of a plugin with this ID.
pub struct Disks {
    pub id: String,
    folder: Folder,
}

/// A line of the plugin's journal.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub method: String,
    /// The storage provider's ID of the node, which is that of servers.
    pub node: String,
    pub process: u64,
    pub number: u64,
    /// The call begins; otherwise it ends.
    pub begins: bool,
    /// The status of a call that ended.
    pub code: i64,
}

impl Disks {
    pub fn new(id: &str) -> Disks {
        Disks { id: id.into(), folder: Folder::new(&format!("csi-{id}")) }
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// What broke the rules of the storage provider.
    pub fn violations(&self) -> String {
        self.read("violations.jsonl")
    }

    /// Replaces the faults: each happens at the first call of its method.
    pub fn faults(&self, methods: &[&str], when: &str, what: &str) {
        self.faults_at(1, methods, when, what);
    }

    /// Replaces the faults: each happens at the `nth` call of its method. A fault that has happened does not happen again
    /// with the same number.
    pub fn faults_at(&self, nth: u64, methods: &[&str], when: &str, what: &str) {
        let fault = |m: &&str| json!({"method": m, "nth": nth, "when": when, "what": what});
        let faults: Json = methods.iter().map(fault).collect();
        let new = self.folder.file("faults.new", faults.to_string());
        std::fs::rename(new, self.folder.path().join("fail.json")).expect("the faults are replaced");
    }

    /// The calls in the order in which they began and ended.
    pub fn journal(&self) -> Vec<Line> {
        let text = self.read("journal.jsonl");
        // The last line may be in the making.
        let lines = text.lines().filter_map(|l| serde_json::from_str::<Json>(l).ok());
        let text = |l: &Json, key: &str| l[key].as_str().unwrap_or_default().to_string();
        let line = |l: Json| Line {
            method: text(&l, "method"),
            node: text(&l, "node"),
            process: l["process"].as_u64().unwrap_or_default(),
            number: l["number"].as_u64().unwrap_or_default(),
            begins: l["event"] == "begin",
            code: l["code"].as_i64().unwrap_or_default(),
        };
        lines.map(line).collect()
    }

    /// How often the plugin was killed in a call of a method: calls of processes that are gone and that did not end.
    pub fn killed(&self, method: &str) -> usize {
        let journal = self.journal();
        let of_method = |begins: bool| journal.iter().filter(move |l| l.method == method && l.begins == begins);
        let ended = |begun: &&Line| of_method(false).any(|l| (l.process, l.number) == (begun.process, begun.number));
        of_method(true).filter(|l| !ended(l) && !Path::new(&format!("/proc/{}", l.process)).exists()).count()
    }

    /// How often a call of a method succeeded.
    pub fn done(&self, method: &str) -> usize {
        self.journal().iter().filter(|l| l.method == method && !l.begins && l.code == 0).count()
    }

    /// How many calls of a method have begun.
    pub fn begun(&self, method: &str) -> usize {
        self.journal().iter().filter(|l| l.method == method && l.begins).count()
    }

    /// A volume to be created.
    pub fn specification(&self, id: &str, access: &str) -> Json {
        let capability = json!({"AccessMode": access, "AttachmentMode": "file-system"});
        json!({
            "ID": id, "Name": id, "PluginID": self.id, "RequestedCapabilities": [capability],
            "RequestedCapacityMin": 1 << 20,
        })
    }

    /// The IDs of the volumes or snapshots that the storage provider has.
    pub fn stored(&self, kind: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join(kind)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Cluster {
    /// Starts so many servers and nodes, and waits until they work. `None` without the right to mount.
    pub fn start(servers: usize, nodes: usize, settings: &str) -> Option<Cluster> {
        if !rustix::process::geteuid().is_root() {
            notes::skipped("storage plugins", "the user is not root");
            return None;
        }
        let mut all: Vec<Member> = Vec::new();
        for n in 0..servers {
            let join: Vec<String> = all.iter().map(Member::serf).collect();
            let join = if join.is_empty() {
                String::new()
            } else {
                format!(
                    "  server_join {{\n    retry_join = [{}]\n    retry_interval = \"1s\"\n  }}\n",
                    super::member::quoted(&join)
                )
            };
            let role = format!("server {{\n  enabled = true\n  bootstrap_expect = {servers}\n{settings}{join}}}\n");
            let mut server = Member::new(&format!("csi-server-{n}"), Role::Other(role));
            server.start();
            all.push(server);
        }
        leader(&all);
        let known: Vec<String> = all.iter().map(Member::rpc).collect();
        let node = |n: usize| {
            let mut node = Member::new(&format!("csi-{n}"), Role::Node { servers: known.clone() });
            node.start();
            node
        };
        let cluster = Cluster { nodes: (0..nodes).map(node).collect(), servers: all };
        wait_for("all nodes are ready", || {
            let listed = cluster.get("/v1/nodes");
            let ready = listed.as_array().map_or(0, |n| n.iter().filter(|n| n["Status"] == "ready").count());
            if ready == nodes { Ok(()) } else { Err(listed.to_string()) }
        });
        Some(cluster)
    }

    /// The port of a server that runs.
    fn port(&self) -> u16 {
        let up = self.servers.iter().filter(|s| call_as(s.port(), "", "GET", "/v1/agent/self", "", PATIENCE).is_ok());
        up.map(Member::port).next().expect("a server that runs")
    }

    pub fn ask(&self, method: &str, path: &str, body: &Json) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        call_as(self.port(), "", method, path, &body, PATIENCE).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    pub fn get(&self, path: &str) -> Json {
        self.ask("GET", path, &Json::Null).json()
    }

    pub fn put(&self, path: &str, body: &Json) -> Json {
        let reply = self.ask("PUT", path, body);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.json()
    }

    /// Runs a command of the program against the cluster, in a directory.
    pub fn run(&self, folder: &Folder, args: &[&str]) -> Ran {
        let address = format!("http://127.0.0.1:{}", self.port());
        run_with(folder.path(), args, &[("NOMAD_ADDR", &address)], None)
    }

    /// Runs the plugin on every node.
    pub fn run_plugin(&self, disks: &Disks) {
        let (program, storage) = (csi_plugin::path().display(), disks.folder.path().display());
        let script = format!(
            "exec {program} --endpoint \"$CSI_ENDPOINT\" --mode monolith --node-id \"${{node.unique.id}}\" \
             --storage {storage} --fail {storage}/fail.json"
        );
        let task = json!({
            "Name": "plugin", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 50},
            "CSIPluginConfig": {"ID": disks.id, "Type": "monolith", "MountDir": "/csi"},
        });
        let restart = json!({
            "Attempts": 1000, "Interval": 3_600_000_000_000u64, "Delay": 100_000_000u64, "Mode": "delay",
        });
        let groups = json!([{"Name": "plugin", "Tasks": [task], "RestartPolicy": restart}]);
        let job = json!({"ID": disks.id, "Type": "system", "Datacenters": ["*"], "TaskGroups": groups});
        self.put("/v1/jobs", &json!({ "Job": job }));
        self.plugin_healthy(disks);
    }

    /// Waits until the plugin is healthy on all nodes.
    pub fn plugin_healthy(&self, disks: &Disks) {
        wait_for(&format!("plugin {} is healthy on all nodes", disks.id), || {
            let reply = self.ask("GET", &format!("/v1/plugin/csi/{}", disks.id), &Json::Null);
            let plugin = if reply.status == 200 { reply.json() } else { Json::Null };
            let healthy = ["NodesHealthy", "ControllersHealthy"].map(|k| plugin[k].as_u64());
            if healthy == [Some(self.nodes.len() as u64); 2] { Ok(()) } else { Err(reply.body) }
        });
    }

    pub fn create_volume(&self, id: &str, disks: &Disks, access: &str) {
        let volumes = [disks.specification(id, access)];
        let made = self.put(&format!("/v1/volume/csi/{id}/create"), &json!({ "Volumes": volumes }));
        assert!(made["Volumes"][0]["ExternalID"].as_str().is_some_and(|id| !id.is_empty()), "{made}");
    }

    /// Runs a job whose allocations mount a volume.
    pub fn run_user(&self, id: &str, volume: &str, access: &str, count: usize) {
        let task = json!({
            "Name": "main", "Driver": "raw_exec", "Config": {"command": SLEEPER, "args": ["10000"]},
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
    pub fn users(&self, id: &str, volume: &str, count: usize, not_on: &str) -> Vec<(String, String)> {
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
            let rows_shown: Vec<_> = rows
                .as_array()
                .into_iter()
                .flatten()
                .map(|a| json!([a["ID"], a["NodeID"], a["ClientStatus"], a["TaskStates"]["main"]["Events"]]))
                .collect();
            Err(format!("{claims:?}, {}", json!(rows_shown)))
        });
        found
    }

    /// Where an allocation has its one volume mounted.
    pub fn mounted(&self, alloc: &str) -> PathBuf {
        let of_alloc = format!("/csi/per-alloc/{alloc}/");
        let mut found = mounts(&self.nodes).into_iter().filter(|m| m.to_string_lossy().contains(&of_alloc));
        let place = found.next().unwrap_or_else(|| panic!("{alloc} has nothing mounted"));
        assert_eq!(found.next(), None, "{alloc} has more mounted than its volume");
        place
    }

    pub fn stop(&self, job: &str) {
        let reply = self.ask("DELETE", &format!("/v1/job/{job}"), &Json::Null);
        assert_eq!(reply.status, 200, "{job}: {}", reply.body);
    }

    /// Waits until nothing claims a volume.
    pub fn unclaimed(&self, volume: &str) {
        wait_for(&format!("nothing claims {volume}"), || {
            let stored = self.get(&format!("/v1/volume/csi/{volume}"));
            let none = |k: &str| stored[k].as_object().is_none_or(serde_json::Map::is_empty);
            let free = stored["ID"] == volume && none("WriteAllocs") && none("ReadAllocs");
            if free { Ok(()) } else { Err(stored.to_string()) }
        });
    }

    /// Waits until nodes have nothing of any volume: no mount, no directory, no record.
    pub fn nothing_left(&self) {
        wait_for("nothing of the volumes is left on nodes", || {
            let mut left: Vec<String> = mounts(&self.nodes).iter().map(|m| m.display().to_string()).collect();
            left.retain(|m| m.contains("/csi/"));
            for node in &self.nodes {
                let state = node.data().join("client");
                for (kind, levels) in [("per-alloc", 1), ("staging", 2)] {
                    let found = below(&state.join("csi").join(kind), levels);
                    left.extend(found.iter().map(|d| d.display().to_string()));
                }
                let text = std::fs::read_to_string(state.join("csi-mounts.json")).unwrap_or_default();
                let records: Json = serde_json::from_str(&text).unwrap_or_default();
                left.extend(records["mounts"].as_array().into_iter().flatten().map(Json::to_string));
            }
            if left.is_empty() { Ok(()) } else { Err(left.join("\n")) }
        });
    }

    /// The place of the node with that ID.
    pub fn place(&self, id: &str) -> usize {
        let named = |n: &Member| {
            let own = call_as(n.port(), "", "GET", "/v1/agent/self", "", PATIENCE).expect("an answer").json();
            own["stats"]["client"]["node_id"] == id
        };
        self.nodes.iter().position(named).expect("a node of the test")
    }
}

/// The directories so many levels below one.
fn below(dir: &Path, levels: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    if levels <= 1 { entries.collect() } else { entries.flat_map(|e| below(&e, levels - 1)).collect() }
}
