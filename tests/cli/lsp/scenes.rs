//! Scenes of `tests/lsp`: a request at a cursor, `‸`, in a file, and what the server answers.
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

use super::client::{Client, edited, list, position, span};
use super::root;
use crate::program::Folder;
use serde_json::{Value, json};

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
    assert!(all >= 120, "{all} scenes");
}
