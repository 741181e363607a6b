//! Clusters of agents: servers without nodes, nodes without servers, and the loss of servers or nodes.

use std::io::{Read, Write};
use std::time::Duration;

use crate::agent;
use crate::agent::wait_for;
use crate::member::{Member, Role, leader, node_ready, running};
use crate::tls;
use serde_json::{Value as Json, json};

/// A job with one task that runs until it is stopped.
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

    // Registered through the node, which forwards the request.
    let made = node.agent().send("PUT", "/v1/jobs", &job("web"));
    assert_eq!(made.status, 200, "{}", made.body);
    let alloc = running(&server, "web");
    assert_eq!(running(&node, "web"), alloc, "both return the same");
    assert_eq!(node.agent().get("/v1/agent/servers"), json!([server.rpc()]));
    assert_eq!(node.agent().get("/v1/status/leader"), json!(server.rpc()));
    assert_eq!(statuses(&node), Ok(vec!["alive".to_string()]));
    let logs = node.agent().ask("GET", &format!("/v1/client/fs/logs/{alloc}?task=t&type=stdout&plain=true")).1;
    assert!(logs.contains("here"), "{logs}");

    // A restarted node recovers its allocations.
    node.kill();
    node.start();
    node_ready(&server);
    assert_eq!(running(&node, "web"), alloc);
    let made = server.agent().send("PUT", "/v1/jobs", &job("second"));
    assert_eq!(made.status, 200, "{}", made.body);
    running(&node, "second");

    // A restarted server recovers its state; the node reconnects to it.
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

/// Three servers that join each other: two know the first one, one by its gossip address, one by its RPC address.
fn three(name: &str, more: &str) -> Vec<Member> {
    let server = |n: u32, join| {
        let mut member = Member::new(&format!("cluster-{name}-{n}"), Role::Server { expect: 3, join });
        member.more = more.into();
        member.start();
        member
    };
    let first = server(1, vec![]);
    let (by_gossip, by_call) = (vec![first.serf()], vec![first.rpc()]);
    vec![first, server(2, by_gossip), server(3, by_call)]
}

/// The statuses of the servers according to a server, by name.
fn statuses(at: &Member) -> Result<Vec<String>, String> {
    let members = at.read("/v1/agent/members")?["Members"].as_array().cloned().unwrap_or_default();
    Ok(members.iter().filter_map(|m| m["Status"].as_str().map(String::from)).collect())
}

/// The addresses of the voters.
fn voters(at: &Member) -> Result<Vec<String>, String> {
    let servers = at.read("/v1/operator/raft/configuration")?["Servers"].as_array().cloned().unwrap_or_default();
    let voters = servers.iter().filter(|s| s["Voter"] == true);
    Ok(voters.filter_map(|s| s["Address"].as_str().map(String::from)).collect())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, want: &T, mut get: impl FnMut() -> Result<T, String>) {
    wait_for(what, || match get()? {
        got if got == *want => Ok(()),
        got => Err(format!("{got:?}")),
    });
}

fn register(at: &Member, name: &str) -> Result<(), String> {
    let body = job(name).to_string();
    let reply = agent::call(at.port(), "PUT", "/v1/jobs", &body, agent::PATIENCE).map_err(|e| e.to_string())?;
    if reply.status == 200 { Ok(()) } else { Err(format!("{} {}", reply.status, reply.body)) }
}

fn jobs(at: &Member, query: &str) -> Result<Vec<String>, String> {
    let jobs = at.read(&format!("/v1/jobs?{query}"))?.as_array().cloned().unwrap_or_default();
    Ok(jobs.iter().filter_map(|j| j["ID"].as_str().map(String::from)).collect())
}

