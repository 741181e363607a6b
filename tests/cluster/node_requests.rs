//! Requests for the agents of nodes through servers, over the connections that nodes keep to them
//! (`docs/spec/client.md §26`): files, logs, commands, statistics, metadata, collection.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::agent::{PATIENCE, Reply, bootstrap, call_as, wait_for};
use super::member::{Member, Role, leader};
use super::program;

/// Streams that are open at the same time.
const STREAMS: usize = 200;
/// How soon streams end after their node.
const PROMISED: Duration = Duration::from_secs(5);
/// What a busy machine adds.
const DELAY: Duration = Duration::from_secs(10);

struct Cluster {
    servers: Vec<Member>,
    nodes: Vec<Member>,
    token: String,
}

/// An allocation and the place of its node.
struct Alloc {
    id: String,
    node: String,
    place: usize,
}

impl Cluster {
    fn start(name: &str, count: u32, acl: bool) -> Cluster {
        let begin = |name: String, role| {
            let mut member = Member::new(&name, role);
            if acl {
                member.more = "acl {\n  enabled = true\n}\n".into();
            }
            member.start();
            member
        };
        let server = |n: u32, join| begin(format!("{name}-server-{n}"), Role::Server { expect: count, join });
        let first = server(0, vec![]);
        let known = vec![first.serf()];
        let mut servers = vec![first];
        servers.extend((1..count).map(|n| server(n, known.clone())));
        let leading = leader(&servers);
        let token = if acl { bootstrap(servers[leading].port()) } else { String::new() };
        // Each node knows one server alone at first.
        let node = |n: usize| {
            let servers = vec![servers[n % servers.len()].rpc()];
            begin(format!("{name}-node-{n}"), Role::Node { servers })
        };
        let nodes = (0..2).map(node).collect();
        let cluster = Cluster { servers, nodes, token };
        wait_for("both nodes are ready", || {
            let nodes = cluster.ask(&cluster.servers[0], "GET", "/v1/nodes", &Json::Null).json();
            let ready = nodes.as_array().map_or(0, |n| n.iter().filter(|n| n["Status"] == "ready").count());
            if ready == 2 { Ok(()) } else { Err(nodes.to_string()) }
        });
        cluster
    }

    fn ask(&self, at: &Member, method: &str, path: &str, body: &Json) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        call_as(at.port(), &self.token, method, path, &body, PATIENCE)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    fn get(&self, at: &Member, path: &str) -> Reply {
        self.ask(at, "GET", path, &Json::Null)
    }

    /// Runs a script on both nodes.
    fn run(&self, script: &str) -> Vec<Alloc> {
        let task = json!({
            "Name": "main", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "Resources": {"CPU": 20, "MemoryMB": 20}, "KillTimeout": 1_000_000_000u64,
        });
        let job = json!({
            "ID": "both", "Type": "system", "Datacenters": ["*"], "TaskGroups": [{"Name": "main", "Tasks": [task]}],
        });
        let made = self.ask(&self.servers[0], "PUT", "/v1/jobs", &json!({ "Job": job }));
        assert_eq!(made.status, 200, "{}", made.body);
        let own: Vec<String> = (0..2)
            .map(|n| {
                let own = self.get(&self.nodes[n], "/v1/agent/self").json();
                own["stats"]["client"]["node_id"].as_str().expect("a node").to_string()
            })
            .collect();
        let mut allocs = Vec::new();
        wait_for("the job runs on both nodes", || {
            let rows = self.get(&self.servers[0], "/v1/job/both/allocations").json();
            let running = rows.as_array().into_iter().flatten().filter(|a| a["ClientStatus"] == "running");
            allocs = running
                .map(|a| {
                    let node = a["NodeID"].as_str().expect("a node").to_string();
                    let place = own.iter().position(|n| *n == node).expect("a node of the test");
                    Alloc { id: a["ID"].as_str().expect("an ID").into(), node, place }
                })
                .collect();
            if allocs.len() == 2 { Ok(()) } else { Err(rows.to_string()) }
        });
        allocs
    }
}

