//! The job specification oracle: job files, and what the reference makes of them (`oracle/jobspec/README.md`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use encamp::jobspec::parse::{self, ParseOptions};
use encamp::model::api;
use serde_json::Value as Json;

/// Cases that were equal when this was last looked at.
const FLOOR: usize = 178;

/// The folder of the oracle; nothing when it is not there (an error in CI).
fn oracle(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("ENCAMP_ORACLE") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/oracle"),
    };
    let folder = root.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(std::env::var_os("CI").is_none(), "no oracle at {}", folder.display());
    println!("skipped: no oracle at {}", folder.display());
    None
}

/// Deep equality, numbers by value.
fn equal(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(x), Json::Number(y)) => x == y || x.as_f64() == y.as_f64(),
        (Json::Array(x), Json::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| equal(x, y)),
        (Json::Object(x), Json::Object(y)) => {
            x.len() == y.len() && x.iter().all(|(k, x)| y.get(k).is_some_and(|y| equal(x, y)))
        }
        _ => a == b,
    }
}

/// The first place where two documents differ.
fn difference(path: &str, got: &Json, want: &Json) -> Option<String> {
    if equal(got, want) {
        return None;
    }
    match (got, want) {
        (Json::Object(g), Json::Object(w)) => g.keys().chain(w.keys()).find_map(|k| match (g.get(k), w.get(k)) {
            (Some(g), Some(w)) => difference(&format!("{path}.{k}"), g, w),
            (g, w) => Some(format!("{path}.{k}: got {g:?}, want {w:?}")),
        }),
        (Json::Array(g), Json::Array(w)) if g.len() == w.len() => {
            g.iter().zip(w).enumerate().find_map(|(i, (g, w))| difference(&format!("{path}[{i}]"), g, w))
        }
        _ => Some(format!("{path}: got {got}, want {want}")),
    }
}

struct Case<'a> {
    folder: &'a Path,
    name: String,
    file: String,
    args: Json,
}

impl Case<'_> {
    fn json(&self, suffix: &str) -> Option<Json> {
        let text = fs::read_to_string(self.folder.join(format!("{}.{suffix}", self.name))).ok()?;
        Some(serde_json::from_str(&text).expect("oracle files are JSON"))
    }

    fn strings(&self, key: &str) -> Vec<String> {
        let list = self.args.get(key).and_then(Json::as_array);
        list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.args.get(key).and_then(Json::as_bool).unwrap_or(default)
    }

    fn parse(&self, file: &str) -> Result<api::job::Job, String> {
        let body = fs::read(self.folder.join(file)).expect("the job file is there");
        if self.flag("json", false) {
            return parse::parse_json(&body);
        }
        let env = self.args.get("env").and_then(Json::as_object);
        let opts = ParseOptions {
            path: file.to_owned(),
            vars: self.strings("vars"),
            var_files: self.strings("var_files"),
            env: env.into_iter().flatten().map(|(k, v)| (k.clone(), v.as_str().unwrap_or("").to_owned())).collect(),
            var_content: self.args.get("var_content").and_then(Json::as_str).unwrap_or("").to_owned(),
            strict: self.flag("strict", true),
            allow_fs: self.flag("allow_fs", true),
            working_dir: self.folder.to_owned(),
            ..ParseOptions::default()
        };
        parse::parse(&body, &opts).map_err(|e| e.to_string())
    }
}

/// The cases of a folder by name.
fn cases(folder: &Path) -> Vec<Case<'_>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let file = entry.expect("an entry").file_name().into_string().expect("a name");
        let name = file.strip_suffix(".job.json").or_else(|| file.strip_suffix(".hcl"));
        let Some(name) = name.filter(|n| !n.ends_with(".vars") && !n.ends_with(".existing")) else { continue };
        let args = fs::read_to_string(folder.join(format!("{name}.args.json")));
        let args = args.map_or(Json::Null, |text| serde_json::from_str(&text).expect("arguments are JSON"));
        found.insert(name.to_owned(), Case { folder, name: name.to_owned(), file: file.clone(), args });
    }
    found.into_values().collect()
}

/// Position and summary of each line.
fn heads(text: &str) -> Vec<&str> {
    text.lines().map(|line| line.split_once(';').map_or(line, |(head, _)| head)).collect()
}

/// Equal and all cases of one stage.
#[derive(Default)]
struct Tally(BTreeMap<&'static str, (usize, usize)>);

impl Tally {
    fn count(&mut self, stage: &'static str, equal: bool) {
        let entry = self.0.entry(stage).or_default();
        entry.1 += 1;
        entry.0 += usize::from(equal);
    }
}

fn parse_error_differs(case: &Case, expected: &Json, got: &str) -> Option<String> {
    let texts: Vec<&str> = match expected.get("error_any_of").and_then(Json::as_array) {
        Some(list) => list.iter().filter_map(Json::as_str).collect(),
        None => expected.get("error").and_then(Json::as_str).into_iter().collect(),
    };
    // The detail is wanted too; where it differs on purpose, position and summary still have to be right.
    if texts.contains(&got) {
        return None;
    }
    let same_heads = texts.iter().any(|text| heads(text) == heads(got));
    Some(format!(
        "{}: {}\n  got  {got}\n  want {}",
        case.name,
        if same_heads { "detail" } else { "error" },
        texts.join("\n  or   ")
    ))
}

#[test]
fn job_files() {
    let Some(folder) = oracle("jobspec") else { return };
    let mut tally = Tally::default();
    let (mut all, mut good) = (0, 0);
    for case in cases(&folder) {
        let mut problems = Vec::new();
        let parsed = case.parse(&case.file);
        let expected = case.json("error.json");
        let fails_at_parse = expected.as_ref().is_some_and(|e| e.get("stage").and_then(Json::as_str) == Some("parse"));
        match (&parsed, fails_at_parse) {
            (Err(got), true) => {
                let problem = expected.as_ref().and_then(|e| parse_error_differs(&case, e, got));
                tally.count("parse error", problem.is_none());
                problems.extend(problem);
            }
            (Ok(_), true) => {
                tally.count("parse error", false);
                problems.push(format!("{}: parsed, but should not", case.name));
            }
            (Err(got), false) => {
                tally.count("raw", false);
                problems.push(format!("{}: {got}", case.name));
            }
            (Ok(job), false) => {
                if let Some(raw) = case.json("raw.json") {
                    let got = serde_json::to_value(job).expect("a job is JSON");
                    let problem = difference("raw", &got, &raw).map(|d| format!("{}: {d}", case.name));
                    tally.count("raw", problem.is_none());
                    problems.extend(problem);
                }
            }
        }
        all += 1;
        good += usize::from(problems.is_empty());
        problems.iter().for_each(|p| println!("{p}"));
    }
    for (stage, (equal, total)) in &tally.0 {
        println!("  {stage}: {equal}/{total}");
    }
    println!("jobspec oracle: {good}/{all} equal");
    assert!(good >= FLOOR, "{good} of {all} equal, {FLOOR} expected");
}
