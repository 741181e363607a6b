//! The three ways to open the pages: of an agent, in front of a running cluster, and of a snapshot file.

use std::process::Command;

use serde_json::json;

use super::client::Client;
use crate::agent::{Agent, wait_for};
use crate::program::{self, Folder, run_in};

/// A dev agent with a job, the pages in front of it, and the pages of a snapshot file of it.
pub struct Ways {
    pub agent: Agent,
    /// An allocation of the job `web` that runs.
    pub allocation: String,
    proxy: Served,
    file: Served,
    _folder: Folder,
}

/// `encamp ui` at work.
pub struct Served {
    _process: Agent,
    /// The address that it printed.
    pub url: String,
    pub port: u16,
}

impl Served {
    /// Starts `encamp ui` with flags.
    pub fn start(folder: &Folder, flags: &[&str]) -> Served {
        let mut command = Command::new(program::path());
        let mut process = Agent::launch(folder, command.arg("ui").arg("-show-url").args(flags));
        let line = process.until("URL for web UI: ");
        let url = line.trim_start_matches("URL for web UI: ").to_string();
        let port = url.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('/').next()).expect("a port");
        Served { _process: process, port: port.parse().expect("a port"), url }
    }

    /// Its address without a path.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The path and the parameters of the address.
    pub fn path(&self) -> &str {
        self.url.strip_prefix(&self.base()).expect("a local address")
    }

    /// A browser that was admitted.
    pub fn client(&self) -> Client {
        let mut client = Client::new(self.port);
        let entered = client.get(self.path());
        assert_eq!(entered.status, 303, "{}", entered.body);
        assert!(!entered.header("location").contains("entrance"), "{entered:?}");
        client
    }
}

impl Ways {
    /// Starts all three.
    pub fn start(name: &str) -> Ways {
        let folder = Folder::new(name);
        let agent = Agent::start(&folder, "plugin \"raw_exec\" {\n  config {\n    enabled = true\n  }\n}\n", &["-dev"]);
        let job = json!({"Job": {"ID": "web", "Type": "service", "Datacenters": ["dc1"], "TaskGroups": [{
            "Name": "front", "Count": 1, "Tasks": [{
                "Name": "server", "Driver": "raw_exec",
                "Config": {"command": "/bin/sh", "args": ["-c", "echo started; exec sleep 600"]},
                "Resources": {"CPU": 20, "MemoryMB": 16},
            }],
        }]}});
        assert_eq!(agent.send("PUT", "/v1/jobs", &job).status, 200);
        let mut allocation = String::new();
        wait_for("the job runs", || {
            let running = agent.list("/v1/job/web/allocations");
            let running = running.iter().find(|a| a["ClientStatus"] == "running");
            allocation = running.ok_or("no allocation runs")?["ID"].as_str().unwrap_or_default().to_string();
            Ok(())
        });
        let address = agent.address();
        let fetched = run_in(folder.path(), &["snapshot", "fetch", "-address", &address, "-out", "cluster.json.zst"]);
        assert_eq!(fetched.exit, 0, "{}", fetched.stderr);
        let proxy = Served::start(&folder, &["-serve", "-address", &address]);
        let file = Served::start(&folder, &["-snapshot", "cluster.json.zst"]);
        Ways { agent, allocation, proxy, file, _folder: folder }
    }

    /// The ways with a name, the first address, and whether the cluster can be changed.
    pub fn all(&self) -> [(&'static str, String, bool); 3] {
        let agent = format!("{}/ui/", self.agent.address());
        [("agent", agent, true), ("proxy", self.proxy.url.clone(), true), ("file", self.file.url.clone(), false)]
    }

    /// A browser for each.
    pub fn clients(&self) -> [(&'static str, Client); 3] {
        let agent = Client::new(self.agent.port);
        [("agent", agent), ("proxy", self.proxy.client()), ("file", self.file.client())]
    }
}