/// A stream of a task's output; its first piece was read.
fn follow(at: &Member, token: &str, alloc: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(("127.0.0.1", at.port())).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(
        stream,
        "GET /v1/client/fs/logs/{alloc}?task=main&type=stdout&follow=true&plain=true HTTP/1.1\r\nHost: x\r\n\
         X-Nomad-Token: {token}\r\n\r\n"
    )
    .expect("written");
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status");
    assert!(line.contains(" 200 "), "{line}");
    while !line.contains("tick") {
        line.clear();
        assert_ne!(stream.read_line(&mut line).expect("a line"), 0, "the stream ended");
    }
    stream
}

/// Runs `alloc exec` on a server.
fn exec(at: &Member, alloc: &str, command: &[&str]) -> Child {
    Command::new(program::path())
        .args(["alloc", "exec", &format!("-address=http://127.0.0.1:{}", at.port()), "-i", "-t=false", alloc])
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a command")
}

#[test]
fn every_server_reaches_every_node() {
    let cluster = Cluster::start("node-requests", 3, false);
    let allocs = cluster.run(
        "trap 'echo signalled >> $NOMAD_TASK_DIR/signals' USR1; echo hello > $NOMAD_TASK_DIR/file; \
         while true; do echo tick; sleep 0.1; done",
    );
    // A node asks servers about the other node, too.
    for at in cluster.servers.iter().chain(&cluster.nodes) {
        for alloc in &allocs {
            let (id, node) = (&alloc.id, &alloc.node);
            wait_for("the node is connected", || {
                let reply = cluster.get(at, &format!("/v1/client/fs/cat/{id}?path=main/local/file"));
                if (reply.status, reply.body.as_str()) == (200, "hello\n") { Ok(()) } else { Err(reply.body) }
            });
            let listed = cluster.get(at, &format!("/v1/client/fs/ls/{id}?path=main")).json();
            assert!(listed.as_array().is_some_and(|l| l.iter().any(|f| f["Name"] == "local")), "{listed}");
            let stat = cluster.get(at, &format!("/v1/client/fs/stat/{id}?path=main/local/file")).json();
            assert_eq!(stat["Size"], 6);
            let part = cluster.get(at, &format!("/v1/client/fs/readat/{id}?path=main/local/file&offset=1&limit=3"));
            assert_eq!(part.body, "ell");
            let logs = cluster.get(at, &format!("/v1/client/fs/logs/{id}?task=main&type=stdout&plain=true"));
            assert!(logs.status == 200 && logs.body.starts_with("tick\n"), "{} {}", logs.status, logs.body);
            let stats = cluster.get(at, &format!("/v1/client/allocation/{id}/stats"));
            assert!(stats.status == 200 && stats.json()["Timestamp"].is_number(), "{}", stats.body);
            let host = cluster.get(at, &format!("/v1/client/stats?node_id={node}"));
            assert!(host.status == 200 && host.json()["Memory"]["Total"].is_number(), "{}", host.body);
            let key = format!("by.port{}", at.port());
            let meta = json!({"NodeID": node, "Meta": {(key.as_str()): "yes"}});
            let set = cluster.ask(at, "POST", "/v1/client/metadata", &meta);
            assert_eq!(set.status, 200, "{}", set.body);
            let meta = cluster.get(at, &format!("/v1/client/metadata?node_id={node}")).json();
            assert_eq!(meta["Dynamic"][key.as_str()], "yes", "{meta}");
            let collected = cluster.ask(at, "PUT", &format!("/v1/client/gc?node_id={node}"), &Json::Null);
            assert_eq!(collected.status, 200, "{}", collected.body);
            let signal = json!({"Signal": "SIGUSR1", "Task": "main"});
            let signalled = cluster.ask(at, "PUT", &format!("/v1/client/allocation/{id}/signal"), &signal);
            assert_eq!(signalled.status, 200, "{}", signalled.body);

            let mut child = exec(at, id, &["/bin/sh", "-c", "cat; echo error >&2; exit 3"]);
            child.stdin.take().expect("stdin").write_all(b"through the server").expect("written");
            let output = child.wait_with_output().expect("an end");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
            assert_eq!((text(&output.stdout), text(&output.stderr)), ("through the server".into(), "error\n".into()));
        }
        let unknown = "00000000-0000-4000-8000-000000000000";
        let logs = cluster.get(at, &format!("/v1/client/fs/logs/{unknown}?task=main&type=stdout"));
        assert_eq!(logs.status, 404, "{}", logs.body);
        let host = cluster.get(at, &format!("/v1/client/stats?node_id={unknown}"));
        assert_eq!((host.status, host.body.as_str()), (404, format!("Unknown node {unknown}").as_str()));
    }
    for alloc in &allocs {
        let path = format!("/v1/client/fs/cat/{}?path=main/local/signals", alloc.id);
        wait_for("all signals arrived", || {
            let response = cluster.get(&cluster.servers[0], &path).body;
            if response.contains("signalled") { Ok(()) } else { Err(response) }
        });
    }
}

