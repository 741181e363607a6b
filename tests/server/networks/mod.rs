//! Networks of allocations with the real program and the plugins of the CNI project (`docs/spec/client.md §15`). They
//! need root, the Debian packages `containernetworking-plugins` and `iptables`, and a kernel with bridges.

mod bridge;
mod commands;
mod kills;
mod place;
mod plugins;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use crate::agent::{Agent, wait_for};
use crate::isolation::EMBEDDED;
use crate::program::{Folder, run_for};
use encamp_model::ClientStatus;
use encamp_test_support::notes;
use place::Place;
use serde_json::{Value as Json, json};

/// Where the Debian package has the plugins.
const PLUGINS: &str = "/usr/lib/cni";
/// How long one connection to a task may take.
const CONNECTION: Duration = Duration::from_secs(5);
/// How long one command may take.
const COMMAND: Duration = Duration::from_secs(60);

/// The bridge of a test, its addresses, and the folder of its agent. At the end the bridge and its rules are removed.
pub struct Net {
    /// Dropped before the bridge, with the agent that uses it.
    pub folder: Folder,
    bridge: String,
    subnet: String,
    subnet_ipv6: String,
    _place: Place,
}

/// What this machine lacks for networks of allocations.
fn lacking() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        Some("not root")
    } else if !Path::new(PLUGINS).join("bridge").exists() {
        Some("no plugins: containernetworking-plugins is not installed")
    } else if !output("iptables", &["-t", "nat", "-S"]).0 {
        Some("no iptables")
    } else if !has_bridges() {
        Some("no bridges")
    } else {
        None
    }
}

impl Net {
    /// `None`: this machine cannot have such networks.
    pub fn new(name: &str) -> Option<Net> {
        if let Some(missing) = lacking() {
            notes::skipped("networks of allocations", missing);
            return None;
        }
        let (folder, place) = (Folder::new(name), Place::claim());
        let (bridge, subnet, subnet_ipv6) = (place.bridge(), place.subnet(), place.subnet_ipv6());
        Some(Net { folder, bridge, subnet, subnet_ipv6, _place: place })
    }

    /// The settings of a node.
    pub fn settings(&self) -> String {
        let Net { bridge, subnet, subnet_ipv6, .. } = self;
        let embedded: String = EMBEDDED.iter().map(|path| format!("  {path:?} = {path:?}\n")).collect();
        format!(
            " cni_path = \"{}:{PLUGINS}\"\n cni_config_dir = \"{}\"\n bridge_network_name = \"{bridge}\"\n \
             bridge_network_subnet = \"{subnet}\"\n bridge_network_subnet_ipv6 = \"{subnet_ipv6}\"\n \
             gc_disk_usage_threshold = 100\n gc_inode_usage_threshold = 100\n \
             chroot_env {{\n{embedded} }}\n",
            self.plugin_dir().display(),
            self.config_dir().display(),
        )
    }

    /// The configuration of an agent that is both server and node.
    pub fn config(&self) -> String {
        let data = self.folder.path().join("data").display().to_string();
        format!(
            "data_dir = \"{data}\"\nbind_addr = \"127.0.0.1\"\nserver {{\n enabled = true\n bootstrap_expect = 1\n}}\n\
             client {{\n enabled = true\n{}}}\n\
             advertise {{\n http = \"127.0.0.1\"\n rpc = \"127.0.0.1\"\n serf = \"127.0.0.1\"\n}}\n\
             plugin \"raw_exec\" {{\n config {{\n  enabled = true\n }}\n}}\n",
            self.settings()
        )
    }

