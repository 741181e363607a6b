//! End-to-end tests of server calls and commands against real agents: locks, joining, actions, sources of stopped jobs,
//! scaling policies, server lists, promotions, introductions, exported logs, profiles, metrics, invalid settings.

use crate::agent;
use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::agent::{Agent, Reply, wait_for};
use crate::program::{Folder, Ran, run_for, run_in};

const ADVERTISE: &str = "advertise {\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}\n";

/// The configuration of a server; `more` is added to its block.
fn server_config(folder: &Folder, more: &str) -> String {
    let data = folder.path().join("data");
    format!("bind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\n{ADVERTISE}server {{\n  enabled = true\n  {more}\n}}\n")
}

fn leads(agent: &Agent) {
    wait_for("a leader", || match agent.send("GET", "/v1/jobs", &Value::Null) {
        Reply { status: 200, .. } => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// An agent that is both server and node, and runs tasks.
fn dev(folder: &Folder, more: &str) -> Agent {
    let agent = Agent::start(folder, more, &["-dev"]);
    leads(&agent);
    wait_for("a node", || match agent.list("/v1/nodes").as_slice() {
        [one] if one["Status"] == "ready" => Ok(()),
        nodes => Err(format!("{nodes:?}")),
    });
    agent
}

fn run(agent: &Agent, args: &[&str]) -> Ran {
    run_for(agent::PATIENCE, &std::env::temp_dir(), args, &[("NOMAD_ADDR", &agent.address())], "")
}

/// A port from the log line that lists the bound addresses.
fn bound(agent: &Agent, what: &str) -> u16 {
    let line = agent.seen.lines().find(|l| l.contains("Bind Addrs: ")).expect("addresses");
    let address = line.split(&format!("{what}: ")).nth(1).expect("an address");
    let digits: String = address.split(';').next().and_then(|a| a.rsplit(':').next()).expect("a port").into();
    digits.trim().parse().unwrap_or_else(|e| panic!("{line}: {e}"))
}

fn running(agent: &Agent, job: &str) -> Vec<Value> {
    let mut found = Vec::new();
    wait_for("the job runs", || {
        found = agent.list(&format!("/v1/job/{job}/allocations"));
        let all = found.iter().all(|a| a["ClientStatus"] == "running");
        if all && !found.is_empty() { Ok(()) } else { Err(format!("{found:?}")) }
    });
    found
}

const SLEEPER: &str = r#"job "sleeper" {
  group "g" {
    scaling {
      max = 3
      policy {}
    }
    task "main" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args = ["-c", "exec sleep 3600"]
      }
      resources {
        cpu = 50
        memory = 32
      }
      action "greet" {
        command = "/bin/sh"
        args = ["-c", "echo hello from ${NOMAD_TASK_NAME}; exit 7"]
      }
    }
  }
}
"#;

#[test]
fn a_lock_without_a_body_for_it_has_the_default_times() {
    let folder = Folder::new("api-lock");
    let agent = Agent::start(&folder, &server_config(&folder, "bootstrap_expect = 1"), &[]);
    leads(&agent);
    let taken = agent.send("PUT", "/v1/var/app/lock?lock-acquire", &json!({"Items": {"k": "v"}}));
    assert_eq!(taken.status, 200, "{taken:?}");
    let lock = &taken.json()["Lock"];
    assert_eq!((&lock["TTL"], &lock["LockDelay"]), (&json!("15s"), &json!("15s")), "{taken:?}");
    let id = lock["ID"].as_str().filter(|id| id.len() == 36).expect("an ID");
    // It behaves like any other lock.
    assert_eq!(agent.send("PUT", "/v1/var/app/lock", &json!({"Items": {"k": "w"}})).status, 409);
    let renewed = agent.send("PUT", "/v1/var/app/lock?lock-renew", &json!({"Lock": {"ID": id}}));
    assert_eq!(renewed.status, 200, "{renewed:?}");
    let released = agent.send("PUT", "/v1/var/app/lock?lock-release", &json!({"Lock": {"ID": id}}));
    assert_eq!(released.status, 200, "{released:?}");
    let refused = agent.send("PUT", "/v1/var/app/lock?lock-release", &json!({}));
    assert_eq!((refused.status, refused.body.as_str()), (400, "RPC Error:: 400,missing lock information"));
    wait_for("the metrics of locks", || {
        let metrics = agent.get("/v1/metrics");
        let names: Vec<&str> =
            metrics["Gauges"].as_array().into_iter().flatten().filter_map(|g| g["Name"].as_str()).collect();
        let there = |name| names.contains(&name);
        let all = there("nomad.variables.locks.ttl_timer.num") && there("nomad.variables.locks.delay_timer.num");
        if all { Ok(()) } else { Err(format!("{names:?}")) }
    });
}

