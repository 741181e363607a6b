//! Compares job diffs with the recorded ones: the diff function, its annotations and its terminal output.

use std::path::{Path, PathBuf};

use encamp_cli::render::{diff as text, markup::markup};
use encamp_jobspec::diff::{annotate, diff_jobs};
use encamp_model::{JobDiff, PlanAnnotations};
use serde_json::Value;

use crate::oracle;

fn json(path: PathBuf) -> Option<Value> {
    oracle::json_at(&path)
}

fn terminal(diff: &JobDiff, verbose: bool) -> String {
    format!("{}\n", markup(&text::job(diff, verbose), false).trim())
}

/// Sorts `Objects` lists at every level by their content.
fn unordered(v: &mut Value) {
    match v {
        Value::Array(list) => list.iter_mut().for_each(unordered),
        Value::Object(map) => {
            map.values_mut().for_each(unordered);
            if let Some(Value::Array(objects)) = map.get_mut("Objects") {
                objects.sort_by_key(Value::to_string);
            }
        }
        _ => {}
    }
}

/// Empty lists are as good as null.
fn without_empty_lists(v: &mut Value) {
    match v {
        Value::Array(list) if list.is_empty() => *v = Value::Null,
        Value::Array(list) => list.iter_mut().for_each(without_empty_lists),
        Value::Object(map) => map.values_mut().for_each(without_empty_lists),
        _ => {}
    }
}

struct Case<'a> {
    folder: &'a Path,
    name: &'a str,
    any_order: bool,
    problems: Vec<String>,
}

impl Case<'_> {
    fn path(&self, suffix: &str) -> PathBuf {
        self.folder.join(format!("{}.{suffix}", self.name))
    }

    fn compare_json(&mut self, suffix: &str, got: &JobDiff) {
        let Some(mut want) = json(self.path(suffix)) else { return self.problems.push(format!("{suffix} is missing")) };
        let mut got = serde_json::to_value(got).expect("diffs are JSON");
        for v in [&mut got, &mut want] {
            without_empty_lists(v);
            if self.any_order {
                unordered(v);
            }
        }
        if got != want {
            self.problems.push(format!("{suffix} differs"));
        }
    }

    fn compare_text(&mut self, suffix: &str, got: String) {
        let Some(want) = oracle::text_at(&self.path(suffix)) else {
            return self.problems.push(format!("{suffix} is missing"));
        };
        let lines = |s: &str| {
            let mut lines: Vec<String> = s.lines().map(String::from).collect();
            if self.any_order {
                lines.sort();
            }
            lines
        };
        if lines(&got) != lines(&want) || got.ends_with('\n') != want.ends_with('\n') {
            self.problems.push(format!("{suffix} differs:\n{got}"));
        }
    }

    /// The terminal form and the annotations, from the recorded diffs alone.
    fn check_rendering(&mut self) {
        let read =
            |suffix: &str| json(self.path(suffix)).map(|v| serde_json::from_value::<JobDiff>(v).expect("a diff"));
        let Some(recorded) = read("contextual.json") else { return self.problems.push("no contextual diff".into()) };
        self.compare_text("txt", terminal(&recorded, false));
        self.compare_text("verbose.txt", terminal(&recorded, true));
        if let Some(updates) = json(self.path("updates.json")) {
            let annotations: PlanAnnotations = serde_json::from_value(updates).expect("annotations");
            let mut annotated = recorded;
            annotate(&mut annotated, &annotations);
            self.compare_json("annotated.json", &annotated);
            self.compare_text("annotated.txt", terminal(&annotated, false));
        }
    }

    /// The diff of the recorded job files.
    fn check_diff(&mut self) {
        let profile = json(self.path("args.json"))
            .and_then(|args| args.get("profile").and_then(Value::as_str).map(String::from))
            .unwrap_or_else(|| "default".into());
        let side = |which: &str| {
            let path = self.path(which);
            path.exists().then(|| oracle::registered_job(&path, &profile)).transpose()
        };
        let (mut old, new) = match (side("old.hcl"), side("new.hcl")) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(e), _) | (_, Err(e)) => return self.problems.push(e),
        };
        // The old job is stored: so are its scaling policies.
        for scaling in old.iter_mut().flat_map(|j| &mut j.task_groups).filter_map(|g| g.scaling.as_mut()) {
            (scaling.create_index, scaling.modify_index) = (7, 7);
        }
        for (contextual, suffix) in [(false, "diff.json"), (true, "contextual.json")] {
            match diff_jobs(old.as_ref(), new.as_ref(), contextual) {
                Ok(diff) => self.compare_json(suffix, &diff),
                Err(e) => self.problems.push(e.to_string()),
            }
        }
    }
}

#[test]
fn recorded_diffs_are_reproduced() {
    let Some(folder) = oracle::folder("diff") else { return };
    let any_order = oracle::text_at(&folder.join("unordered.txt")).unwrap_or_default();
    let any_order: Vec<&str> = any_order.split_whitespace().collect();
    let names: Vec<String> = oracle::files(&folder, ".contextual.json").into_iter().map(|(name, _)| name).collect();
    let mut equal = 0;
    for name in &names {
        let any_order = any_order.contains(&name.as_str());
        let mut case = Case { folder: &folder, name, any_order, problems: Vec::new() };
        case.check_rendering();
        case.check_diff();
        if case.problems.is_empty() {
            equal += 1;
        } else {
            println!("{name}: {}", case.problems.join("; "));
        }
    }
    println!("diff oracle: {equal}/{} equal", names.len());
    if !oracle::replaced() {
        assert!(!names.is_empty(), "the oracle has no cases");
        assert_eq!(equal, names.len());
    }
}

#[test]
fn jobs_with_different_ids_cannot_be_compared() {
    let job = |id: &str| encamp_model::Job { id: id.into(), ..Default::default() };
    let error = diff_jobs(Some(&job("a")), Some(&job("b")), true).unwrap_err();
    assert_eq!(error.to_string(), "can not diff jobs with different IDs: \"a\" and \"b\"");
    let nothing = diff_jobs(None, None, true).unwrap();
    assert_eq!((nothing.r#type.as_str(), nothing.id.as_str()), ("None", ""));
}
