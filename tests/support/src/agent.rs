//! A running agent: the real program, started in a temporary directory on a free port, and stopped at the end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value as Json;

use crate::program::{self, Folder};

/// Longest wait for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How many of its last lines are shown when a test fails.
const LAST_LINES: usize = 60;

/// What was answered.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    /// `X-Nomad-Index`; 0 without.
    pub index: u64,
    pub body: String,
}

impl Reply {
    /// The body as JSON; null where it is none.
    pub fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or(Json::Null)
    }
}

/// Sends one request to a local port; fails if there is no response in time.
pub fn call(port: u16, method: &str, path: &str, body: &str, patience: Duration) -> std::io::Result<Reply> {
    call_as(port, "", method, path, body, patience)
}

/// The same with a token; empty for none.
pub fn call_as(
    port: u16,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
    patience: Duration,
) -> std::io::Result<Reply> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    call_over(stream, token, method, path, body)
}

/// Sends one request over a connection, with a token; empty for none.
pub fn call_over(
    mut stream: impl Read + Write,
    token: &str,
    method: &str,
    path: &str,
    body: &str,
) -> std::io::Result<Reply> {
    let length = body.len();
    let token = if token.is_empty() { String::new() } else { format!("X-Nomad-Token: {token}\r\n") };
    let head =
        format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{token}Connection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes())?;
    let mut text = Vec::new();
    stream.read_to_end(&mut text)?;
    reply(&text).ok_or_else(|| std::io::Error::other("the answer ends early"))
}

/// Bootstraps access control at a local port; gives the secret of the management token.
pub fn bootstrap(port: u16) -> String {
    let made = call(port, "PUT", "/v1/acl/bootstrap", "", PATIENCE).expect("an answer");
    assert_eq!(made.status, 200, "{}", made.body);
    made.json()["SecretID"].as_str().expect("a secret").to_string()
}

/// A whole answer; `None` for a part of one.
fn reply(text: &[u8]) -> Option<Reply> {
    let text = String::from_utf8_lossy(text);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = |name: &str| {
        let line = head.lines().find(|l| l.to_lowercase().starts_with(&format!("{name}:")))?;
        line.split_once(':').map(|(_, value)| value.trim().to_string())
    };
    let body = match header("transfer-encoding") {
        Some(_) => chunks(body)?,
        None => body.to_string(),
    };
    if header("content-length").is_some_and(|l| l.parse() != Ok(body.len())) {
        return None;
    }
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Reply { status, index: header("x-nomad-index").and_then(|i| i.parse().ok()).unwrap_or(0), body })
}

fn chunks(mut rest: &str) -> Option<String> {
    let mut out = String::new();
    loop {
        let (size, after) = rest.split_once("\r\n")?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        if size == 0 {
            return Some(out);
        }
        out.push_str(after.get(..size)?);
        rest = after.get(size..)?.strip_prefix("\r\n")?;
    }
}

/// A running agent, stopped at the end.
pub struct Agent {
    child: Child,
    lines: Receiver<String>,
    /// Lines that have not been read yet. Lines of the two streams arrive in any order.
    pending: Vec<String>,
    pub seen: String,
    pub port: u16,
    /// The token of requests; empty for none.
    pub token: String,
}

impl Agent {
    /// Starts an agent and waits until it serves. The configuration gets any free ports.
    pub fn start(folder: &Folder, config: &str, args: &[&str]) -> Agent {
        folder.file("agent.hcl", format!("ports {{\n  http = 0\n  rpc  = 0\n  serf = 0\n}}\n{config}"));
        // A disk that is nearly full would have the files of ended tasks removed while a test reads them.
        folder.file("disk.hcl", "client {\n  gc_disk_usage_threshold = 100\n  gc_inode_usage_threshold = 100\n}\n");
        let files = ["-config", "disk.hcl", "-config", "agent.hcl"];
        let mut agent = Agent::spawn(folder, &[&files, args].concat());
        agent.serves();
        agent
    }

