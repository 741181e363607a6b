//! From plain connections to mTLS, and to another authority, without an outage: the steps of `docs/guide/tls.md`, with
//! its commands and configuration blocks, on three servers and two nodes that take writes all the time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::{fs, thread};

use rustls::ClientConfig;
use serde_json::{Value as Json, json};

use crate::agent::wait_for;
use crate::member::{Member, Role};
use crate::program::{Folder, run_in};
use crate::secure;

/// The agents that are servers; the others are nodes.
const SERVERS: usize = 3;
const AGENTS: usize = 5;
/// Writers at the same time.
const WRITERS: usize = 2;

/// The blocks of the guide of one language, in their order.
fn blocks(language: &str) -> Vec<String> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/tls.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let begin = format!("```{language}\n");
    guide.split(&begin).skip(1).map(|b| b.split("```").next().expect("an end").to_string()).collect()
}

/// Runs the commands of a block in a new directory.
fn certificates(name: &str, commands: &str) -> Folder {
    let folder = Folder::new(name);
    for line in commands.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(words[0], "encamp", "{line}");
        let ran = run_in(folder.path(), &words[1..]);
        assert_eq!(ran.exit, 0, "{line}: {ran:?}");
    }
    folder
}

/// How the agents are reached now.
struct Addresses {
    ports: Vec<u16>,
    https: Vec<AtomicBool>,
    client: RwLock<Arc<ClientConfig>>,
}

impl Addresses {
    fn ask(&self, agent: usize, method: &str, path: &str, body: &str) -> Result<Json, String> {
        let client = self.client.read().unwrap().clone();
        let tls = self.https[agent].load(Ordering::SeqCst).then_some(&client);
        let reply = secure::request(self.ports[agent], tls, method, path, body).map_err(|e| e.to_string())?;
        if reply.status == 200 { Ok(reply.json()) } else { Err(format!("{} {}", reply.status, reply.body)) }
    }

    fn read(&self, agent: usize, path: &str) -> Result<Json, String> {
        self.ask(agent, "GET", path, "")
    }
}

/// A job that needs `count` allocations.
fn job(id: &str, count: usize) -> String {
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": 20, "MemoryMB": 16},
    });
    let group = json!({"Name": "g", "Count": count, "Tasks": [task]});
    json!({"Job": {"ID": id, "Name": id, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}}).to_string()
}

/// Writes and what came of them.
#[derive(Default)]
struct Writes {
    stop: AtomicBool,
    /// The jobs that agents have acknowledged.
    acknowledged: Mutex<Vec<String>>,
    /// Writes that were tried a second time, at another agent.
    again: AtomicUsize,
    /// Writes that failed twice.
    failures: Mutex<Vec<String>>,
}

impl Writes {
    /// Registers one job after the other, each at another agent, until it is stopped.
    fn work(&self, addresses: &Addresses, writer: usize) {
        let mut n = writer;
        while !self.stop.load(Ordering::SeqCst) {
            let id = format!("write-{writer}-{n:05}");
            let body = job(&id, 0);
            let write = |agent: usize| addresses.ask(agent % AGENTS, "PUT", "/v1/jobs", &body).map(drop);
            let written = write(n).or_else(|first| {
                self.again.fetch_add(1, Ordering::SeqCst);
                write(n + 1).map_err(|second| format!("{id}: {first}; then: {second}"))
            });
            match written {
                Ok(()) => self.acknowledged.lock().unwrap().push(id),
                Err(why) => self.failures.lock().unwrap().push(why),
            }
            n += 1;
        }
    }

    /// Waits until all agents have taken writes, and checks that none has failed.
    fn progress(&self) {
        let count = || self.acknowledged.lock().unwrap().len();
        let wanted = count() + WRITERS * (AGENTS + 1);
        wait_for("writes go on", || {
            assert_eq!(*self.failures.lock().unwrap(), [] as [String; 0]);
            if count() >= wanted { Ok(()) } else { Err(format!("{} of {wanted}", count())) }
        });
    }
}

/// Stops the writers when dropped: the scope waits for them.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The cluster while it changes.
struct Rollout<'a> {
    agents: &'a mut [Member],
    addresses: &'a Addresses,
    writes: &'a Writes,
    /// Jobs that were placed after a step.
    placed: usize,
}

