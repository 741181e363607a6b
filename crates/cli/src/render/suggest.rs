//! Suggestions: the edits with which a job that does not fit is placed, as a table and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::styled::{Styled, TaggedText};
use super::table::{Form, cell, headed, table_of_sentences};
use super::values::{counted, time};
use encamp_jobspec::explain::Place;
use encamp_model::quoted;
use encamp_plan::suggest::edit::{Edit, preemption_setting};
use encamp_plan::suggest::{Evicted, Suggestion, Suggestions};

/// The version of the JSON form.
const SCHEMA_VERSION: u32 = 1;
/// Jobs that lose allocations are named up to this number.
const MOST_JOBS: usize = 2;

/// Suggestions, and where their edits are.
pub struct View<'a> {
    /// What was found.
    pub found: &'a Suggestions,
    /// The path of the job file, if there is one.
    pub path: Option<&'a str>,
    /// The place of an edit in the job file, if there is a file.
    pub place: &'a dyn Fn(&Edit) -> Option<Place>,
    /// The time zone of the output.
    pub zone: &'a jiff::tz::TimeZone,
}

/// An edit in words.
struct Words {
    kind: &'static str,
    /// What is edited, and how.
    text: String,
    old: String,
    new: String,
}

/// The suggestions as text: so many of them at most.
pub fn text(view: &View<'_>, most: usize, verbose: bool, colours: bool) -> Styled {
    let found = view.found;
    let mut out = TaggedText::new(colours);
    out.tags("[bold]Suggestions:[reset] ");
    if found.list.is_empty() {
        out.styled(&Styled::from(nothing(found)));
        return out.finish();
    }
    let sentence = "each of these, planned again, places everything; the cheapest comes first";
    out.styled(&Styled::from(format!("{sentence}\n\n").as_str()));
    let shown = found.list.get(..most.min(found.list.len())).unwrap_or_default();
    let rows = shown.iter().enumerate().flat_map(|(at, s)| rows(view, at + 1, s));
    let lines = headed("#|Cost|Places|Evicts|Where|Edit", rows);
    out.styled(&Styled::from(table_of_sentences(&lines, Form::Spaced)));
    if verbose {
        shown.iter().enumerate().for_each(|(at, s)| out.styled(&Styled::from(evictions(at + 1, s))));
    }
    if found.cut {
        out.tags("\n\nThe search was ended early: there may be cheaper edits");
    }
    out.finish()
}

fn nothing(found: &Suggestions) -> &'static str {
    if !found.are_needed() {
        "none are needed, everything is placed"
    } else if found.cut {
        "the search was ended before an edit was found"
    } else {
        "no single edit and no two edits place everything"
    }
}

/// The lines of a suggestion: one for each of its edits.
fn rows(view: &View<'_>, number: usize, s: &Suggestion) -> Vec<String> {
    let row = |(at, edit): (usize, &Edit)| {
        let place = match (view.place)(edit) {
            Some(place) => format!("{}:{}", place.range.file, place.range.start_line),
            None if edit.is_of_file() => String::new(),
            None => "the cluster".into(),
        };
        let figures = match at {
            0 => format!("{number}|{:.1}|{}|{}", s.cost, s.placed, evicted_jobs(s)),
            _ => "+|||".into(),
        };
        format!("{figures}|{}|{}", cell(&place), cell(&words(edit, view).text))
    };
    s.edits.iter().enumerate().map(row).collect()
}

/// How many allocations are evicted, and of which jobs.
fn evicted_jobs(s: &Suggestion) -> String {
    let now = evicted_now(&s.evicted);
    if s.evicted_later == 0 { now } else { format!("{now}, later {}", s.evicted_later) }
}

fn evicted_now(evicted: &[Evicted]) -> String {
    let mut jobs: BTreeMap<&str, usize> = BTreeMap::new();
    evicted.iter().for_each(|e| *jobs.entry(&e.job_id).or_default() += 1);
    if jobs.is_empty() {
        return "0".into();
    }
    let names: Vec<&str> = jobs.keys().take(MOST_JOBS).copied().collect();
    let more = if jobs.len() > MOST_JOBS { ", …" } else { "" };
    cell(&format!("{} of {}{more}", evicted.len(), names.join(", ")))
}

fn evictions(number: usize, s: &Suggestion) -> String {
    let one = |e: &Evicted| {
        format!("\n  {} {} (priority {}) on {}", encamp_model::short_id(&e.alloc_id), e.name, e.priority, e.node_name)
    };
    if s.evicted.is_empty() {
        return String::new();
    }
    let lines: String = s.evicted.iter().map(one).collect();
    format!("\n\nSuggestion {number} evicts:{lines}")
}

/// The part of a job that an edit is about.
fn owner(edit: &Edit) -> String {
    match (edit.group(), edit.task()) {
        (Some(group), Some(task)) => format!("task {} of group {}", quoted(task), quoted(group)),
        (Some(group), None) => format!("group {}", quoted(group)),
        (None, _) => "the job".into(),
    }
}

