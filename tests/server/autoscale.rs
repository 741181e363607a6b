//! Autoscaled worker pools (`docs/spec/cluster-scaling.md`): on the leader, and by separate processes. The scaling
//! group is stored in files by a small program, the provider `command`.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, PATIENCE, bootstrap, call, call_as, wait_for};
use crate::member::{Member, Role, node_ready};
use crate::program::{self, Folder};
use crate::scaling_group::Group;

/// Maximum time until another process acquires the lock of a killed one: twice its TTL, its delay, and a margin.
const TAKE_OVER: Duration = Duration::from_secs(120);

/// A node of the pool `web` that runs on an instance.
fn node(instance: &str, server: &Member) -> Member {
    node_with(instance, server, &[])
}

/// The same with other parameters of the pool.
fn node_with(instance: &str, server: &Member, parameters: &[(&str, &str)]) -> Member {
    let mut node = Member::new(instance, Role::Node { servers: vec![server.rpc()] });
    node.more = client_with(instance, parameters);
    node.start();
    node
}

/// The `client` block of a node of the pool `web`.
fn client(instance: &str) -> String {
    client_with(instance, &[])
}

/// The same with other parameters of the pool.
fn client_with(instance: &str, parameters: &[(&str, &str)]) -> String {
    let meta = [
        ("replicator_enabled", "true"),
        ("replicator_max", "3"),
        ("replicator_min", "1"),
        ("replicator_notification_uid", "u"),
        ("replicator_region", "here"),
        ("replicator_worker_pool", "web"),
        ("replicator_provider", "command"),
        ("replicator_cooldown", "0"),
        ("replicator_node_fault_tolerance", "0"),
        ("replicator_scaling_threshold", "1"),
        ("unique.platform.aws.instance-id", instance),
    ];
    let meta: String = meta.iter().chain(parameters).map(|(key, value)| format!("    {key:?} = {value:?}\n")).collect();
    format!("client {{\n  enabled = true\n  meta {{\n{meta}  }}\n}}\n")
}

fn server(name: &str, more: &str) -> Member {
    let mut server = Member::new(name, Role::Server { expect: 1, join: Vec::new() });
    server.more = more.to_string();
    server.start();
    server
}

/// Registers a job that uses all capacity of a node, and waits until it is running.
fn fill(server: &Member, job: &str) {
    work(server, job, "service", 10_000, 1);
}

/// Registers a job of so many allocations of so many MHz, each on a node of its own, and waits until they are running.
fn work(server: &Member, job: &str, kind: &str, cpu: i64, count: i64) {
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": cpu, "MemoryMB": 64},
    });
    let group = json!({"Name": "g", "Count": count, "Tasks": [task], "Constraints": [{"Operand": "distinct_hosts"}]});
    let job_file = json!({"Job": {
        "ID": job, "Name": job, "Type": kind, "Datacenters": ["dc1"], "TaskGroups": [group],
    }});
    let reply = server.agent().send("PUT", "/v1/jobs", &job_file);
    assert_eq!(reply.status, 200, "{}", reply.body);
    wait_for("the allocations", || {
        let allocs = server.read(&format!("/v1/job/{job}/allocations"))?;
        let running = allocs.as_array().into_iter().flatten().filter(|a| a["ClientStatus"] == "running").count();
        if i64::try_from(running) == Ok(count) { Ok(()) } else { Err(allocs.to_string()) }
    });
}

/// Waits until the pool is in the expected state. Returns the pool.
fn pool(server: &Member, wanted: impl Fn(&Json) -> bool) -> Json {
    let mut pool = Json::Null;
    wait_for("the pool", || {
        pool = server.read("/v1/autoscale/pool/web")?;
        if wanted(&pool) { Ok(()) } else { Err(pool.to_string()) }
    });
    pool
}

