//! Agents that work together: servers without nodes, nodes without servers, and what survives when one of them dies.

#[path = "support/agent.rs"]
mod agent;
#[path = "cluster_support/member.rs"]
mod member;
#[path = "support/program.rs"]
mod program;

use member::{Member, Role, node_ready, running};
use serde_json::{Value as Json, json};

/// A job of one task that runs until it is stopped.
fn job(name: &str) -> Json {
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", "echo here; sleep 600"]},
        "Resources": {"CPU": 20, "MemoryMB": 16},
    });
    let group = json!({"Name": "g", "Count": 1, "Tasks": [task]});
    json!({"Job": {"ID": name, "Name": name, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}})
}

#[test]
fn a_node_without_a_server_runs_the_jobs_of_its_servers() {
    let mut server = Member::new("cluster-server", Role::Server { expect: 1, join: vec![] });
    server.start();
    let mut node = Member::new("cluster-node", Role::Node { servers: vec![server.rpc()] });
    node.start();
    node_ready(&server);

    // Registered at the node, which passes it on.
    let made = node.agent().send("PUT", "/v1/jobs", &job("web"));
    assert_eq!(made.status, 200, "{}", made.body);
    let alloc = running(&server, "web");
    assert_eq!(running(&node, "web"), alloc, "both tell the same");
    assert_eq!(node.agent().get("/v1/agent/servers"), json!([server.rpc()]));
    assert_eq!(node.agent().get("/v1/status/leader"), json!(server.rpc()));
    let logs = node.agent().ask("GET", &format!("/v1/client/fs/logs/{alloc}?task=t&type=stdout&plain=true")).1;
    assert!(logs.contains("here"), "{logs}");

    // A node that comes back has what it had.
    node.kill();
    node.start();
    node_ready(&server);
    assert_eq!(running(&node, "web"), alloc);
    let made = server.agent().send("PUT", "/v1/jobs", &job("second"));
    assert_eq!(made.status, 200, "{}", made.body);
    running(&node, "second");

    // So has a server; the node finds it again.
    server.kill();
    server.start();
    assert_eq!(running(&server, "web"), alloc);
    let made = node.agent().send("PUT", "/v1/jobs", &job("third"));
    assert_eq!(made.status, 200, "{}", made.body);
    running(&server, "third");
    let stopped = node.agent().send("DELETE", "/v1/job/web?purge=true", &Json::Null);
    assert_eq!(stopped.status, 200, "{}", stopped.body);
}

#[test]
fn a_node_without_servers_says_so() {
    let mut node = Member::new("cluster-lonely", Role::Node { servers: vec!["127.0.0.1:1".into()] });
    node.start();
    let reply = agent::call(node.port(), "GET", "/v1/jobs", "", agent::PATIENCE).expect("an answer");
    assert_eq!(reply.status, 500, "{}", reply.body);
}
