//! The report of `rebalance`.

use maud::{Markup, html};

use super::heat::Heat;
use super::map;
use super::page::{Origin, Page, Section};
use super::parts::{Columns, code, list, name, sentence, table};
use crate::render::rebalance::{ANY_NODE, View, areas, figures, goal, moves, remarks, steps, verdict};

/// The report about a plan. `heat` compares the cluster before and after.
pub fn report(view: View<'_>, heat: &Heat, origin: &Origin, notes: &[String]) -> String {
    let plan = view.plan;
    let (answer, severity) = verdict(view);
    let mut sections = Vec::new();
    let mut push = |id: &str, title: &str, body: Markup| sections.push(Section::new(id, title, body));
    if !plan.missing.is_empty() {
        push("missing", "What is missing", list(&plan.missing));
    }
    if !plan.steps.is_empty() {
        push("moves", "Moves", moves_table(view));
        const STEPS: Columns = Columns(&[
            ("Step", true),
            ("Moves", true),
            ("Marks ineligible", false),
            ("Marks eligible", false),
            ("At least", true),
        ]);
        let rows = steps(plan);
        push("steps", "Steps", table("Steps, in order", &STEPS, rows.iter().map(|row| cells(row, &[2, 3]))));
        const AREAS: Columns = Columns(&[
            ("Pool", false),
            ("Datacenter", false),
            ("Nodes", true),
            ("Empty", true),
            ("CPU", true),
            ("CPU max", true),
            ("Memory", true),
            ("Memory max", true),
        ]);
        let rows = areas(plan);
        let before_after = html! {
            (table("Ready nodes by pool and datacenter", &AREAS, rows.iter().map(|row| cells(row, &[0, 1]))))
            (list(&figures(plan)))
        };
        push("figures", "Before and after", before_after);
    }
    push("nodes", "Nodes before and after", map::section(heat));
    if !notes.is_empty() {
        push("notes", "Notes", list(notes));
    }
    let title = goal(view.request);
    let page = Page {
        command: "rebalance",
        title: html! { "Rebalance to " (name(&title)) },
        plain_title: format!("Rebalance to {}", name(&title)),
        verdict: &answer,
        severity,
        summary: html! { @for line in remarks(plan) { p { (sentence(&line)) } } },
        facts: Vec::new(),
        origin,
        sections,
    };
    page.document()
}

fn moves_table(view: View<'_>) -> Markup {
    const MOVES: Columns = Columns(&[("Step", true), ("Allocation", false), ("From", false), ("To", false)]);
    let rows = moves(view.plan);
    html! {
        (table("Allocations and where they go", &MOVES, rows.iter().map(|row| cells(row, &[1, 2, 3]))))
        p.muted { (ANY_NODE) }
    }
}

/// The cells of a row: names in the given columns, numbers in the others.
fn cells<const N: usize>(row: &[String; N], names: &[usize]) -> Vec<Markup> {
    let cell = |(n, text): (usize, &String)| {
        // The text output has no arrow.
        if names.contains(&n) {
            code(text)
        } else {
            html! { (text.replace("->", "→")) }
        }
    };
    row.iter().enumerate().map(cell).collect()
}
