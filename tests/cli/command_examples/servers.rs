//! Three servers for the examples about servers.

use encamp_cli::command_examples::{IDS, Named};
use serde_json::Value;

use super::directory::ExampleDirectory;
use super::end;
use super::shell::Shell;
use crate::agent::wait_for;
use crate::member::{Member, Role};

const NAMES: [&str; 3] = ["server-1", "server-2", "server-3"];

/// Servers that form a cluster once they have joined. Commands contact the first one.
pub(super) struct Servers {
    members: Vec<Member>,
    shell: Shell,
    /// Goes last.
    _directory: ExampleDirectory,
}

impl Servers {
    pub(super) fn start() -> Servers {
        let directory = ExampleDirectory::new("examples-servers");
        let mut members: Vec<Member> =
            NAMES.iter().map(|name| Member::new(name, Role::Server { expect: 3, join: Vec::new() })).collect();
        members.iter_mut().for_each(Member::start);
        let shell = Shell::new(&directory, &[("NOMAD_ADDR", &members[0].agent().address())]);
        Servers { members, shell, _directory: directory }
    }

    pub(super) fn run(mut self, examples: impl Iterator<Item = (&'static str, &'static str)>) {
        let mut failures = Vec::new();
        for (command, line) in examples {
            self.prepare(command, line);
            let line = self.with_live_ids(line);
            failures.extend(self.shell.example(command, &line, end(command, &line)));
        }
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }

    fn prepare(&mut self, command: &str, line: &str) {
        match command {
            // Leadership is transferred to another server, and a failed server is not the leader.
            "operator raft transfer-leadership" if line.contains("server-1") => self.lead(1),
            "operator raft transfer-leadership" | "operator raft remove-peer" => self.lead(0),
            "operator snapshot restore" | "operator snapshot save" => self.lead(0),
            "server force-leave" => self.members[2].kill(),
            _ => {}
        }
    }

    fn peers(&self) -> Result<Vec<Value>, String> {
        let peers = self.members[0].read("/v1/operator/raft/configuration")?;
        Ok(peers["Servers"].as_array().cloned().unwrap_or_default())
    }

    /// The ID of a server.
    fn id(&self, server: usize) -> Result<String, String> {
        let peers = self.peers()?;
        let address = self.members[server].rpc();
        let found = peers.iter().find(|peer| peer["Address"] == address.as_str());
        let id = found.and_then(|peer| peer["ID"].as_str()).ok_or(format!("{address} is not in {peers:?}"))?;
        Ok(id.into())
    }

    /// Makes a server the leader.
    fn lead(&self, server: usize) {
        let leader = || {
            let address = self.members[server].rpc();
            let found = self.peers()?.into_iter().find(|peer| peer["Leader"] == true);
            found.map(|peer| peer["Address"] == address.as_str()).ok_or("no leader".to_string())
        };
        wait_for("the server leads", || {
            if leader()? {
                return Ok(());
            }
            let line = format!("encamp operator raft transfer-leadership -peer-id {}", self.id(server)?);
            Err(self.shell.run(&line, super::Until::Exits).output)
        });
    }

    /// A line with the addresses and the IDs of these servers; the ID of an example is that of the second one.
    fn with_live_ids(&self, line: &str) -> String {
        let mut line = line.to_string();
        for (id, named) in IDS {
            if line.contains(&id[..8]) {
                assert_eq!(*named, Named::RaftPeer);
                line = line.replace(id, &self.id(1).expect("a Raft peer"));
            }
        }
        line.replace("10.0.0.12:4648", &self.members[1].serf()).replace("10.0.0.13:4648", &self.members[2].serf())
    }
}
