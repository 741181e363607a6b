//! Three servers with a gossip key, and the checks after attacks.

use std::fs;

use serde_json::{Value as Json, json};

use crate::agent::{PATIENCE, call_as, wait_for};
use crate::hostile_peer::peer::{Peer, as_node, packed};
use crate::member::{Member, Role, leader, quoted};

/// 32 bytes in base64.
pub const KEY: &str = "cHJvdGVjdHMgdGhlIGdvc3NpcCBvZiBhIGNsdXN0ZXI=";

pub const NODE: &str = "aaaaaaaa-1111-4222-8333-444444444444";
pub const SECRET: &str = "bbbbbbbb-1111-4222-8333-444444444444";

/// Three servers with a leader.
pub struct Servers {
    pub members: Vec<Member>,
    pub leader: usize,
    /// The term at the start.
    pub term: String,
}

impl Servers {
    pub fn start(name: &str) -> Servers {
        let mut members: Vec<Member> = Vec::new();
        for n in 0..3 {
            let join: Vec<String> = members.first().map(Member::serf).into_iter().collect();
            let role = format!(
                "server {{\n  enabled = true\n  bootstrap_expect = 3\n  encrypt = {KEY:?}\n\
                   server_join {{\n    retry_join = [{}]\n    retry_interval = \"1s\"\n  }}\n}}\n",
                quoted(&join)
            );
            let mut member = Member::new(&format!("hostile-{name}-{n}"), Role::Other(role));
            member.start();
            members.push(member);
        }
        let leader = leader(&members);
        let term = term(&members[leader]);
        Servers { members, leader, term }
    }

    pub fn leader(&self) -> &Member {
        &self.members[self.leader]
    }

    /// IDs of the Raft peers, by their RPC ports.
    pub fn ids(&self) -> Vec<String> {
        server_ids("", self.leader(), &self.members)
    }

    /// Registers a node using calls only.
    pub fn register_node(&self) {
        let peer = Peer::connect(&self.leader().rpc());
        let node = json!({
            "ID": NODE, "SecretID": SECRET, "Name": "hostile", "Datacenter": "dc1", "NodePool": "default",
            "Attributes": {"kernel.name": "linux"}, "Status": "initializing",
        });
        let made = peer.call("Node.Register", &as_node(NODE, SECRET), packed(&json!({"node": node, "token": ""})));
        assert_eq!(made.status, 200, "{}", made.text);
        let beat = packed(&json!({"identity": "", "status": "ready"}));
        let made = peer.call("Node.UpdateStatus", &as_node(NODE, SECRET), beat);
        assert_eq!(made.status, 200, "{}", made.text);
        for member in &self.members {
            wait_for("all servers know the node", || member.read(&format!("/v1/node/{NODE}?stale")).map(drop));
        }
    }

    /// Nothing panicked, the same server leads in the same term, and writes are accepted.
    pub fn are_well(&mut self, after: &str) {
        for member in &mut self.members {
            assert!(member.agent_mut().runs(), "after {after}: {}", member.log());
            let log = member.log();
            assert!(!log.contains("panicked"), "after {after}: {log}");
            let health = member.read("/v1/agent/health");
            assert!(health.is_ok(), "after {after}: {health:?}");
        }
        assert_eq!(leader(&self.members), self.leader, "after {after} another server leads");
        assert_eq!(term(self.leader()), self.term, "after {after} the term is another one");
        let namespace = json!({"Name": "written"});
        let made = self.leader().agent().send("PUT", "/v1/namespace", &namespace);
        assert_eq!(made.status, 200, "after {after}: {}", made.body);
    }

    /// The maximum memory growth of any of the servers since [`Servers::forget_peaks`], in MiB.
    pub fn grown(&self, before: &[u64]) -> u64 {
        let grown = self.members.iter().zip(before).map(|(m, b)| memory(m, "VmHWM").saturating_sub(*b) >> 20);
        grown.max().unwrap_or_default()
    }

    /// Resets the peaks of memory use. Returns the current memory use of each server.
    pub fn forget_peaks(&self) -> Vec<u64> {
        for member in &self.members {
            let path = format!("/proc/{}/clear_refs", member.agent().pid());
            fs::write(&path, "5").unwrap_or_else(|e| panic!("{path}: {e}"));
        }
        self.members.iter().map(|m| memory(m, "VmRSS")).collect()
    }
}

/// IDs of Raft peers, as a server tells them to the owner of a token.
pub fn server_ids(token: &str, at: &Member, members: &[Member]) -> Vec<String> {
    let reply = call_as(at.port(), token, "GET", "/v1/operator/raft/configuration", "", PATIENCE).expect("an answer");
    let configuration = reply.json();
    let servers = configuration["Servers"].as_array().cloned().unwrap_or_default();
    let by_address = |m: &Member| {
        let found = servers.iter().find(|s| s["Address"].as_str() == Some(&m.rpc()));
        found.and_then(|s| s["ID"].as_str()).unwrap_or_else(|| panic!("{}", reply.body)).to_string()
    };
    members.iter().map(by_address).collect()
}

/// The term according to a server.
pub fn term(member: &Member) -> String {
    let agent_self = member.read("/v1/agent/self").expect("the agent");
    agent_self["stats"]["raft"]["term"].as_str().unwrap_or_else(|| panic!("{}", agent_self["stats"])).to_string()
}

/// A value of a process, in bytes.
pub fn memory(member: &Member, figure: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", member.agent().pid())).expect("a status");
    let line = status.lines().find_map(|l| l.strip_prefix(figure)).expect("a figure");
    let digits: String = line.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<u64>().expect("a number") << 10
}

/// Names of the servers in the gossip pool according to a server.
pub fn gossip(member: &Member) -> Vec<Json> {
    member.read("/v1/agent/members").expect("members")["Members"].as_array().cloned().unwrap_or_default()
}