#[test]
fn servers_survive_the_loss_of_their_leader() {
    let mut servers = three("loss", "");
    let first = leader(&servers);
    for server in &servers {
        expect("all are members", &vec!["alive".to_string(); 3], || statuses(server));
        expect("all vote", &3, || voters(server).map(|v| v.len()));
    }
    let follower = (first + 1) % 3;
    register(&servers[follower], "kept").expect("registered by way of a follower");
    for server in &servers {
        assert_eq!(jobs(server, ""), Ok(vec!["kept".to_string()]), "acknowledged writes can be read from all servers");
    }

    servers[first].kill();
    let rest: Vec<&Member> = servers.iter().filter(|s| s.port() != servers[first].port()).collect();
    wait_for("writes go on", || register(rest[0], "after"));
    for server in &rest {
        assert_eq!(jobs(server, ""), Ok(vec!["after".to_string(), "kept".to_string()]));
    }
    // Enough writes that the log no longer contains the entries that the failed server lacks.
    for n in 0..80 {
        register(rest[n % 2], &format!("more-{n:02}")).expect("registered");
    }
    expect("the loss is noticed", &1, || Ok(statuses(rest[0])?.iter().filter(|s| *s == "failed").count()));
    assert_eq!(voters(rest[0]).map(|v| v.len()), Ok(3), "it may come back");

    servers[first].start();
    let want = jobs(&servers[follower], "").expect("a list");
    assert_eq!(want.len(), 82);
    expect("the dead server catches up", &want, || jobs(&servers[first], "stale"));
    expect("it is a member again", &vec!["alive".to_string(); 3], || statuses(&servers[follower]));
    servers[first].agent_mut().until("installed remote snapshot");
    register(&servers[first], "last").expect("registered");
    assert_eq!(jobs(&servers[follower], "").map(|j| j.len()), Ok(83));
}

#[test]
fn servers_come_and_go() {
    let mut servers = three("change", "leave_on_terminate = true\n");
    let first = leader(&servers);
    let heir = (first + 1) % 3;
    let path = format!("/v1/operator/raft/transfer-leadership?address={}", servers[heir].rpc());
    let moved = servers[first].agent().send("PUT", &path, &Json::Null);
    assert_eq!(moved.status, 200, "{}", moved.body);
    assert_eq!(moved.json()["To"]["Address"], servers[heir].rpc());
    assert_eq!(leader(&servers), heir);
    let short = json!({"CleanupDeadServers": true, "LastContactThreshold": "200ms", "MaxTrailingLogs": 250,
        "ServerStabilizationTime": "500ms"});
    let set = servers[first].agent().send("PUT", "/v1/operator/autopilot/configuration", &short);
    assert_eq!(set.status, 200, "{}", set.body);

    // The leader leaves: another server is elected, and two voters remain.
    assert_eq!(servers[heir].end(rustix::process::Signal::TERM), 0);
    let left = servers.remove(heir);
    wait_for("writes go on", || register(&servers[0], "kept"));
    expect("the leaver is no member", &2, || voters(&servers[0]).map(|v| v.len()));
    for server in &servers {
        expect("it has left", &1, || Ok(statuses(server)?.iter().filter(|s| *s == "left").count()));
    }

    // A new server joins by an operator's command, and becomes a voter after a while.
    let mut new = Member::new("cluster-change-4", Role::Server { expect: 3, join: vec![] });
    new.start();
    let joined = new.agent().send("PUT", &format!("/v1/agent/join?address={}", servers[1].serf()), &Json::Null);
    assert_eq!(joined.json()["num_joined"], 1, "{}", joined.body);
    expect("the new server votes", &3, || voters(&servers[0]).map(|v| v.len()));
    expect("it has the state", &vec!["kept".to_string()], || jobs(&new, "stale"));

    // It fails permanently.
    let gone = new.rpc();
    new.kill();
    expect("its loss is noticed", &1, || Ok(statuses(&servers[0])?.iter().filter(|s| *s == "failed").count()));
    let forced = servers[0].agent().send("PUT", "/v1/agent/force-leave?node=cluster-change-4", &Json::Null);
    assert_eq!(forced.status, 200, "{}", forced.body);
    expect("it votes no more", &false, || Ok(voters(&servers[0])?.contains(&gone)));
    assert!(!voters(&servers[1]).expect("voters").contains(&left.rpc()));
}

fn force_leave(at: &Member, node: &str, prune: bool) {
    let prune = if prune { "&prune=true" } else { "" };
    let forced = at.agent().send("PUT", &format!("/v1/agent/force-leave?node={node}{prune}"), &Json::Null);
    assert_eq!((forced.status, forced.body.as_str()), (200, ""), "{node}");
}

