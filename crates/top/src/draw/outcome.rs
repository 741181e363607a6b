//! Plans and simulations: what is assumed, and the outcome.

use ratatui::style::Style;

use super::{Canvas, lines};
use crate::state::State;
use crate::view::View;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>) {
    let (page, running) = match state.view {
        View::Plan => (&state.plan.page, state.plan.running),
        _ => (&state.what_if.page, state.what_if.running),
    };
    match page {
        Some(page) => lines(state, page, canvas),
        None => {
            let head = state.head();
            let told =
                if state.view == View::Plan { about_plan(state, running) } else { about_simulation(state, running) };
            for (row, line) in (head..).zip(told) {
                canvas.text(row, 0, &format!("  {line}"), Style::new());
            }
        }
    }
}

fn about_plan(state: &State, running: bool) -> Vec<String> {
    if running {
        return vec![format!("Planning {}…", state.plan.name())];
    }
    let texts = [
        "No job file is planned.",
        "",
        "o               choose a job file",
        ":plan FILE      plan a job file; flags come before it: :plan -var=name=value FILE",
    ];
    texts.map(String::from).to_vec()
}

fn about_simulation(state: &State, running: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if state.what_if.marks.is_empty() {
        lines.push("Nothing is assumed about any node.".to_string());
    }
    for (assumed, name) in state.what_if.marks.values() {
        lines.push(format!("{name}: {}", assumed.word()));
    }
    lines.push(String::new());
    if running {
        lines.push("Simulating…".to_string());
    } else {
        let texts = [
            "n               list the nodes; t: the topology",
            "m               assume that the selected node is down; again: drained; again: neither",
            "w               what happens then: what moves, and what cannot be placed",
        ];
        lines.extend(texts.map(String::from));
    }
    lines
}
