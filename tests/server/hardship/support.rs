//! Shared support for tests under adverse conditions: raw requests, resource use of a process, servers that keep their
//! data.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Output};

use encamp_test_support::notes;
use serde_json::{Value, json};

use crate::agent::{Agent, PATIENCE, wait_for};
use crate::program::{self, Folder};

/// An ID that does not exist.
pub const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

/// A raw response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Status line and headers, in lower case.
    pub head: String,
    pub body: String,
}

impl Answer {
    /// Returns status and body.
    pub fn status_and_body(&self) -> (u16, &str) {
        (self.status, &self.body)
    }

    /// Whether it is an error in plain text.
    pub fn is_plain(&self) -> bool {
        self.head.contains("content-type: text/plain; charset=utf-8\r\n") && !self.body.is_empty()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// The head of a request without keep-alive.
pub fn head(method: &str, path: &str, headers: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n").into_bytes()
}

/// A request with arbitrary body bytes.
pub fn request(method: &str, path: &str, body: &[u8]) -> Vec<u8> {
    [&head(method, path, &format!("Content-Length: {}\r\n", body.len())), body].concat()
}

/// Sends bytes and reads the response. The server may respond before it has read everything.
pub fn exchange(agent: &Agent, bytes: &[u8]) -> Answer {
    exchange_at(agent.port, bytes)
}

fn exchange_at(port: u16, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let _ = stream.write_all(bytes);
    answer(stream)
}

/// Like [`exchange`], but the client half-closes the connection after the request.
pub fn exchange_half_closed(agent: &Agent, bytes: &[u8]) -> Answer {
    let mut stream = agent.connect();
    stream.write_all(bytes).expect("written");
    stream.shutdown(Shutdown::Write).expect("half closed");
    answer(stream)
}

/// Like [`exchange_half_closed`], with the full response as text.
pub fn exchange_half_closed_text(agent: &Agent, bytes: &[u8]) -> String {
    let mut stream = agent.connect();
    stream.write_all(bytes).expect("written");
    stream.shutdown(Shutdown::Write).expect("half closed");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answers");
    text
}

/// Reads until the connection ends.
pub fn answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A server that responds early and closes resets the connection; the data received before counts.
    let ended = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{ended:?}: no answer: {text:?}"));
    let head = format!("{}\r\n", head.to_lowercase());
    let length = head.split("content-length: ").nth(1).and_then(|l| l.lines().next()?.parse().ok());
    assert!(length.is_none_or(|l: usize| l == bytes.len() - text.find("\r\n\r\n").expect("it is there") - 4), "{head}");
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or_else(|| panic!("no status: {head}"));
    Answer { status, head, body: body.into() }
}

/// Checks that the agent is running, responds at once, and has not panicked.
pub fn unharmed(agent: &mut Agent) {
    assert!(agent.runs(), "{}", agent.log());
    let leader = exchange(agent, &head("GET", "/v1/status/leader", ""));
    assert!(leader.status == 200 && leader.body.len() > 4, "{leader:?}");
    assert!(!agent.log().contains("panicked"), "{}", agent.log());
}

/// Waits for a leader.
pub fn led(agent: &Agent) {
    wait_for("a leader", || match exchange(agent, &head("GET", "/v1/vars", "")).status_and_body() {
        (200, _) => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// A value of `/proc/PID/status`, in bytes.
pub fn memory(agent: &Agent, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{}/status", agent.pid())).expect("the process");
    let line = text.lines().find(|l| l.starts_with(name)).expect("a line");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib * 1024
}

/// The number of file descriptors of the process.
pub fn descriptors(agent: &Agent) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", agent.pid())).expect("the process").count()
}

/// The configuration of a server that keeps its data, in `data`.
pub fn config(folder: &Folder) -> String {
    let data = folder.path().join("data").display().to_string();
    format!(
        "bind_addr = \"127.0.0.1\"\ndata_dir = \"{data}\"\nports {{\n  http = 0\n  rpc = 0\n  serf = 0\n}}\nserver {{\n  enabled = true\n  \
         bootstrap_expect = 1\n}}\nadvertise {{\n  http = \"127.0.0.1\"\n  rpc = \"127.0.0.1\"\n  serf = \"127.0.0.1\"\n}}\n"
    )
}

/// An agent command after a shell command in a separate mount namespace; `None` if that is not permitted.
pub fn with_mounts(folder: &Folder, mounts: &str) -> Option<Command> {
    let shell = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).current_dir(folder.path());
        command
    };
    let tried: std::io::Result<Output> = shell(mounts).output();
    if !tried.as_ref().is_ok_and(|o| o.status.success()) {
        notes::skipped("full and read-only disks", &format!("no mounts: {tried:?}"));
        return None;
    }
    let mut command = shell(&format!("{mounts} && exec \"$0\" \"$@\""));
    command.args([&program::path(), "agent", "-config", "agent.hcl"]);
    Some(command)
}

/// Incompressible text.
pub fn noise(seed: u64, length: usize) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[(state % 64) as usize])
    };
    (0..length).map(|_| next()).collect()
}

/// Writes variables of 12 KB with four concurrent clients until each is refused. Returns the paths and values of the
/// acknowledged writes, and the refusals.
pub fn fill(agent: &Agent, round: &str) -> (Vec<(String, String)>, Vec<Answer>) {
    let port = agent.port;
    let writer = |writer: u64| {
        let mut kept = Vec::new();
        for i in 0..2000 {
            let (path, value) = (format!("{round}/{writer}/{i}"), noise(writer << 32 | i, 12_000));
            let body = json!({ "Items": { "v": value } }).to_string();
            let done = exchange_at(port, &request("PUT", &format!("/v1/var/{path}"), body.as_bytes()));
            if done.status != 200 {
                return (kept, done);
            }
            kept.push((path, value));
        }
        panic!("nothing stops the writes");
    };
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4).map(|w| scope.spawn(move || writer(w))).collect();
        let done: Vec<_> = writers.into_iter().map(|w| w.join().expect("a writer")).collect();
        let (kept, refused): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        (kept.concat(), refused)
    })
}

/// Checks that all acknowledged writes exist.
pub fn kept(agent: &Agent, written: &[(String, String)]) {
    assert!(!written.is_empty());
    for (path, value) in written {
        let read = exchange(agent, &head("GET", &format!("/v1/var/{path}?stale"), ""));
        assert_eq!((read.status, read.json()["Items"]["v"].as_str()), (200, Some(value.as_str())), "{path}");
    }
}