#[test]
fn the_leader_scales_worker_pools() {
    let group = Group::new("autoscale-group");
    let mut server = server("autoscale-server", &group.block());
    let first = node("i-1", &server);
    node_ready(&server);

    // An idle pool with one node cannot be scaled in.
    let idle = pool(&server, |p| p["LastDecision"]["Action"] == "denied");
    let figures = ["Pool", "Nodes", "Min", "Max", "Metric", "Utilization", "MaxAllowed", "Direction", "Failsafe"];
    let shown: Vec<Json> = figures.iter().map(|k| idle[*k].clone()).collect();
    assert_eq!(Json::from(shown), json!(["web", 1, 1, 3, "", 0, 10_000, "in", false]));
    assert_eq!(server.read("/v1/autoscale/pools").map(|list| list[0]["Pool"].clone()), Ok(json!("web")));
    let ask = |server: &Member, method: &str, path: &str, body: &str| {
        let reply = call(server.port(), method, path, body, PATIENCE).expect("an answer");
        (reply.status, reply.body)
    };
    let unknown = (404, "worker pool not found".to_string());
    assert_eq!(ask(&server, "GET", "/v1/autoscale/pool/db", ""), unknown);
    assert_eq!(ask(&server, "PUT", "/v1/autoscale/pool/db/failsafe", "{\"Enable\":true}"), unknown);
    // The HTTP API of a node forwards the request to the server.
    assert_eq!(first.read("/v1/autoscale/pool/web").map(|p| p["Nodes"].clone()), Ok(json!(1)));

    // In failsafe mode nothing is scaled, also after a restart.
    let (status, body) = ask(&server, "PUT", "/v1/autoscale/pool/web/failsafe", "{\"Enable\":true}");
    assert!(status == 200 && body.contains("\"Failsafe\":true"), "{status} {body}");
    assert!(body.contains(" HTTP API from 127.0.0.1\""), "it says where from: {body}");
    fill(&server, "one");
    pool(&server, |p| p["LastDecision"]["Action"] == "failsafe");
    assert_eq!(server.end(rustix::process::Signal::TERM), 1);
    server.start();
    pool(&server, |p| p["Failsafe"] == true && p["LastDecision"]["Action"] == "failsafe" && p["Nodes"] == 1);
    assert_eq!(group.read("desired"), "1");

    // Without failsafe mode, the full pool is scaled out.
    let (status, body) = ask(&server, "PUT", "/v1/autoscale/pool/web/failsafe", "{\"Enable\":false}");
    assert!(status == 200 && body.contains("\"Failsafe\":false"), "{status} {body}");
    group.grows_to(2, PATIENCE);
    let second = node("i-2", &server);
    let grown = pool(&server, |p| p["Nodes"] == 2 && p["Operation"] == "" && p["LastDecision"]["Action"] == "denied");
    let shown: Vec<Json> =
        ["Metric", "Utilization", "MaxAllowed", "Direction"].iter().map(|k| grown[*k].clone()).collect();
    assert_eq!(Json::from(shown), json!(["cpu", 10_000, 20_000, "in"]));
    assert_eq!(group.read("desired"), "2");
    drop((first, second));
}