fn words(edit: &Edit, view: &View<'_>) -> Words {
    let of = owner(edit);
    let words = |kind, text: String, old: &str, new: &str| Words { kind, text, old: old.into(), new: new.into() };
    let number = |kind, what: &str, unit: &str, old: &i64, new: &i64| {
        words(kind, format!("{what} of {of}: {old} -> {new}{unit}"), &old.to_string(), &new.to_string())
    };
    let gained = |n: &usize| counted(*n, "node", "nodes");
    match edit {
        Edit::Task { amount, old, new, .. } => number(amount.name(), amount.name(), amount.unit(), old, new),
        Edit::Reserve { old, new, .. } => {
            let text = format!("memory of {of}: {old} -> {new} MB, with memory_max {old} MB");
            words("memory-max", text, &old.to_string(), &new.to_string())
        }
        Edit::Device { name, old, new, .. } => number("device", &format!("count of device {name}"), "", old, new),
        Edit::Disk { old, new, .. } => number("disk", "ephemeral disk", " MB", old, new),
        Edit::Count { old, new, .. } => number("count", "count", "", old, new),
        Edit::Canaries { old, new, .. } => number("canary", "canary", "", old, new),
        Edit::Parallel { old, new, .. } => number("max-parallel", "max_parallel", "", old, new),
        Edit::Priority { old, new } => number("priority", "priority", "", old, new),
        Edit::Port { label, old, .. } => {
            let text = format!("port {} of {of}: static {old} -> dynamic", quoted(label));
            words("port", text, &old.to_string(), "dynamic")
        }
        Edit::DropPort { label, .. } => {
            words("drop-port", format!("remove dynamic port {} of {of}", quoted(label)), label, "removed")
        }
        Edit::DropConstraint { text, nodes, .. } => {
            let gain = if *nodes > 0 { format!(" (adds {})", gained(nodes)) } else { String::new() };
            words("constraint", format!("remove constraint {text} of {of}{gain}"), text, "removed")
        }
        Edit::ConstraintValue { text, old, new, .. } => {
            let old = if old.is_empty() { "1" } else { old };
            words("constraint-value", format!("constraint {text} of {of}: {old} -> {new}"), old, new)
        }
        Edit::Datacenter { old, new, nodes } => {
            let text = format!("add datacenter {} (adds {})", quoted(new), gained(nodes));
            words("datacenter", text, &old.join(", "), &format!("{}, {new}", old.join(", ")))
        }
        Edit::Pool { old, new, nodes } => {
            words("pool", format!("node pool of the job: {old} -> {new} ({})", gained(nodes)), old, new)
        }
        Edit::Preemption { job_type } => {
            let text = format!("switch the scheduler setting {} on", preemption_setting(job_type));
            words("preemption", text, "false", "true")
        }
        Edit::AddNodes { count, like, class, pool } => {
            words("nodes", more_nodes(*count, like, class, pool), "0", &count.to_string())
        }
        Edit::Wait { until, ends, last } => {
            let work = counted(ends.len(), "batch allocation has ended", "batch allocations have ended");
            let at = time(*until, view.zone);
            let text = format!("wait until {at}, when {work} by max_run_duration, the last of {}", quoted(last));
            words("wait", text, "", &at)
        }
        Edit::Moves { plan, .. } => {
            let (moves, file) = (counted(plan.moves, "move", "moves"), view.path.unwrap_or("FILE"));
            words("moves", format!("make room with {moves}: encamp rebalance -fit {file}"), "", &moves)
        }
    }
}

fn more_nodes(count: i64, like: &str, class: &str, pool: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" of class {}", quoted(class)) };
    format!("add {}{class} to pool {}, like {like}", counted(count, "node", "nodes"), quoted(pool))
}

/// The suggestions as JSON (`docs/reference/suggestions.schema.json`).
pub fn value(view: &View<'_>) -> Value {
    let suggestion = |(at, s): (usize, &Suggestion)| {
        json!({
            "Number": at + 1,
            "Cost": (s.cost * 10.0).round() / 10.0,
            "Placed": s.placed,
            "Evicted": s.evicted.iter().map(evicted).collect::<Vec<_>>(),
            "EvictedLater": s.evicted_later,
            "Edits": s.edits.iter().map(|edit| self::edit(view, edit)).collect::<Vec<_>>(),
        })
    };
    json!({
        "SchemaVersion": SCHEMA_VERSION,
        "Unplaced": view.found.unplaced,
        "Rejected": view.found.rejected,
        "RolloutBlocked": view.found.rollout_blocked,
        "Complete": !view.found.cut,
        "Plans": view.found.plans,
        "List": view.found.list.iter().enumerate().map(suggestion).collect::<Vec<_>>(),
    })
}

fn evicted(e: &Evicted) -> Value {
    json!({
        "AllocID": e.alloc_id, "Name": e.name, "Namespace": e.namespace, "JobID": e.job_id, "Priority": e.priority,
        "NodeName": e.node_name,
    })
}

fn edit(view: &View<'_>, edit: &Edit) -> Value {
    let Words { kind, text, old, new } = words(edit, view);
    let place = (view.place)(edit);
    json!({
        "Kind": kind,
        "Text": text,
        "TaskGroup": edit.group().unwrap_or_default(),
        "Task": edit.task().unwrap_or_default(),
        "Old": old,
        "New": new,
        "InJobFile": edit.is_of_file(),
        "File": place.as_ref().map(|p| p.range.file.clone()),
        "Line": place.as_ref().map(|p| p.range.start_line),
    })
}