    /// Starts an agent with those flags, and does not wait.
    pub fn spawn(folder: &Folder, args: &[&str]) -> Agent {
        Agent::launch(folder, Command::new(program::path()).arg("agent").args(args))
    }

    /// Starts an agent with a command. All of its files are in the directory.
    pub fn launch(folder: &Folder, command: &mut Command) -> Agent {
        let mut child = command
            .current_dir(folder.path())
            .env_clear()
            .env("TMPDIR", folder.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("an agent");
        let (sender, lines) = channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().expect("stdout")), Box::new(child.stderr.take().expect("stderr"))];
        for stream in streams {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Agent { child, lines, pending: Vec::new(), seen: String::new(), port: 0, token: String::new() }
    }

    /// Sends a token with all further requests.
    pub fn with_token(mut self, token: &str) -> Agent {
        self.token = token.into();
        self
    }

    /// Waits until it serves.
    pub fn serves(&mut self) {
        let bound = self.until("HTTP: [127.0.0.1:");
        let port = bound.split("127.0.0.1:").nth(1).and_then(|p| p.split(']').next()).expect("a port");
        self.port = port.parse().expect("a port");
        self.until("agent started! Log data will stream in below:");
    }

    /// Waits for a line with that text, among those that are not taken yet.
    pub fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        if let Some(i) = self.pending.iter().position(|l| l.contains(text)) {
            return self.pending.remove(i);
        }
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.seen.push_str(&format!("{line}\n"));
                    if line.contains(text) {
                        return line;
                    }
                    self.pending.push(line);
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no line with {text:?}:\n{}", self.seen)
                }
            }
        }
    }

    /// All that it said so far.
    pub fn log(&mut self) -> &str {
        while let Ok(line) = self.lines.try_recv() {
            self.seen.push_str(&format!("{line}\n"));
            self.pending.push(line);
        }
        &self.seen
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, signal).expect("a signal");
    }

    /// Ends it as a power failure would.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn runs(&mut self) -> bool {
        self.child.try_wait().expect("the agent").is_none()
    }

    pub fn exit(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("the agent") {
                return status.code().unwrap_or(-1);
            }
            assert!(Instant::now() < deadline, "the agent goes on:\n{}", self.seen);
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Head and body of an answer.
    pub fn ask(&self, method: &str, path: &str) -> (String, String) {
        let mut stream = self.connect();
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("written");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("head and body");
        (head.into(), body.into())
    }

    /// An answer to a body.
    pub fn send(&self, method: &str, path: &str, body: &Json) -> Reply {
        call_as(self.port, &self.token, method, path, &body.to_string(), PATIENCE)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// What is read must be there.
    pub fn get(&self, path: &str) -> Json {
        let reply = call_as(self.port, &self.token, "GET", path, "", PATIENCE);
        let reply = reply.unwrap_or_else(|e| panic!("GET {path}: {e}"));
        assert_eq!(reply.status, 200, "GET {path}: {}", reply.body);
        reply.json()
    }

    /// The objects of a list.
    pub fn list(&self, path: &str) -> Vec<Json> {
        self.get(path).as_array().cloned().unwrap_or_else(|| panic!("GET {path}: no list"))
    }
}

impl Drop for Agent {
    /// Gives it time to end its tasks.
    fn drop(&mut self) {
        if self.runs() {
            self.signal(rustix::process::Signal::TERM);
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.runs() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        if thread::panicking() {
            // The cause of a failure that comes once in many runs stands here only.
            let log = self.log();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
            println!("The agent's last {} lines:\n{}", last.len(), last.join("\n"));
        }
    }
}

/// Waits until a condition holds; panics with the last error otherwise.
pub fn wait_for(what: &str, mut come: impl FnMut() -> Result<(), String>) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(why) = come() {
        assert!(Instant::now() < deadline, "{what}: {why}");
        thread::sleep(Duration::from_millis(20));
    }
}