#[test]
fn a_draining_node_is_taken_back_before_another_one_is_bought() {
    const HOUR: [(&str, &str); 1] = [("replicator_scalein_cooldown", "3600")];
    let group = Group::of("autoscale-back-group", &["i-1", "i-2"]);
    // The operation must not begin before the work is there.
    let mut server = server("autoscale-back", &group.block());
    let ask = |server: &Member, enable: bool| {
        let (path, body) = ("/v1/autoscale/pool/web/failsafe", json!({"Enable": enable}).to_string());
        call(server.port(), "PUT", path, &body, PATIENCE).expect("an answer").status
    };
    let _first = node_with("i-1", &server, &HOUR);
    wait_for("failsafe mode", || match ask(&server, true) {
        200 => Ok(()),
        status => Err(status.to_string()),
    });
    let second = node_with("i-2", &server, &HOUR);
    pool(&server, |p| p["Nodes"] == 2);
    // Batch allocations do not move: the drain waits for them.
    work(&server, "slow", "batch", 100, 2);
    assert_eq!(ask(&server, false), 200);
    pool(&server, |p| p["Operation"].as_str().is_some_and(|o| o.starts_with("in: waiting until the allocations of")));
    let drained = |server: &Member| -> Vec<bool> {
        let nodes = server.read("/v1/nodes").unwrap_or_default();
        let nodes = nodes.as_array().cloned().unwrap_or_default();
        nodes.iter().map(|n| n["Drain"] == true || n["SchedulingEligibility"] != "eligible").collect()
    };
    assert_eq!(drained(&server).iter().filter(|d| **d).count(), 1);

    // Another leader goes on with the operation.
    assert_eq!(server.end(rustix::process::Signal::TERM), 1);
    server.start();
    pool(&server, |p| p["Operation"].as_str().is_some_and(|o| o.starts_with("in: waiting until the allocations of")));
    work(&server, "web", "service", 9_900, 1);
    pool(&server, |p| p["Nodes"] == 2 && p["Operation"] == "" && p["ScaleInCooldownLeft"].as_i64() > Some(0));
    assert_eq!(drained(&server), [false, false]);
    let stored = variable(&server, "encamp/autoscale/state/nodes/web");
    let record: Json = serde_json::from_str(stored["Items"]["state"].as_str().unwrap_or_default()).expect("an object");
    assert!(record["last_scalein_event"].is_string() && record["last_scaleout_event"].is_null(), "{record}");
    assert_eq!(record["failure_count"], 0, "{record}");
    assert_eq!((group.changes(), group.read("desired").as_str()), (Vec::new(), "2"), "nothing is bought or terminated");

    // More than both can run: now one is bought. The cooldown of scale-ins, which has just begun, does not delay it.
    work(&server, "api", "service", 9_900, 1);
    group.grows_to(3, PATIENCE);
    let [change] = group.changes().try_into().expect("one change");
    assert_eq!((&change["Verb"], &change["Desired"]), (&json!("set_desired"), &json!(3)));
    drop(second);
}

#[test]
fn job_groups_are_told_and_stopped_over_the_interface() {
    let server = server(
        "autoscale-groups",
        "autoscaling {\n  enabled = true\n  job_scaling = true\n  job_interval = \"300ms\"\n}\n",
    );
    let _node = node("i-1", &server);
    node_ready(&server);
    let meta = json!({
        "replicator_enabled": "true", "replicator_min": "1", "replicator_max": "1", "replicator_notification_uid": "u",
        "replicator_scalein_cpu": "20", "replicator_scalein_mem": "20", "replicator_scaleout_cpu": "80",
        "replicator_scaleout_mem": "80",
    });
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sleep", "args": ["600"]},
        "Resources": {"CPU": 100, "MemoryMB": 64},
    });
    let job = json!({"Job": {
        "ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "front", "Count": 1, "Meta": meta, "Tasks": [task]}],
    }});
    let reply = server.agent().send("PUT", "/v1/jobs", &job);
    assert_eq!(reply.status, 200, "{}", reply.body);
    crate::member::running(&server, "web");
    let group_shows = |what: &str, wanted: &dyn Fn(&Json) -> bool| {
        wait_for(what, || {
            let group = server.read("/v1/autoscale/group/web/front")?;
            if wanted(&group) { Ok(()) } else { Err(group.to_string()) }
        });
    };
    group_shows("the group", &|g| g["Count"] == 1 && g["Running"] == 1 && g["Max"] == 1 && g["Failsafe"] == false);
    assert_eq!(server.read("/v1/autoscale/groups").map(|list| list[0]["JobID"].clone()), Ok(json!("web")));
    let ask = |enable: bool| {
        let body = json!({"Enable": enable, "Operator": "ann@laptop"}).to_string();
        let path = "/v1/autoscale/group/web/front/failsafe";
        let reply = call(server.port(), "PUT", path, &body, PATIENCE).expect("an answer");
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    };
    let on = ask(true);
    let admin = on["FailsafeAdmin"].as_str().unwrap_or_default();
    assert!(on["Failsafe"] == true && admin.ends_with(" ann@laptop from 127.0.0.1"), "{on}");
    group_shows("failsafe mode", &|g| g["LastDecision"]["Action"] == "failsafe");
    assert_eq!(ask(false)["Failsafe"], false);
    group_shows("no failsafe mode", &|g| g["Failsafe"] == false && g["LastDecision"]["Action"] != "failsafe");
}