    /// The folder of the agent.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    fn start(&self) -> Agent {
        let agent = Agent::start(&self.folder, &self.config(), &[]);
        ready(&agent);
        agent
    }

    fn start_again(&self) -> Agent {
        let mut agent = Agent::spawn(&self.folder, &["-config", "agent.hcl"]);
        agent.serves();
        ready(&agent);
        agent
    }

    /// Plugins of the test.
    fn plugin_dir(&self) -> PathBuf {
        self.folder.path().join("plugins")
    }

    fn config_dir(&self) -> PathBuf {
        self.folder.path().join("networks")
    }

    /// Writes a network.
    fn network(&self, file: &str, list: &Json) {
        std::fs::create_dir_all(self.config_dir()).expect("a directory");
        std::fs::write(self.config_dir().join(file), list.to_string()).expect("a network");
    }

    /// Writes a plugin in Python. It finds its operation in `command`, its input in `config`, and the directory of the
    /// test in `here`. `result` prints the result of the plugin before it.
    fn plugin(&self, name: &str, script: &str) {
        std::fs::create_dir_all(self.plugin_dir()).expect("a directory");
        let here = self.folder.path().display().to_string();
        let head = "import json, os, sys, time\ncommand = os.environ.get('CNI_COMMAND', '')\n\
                    if command in ('', 'VERSION'):\n    print(json.dumps({'cniVersion': '1.0.0', 'supportedVersions': ['0.4.0', '1.0.0']}))\n    sys.exit(0)\n\
                    config = json.load(sys.stdin)\n\
                    def result():\n    print(json.dumps(config.get('prevResult', {'cniVersion': '0.4.0', 'ips': [{'address': '192.0.2.7/24'}]})))\n";
        let text = format!("#!/usr/bin/env python3\n{head}here = {here:?}\n{script}\n");
        let path = self.plugin_dir().join(name);
        std::fs::write(&path, text).expect("a plugin");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// What is left of the networks of allocations.
    pub fn leaks(&self, allocs: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        for alloc in allocs {
            for path in [format!("/var/run/netns/{alloc}"), self.record(alloc).display().to_string()] {
                if Path::new(&path).symlink_metadata().is_ok() {
                    out.push(path);
                }
            }
            for program in ["iptables", "ip6tables"] {
                for table in ["nat", "filter"] {
                    let rules = output(program, &["-t", table, "-S"]).1;
                    out.extend(rules.lines().filter(|l| l.contains(alloc)).map(String::from));
                }
            }
        }
        let ports = std::fs::read_dir(format!("/sys/class/net/{}/brif", self.bridge)).into_iter().flatten().flatten();
        out.extend(ports.map(|p| format!("{} at the bridge", p.file_name().display())));
        let of_subnet = |name: &str| {
            let prefix = self.subnet.trim_end_matches("0/24");
            name.starts_with(prefix) || name.starts_with(self.subnet_ipv6.trim_end_matches(":/64"))
        };
        let addresses = std::fs::read_dir("/var/run/cni/nomad").into_iter().flatten().flatten();
        let names = addresses.map(|a| a.file_name().display().to_string());
        out.extend(names.filter(|n| of_subnet(n)).map(|n| format!("address {n}")));
        let rules = output("iptables", &["-t", "filter", "-S", "CNI-FORWARD"]).1;
        let prefix = self.subnet.trim_end_matches("0/24");
        out.extend(rules.lines().filter(|l| l.contains(prefix)).map(String::from));
        out
    }

    fn record(&self, alloc: &str) -> PathBuf {
        self.folder.path().join("data/client/networks").join(format!("{alloc}.json"))
    }

    /// Waits until nothing is left.
    fn nothing_left(&self, allocs: &[&str]) {
        wait_for("nothing is left of the networks", || {
            let leaks = self.leaks(allocs);
            if leaks.is_empty() { Ok(()) } else { Err(leaks.join("\n")) }
        });
    }
}

/// Whether bridges can be made here.
fn has_bridges() -> bool {
    static HAS: LazyLock<bool> = LazyLock::new(|| {
        let name = format!("enc{:x}try", std::process::id());
        let made = output("ip", &["link", "add", &name, "type", "bridge"]).0;
        output("ip", &["link", "del", &name]);
        made
    });
    *HAS
}

/// Whether a program succeeded, and its output.
fn output(program: &str, arguments: &[&str]) -> (bool, String) {
    match Command::new(program).args(arguments).output() {
        Ok(ran) => (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned()),
        Err(_) => (false, String::new()),
    }
}