impl Rollout<'_> {
    /// Gives agents another block `tls`, one after the other; `https`: whether it turns HTTPS on.
    fn step(&mut self, agents: std::ops::Range<usize>, block: &str, https: bool) {
        for agent in agents {
            let member = &mut self.agents[agent];
            let directory = format!("{}/", member.folder().path().display());
            let block = block.replace("/etc/encamp/tls/", &directory);
            let (begin, _) = member.more.split_once("tls {").unwrap_or((&member.more, ""));
            member.more = format!("{begin}{block}");
            member.reload();
            self.addresses.https[agent].store(https, Ordering::SeqCst);
            self.writes.progress();
        }
        self.settled();
    }

    /// Has all agents read their files again, one after the other.
    fn reload(&mut self) {
        for agent in 0..AGENTS {
            self.agents[agent].reload();
            self.writes.progress();
        }
        self.settled();
    }

    /// Gives all agents files; the name of a server's certificate is that of a client's for nodes.
    fn copy(&self, from: &Folder, files: &[(&str, &str)]) {
        for (agent, member) in self.agents.iter().enumerate() {
            let kind = if agent < SERVERS { "server" } else { "client" };
            for (file, copy) in files {
                let content = fs::read(from.path().join(file.replace("server", kind))).expect("a file");
                member.folder().file(copy, content);
            }
        }
    }

    /// Waits until the servers agree on a leader and are alive, all nodes are ready, and a new job runs.
    fn settled(&mut self) {
        let addresses = self.addresses;
        for server in 0..SERVERS {
            wait_for("the servers are alive", || {
                let leader = addresses.read(server, "/v1/status/leader")?;
                let members = addresses.read(server, "/v1/agent/members")?;
                let alive =
                    members["Members"].as_array().map_or(0, |m| m.iter().filter(|m| m["Status"] == "alive").count());
                let known = self.agents[..SERVERS].iter().any(|s| leader == s.rpc().as_str());
                if alive == SERVERS && known { Ok(()) } else { Err(format!("{leader} {members}")) }
            });
        }
        self.placed += 1;
        let id = format!("placed-{}", self.placed);
        wait_for("a job is registered", || addresses.ask(AGENTS - 1, "PUT", "/v1/jobs", &job(&id, 2)).map(drop));
        wait_for("the job runs", || {
            let allocs = addresses.read(0, &format!("/v1/job/{id}/allocations"))?;
            let running = |a: &&Json| a["ClientStatus"] == "running";
            if allocs.as_array().is_some_and(|a| a.iter().filter(running).count() == 2) {
                return Ok(());
            }
            Err(allocs.to_string())
        });
        wait_for("the nodes are ready", || {
            let nodes = addresses.read(0, "/v1/nodes")?;
            let ready = nodes.as_array().map_or(0, |n| n.iter().filter(|n| n["Status"] == "ready").count());
            if ready == AGENTS - SERVERS { Ok(()) } else { Err(nodes.to_string()) }
        });
        self.writes.progress();
    }

    fn rpc_ports(&self) -> Vec<u16> {
        self.agents[..SERVERS].iter().map(|s| s.ports()[1]).collect()
    }

    /// Checks what kinds of calls the servers take.
    fn takes(&self, plain: bool, secure: Option<&Arc<ClientConfig>>, what: &str) {
        for port in self.rpc_ports() {
            assert_eq!(secure::takes_plain_calls(port), plain, "{what}: without TLS");
            if let Some(client) = secure {
                assert!(secure::takes_calls(port, client), "{what}: with TLS");
            }
        }
    }
}

fn started() -> Vec<Member> {
    let mut agents: Vec<Member> = Vec::new();
    for n in 0..SERVERS {
        let join = agents.iter().map(Member::serf).collect();
        let mut server = Member::new(&format!("tls-server-{n}"), Role::Server { expect: 3, join });
        // On a busy machine, a response may take longer than the election timeout.
        server.more = "server {\n  raft_multiplier = 3\n}\n".into();
        server.start();
        agents.push(server);
    }
    for n in 0..AGENTS - SERVERS {
        let servers = agents[..SERVERS].iter().map(Member::rpc).collect();
        let mut node = Member::new(&format!("tls-node-{n}"), Role::Node { servers });
        node.start();
        agents.push(node);
    }
    agents
}