/// Bound to all addresses, and advertised at an address other than the one that others are instructed to join.
fn joinable(folder: &Folder, name: &str, server: &str) -> Agent {
    let data = folder.path().join("data");
    let config = format!(
        "name = {name:?}\nbind_addr = \"0.0.0.0\"\naddresses {{\n  http = \"127.0.0.1\"\n}}\ndata_dir = {data:?}\n\
         advertise {{\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.2\"\n  serf = \"127.0.0.2\"\n}}\n\
         server {{\n  enabled = true\n  {server}\n}}\n"
    );
    Agent::start(folder, &config, &[])
}

#[test]
fn servers_join_by_an_address_of_the_gossip_port() {
    let folders = ["a", "b", "c"].map(|n| Folder::new(&format!("api-join-{n}")));
    let first = joinable(&folders[0], "a", "bootstrap_expect = 1");
    leads(&first);
    // Both were started without bootstrap_expect.
    let (second, third) = (joinable(&folders[1], "b", ""), joinable(&folders[2], "c", ""));
    let join = |at: &Agent, to: &Agent| {
        let ran = run(at, &["server", "join", &format!("127.0.0.1:{}", bound(to, "Serf"))]);
        assert_eq!((ran.stdout.as_str(), ran.exit), ("Joined 1 servers successfully\n", 0), "{ran:?}");
    };
    join(&second, &first);
    join(&first, &third);
    // Again, and with its own address: both are already known.
    join(&second, &first);
    join(&second, &second);
    wait_for("three voters", || {
        let configuration = first.get("/v1/operator/raft/configuration");
        let voters = configuration["Servers"].as_array().map_or(0, |s| s.iter().filter(|s| s["Voter"] == true).count());
        if voters == 3 { Ok(()) } else { Err(configuration.to_string()) }
    });
    let ran = run(&second, &["server", "join", "127.0.0.1:1"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.contains("failed to join 127.0.0.1:1: "), "{ran:?}");
}

#[test]
fn a_declared_action_runs_in_its_task() {
    let folder = Folder::new("api-action");
    let agent = dev(&folder, "");
    folder.file("sleeper.hcl", SLEEPER);
    let file = folder.path().join("sleeper.hcl").display().to_string();
    assert_eq!(run(&agent, &["job", "run", "-detach", &file]).exit, 0);
    let allocs = running(&agent, "sleeper");
    let id = allocs[0]["ID"].as_str().expect("an ID");
    let ran = run(&agent, &["job", "action", "-job", "sleeper", "-group", "g", "-task", "main", "greet"]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("hello from main\n", 7), "{ran:?}");
    let ran = run(&agent, &["action", "-job", "sleeper", "-alloc", id, "-task", "main", "leave"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.contains("task \"main\" has no action \"leave\""), "{ran:?}");
    let path = |id: &str, more: &str| format!("/v1/job/sleeper/action?allocID={id}&task=main{more}");
    for (path, status, text) in [
        (path(id, "&action=greet"), 500, "websocket connection not found in context"),
        (path(id, ""), 400, "must provide action name"),
        (path("", "&action=greet"), 400, "must provide a valid alloc id"),
    ] {
        let reply = agent.send("GET", &path, &Value::Null);
        assert_eq!((reply.status, reply.body.as_str()), (status, text), "{path}");
    }
    assert_eq!(agent.send("PUT", &path(id, "&action=greet"), &Value::Null).status, 405);
}

#[test]
fn the_source_of_a_job_exists_after_it_was_stopped() {
    let folder = Folder::new("api-submission");
    let agent = dev(&folder, "");
    folder.file("sleeper.hcl", SLEEPER);
    let file = folder.path().join("sleeper.hcl").display().to_string();
    assert_eq!(run(&agent, &["job", "run", "-detach", &file]).exit, 0);
    assert_eq!(run(&agent, &["job", "stop", "-detach", "sleeper"]).exit, 0);
    let job = agent.get("/v1/job/sleeper");
    assert_eq!((&job["Stop"], &job["Version"]), (&json!(true), &json!(1)));
    let ran = run(&agent, &["job", "inspect", "-hcl", "sleeper"]);
    assert_eq!((ran.stdout.trim_end(), ran.exit), (SLEEPER.trim_end(), 0), "{ran:?}");
    for version in [0, 1] {
        let submission = agent.get(&format!("/v1/job/sleeper/submission?version={version}"));
        assert_eq!((&submission["Version"], &submission["Source"]), (&json!(version), &json!(SLEEPER)));
    }
    let started = run(&agent, &["job", "start", "-detach", "sleeper"]);
    assert_eq!(started.exit, 0, "{started:?}");
    assert!(!started.stderr.contains("submission"), "{started:?}");
}

#[test]
fn scaling_policies_are_found_by_their_prefix_and_keep_an_empty_policy() {
    let folder = Folder::new("api-scaling");
    let agent = Agent::start(&folder, &server_config(&folder, "bootstrap_expect = 1"), &[]);
    leads(&agent);
    folder.file("sleeper.hcl", SLEEPER);
    let file = folder.path().join("sleeper.hcl").display().to_string();
    assert_eq!(run(&agent, &["job", "run", "-detach", &file]).exit, 0);
    folder.file("other.hcl", SLEEPER.replace("\"sleeper\"", "\"other\"").replace("      policy {}\n", ""));
    let file = folder.path().join("other.hcl").display().to_string();
    assert_eq!(run(&agent, &["job", "run", "-detach", &file]).exit, 0);
    let policies = agent.list("/v1/scaling/policies");
    let id = |job: &str| {
        let found = policies.iter().find(|p| p["Target"]["Job"] == job).expect("a policy");
        found["ID"].as_str().expect("an ID").to_string()
    };
    for (job, policy) in [("sleeper", json!({})), ("other", Value::Null)] {
        assert_eq!(agent.get(&format!("/v1/job/{job}"))["TaskGroups"][0]["Scaling"]["Policy"], policy, "{job}");
        assert_eq!(agent.get(&format!("/v1/scaling/policy/{}", id(job)))["Policy"], policy, "{job}");
        let found = agent.list(&format!("/v1/scaling/policies?prefix={}", &id(job)[..18]));
        assert_eq!(found.iter().map(|p| p["ID"].clone()).collect::<Vec<_>>(), [json!(id(job))], "{job}");
        let ran = run(&agent, &["scaling", "policy", "info", &id(job)[..18]]);
        assert!(ran.exit == 0 && ran.stdout.contains(&format!("Job:{job}")), "{ran:?}");
    }
    assert_eq!(agent.list("/v1/scaling/policies?prefix=").len(), 2);
    let odd = agent.send("GET", "/v1/scaling/policies?prefix=abc", &Value::Null);
    let text = "scaling_policy lookup failed: index error: Input (without hyphens) must be even length";
    assert_eq!((odd.status, odd.body.as_str()), (500, text));
}

#[test]
fn a_node_takes_only_servers_that_answer() {
    let (servers, nodes) = (Folder::new("api-servers"), Folder::new("api-node"));
    let server = Agent::start(&servers, &server_config(&servers, "bootstrap_expect = 1"), &[]);
    leads(&server);
    let rpc = format!("127.0.0.1:{}", bound(&server, "RPC"));
    let data = nodes.path().join("data");
    let config = format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\n{ADVERTISE}client {{\n  enabled = true\n  servers = [{rpc:?}]\n}}\n"
    );
    let node = Agent::start(&nodes, &config, &[]);
    let known = || node.get("/v1/agent/servers");
    let ran = run(&node, &["node", "config", "-update-servers", "127.0.0.1:1", "127.0.0.1:2"]);
    assert_eq!(ran.exit, 1, "{ran:?}");
    assert!(ran.stderr.contains("Error updating server list: ") && ran.stderr.contains("2 errors occurred"), "{ran:?}");
    assert_eq!(known(), json!([rpc]));
    let reply = agent::call(node.port, "PUT", "/v1/agent/servers?address=127.0.0.1:1", "", agent::PATIENCE);
    let reply = reply.expect("an answer");
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains("connection refused"), "{reply:?}");
    let ran = run(&node, &["node", "config", "-update-servers", "127.0.0.1:1", &rpc]);
    assert_eq!((ran.stdout.as_str(), ran.exit), ("Updated server list\n", 0), "{ran:?}");
    assert_eq!(known(), json!([rpc]));
}