fn ready(agent: &Agent) {
    wait_for("a ready node", || {
        let nodes = agent.get("/v1/nodes");
        if nodes[0]["Status"] == "ready" { Ok(()) } else { Err(nodes.to_string()) }
    });
}

/// A task that serves its directory over HTTP at the port `http`, for both address families.
fn server(content: &str) -> String {
    format!("echo -n '{content}' > local/index; env > local/env; cd local; exec python3 -m http.server 8000 --bind ::")
}

/// A group with one task that runs a script.
fn group(name: &str, network: Json, script: &str) -> Json {
    json!({
        "Name": name, "Count": 1, "Networks": [network],
        "Tasks": [{
            "Name": "main", "Driver": "raw_exec",
            "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 40},
        }],
        "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": 60_000_000_000_i64, "Delay": 1_000_000_000},
        "ReschedulePolicy": {"Attempts": 0, "Unlimited": false},
    })
}

fn job(id: &str, groups: &[Json]) -> Json {
    json!({"ID": id, "Name": id, "Type": "service", "Datacenters": ["*"], "TaskGroups": groups})
}

fn register(agent: &Agent, job: &Json) {
    let reply = agent.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    assert_eq!(reply.status, 200, "{}", reply.body);
}

/// Waits for the allocation of a group to have a client status; gives all of the allocation.
fn alloc(agent: &Agent, job: &str, group: &str, status: ClientStatus) -> Json {
    let mut found = Json::Null;
    wait_for(&format!("an allocation of {job} that is {status}"), || {
        let list = agent.list(&format!("/v1/job/{job}/allocations"));
        found = list
            .into_iter()
            .find(|a| a["TaskGroup"] == group)
            .ok_or_else(|| format!("none yet: {}", agent.get(&format!("/v1/job/{job}/evaluations"))))?;
        let states = found["TaskStates"].to_string();
        if found["ClientStatus"] == status.as_str() {
            Ok(())
        } else {
            Err(format!("{} {states}", found["ClientStatus"]))
        }
    });
    agent.get(&format!("/v1/allocation/{}", id(&found)))
}

fn stop(agent: &Agent, job: &str) {
    agent.send("DELETE", &format!("/v1/job/{job}"), &Json::Null);
}

fn id(alloc: &Json) -> &str {
    alloc["ID"].as_str().expect("an ID")
}

/// The host's address and number of a port.
fn host_port(alloc: &Json, label: &str) -> SocketAddr {
    let ports = alloc["AllocatedResources"]["Shared"]["Ports"].as_array().expect("ports");
    let port = ports.iter().find(|p| p["Label"] == label).expect("the port");
    let number = u16::try_from(port["Value"].as_u64().expect("a number")).expect("a port");
    SocketAddr::new(port["HostIP"].as_str().expect("an address").parse().expect("an address"), number)
}

/// An address of an allocation.
fn own_address(alloc: &Json, field: &str) -> String {
    alloc["NetworkStatus"][field].as_str().unwrap_or_else(|| panic!("no {field}: {alloc}")).to_string()
}

/// What a server of a task answers.
fn fetch(address: SocketAddr) -> Result<String, String> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECTION).map_err(|e| e.to_string())?;
    stream.set_read_timeout(Some(CONNECTION)).map_err(|e| e.to_string())?;
    stream.write_all(b"GET /index HTTP/1.0\r\n\r\n").map_err(|e| e.to_string())?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(|e| e.to_string())?;
    text.split_once("\r\n\r\n").map(|(_, body)| body.to_string()).ok_or(text)
}

/// Waits until a server of a task answers so.
fn serves(address: SocketAddr, wanted: &str) {
    wait_for(&format!("{wanted} at {address}"), || {
        let found = fetch(address)?;
        if found == wanted { Ok(()) } else { Err(found) }
    });
}

/// Display messages of the events of a kind.
fn shown(alloc: &Json, kind: &str) -> Vec<String> {
    let events = alloc["TaskStates"]["main"]["Events"].as_array().cloned().unwrap_or_default();
    let of_kind = events.iter().filter(|e| e["Type"] == kind);
    of_kind.map(|e| e["DisplayMessage"].as_str().unwrap_or_default().to_string()).collect()
}
