//! The cluster under test: five servers with disks of their own, and twenty nodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::agent::Agent;
use crate::disk::Disk;
use crate::failure::{Failure, Outcome};
use crate::http::{self, PATIENCE};
use crate::place::{NODES, Place, SERVERS};
use crate::shell::run;
use crate::switch::Switch;

/// How often the cluster is asked while something is waited for.
const POLL: Duration = Duration::from_millis(250);
/// How long the cluster may take to get ready.
const READY: Duration = Duration::from_secs(120);

/// All agents and their surroundings. Fields are dropped in order of declaration.
pub(crate) struct Cluster {
    pub(crate) servers: Vec<Agent>,
    pub(crate) nodes: Vec<Agent>,
    pub(crate) disks: Vec<Disk>,
    pub(crate) switch: Switch,
    _memory: Memory,
}

/// A file system in memory for all files of the cluster: the disk of the machine is not measured.
struct Memory(PathBuf);

impl Memory {
    fn new(folder: &Path) -> Outcome<Memory> {
        fs::create_dir_all(folder).map_err(|e| Failure::file(folder, e))?;
        run(&["mount", "-t", "tmpfs", "-o", "size=4g", "encamp-nemesis", &folder.display().to_string()])?;
        Ok(Memory(folder.into()))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A leftover is removed by hand.
        let _ = run(&["umount", "-l", &self.0.display().to_string()]);
    }
}

impl Cluster {
    /// Makes the disks and agents; starts nothing.
    ///
    /// # Errors
    /// The system refuses something: root is needed.
    pub(crate) fn new(switch: Switch, program: &Path, out: &Path) -> Outcome<Cluster> {
        let (work, logs) = (out.join("work"), out.join("logs"));
        let memory = Memory::new(&work)?;
        fs::create_dir_all(&logs).map_err(|e| Failure::file(&logs, e))?;
        let agent = |place: Place| Agent::new(place, program, &work.join(place.to_string()), &logs);
        let servers: Vec<Agent> = (0..SERVERS).map(|s| agent(Place::Server(s))).collect();
        let nodes: Vec<Agent> = (0..NODES).map(|n| agent(Place::Node(n))).collect();
        let disk = |server: &Agent| Disk::new(&work.join(format!("{}.disk", server.place)), &server.data());
        let disks = servers.iter().map(disk).collect::<Outcome<Vec<Disk>>>()?;
        Ok(Cluster { servers, nodes, disks, switch, _memory: memory })
    }

    /// Starts all agents, and waits until the cluster is ready.
    ///
    /// # Errors
    /// An agent does not start, or the cluster does not get ready.
    pub(crate) fn start(&mut self) -> Outcome {
        for server in &mut self.servers {
            server.start()?;
        }
        wait("a leader", READY, || self.leader().map(drop).ok_or_else(|| "none".into()))?;
        wait("five voters", READY, || self.has_voters(SERVERS.into()))?;
        for node in &mut self.nodes {
            node.start()?;
        }
        wait("twenty nodes", READY, || self.has_nodes(NODES.into()))
    }

    /// The agent of a server or a node.
    ///
    /// # Panics
    /// Clients have no agent.
    pub(crate) fn agent(&mut self, place: Place) -> &mut Agent {
        match place {
            Place::Server(number) => &mut self.servers[usize::from(number)],
            Place::Node(number) => &mut self.nodes[usize::from(number)],
            Place::Clients => unreachable!("clients have no agent"),
        }
    }

    /// The leader, according to a majority of the servers that say so.
    pub(crate) fn leader(&self) -> Option<u8> {
        let mut votes = [0_u8; SERVERS as usize];
        for server in 0..SERVERS {
            let said = read(Place::Server(server), "/v1/status/leader").ok();
            let address = said.as_ref().and_then(Json::as_str).and_then(|a| a.split(':').next()?.parse().ok());
            if let Some(Place::Server(leader)) = address.and_then(Place::of) {
                votes[usize::from(leader)] += 1;
            }
        }
        (0..SERVERS).max_by_key(|s| votes[usize::from(*s)]).filter(|s| votes[usize::from(*s)] > SERVERS / 2)
    }

    /// The IDs and addresses of the servers that vote, according to any server that answers.
    pub(crate) fn voters(&self) -> Result<Vec<(String, Place)>, String> {
        let mut why = String::new();
        for server in 0..SERVERS {
            match read(Place::Server(server), "/v1/operator/raft/configuration") {
                Ok(configuration) => return Ok(voters(&configuration)),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// Whether there are that many voters.
    ///
    /// # Errors
    /// There are others.
    pub(crate) fn has_voters(&self, count: usize) -> Result<(), String> {
        let voters = self.voters()?;
        if voters.len() == count { Ok(()) } else { Err(format!("{voters:?}")) }
    }

    /// Whether that many nodes are ready.
    ///
    /// # Errors
    /// There are others.
    pub(crate) fn has_nodes(&self, count: usize) -> Result<(), String> {
        let mut why = String::new();
        for server in 0..SERVERS {
            match read(Place::Server(server), "/v1/nodes") {
                Ok(nodes) => {
                    let nodes = nodes.as_array().cloned().unwrap_or_default();
                    let ready = nodes.iter().filter(|n| n["Status"] == "ready").count();
                    return if ready == count { Ok(()) } else { Err(format!("{ready} of {} nodes", nodes.len())) };
                }
                Err(error) => why = error,
            }
        }
        Err(why)
    }
}

fn voters(configuration: &Json) -> Vec<(String, Place)> {
    let servers = configuration["Servers"].as_array().cloned().unwrap_or_default();
    let place = |server: &Json| Place::of(server["Address"].as_str()?.split(':').next()?.parse().ok()?);
    let voter = |server: &Json| Some((server["ID"].as_str()?.to_string(), place(server)?));
    servers.iter().filter(|s| s["Voter"] == true).filter_map(voter).collect()
}

/// What a server answers to a read.
///
/// # Errors
/// There is no answer, or another one than 200.
pub(crate) fn read(from: Place, path: &str) -> Result<Json, String> {
    match http::call(from, "GET", path, "", PATIENCE) {
        Ok(reply) if reply.status == 200 => Ok(reply.json()),
        Ok(reply) => Err(format!("{from}: {} {}", reply.status, String::from_utf8_lossy(&reply.body))),
        Err(error) => Err(format!("{from}: {error:?}")),
    }
}

/// Waits until something is so.
///
/// # Errors
/// It is not so in time.
pub(crate) fn wait(what: &str, patience: Duration, mut is: impl FnMut() -> Result<(), String>) -> Outcome {
    let deadline = Instant::now() + patience;
    loop {
        match is() {
            Ok(()) => return Ok(()),
            Err(why) if Instant::now() > deadline => return Err(Failure::NotReady(format!("{what}: {why}"))),
            Err(_) => thread::sleep(POLL),
        }
    }
}
