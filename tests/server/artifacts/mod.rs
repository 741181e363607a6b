//! Artifacts of tasks, with the real program: an agent, jobs, and servers of the tests that have the artifacts.
//!
//! - [`files`]: files and archives over HTTP, hostile servers. [`git`]: repositories. [`objects`]: objects of S3.
//! - [`interruptions`]: tasks and agents that end during a download, and start again.

mod files;
mod git;
mod interruptions;
mod objects;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, wait_for};
use crate::program::Folder;

/// A request to a server of a test.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub path: String,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Request> {
        let mut from = BufReader::new(stream);
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let mut words = line.split(' ');
        let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim().split_once(':') else { break };
            headers.insert(name.to_lowercase(), value.trim().to_string());
        }
        let length = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        from.read_exact(&mut body).ok()?;
        if headers.contains_key("transfer-encoding") {
            body = chunks(&mut from)?;
        }
        Some(Request { method, path, headers, body })
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

fn chunks(from: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        from.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(out);
        }
        out.extend_from_slice(&chunk[..length]);
    }
}

/// A server of a test. Each connection gets one answer.
pub struct Site {
    pub port: u16,
    pub requests: Arc<Mutex<Vec<Request>>>,
}

impl Site {
    pub fn start(answer: impl Fn(&Request, &mut TcpStream) -> std::io::Result<()> + Send + Sync + 'static) -> Site {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (answer, seen) = (Arc::new(answer), requests.clone());
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (answer, seen) = (answer.clone(), seen.clone());
                thread::spawn(move || {
                    if let Some(request) = Request::read(&stream) {
                        seen.lock().expect("requests").push(request.clone());
                        // Who asked may be gone.
                        let _ = answer(&request, &mut stream);
                    }
                });
            }
        });
        Site { port, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// How often something was asked for.
    pub fn count(&self, path: &str) -> usize {
        self.requests.lock().expect("requests").iter().filter(|r| r.path == path).count()
    }
}

/// Sends an answer with a status line, headers, and a body.
pub fn send(to: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(to, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n")?;
    to.write_all(body)
}

/// Sends nothing until the other side leaves.
pub fn hang(from: &mut TcpStream) -> std::io::Result<()> {
    while from.read(&mut [0; 1024])? > 0 {}
    Ok(())
}

/// A tar archive of files.
pub fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        // Also names that the library refuses.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        builder.append(&header, *content).expect("a member");
    }
    builder.into_inner().expect("an archive")
}

pub fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(data).expect("compressed");
    out.finish().expect("compressed")
}

/// An agent whose node is ready.
pub fn development(folder: &Folder, artifact: &str) -> Agent {
    let agent = Agent::start(folder, &format!("client {{\n  artifact {{\n{artifact}\n  }}\n}}\n"), &["-dev"]);
    ready(&agent);
    agent
}

pub fn ready(agent: &Agent) {
    wait_for("a ready node", || match agent.list("/v1/nodes").first() {
        Some(node) if node["Status"] == "ready" => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// Registers a batch job whose task prints what its script does; gives the status of the answer.
pub fn run(agent: &Agent, id: &str, artifacts: Json, script: &str) -> u16 {
    run_with(agent, id, artifacts, script, json!({"Attempts": 0, "Mode": "fail"}))
}

/// The same with a restart policy.
pub fn run_with(agent: &Agent, id: &str, artifacts: Json, script: &str, restart: Json) -> u16 {
    run_as(agent, id, "", artifacts, script, restart)
}

/// The same for a user of the host; empty: the agent's.
pub fn run_as(agent: &Agent, id: &str, user: &str, artifacts: Json, script: &str, restart: Json) -> u16 {
    let job = json!({
        "ID": id, "Name": id, "Type": "batch", "Datacenters": ["*"], "Meta": {"name": "value", "up": "../.."},
        "TaskGroups": [{
            "Name": "g", "Count": 1,
            "RestartPolicy": restart, "ReschedulePolicy": {"Attempts": 0, "Unlimited": false},
            "Tasks": [{
                "Name": "t", "Driver": "raw_exec", "User": user, "Config": {"command": "/bin/sh", "args": ["-c", script]},
                "Resources": {"CPU": 10, "MemoryMB": 10}, "Artifacts": artifacts,
            }],
        }],
    });
    agent.send("PUT", "/v1/jobs", &json!({ "Job": job })).status
}

/// The newest allocation of a job; null if there is none.
pub fn alloc(agent: &Agent, job: &str) -> Json {
    agent.list(&format!("/v1/job/{job}/allocations")).first().cloned().unwrap_or_default()
}

/// Types and messages of the events of the task.
pub fn events(alloc: &Json) -> Vec<(String, String)> {
    let events = alloc["TaskStates"]["t"]["Events"].as_array().cloned().unwrap_or_default();
    let text = |e: &Json, key: &str| e[key].as_str().unwrap_or_default().to_string();
    events.iter().map(|e| (text(e, "Type"), text(e, "DisplayMessage"))).collect()
}

/// Waits until the task has an event with that text; gives the allocation.
pub fn event(agent: &Agent, job: &str, part: &str) -> Json {
    let mut found = Json::Null;
    wait_for(&format!("{job}: {part}"), || {
        found = alloc(agent, job);
        let all = events(&found);
        if all.iter().any(|(kind, text)| kind == part || text.contains(part)) {
            Ok(())
        } else {
            Err(format!("{all:?}"))
        }
    });
    found
}

/// Waits until a job has ended with success; gives what its task printed.
pub fn output(agent: &Agent, job: &str) -> String {
    let mut found = Json::Null;
    wait_for(job, || {
        found = alloc(agent, job);
        let all = events(&found);
        assert!(found["ClientStatus"] != "failed", "{job}: {all:?}");
        if found["ClientStatus"] == "complete" { Ok(()) } else { Err(format!("{all:?}")) }
    });
    let id = found["ID"].as_str().expect("an ID");
    let (_, body) = agent.ask("GET", &format!("/v1/client/fs/logs/{id}?task=t&type=stdout&plain=true"));
    // The body may have chunks.
    body
}