#[test]
fn a_deployment_is_promoted_again_without_harm() {
    let folder = Folder::new("api-promote");
    let agent = dev(&folder, "");
    let job = |version: &str| {
        let task = json!({
            "Name": "main", "Driver": "raw_exec", "Env": {"VERSION": version},
            "Config": {"command": "/bin/sh", "args": ["-c", "exec sleep 3600"]},
            "Resources": {"CPU": 20, "MemoryMB": 16},
        });
        let update = json!({
            "MaxParallel": 1, "Canary": 1, "MinHealthyTime": 600_000_000_000_i64, "HealthyDeadline": 900_000_000_000_i64,
            "ProgressDeadline": 1_200_000_000_000_i64,
        });
        let group = json!({"Name": "g", "Count": 2, "Update": update, "Tasks": [task]});
        json!({"Job": {"ID": "web", "Name": "web", "Type": "service", "TaskGroups": [group]}})
    };
    assert_eq!(agent.send("PUT", "/v1/jobs", &job("1")).status, 200);
    running(&agent, "web");
    assert_eq!(agent.send("PUT", "/v1/jobs", &job("2")).status, 200);
    let mut deployment = Value::Null;
    wait_for("a canary", || {
        deployment = agent.get("/v1/job/web/deployment");
        let group = &deployment["TaskGroups"]["g"];
        let placed = group["PlacedCanaries"].as_array().map_or(0, Vec::len);
        if deployment["JobVersion"] == 1 && placed == 1 { Ok(()) } else { Err(deployment.to_string()) }
    });
    let id = deployment["ID"].as_str().expect("an ID").to_string();
    let canary = deployment["TaskGroups"]["g"]["PlacedCanaries"][0].clone();
    let promote =
        || agent.send("PUT", &format!("/v1/deployment/promote/{id}"), &json!({"DeploymentID": id, "All": true}));
    let early = promote();
    assert_eq!(early.status, 500, "{early:?}");
    assert!(early.body.contains("Task group \"g\" has 0/1 healthy allocations"), "{early:?}");
    let healthy = json!({"DeploymentID": id, "HealthyAllocationIDs": [canary]});
    let response = agent.send("PUT", &format!("/v1/deployment/allocation-health/{id}"), &healthy);
    assert_eq!(response.status, 200, "{response:?}");
    let first = promote();
    assert_eq!(first.status, 200, "{first:?}");
    let second = promote();
    assert_eq!(second.status, 200, "{second:?}");
    let (first, second) = (first.json(), second.json());
    assert!(
        first["EvalID"] != second["EvalID"] && second["EvalID"].as_str().is_some_and(|e| e.len() == 36),
        "{second}"
    );
    assert!(second["DeploymentModifyIndex"].as_u64() > first["DeploymentModifyIndex"].as_u64());
    let after = agent.get(&format!("/v1/deployment/{id}"));
    assert_eq!((&after["Status"], &after["TaskGroups"]["g"]["Promoted"]), (&json!("running"), &json!(true)));
}

