//! A client of the language server, and the edits and positions of its protocol.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::program;
use serde_json::{Value, json};

/// A client of the program.
pub(super) struct Client {
    pub process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i64,
    /// The last diagnostics.
    pub published: Value,
    /// How often the server asked to draw lenses again.
    pub refreshes: usize,
}

impl Client {
    pub(super) fn start(folder: &Path, args: &[&str], utf8: bool) -> Client {
        let mut process = Command::new(program::path())
            .arg("lsp")
            .args(args)
            .current_dir(folder)
            .env("ENCAMP_CACHE_DIR", folder)
            .env_remove("NOMAD_ADDR")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let input = process.stdin.take().expect("its input");
        let output = BufReader::new(process.stdout.take().expect("its output"));
        let mut client = Client { process, input, output, requests: 0, published: Value::Null, refreshes: 0 };
        let encodings = if utf8 { json!(["utf-8", "utf-16"]) } else { json!(["utf-16"]) };
        let capabilities = json!({
            "general": {"positionEncodings": encodings},
            "textDocument": {"completion": {"completionItem": {"snippetSupport": true}}},
            "workspace": {"codeLens": {"refreshSupport": true}},
        });
        let root = format!("file://{}", folder.display());
        let answer =
            client.ask("initialize", json!({"processId": null, "rootUri": root, "capabilities": capabilities}));
        let encoding = &answer["capabilities"]["positionEncoding"];
        assert_eq!(*encoding, if utf8 { "utf-8" } else { "utf-16" }, "{answer:#}");
        client.tell("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        self.input.flush().expect("the server reads");
    }

    pub(super) fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(super) fn receive(&mut self) -> Value {
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
        if message["method"] == "textDocument/publishDiagnostics" {
            self.published = message["params"].clone();
        }
        if message["method"] == "workspace/codeLens/refresh" {
            self.refreshes += 1;
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}));
        }
        message
    }

    /// Sends a request: its number.
    pub(super) fn request(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}));
        self.requests
    }

    /// The result of a request, or its error.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message.get("error").unwrap_or(&message["result"]).clone();
            }
        }
    }

    /// Opens a document and waits for its diagnostics.
    pub(super) fn open(&mut self, uri: &str, version: i64, text: &str) -> Vec<Value> {
        let document = json!({"uri": uri, "languageId": "nomad", "version": version, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics(uri, version)
    }

    /// Replaces the text of a document and waits for its diagnostics.
    pub(super) fn change(&mut self, uri: &str, version: i64, text: &str) -> Vec<Value> {
        let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]});
        self.tell("textDocument/didChange", params);
        self.diagnostics(uri, version)
    }

    /// The diagnostics of a version of a document.
    pub(super) fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        while self.published["uri"] != uri || self.published["version"] != version {
            self.receive();
        }
        self.published["diagnostics"].as_array().expect("a list").clone()
    }

    pub(super) fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.process.wait().expect("it ends").success());
    }
}

/// The units of a line up to a byte.
pub(super) fn position(text: &str, at: usize, utf8: bool) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let units = &before[start..];
    json!({"line": line, "character": if utf8 { units.len() } else { units.encode_utf16().count() }})
}

pub(super) fn span(range: &Value) -> String {
    let end = |v: &Value| format!("{}:{}", v["line"], v["character"]);
    format!("{}-{}", end(&range["start"]), end(&range["end"]))
}

/// A text after edits, to be compared by eye.
pub(super) fn edited(text: &str, edits: &[Value], utf8: bool) -> String {
    let offset = |p: &Value| {
        let start: usize =
            text.split_inclusive('\n').take(p["line"].as_u64().unwrap_or(0) as usize).map(str::len).sum();
        let line = text[start..].split('\n').next().unwrap_or("");
        let mut units = p["character"].as_u64().unwrap_or(0) as usize;
        let mut at = start;
        for c in line.chars() {
            if units == 0 {
                break;
            }
            units = units.saturating_sub(if utf8 { c.len_utf8() } else { c.len_utf16() });
            at += c.len_utf8();
        }
        at
    };
    let mut changes: Vec<(usize, usize, &str)> = edits
        .iter()
        .map(|e| (offset(&e["range"]["start"]), offset(&e["range"]["end"]), e["newText"].as_str().unwrap_or("")))
        .collect();
    changes.sort_by_key(|change| std::cmp::Reverse(change.0));
    let mut out = text.to_owned();
    for (from, to, new) in changes {
        out.replace_range(from..to, new);
    }
    out
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
