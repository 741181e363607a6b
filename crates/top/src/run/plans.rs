//! Plans and simulations: commands of the program, and what their answers change on nodes.

use std::path::{Path, PathBuf};

use encamp_model::SecretString;
use encamp_ui::Cluster;
use serde_json::Value;

use super::commands::command;
use crate::actions::{Act, Action};
use crate::messages::{Entry, Planned, Simulated};
use crate::row::{Kind, Object, counted};
use crate::rows::text;
use crate::topology::{Change, Changes};

/// The most entries of a directory that are listed.
const MAX_ENTRIES: usize = 1000;
/// The ends of names of job files.
const ENDS: [&str; 4] = [".hcl", ".nomad", ".json", ".jobspec"];

/// Plans a job file. `words`: flags and the file, which the command reads. `file`: where the plan is written.
pub(super) async fn plan(cluster: &dyn Cluster, words: Vec<String>, file: &Path) -> Result<Planned, String> {
    let file = file.display().to_string();
    let arguments = ["job", "plan", "-explain", "-diff=false"]
        .map(String::from)
        .into_iter()
        .chain([format!("-out={file}")])
        .chain(words);
    let explained = command(cluster, arguments.collect(), Vec::new()).await?;
    let show = |flag: &[&str]| {
        let words = [&["plan", "show"], flag, &["--", file.as_str()]].concat();
        command(cluster, words.into_iter().map(String::from).collect(), Vec::new())
    };
    let (shown, answer) = futures_util::future::join(show(&[]), show(&["-json"])).await;
    let answer: Value = serde_json::from_str(&answer?).map_err(|e| format!("the plan is not understood: {e}"))?;
    let index = answer.pointer("/Outcome/JobModifyIndex").and_then(Value::as_u64).unwrap_or(0);
    let job = answer.get("Job").map(|job| text(job, "ID")).unwrap_or_default();
    let object = Object::new(Kind::Job, &text(&answer, "Namespace"), &job);
    let register = Act { action: Action::Register { file: file.clone(), index }, object, name: job };
    // The facts about the plan file come first, then an empty line: the title and the summary name what matters of them.
    let shown = shown?;
    let text = shown.split_once("\n\n").map_or(shown.as_str(), |(_, rest)| rest);
    let mut text = format!("{}\n\n{}\n", summary(&answer, &register), text.trim_end());
    if unplaced(&answer) > 0 {
        text.push_str(&format!("\nWhy allocations cannot be placed\n{explained}"));
    }
    Ok(Planned { text, changes: planned_changes(&answer), register })
}

/// How many allocations cannot be placed.
fn unplaced(plan: &Value) -> usize {
    let groups = plan.pointer("/Outcome/Unplaced").and_then(Value::as_object).into_iter().flatten();
    groups.filter_map(|(_, count)| usize::try_from(count.as_u64()?).ok()).sum()
}

/// What a plan does in one line, and what is compared when it is registered.
fn summary(plan: &Value, register: &Act) -> String {
    let count = |list: &str| elements(plan, &format!("/Outcome/{list}")).count();
    let parts = [(count("Placements"), "placed"), (count("Stops"), "stopped"), (count("Updates"), "updated")];
    let parts = parts.into_iter().chain([(count("Evictions"), "of other jobs preempted")]);
    let mut parts: Vec<String> =
        parts.filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    if unplaced(plan) > 0 {
        parts.push(format!("{} cannot be placed", counted(unplaced(plan), "allocation")));
    }
    let done = if parts.is_empty() { "no changes of allocations".to_string() } else { parts.join(", ") };
    let name = format!("Job {} in namespace {}", register.name, register.object.namespace);
    match register.action {
        Action::Register { index, .. } if index > 0 => format!("{name} (modify index {index}): {done}"),
        _ => format!("{name} (new): {done}"),
    }
}