#[test]
fn a_token_introduces_a_new_node() {
    let servers = Folder::new("api-intro-server");
    let more = "bootstrap_expect = 1\n  client_introduction {\n    enforcement = \"strict\"\n    max_identity_ttl = \"20m\"\n  }";
    let server = Agent::start(&servers, &server_config(&servers, more), &[]);
    leads(&server);
    let rpc = format!("127.0.0.1:{}", bound(&server, "RPC"));
    let node = |folder: &Folder, name: &str, token: &str| {
        let data = folder.path().join("data");
        std::fs::create_dir_all(data.join("client")).expect("a folder");
        std::fs::write(data.join("client/intro_token.jwt"), format!("{token}\n")).expect("written");
        let config = format!(
            "name = {name:?}\nbind_addr = \"127.0.0.1\"\ndata_dir = {data:?}\n{ADVERTISE}client {{\n  enabled = true\n  \
             servers = [{rpc:?}]\n}}\n"
        );
        Agent::start(folder, &config, &[])
    };
    let ran = run(&server, &["node", "intro", "create", "-node-name", "known", "-ttl", "10m"]);
    let token = ran.stdout.strip_prefix("Successfully generated client introduction token:\n\n");
    let token = token.unwrap_or_else(|| panic!("{ran:?}")).trim().to_string();
    let folders = ["known", "unknown"].map(|n| Folder::new(&format!("api-intro-{n}")));
    let known = node(&folders[0], "known", &token);
    wait_for("the node that is introduced", || match server.list("/v1/nodes").as_slice() {
        [one] if one["Name"] == "known" && one["Status"] == "ready" => Ok(()),
        nodes => Err(format!("{nodes:?}")),
    });
    // The token is for a different name.
    let mut unknown = node(&folders[1], "unknown", &token);
    let refused = unknown.until("error registering");
    assert!(refused.contains("Permission denied"), "{refused}");
    assert_eq!(server.list("/v1/nodes").len(), 1);
    drop(known);

    let create = |body: Value| server.send("PUT", "/v1/acl/identity/client-introduction-token", &body);
    let claims = |reply: &Reply| {
        use base64::Engine;
        assert_eq!(reply.status, 200, "{reply:?}");
        let token = reply.json()["JWT"].as_str().expect("a token").to_string();
        let part = token.split('.').nth(1).expect("claims").to_string();
        let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).expect("base64");
        serde_json::from_slice::<Value>(&bytes).expect("JSON")
    };
    let life = |c: &Value| c["exp"].as_i64().expect("a time") - c["iat"].as_i64().expect("a time");
    let own = claims(&create(json!({"NodeName": "n", "NodePool": "gpu", "TTL": "90s"})));
    assert_eq!((&own["nomad_node_name"], &own["nomad_node_pool"]), (&json!("n"), &json!("gpu")));
    assert_eq!((&own["sub"], life(&own)), (&json!("node-introduction:global:gpu:n:default"), 90));
    assert_eq!(life(&claims(&create(json!({"NodeName": "n"})))), 300, "the default");
    assert_eq!(life(&claims(&create(json!({"NodeName": "n", "TTL": "24h"})))), 1200, "the most that is configured");
    for (body, text) in [
        (json!({"NodePool": "all"}), "invalid node pool \"all\""),
        (json!({"NodePool": "a b"}), "invalid node pool \"a b\""),
        (json!({"TTL": "-1s"}), "TTL must not be negative"),
    ] {
        let reply = create(body);
        assert_eq!((reply.status, reply.body.as_str()), (400, text));
    }
    let ran = run(&server, &["node", "intro", "create", "-json"]);
    assert!(ran.exit == 0 && ran.stdout.contains("\"JWT\": \"ey"), "{ran:?}");
}