#[test]
fn servers_in_every_state_are_forced_to_leave() {
    let mut servers = three("forced", "");
    leader(&servers);
    for server in &servers {
        expect("all are members", &vec!["alive".to_string(); 3], || statuses(server));
    }
    force_leave(&servers[0], "nobody.global", false);
    assert_eq!(statuses(&servers[0]), Ok(vec!["alive".to_string(); 3]), "nobody is known by that name");

    // Servers that answer leave for a while, on all servers; they keep their votes, and stay.
    force_leave(&servers[0], "cluster-forced-2.global", false);
    force_leave(&servers[0], "cluster-forced-3", true);
    let leaving = ["alive", "leaving", "leaving"].map(String::from).to_vec();
    for server in &servers {
        expect("two leave", &leaving, || statuses(server));
        let health = server.read("/v1/operator/raft/configuration");
        assert_eq!(health.map(|h| h["Servers"].as_array().map(Vec::len)), Ok(Some(3)));
    }
    for server in &servers {
        expect("they stay", &vec!["alive".to_string(); 3], || statuses(server));
        assert_eq!(voters(server).map(|v| v.len()), Ok(3));
    }

    // One that stops while it leaves has not failed, but left.
    force_leave(&servers[0], "cluster-forced-3", false);
    servers[2].kill();
    let left = |word: &str| ["alive", "alive", word].map(String::from).to_vec();
    for server in &servers[..2] {
        expect("it has left", &left("left"), || statuses(server));
        expect("it votes no more", &2, || voters(server).map(|v| v.len()));
    }
    // It returns, and fails.
    servers[2].start();
    for server in &servers[..2] {
        expect("it is back", &left("alive"), || statuses(server));
    }
    servers[2].kill();
    for server in &servers[..2] {
        expect("it has failed", &left("failed"), || statuses(server));
    }
    force_leave(&servers[1], "cluster-forced-3", false);
    for server in &servers[..2] {
        expect("it has left again", &left("left"), || statuses(server));
    }
    force_leave(&servers[1], "cluster-forced-3.global", true);
    for server in &servers[..2] {
        expect("it is forgotten", &vec!["alive".to_string(); 2], || statuses(server));
    }
}

