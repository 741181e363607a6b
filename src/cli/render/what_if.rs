//! Text output of `what-if`: where allocations move after the assumed changes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::RenderError;
use super::json::indented;
use super::markdown::code;
use super::metrics::metric_lines;
use super::styled::Styled;
use super::table::{Form, table};
use super::ui::Ui;
use super::values::plural;
use encamp_model::{quoted, short_id};
use encamp_plan::what_if::headroom::{PoolRoom, Room};
use encamp_plan::what_if::{Cause, Displaced, Fate, Outcome, Owner, Unplaced};

/// Longer lists of allocations are abbreviated, unless `-verbose` is given.
const MANY: usize = 50;

/// Formats the outcome as JSON (`docs/reference/what-if.schema.json`).
///
/// # Errors
/// The outcome has no JSON form.
pub fn json(outcome: &Outcome) -> Result<String, RenderError> {
    indented(&value(outcome)?)
}

/// The outcome as a JSON value.
///
/// # Errors
/// The outcome has no JSON form.
pub fn value(outcome: &Outcome) -> Result<Value, RenderError> {
    let mut value = serde_json::to_value(outcome)?;
    if let Value::Object(members) = &mut value {
        members.insert("SchemaVersion".into(), 1.into());
        let fates = [Fate::Moved, Fate::Unplaced, Fate::Stopped, Fate::Stays];
        let names = ["Moved", "Unplaced", "Stopped", "Stays"];
        let counts = names.iter().zip(fates).map(|(name, fate)| (name.to_string(), outcome.count(None, fate).into()));
        members.insert("Fates".into(), Value::Object(counts.collect()));
    }
    Ok(value)
}

/// A Markdown paragraph that precedes a plan.
pub fn markdown(outcome: &Outcome) -> String {
    let mark = if outcome.falls_short() { ":warning: " } else { "" };
    let changes: Vec<String> = outcome.changes.iter().map(|c| code(c)).collect();
    let mut out = format!("{mark}**What if:** {}. {}", changes.join(", "), summary(outcome));
    let short: Vec<String> = outcome.unplaced.iter().filter(|u| !u.waited).map(short).collect();
    if !short.is_empty() {
        out.push_str(&format!(" Unplaced: {}.", short.join(", ")));
    }
    out
}

fn short(u: &Unplaced) -> String {
    format!("{} of group {} of job {}", u.count, code(&u.owner.task_group), code(&job(&u.owner)))
}

/// Prints the full outcome.
pub fn print(ui: &mut Ui<'_>, outcome: &Outcome, verbose: bool) {
    print_changes(ui, outcome);
    if !outcome.displaced.is_empty() {
        section(ui, "Jobs", &table(&by_group(&outcome.displaced), Form::List));
        if verbose || outcome.displaced.len() <= MANY {
            section(ui, "Allocations", &table(&rows(outcome), Form::List));
        } else {
            section(ui, "Allocations", &left_out(outcome.displaced.len()));
        }
    }
    if !outcome.placed.is_empty() {
        let title = "New allocations";
        if verbose || outcome.placed.len() <= MANY {
            let lines = outcome.placed.iter().map(|p| format!("{}|{}|{}", job(&p.owner), p.name, p.on.node_name));
            section(ui, title, &table(&headed("Job|Name|Node", lines), Form::List));
        } else {
            let mut counts: BTreeMap<&Owner, usize> = BTreeMap::new();
            outcome.placed.iter().for_each(|p| *counts.entry(&p.owner).or_default() += 1);
            let lines = counts.iter().map(|(o, n)| format!("{}|{}|{n}", job(o), o.task_group));
            let counted = table(&headed("Job|Group|New", lines), Form::List);
            section(ui, title, &format!("{counted}\n{}", left_out(outcome.placed.len())));
        }
    }
    let (concerned, waited): (Vec<&Unplaced>, Vec<&Unplaced>) = outcome.unplaced.iter().partition(|u| !u.waited);
    if !concerned.is_empty() {
        heading(ui, "[red]Unplaced");
        for u in concerned {
            let text = unplaced(ui, u);
            ui.output(&text);
        }
    }
    if !waited.is_empty() {
        let lines = waited.iter().map(|u| format!("{}|{}|{}", job(&u.owner), u.owner.task_group, u.count));
        section(ui, "Still waiting for capacity", &table(&headed("Job|Group|Missing", lines), Form::List));
    }
    section(ui, "Free capacity of ready nodes", &table(&room(&outcome.headroom), Form::List));
}

/// The text that replaces a table that is too long.
fn left_out(allocations: usize) -> String {
    format!("{allocations} allocations are not listed; use -verbose to list them")
}

/// Prints a summary before the output of another command: as a few lines, or as one line on standard error if the
/// output is for programs.
pub fn print_short(ui: &mut Ui<'_>, outcome: &Outcome, for_programs: bool) {
    if for_programs {
        return ui.warn(&format!("What if: {}. {}", outcome.changes.join(", "), summary(outcome)));
    }
    print_changes(ui, outcome);
    for u in outcome.unplaced.iter().filter(|u| !u.waited) {
        let n = u.count;
        let line = format!(
            "- WARNING: Failed to place {n} {} of group {} of job {}.",
            plural(n, "allocation", "allocations"),
            quoted(&u.owner.task_group),
            quoted(&job(&u.owner))
        );
        ui.output_markup(&format!("[bold][yellow]{line}[reset]"));
    }
    ui.output("");
}

