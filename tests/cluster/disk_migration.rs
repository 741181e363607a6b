//! Ephemeral disks that move to another node (`docs/spec/client.md §9.3`).

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use encamp_model::migrate_token;
use rustls::ClientConfig;
use serde_json::{Value as Json, json};

use crate::agent::{PATIENCE, Reply, bootstrap, call_as, call_over, wait_for};
use crate::member::{Member, Role};
use crate::program::end_processes;
use crate::secure;
use crate::tls::Authority;

/// Writes once; the last file is written when the task is stopped, a second later.
const WRITES: &str = "cd $NOMAD_ALLOC_DIR/data; if [ -e x ]; then touch $NOMAD_ALLOC_DIR/found; else \
    echo kept > x; chmod 640 x; ln -s x link; mkdir deep; echo own > $NOMAD_TASK_DIR/own; fi; \
    trap 'sleep 1; echo last > $NOMAD_TASK_DIR/last; exit 0' INT; touch $NOMAD_ALLOC_DIR/ready; \
    while :; do sleep 0.05; done";
/// Eleven megabytes.
const WRITES_MUCH: &str = "cd $NOMAD_ALLOC_DIR/data; if [ -e big ]; then touch $NOMAD_ALLOC_DIR/found; fi; \
    head -c 11534336 /dev/zero > big; touch $NOMAD_ALLOC_DIR/ready; exec sleep 1000";

/// A server and nodes; nodes may speak TLS on their HTTP ports.
struct Cluster {
    server: Member,
    nodes: Vec<Member>,
    token: String,
    tls: Option<(Authority, Arc<ClientConfig>)>,
    pressure: bool,
}

impl Cluster {
    fn start(name: &str, acl: bool, tls: bool) -> Cluster {
        // A node that lives must not be given up on a busy machine: its tasks would be replaced and stopped.
        let quick = "server {\n  enabled = true\n  bootstrap_expect = 1\n  min_heartbeat_ttl = \"2s\"\n\
                     heartbeat_grace = \"5s\"\n}\n";
        let mut server = Member::new(&format!("{name}-server"), Role::Other(quick.into()));
        if acl {
            server.more = ACL.into();
        }
        server.start();
        let token = if acl {
            wait_for("a leader", || server.read("/v1/status/leader").map(drop));
            bootstrap(server.port())
        } else {
            String::new()
        };
        server.token.clone_from(&token);
        let mut cluster = Cluster { server, nodes: Vec::new(), token, tls: None, pressure: false };
        if tls {
            let authority = Authority::new();
            authority.configure(cluster.server.folder(), "localhost");
            let path = |file: &str| cluster.server.folder().path().join(file);
            let client = secure::client(&path("ca.pem"), Some((&path("own.pem"), &path("own-key.pem"))));
            cluster.tls = Some((authority, client));
        }
        cluster
    }

    /// Starts a node; gives its ID.
    fn add_node(&mut self, name: &str) -> String {
        // Under pressure the node removes whatever has ended.
        let threshold = if self.pressure { 1 } else { 100 };
        let mut node = Member::new(
            name,
            Role::Other(format!(
                "client {{\n  enabled = true\n  servers = [{:?}]\n  cpu_total_compute = 10000\n  memory_total_mb = 4000\n\
               disk_total_mb = 100000\n  gc_disk_usage_threshold = {threshold}\n  gc_inode_usage_threshold = 100\n}}\n\
             plugin \"raw_exec\" {{\n  config {{\n    enabled = true\n  }}\n}}\n",
                self.server.rpc()
            )),
        );
        if !self.token.is_empty() {
            node.more += ACL;
        }
        if let Some((authority, _)) = &self.tls {
            authority.configure(node.folder(), "client.global.nomad");
            node.more += "tls {\n  http = true\n  verify_https_client = true\n  ca_file = \"ca.pem\"\n\
                          cert_file = \"own.pem\"\n  key_file = \"own-key.pem\"\n}\n";
        }
        node.start();
        self.nodes.push(node);
        let mut id = String::new();
        wait_for("the node is ready", || {
            let nodes = self.server.read("/v1/nodes")?;
            let found = nodes.as_array().into_iter().flatten().find(|n| n["Name"] == name && n["Status"] == "ready");
            id = found.and_then(|n| n["ID"].as_str()).ok_or_else(|| nodes.to_string())?.into();
            Ok(())
        });
        id
    }