#[test]
fn streams_end_with_their_node_and_with_their_reader() {
    let mut cluster = Cluster::start("node-streams", 3, false);
    let allocs = cluster.run("while true; do echo tick; sleep 0.2; done");
    let opened: Vec<_> = (0..STREAMS)
        .map(|n| {
            let (at, alloc) = (&cluster.servers[n % 3], &allocs[n % 2]);
            wait_for("the node is connected", || match cluster.get(at, &format!("/v1/client/fs/ls/{}", alloc.id)) {
                reply if reply.status == 200 => Ok(()),
                reply => Err(reply.body),
            });
            (n % 2, follow(at, "", &alloc.id))
        })
        .collect();

    // A command ends when who runs it goes away.
    let mark = format!("{}.25", 100_000 + std::process::id());
    let line = format!("/bin/sleep\0{mark}\0");
    let runs = || {
        let processes = procfs::process::all_processes().expect("the processes").flatten();
        let lines = processes.filter_map(|process| std::fs::read(format!("/proc/{}/cmdline", process.pid())).ok());
        lines.into_iter().any(|found| found == line.as_bytes())
    };
    let mut child = exec(&cluster.servers[1], &allocs[0].id, &["/bin/sleep", &mark]);
    wait_for("the command runs", || if runs() { Ok(()) } else { Err("it does not".into()) });
    child.kill().expect("killed");
    child.wait().expect("an end");
    wait_for("the command ends with its caller", || if runs() { Err("it runs".into()) } else { Ok(()) });

    let dying = allocs[0].place;
    let begin = Instant::now();
    cluster.nodes[dying].kill();
    let (ends, goes_on): (Vec<_>, Vec<_>) = opened.into_iter().partition(|(n, _)| *n == 0);
    let readers: Vec<_> = ends
        .into_iter()
        .map(|(_, mut stream)| {
            thread::spawn(move || {
                let mut rest = String::new();
                let result = stream.read_to_string(&mut rest);
                // A whole answer would end with an empty chunk.
                let whole = rest.ends_with("\r\n0\r\n\r\n");
                (whole || matches!(&result, Err(e) if e.kind() == ErrorKind::WouldBlock), Instant::now())
            })
        })
        .collect();
    let mut latest = Duration::ZERO;
    let count = readers.len();
    for reader in readers {
        let (wrong, ended) = reader.join().expect("a stream");
        assert!(!wrong, "the stream of a dead node ends with an error");
        latest = latest.max(ended.saturating_duration_since(begin));
    }
    println!("{count} streams of the dead node ended with an error after {latest:?}");
    assert!(latest < PROMISED + DELAY, "{latest:?}");
    for (_, mut stream) in goes_on {
        let mut line = String::new();
        while !line.contains("tick") {
            line.clear();
            assert_ne!(stream.read_line(&mut line).expect("a line"), 0, "streams of the other node go on");
        }
    }
    let gone = cluster.get(&cluster.servers[0], &format!("/v1/client/fs/ls/{}", allocs[0].id));
    assert_eq!((gone.status, gone.body.as_str()), (404, "No path to node"));
}

