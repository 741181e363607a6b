//! Suggestions: the edits with which a job that does not fit is placed, as a table and as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::styled::{Styled, TaggedText};
use super::table::{Form, cell, headed, table};
use super::values::{counted, time};
use encamp_jobspec::explain::Place;
use encamp_model::{JobType, quoted};
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
    /// The place of an edit in the job file, if there is a file.
    pub place: &'a dyn Fn(&Edit) -> Option<Place>,
    /// The time zone of the output.
    pub zone: &'a jiff::tz::TimeZone,
}

/// An edit in words.
struct Words {
    kind: &'static str,
    what: String,
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
    out.tags("with each of these, everything is placed; the cheapest comes first, and each was planned again\n\n");
    let shown = found.list.get(..most.min(found.list.len())).unwrap_or_default();
    let rows = shown.iter().enumerate().flat_map(|(at, s)| rows(view, at + 1, s));
    let lines = headed("#|Edit|Now|Then|Where|Cost|Places|Evicts", rows);
    out.styled(&Styled::from(table(&lines, Form::Spaced)));
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
        let Words { what, old, new, .. } = words(edit, view.zone);
        let place = match (view.place)(edit) {
            Some(place) => format!("{}:{}", place.range.file, place.range.start_line),
            None if edit.is_of_file() => String::new(),
            None => "the cluster".into(),
        };
        let (number, rest) = match at {
            0 => (number.to_string(), format!("{:.1}|{}|{}", s.cost, s.placed, evicted_jobs(&s.evicted))),
            _ => ("+".into(), String::new()),
        };
        let cells = [&number, &what, &old, &new, &place].map(|text| cell(text));
        format!("{}|{rest}", cells.join("|"))
    };
    s.edits.iter().enumerate().map(row).collect()
}

/// How many allocations are evicted, and of which jobs.
fn evicted_jobs(evicted: &[Evicted]) -> String {
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

/// The name of the part of a job that an edit is about.
fn owner(edit: &Edit) -> String {
    match (edit.group(), edit.task()) {
        (Some(group), Some(task)) => format!(" of task {} in group {}", quoted(task), quoted(group)),
        (Some(group), None) => format!(" of group {}", quoted(group)),
        (None, _) => " of the job".into(),
    }
}

fn words(edit: &Edit, zone: &jiff::tz::TimeZone) -> Words {
    let of = owner(edit);
    let words = |kind, what: String, old: String, new: String| Words { kind, what, old, new };
    let numbers = |kind, what: String, old: &i64, new: &i64| words(kind, what, old.to_string(), new.to_string());
    match edit {
        Edit::Task { amount, old, new, .. } => {
            let unit = if amount.unit().is_empty() { String::new() } else { format!(", {}", amount.unit()) };
            numbers(amount.name(), format!("{}{of}{unit}", amount.name()), old, new)
        }
        Edit::Device { name, old, new, .. } => numbers("device", format!("count of device {name}{of}"), old, new),
        Edit::Disk { old, new, .. } => numbers("disk", format!("ephemeral disk{of}, MB"), old, new),
        Edit::Count { old, new, .. } => numbers("count", format!("count{of}"), old, new),
        Edit::Port { label, old, .. } => {
            words("port", format!("static port {}{of}", quoted(label)), old.to_string(), "dynamic".into())
        }
        Edit::DropConstraint { text, nodes, .. } => {
            let gain = if *nodes > 0 { format!(" (adds {})", counted(*nodes, "node", "nodes")) } else { String::new() };
            words("constraint", format!("constraint{of}{gain}"), text.clone(), "removed".into())
        }
        Edit::ConstraintValue { text, old, new, .. } => {
            let old = if old.is_empty() { "1" } else { old };
            words("constraint-value", format!("constraint {text}{of}"), old.into(), new.clone())
        }
        Edit::Datacenter { old, new, nodes } => {
            let what = format!("datacenters (adds {})", counted(*nodes, "node", "nodes"));
            words("datacenter", what, old.join(", "), format!("{}, {new}", old.join(", ")))
        }
        Edit::Pool { old, new, nodes } => {
            words("pool", format!("node pool (has {})", counted(*nodes, "node", "nodes")), old.clone(), new.clone())
        }
        Edit::Canaries { old, new, .. } => numbers("canary", format!("canaries of an update{of}"), old, new),
        Edit::Parallel { old, new, .. } => numbers("max-parallel", format!("max_parallel of an update{of}"), old, new),
        Edit::Priority { old, new } => numbers("priority", "priority of the job".into(), old, new),
        Edit::Preemption { job_type } => preemption(job_type),
        Edit::AddNodes { count, like, class, pool } => {
            let class = if class.is_empty() { String::new() } else { format!(" of class {}", quoted(class)) };
            let what = format!("nodes{class} in pool {}, like {like}", quoted(pool));
            words("nodes", what, "0".into(), format!("+{count}"))
        }
        Edit::Wait { until, ends, last } => {
            let what = format!(
                "wait until {} (max_run_duration), last {last}",
                counted(ends.len(), "batch allocation ends", "batch allocations end")
            );
            words("wait", what, String::new(), time(*until, zone))
        }
    }
}

fn preemption(job_type: &JobType) -> Words {
    let what = format!("scheduler setting {}", preemption_setting(job_type));
    Words { kind: "preemption", what, old: "false".into(), new: "true".into() }
}

/// The suggestions as JSON (`docs/reference/suggestions.schema.json`).
pub fn value(view: &View<'_>) -> Value {
    let suggestion = |(at, s): (usize, &Suggestion)| {
        json!({
            "Number": at + 1,
            "Cost": (s.cost * 10.0).round() / 10.0,
            "Placed": s.placed,
            "Evicted": s.evicted.iter().map(evicted).collect::<Vec<_>>(),
            "Edits": s.edits.iter().map(|edit| self::edit(view, edit)).collect::<Vec<_>>(),
        })
    };
    json!({
        "SchemaVersion": SCHEMA_VERSION,
        "Unplaced": view.found.unplaced,
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
    let Words { kind, what, old, new } = words(edit, view.zone);
    let place = (view.place)(edit);
    json!({
        "Kind": kind,
        "Text": what,
        "TaskGroup": edit.group().unwrap_or_default(),
        "Task": edit.task().unwrap_or_default(),
        "Old": old,
        "New": new,
        "InJobFile": edit.is_of_file(),
        "File": place.as_ref().map(|p| p.range.file.clone()),
        "Line": place.as_ref().map(|p| p.range.start_line),
    })
}