    fn send(&self, method: &str, path: &str, body: &Json) -> Reply {
        let reply = call_as(self.server.port(), &self.token, method, path, &body.to_string(), PATIENCE);
        let reply = reply.expect("an answer");
        assert_eq!(reply.status, 200, "{method} {path}: {}", reply.body);
        reply
    }

    /// Runs a job of one allocation whose disk moves.
    fn run(&self, job: &str, script: &str) {
        let task = json!({
            "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 20}, "KillTimeout": 10_000_000_000_u64,
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
        });
        let group = json!({
            "Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 10, "Sticky": true, "Migrate": true}, "Tasks": [task],
        });
        let job = json!({"ID": job, "Name": job, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]});
        self.send("PUT", "/v1/jobs", &json!({ "Job": job }));
    }

    /// Waits until an allocation of a job runs on a node and is ready; gives its ID.
    fn running(&self, job: &str, node: &str, at: usize) -> String {
        let mut id = String::new();
        wait_for("the job runs on the node", || {
            let allocs = self.server.read(&format!("/v1/job/{job}/allocations"))?;
            let mut of_job = allocs.as_array().into_iter().flatten();
            let found = of_job.find(|a| a["NodeID"] == *node && a["ClientStatus"] == "running");
            id = found.and_then(|a| a["ID"].as_str()).ok_or_else(|| allocs.to_string())?.into();
            if self.dir(at, &id).join("alloc/ready").exists() { Ok(()) } else { Err("not ready".into()) }
        });
        id
    }

    fn dir(&self, node: usize, alloc: &str) -> PathBuf {
        self.nodes[node].data().join("alloc").join(alloc)
    }

    /// Asks a node for the disk of an allocation.
    fn snapshot(&self, node: usize, alloc: &str, token: &str) -> Reply {
        let (port, path) = (self.nodes[node].port(), format!("/v1/client/allocation/{alloc}/snapshot"));
        match &self.tls {
            None => call_as(port, token, "GET", &path, "", PATIENCE),
            Some((_, client)) => secure::connect(port, "client.global.nomad", client)
                .and_then(|stream| call_over(stream, token, "GET", &path, "")),
        }
        .expect("an answer")
    }

    /// The migrate token of an allocation of a node.
    fn migrate_token(&self, node: usize, alloc: &str) -> String {
        let secret = std::fs::read_to_string(self.nodes[node].data().join("client/secret-id")).expect("the secret");
        migrate_token(alloc, &secret.trim().into()).expect("a token").expose().to_string()
    }
}

const ACL: &str = "acl {\n  enabled = true\n}\n";

