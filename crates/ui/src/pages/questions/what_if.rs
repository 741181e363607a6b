//! What happens if nodes are lost, drained or added, and jobs scaled or stopped.

use std::collections::BTreeSet;

use encamp_model::AllocMetric;
use maud::{Markup, html};
use serde::Deserialize;

use super::ask::{self, Question, table, values};
use crate::error::PageError;
use crate::layout::Page;
use crate::parts::command::{Command, answer};
use crate::parts::state::{Tone, verdict};
use crate::parts::{form, link, plural, why};
use crate::visit::Visit;

pub(crate) const QUESTION: Question = Question {
    path: "/ui/questions/what-if",
    title: "What if nodes or jobs change?",
    about: "Simulate lost, drained and added nodes, scaled and stopped jobs: what moves, what is preempted, and what \
            cannot be placed any more. Nothing is changed.",
};

/// The fields: names of flags, labels, examples.
const FIELDS: [(&str, &str, &str); 6] = [
    ("down", "Nodes that are lost", "node, dc=NAME, class=NAME, pool=NAME"),
    ("drain", "Nodes that are drained", "node, dc=NAME, class=NAME, pool=NAME"),
    ("add", "Nodes that are added", "2:like=NODE"),
    ("scale", "Counts of groups", "JOB/GROUP=5"),
    ("stop", "Jobs that are stopped", "JOB or JOB@NAMESPACE"),
    ("config", "Settings of the scheduler", "scheduler_algorithm=spread"),
];

/// The changes as fields of a form.
pub(crate) fn fields(visit: &Visit) -> Markup {
    html! {
        div.fields { @for (name, label, hint) in FIELDS { (form::lines(name, label, &values(visit, name), hint)) } }
        p.muted { "One value per line." }
    }
}

/// A command with the changes as flags, and whether there are any.
pub(crate) fn flags(visit: &Visit, command: Command) -> (Command, bool) {
    FIELDS.iter().fold((command, false), |(command, any), (name, ..)| {
        let values = values(visit, name);
        (command.flags(name, &values), any || !values.is_empty())
    })
}

/// `/ui/questions/what-if`
pub(crate) async fn page(visit: &Visit) -> Result<Page, PageError> {
    let (command, any) = flags(visit, Command::new(&["what-if"]));
    let command = any.then(|| command.quiet("-json"));
    ask::page(visit, &QUESTION, &fields(visit), command, answer).await
}

