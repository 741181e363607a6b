//! The report of `what-if`.

use maud::{Markup, html};

use super::heat::Heat;
use super::map;
use super::page::{Origin, Page, Section};
use super::parts::{Columns, MOST_ROWS, code, list, name, rest, sentence, table, why};
use crate::render::values::counted;
use crate::render::what_if::{
    Problem, cause, job, places, problems, still_waiting, summary, verdict, without_successor,
};
use encamp_model::short_id;
use encamp_plan::what_if::{Cause, Displaced, Outcome, Unplaced};

/// The report about an outcome. `heat` compares the cluster before and after.
pub fn report(outcome: &Outcome, heat: &Heat, origin: &Origin, notes: &[String]) -> String {
    let (concerned, waited): (Vec<&Unplaced>, Vec<&Unplaced>) = outcome.unplaced.iter().partition(|u| !u.waited);
    let (answer, severity) = verdict(outcome, &concerned);
    let mut sections = vec![Section::new("assumed", "Assumed changes", list(&outcome.changes))];
    let mut push = |id: &str, title: &str, body: Markup| sections.push(Section::new(id, title, body));
    let problems = problems(outcome, &concerned);
    if !problems.is_empty() {
        push("problems", "Problems", by_problem(&problems));
    }
    if !concerned.is_empty() {
        push("unplaced", "Unplaced groups", unplaced(&concerned));
    }
    let preempted: Vec<&Displaced> = outcome.displaced.iter().filter(|d| d.cause == Cause::Preempted).collect();
    if !preempted.is_empty() {
        push("preemptions", "Preemptions", displaced("Preempted allocations", &preempted));
    }
    push("places", "Datacenters and node pools", by_place(outcome));
    let others: Vec<&Displaced> = outcome.displaced.iter().filter(|d| d.cause != Cause::Preempted).collect();
    if !others.is_empty() {
        push("displaced", "Displaced allocations", displaced("Allocations that are moved or stopped", &others));
    }
    if !outcome.placed.is_empty() {
        push("placements", "Placements", placements(outcome));
    }
    if !waited.is_empty() {
        push("waiting", "Waiting for capacity", waiting(&waited));
    }
    push("nodes", "Nodes before and after", map::section(heat));
    let notes: Vec<&String> = notes.iter().chain(&outcome.notes).collect();
    if !notes.is_empty() {
        push("notes", "Notes", list(&notes));
    }
    let changes = name(&outcome.changes.join(", "));
    let page = Page {
        command: "what-if",
        title: html! { "What if: " (changes) },
        plain_title: format!("What if: {changes}"),
        verdict: &answer,
        severity,
        summary: html! {
            p { (sentence(&summary(outcome))) }
            @if let Some(line) = still_waiting(&waited) { p { (line) } }
        },
        facts: Vec::new(),
        origin,
        sections,
    };
    page.document()
}

fn by_problem(problems: &[Problem<'_>]) -> Markup {
    const TITLES: Columns = Columns(&[("Job", false), ("Group", false), ("Priority", true), ("Problem", false)]);
    let rows = problems.iter().map(|p| {
        let text = html! { (sentence(&p.text())) };
        vec![code(&job(p.owner)), code(&p.owner.task_group), html! { (p.priority) }, text]
    });
    table("Groups with a problem, worst first", &TITLES, rows)
}

fn placements(outcome: &Outcome) -> Markup {
    const TITLES: Columns = Columns(&[("Allocation", false), ("Job", false), ("Node", false), ("Node ID", false)]);
    let rows = outcome.placed.iter().map(|p| {
        let (node, id) = (code(&p.on.node_name), code(short_id(&p.on.node_id)));
        vec![code(&p.name), code(&job(&p.owner)), node, id]
    });
    table("New allocations that replace none", &TITLES, rows)
}

fn waiting(groups: &[&Unplaced]) -> Markup {
    const TITLES: Columns = Columns(&[("Job", false), ("Group", false), ("Missing", true)]);
    let rows = groups.iter().map(|u| vec![code(&job(&u.owner)), code(&u.owner.task_group), html! { (u.count) }]);
    table("Groups that waited before and still do", &TITLES, rows)
}

fn unplaced(all: &[&Unplaced]) -> Markup {
    html! {
        @for u in all.iter().take(MOST_ROWS) {
            p {
                strong {
                    "Job " (code(&job(&u.owner))) ", group " (code(&u.owner.task_group)) ": "
                    (counted(u.count, "allocation", "allocations"))
                }
                " cannot be placed:"
            }
            (why(&u.metrics))
        }
        (rest(all.len().saturating_sub(MOST_ROWS)))
    }
}

/// Where allocations were, and where they go.
fn displaced(caption: &str, all: &[&Displaced]) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Allocation", false),
        ("Alloc ID", false),
        ("Job", false),
        ("Reason", false),
        ("From", false),
        ("To", false),
    ]);
    let rows = all.iter().map(|d| {
        let to = match &d.to {
            Some(to) => code(&to.node_name),
            None => html! { (without_successor(d.fate)) },
        };
        let id = code(short_id(&d.from.alloc_id));
        vec![code(&d.name), id, code(&job(&d.owner)), html! { (cause(d.cause)) }, code(&d.from.node_name), to]
    });
    table(caption, &TITLES, rows)
}

fn by_place(outcome: &Outcome) -> Markup {
    const TITLES: Columns = Columns(&[
        ("Datacenter", false),
        ("Nodes", true),
        ("Displaced", true),
        ("Unplaced", true),
        ("Received", true),
        ("CPU free", true),
        ("Memory free", true),
    ]);
    let rows = places(outcome).into_iter().map(|[place, numbers @ ..]| {
        // The text output has no arrow.
        let numbers = numbers.iter().map(|n| html! { (n.replace("->", "→")) });
        std::iter::once(code(&place)).chain(numbers).collect()
    });
    table("Allocations and free capacity of ready nodes", &TITLES, rows)
}
