//! Canonicalisation, conversion and admission against recorded results (`tests/oracle/jobspec`).

use std::path::Path;

use encamp_jobspec::admission::mutate::mutate;
use encamp_jobspec::admission::{ServerContext, admit};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_model::{Job, api};
use serde_json::Value;

use crate::oracle;

/// The names of all cases that have a file with this ending.
fn cases(folder: &Path, ending: &str) -> Vec<String> {
    oracle::files(folder, ending).into_iter().map(|(name, _)| name).collect()
}

fn read(folder: &Path, name: &str, ending: &str) -> Value {
    oracle::json_at(&folder.join(format!("{name}{ending}"))).unwrap_or_else(|| panic!("{name}{ending} is missing"))
}

/// The server profile a case asks for.
fn profile(folder: &Path, name: &str) -> ServerContext {
    let args = oracle::json_at(&folder.join(format!("{name}.args.json"))).unwrap_or_default();
    oracle::server(args["profile"].as_str().unwrap_or("default"))
}

/// What differs, by path; numbers compare by value.
fn differences(want: &Value, got: &Value, path: &str, out: &mut Vec<String>) {
    match (want, got) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|k| !a.contains_key(*k))) {
                let path = format!("{path}.{key}");
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(a, b, &path, out),
                    (a, b) => out.push(format!("{path}: want {} got {}", text(a), text(b))),
                }
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{path}[{i}]"), out);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => {}
        _ if want == got => {}
        _ => out.push(format!("{path}: want {want} got {got}")),
    }
}

fn text(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_string(), Value::to_string)
}

/// Removes what differs between two registrations of the same job.
fn strip_volatile(job: &mut Value) {
    let remove = |object: &mut Value, keys: &[&str]| {
        if let Some(object) = object.as_object_mut() {
            object.retain(|k, _| !keys.contains(&k.as_str()));
        }
    };
    remove(job, &["CreateIndex", "ModifyIndex", "JobModifyIndex", "SubmitTime", "Status", "StatusDescription"]);
    for group in job["TaskGroups"].as_array_mut().into_iter().flatten() {
        remove(&mut group["Scaling"], &["ID", "CreateIndex", "ModifyIndex"]);
    }
}

/// Runs all cases with results of this ending, prints the score and fails below the floor.
fn score(label: &str, ending: &str, floor: usize, run: impl Fn(&Path, &str) -> Result<Value, String>) {
    let Some(folder) = oracle::folder("jobspec") else { return };
    let names = cases(&folder, ending);
    let mut equal = 0;
    for name in &names {
        let mut found = Vec::new();
        match run(&folder, name) {
            Ok(got) => differences(&read(&folder, name, ending), &got, "", &mut found),
            Err(error) => found.push(format!("error: {error}")),
        }
        if found.is_empty() {
            equal += 1;
        } else {
            println!("{name}:\n  {}", found.join("\n  "));
        }
    }
    println!("{label} oracle: {equal}/{} equal", names.len());
    assert!(equal >= floor || oracle::replaced(), "{label}: {equal} of {} equal, floor {floor}", names.len());
}

fn raw_job(folder: &Path, name: &str) -> Result<api::Job, String> {
    serde_json::from_value(read(folder, name, ".raw.json")).map_err(|e| e.to_string())
}

#[test]
fn api_jobs_survive_reading_and_writing() {
    score("api round trip", ".raw.json", 106, |folder, name| {
        serde_json::to_value(raw_job(folder, name)?).map_err(|e| e.to_string())
    });
}

#[test]
fn canonical_jobs_are_equal() {
    score("canonical", ".parsed.json", 106, |folder, name| {
        let mut job = raw_job(folder, name)?;
        canonicalize(&mut job);
        serde_json::to_value(job).map_err(|e| e.to_string())
    });
}

#[test]
fn registered_jobs_are_equal() {
    score("registered", ".registered.json", 106, |folder, name| {
        let mut job = raw_job(folder, name)?;
        canonicalize(&mut job);
        let ctx = profile(folder, name);
        let options = ConvertOptions { region: ctx.region.clone(), ..ConvertOptions::default() };
        let sent = to_server(&job, &options).map_err(|e| e.to_string())?;
        let admitted = admit(sent, &ctx, None).map_err(|e| e.to_string())?;
        let mut job = serde_json::to_value(admitted.job).map_err(|e| e.to_string())?;
        strip_volatile(&mut job);
        Ok(job)
    });
}

