//! Agents of one cluster on this machine, each with its own directory. Killed agents are restarted with the same ports.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value as Json;

use crate::agent::{self, Agent, call_as, wait_for};
use crate::program::{self, Folder};

/// What an agent is.
pub enum Role {
    /// A server, and nothing else.
    Server { expect: u32, join: Vec<String> },
    /// A node, and nothing else.
    Node { servers: Vec<String> },
    /// What its configuration says.
    Other(String),
}

/// An agent that may be down.
pub struct Member {
    name: String,
    role: Role,
    /// HTTP, RPC, serf; 0 until they are chosen.
    ports: [u16; 3],
    /// Where others reach its RPC and serf, if not where it listens.
    pub advertised: Option<[String; 2]>,
    /// Words of a command that starts another one, before those of the agent.
    pub wrapper: Vec<String>,
    /// Another build than the tested one.
    pub program: Option<String>,
    /// More configuration.
    pub more: String,
    /// The token of its reads; empty for none.
    pub token: String,
    agent: Option<Agent>,
    /// What it said until it was killed.
    past: String,
    /// Goes last.
    folder: Folder,
}

pub fn quoted(list: &[String]) -> String {
    list.iter().map(|s| format!("{s:?}")).collect::<Vec<_>>().join(", ")
}

impl Member {
    pub fn new(name: &str, role: Role) -> Member {
        Member {
            name: name.into(),
            role,
            ports: [0; 3],
            advertised: None,
            wrapper: Vec::new(),
            program: None,
            more: String::new(),
            token: String::new(),
            agent: None,
            past: String::new(),
            folder: Folder::new(name),
        }
    }

    /// The configuration that it gets when it is started or reloaded.
    pub fn configuration(&self) -> String {
        let [http, rpc, serf] = self.ports;
        let data = self.data();
        let [rpc_at, serf_at] = self.advertised.clone().unwrap_or(["127.0.0.1".into(), "127.0.0.1".into()]);
        let name = &self.name;
        let role = match &self.role {
            Role::Server { expect, join } => format!(
                "server {{\n  enabled = true\n  bootstrap_expect = {expect}\n  raft_snapshot_interval = \"100ms\"\n\
                   raft_snapshot_threshold = 40\n  raft_trailing_logs = 10\n\
                   server_join {{\n    retry_join = [{}]\n    retry_interval = \"1s\"\n  }}\n}}\n",
                quoted(join)
            ),
            Role::Node { servers } => format!(
                "client {{\n  enabled = true\n  servers = [{}]\n  cpu_total_compute = 10000\n  memory_total_mb = 4000\n\
                   disk_total_mb = 100000\n}}\nplugin \"raw_exec\" {{\n  config {{\n    enabled = true\n  }}\n}}\n",
                quoted(servers)
            ),
            Role::Other(text) => text.clone(),
        };
        format!(
            "name = {name:?}\nbind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\nlog_level = \"DEBUG\"\n\
             ports {{\n  http = {http}\n  rpc = {rpc}\n  serf = {serf}\n}}\n\
             advertise {{\n  http = \"127.0.0.1\"\n  rpc = {rpc_at:?}\n  serf = {serf_at:?}\n}}\n{role}{}",
            self.more
        )
    }

    /// Starts it, or starts it again.
    pub fn start(&mut self) {
        self.launch();
        self.serves();
    }

    /// Starts it and does not wait.
    pub fn launch(&mut self) {
        let config = self.folder.file("agent.hcl", self.configuration());
        let program = self.program.clone().unwrap_or_else(program::path);
        let words: Vec<String> = self.wrapper.iter().cloned().chain([program]).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(["agent", "-config"]).arg(config);
        self.agent = Some(Agent::launch(&self.folder, &mut command));
    }

    /// Waits until it serves.
    pub fn serves(&mut self) {
        let agent = self.agent.as_mut().expect("it was started");
        let bound = agent.until("Bind Addrs: HTTP: [127.0.0.1:");
        let mut ports = bound.split("127.0.0.1:").skip(1).map(|p| {
            let digits: String = p.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u16>().expect("a port")
        });
        self.ports = std::array::from_fn(|_| ports.next().unwrap_or(0));
        agent.port = self.ports[0];
        agent.until("agent started! Log data will stream in below:");
    }

