//! The keys that encrypt gossip, changed on real servers while they work.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::agent::{self, Reply, wait_for};
use crate::member::{Member, Role, leader};
use crate::program::{self, Ran};

const A: &str = "YSBrZXkgdGhhdCB3YXMgdXNlZCB1bnRpbCBub3cuLi4=";
const B: &str = "c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M=";

/// A server that encrypts gossip with a key and joins others.
fn server(name: &str, key: &str, join: Vec<String>) -> Member {
    let mut member = Member::new(&format!("gossip-keys-{name}"), Role::Server { expect: 3, join });
    member.more = format!("server {{\n  encrypt = {key:?}\n}}\n");
    member.start();
    member
}

/// Runs a command on the keyring by way of a server.
fn keyring(at: &Member, operation: &[&str]) -> Ran {
    let address = format!("http://127.0.0.1:{}", at.port());
    let arguments: Vec<&str> = ["operator", "gossip", "keyring"].iter().chain(operation).copied().collect();
    program::run_with(at.folder().path(), &arguments, &[("NOMAD_ADDR", &address)], None)
}

fn must(at: &Member, operation: &[&str]) {
    let ran = keyring(at, operation);
    assert!(ran.exit == 0 && ran.stderr.is_empty(), "{operation:?}: {ran:?}");
}

/// The keys of all servers as a server reports them.
fn list(at: &Member) -> Result<Json, String> {
    at.read("/v1/agent/keyring/list")
}

/// A change by the HTTP interface.
fn change(at: &Member, operation: &str, body: &Json) -> Reply {
    let path = format!("/v1/agent/keyring/{operation}");
    agent::call(at.port(), "PUT", &path, &body.to_string(), agent::PATIENCE).expect("an answer")
}

/// The keys in the file of a server, which only its user can read.
fn stored(of: &Member) -> Vec<String> {
    let file = of.data().join("server/serf.keyring");
    assert_eq!(std::fs::metadata(&file).expect("the keyring").permissions().mode() & 0o777, 0o600);
    serde_json::from_slice(&std::fs::read(&file).expect("the keyring")).expect("a list")
}

/// Waits until a server knows that many servers with a status.
fn members(at: &Member, status: &str, count: usize) {
    wait_for(&format!("{count} servers are {status}"), || {
        let all = at.read("/v1/agent/members")?["Members"].as_array().cloned().unwrap_or_default();
        let found = all.iter().filter(|m| m["Status"] == status).count();
        if found == count { Ok(()) } else { Err(format!("{all:?}")) }
    });
}

fn register(port: u16, name: &str) -> Result<(), String> {
    let group = json!({"Name": "g", "Count": 0, "Tasks": [{
        "Name": "t", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}]});
    let job =
        json!({"Job": {"ID": name, "Name": name, "Type": "service", "Datacenters": ["*"], "TaskGroups": [group]}});
    let reply = agent::call(port, "PUT", "/v1/jobs", &job.to_string(), agent::PATIENCE).map_err(|e| e.to_string())?;
    if reply.status == 200 { Ok(()) } else { Err(format!("{} {}", reply.status, reply.body)) }
}

#[test]
fn a_key_is_replaced_while_servers_work() {
    let first = server("1", A, vec![]);
    let (by_gossip, by_call) = (vec![first.serf()], vec![first.rpc()]);
    let mut servers = vec![first, server("2", A, by_gossip), server("3", A, by_call)];
    leader(&servers);
    servers.iter().for_each(|s| members(s, "alive", 3));
    assert_eq!(servers[0].agent().get("/v1/agent/self")["stats"]["serf"]["encrypted"], "true");
    let one = json!({"Keys": {A: 3}, "Messages": {}, "NumNodes": 3, "PrimaryKeys": {A: 3}});
    assert_eq!(list(&servers[1]), Ok(one.clone()));

    // Jobs are registered all the while.
    let ports = [servers[0].port(), servers[1].port()];
    let done = AtomicBool::new(false);
    let registered = std::thread::scope(|scope| {
        let work = scope.spawn(|| {
            let mut names = Vec::new();
            while !done.load(Ordering::Relaxed) {
                let name = format!("job-{:04}", names.len());
                wait_for("a job is registered", || register(ports[names.len() % 2], &name));
                names.push(name);
                std::thread::sleep(Duration::from_millis(50));
            }
            names
        });
        replace(&mut servers, &one);
        done.store(true, Ordering::Relaxed);
        work.join().expect("jobs were registered")
    });
    assert!(registered.len() > 5, "{registered:?}");
    for server in &servers {
        wait_for("all jobs are there", || {
            let jobs = server.read("/v1/jobs?stale")?.as_array().cloned().unwrap_or_default();
            let names: Vec<&str> = jobs.iter().filter_map(|j| j["ID"].as_str()).collect();
            if names == registered { Ok(()) } else { Err(format!("{names:?}, not {registered:?}")) }
        });
    }

    // A server with the new key joins; one with the old key does not.
    let new = server("4", B, vec![servers[0].serf()]);
    members(&servers[2], "alive", 4);
    members(&new, "alive", 4);
    let mut stranger = server("5", A, vec![]);
    for address in [servers[0].serf(), servers[1].rpc()] {
        let joined = stranger.agent().send("PUT", &format!("/v1/agent/join?address={address}"), &Json::Null).json();
        assert!(joined["num_joined"] == 0 && joined["error"] != "", "{joined}");
    }
    members(&stranger, "alive", 1);
    members(&servers[0], "alive", 4);
    servers.push(new);
    a_server_does_not_answer(&mut servers);

    stranger.kill();
    for server in servers.iter_mut().chain([&mut stranger]) {
        let log = server.log();
        assert!(!log.contains(A) && !log.contains(B), "a key is in the log");
    }
}

