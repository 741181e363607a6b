//! A worker pool on real agents: the pool of docs/guide/worker-pools.md grows under load and shrinks afterwards, with the
//! files and commands of that document, while a client continuously calls a service with two instances.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::agent::{Agent, call};
use crate::program::{Folder, run_for};
use serde_json::Value as Json;

/// The document that contains the files and commands.
const DOCUMENT: &str = include_str!("../../docs/guide/worker-pools.md");
/// Maximum time for the pool to settle on a slow machine: agent start, drain, and the cycles in between.
const PATIENCE: Duration = Duration::from_secs(180);
/// Timeout of a service call.
const CALL: Duration = Duration::from_secs(5);

/// The files in the document, each preceded by its name in backquotes and a colon.
fn files() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = DOCUMENT;
    while let Some(at) = rest.find("`:\n\n```hcl\n") {
        let name = rest[..at].rsplit('`').next().expect("a name").to_string();
        let after = &rest[at + "`:\n\n```hcl\n".len()..];
        let (content, behind) = after.split_once("\n```\n").expect("the end of a file");
        found.push((name, format!("{content}\n")));
        rest = behind;
    }
    found
}

/// The commands of the section with this heading, without prompt and program name.
fn commands(heading: &str) -> Vec<Vec<String>> {
    let section = DOCUMENT.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_else(|| panic!("no section {heading}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter_map(|l| l.strip_prefix("$ encamp "));
    lines.map(|l| l.split_whitespace().map(String::from).collect()).collect()
}

/// Stops the instances of the pool when the test ends.
struct Instances<'a>(&'a Path);

impl Drop for Instances<'_> {
    fn drop(&mut self) {
        let folder = self.0.to_string_lossy().into_owned();
        let Ok(processes) = fs::read_dir("/proc") else { return };
        for entry in processes.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let own = name == std::process::id().to_string();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            if !own && name.bytes().all(|b| b.is_ascii_digit()) && String::from_utf8_lossy(&line).contains(&folder) {
                let _ = Command::new("kill").args(["-KILL", &name]).status();
            }
        }
    }
}