answer! {
    /// The answer of `what-if -json`.
    pub(crate) struct Outcome {
        changes: Vec<String>, displaced: Vec<Displaced>, placed: Vec<Placed>, unplaced: Vec<Unplaced>,
        headroom: Vec<Nodes>, datacenters: Vec<Nodes>, notes: Vec<String>,
    }

    struct Displaced {
        namespace: String, job_id = "JobID": String, name: String, from: Place, cause: Cause, fate: Fate,
        to: Option<Place>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Cause {
    Drained,
    Lost,
    Preempted,
    Migrated,
    Updated,
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fate {
    Moved,
    Unplaced,
    Stopped,
    Stays,
}

answer! {
    struct Place { alloc_id = "AllocID": String, node_id = "NodeID": String, node_name: String }

    struct Placed { namespace: String, job_id = "JobID": String, name: String, on: Place }

    /// Allocations of a group that cannot be placed.
    pub(crate) struct Unplaced {
        namespace: String, job_id = "JobID": String, task_group: String, count: u64, priority: i64, waited: bool,
        metrics: AllocMetric,
    }

    /// A datacenter or a pool, before and after.
    struct Nodes {
        #[serde(alias = "Datacenter", alias = "Pool")] name: String, before: Capacity, after: Capacity,
        displaced: u64, unplaced: u64, received: u64,
    }

    struct Capacity {
        nodes: u64, cpu = "CPU": i64, cpu_free = "CPUFree": i64, memory = "MemoryMB": i64,
        memory_free = "MemoryFreeMB": i64,
    }
}

/// The outcome: the verdict first.
pub(crate) fn answer(_: &Visit, outcome: &Outcome) -> Markup {
    html! {
        (sentence(outcome))
        h3 { "Changes" }
        (ask::notes(&outcome.changes))
        (ask::notes(&outcome.notes))
        @if !outcome.unplaced.is_empty() { (unplaced(&outcome.unplaced)) }
        (areas("Datacenters", &outcome.datacenters))
        (areas("Node pools", &outcome.headroom))
        (moves(&outcome.displaced))
        @if !outcome.placed.is_empty() {
            (table("New allocations", &["Allocation", "Job", "Node"], &outcome.placed, "", |p| vec![
                html! { (p.name) }, link::job(&p.namespace, &p.job_id), link::client(&p.on.node_id, &p.on.node_name),
            ]))
        }
    }
}

fn sentence(outcome: &Outcome) -> Markup {
    let new: Vec<&Unplaced> = outcome.unplaced.iter().filter(|u| !u.waited).collect();
    let missing: u64 = new.iter().map(|u| u.count).sum();
    let jobs: BTreeSet<_> = new.iter().map(|u| (&u.namespace, &u.job_id)).collect();
    let moved = outcome.displaced.iter().filter(|d| d.fate == Fate::Moved).count();
    let preempted = outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).count();
    if missing > 0 {
        let text = format!("{} of {} would be unplaced.", plural(missing, "allocation"), plural(jobs.len(), "job"));
        return verdict(Tone::Bad, &text);
    }
    let all = format!("Every affected allocation is placed: {} would move", plural(moved, "allocation"));
    match preempted {
        0 => verdict(Tone::Good, &format!("{all}.")),
        n => verdict(Tone::Warning, &format!("{all}, and {} would be preempted.", plural(n, "allocation"))),
    }
}

/// Groups that lack capacity, with the reasons.
pub(crate) fn unplaced(unplaced: &[Unplaced]) -> Markup {
    table("Unplaced", &["Job", "Group", "Priority#", "Unplaced#", "Why"], unplaced, "", |u| {
        vec![
            link::job(&u.namespace, &u.job_id),
            html! { (u.task_group) },
            html! { (u.priority) },
            html! { (u.count) @if u.waited { " (waited before)" } },
            html! { (why::summary(&u.metrics)) },
        ]
    })
}

fn areas(caption: &'static str, areas: &[Nodes]) -> Markup {
    let columns = ["Name", "Nodes#", "Displaced#", "Unplaced#", "Received#", "CPU free#", "Memory free#"];
    table(caption, &columns, areas, "There are none.", |a| {
        let (before, after) = (&a.before, &a.after);
        vec![
            html! { (a.name) },
            html! { (change(&before.nodes.to_string(), &after.nodes.to_string())) },
            html! { (a.displaced) },
            html! { (a.unplaced) },
            html! { (a.received) },
            html! { (change(&share(before.cpu_free, before.cpu), &share(after.cpu_free, after.cpu))) },
            html! { (change(&share(before.memory_free, before.memory), &share(after.memory_free, after.memory))) },
        ]
    })
}

fn share(free: i64, of: i64) -> String {
    if of > 0 { format!("{}%", crate::parts::meter::percent(free, of)) } else { "-".into() }
}

fn change(before: &str, after: &str) -> String {
    if before == after { before.to_string() } else { format!("{before} → {after}") }
}

fn moves(displaced: &[Displaced]) -> Markup {
    let columns = ["Allocation", "Job", "Why", "From", "To"];
    table("Displaced allocations", &columns, displaced, "No allocation is displaced.", |d| {
        let why = match d.cause {
            Cause::Drained => "drained",
            Cause::Lost => "node lost",
            Cause::Preempted => "preempted",
            Cause::Migrated => "migrated",
            Cause::Updated => "updated",
            Cause::Stopped => "stopped",
        };
        let to = match (&d.to, d.fate) {
            (Some(to), _) => link::client(&to.node_id, &to.node_name),
            (None, Fate::Unplaced) => html! { span.alarm { "unplaced" } },
            (None, Fate::Stays) => html! { "stays" },
            (None, Fate::Moved | Fate::Stopped) => html! { "stopped" },
        };
        vec![
            html! { a href=(link::allocation_address(&d.from.alloc_id)) { (d.name) } },
            link::job(&d.namespace, &d.job_id),
            html! { (why) },
            link::client(&d.from.node_id, &d.from.node_name),
            to,
        ]
    })
}