#[test]
fn logs_of_the_past_are_exported() {
    let folder = Folder::new("api-export");
    let file = folder.path().join("agent.log");
    let agent = dev(&folder, &format!("log_file = {file:?}"));
    let ran = run(&agent, &["monitor", "export", "-on-disk"]);
    assert!(ran.exit == 0 && ran.stdout.contains("agent started: http=127.0.0.1:"), "{ran:?}");
    assert_eq!(ran.stdout, std::fs::read_to_string(&file).expect("the log").get(..ran.stdout.len()).expect("as long"));
    for (args, text) in [
        (&["monitor", "export"][..], "Either -service-name or -on-disk must be set"),
        (&["monitor", "export", "-service-name", "sshd"], "it must be the name of a unit and contain nomad or encamp"),
        (&["monitor", "export", "-on-disk", "-follow"], "Cannot follow log file"),
        (&["monitor", "export", "-on-disk", "-server-id", "nosuch"], "unknown Nomad server nosuch"),
    ] {
        let ran = run(&agent, args);
        assert!(ran.exit == 1 && ran.stderr.contains(text), "{args:?}: {ran:?}");
    }
}

#[test]
fn profiles_are_answered_where_debugging_is_on() {
    let folder = Folder::new("api-profile");
    let agent = dev(&folder, "");
    let ask = |path: &str| agent::call(agent.port, "GET", path, "", agent::PATIENCE).expect("an answer");
    let line = ask("/v1/agent/pprof/cmdline");
    assert_eq!((line.status, line.body.split('\0').nth(1)), (200, Some("agent")), "{line:?}");
    let threads = ask("/v1/agent/pprof/goroutine?debug=1");
    assert!(threads.status == 200 && threads.body.starts_with("threads (count)\n"), "{threads:?}");
    let memory = ask("/v1/agent/pprof/heap?debug=1");
    assert!(memory.body.starts_with("mapped_space (bytes), inuse_space (bytes)\n"), "{memory:?}");
    for path in ["/v1/agent/pprof/profile?seconds=1", "/v1/agent/pprof/heap"] {
        let mut stream = agent.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("written");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head");
        assert!(
            answer.starts_with(b"HTTP/1.1 200 ") && answer[end + 4..].starts_with(&[0x1f, 0x8b]),
            "{path}: no gzip"
        );
    }
    for (path, status, text) in [
        ("/v1/agent/pprof/", 404, "Invalid method"),
        ("/v1/agent/pprof/nosuch", 404, "Unknown profile: nosuch"),
        ("/v1/agent/pprof/trace", 501, "this program has no profile trace"),
        ("/v1/agent/pprof/profile?seconds=x", 400, "parameter seconds is no number"),
        ("/v1/agent/pprof/profile?seconds=301", 400, "parameter seconds must not be more than 300"),
    ] {
        let reply = ask(path);
        assert!(reply.status == status && reply.body.starts_with(text), "{path}: {reply:?}");
    }
    let other = Folder::new("api-profile-off");
    let agent = Agent::start(&other, &server_config(&other, "bootstrap_expect = 1"), &[]);
    let reply = agent.send("GET", "/v1/agent/pprof/cmdline", &Value::Null);
    assert_eq!((reply.status, reply.body.as_str()), (403, "Permission denied"));
}

