//! What Cargo does not check about the crates of the workspace: that the pure ones touch nothing outside, and that
//! ARCHITECTURE.md says of each what it may use. Also that statuses are compared as enums.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose results depend on their arguments alone.
const PURE: &[&str] = &["model", "state", "scheduler", "plan", "sim", "template", "yaml"];
/// The folder of a pure crate that is not pure: scenarios that start servers.
const EXCEPT: &str = "sim/src/load";
/// What no pure crate may touch.
const IMPURE: &[&str] =
    &["std::fs", "TcpStream", "UdpSocket", "std::env", "std::process", "SystemTime", "Instant::now", "println!("];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The source files of a directory and those below it, in any order.
pub fn sources(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn pure_crates_touch_nothing_outside() {
    let mut wrong = Vec::new();
    for name in PURE {
        let mut files = Vec::new();
        sources(&root().join("crates").join(name).join("src"), &mut files);
        assert!(!files.is_empty(), "{name} has no sources");
        files.retain(|f| !f.starts_with(root().join("crates").join(EXCEPT)));
        for path in files {
            let text = read(&path);
            let code: String = text.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
            let found = IMPURE.iter().filter(|word| code.contains(**word));
            wrong.extend(found.map(|word| format!("{}: {name} may not use {word}", path.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The crates of the workspace that a manifest names as dependencies outside of tests.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let lines = section.lines().take_while(|l| !l.starts_with('['));
    lines.filter_map(|l| Some(l.strip_prefix("encamp-")?.split(['.', ' ']).next()?.to_string())).collect()
}

/// The third column of the table of crates, by crate.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let text = read(&root().join("ARCHITECTURE.md"));
    let rows = text.lines().filter_map(|l| l.strip_prefix("| `crates/"));
    let row = |l: &str| {
        let (name, rest) = l.split_once('`').expect("a name");
        let uses = rest.split('|').nth(2).expect("a third column").trim();
        let uses = uses.split(", ").filter(|u| *u != "-").map(ToString::to_string);
        (name.to_string(), uses.collect())
    };
    rows.map(row).collect()
}

#[test]
fn crates_use_what_the_table_says() {
    let mut manifests = BTreeMap::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let path = entry.expect("entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        manifests.insert(name, dependencies(&read(&path.join("Cargo.toml"))));
    }
    assert_eq!(manifests, documented());
}

/// The words of statuses, types and triggers, as far as they are no ordinary words as well.
fn status_words() -> BTreeSet<String> {
    use encamp_model::*;
    fn words<T: AsRef<str>>(all: &[T]) -> impl Iterator<Item = String> {
        all.iter().map(|value| value.as_ref().to_string())
    }
    let statuses = words(JobStatus::ALL).chain(words(EvalStatus::ALL)).chain(words(ClientStatus::ALL));
    let statuses = statuses.chain(words(DeploymentStatus::ALL)).chain(words(NodeStatus::ALL));
    let statuses = statuses.chain(words(TaskStatus::ALL)).chain(words(NodeEligibility::ALL));
    let statuses = statuses.chain(words(DrainStatus::ALL)).chain(words(JobType::ALL));
    statuses.chain(words(LifecycleHook::ALL)).chain(words(VolumeAccessMode::ALL)).collect()
}

#[test]
fn statuses_are_compared_as_enums() {
    let words = Vec::from_iter(status_words()).join("|");
    let word = format!("\"(?:{words})\"");
    let compared = format!("[=!]= &?{word}|{word}(?: =>| \\| \"|\\.into\\(\\)|\\.to_string\\(\\)|\\.to_owned\\(\\))");
    let compared = regex::Regex::new(&compared).expect("a pattern");
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    sources(&root().join("crates"), &mut files);
    files.retain(|f| !f.starts_with(root().join("crates/model")));
    assert!(files.len() > 500, "{} sources", files.len());
    let mut wrong = Vec::new();
    for path in files {
        for (number, line) in read(&path).lines().enumerate() {
            // Filter expressions in raw strings are documents.
            if !line.trim_start().starts_with("//") && !line.contains("r#\"") && compared.is_match(line) {
                wrong.push(format!("{}:{}: {}", path.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "encamp_model has enums for these:\n{}", wrong.join("\n"));
}
