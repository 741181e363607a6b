//! The language server over its protocol: scenes of `tests/lsp`, the program in an editor, the schema of jobs.
//!
//! A scene is a request at a cursor, `‸`, in a file, and what the server answers:
//!
//! ```text
//! === title
//! request: hover
//! file: web.nomad.hcl
//! ---
//! job "web" { … }
//! --- answer
//! …
//! ```
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli lsp` writes the answers.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::program::{self, Folder, run_in};
use serde_json::{Value, json};

/// A client of the program.
struct Client {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i64,
    /// The last diagnostics.
    published: Value,
    /// How often the server asked to draw lenses again.
    refreshes: usize,
}

impl Client {
    fn start(folder: &Path, args: &[&str], utf8: bool) -> Client {
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
        let answer =
            client.ask("initialize", json!({"processId": null, "rootUri": null, "capabilities": capabilities}));
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

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
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
        if message["method"] == "textDocument/publishDiagnostics" {
            self.published = message["params"].clone();
        }
        if message["method"] == "workspace/codeLens/refresh" {
            self.refreshes += 1;
            self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}));
        }
        message
    }

    /// The result of a request, or its error.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return message.get("error").unwrap_or(&message["result"]).clone();
            }
        }
    }

    /// Opens a document and waits for its diagnostics.
    fn open(&mut self, uri: &str, version: i64, text: &str) -> Vec<Value> {
        let document = json!({"uri": uri, "languageId": "nomad", "version": version, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
        self.diagnostics(uri, version)
    }

    fn diagnostics(&mut self, uri: &str, version: i64) -> Vec<Value> {
        while self.published["uri"] != uri || self.published["version"] != version {
            self.receive();
        }
        self.published["diagnostics"].as_array().expect("a list").clone()
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.process.wait().expect("it ends").success());
    }
}

fn root() -> PathBuf {
    program::repository().to_path_buf()
}

/// A scene of a file.
struct Scene {
    title: String,
    request: String,
    file: String,
    /// With the cursor.
    text: String,
    answer: String,
}

fn scenes(content: &str) -> Vec<Scene> {
    let scene = |text: &str| {
        let (head, rest) = text.split_once("\n---\n").expect("a head");
        let (text, answer) = rest.split_once("\n--- answer\n").unwrap_or((rest.trim_end_matches('\n'), ""));
        let mut lines = head.lines();
        let title = lines.next().expect("a title").to_owned();
        let value = |line: Option<&str>, name: &str| {
            line.and_then(|l| l.strip_prefix(name)).unwrap_or_else(|| panic!("{title}: {name}")).to_owned()
        };
        let request = value(lines.next(), "request: ");
        let file = value(lines.next(), "file: ");
        Scene { request, file, text: text.to_owned(), answer: answer.trim_end().to_owned(), title }
    };
    content.split("=== ").skip(1).map(scene).collect()
}

/// The units of a line up to a byte.
fn position(text: &str, at: usize, utf8: bool) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let units = &before[start..];
    json!({"line": line, "character": if utf8 { units.len() } else { units.encode_utf16().count() }})
}

fn span(range: &Value) -> String {
    let end = |v: &Value| format!("{}:{}", v["line"], v["character"]);
    format!("{}-{}", end(&range["start"]), end(&range["end"]))
}

/// A text after edits, to be compared by eye.
fn edited(text: &str, edits: &[Value], utf8: bool) -> String {
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

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn symbols(out: &mut String, level: usize, all: &Value) {
    for s in list(all) {
        let name = s["name"].as_str().unwrap_or("");
        let _ = writeln!(out, "{}{name} {}", "  ".repeat(level), span(&s["range"]));
        symbols(out, level + 1, &s["children"]);
    }
}

/// The answer to a scene, as text.
fn play(client: &mut Client, uri: &str, scene: &Scene, utf8: bool) -> String {
    let at = scene.text.find('‸').unwrap_or(0);
    let text = scene.text.replace('‸', "");
    let document = json!({"uri": uri});
    let here = json!({"textDocument": document, "position": position(&text, at, utf8)});
    let whole = json!({"start": {"line": 0, "character": 0}, "end": position(&text, text.len(), utf8)});
    let found = client.open(uri, 1, &text);
    let mut words = scene.request.split(' ');
    let mut out = String::new();
    match words.next().unwrap_or("") {
        "diagnostics" => {
            for d in &found {
                let severity = if d["severity"] == 1 { "error" } else { "warning" };
                let message = d["message"].as_str().unwrap_or("").replace('\n', " | ");
                let _ = writeln!(out, "{} {severity}: {message}", span(&d["range"]));
            }
        }
        "completion" => {
            let answer = client.ask("textDocument/completion", here);
            let items: Vec<&str> = list(&answer).iter().filter_map(|i| i["label"].as_str()).collect();
            let _ = writeln!(out, "{} items", items.len());
            out.push_str(&items.iter().take(40).copied().collect::<Vec<_>>().join(", "));
        }
        "hover" => {
            let answer = client.ask("textDocument/hover", here);
            out.push_str(answer["contents"]["value"].as_str().unwrap_or("nothing"));
        }
        "actions" => {
            let params = json!({"textDocument": document, "range": whole, "context": {"diagnostics": found}});
            for action in list(&client.ask("textDocument/codeAction", params)) {
                let edits = list(&action["edit"]["changes"][uri]).to_vec();
                let new = edited(&text, &edits, utf8);
                let _ = writeln!(out, "{}\n{new}", action["title"].as_str().unwrap_or(""));
                client.tell(
                    "textDocument/didChange",
                    json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": new}]}),
                );
                let left = client.diagnostics(uri, 2);
                let same = |d: &Value| left.iter().any(|l| l["message"] == d["message"]);
                assert!(
                    action["diagnostics"].as_array().is_none_or(|all| !all.iter().any(same)),
                    "{}: {left:#?}",
                    scene.title
                );
                client.tell("textDocument/didClose", json!({"textDocument": document}));
                client.open(uri, 1, &text);
            }
        }
        "definition" | "references" | "highlight" => {
            let (method, params) = match scene.request.as_str() {
                "definition" => ("textDocument/definition", here),
                "highlight" => ("textDocument/documentHighlight", here),
                _ => {
                    let mut params = here;
                    params["context"] = json!({"includeDeclaration": true});
                    ("textDocument/references", params)
                }
            };
            for place in list(&client.ask(method, params)) {
                let _ = writeln!(out, "{}", span(&place["range"]));
            }
        }
        "rename" => {
            let mut params = here;
            params["newName"] = json!(words.next().unwrap_or(""));
            let answer = client.ask("textDocument/rename", params);
            match answer["message"].as_str() {
                Some(why) => out.push_str(why),
                None => out.push_str(&edited(&text, list(&answer["changes"][uri]), utf8)),
            }
        }
        "symbols" => {
            symbols(&mut out, 0, &client.ask("textDocument/documentSymbol", json!({"textDocument": document})))
        }
        "folds" => {
            for fold in list(&client.ask("textDocument/foldingRange", json!({"textDocument": document}))) {
                let _ = writeln!(out, "{}-{}", fold["startLine"], fold["endLine"]);
            }
        }
        "links" => {
            for link in list(&client.ask("textDocument/documentLink", json!({"textDocument": document}))) {
                let target = link["target"].as_str().unwrap_or("");
                let target = if target.starts_with("file:") { target.rsplit('/').next().unwrap_or("") } else { target };
                let _ = writeln!(out, "{} {target}", span(&link["range"]));
            }
        }
        "hints" => {
            let params = json!({"textDocument": document, "range": whole});
            for hint in list(&client.ask("textDocument/inlayHint", params)) {
                let _ = writeln!(
                    out,
                    "{}:{} {}",
                    hint["position"]["line"],
                    hint["position"]["character"],
                    hint["label"].as_str().unwrap_or("")
                );
            }
        }
        "tokens" => {
            let answer = client.ask("textDocument/semanticTokens/full", json!({"textDocument": document}));
            let numbers: Vec<u64> = list(&answer["data"]).iter().filter_map(Value::as_u64).collect();
            let (mut line, mut column) = (0, 0);
            for token in numbers.chunks(5) {
                column = if token[0] == 0 { column + token[1] } else { token[1] };
                line += token[0];
                let _ = write!(out, "{line}:{column}+{}={} ", token[2], token[3]);
            }
        }
        "format" | "type" => {
            let options = json!({"tabSize": 2, "insertSpaces": true});
            let lines: Option<Vec<u64>> = words.next().map(|w| w.split('-').filter_map(|n| n.parse().ok()).collect());
            let (method, params) = match (scene.request.split(' ').next(), lines.as_deref()) {
                (Some("type"), _) => {
                    let mut params = here;
                    params["ch"] = json!("}");
                    params["options"] = options;
                    ("textDocument/onTypeFormatting", params)
                }
                (_, Some([from, to])) => {
                    let range = json!({"start": {"line": from, "character": 0}, "end": {"line": to, "character": 0}});
                    (
                        "textDocument/rangeFormatting",
                        json!({"textDocument": document, "range": range, "options": options}),
                    )
                }
                _ => ("textDocument/formatting", json!({"textDocument": document, "options": options})),
            };
            let answer = client.ask(method, params);
            out.push_str(&edited(&text, list(&answer), utf8));
        }
        "lens" => {
            let before = client.refreshes;
            while client.refreshes == before {
                client.receive();
            }
            for lens in list(&client.ask("textDocument/codeLens", json!({"textDocument": document}))) {
                let _ = writeln!(out, "{} {}", span(&lens["range"]), lens["command"]["title"].as_str().unwrap_or(""));
            }
        }
        other => panic!("{}: no request {other}", scene.title),
    }
    client.tell("textDocument/didClose", json!({"textDocument": document}));
    out.trim_end().to_owned()
}

/// Plays the scenes of a file; the number of scenes.
fn play_file(name: &str, utf8: bool) -> usize {
    let folder = Folder::new("lsp-scenes");
    folder.file("greeting.txt", "hello\n");
    let snapshot = root().join("fixtures/demo/cluster.json");
    let mut client = Client::start(folder.path(), &["-snapshot", snapshot.to_str().expect("UTF-8")], utf8);
    // The cluster is there when the first plan is.
    let job = "job \"ready\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"docker\"\n    }\n  }\n}\n";
    let ready = format!("file://{}/ready.nomad.hcl", folder.path().display());
    client.open(&ready, 1, job);
    while client.refreshes == 0 {
        client.receive();
    }
    let file = root().join("tests/lsp").join(name);
    let all = scenes(&std::fs::read_to_string(&file).expect("scenes"));
    let mut written = String::new();
    let mut wrong = Vec::new();
    for (number, scene) in all.iter().enumerate() {
        let base = scene.file.clone();
        let uri = format!("file://{}/{number}/{base}", folder.path().display());
        let got = play(&mut client, &uri, scene, utf8);
        if got != scene.answer {
            wrong.push(format!("{}\ngot:\n{got}\nwant:\n{}", scene.title, scene.answer));
        }
        let Scene { title, request, file, text, .. } = scene;
        let _ = write!(written, "=== {title}\nrequest: {request}\nfile: {file}\n---\n{text}\n--- answer\n{got}\n\n");
    }
    client.end();
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&file, written).expect("the scenes are written");
    } else {
        assert!(wrong.is_empty(), "{name}: {}", wrong.join("\n\n"));
    }
    all.len()
}

#[test]
fn scenes_are_answered_as_recorded() {
    let mut names: Vec<String> = std::fs::read_dir(root().join("tests/lsp"))
        .expect("the scenes")
        .map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|n| n.ends_with(".scenes"))
        .collect();
    names.sort();
    let counts = names.iter().map(|name| play_file(name, name.contains("utf8")));
    let all: usize = counts.sum();
    assert!(all >= 60, "{all} scenes");
}

/// A real editor shows the mistakes of a file and corrects one; where Neovim is not installed, there is nothing to test.
#[test]
fn neovim_shows_diagnostics_and_corrects_them() {
    let installed = Command::new("nvim").arg("--version").output().is_ok_and(|o| o.status.success());
    if !installed {
        eprintln!("nvim is not installed");
        return;
    }
    let folder = Folder::new("lsp-neovim");
    let file = folder.file(
        "web.nomad.hcl",
        "job \"web\" {\n  group \"api\" {\n    cuont = 2\n    task \"t\" {\n      driver = \"docker\"\n    }\n  }\n}\n",
    );
    let script = folder.file(
        "drive.lua",
        format!(
            "vim.lsp.start_client_id = vim.lsp.start_client({{ name = 'encamp', cmd = {{ '{}', 'lsp' }}, root_dir = '{}' }})
vim.cmd('edit {}')
vim.lsp.buf_attach_client(0, vim.lsp.start_client_id)
vim.wait(20000, function() return #vim.diagnostic.get(0) > 0 end, 20)
for _, d in ipairs(vim.diagnostic.get(0)) do print(d.lnum, d.col, (d.message:gsub('\\n', ' | '))) end
local params = vim.lsp.util.make_range_params()
params.range = {{ start = {{ line = 2, character = 4 }}, ['end'] = {{ line = 2, character = 9 }} }}
params.context = {{ diagnostics = {{}} }}
local answers = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 20000)
for _, answer in pairs(answers) do vim.lsp.util.apply_workspace_edit(answer.result[1].edit, 'utf-16') end
print(vim.api.nvim_buf_get_lines(0, 2, 3, false)[1])
vim.wait(20000, function() return #vim.diagnostic.get(0) == 0 end, 20)
print(#vim.diagnostic.get(0))
vim.cmd('qa!')
",
            program::path(),
            folder.path().display(),
            file.display()
        ),
    );
    let ran = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-i", "NONE", "-n", "-S"])
        .arg(&script)
        .env("HOME", folder.path())
        .output()
        .expect("Neovim runs");
    let said = String::from_utf8_lossy(&ran.stderr).replace('\r', "");
    let want = "2 4 unknown attribute \"cuont\" in a group block | help: did you mean \"count\"?\n    count = 2\n0";
    assert_eq!(said.trim(), want.trim(), "{said}");
}

/// The schema of job files in JSON accepts the jobs of the repository, and refuses mistakes of a person who writes one.
#[test]
fn the_schema_tells_right_job_files_from_wrong_ones() {
    let ran = run_in(&root(), &["job", "schema"]);
    assert_eq!((ran.stderr.as_str(), ran.exit), ("", 0));
    let schema: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mut right = 0;
    for entry in std::fs::read_dir(root().join("tests/oracle/jobspec")).expect("the jobs") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !(name.ends_with(".raw.json") || name.ends_with(".parsed.json")) {
            continue;
        }
        let job: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a job")).expect("JSON");
        let wrapped = json!({"Job": job});
        for document in [&job, &wrapped] {
            assert_eq!(refused(&schema, &schema, document), None, "{name}");
        }
        right += 1;
    }
    assert!(right > 200, "{right}");
    let mut wrong = 0;
    let job = json!({"ID": "j", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "docker"}]}]});
    assert_eq!(refused(&schema, &schema, &job), None);
    let mut check = |path: &str, value: Value| {
        let mut changed = job.clone();
        let (parent, name) = path.rsplit_once('/').expect("a path");
        let parent = changed.pointer_mut(parent).unwrap_or_else(|| panic!("{path}"));
        parent[name] = value;
        assert!(refused(&schema, &schema, &changed).is_some(), "{path} is accepted: {changed}");
        wrong += 1;
    };
    let (text, number, list, object) = (json!("x"), json!(1.5), json!(["x"]), json!({"X": 1}));
    for name in ["Priority", "Version", "JobModifyIndex", "SubmitTime"] {
        check(&format!("/{name}"), text.clone());
        check(&format!("/{name}"), number.clone());
    }
    for name in ["ID", "Name", "Region", "Namespace", "Type", "NodePool"] {
        check(&format!("/{name}"), number.clone());
        check(&format!("/{name}"), list.clone());
    }
    for name in ["Constraints", "Affinities", "Spreads", "Datacenters"] {
        check(&format!("/{name}"), object.clone());
        check(&format!("/{name}"), json!([1]));
    }
    for name in ["Update", "Periodic", "Reschedule", "Migrate", "Meta", "Multiregion"] {
        check(&format!("/{name}"), json!(true));
        check(&format!("/{name}"), object.clone());
    }
    let (group, task) = ("/TaskGroups/0", "/TaskGroups/0/Tasks/0");
    for (name, value) in [
        ("Count", &text),
        ("Cuont", &json!(1)),
        ("Networks", &object),
        ("Services", &text),
        ("RestartPolicy", &object),
        ("ShutdownDelay", &text),
        ("MaxRunDuration", &json!("5 min")),
        ("EphemeralDisk", &json!({"SizeMB": "1GB"})),
    ] {
        check(&format!("{group}/{name}"), value.clone());
    }
    for (name, value) in [
        ("Driver", &json!(3)),
        ("Drivr", &text),
        ("KillTimeout", &json!("10")),
        ("Resources", &json!({"CPU": "100"})),
        ("Resources", &json!({"Memory": 100})),
        ("Env", &json!(["A=1"])),
        ("Templates", &object),
        ("Leader", &json!("yes")),
        ("Lifecycle", &json!({"Sidecar": "no"})),
    ] {
        check(&format!("{task}/{name}"), value.clone());
    }
    assert!(wrong >= 50, "{wrong}");
}

/// Why a value does not follow a schema: the place. Knows the keywords that the schema uses.
fn refused(root: &Value, schema: &Value, value: &Value) -> Option<String> {
    if let Some(name) = schema["$ref"].as_str() {
        let definition = &root["$defs"][name.trim_start_matches("#/$defs/")];
        assert!(definition.is_object(), "{name}");
        return refused(root, definition, value);
    }
    for keyword in schema.as_object().into_iter().flatten().map(|(keyword, _)| keyword.as_str()) {
        let known = [
            "$schema",
            "$defs",
            "title",
            "description",
            "type",
            "properties",
            "additionalProperties",
            "items",
            "anyOf",
            "if",
            "then",
            "else",
            "required",
            "format",
            "pattern",
            "minimum",
            "maximum",
        ];
        assert!(known.contains(&keyword), "{keyword}: {schema}");
    }
    if schema.get("if").is_some() {
        let branch = if refused(root, &schema["if"], value).is_none() { "then" } else { "else" };
        return refused(root, &schema[branch], value);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let all: Option<Vec<String>> = any.iter().map(|s| refused(root, s, value)).collect();
        return all.map(|reasons| reasons.join(" and "));
    }
    let is = |name: &str| match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type {other}"),
    };
    let fits = match &schema["type"] {
        Value::Null => true,
        Value::String(one) => is(one),
        many => list(many).iter().filter_map(Value::as_str).any(is),
    };
    if !fits {
        return Some(format!("{value} is no {}", schema["type"]));
    }
    if let (Some(pattern), Some(text)) = (schema["pattern"].as_str(), value.as_str()) {
        let found = regex::Regex::new(pattern).expect("a pattern").is_match(text);
        return (!found).then(|| format!("{text} does not match"));
    }
    if let Some(least) = schema["minimum"].as_f64().filter(|least| value.as_f64().is_some_and(|v| v < *least)) {
        return Some(format!("{value} is less than {least}"));
    }
    let missing = list(&schema["required"]).iter().filter_map(Value::as_str).find(|name| value.get(name).is_none());
    if let Some(name) = missing.filter(|_| value.is_object()) {
        return Some(format!("{name} is missing"));
    }
    for item in list(value) {
        if let Some(why) = schema.get("items").and_then(|s| refused(root, s, item)) {
            return Some(why);
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match known {
            None => {}
            Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => return Some(format!("{name} is unknown")),
            Some(inner) => {
                if let Some(why) = refused(root, inner, member) {
                    return Some(format!("{name}: {why}"));
                }
            }
        }
    }
    None
}