#[test]
fn a_new_cluster_has_the_autopilot_settings_of_its_first_server() {
    let folder = Folder::new("api-autopilot");
    let settings = "autopilot {\n  cleanup_dead_servers = false\n  last_contact_threshold = \"1500ms\"\n  \
                    max_trailing_logs = 40\n  disable_upgrade_migration = true\n}\n";
    let agent = dev(&folder, settings);
    let config = agent.get("/v1/operator/autopilot/configuration");
    let of = |name: &str| config[name].clone();
    assert_eq!(
        (of("CleanupDeadServers"), of("LastContactThreshold"), of("MaxTrailingLogs"), of("DisableUpgradeMigration")),
        (json!(false), json!("1.5s"), json!(40), json!(true)),
        "{config}"
    );
    assert_eq!((of("MinQuorum"), of("ServerStabilizationTime")), (json!(0), json!("10s")), "{config}");
}

#[test]
fn metrics_include_endpoints_raft_and_autopilot() {
    let folder = Folder::new("api-metrics");
    let agent = dev(&folder, "");
    folder.file("sleeper.hcl", SLEEPER);
    let file = folder.path().join("sleeper.hcl").display().to_string();
    assert_eq!(run(&agent, &["job", "run", "-detach", &file]).exit, 0);
    running(&agent, "sleeper");
    let wanted = [
        "nomad_nomad_job_register_count",
        "nomad_nomad_rpc_job_write ",
        "nomad_nomad_rpc_job_list ",
        "nomad_nomad_rpc_query ",
        "nomad_nomad_client_list_count",
        "nomad_nomad_eval_dequeue_count",
        "nomad_nomad_eval_ack_count",
        "nomad_nomad_eval_update_count",
        "nomad_nomad_plan_submit_count",
        "nomad_nomad_plan_evaluate_count",
        "nomad_nomad_plan_sign_identities_count",
        "nomad_nomad_plan_raft_dispatch_count",
        "nomad_nomad_plan_optimistic_apply_count",
        "nomad_nomad_plan_apply_count",
        "nomad_nomad_plan_wait_for_index_count",
        "nomad_nomad_fsm_register_job_count",
        "nomad_nomad_autopilot_healthy 1\n",
        "nomad_nomad_autopilot_failure_tolerance 0\n",
        "nomad_raft_lastIndex ",
        "nomad_raft_appliedIndex ",
        "nomad_state_snapshotIndex ",
        "nomad_raft_apply ",
        "nomad_raft_commitTime_count",
        "nomad_raft_fsm_apply_count",
        "nomad_raft_state_leader ",
        "nomad_variables_locks_ttl_timer_num ",
    ];
    wait_for("all metrics", || {
        let text = agent.send("GET", "/v1/metrics?format=prometheus", &Value::Null).body;
        // Metric names without the host label.
        let plain: String = text.lines().map(|l| format!("{}\n", unlabelled(l))).collect();
        let missing: Vec<&str> = wanted.into_iter().filter(|w| !plain.contains(w)).collect();
        if missing.is_empty() { Ok(()) } else { Err(format!("{missing:?} are not in\n{plain}")) }
    });
}