    /// Has it read its configuration again, and waits until it has done so.
    pub fn reload(&mut self) {
        self.folder.file("agent.hcl", self.configuration());
        let agent = self.agent_mut();
        agent.signal(rustix::process::Signal::HUP);
        agent.until("configuration reloaded");
    }

    /// Has it read its configuration again, which it refuses; gives the error.
    pub fn reload_refused(&mut self) -> String {
        self.folder.file("agent.hcl", self.configuration());
        let agent = self.agent_mut();
        agent.signal(rustix::process::Signal::HUP);
        agent.until("Reloading configuration...");
        agent.until("Failed to reload configs");
        agent.until("==> tls")
    }

    /// Ends it as a power failure would.
    pub fn kill(&mut self) {
        if let Some(mut agent) = self.agent.take() {
            agent.kill();
            self.past.push_str(agent.log());
        }
    }

    /// Ends it by a signal and gives the exit code.
    pub fn end(&mut self, signal: rustix::process::Signal) -> i32 {
        let mut agent = self.agent.take().expect("it runs");
        agent.signal(signal);
        agent.exit()
    }

    pub fn agent(&self) -> &Agent {
        self.agent.as_ref().expect("it runs")
    }

    pub fn agent_mut(&mut self) -> &mut Agent {
        self.agent.as_mut().expect("it runs")
    }

    /// All that it said, also before it was killed.
    pub fn log(&mut self) -> String {
        let now = self.agent.as_mut().map(Agent::log).unwrap_or_default();
        format!("{}{now}", self.past)
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn port(&self) -> u16 {
        self.ports[0]
    }

    /// Where others reach its RPC.
    pub fn rpc(&self) -> String {
        self.reached(0)
    }

    pub fn serf(&self) -> String {
        self.reached(1)
    }

    fn reached(&self, n: usize) -> String {
        self.advertised.as_ref().map_or_else(|| format!("127.0.0.1:{}", self.ports[n + 1]), |a| a[n].clone())
    }

    /// The ports it listens on: HTTP, RPC, serf.
    pub fn ports(&self) -> [u16; 3] {
        self.ports
    }

    /// What is read, or what came instead.
    pub fn read(&self, path: &str) -> Result<Json, String> {
        let reply = call_as(self.port(), &self.token, "GET", path, "", agent::PATIENCE).map_err(|e| e.to_string())?;
        if reply.status == 200 { Ok(reply.json()) } else { Err(format!("{} {}", reply.status, reply.body)) }
    }
}

/// Waits until an agent knows a node that is ready, and no other one.
pub fn node_ready(at: &Member) {
    wait_for("a node is ready", || {
        let nodes = at.read("/v1/nodes")?;
        let ready = nodes.as_array().is_some_and(|n| !n.is_empty() && n.iter().all(|n| n["Status"] == "ready"));
        if ready { Ok(()) } else { Err(nodes.to_string()) }
    });
}

/// Waits until the one allocation of a job runs; gives its ID.
pub fn running(at: &Member, job: &str) -> String {
    let mut id = String::new();
    wait_for("the job runs", || {
        let allocs = at.read(&format!("/v1/job/{job}/allocations"))?;
        match allocs.as_array().map(Vec::as_slice) {
            Some([one]) if one["ClientStatus"] == "running" => id = one["ID"].as_str().unwrap_or_default().into(),
            _ => return Err(allocs.to_string()),
        }
        Ok(())
    });
    id
}

/// Waits until all servers that run agree on a leader among them; gives its place.
pub fn leader(servers: &[Member]) -> usize {
    let mut place = 0;
    wait_for("there is a leader", || {
        let leaders: Vec<Json> = servers.iter().map(|s| s.read("/v1/status/leader")).collect::<Result<_, _>>()?;
        match servers.iter().position(|s| leaders.iter().all(|t| t.as_str() == Some(s.rpc().as_str()))) {
            Some(found) => place = found,
            None => return Err(format!("{leaders:?}")),
        }
        Ok(())
    });
    place
}
