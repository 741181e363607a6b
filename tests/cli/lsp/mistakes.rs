//! Every mistake of `tests/diagnostics` and `tests/lsp/mistakes` has a change after which it is gone, and which brings no
//! other one. `tests/lsp/corrections.txt` lists them.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli lsp` writes the list.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use super::client::{Client, edited, list};
use super::root;
use crate::program::Folder;
use serde_json::{Value, json};

/// Mistakes without a change: file, beginning of the message, why.
const WITHOUT_CHANGE: [(&str, &str, &str); 1] = [(
    "unrendered-template.hcl",
    "[[ … ]] is a template",
    "the file is no job file yet: only the tool that it is written for can make one of it",
)];

/// A file with mistakes.
pub(super) struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// The files with mistakes, by name.
pub(super) fn files() -> Vec<File> {
    let folders = ["tests/diagnostics", "tests/lsp/mistakes"];
    let mut paths: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(root().join(folder)).expect("the folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "hcl" || e == "json"))
        .collect();
    paths.sort();
    let file = |path: &PathBuf| File {
        name: path.file_name().and_then(|n| n.to_str()).expect("UTF-8").to_owned(),
        text: std::fs::read_to_string(path).expect("the file"),
    };
    paths.iter().map(file).collect()
}

/// Whether a mistake has a change.
pub(super) fn has_change(file: &str, message: &str) -> bool {
    !WITHOUT_CHANGE.iter().any(|(name, start, _)| *name == file && message.starts_with(start))
}

/// A message without its numbers and their units, which a change of a value changes too.
fn without_numbers(message: &str) -> String {
    let (mut out, mut in_number) = (String::new(), false);
    for c in message.split('\n').next().unwrap_or("").chars() {
        in_number = c.is_ascii_digit() || in_number && c.is_ascii_lowercase();
        if !in_number {
            out.push(c);
        }
    }
    out
}

/// How often each message is there.
fn counts(diagnostics: &[Value]) -> BTreeMap<String, usize> {
    let mut out = BTreeMap::new();
    for d in diagnostics {
        *out.entry(without_numbers(d["message"].as_str().unwrap_or(""))).or_default() += 1;
    }
    out
}

/// The action for a diagnostic.
fn action(client: &mut Client, uri: &str, diagnostic: &Value) -> Option<Value> {
    let params = json!({
        "textDocument": {"uri": uri}, "range": diagnostic["range"], "context": {"diagnostics": [diagnostic]},
    });
    let answer = client.ask("textDocument/codeAction", params);
    let is_for = |a: &&Value| list(&a["diagnostics"]).contains(diagnostic);
    list(&answer).iter().find(is_for).cloned()
}

#[test]
fn every_mistake_has_a_change_after_which_it_is_gone() {
    let folder = Folder::new("lsp-mistakes");
    let mut client = Client::start(folder.path(), &[], false);
    let (mut written, mut wrong, mut changed, mut without) = (String::new(), Vec::new(), 0, 0);
    for (number, File { name, text }) in files().iter().enumerate() {
        let uri = format!("file://{}/{number}/{name}", folder.path().display());
        let found = client.open(&uri, 1, text);
        assert!(!found.is_empty(), "{name}");
        let _ = writeln!(written, "{name}");
        let mut version = 1;
        for diagnostic in &found {
            let message = diagnostic["message"].as_str().unwrap_or("").split('\n').next().unwrap_or("").to_owned();
            let line = diagnostic["range"]["start"]["line"].as_u64().unwrap_or(0) + 1;
            let Some(action) = action(&mut client, &uri, diagnostic) else {
                let _ = writeln!(written, "  {line}: {message}\n    -> no change");
                without += 1;
                if has_change(name, &message) {
                    wrong.push(format!("{name}:{line}: {message}: no action"));
                }
                continue;
            };
            let title = action["title"].as_str().unwrap_or("");
            let sure = if action["isPreferred"] == true { "" } else { " (a default or a placeholder)" };
            let _ = writeln!(written, "  {line}: {message}\n    -> {title}{sure}");
            let new = edited(text, list(&action["edit"]["changes"][&uri]), false);
            version += 1;
            let left = client.change(&uri, version, &new);
            let (before, after) = (counts(&found), counts(&left));
            let key = without_numbers(&message);
            if after.get(&key).copied().unwrap_or(0) >= before[&key] {
                wrong.push(format!("{name}:{line}: {message}: {title}: it is still there:\n{new}\n{left:#?}"));
            }
            let more = after.iter().filter(|(m, n)| **n > before.get(*m).copied().unwrap_or(0));
            wrong.extend(more.map(|(m, _)| format!("{name}:{line}: {message}: {title}: then {m}:\n{new}")));
            version += 1;
            assert_eq!(client.change(&uri, version, text), found, "{name}");
            changed += 1;
        }
    }
    client.end();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(changed >= 60, "{changed} changes");
    assert_eq!(without, WITHOUT_CHANGE.len());
    let file = root().join("tests/lsp/corrections.txt");
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&file, &written).expect("the list is written");
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), written);
}
