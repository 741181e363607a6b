//! The job specification oracle: job files and their recorded results (`tests/oracle/jobspec/README.md`).

use std::collections::BTreeMap;
use std::path::Path;

use encamp_jobspec::admission::mutate::mutate;
use encamp_jobspec::admission::validate::{validate, warnings};
use encamp_jobspec::admission::{Entry, ServerContext, check_request, check_update};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_jobspec::fmt::format;
use encamp_jobspec::parse::{self, ParseOptions};
use encamp_jobspec::write::write;
use encamp_model::{Job, api};
use serde_json::{Map, Value as Json};

use crate::oracle;

/// The number of equal cases when this was last updated.
const FLOOR: usize = 200;

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
        oracle::json_at(&self.folder.join(format!("{}.{suffix}", self.name)))
    }

    fn strings(&self, key: &str) -> Vec<String> {
        let list = self.args.get(key).and_then(Json::as_array);
        list.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned)).collect()
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.args.get(key).and_then(Json::as_bool).unwrap_or(default)
    }

    fn parse(&self, file: &str) -> Result<api::Job, String> {
        let body = oracle::bytes_at(&self.folder.join(file)).expect("the job file is there");
        if self.flag("json", false) {
            return parse::parse_json(&body).map_err(|e| e.to_string());
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

/// The cases of a directory by name.
fn cases(folder: &Path) -> Vec<Case<'_>> {
    let mut found = BTreeMap::new();
    for (file, _) in oracle::files(folder, "") {
        let name = file.strip_suffix(".job.json").or_else(|| file.strip_suffix(".hcl"));
        let Some(name) = name.filter(|n| !n.ends_with(".vars") && !n.ends_with(".existing")) else { continue };
        let args = oracle::json_at(&folder.join(format!("{name}.args.json"))).unwrap_or_default();
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

/// The error texts that are right for a case.
fn wanted_errors(expected: &Json) -> Vec<&str> {
    match expected.get("error_any_of").and_then(Json::as_array) {
        Some(list) => list.iter().filter_map(Json::as_str).collect(),
        None => expected.get("error").and_then(Json::as_str).into_iter().collect(),
    }
}

fn parse_error_differs(expected: &Json, got: &str) -> Option<String> {
    let wanted = wanted_errors(expected);
    if wanted.contains(&got) {
        return None;
    }
    let what = if wanted.iter().any(|text| heads(text) == heads(got)) { "detail" } else { "error" };
    Some(format!("{what}\n  got  {got}\n  want {}", wanted.join("\n  or   ")))
}

/// The server a case talks to.
fn server(case: &Case) -> ServerContext {
    oracle::server(case.args.get("profile").and_then(Json::as_str).unwrap_or("default"))
}

/// What registration makes of a client job: the mutated job, or the text of the mutator that failed.
fn register(mut job: api::Job, ctx: &ServerContext) -> Result<(api::Job, Job), String> {
    canonicalize(&mut job);
    let options = ConvertOptions { region: ctx.region.clone(), ..ConvertOptions::default() };
    let mut stored = to_server(&job, &options).map_err(|e| e.to_string())?;
    mutate(&mut stored, ctx).map_err(|e| e.to_string())?;
    Ok((job, stored))
}

/// Removes what differs between two registrations of the same job.
fn strip_volatile(job: &mut Json) {
    const VOLATILE: [&str; 6] =
        ["CreateIndex", "ModifyIndex", "JobModifyIndex", "SubmitTime", "Status", "StatusDescription"];
    const OF_SCALING: [&str; 3] = ["ID", "CreateIndex", "ModifyIndex"];
    let Some(members) = job.as_object_mut() else { return };
    members.retain(|k, _| !VOLATILE.contains(&k.as_str()));
    let groups = members.get_mut("TaskGroups").and_then(Json::as_array_mut);
    for scaling in groups.into_iter().flatten().filter_map(|g| g.get_mut("Scaling").and_then(Json::as_object_mut)) {
        scaling.retain(|k, _| !OF_SCALING.contains(&k.as_str()));
    }
}

/// Everything a case says, against what we make of it; stages are counted on the way.
fn run(case: &Case, tally: &mut Tally) -> Vec<String> {
    let mut problems = Vec::new();
    let mut check = |stage, problem: Option<String>| {
        tally.count(stage, problem.is_none());
        problems.extend(problem.map(|p| format!("{} ({stage}): {p}", case.name)));
    };
    let expected = case.json("error.json");
    let stage = expected.as_ref().and_then(|e| e.get("stage")).and_then(Json::as_str).unwrap_or("");
    let job = match (case.parse(&case.file), &expected) {
        (Err(got), Some(expected)) if stage == "parse" => {
            check("parse error", parse_error_differs(expected, &got));
            return problems;
        }
        (Err(got), _) => {
            check("raw", Some(got));
            return problems;
        }
        (Ok(_), _) if stage == "parse" => {
            check("parse error", Some("parsed, but should not".to_owned()));
            return problems;
        }
        (Ok(job), _) => job,
    };
    if let Some(raw) = case.json("raw.json") {
        check("raw", difference("", &serde_json::to_value(&job).expect("a job is JSON"), &raw));
    }
    let ctx = server(case);
    let refused = check_request(Some(&job), Entry::Register { path_id: None, eval_priority: 0 });
    let refused = refused.err().map(|e| e.to_string());
    let (parsed, stored) = match register(job, &ctx) {
        Ok(jobs) => jobs,
        Err(text) => {
            let wanted = expected.as_ref().map(wanted_errors).unwrap_or_default();
            check("mutators", (!wanted.contains(&text.as_str())).then(|| format!("got {text}, want {wanted:?}")));
            return problems;
        }
    };
    if let Some(want) = case.json("parsed.json") {
        check("parsed", difference("", &serde_json::to_value(&parsed).expect("a job is JSON"), &want));
    }
    let errors = validate(&stored, &ctx);
    if stage == "validate" {
        let want = expected.as_ref().and_then(|e| e.get("validation_errors")).cloned().unwrap_or(Json::Null);
        check("validate", difference("validation_errors", &Json::from(errors), &want));
        return problems;
    }
    check("valid", (!errors.is_empty()).then(|| errors.join("; ")));
    if stage == "register" {
        let existing = case.args.get("existing").and_then(Json::as_str).map(|file| {
            let job = case.parse(file).expect("the existing job parses");
            register(job, &ctx).expect("the existing job is registered").1
        });
        let want = expected.as_ref().and_then(|e| e.get("register_error")).and_then(Json::as_str).unwrap_or("");
        let update = || check_update(existing.as_ref(), &stored).err().map(|e| e.to_string());
        let got = refused.or_else(update).unwrap_or_default();
        check("register", (got != want).then(|| format!("got {got:?}, want {want:?}")));
        return problems;
    }
    if let Some(want) = case.json("registered.json") {
        let mut got = serde_json::to_value(&stored).expect("a job is JSON");
        strip_volatile(&mut got);
        check("registered", difference("", &got, &want));
        let want = oracle::text_at(&case.folder.join(format!("{}.warnings.txt", case.name))).unwrap_or_default();
        let got = warnings(&stored, &ctx);
        let same = got.trim_end_matches('\n') == want.trim_end_matches('\n');
        check("warnings", (!same).then(|| format!("got {got:?}, want {want:?}")));
    }
    problems
}

#[test]
fn job_files() {
    let Some(folder) = oracle::folder("jobspec") else { return };
    let mut tally = Tally::default();
    let (mut all, mut good) = (0, 0);
    for case in cases(&folder) {
        let problems = run(&case, &mut tally);
        all += 1;
        good += usize::from(problems.is_empty());
        problems.iter().for_each(|p| println!("{p}"));
    }
    for (stage, (equal, total)) in &tally.0 {
        println!("  {stage}: {equal}/{total}");
    }
    println!("jobspec oracle: {good}/{all} equal");
    assert!(good >= FLOOR || oracle::replaced(), "{good} of {all} equal, {FLOOR} expected");
}

/// Implied constraints are added once, whatever carries them already: a stored job that is registered again, or a job
/// file with the same constraint.
#[test]
fn stored_jobs_get_no_implied_constraint_again() {
    let Some(folder) = oracle::folder("jobspec") else { return };
    let (mut jobs, mut implied) = (0, 0);
    for case in cases(&folder) {
        let Some(registered) = case.json("registered.json") else { continue };
        let given = parse::parse_json(registered.to_string().as_bytes()).expect("a job in JSON");
        let (_, again) = register(given, &server(&case)).expect("a job that was registered");
        let constraints = |job: &Json| {
            let of = |v: &Json| v["Constraints"].as_array().cloned().unwrap_or_default();
            let groups = job["TaskGroups"].as_array().cloned().unwrap_or_default();
            let inner = groups.iter().flat_map(|g| {
                let tasks = g["Tasks"].as_array().cloned().unwrap_or_default();
                std::iter::once(of(g)).chain(tasks.iter().map(of).collect::<Vec<_>>())
            });
            std::iter::once(of(job)).chain(inner).collect::<Vec<_>>()
        };
        let (before, after) = (constraints(&registered), constraints(&serde_json::to_value(&again).expect("JSON")));
        assert_eq!(after, before, "{}", case.name);
        jobs += 1;
        let attributes = before.iter().flatten().filter_map(|c| c["LTarget"].as_str());
        implied += attributes.filter(|a| a.contains("nomad.version") || a.contains("vault.version")).count();
    }
    println!("stored jobs registered again: {jobs}, with {implied} implied constraints on versions");
    assert!((jobs > 100 && implied > 10) || oracle::replaced(), "{jobs} {implied}");
}

/// The job files of the diff oracle are all valid.
#[test]
fn job_files_of_the_diff_oracle_parse() {
    let Some(folder) = oracle::folder("diff") else { return };
    let (mut parsed, mut total) = (0, 0);
    for case in cases(&folder) {
        total += 1;
        match case.parse(&case.file) {
            Ok(_) => parsed += 1,
            Err(e) => println!("{}: {e}", case.file),
        }
    }
    println!("job files of the diff oracle: {parsed}/{total} parsed");
    assert!(total > 0 && parsed == total || oracle::replaced(), "{parsed} of {total} parsed");
}

/// Writes a job as a job file and reads it again.
fn written_and_parsed(job: &api::Job) -> Result<api::Job, String> {
    let written = write(job).map_err(|e| e.to_string())?;
    if !written.lost.is_empty() {
        return Err(format!("HCL cannot express {:?}", written.lost));
    }
    let formatted = format(written.text.as_bytes(), "job").map_err(|e| e.to_string())?;
    if formatted != written.text {
        return Err("the file is not in the standard format".into());
    }
    let options = ParseOptions { path: "job".into(), ..ParseOptions::default() };
    parse::parse(written.text.as_bytes(), &options).map_err(|e| e.to_string())
}

/// Whether the job file that is written from a stored job registers the same job; `None`: it does.
fn differs_when_written(job: &Json, ctx: &ServerContext) -> Option<String> {
    let comparable = |mut stored: Json| {
        strip_volatile(&mut stored);
        for group in stored["TaskGroups"].as_array_mut().into_iter().flatten() {
            // No volumes and an empty map of them mean the same.
            if group["Volumes"].as_object().is_some_and(Map::is_empty) {
                group["Volumes"] = Json::Null;
            }
        }
        stored
    };
    let registered = |job: api::Job| {
        let stored = serde_json::to_value(register(job, ctx)?.1).map_err(|e| e.to_string())?;
        Ok::<Json, String>(comparable(stored))
    };
    let both = || {
        let mut job = parse::parse_json(job.to_string().as_bytes()).map_err(|e| e.to_string())?;
        canonicalize(&mut job);
        Ok::<_, String>((registered(written_and_parsed(&job)?)?, registered(job)?))
    };
    match both() {
        Ok((written, again)) if written == again => None,
        Ok((written, _)) => difference("", &written, &comparable(job.clone())),
        Err(e) => Some(e),
    }
}

#[test]
fn job_files_written_from_recorded_jobs_register_the_same_jobs() {
    let (mut all, mut same) = (0, 0);
    let mut count = |name: &str, differs: Option<String>| {
        all += 1;
        match differs {
            None => same += 1,
            Some(what) => println!("{name}: {what}"),
        }
    };
    if let Some(folder) = oracle::folder("jobspec") {
        for case in cases(&folder) {
            if let Some(registered) = case.json("registered.json") {
                count(&case.name, differs_when_written(&registered, &server(&case)));
            }
        }
    }
    if let Some(folder) = oracle::folder("diff") {
        for case in cases(&folder) {
            let ctx = server(&case);
            let job = case.parse(&case.file).expect("the job file parses");
            let registered = register(job, &ctx).expect("the job is registered").1;
            let registered = serde_json::to_value(registered).expect("a job is JSON");
            count(&case.file, differs_when_written(&registered, &ctx));
        }
    }
    println!("job files written from recorded jobs: {same}/{all} the same");
    assert!(all > 0 && same == all || oracle::replaced(), "{same} of {all} are the same");
}