#[test]
fn who_does_not_read_stops_who_writes() {
    const BYTES: usize = 100_000_000;
    let cluster = Cluster::start("node-pressure", 1, false);
    let allocs = cluster.run("while true; do echo tick; sleep 0.2; done");
    let at = &cluster.servers[0];
    wait_for("the node is connected", || match cluster.get(at, &format!("/v1/client/fs/ls/{}", allocs[0].id)) {
        reply if reply.status == 200 => Ok(()),
        reply => Err(reply.body),
    });
    let memory = |m: &Member| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", m.agent().pid())).expect("a status");
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("a line");
        line.split_whitespace().nth(1).and_then(|n| n.parse::<usize>().ok()).expect("a number")
    };
    let agents: Vec<&Member> = cluster.servers.iter().chain(&cluster.nodes).collect();
    let before: Vec<usize> = agents.iter().map(|m| memory(m)).collect();
    let command = format!("yes | head -c {BYTES}");
    let mut child = exec(at, &allocs[0].id, &["/bin/sh", "-c", &command]);
    let mut output = child.stdout.take().expect("stdout");
    let mut first = [0; 2];
    output.read_exact(&mut first).expect("output");
    // Nothing is read until memory has stopped to grow.
    let mut last = 0;
    wait_for("the agents stop to read", || {
        thread::sleep(Duration::from_millis(500));
        let now: usize = agents.iter().map(|m| memory(m)).sum();
        let grown = now.saturating_sub(last);
        last = now;
        if grown < 1000 { Ok(()) } else { Err(format!("{grown} kB more")) }
    });
    for (agent, before) in agents.iter().zip(before) {
        let more = memory(agent).saturating_sub(before);
        assert!(more < 60_000, "{more} kB more for what nobody reads");
    }
    let mut rest = Vec::new();
    output.read_to_end(&mut rest).expect("output");
    assert_eq!(rest.len() + 2, BYTES);
    assert!(child.wait().expect("an end").success());
}

#[test]
fn rights_are_checked_on_the_way_and_on_the_node() {
    let cluster = Cluster::start("node-rights", 1, true);
    let allocs = cluster.run("while true; do echo tick; sleep 0.1; done");
    let at = &cluster.servers[0];
    let policy = |name: &str, rules: &str| {
        let done = cluster.ask(at, "PUT", &format!("/v1/acl/policy/{name}"), &json!({"Name": name, "Rules": rules}));
        assert_eq!(done.status, 200, "{}", done.body);
        let wanted = json!({"Name": name, "Type": "client", "Policies": [name]});
        let made = cluster.ask(at, "PUT", "/v1/acl/token", &wanted).json();
        let text = |field: &str| made[field].as_str().expect("a text").to_string();
        (text("AccessorID"), text("SecretID"))
    };
    let (accessor, reads) =
        policy("reads", "namespace \"default\" {\n  capabilities = [\"read-job\", \"read-logs\"]\n}\n");
    let (_, lists) = policy("lists", "namespace \"default\" {\n  capabilities = [\"list-jobs\"]\n}\n");
    let logs = format!("/v1/client/fs/logs/{}?task=main&type=stdout&plain=true", allocs[0].id);
    wait_for("the logs are read", || {
        match call_as(at.port(), &reads, "GET", &logs, "", PATIENCE).expect("an answer") {
            reply if reply.status == 200 && reply.body.starts_with("tick") => Ok(()),
            reply => Err(format!("{} {}", reply.status, reply.body)),
        }
    });
    for token in ["", &lists, "00000000-0000-4000-8000-000000000000"] {
        let refused = call_as(at.port(), token, "GET", &logs, "", PATIENCE).expect("an answer");
        assert_eq!((refused.status, refused.body.as_str()), (403, "Permission denied"));
    }
    // The token comes with the first message: the agent of the node checks it.
    let run = |token: &str| {
        let mut command = Command::new(program::path());
        command.args(["alloc", "exec", &format!("-address=http://127.0.0.1:{}", at.port()), "-t=false"]);
        command.args([&allocs[0].id, "/bin/echo", "ran"]).env("NOMAD_TOKEN", token);
        command.output().expect("a command")
    };
    assert_eq!(run(&cluster.token).stdout, b"ran\n");
    let refused = run(&reads);
    assert!(!refused.status.success() && refused.stdout.is_empty(), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("Permission denied"), "{refused:?}");

    let mut stream = follow(at, &reads, &allocs[0].id);
    let revoked = cluster.ask(at, "DELETE", &format!("/v1/acl/token/{accessor}"), &Json::Null);
    assert_eq!(revoked.status, 200, "{}", revoked.body);
    let begin = Instant::now();
    let mut rest = String::new();
    // The connection may be closed in any way.
    let _ = stream.read_to_string(&mut rest);
    assert!(begin.elapsed() < Duration::from_secs(1) + DELAY, "{:?}", begin.elapsed());
    assert!(!rest.ends_with("\r\n0\r\n\r\n"), "a stream that was refused is not whole");
}