#[test]
fn warnings_are_equal() {
    let Some(folder) = oracle::folder("jobspec") else { return };
    let names = cases(&folder, ".registered.json");
    let mut equal = 0;
    for name in &names {
        let want = oracle::text_at(&folder.join(format!("{name}.warnings.txt"))).unwrap_or_default();
        let mut job = raw_job(&folder, name).unwrap();
        canonicalize(&mut job);
        let ctx = profile(&folder, name);
        let options = ConvertOptions { region: ctx.region.clone(), ..ConvertOptions::default() };
        let stored = to_server(&job, &options).map_err(|e| e.to_string());
        let got = stored.and_then(|j| admit(j, &ctx, None).map_err(|e| e.to_string()));
        let got = got.map_or_else(|e| e, |a| a.warnings);
        if got.trim_end() == want.trim_end() {
            equal += 1;
        } else {
            println!("{name}: want {want:?}\n  got {got:?}");
        }
    }
    println!("warnings oracle: {equal}/{} equal", names.len());
    assert!(equal == names.len() || oracle::replaced(), "all warnings equal");
}

/// Jobs that were registered over HTTP, as they were read back (`tests/oracle/http`).
#[test]
fn jobs_read_back_over_http_are_equal() {
    let Some(folder) = oracle::folder("http/reference-2.0.5") else { return };
    let mut sent = std::collections::BTreeMap::new();
    let (mut equal, mut total) = (0, 0);
    for name in cases(&folder, ".json") {
        let exchange = read(&folder, &name, ".json");
        let (request, response) = (&exchange["request"], &exchange["response"]);
        if response["status"] != 200 {
            continue;
        }
        let path = request["path"].as_str().unwrap();
        if path == "/v1/jobs" && request["body"]["Job"]["ID"].is_string() {
            sent.insert(
                format!("/v1/job/{}", request["body"]["Job"]["ID"].as_str().unwrap()),
                request["body"]["Job"].clone(),
            );
        }
        let (Some(job), true) = (sent.get(path), request["method"] == "GET") else { continue };
        total += 1;
        let mut job: api::Job = serde_json::from_value(job.clone()).unwrap();
        canonicalize(&mut job);
        let options = ConvertOptions { region: "global".into(), ..ConvertOptions::default() };
        let admitted = admit(to_server(&job, &options).unwrap(), &ServerContext::default(), None).unwrap();
        let (mut want, mut got) = (response["body"].clone(), serde_json::to_value(admitted.job).unwrap());
        for job in [&mut want, &mut got] {
            strip_volatile(job);
            job.as_object_mut().unwrap().retain(|k, _| !["Version", "Stable", "Stop"].contains(&k.as_str()));
        }
        let mut found = Vec::new();
        differences(&want, &got, "", &mut found);
        if found.is_empty() {
            equal += 1;
        } else {
            println!("{name}:\n  {}", found.join("\n  "));
        }
    }
    println!("read back oracle: {equal}/{total} equal");
    assert!(total > 5 && equal == total || oracle::replaced(), "{equal} of {total} equal");
}

/// What a server stored is what admission makes of it again, except that identities' constraint is appended again.
#[test]
fn stored_jobs_are_admitted_unchanged() {
    let Some(folder) = oracle::folder("archive") else { return };
    let (mut equal, mut total) = (0, 0);
    for name in cases(&folder, ".expected.json") {
        let state = read(&folder, &name, ".expected.json");
        // Older servers stored jobs in other forms.
        if !state["ServerVersion"].as_str().is_some_and(|v| v.starts_with("2.")) {
            continue;
        }
        for stored in state["JobVersions"].as_array().unwrap() {
            total += 1;
            let mut job: Job = serde_json::from_value(stored.clone()).unwrap();
            mutate(&mut job, &ServerContext::default()).unwrap();
            for group in &mut job.task_groups {
                let again = group.constraints.last().filter(|c| c.rtarget == ">= 1.7.0-a").cloned();
                if again.is_some_and(|last| group.constraints.iter().filter(|c| **c == last).count() == 2) {
                    group.constraints.pop();
                }
            }
            let mut found = Vec::new();
            differences(stored, &serde_json::to_value(job).unwrap(), "", &mut found);
            if found.is_empty() {
                equal += 1;
            } else {
                println!("{name} {}:\n  {}", stored["ID"], found.join("\n  "));
            }
        }
    }
    println!("stored jobs oracle: {equal}/{total} unchanged");
    assert!(total > 500 && equal == total || oracle::replaced(), "{equal} of {total} unchanged");
}