/// A line without its labels.
fn unlabelled(line: &str) -> String {
    match (line.split_once('{'), line.rsplit_once('}')) {
        (Some((name, _)), Some((_, value))) => format!("{name}{value}"),
        _ => line.to_string(),
    }
}

#[test]
fn settings_without_effect_are_refused() {
    let folder = Folder::new("api-settings");
    for (name, more, text) in [
        (
            "scaling.hcl",
            "autoscaling {\n  concurrency = 0\n}\n",
            "autoscaling block invalid: concurrency must be at least 1",
        ),
        ("interval.hcl", "server {\n  job_gc_interval = \"0s\"\n}\n", "job_gc_interval should be greater than 0s"),
    ] {
        folder.file(name, format!("{}{more}", server_config(&folder, "bootstrap_expect = 1")));
        let ran = run_in(folder.path(), &["agent", "-config", name]);
        assert!(ran.exit == 1 && format!("{}{}", ran.stdout, ran.stderr).contains(text), "{name}: {ran:?}");
    }
    let thresholds = "bootstrap_expect = 1\n  node_gc_threshold = \"-1h\"\n  eval_gc_threshold = \"0s\"";
    let agent = Agent::start(&folder, &server_config(&folder, thresholds), &[]);
    let server = &agent.get("/v1/agent/self")["config"]["Server"];
    assert_eq!((&server["NodeGCThreshold"], &server["EvalGCThreshold"]), (&json!(-3_600_000_000_000_i64), &json!(0)));
}
