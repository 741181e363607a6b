//! A list.

use ratatui::style::{Color, Modifier, Style};

use super::Canvas;
use super::text::{padded, shown, width};
use crate::messages::Stream;
use crate::row::Cell;
use crate::state::State;
use crate::view::{Columns, View};

/// How many rows decide the widths of columns: those around the screen.
const MEASURED: usize = 200;

pub(super) fn draw(state: &State, canvas: &mut Canvas<'_>) {
    let head = state.head();
    let first = state.list.first(state.page());
    let widths = widths(state, first, canvas.width());
    let titles = columns(state).iter().zip(&widths).enumerate().map(|(n, ((title, _), width))| {
        let mark = match state.list.sort {
            Some((column, false)) if column == n => "^",
            Some((column, true)) if column == n => "v",
            _ => "",
        };
        if *width == 0 { String::new() } else { padded(&format!("{title}{mark}"), *width) }
    });
    let titles: String = titles.collect();
    canvas.text(head.saturating_sub(1), 0, &format!("  {titles}"), Style::new().add_modifier(Modifier::UNDERLINED));
    let rows = state.list.shown().enumerate().skip(first).take(state.page());
    for (line, (place, row)) in (head..).zip(rows) {
        let mut style = if row.attention { canvas.colour(Color::Red) } else { Style::new() };
        let selected = place == state.list.selected;
        if selected {
            style = style.add_modifier(Modifier::REVERSED);
        }
        // Without colours and on terminals that reverse nothing, the selected row has a mark.
        let mark = match (selected, row.attention) {
            (true, true) => ">!",
            (true, false) => "> ",
            (false, true) => "! ",
            (false, false) => "  ",
        };
        let assumed = state.what_if.marks.get(&row.object.id).filter(|_| state.view == View::Nodes);
        let assumed = assumed.map(|(assumed, _)| Cell::Text(assumed.word().to_string()));
        let values = row.cells.iter().chain(&assumed).zip(&widths).filter(|(_, width)| **width > 0);
        let values: String = values.map(|(cell, width)| padded(&shown(cell, state.now), *width)).collect();
        canvas.text(line, 0, &padded(&format!("{mark}{values}"), canvas.width().saturating_add(1)), style);
    }
    if state.list.is_empty() && (state.list.loaded || state.view == View::Events) {
        canvas.text(head, 0, &format!("  {}", empty(state)), Style::new());
    } else if !state.list.loaded && state.error.is_none() {
        canvas.text(head, 0, "  Reading…", Style::new());
    }
}

/// What is said about an empty list.
fn empty(state: &State) -> String {
    if !state.list.filter.is_empty() {
        return format!("No row contains \"{}\". Esc removes the filter.", state.list.filter);
    }
    match (state.view, state.live, &state.stream) {
        (View::Events, false, _) => "A file has no events: they come from a running cluster.".to_string(),
        (View::Events, true, Stream::Lost(why)) => format!("There are no events: {why}"),
        (View::Events, true, _) => "No event has happened since the start.".to_string(),
        (View::Queues, false, _) => "No evaluation is pending or blocked. A file has no queues of its own.".to_string(),
        _ => "There are none.".to_string(),
    }
}

/// The columns. That of what is assumed about nodes is empty, and left out, unless something is assumed.
fn columns(state: &State) -> Columns {
    let all = state.view.columns();
    match all.split_last() {
        Some((_, others)) if state.view == View::Nodes && state.what_if.marks.is_empty() => others,
        _ => all,
    }
}

/// Widths of the columns: as wide as their values while the screen has space, with a blank behind each. Columns that do
/// not fit on a narrow screen are left out from the right.
fn widths(state: &State, first: usize, all: usize) -> Vec<usize> {
    let columns = columns(state);
    let values: Vec<Vec<usize>> = {
        let rows = state.list.shown().skip(first.saturating_sub(MEASURED / 2)).take(MEASURED);
        rows.map(|row| row.cells.iter().map(|cell: &Cell| width(&shown(cell, state.now))).collect()).collect()
    };
    let widest = |n: usize| values.iter().filter_map(|row| row.get(n)).max().copied().unwrap_or(0);
    // A title has a mark of the order behind it.
    let least = |n: usize, (title, least): (&str, usize)| widest(n).min(least).max(title.len()).saturating_add(1);
    let mut left = all.saturating_sub(2);
    let mut widths = Vec::new();
    for (n, column) in columns.iter().enumerate() {
        let least = least(n, *column).min(if n == 0 { left } else { usize::MAX });
        let fits = least <= left && !widths.contains(&0);
        widths.push(if fits { least } else { 0 });
        left = left.saturating_sub(if fits { least } else { 0 });
    }
    for (n, given) in widths.iter_mut().enumerate().filter(|(_, given)| **given > 0) {
        let more = widest(n).saturating_add(2).saturating_sub(*given).min(left);
        *given = given.saturating_add(more);
        left = left.saturating_sub(more);
    }
    widths
}
