//! Measures how long the language server takes from a key to the diagnostics: one-character changes of job files, sent
//! to `encamp lsp` as an editor sends them, until the diagnostics of that version arrive. `docs/guide/editors.md` has
//! the results.
//!
//! Files of 100, 1,000 and 10,000 lines, with one group and with many; without a cluster, and with a synthetic snapshot
//! of 5,000 nodes, on which the server plans whenever it rests. The last cases type in a file of 10,000 lines whose syntax
//! breaks with each other key, and with the requests that editors repeat after each key. `cargo bench --bench lsp -- 10000`
//! runs the cases whose names contain the text.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use encamp_sim::cluster::EPOCH;
use encamp_sim::{ClusterOptions, cluster};
use encamp_snapshot::save;
use serde_json::{Value, json};

/// Keys that are measured in each case.
const KEYS: usize = 200;
/// What the diagnostics of a key may take, by the requirements.
const TARGET: Duration = Duration::from_millis(50);
/// The time between a diagnostic and the next key. Typing is slower.
const PAUSE: Duration = Duration::from_millis(20);
/// Where keys are typed: behind the number of this text.
const PLACE: &str = "memory = 6";

/// What is typed, and removed again with the next key.
#[derive(Clone, Copy, PartialEq)]
enum Key {
    /// A digit, with which the file stays valid.
    Digit,
    /// A quote, with which the syntax breaks.
    Quote,
}

/// A file, and how it is changed.
struct Case {
    name: String,
    text: String,
    key: Key,
    snapshot: bool,
    /// Whether the client asks for tokens, lenses, hints and symbols after each key.
    asks: bool,
}

/// A job of so many lines: all tasks in one group, or two in each.
fn job(lines: usize, one_group: bool) -> String {
    let mut text = String::from("job \"web\" {\n");
    let (mut count, mut groups, mut tasks) = (1, 0, 0);
    while count < lines - 15 {
        let mut block = String::new();
        if groups == 0 || !one_group && tasks % 2 == 0 {
            let end = if groups > 0 { "  }\n" } else { "" };
            // Strings can be written to.
            let _ = write!(
                block,
                "{end}  group \"g{groups}\" {{\n    count = 2\n    network {{\n      port \"http\" {{}}\n    }}\n    service {{\n      \
                 name     = \"web-{groups}\"\n      port     = \"http\"\n      provider = \"nomad\"\n    }}\n"
            );
            groups += 1;
        }
        let _ = write!(
            block,
            "    task \"t{tasks}\" {{\n      driver = \"docker\"\n      config {{\n        image = \"nginx:1\"\n      }}\n      env \
             {{\n        REGION = \"${{NOMAD_REGION}}\"\n        LEVEL  = \"info\"\n      }}\n      resources {{\n        \
             cpu    = 100\n        {PLACE}\n      }}\n    }}\n"
        );
        tasks += 1;
        count += block.lines().count();
        text.push_str(&block);
    }
    text + "  }\n}\n"
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for snapshot in [false, true] {
        for lines in [100, 1_000, 10_000] {
            for one_group in [true, false] {
                let groups = if one_group { "one group" } else { "many groups" };
                let cluster = if snapshot { ", 5000 nodes" } else { "" };
                let name = format!("{lines} lines, {groups}{cluster}");
                out.push(Case { name, text: job(lines, one_group), key: Key::Digit, snapshot, asks: false });
            }
        }
    }
    let text = job(10_000, false);
    let name = "10000 lines, many groups, broken syntax".to_owned();
    out.push(Case { name, text: text.clone(), key: Key::Quote, snapshot: false, asks: false });
    let name = "10000 lines, many groups, all requests".to_owned();
    out.push(Case { name, text, key: Key::Digit, snapshot: false, asks: true });
    out
}

/// A client of the language server.
struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i64,
}