/// What a plan changes on nodes.
fn planned_changes(plan: &Value) -> Changes {
    let mut changes = Changes::default();
    let lists = [("Evictions", Change::Preempted), ("Stops", Change::Displaced), ("Placements", Change::Placed)];
    for (list, change) in lists {
        for allocation in elements(plan, &format!("/Outcome/{list}")) {
            changes.add(&text(allocation, "NodeID"), change, 1);
        }
    }
    changes
}

/// Simulates lost and drained nodes.
pub(super) async fn simulate(cluster: &dyn Cluster, flags: Vec<String>) -> Result<Simulated, String> {
    let arguments = |json: bool| {
        let words = std::iter::once("what-if".to_string()).chain(json.then(|| "-json".to_string()));
        words.chain(flags.iter().cloned()).collect::<Vec<_>>()
    };
    let run = |json: bool| cluster.run(SecretString::default(), arguments(json), Vec::new());
    let (shown, answer) = futures_util::future::join(run(false), run(true)).await;
    let (shown, answer) = (shown.map_err(|e| e.to_string())?, answer.map_err(|e| e.to_string())?);
    if shown.stdout.is_empty() {
        return Err(shown.stderr);
    }
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap_or_default();
    let mut changes = Changes::default();
    for displaced in elements(&answer, "/Displaced") {
        let from = displaced.pointer("/From").map(|from| text(from, "NodeID")).unwrap_or_default();
        let preempted = text(displaced, "Cause") == "preempted";
        changes.add(&from, if preempted { Change::Preempted } else { Change::Displaced }, 1);
        if let Some(to) = displaced.pointer("/To").filter(|to| !to.is_null()) {
            changes.add(&text(to, "NodeID"), Change::Placed, 1);
        }
    }
    for placed in elements(&answer, "/Placed") {
        changes.add(&placed.pointer("/On").map(|on| text(on, "NodeID")).unwrap_or_default(), Change::Placed, 1);
    }
    Ok(Simulated { text: String::from_utf8_lossy(&shown.stdout).into_owned(), changes })
}

fn elements<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// The directories and job files in a directory, to choose from; empty: the working directory.
pub(super) fn entries(directory: &str) -> Result<(String, Vec<Entry>), String> {
    let directory = if directory.is_empty() { std::env::current_dir() } else { Ok(PathBuf::from(directory)) };
    let directory = directory.map_err(|e| e.to_string())?;
    let failed = |e: std::io::Error| format!("{}: {e}", directory.display());
    let path_of = |path: &Path| path.to_string_lossy().into_owned();
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(failed)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(failed)?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), path_of(&entry.path()));
        let is_directory = entry.path().is_dir();
        if !name.starts_with('.') && (is_directory || ENDS.iter().any(|end| name.ends_with(end))) {
            found.push(Entry { name, path, is_directory });
        }
    }
    found.sort_by(|a, b| b.is_directory.cmp(&a.is_directory).then_with(|| a.name.cmp(&b.name)));
    let up = directory.parent().map(|up| Entry { name: "..".into(), path: path_of(up), is_directory: true });
    Ok((path_of(&directory), up.into_iter().chain(found).collect()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn placements_and_preemptions_are_marked_on_their_nodes() {
        let plan = json!({"Outcome": {
            "Evictions": [{"NodeID": "n1"}, {"NodeID": "n1"}], "Stops": null,
            "Placements": [{"NodeID": "n1"}, {"NodeID": "n2"}]
        }});
        let changes = planned_changes(&plan);
        assert_eq!(changes.of("n1"), [(Change::Preempted, 2), (Change::Placed, 1)]);
        assert_eq!(changes.of("n2"), [(Change::Placed, 1)]);
        assert!(planned_changes(&json!({"Outcome": null})).is_empty());
        let action = Action::Register { file: "plan".into(), index: 7 };
        let register = Act { action, object: Object::new(Kind::Job, "prod", "web"), name: "web".into() };
        let told = "Job web in namespace prod (modify index 7): 2 placed, 2 of other jobs preempted";
        assert_eq!(summary(&plan, &register), told);
    }
}