#[test]
fn jobs_are_scaled_by_usage_with_access_control() {
    const ACL: &str = "acl {\n  enabled = true\n}\n";
    let scaling = "autoscaling {\n  enabled = true\n  job_scaling = true\n  job_interval = \"300ms\"\n}\n";
    let server = server("autoscale-acl", &format!("{scaling}{ACL}"));
    let mut node = Member::new("autoscale-acl-node", Role::Node { servers: vec![server.rpc()] });
    node.more = format!("{ACL}telemetry {{\n  publish_allocation_metrics = true\n}}\n");
    node.start();
    let token = bootstrap(server.port());
    let ask = |token: &str, port: u16, method: &str, path: &str, body: &Json| {
        call_as(port, token, method, path, &body.to_string(), PATIENCE).map_err(|e| e.to_string())
    };
    let meta = json!({
        "replicator_enabled": "true", "replicator_min": "1", "replicator_max": "2", "replicator_notification_uid": "u",
        "replicator_scalein_cpu": "0", "replicator_scalein_mem": "0", "replicator_scaleout_cpu": "1",
        "replicator_scaleout_mem": "100", "replicator_cooldown": "0",
    });
    let task = json!({
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", "while :; do :; done"]},
        "Resources": {"CPU": 100, "MemoryMB": 10},
    });
    let job = json!({"Job": {
        "ID": "web", "Name": "web", "Type": "service", "Datacenters": ["dc1"],
        "TaskGroups": [{"Name": "front", "Count": 1, "Meta": meta, "Tasks": [task]}],
    }});
    let reply = ask(&token, server.port(), "PUT", "/v1/jobs", &job).expect("an answer");
    assert_eq!(reply.status, 200, "{}", reply.body);
    wait_for("the group grows because of its usage", || {
        let group = ask(&token, server.port(), "GET", "/v1/autoscale/group/web/front", &Json::Null)?.json();
        if group["Count"] == 2 && group["Measured"] == 2 { Ok(()) } else { Err(group.to_string()) }
    });
    // The usage is that of the node's agent, which tells nobody without a token.
    let allocs = ask(&token, server.port(), "GET", "/v1/job/web/allocations", &Json::Null).expect("an answer").json();
    let path = format!("/v1/client/allocation/{}/stats", allocs[0]["ID"].as_str().expect("an ID"));
    assert_eq!(ask("", node.port(), "GET", &path, &Json::Null).expect("an answer").status, 403);
    assert_eq!(ask(&token, node.port(), "GET", &path, &Json::Null).expect("an answer").status, 200);
    // The leader's token is no token of the tables.
    let tokens = ask(&token, server.port(), "GET", "/v1/acl/tokens", &Json::Null).expect("an answer").json();
    assert_eq!(tokens.as_array().map(Vec::len), Some(1), "{tokens}");
}

/// The names of a pool's protected nodes, with their reasons.
fn protected(pool: &Json) -> Vec<(String, String)> {
    let text = |v: &Json| v.as_str().unwrap_or_default().to_string();
    let nodes = pool["Protected"].as_array().into_iter().flatten();
    let mut nodes: Vec<_> = nodes.map(|n| (text(&n["Name"]), text(&n["Reason"]))).collect();
    nodes.sort();
    nodes
}