impl Client {
    fn start(directory: &Path, snapshot: Option<&Path>) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_encamp"));
        command.arg("lsp").current_dir(directory).env("ENCAMP_CACHE_DIR", directory).env_remove("NOMAD_ADDR");
        if let Some(snapshot) = snapshot {
            command.arg("-snapshot").arg(snapshot);
        }
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let mut client = Client { process, input, output, requests: 0 };
        let capabilities = json!({"workspace": {"codeLens": {"refreshSupport": true}}});
        let id =
            client.request("initialize", json!({"processId": null, "rootUri": null, "capabilities": capabilities}));
        client.until(|m| m["id"] == id && m.get("method").is_none());
        client.tell("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn request(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "the server has ended");
            match line.trim().split_once(": ") {
                Some(("Content-Length", n)) => length = n.parse().expect("a length"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a message");
        let message: Value = serde_json::from_slice(&body).expect("JSON");
        if message["method"] == "workspace/codeLens/refresh" {
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}));
        }
        message
    }

    fn until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.receive();
            if wanted(&message) {
                return message;
            }
        }
    }

    fn diagnostics(&mut self, version: usize) {
        self.until(|m| m["method"] == "textDocument/publishDiagnostics" && m["params"]["version"] == version);
    }

    /// Megabytes of memory that the server has for itself.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"));
        line.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) / 1024
    }

    fn end(mut self) {
        let id = self.request("shutdown", Value::Null);
        self.until(|m| m["id"] == id && m.get("method").is_none());
        self.tell("exit", Value::Null);
        self.process.wait().expect("it ends");
    }
}

/// The times from each key to its diagnostics, and the memory of the server afterwards.
fn measure(case: &Case, directory: &Path, snapshot: &Path) -> (Vec<Duration>, u64) {
    let mut client = Client::start(directory, case.snapshot.then_some(snapshot));
    let uri = format!("file://{}/web.nomad.hcl", directory.display());
    let document = json!({"uri": uri, "languageId": "nomad", "version": 1, "text": case.text});
    client.tell("textDocument/didOpen", json!({"textDocument": document}));
    client.diagnostics(1);
    if case.snapshot {
        client.until(|m| m["method"] == "workspace/codeLens/refresh");
    }
    let places: Vec<(usize, usize)> = case
        .text
        .lines()
        .enumerate()
        .filter_map(|(line, text)| Some((line, text.find(PLACE)? + PLACE.len())))
        .collect();
    let typed = if case.key == Key::Digit { "4" } else { "\"" };
    let mut times = Vec::new();
    for key in 0..KEYS {
        // Each character is removed before the next one is typed elsewhere.
        let (line, column) = places[key / 2 * 37 % places.len()];
        let removes = key % 2 == 1;
        let (start, end) = (json!({"line": line, "character": column}), column + usize::from(removes));
        let range = json!({"start": start, "end": {"line": line, "character": end}});
        let change = json!({"range": range, "text": if removes { "" } else { typed }});
        let version = key + 2;
        let (document, whole) = (json!({"uri": uri, "version": version}), json!({"textDocument": {"uri": uri}}));
        let begin = Instant::now();
        client.tell("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
        if case.asks {
            client.request("textDocument/semanticTokens/full", whole.clone());
            client.request("textDocument/codeLens", whole.clone());
            client.request("textDocument/documentSymbol", whole.clone());
            let screen = json!({"start": {"line": line, "character": 0}, "end": {"line": line + 60, "character": 0}});
            client.request("textDocument/inlayHint", json!({"textDocument": {"uri": uri}, "range": screen}));
        }
        client.diagnostics(version);
        times.push(begin.elapsed());
        let last = client.requests;
        if case.asks {
            client.until(|m| m["id"] == last && m.get("method").is_none());
        }
        std::thread::sleep(PAUSE);
    }
    let memory = client.memory();
    client.end();
    times.sort_unstable();
    (times, memory)
}

fn snapshot(directory: &Path) -> PathBuf {
    let path = directory.join("cluster.json.zst");
    let options = ClusterOptions { nodes: 5000, allocs: 100_000, seed: 4, now: EPOCH };
    let made = cluster(&options).expect("a cluster");
    save::save(&path, &made.file, made.allocations()).expect("a file");
    path
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|c| wanted.is_empty() || wanted.iter().any(|w| c.name.contains(w.as_str())))
        .collect();
    let directory = std::env::temp_dir().join(format!("encamp-bench-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let path = if cases.iter().any(|c| c.snapshot) { snapshot(&directory) } else { PathBuf::new() };
    println!("| case | lines | median ms | p99 ms | at most ms | memory MB |\n|---|---:|---:|---:|---:|---:|");
    for case in &cases {
        let (times, memory) = measure(case, &directory, &path);
        let at =
            |share: usize| ms(times.get((times.len() * share / 100).min(times.len() - 1)).copied().unwrap_or_default());
        let lines = case.text.lines().count();
        println!("| {} | {lines} | {:.1} | {:.1} | {} | {memory} |", case.name, at(50), at(99), TARGET.as_millis());
    }
    // Only a remainder in the directory of temporary files.
    let _ = std::fs::remove_dir_all(&directory);
}