/// The results of the client's service calls.
#[derive(Default)]
struct Calls {
    stop: AtomicBool,
    answered: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

impl Calls {
    /// Calls the service continuously, each time another one of the currently registered instances. An instance is
    /// registered before it listens: if it does not answer, the next one is called, as service clients do.
    fn run(&self, port: u16) {
        let mut turn = 0;
        while !self.stop.load(Ordering::Relaxed) {
            turn += 1;
            let failed = |why: String| self.failures.lock().unwrap().push(why);
            let copies = match call(port, "GET", "/v1/service/web", "", CALL) {
                Ok(reply) => reply.json().as_array().cloned().unwrap_or_default(),
                Err(e) => return failed(format!("the server does not answer: {e}")),
            };
            let mut errors = Vec::new();
            let answered = (0..copies.len()).any(|i| match answers(&copies[(turn + i) % copies.len()]) {
                Ok(()) => true,
                Err(e) => {
                    errors.push(e);
                    false
                }
            });
            if answered {
                self.answered.fetch_add(1, Ordering::Relaxed);
            } else {
                failed(format!("call {turn}: none of {} copies answers: {}", copies.len(), errors.join("; ")));
            }
        }
    }
}

fn answers(copy: &Json) -> Result<(), String> {
    let (address, port) = (copy["Address"].as_str().unwrap_or_default(), copy["Port"].as_u64().unwrap_or_default());
    let to = format!("{address}:{port}").parse().map_err(|e| format!("{address}:{port}: {e}"))?;
    let mut stream = TcpStream::connect_timeout(&to, CALL).map_err(|e| format!("{to}: {e}"))?;
    stream.set_read_timeout(Some(CALL)).map_err(|e| e.to_string())?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").map_err(|e| format!("{to}: {e}"))?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(|e| format!("{to}: {e}"))?;
    if text.contains(" 200 OK") { Ok(()) } else { Err(format!("{to}: {text:?}")) }
}

/// Waits until a condition holds; a persistent error is printed together with the pool.
fn wait_for(server: &Agent, what: &str, mut come: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(why) = come() {
        if Instant::now() >= deadline {
            panic!("{what}: {why}\n{:#}\n{:#}", server.get("/v1/autoscale/pools"), server.get("/v1/nodes"));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

fn pool(server: &Agent) -> Json {
    server.get("/v1/autoscale/pool/laptop")
}

/// The number of ready nodes.
fn ready(server: &Agent) -> usize {
    server.list("/v1/nodes").iter().filter(|n| n["Status"] == "ready").count()
}

/// The running allocations of a job, each with its node.
fn running(server: &Agent, job: &str) -> Vec<(String, String)> {
    let all = server.list(&format!("/v1/job/{job}/allocations"));
    let text = |a: &Json, key: &str| a[key].as_str().unwrap_or_default().to_string();
    let run = all.iter().filter(|a| a["ClientStatus"] == "running" && a["DesiredStatus"] == "run");
    run.map(|a| (text(a, "ID"), text(a, "NodeID"))).collect()
}

fn runs(server: &Agent, job: &str, copies: usize) {
    wait_for(server, &format!("{copies} copies of {job} run"), || match running(server, job).len() {
        n if n == copies => Ok(()),
        n => Err(format!("{n} run")),
    });
}

#[test]
#[ignore = "takes long: `cargo xtask test all` runs it"]
fn a_pool_grows_and_shrinks_while_a_service_answers() {
    let folder = Folder::new("worker-pools");
    let _instances = Instances(folder.path());
    for (name, content) in files() {
        folder.file(&name, content);
    }
    // The document uses the default ports, and a directory that survives a reboot.
    let ports = "ports {\n  http = 0\n  rpc = 0\n  serf = 0\n}\n";
    folder.file("ports.hcl", format!("data_dir = {:?}\n{ports}", folder.path().join("data")));
    let mut server = Agent::spawn(&folder, &["-config", "server.hcl", "-config", "ports.hcl"]);
    server.serves();
    let address = server.address();
    let encamp = |args: &[String]| {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let ran = run_for(PATIENCE, folder.path(), &args, &[("NOMAD_ADDR", &address)], "");
        assert_eq!(ran.exit, 0, "encamp {}\n{}{}", args.join(" "), ran.stdout, ran.stderr);
        ran.stdout
    };
    wait_for(&server, "the pool has its first three nodes", || match pool_nodes(&server) {
        3 => Ok(()),
        n => Err(format!("{n} nodes")),
    });

    let mut steps = commands("On a laptop").into_iter();
    let mut step = |start: &str| {
        let words = steps.next().unwrap_or_else(|| panic!("the document has no step {start}"));
        assert!(words.join(" ").starts_with(start), "the document goes on with {words:?} instead of {start}");
        encamp(&words)
    };
    let printed = step("autoscale status");
    assert!(printed.contains("laptop"), "{printed}");
    step("job run web.nomad.hcl");
    step("job run steady.nomad.hcl");
    runs(&server, "web", 2);
    runs(&server, "steady", 1);

    let calls = Calls::default();
    let port = server.port;
    thread::scope(|scope| {
        scope.spawn(|| calls.run(port));
        let _stop = Stop(&calls);
        // Load increases.
        step("job run load.nomad.hcl");
        wait_for(&server, "a fourth node joins", || match pool_nodes(&server) {
            4 => Ok(()),
            n => Err(format!("{n} nodes, {}", pool(&server)["LastDecision"])),
        });
        let before: Vec<String> = running(&server, "steady").into_iter().map(|(_, node)| node).collect();
        step("job scale steady");
        runs(&server, "steady", 2);
        let joined = running(&server, "steady").into_iter().find(|(_, node)| !before.contains(node));
        assert!(joined.is_some(), "the second copy of steady is not on another node");
        let printed = step("autoscale plan laptop");
        assert!(printed.contains("laptop"), "{printed}");

        // Load decreases.
        let web: Vec<(String, String)> = running(&server, "web");
        step("job scale load");
        wait_for(&server, "the emptiest node leaves", || match (pool_nodes(&server), ready(&server)) {
            (3, 3) => Ok(()),
            (n, r) => Err(format!("{n} nodes of the pool, {r} ready, {}", pool(&server)["LastDecision"])),
        });
        // The removed node may be listed as down for a moment, until it is purged.
        let nodes = server.list("/v1/nodes");
        let left = nodes.iter().filter(|n| n["Status"] == "ready");
        let left: Vec<&str> = left.filter_map(|n| n["ID"].as_str()).collect();
        let moved = web.iter().filter(|(_, node)| !left.contains(&node.as_str())).count();
        assert_eq!(moved, 1, "one copy of the service was on the node that was removed");
        runs(&server, "web", 2);
        runs(&server, "steady", 2);
        step("autoscale status laptop");
    });
    assert_eq!(steps.next(), None, "the document has more steps");
    let (answered, failures) = (calls.answered.load(Ordering::Relaxed), calls.failures.into_inner().unwrap());
    println!("worker pools: {answered} calls answered, {} failed", failures.len());
    assert!(answered > 50, "the client called {answered} times");
    assert_eq!(failures, Vec::<String>::new());
}

fn pool_nodes(server: &Agent) -> i64 {
    let pools = server.list("/v1/autoscale/pools");
    pools.iter().find(|p| p["Pool"] == "laptop").map_or(0, |p| p["Nodes"].as_i64().unwrap_or(0))
}

/// Stops the calls, also when the test fails.
struct Stop<'a>(&'a Calls);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
    }
}