fn print_changes(ui: &mut Ui<'_>, outcome: &Outcome) {
    ui.output_markup("[bold]What if:[reset]");
    for change in &outcome.changes {
        ui.output(&format!("- {change}"));
    }
    ui.output(&format!("\n{}", summary(outcome)));
}

/// Summarises the displaced allocations in one sentence.
fn summary(outcome: &Outcome) -> String {
    let all = outcome.displaced.len();
    let mut parts = Vec::new();
    for (fate, words) in [
        (Fate::Moved, "moved"),
        (Fate::Unplaced, "unplaced"),
        (Fate::Stopped, "stopped"),
        (Fate::Stays, "kept although disconnected"),
    ] {
        let n = outcome.count(None, fate);
        if n > 0 {
            parts.push(format!("{n} {words}"));
        }
    }
    let mut out = match all {
        0 => "No allocations are displaced".to_string(),
        _ => {
            let leave = plural(i64::try_from(all).unwrap_or(2), "allocation is displaced", "allocations are displaced");
            format!("{all} {leave}: {}", parts.join(", "))
        }
    };
    let preempted = outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).count();
    if preempted > 0 {
        out.push_str(&format!("; {preempted} of them preempted"));
    }
    if !outcome.placed.is_empty() {
        let n = outcome.placed.len();
        out.push_str(&format!("; {n} new {}", plural(i64::try_from(n).unwrap_or(2), "allocation", "allocations")));
    }
    out.push('.');
    out
}

fn section(ui: &mut Ui<'_>, title: &str, text: &str) {
    heading(ui, title);
    ui.output(text);
}

fn heading(ui: &mut Ui<'_>, title: &str) {
    ui.output_markup(&format!("\n[bold]{title}[reset]"));
}

fn headed(head: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(head.to_string()).chain(lines).collect()
}

/// The job's ID, followed by its namespace unless that is `default`.
fn job(owner: &Owner) -> String {
    match owner.namespace.as_str() {
        "default" | "" => owner.job_id.clone(),
        namespace => format!("{}@{namespace}", owner.job_id),
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Drained => "drained",
        Cause::Lost => "lost",
        Cause::Preempted => "preempted",
        Cause::Migrated => "migrated",
        Cause::Updated => "updated",
        Cause::Stopped => "stopped",
    }
}

fn by_group(displaced: &[Displaced]) -> Vec<String> {
    let mut groups: BTreeMap<(&Owner, Cause), [usize; 4]> = BTreeMap::new();
    for d in displaced {
        let counts = groups.entry((&d.owner, d.cause)).or_default();
        let column = match d.fate {
            Fate::Moved => 0,
            Fate::Unplaced => 1,
            Fate::Stopped => 2,
            Fate::Stays => 3,
        };
        counts[column] += 1;
    }
    let stays = groups.values().any(|c| c[3] > 0);
    let head = format!("Job|Group|Type|Reason|Displaced|Moved|Unplaced|Stopped{}", if stays { "|Kept" } else { "" });
    let lines = groups.iter().map(|((o, reason), counts)| {
        let [moved, unplaced, stopped, kept] = counts;
        let left: usize = counts.iter().sum();
        let kept = if stays { format!("|{kept}") } else { String::new() };
        let reason = cause(*reason);
        format!("{}|{}|{}|{reason}|{left}|{moved}|{unplaced}|{stopped}{kept}", job(o), o.task_group, o.job_type)
    });
    headed(&head, lines)
}

fn rows(outcome: &Outcome) -> Vec<String> {
    let lines = outcome.displaced.iter().map(|d| {
        let to = match (&d.to, d.fate) {
            (Some(to), _) => to.node_name.clone(),
            (None, Fate::Unplaced) => "unplaced".into(),
            (None, Fate::Stays) => "stays".into(),
            (None, _) => "stopped".into(),
        };
        let id = short_id(&d.from.alloc_id);
        format!("{id}|{}|{}|{}|{}|{to}", job(&d.owner), d.name, cause(d.cause), d.from.node_name)
    });
    headed("Alloc ID|Job|Name|Reason|From|To", lines)
}

fn unplaced(ui: &Ui<'_>, u: &Unplaced) -> Styled {
    let n = u.count;
    let words = plural(n, "allocation", "allocations");
    let head = format!("Job {}, group {} ({n} {words}):", quoted(&job(&u.owner)), quoted(&u.owner.task_group));
    let lines = metric_lines(&u.metrics, "  ", false, ui.colours_on());
    let mut text = Styled::from(head);
    if !lines.is_empty() {
        text.push("\n");
        text.push(lines);
    }
    text
}

fn room(pools: &[PoolRoom]) -> Vec<String> {
    let change = |text: &dyn Fn(&Room) -> String, p: &PoolRoom| match (text(&p.before), text(&p.after)) {
        (a, b) if a == b => a,
        (a, b) => format!("{a} -> {b}"),
    };
    let part = |free: fn(&Room) -> i64, all: fn(&Room) -> i64, p: &PoolRoom| {
        change(&|r| format!("{} of {}", free(r), all(r)), p)
    };
    let lines = pools.iter().map(|p| {
        format!(
            "{}|{}|{}|{}|{}",
            p.pool,
            change(&|r| r.nodes.to_string(), p),
            part(|r| r.cpu_free, |r| r.cpu, p),
            part(|r| r.memory_free_mb, |r| r.memory_mb, p),
            part(|r| r.disk_free_mb, |r| r.disk_mb, p),
        )
    });
    headed("Pool|Nodes|Free CPU (MHz)|Free memory (MB)|Free disk (MB)", lines)
}