/// Replaces the key A by B, and restarts a server.
fn replace(servers: &mut [Member], one: &Json) {
    // Refused, everywhere.
    let refused = keyring(&servers[0], &["use", B]);
    assert_eq!((refused.exit, refused.stdout.as_str()), (1, "Changing primary gossip encryption key...\n"));
    for text in ["3/3 nodes reported failure; nothing was changed", "gossip-keys-2.global: the key is not installed"] {
        assert!(refused.stderr.contains(text), "{refused:?}");
    }
    let refused = keyring(&servers[1], &["remove", A]);
    assert!(refused.exit == 1 && refused.stderr.contains("is the primary key"), "{refused:?}");
    for (body, text) in [
        (json!({"Key": "no base64"}), "Invalid encryption key: it is not base64"),
        (json!({"Key": "c2VjcmV0"}), "Invalid encryption key: it has 6 bytes, not 16, 24 or 32"),
        (json!({}), "Invalid encryption key: it has 0 bytes, not 16, 24 or 32"),
    ] {
        let reply = change(&servers[2], "install", &body);
        assert_eq!((reply.status, reply.body.as_str()), (400, text));
    }
    assert_eq!(list(&servers[2]).as_ref(), Ok(one), "nothing has changed");

    // Each step by way of another server.
    must(&servers[0], &["install", B]);
    must(&servers[1], &["install", B]);
    let two = json!({"Keys": {A: 3, B: 3}, "Messages": {}, "NumNodes": 3, "PrimaryKeys": {A: 3}});
    assert_eq!(list(&servers[2]), Ok(two));
    servers.iter().for_each(|s| assert_eq!(stored(s), [A, B]));
    must(&servers[1], &["use", B]);
    servers.iter().for_each(|s| assert_eq!(stored(s), [B, A]));
    let listed = keyring(&servers[0], &["list"]);
    assert_eq!(listed.stdout, format!("Gathering installed encryption keys...\nKey\n{B}\n{A}\n"));
    let removed = change(&servers[2], "remove", &json!({"Key": A}));
    let left = json!({"Keys": {B: 3}, "Messages": {}, "NumNodes": 3, "PrimaryKeys": {B: 3}});
    assert_eq!((removed.status, removed.json()), (200, left.clone()));
    servers.iter().for_each(|s| assert_eq!(stored(s), [B]));

    // The file wins over the configuration, which still has A.
    servers[2].kill();
    members(&servers[0], "failed", 1);
    let rest = list(&servers[0]).expect("two servers");
    assert_eq!((&rest["NumNodes"], &rest["Keys"]), (&json!(2), &json!({B: 2})));
    let message = rest["Messages"]["gossip-keys-3.global"].as_str().unwrap_or_default();
    assert!(message.contains("was not asked"), "{rest}");
    servers[2].start();
    servers.iter().for_each(|s| members(s, "alive", 3));
    assert_eq!(list(&servers[2]), Ok(left));
    let log = servers[2].log();
    assert!(log.contains("keyring exists but -encrypt given, using keyring"), "{log}");
}

/// A server that hangs is reported in time, and nothing is changed on the others.
fn a_server_does_not_answer(servers: &mut [Member]) {
    servers[3].agent_mut().signal(rustix::process::Signal::STOP);
    let begun = Instant::now();
    let late = change(&servers[0], "install", &json!({"Key": A}));
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert_eq!(late.status, 500, "{}", late.body);
    let text = "1/4 nodes reported failure; nothing was changed\ngossip-keys-4.global: ";
    assert!(late.body.starts_with(text) && late.body.contains("no answer"), "{}", late.body);
    servers[3].agent_mut().signal(rustix::process::Signal::CONT);
    servers.iter().for_each(|s| members(s, "alive", 4));
    servers.iter().for_each(|s| assert_eq!(stored(s), [B]));
    must(&servers[3], &["install", A]);
    assert_eq!(list(&servers[0]).map(|l| l["Keys"].clone()), Ok(json!({A: 4, B: 4})));
}

#[test]
fn without_encryption_there_are_no_keys() {
    let mut plain = Member::new("gossip-keys-off", Role::Server { expect: 1, join: vec![] });
    plain.start();
    let mut node = Member::new("gossip-keys-node", Role::Node { servers: vec![plain.rpc()] });
    node.start();
    for (at, status, text) in [(&plain, 500, "1/1 nodes reported failure"), (&node, 501, "Invalid method")] {
        assert_eq!(list(at), Err(format!("{status} {text}")));
        for operation in ["install", "use", "remove"] {
            let reply = change(at, operation, &json!({"Key": A}));
            assert_eq!((reply.status, reply.body.as_str()), (status, text), "{operation}");
        }
    }
    assert!(!plain.data().join("server/serf.keyring").exists());

    // A damaged file keeps a server from starting, with the name of the file and without keys.
    plain.kill();
    std::fs::write(plain.data().join("server/serf.keyring"), format!("[{A:?}")).expect("written");
    plain.launch();
    assert_ne!(plain.agent_mut().exit(), 0);
    let log = plain.log();
    assert!(log.contains("server/serf.keyring can't be used: it is not a JSON list") && !log.contains(A), "{log}");
}