#[test]
fn nodes_of_agents_that_are_also_servers_are_protected() {
    let group = Group::new("autoscale-both-group");
    let mut agents: Vec<Member> = Vec::new();
    for name in ["autoscale-both-1", "autoscale-both-2"] {
        let join: Vec<String> = agents.first().map(Member::serf).into_iter().collect();
        let role = format!(
            "server {{\n  enabled = true\n  bootstrap_expect = 2\n\
               server_join {{\n    retry_join = [{}]\n    retry_interval = \"1s\"\n  }}\n}}\n{}",
            crate::member::quoted(&join),
            client(name)
        );
        let mut agent = Member::new(name, Role::Other(role));
        agent.more = group.block();
        agent.start();
        agents.push(agent);
    }
    let _alone = node("i-1", &agents[0]);
    // The leader identifies its own node by its ID, the other one by the members of the cluster.
    let both = ["autoscale-both-1", "autoscale-both-2"].map(|name| (name.to_string(), "server".to_string()));
    for agent in &agents {
        pool(agent, |p| p["Nodes"] == 3 && protected(p) == both);
    }
    // An external process identifies both by the members.
    let address = format!("-address=http://127.0.0.1:{}", agents[0].port());
    let folder = Folder::new("autoscale-both");
    let ran = program::run_in(folder.path(), &["autoscale", "plan", "-json", &address]);
    let plan: Json = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", ran.stdout, ran.stderr));
    assert_eq!(protected(&plan["Pools"][0]), both, "{plan:#}");
    let candidates = plan["Pools"][0]["Candidates"].as_array().cloned().unwrap_or_default();
    assert!(candidates.iter().all(|c| c["Name"] == "i-1"), "{candidates:?}");
}

#[test]
fn without_the_block_the_paths_do_not_exist() {
    let server = server("autoscale-none", "");
    for path in ["/v1/autoscale/pools", "/v1/autoscale/pool/web", "/v1/autoscale/pool/web/failsafe"] {
        let reply = call(server.port(), "GET", path, "", PATIENCE).expect("an answer");
        assert_eq!((reply.status, reply.body.as_str()), (404, ""), "{path}");
    }
}

/// A process that scales the pools of a server externally.
fn outside(folder: &Folder, config: &PathBuf, server: &Member) -> Agent {
    let address = format!("-address=http://127.0.0.1:{}", server.port());
    let mut command = Command::new(program::path());
    command.args(["autoscale", "agent", "-cluster-interval=400ms", &address, "-config"]).arg(config);
    Agent::launch(folder, &mut command)
}

fn variable(server: &Member, path: &str) -> Json {
    server.read(&format!("/v1/var/{path}")).unwrap_or_default()
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn one_of_several_processes_scales_from_outside_and_another_takes_over() {
    const LEADER: &str = "encamp/autoscale/leader";
    let group = Group::new("autoscale-outside-group");
    let folder = Folder::new("autoscale-outside");
    let config = folder.file("autoscale.hcl", group.block());
    let server = server("autoscale-outside-server", "");
    let _first = node("i-1", &server);
    node_ready(&server);

    let mut acting = outside(&folder, &config, &server);
    acting.until("acquired the lock");
    let mut waiting = outside(&folder, &config, &server);
    waiting.until("another instance scales this cluster");
    fill(&server, "one");
    group.grows_to(2, PATIENCE);
    let _second = node("i-2", &server);
    let mut record = Json::Null;
    wait_for("the operation ends", || {
        let stored = variable(&server, "encamp/autoscale/state/nodes/web");
        let text = stored["Items"]["state"].as_str().unwrap_or_default();
        record = serde_json::from_str(text).map_err(|e| format!("{e}: {text}"))?;
        let done = record["operation"].is_null() && !record["last_scaling_event"].is_null();
        if done { Ok(()) } else { Err(record.to_string()) }
    });
    assert_eq!((&record["resource_name"], &record["failure_count"]), (&json!("web"), &json!(0)));
    let holder = |server: &Member| variable(server, LEADER)["Items"]["holder"].as_str().unwrap_or_default().to_string();
    assert!(holder(&server).contains(&format!("pid {}", acting.pid())), "{}", holder(&server));
    assert!(!waiting.log().contains("acquired the lock"), "{}", waiting.seen);

    acting.kill();
    fill(&server, "two");
    group.grows_to(3, TAKE_OVER);
    assert!(holder(&server).contains(&format!("pid {}", waiting.pid())), "{}", holder(&server));

    waiting.signal(rustix::process::Signal::TERM);
    assert_eq!(waiting.exit(), 0, "{}", waiting.seen);
    let left = variable(&server, LEADER);
    assert!(left["Path"] == LEADER && left["Lock"].is_null(), "{left}");
}