fn text(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn a_disk_moves(name: &str, acl: bool, tls: bool) {
    let mut cluster = Cluster::start(name, acl, tls);
    cluster.pressure = tls;
    let first = cluster.add_node(&format!("{name}-1"));
    cluster.run("keeps", WRITES);
    cluster.run("large", WRITES_MUCH);
    let old = cluster.running("keeps", &first, 0);
    let large = cluster.running("large", &first, 0);
    let token = cluster.migrate_token(0, &old);
    let early = cluster.snapshot(0, &old, &token);
    assert_eq!((early.status, early.body.contains("has not ended")), (400, true), "{}", early.body);
    let second = cluster.add_node(&format!("{name}-2"));
    let drain = json!({"DrainSpec": {"Deadline": 60_000_000_000_u64}, "MarkEligible": false});
    cluster.send("PUT", &format!("/v1/node/{first}/drain"), &drain);

    let new = cluster.running("keeps", &second, 1);
    let dir = cluster.dir(1, &new);
    let found = dir.join("alloc/found").exists();
    assert!(found, "the task saw the data of its predecessor: {}", cluster.nodes[1].log());
    assert_eq!((text(dir.join("alloc/data/x")), text(dir.join("main/local/own"))), ("kept\n".into(), "own\n".into()));
    assert_eq!(text(dir.join("main/local/last")), "last\n", "what the task wrote when it was stopped came, too");
    assert_eq!(std::fs::read_link(dir.join("alloc/data/link")).expect("a link"), PathBuf::from("x"));
    let mode = dir.join("alloc/data/x").metadata().expect("the file").permissions().mode();
    assert_eq!((mode & 0o7777, dir.join("alloc/data/deep").is_dir()), (0o640, true));
    assert!(!dir.join("alloc/.arrivals").exists());

    // A disk that is larger than its group may have does not come; the allocation runs.
    let new = cluster.running("large", &second, 1);
    assert!(!cluster.dir(1, &new).join("alloc/found").exists(), "the disk is empty");
    let log = cluster.nodes[1].log();
    assert!(log.contains("it is larger than the 10 MiB of ephemeral_disk.size"), "{log}");

    // Only the token of that very allocation opens its disk, whoever asks, and it is in no log.
    if cluster.pressure {
        let gone = cluster.dir(0, &old);
        wait_for("the disk that was read is removed", || if gone.exists() { Err("there".into()) } else { Ok(()) });
    } else {
        let whole = cluster.snapshot(0, &old, &token);
        assert!(whole.status == 200 && whole.body.contains("kept"), "{}", whole.status);
    }
    for wrong in
        ["", "x", &token[1..], &cluster.migrate_token(0, &large), &cluster.migrate_token(1, &old), &cluster.token]
    {
        let refused = cluster.snapshot(0, &old, wrong);
        assert_eq!((refused.status, refused.body.as_str()), (403, "Permission denied"), "{wrong}");
    }
    let unknown = "9fd1b1a4-6c0f-4d2e-a9a8-0c1cbd43c55b";
    assert_eq!(cluster.snapshot(0, unknown, &token).status, 403);
    assert_eq!(cluster.snapshot(0, unknown, &cluster.migrate_token(0, unknown)).status, 404);
    for member in cluster.nodes.iter_mut().chain([&mut cluster.server]) {
        assert!(!member.log().contains(&token), "the token is in a log");
    }
    for job in ["keeps", "large"] {
        cluster.send("DELETE", &format!("/v1/job/{job}?purge=true"), &Json::Null);
    }
}

#[test]
fn a_disk_moves_when_its_node_is_drained() {
    a_disk_moves("disk-moves", false, false);
}

#[test]
fn a_disk_moves_with_access_control_and_tls() {
    a_disk_moves("disk-moves-tls", true, true);
}

#[test]
fn without_its_old_node_an_allocation_starts_with_an_empty_disk() {
    let mut cluster = Cluster::start("disk-lost", false, false);
    let first = cluster.add_node("disk-lost-1");
    cluster.run("keeps", WRITES);
    cluster.running("keeps", &first, 0);
    let second = cluster.add_node("disk-lost-2");
    cluster.nodes[0].kill();
    let new = cluster.running("keeps", &second, 1);
    let dir = cluster.dir(1, &new);
    assert!(!dir.join("alloc/found").exists() && dir.join("alloc/data/x").exists(), "the disk was empty");
    let log = cluster.nodes[1].log();
    assert!(log.contains("its node is not ready, or does not have the allocation any more"), "{log}");
    cluster.send("DELETE", "/v1/job/keeps?purge=true", &Json::Null);
    // The task outlives the agent of its node.
    end_processes(&cluster.nodes[0].data());
}
