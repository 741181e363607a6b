//! Every job file of the repository in the server: no file ends it, and its diagnostics are those of `job validate`, also
//! for files that are cut off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::client::Client;
use super::root;
use crate::program::{Folder, run_in};
use serde_json::Value;

/// Folders with job files, some of which are broken.
const FOLDERS: [&str; 14] = [
    "benches/data",
    "crates/cli/src/examples",
    "crates/sim/src/jobs",
    "docs/examples/jobs",
    "fixtures/demo",
    "fixtures/demo/registered",
    "fixtures/laptop",
    "fixtures/launches/registered",
    "tests/diagnostics",
    "tests/layout",
    "tests/lsp/mistakes",
    "tests/oracle/cli/jobs",
    "tests/oracle/diff",
    "tests/oracle/jobspec",
];

/// A job file.
struct File {
    /// Its name in the test's folder.
    name: String,
    text: String,
}

/// The job files in HCL and in JSON.
fn corpus() -> (Vec<File>, Vec<File>) {
    let mut paths: Vec<PathBuf> = Vec::new();
    for folder in FOLDERS {
        // Without recorded results there are fewer.
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        paths.extend(entries.map(|e| e.expect("an entry").path()));
    }
    paths.sort();
    let (mut hcl, mut json) = (Vec::new(), Vec::new());
    for (number, path) in paths.iter().enumerate() {
        let base = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        let is_json = base.ends_with(".raw.json") || base == "bad-json.json" || base == "wrong-json-type.json";
        if !(is_json || base.ends_with(".hcl") || base.ends_with(".nomad")) {
            continue;
        }
        let text = std::fs::read_to_string(path).expect("a job file");
        let stem = base.split('.').next().unwrap_or("");
        if is_json {
            json.push(File { name: format!("{number}-{stem}.json"), text });
        } else if !text.trim_start().starts_with('{') {
            hcl.push(File { name: format!("{number}-{stem}.nomad.hcl"), text });
        }
    }
    (hcl, json)
}

/// A diagnostic: its line, from 1, how bad it is, and its text. The line is 0 where no place is known.
type Found = (u64, String, String);

/// What `job validate` finds in files of a folder, by file; under an empty name what has no place.
fn validated(folder: &Path, files: &[File], form: &[&str]) -> BTreeMap<String, Vec<Found>> {
    let names = files.iter().map(|f| f.name.as_str());
    let args: Vec<&str> =
        ["job", "validate", "-diagnostics=json"].into_iter().chain(form.iter().copied()).chain(names).collect();
    let ran = run_in(folder, &args);
    let answer: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{e}: {}", ran.stderr));
    let mut out: BTreeMap<String, Vec<Found>> = BTreeMap::new();
    for d in answer["diagnostics"].as_array().expect("a list") {
        let text = |name: &str| d[name].as_str().unwrap_or("").to_owned();
        let found = (d["line"].as_u64().unwrap_or(0), text("severity"), text("message"));
        out.entry(text("file")).or_default().push(found);
    }
    out
}

/// What the server finds in a file.
fn shown(client: &mut Client, uri: &str, text: &str) -> Vec<Found> {
    let published = client.open(uri, 1, text);
    client.tell("textDocument/didClose", serde_json::json!({"textDocument": {"uri": uri}}));
    let found = |d: &Value| {
        let message = d["message"].as_str().unwrap_or("").split("\nhelp: ").next().unwrap_or("").to_owned();
        let severity = if d["severity"] == 1 { "error" } else { "warning" };
        (d["range"]["start"]["line"].as_u64().unwrap_or(0) + 1, severity.to_owned(), message)
    };
    published.iter().map(found).collect()
}

/// Opens files in the server, and compares with `job validate`: how many have findings.
fn compare(files: &[File], form: &[&str]) -> usize {
    let folder = Folder::new("lsp-corpus");
    for File { name, text } in files {
        folder.file(name, text);
    }
    let expected = validated(folder.path(), files, form);
    let mut client = Client::start(folder.path(), &[], false);
    let (mut wrong, mut with_findings) = (Vec::new(), 0);
    // What has no place stands at the beginning of a file in an editor.
    let whole = expected.get("").map(Vec::as_slice).unwrap_or_default();
    let mut unplaced: Vec<&str> = whole.iter().map(|(.., message)| message.as_str()).collect();
    for File { name, text } in files {
        let uri = format!("file://{}/{name}", folder.path().display());
        let got = shown(&mut client, &uri, text);
        let want = expected.get(name).cloned().unwrap_or_default();
        let missing: Vec<&Found> = want.iter().filter(|w| !got.contains(w)).collect();
        let mut of_whole = Vec::new();
        for found in got.iter().filter(|g| g.0 == 1 && !want.contains(g)) {
            if let Some(at) = unplaced.iter().position(|message| *message == found.2) {
                unplaced.swap_remove(at);
                of_whole.push(found);
            }
        }
        // Behind an error, an editor shows further ones.
        let broken = !of_whole.is_empty() || want.iter().any(|(_, severity, _)| severity == "error");
        let more = |g: &&Found| !broken && !want.contains(g) && !of_whole.contains(g);
        let unexpected: Vec<&Found> = got.iter().filter(more).collect();
        if !missing.is_empty() || !unexpected.is_empty() {
            wrong.push(format!("{name}: missing {missing:#?}, unexpected {unexpected:#?}"));
        }
        with_findings += usize::from(!want.is_empty());
    }
    client.end();
    assert!(unplaced.is_empty(), "{unplaced:#?}");
    assert!(wrong.is_empty(), "{} of {} files: {}", wrong.len(), files.len(), wrong.join("\n"));
    with_findings
}

#[test]
fn job_files_have_the_diagnostics_of_job_validate() {
    let (hcl, json) = corpus();
    assert!(hcl.len() + json.len() >= 302, "{} job files", hcl.len() + json.len());
    let found = compare(&hcl, &[]) + compare(&json, &["-json"]);
    assert!(found >= 50, "{found} files with findings");
}

/// Files that end anywhere, as they do while they are written.
#[test]
fn job_files_that_are_cut_off_have_the_diagnostics_of_job_validate() {
    let (hcl, json) = corpus();
    let cut = |files: &[File]| -> Vec<File> {
        let cuts = files.iter().flat_map(|File { name, text }| {
            [1, 3, 6].into_iter().map(move |tenth| {
                let at = (text.len() * tenth / 7..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                File { name: format!("{tenth}-{name}"), text: text[..at].to_owned() }
            })
        });
        cuts.filter(|file| !file.text.trim().is_empty()).collect()
    };
    // JSON without a name that only jobs have may be anything.
    let is_job = |file: &File| ["\"Job\"", "\"TaskGroups\""].iter().any(|name| file.text.contains(name));
    let json: Vec<File> = cut(&json).into_iter().filter(is_job).collect();
    let found = compare(&cut(&hcl), &[]) + compare(&json, &["-json"]);
    assert!(found >= 600, "{found} files with findings");
}