/// Follows the log of the server that `server_id` names, as the agent that is asked sends it, until a request that only
/// that server answers shows.
fn follows(asked: &Member, server_id: &str, server: &Member) {
    let mut stream = asked.agent().connect();
    let path = format!("/v1/agent/monitor?plain=true&log_level=debug&server_id={server_id}");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").expect("written");
    stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let (mut seen, mut buffer) = (String::new(), [0; 4096]);
    wait_for(&format!("the log of {server_id}"), || {
        server.read("/v1/job/marker/allocations?stale").map(drop)?;
        if let Ok(n) = stream.read(&mut buffer) {
            seen.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
        assert!(!seen.contains("unknown Nomad server"), "{seen}");
        if seen.contains("path=/v1/job/marker/allocations") { Ok(()) } else { Err(seen.clone()) }
    });
}

#[test]
fn agents_answer_for_the_server_that_is_named() {
    let mut servers = three("named", "enable_debug = true\n");
    let first = leader(&servers);
    for server in &servers {
        expect("all are members", &vec!["alive".to_string(); 3], || statuses(server));
    }
    let mut node = Member::new("cluster-named-node", Role::Node { servers: servers.iter().map(Member::rpc).collect() });
    node.start();
    node_ready(&servers[first]);
    let members = servers[0].read("/v1/agent/members").expect("members")["Members"].clone();
    for (i, server) in servers.iter().enumerate() {
        let (name, id) = (members[i]["Name"].clone(), members[i]["Tags"]["id"].clone());
        let names = [&name, &id].map(|v| v.as_str().unwrap_or_default().to_string());
        for asked in servers.iter().chain([&node]) {
            for name in &names {
                follows(asked, name, server);
                let host = asked.read(&format!("/v1/agent/host?server_id={name}")).expect("its host");
                assert_eq!(host["AgentID"], json!(name));
            }
        }
    }
    for asked in servers.iter().chain([&node]) {
        follows(asked, "leader", &servers[first]);
        let response = asked.agent().send("GET", "/v1/agent/monitor?server_id=nobody", &Json::Null);
        assert_eq!((response.status, response.body.as_str()), (500, "RPC Error:: 400,unknown Nomad server nobody"));
    }
    // Who does not answer is not waited for.
    let lost = (first + 1) % 3;
    let name = members[lost]["Name"].as_str().unwrap_or_default().to_string();
    servers[lost].kill();
    let response = servers[first].agent().send("GET", &format!("/v1/agent/host?server_id={name}"), &Json::Null);
    assert_eq!(response.status, 500, "{}", response.body);
}

#[test]
fn followers_schedule_and_nodes_follow_the_leader() {
    let mut servers = three("work", "");
    let first = leader(&servers);
    // The leader's own workers are disabled: all placements were scheduled by a follower.
    let none = json!({"num_schedulers": 0, "enabled_schedulers": ["service", "_core"]});
    let set = servers[first].agent().send("PUT", "/v1/agent/schedulers/config", &none);
    assert_eq!(set.status, 200, "{}", set.body);
    let mut node = Member::new("cluster-work-node", Role::Node { servers: servers.iter().map(Member::rpc).collect() });
    node.start();
    node_ready(&servers[first]);
    register(&node, "afar").expect("registered");
    let alloc = running(&node, "afar");
    for server in &servers {
        assert_eq!(running(server, "afar"), alloc);
    }
    expect("the evaluation ends on the leader", &vec!["complete".to_string()], || {
        let list = servers[first].read("/v1/job/afar/evaluations")?.as_array().cloned().unwrap_or_default();
        let mut words: Vec<String> = list.iter().filter_map(|e| e["Status"].as_str().map(String::from)).collect();
        words.dedup();
        Ok(words)
    });

    // An evaluation that cannot be placed is blocked on the leader, and unblocked when there is capacity.
    let mut large = job("large");
    large["Job"]["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] = json!(9999);
    assert_eq!(node.agent().send("PUT", "/v1/jobs", &large).status, 200);
    expect("it is blocked", &true, || {
        let list = servers[first].read("/v1/job/large/evaluations")?.as_array().cloned().unwrap_or_default();
        Ok(list.iter().any(|e| e["Status"] == "blocked"))
    });
    assert_eq!(node.agent().send("DELETE", "/v1/job/afar", &Json::Null).status, 200);
    running(&node, "large");

    servers[first].kill();
    let rest = (first + 1) % 3;
    wait_for("writes go on", || register(&servers[rest], "after"));
    let made = node.agent().send("DELETE", "/v1/job/large", &Json::Null);
    assert_eq!(made.status, 200, "{}", made.body);
    running(&servers[rest], "after");
    running(&node, "after");
    node_ready(&servers[rest]);
}

#[test]
fn agents_trust_certificates_of_their_authority_only() {
    let (ours, theirs) = (tls::Authority::new(), tls::Authority::new());
    let mut server = Member::new("cluster-tls-server", Role::Server { expect: 1, join: vec![] });
    server.more = ours.configure(server.folder(), "server.global.nomad");
    server.start();
    let node = |name: &str, authority: &tls::Authority| {
        let mut node = Member::new(name, Role::Node { servers: vec![server.rpc()] });
        node.more = authority.configure(node.folder(), "client.global.nomad");
        node.start();
        node
    };
    let stranger = node("cluster-tls-stranger", &theirs);
    let friend = node("cluster-tls-node", &ours);
    node_ready(&server);
    register(&friend, "web").expect("registered");
    running(&friend, "web");
    assert_eq!(server.agent().list("/v1/nodes").len(), 1);
    let refused = agent::call(stranger.port(), "GET", "/v1/jobs", "", agent::PATIENCE).expect("an answer");
    assert_eq!(refused.status, 500, "{}", refused.body);
    // Clients without a certificate or without TLS are rejected.
    let mut plain = Member::new("cluster-tls-plain", Role::Node { servers: vec![server.rpc()] });
    plain.start();
    let refused = agent::call(plain.port(), "GET", "/v1/jobs", "", agent::PATIENCE).expect("an answer");
    assert_eq!(refused.status, 500, "{}", refused.body);
}
