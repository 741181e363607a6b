//! The state as a screen.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::model::{HEAD, KEYS, Mode, State};
use crate::view::{Cell, Row};

/// Draws the state on a whole frame. `colours`: whether rows that need attention are red; they have a mark as well.
pub fn draw(state: &State, colours: bool, frame: &mut Frame<'_>) {
    let area = frame.area();
    screen(state, colours, area, frame.buffer_mut());
}

/// How many rows of a list a screen of this height shows.
pub fn page(height: u16) -> usize {
    usize::from(height.saturating_sub(HEAD).saturating_sub(1)).max(1)
}

/// Draws the state into an area.
pub fn screen(state: &State, colours: bool, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    let within = state.within.as_ref().map(|(_, value)| format!(" of {value}")).unwrap_or_default();
    let count = if state.loaded { state.shown.len().to_string() } else { "…".to_string() };
    let title = format!("encamp top  {}{within} ({count})  {}", state.view.name(), state.source);
    line(buffer, area, 0, &title, Style::new().add_modifier(Modifier::BOLD));
    match &state.mode {
        Mode::Help => {
            for (n, (keys, meaning)) in (1..).zip(KEYS) {
                line(buffer, area, n, &format!("  {keys:<32}{meaning}"), Style::new());
            }
        }
        Mode::Text(lines, first) => {
            let room = usize::from(area.height.saturating_sub(2));
            for (n, text) in (1..).zip(lines.iter().skip(*first).take(room)) {
                line(buffer, area, n, text, Style::new());
            }
        }
        Mode::List | Mode::Filter | Mode::Command(_) => list(state, colours, area, buffer),
    }
    line(buffer, area, area.height.saturating_sub(1), &bottom(state), Style::new());
}

fn bottom(state: &State) -> String {
    match &state.mode {
        Mode::Filter => format!("/{}_", state.filter),
        Mode::Command(typed) => format!(":{typed}_"),
        Mode::Help | Mode::Text(..) => "Esc: back".to_string(),
        Mode::List => match &state.error {
            Some(error) => format!("Error: {}", error.lines().next().unwrap_or_default()),
            None if !state.filter.is_empty() => format!("Filter: {}  Esc: remove it", state.filter),
            None => "?: help  /: filter  : view  Enter: open  d: describe  q: quit".to_string(),
        },
    }
}

fn list(state: &State, colours: bool, area: Rect, buffer: &mut Buffer) {
    let widths = widths(state, usize::from(area.width));
    let titles = state.view.columns().iter().zip(&widths).enumerate().map(|(n, ((title, _), width))| {
        let mark = match state.sort {
            Some((column, false)) if column == n => "^",
            Some((column, true)) if column == n => "v",
            _ => "",
        };
        padded(&format!("{title}{mark}"), *width)
    });
    let titles: String = titles.collect();
    line(buffer, area, 1, &format!("  {titles}"), Style::new().add_modifier(Modifier::DIM));
    let rows = state.shown.iter().enumerate().skip(state.first()).take(page(area.height));
    for (n, (place, row)) in (HEAD..).zip(rows) {
        let mut style = Style::new();
        if row.attention && colours {
            style = style.fg(Color::Red);
        }
        if place == state.selected {
            style = style.add_modifier(Modifier::REVERSED);
        }
        let mark = if row.attention { "! " } else { "  " };
        let values = row.cells.iter().zip(&widths).map(|(cell, width)| padded(&shown(cell, state.now), *width));
        let values: String = values.collect();
        line(buffer, area, n, &format!("{mark}{values}"), style);
    }
    if state.loaded && state.shown.is_empty() {
        line(buffer, area, HEAD, "  There are none.", Style::new());
    }
}

/// Widths of the columns: as wide as their values while the screen has room, with a blank behind each.
fn widths(state: &State, width: usize) -> Vec<usize> {
    let columns = state.view.columns();
    let mut left = width.saturating_sub(2);
    let smallest: usize = columns.iter().map(|(_, least)| least.saturating_add(1)).sum();
    left = left.saturating_sub(smallest);
    let widest = |n: usize| {
        let values = state.shown.iter().filter_map(|row: &Row| row.cells.get(n));
        values.map(|cell| unicode_width::UnicodeWidthStr::width(shown(cell, state.now).as_str())).max().unwrap_or(0)
    };
    let grown = columns.iter().enumerate().map(|(n, (_, least))| {
        let more = widest(n).saturating_sub(*least).min(left);
        left = left.saturating_sub(more);
        least.saturating_add(more).saturating_add(1)
    });
    grown.collect()
}

/// A text cut or filled to a width in columns; the last is a blank.
fn padded(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used: usize = 0;
    for c in text.chars().filter(|c| !c.is_control()) {
        let columns = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used.saturating_add(columns) >= width {
            break;
        }
        used = used.saturating_add(columns);
        out.push(c);
    }
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    out
}

/// A value as it is shown; moments are relative.
fn shown(cell: &Cell, now: i64) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => number.to_string(),
        Cell::Time(0) => "-".to_string(),
        Cell::Time(at) => {
            let seconds = now.saturating_sub(*at).max(0).checked_div(1_000_000_000).unwrap_or(0);
            match seconds {
                0..60 => format!("{seconds}s ago"),
                60..3600 => format!("{}m ago", seconds / 60),
                3600..86400 => format!("{}h ago", seconds / 3600),
                _ => format!("{}d ago", seconds / 86400),
            }
        }
    }
}

fn line(buffer: &mut Buffer, area: Rect, row: u16, text: &str, style: Style) {
    if row < area.height {
        let clean: String = text.chars().filter(|c| !c.is_control()).collect();
        buffer.set_stringn(area.x, area.y.saturating_add(row), clean, usize::from(area.width), style);
    }
}