/// The client configuration of an operator with the certificates of a directory.
fn operator(folder: &Folder, ca: &Path) -> Arc<ClientConfig> {
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    secure::client(ca, Some((&path("global-cli-nomad.pem"), &path("global-cli-nomad-key.pem"))))
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_running_cluster_changes_to_mtls_and_to_another_authority_without_a_failed_write() {
    let (hcl, commands) = (blocks("hcl"), blocks("sh"));
    let [both, servers_call, nodes_call, only_tls, https, clients] = hcl.as_slice() else { panic!("{hcl:?}") };
    let [create, replace] = commands.as_slice() else { panic!("{commands:?}") };
    let (old, new) = (certificates("tls-old", create), certificates("tls-new", replace));
    let old_ca = old.path().join("nomad-agent-ca.pem");
    let old_cli = operator(&old, &old_ca);

    let mut agents = started();
    let addresses = Addresses {
        ports: agents.iter().map(Member::port).collect(),
        https: (0..AGENTS).map(|_| AtomicBool::new(false)).collect(),
        client: RwLock::new(old_cli.clone()),
    };
    let pids: Vec<u32> = agents.iter().map(|a| a.agent().pid()).collect();
    let writes = Writes::default();
    thread::scope(|scope| {
        let mut cluster = Rollout { agents: &mut agents, addresses: &addresses, writes: &writes, placed: 0 };
        cluster.copy(
            &old,
            &[
                ("nomad-agent-ca.pem", "ca.pem"),
                ("global-server-nomad.pem", "agent.pem"),
                ("global-server-nomad-key.pem", "agent-key.pem"),
            ],
        );
        let _stop = Stop(&writes.stop);
        wait_for("there is a leader", || match addresses.read(0, "/v1/status/leader")?.as_str() {
            Some("") | None => Err("none".into()),
            Some(_) => Ok(()),
        });
        for writer in 0..WRITERS {
            let (writes, addresses) = (&writes, &addresses);
            scope.spawn(move || writes.work(addresses, writer));
        }
        cluster.settled();
        cluster.takes(true, None, "before");
        assert!(!secure::takes_calls(cluster.rpc_ports()[0], &old_cli), "before");

        cluster.step(0..SERVERS, both, false);
        cluster.takes(true, Some(&old_cli), "servers accept both");
        cluster.step(0..SERVERS, servers_call, false);
        cluster.step(SERVERS..AGENTS, nodes_call, false);
        cluster.takes(true, Some(&old_cli), "all call with TLS");
        let plain: Vec<_> = cluster.rpc_ports().into_iter().map(secure::open_call_connection).collect();
        cluster.step(0..SERVERS, only_tls, false);
        cluster.takes(false, Some(&old_cli), "servers refuse calls without TLS");
        for connection in plain {
            secure::call_connection_ends(connection).expect("connections without TLS end");
        }
        let stranger = secure::client(&old_ca, None);
        assert!(!secure::takes_calls(cluster.rpc_ports()[0], &stranger), "no certificate");

        cluster.step(0..AGENTS, https, true);
        for agent in 0..AGENTS {
            let port = addresses.ports[agent];
            assert!(secure::request(port, None, "GET", "/v1/status/leader", "").is_err(), "HTTP on {agent}");
            let reply = secure::request(port, Some(&stranger), "GET", "/v1/status/leader", "");
            assert_eq!(reply.expect("an answer").status, 200, "no certificate is needed yet");
        }
        wait_for("the servers know that the nodes speak HTTPS", || {
            let nodes = addresses.read(0, "/v1/nodes")?;
            for node in nodes.as_array().into_iter().flatten() {
                let node = addresses.read(0, &format!("/v1/node/{}", node["ID"].as_str().unwrap_or_default()))?;
                if node["TLSEnabled"] != true {
                    return Err(node.to_string());
                }
            }
            Ok(())
        });
        cluster.step(0..AGENTS, clients, true);
        for port in &addresses.ports {
            let reply = secure::request(*port, Some(&stranger), "GET", "/v1/status/leader", "");
            assert!(reply.is_err(), "a client without a certificate: {reply:?}");
        }

        // Another authority, in three steps.
        let both_authorities = Folder::new("tls-both");
        let pem = |folder: &Folder| fs::read_to_string(folder.path().join("nomad-agent-ca.pem")).expect("an authority");
        let ca = both_authorities.file("ca.pem", format!("{}{}", pem(&old), pem(&new)));
        cluster.copy(&both_authorities, &[("ca.pem", "ca.pem")]);
        cluster.reload();
        *addresses.client.write().unwrap() = operator(&old, &ca);
        cluster
            .copy(&new, &[("global-server-nomad.pem", "agent.pem"), ("global-server-nomad-key.pem", "agent-key.pem")]);
        cluster.reload();
        *addresses.client.write().unwrap() = operator(&new, &ca);
        cluster.copy(&new, &[("nomad-agent-ca.pem", "ca.pem")]);
        cluster.reload();
        let new_ca = new.path().join("nomad-agent-ca.pem");
        *addresses.client.write().unwrap() = operator(&new, &new_ca);
        cluster.settled();
        let (trusting, renewed) = (operator(&old, &new_ca), operator(&new, &new_ca));
        cluster.takes(false, Some(&renewed), "another authority");
        assert!(!secure::takes_calls(cluster.rpc_ports()[0], &trusting), "a certificate of the old authority");
        let reply = secure::request(addresses.ports[0], Some(&trusting), "GET", "/v1/status/leader", "");
        assert!(reply.is_err(), "a certificate of the old authority: {reply:?}");
        assert!(!secure::takes_calls(cluster.rpc_ports()[0], &old_cli), "the old authority is gone");
    });

    assert_eq!(*writes.failures.lock().unwrap(), [] as [String; 0]);
    let acknowledged = writes.acknowledged.lock().unwrap();
    for server in 0..SERVERS {
        wait_for("all servers have the acknowledged writes", || {
            let jobs = addresses.read(server, "/v1/jobs?stale&prefix=write-")?;
            let jobs: Vec<&str> = jobs.as_array().into_iter().flatten().filter_map(|j| j["ID"].as_str()).collect();
            let missing: Vec<_> = acknowledged.iter().filter(|id| !jobs.contains(&id.as_str())).collect();
            if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} are missing")) }
        });
    }
    let now: Vec<u32> = agents.iter().map(|a| a.agent().pid()).collect();
    assert_eq!(now, pids, "no agent was restarted");
    println!("{} writes, {} of them at the second attempt", acknowledged.len(), writes.again.load(Ordering::SeqCst));
}
