//! The last line: what is asked for, said, or possible.

use ratatui::style::{Color, Modifier, Style};

use super::Canvas;
use crate::row::Kind;
use crate::state::State;
use crate::state::overlay::Overlay;
use crate::state::prompt::Prompt;
use crate::view::View;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>) {
    let (text, style) = line(state, canvas);
    // The end of what is typed stays visible.
    let typed =
        matches!(state.prompt, Prompt::Filter | Prompt::Command(_) | Prompt::Count { .. } | Prompt::Exec { .. });
    let cut = if typed { super::text::width(&text).saturating_sub(canvas.width()) } else { 0 };
    let text: String = text.chars().skip(cut).collect();
    canvas.text(canvas.area.height.saturating_sub(1), 0, &text, style);
}

fn line(state: &State, canvas: &Canvas<'_>) -> (String, Style) {
    let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
    let error = canvas.colour(Color::Red).add_modifier(Modifier::BOLD);
    match &state.prompt {
        Prompt::Filter => return (format!("/{}_", state.list.filter), bold),
        Prompt::Command(typed) => return (format!(":{typed}_"), bold),
        Prompt::Count { job, group, from, typed } => {
            return (format!("Count of group {group} of job {} (now {from}): {typed}_", job.id), bold);
        }
        Prompt::Exec { task, typed, .. } => return (format!("Command in task {task}: {typed}_"), bold),
        Prompt::Question(act) => {
            return (act.question(), canvas.colour(Color::Yellow).add_modifier(Modifier::REVERSED));
        }
        Prompt::None => {}
    }
    if let Some(note) = &state.note {
        return (note.text.clone(), if note.is_error { error } else { bold });
    }
    match &state.overlay {
        Overlay::Help(_) => ("Esc: back  j k: scroll".to_string(), plain),
        Overlay::Text(_) => ("Esc: back  j k h l: scroll  g G: top, end".to_string(), plain),
        Overlay::Log(log) => match &log.ended {
            Some(why) => (why.clone(), bold),
            None => ("Esc: back  o: stdout or stderr  j k: scroll  G: follow".to_string(), plain),
        },
        Overlay::Menu(_) => ("Enter: choose  Esc: back".to_string(), plain),
        Overlay::None => match &state.error {
            Some(text) => (format!("Error: {}", text.lines().next().unwrap_or_default()), error),
            None if !state.list.filter.is_empty() => (format!("Filter: {}  Esc: remove it", state.list.filter), plain),
            None => (hints(state, canvas.width()), plain),
        },
    }
}

/// The most useful keys, as many as the line has space for. `?` and `q` come first: they lead to all others and out.
fn hints(state: &State, width: usize) -> String {
    let mut hints = vec!["?: help", "q: quit", ": view"];
    match state.view {
        View::Plan if state.plan.register.is_some() => hints.extend(["W: register", "t: topology", "o: file"]),
        View::Plan => hints.extend(["o: file", "r: plan again", "t: topology"]),
        View::WhatIf => hints.extend(["w: simulate", "n: nodes", "t: topology", "M: remove marks"]),
        View::Nodes | View::Topology if !state.what_if.marks.is_empty() => hints.extend(["w: what if", "m: mark"]),
        View::Topology => hints.push("m: mark for what-if"),
        _ => {}
    }
    if let Some((object, facts)) = state.selected() {
        let kind = object.kind;
        match kind {
            Kind::Job | Kind::Node | Kind::Deployment if state.view != View::Events => hints.push("Enter: allocs"),
            Kind::Other => {}
            _ => hints.push("Enter: about"),
        }
        if !state.offers(object, facts).is_empty() {
            hints.push("a: actions");
        }
        if matches!(kind, Kind::Job | Kind::Evaluation) {
            hints.push("e: explain");
        }
        if state.live && kind == Kind::Allocation && state.view != View::Events {
            hints.extend(["l: logs", "x: exec"]);
        }
        if kind != Kind::Other {
            hints.push("d: describe");
        }
    }
    if state.view != View::Topology && !state.view.is_text() {
        hints.push("/: filter");
    }
    if state.view == View::Nodes && state.what_if.marks.is_empty() {
        hints.push("m: what-if");
    }
    let mut out = String::new();
    for hint in hints {
        if out.len().saturating_add(hint.len()) <= width {
            out.push_str(hint);
            out.push_str("  ");
        }
    }
    out
}
