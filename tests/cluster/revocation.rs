//! Revocation of tokens in a cluster: all agents refuse a revoked token at once, open streams end, and a new leader
//! refuses it, too (`docs/spec/http-api.md §7.7`).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::agent::{PATIENCE, Reply, bootstrap, call_as, wait_for};
use super::member::{Member, Role, leader, node_ready};

/// How soon a stream ends, on a machine that has time for it (`docs/spec/http-api.md §7.7`).
const PROMISED: Duration = Duration::from_secs(1);
/// What a busy machine adds.
const DELAY: Duration = Duration::from_secs(9);

const ACL: &str = "acl {\n  enabled = true\n}\n";

fn member(name: &str, role: Role) -> Member {
    let mut member = Member::new(name, role);
    member.more = ACL.into();
    member.start();
    member
}

fn ask(at: &Member, token: &str, method: &str, path: &str, body: &Json) -> Reply {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    call_as(at.port(), token, method, path, &body, PATIENCE).unwrap_or_else(|e| panic!("{method} {path}: {e}"))
}

/// An event stream that has begun; joined, when it ended.
fn stream(at: &Member, token: &str) -> thread::JoinHandle<Instant> {
    let mut stream = TcpStream::connect(("127.0.0.1", at.port())).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(
        stream,
        "GET /v1/event/stream?topic=Job HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Nomad-Token: {token}\r\n\r\n"
    )
    .expect("written");
    let mut stream = BufReader::new(stream);
    let mut status = String::new();
    stream.read_line(&mut status).expect("a status");
    assert!(status.contains(" 200 "), "{status}");
    thread::spawn(move || {
        // The connection may be closed in any way.
        let _ = stream.read_to_end(&mut Vec::new());
        Instant::now()
    })
}

#[test]
fn a_revoked_token_is_refused_by_all_agents() {
    let server = |n: u32, join| member(&format!("cluster-revocation-{n}"), Role::Server { expect: 3, join });
    let first = server(1, vec![]);
    let known = vec![first.serf()];
    let mut servers = vec![first, server(2, known.clone()), server(3, known)];
    let leading = leader(&servers);
    let operator = bootstrap(servers[leading].port());
    servers.iter_mut().for_each(|s| s.token = operator.clone());
    let addresses = servers.iter().map(Member::rpc).collect();
    let node = member("cluster-revocation-node", Role::Node { servers: addresses });
    node_ready(&servers[leading]);

    let follower = &servers[(leading + 1) % 3];
    let rules = json!({"Name": "reader", "Rules": "namespace \"default\" {\n policy = \"read\"\n}\n"});
    assert_eq!(ask(follower, &operator, "PUT", "/v1/acl/policy/reader", &rules).status, 200);
    let token = || {
        let wanted = json!({"Name": "reader", "Type": "client", "Policies": ["reader"]});
        let made = ask(follower, &operator, "PUT", "/v1/acl/token", &wanted);
        assert_eq!(made.status, 200, "{}", made.body);
        let text = |field: &str| made.json()[field].as_str().expect("a text").to_string();
        (text("AccessorID"), text("SecretID"))
    };
    let ((revoked, secret), (_, reader)) = (token(), token());
    let agents: Vec<&Member> = servers.iter().chain([&node]).collect();
    let get = |at: &Member, token: &str, query: &str| ask(at, token, "GET", &format!("/v1/jobs{query}"), &Json::Null);
    for agent in &agents {
        wait_for("the token is known", || match get(agent, &secret, "?stale") {
            reply if reply.status == 200 => Ok(()),
            reply => Err(format!("{} {}", reply.status, reply.body)),
        });
    }
    let streams: Vec<_> = agents.iter().map(|a| (stream(a, &secret), stream(a, &reader))).collect();
    let put_namespace = |name: &str| {
        let made = ask(follower, &operator, "PUT", "/v1/namespace", &json!({ "Name": name }));
        assert_eq!(made.status, 200, "{}", made.body);
        made.index
    };
    let index = put_namespace("first");
    let waiting = agents.iter().map(|a| {
        let (port, secret) = (a.port(), secret.clone());
        let path = format!("/v1/namespaces?index={index}&wait=50s");
        thread::spawn(move || call_as(port, &secret, "GET", &path, "", PATIENCE).expect("an answer"))
    });
    let waiting: Vec<_> = waiting.collect();

    let done = ask(follower, &operator, "DELETE", &format!("/v1/acl/token/{revoked}"), &Json::Null);
    assert_eq!(done.status, 200, "{}", done.body);
    let begin = Instant::now();
    for server in &servers {
        assert_eq!(get(server, &secret, "").status, 403, "the next request is refused");
    }
    for agent in &agents {
        wait_for("reads of old state are refused, too", || match get(agent, &secret, "?stale").status {
            403 => Ok(()),
            status => Err(status.to_string()),
        });
        assert!(begin.elapsed() < PROMISED + DELAY, "{:?}", begin.elapsed());
    }
    let refused = begin.elapsed();
    let mut latest = Duration::ZERO;
    let mut others = Vec::new();
    for (revoked, other) in streams {
        latest = latest.max(revoked.join().expect("a stream").saturating_duration_since(begin));
        others.push(other);
    }
    println!("all agents refused the token after {refused:?}; the last of four streams ended after {latest:?}");
    assert!(latest < PROMISED + DELAY, "{latest:?}");
    assert!(others.iter().all(|s| !s.is_finished()), "another token keeps its streams");
    // A change wakes the reads that wait.
    put_namespace("second");
    for reply in waiting {
        let reply = reply.join().expect("a reply");
        assert_eq!((reply.status, reply.body.as_str()), (403, "Permission denied"));
    }

    // So does the next leader.
    servers[leading].kill();
    let rest: Vec<&Member> = servers.iter().filter(|s| s.port() != servers[leading].port()).collect();
    for server in rest {
        wait_for("there is a leader", || match get(server, &reader, "") {
            reply if reply.status == 200 => Ok(()),
            reply => Err(format!("{} {}", reply.status, reply.body)),
        });
        assert_eq!(get(server, &secret, "").status, 403);
        assert_eq!(get(server, &secret, "?stale").status, 403);
    }
}
