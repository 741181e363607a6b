//! The state as a screen.
//!
//! [`text`]: texts in columns. `list`, `topology`, `outcome`: views. `bottom`: the last line.

mod bottom;
mod list;
mod outcome;
pub mod text;
mod topology;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::state::State;
use crate::state::log::Log;
use crate::state::overlay::{Menu, Overlay, Page};
use crate::view::{VIEWS, View};

/// Where and how something is drawn.
pub(crate) struct Canvas<'a> {
    area: Rect,
    buffer: &'a mut Buffer,
    /// Whether there are colours; whatever they say has a mark or a word as well.
    colours: bool,
}

impl Canvas<'_> {
    /// Draws a text in a row, from a column on.
    fn text(&mut self, row: u16, column: u16, text: &str, style: Style) {
        if row < self.area.height && column < self.area.width {
            let clean: String = text.chars().filter(|c| !c.is_control()).collect();
            let width = usize::from(self.area.width.saturating_sub(column));
            let (x, y) = (self.area.x.saturating_add(column), self.area.y.saturating_add(row));
            self.buffer.set_stringn(x, y, clean, width, style);
        }
    }

    /// A style with a colour, if there are colours.
    fn colour(&self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    /// The columns.
    fn width(&self) -> usize {
        usize::from(self.area.width)
    }
}

/// Draws the state on a frame.
pub fn draw(state: &State, colours: bool, frame: &mut Frame<'_>) {
    let area = frame.area();
    screen(state, colours, area, frame.buffer_mut());
}

/// Draws the state into an area.
pub fn screen(state: &State, colours: bool, area: Rect, buffer: &mut Buffer) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    let mut canvas = Canvas { area, buffer, colours };
    title(state, &mut canvas);
    match &state.overlay {
        Overlay::None if state.view == View::Topology => topology::draw(state, &mut canvas),
        Overlay::None if state.view.is_text() => outcome::draw(state, &mut canvas),
        Overlay::None => list::draw(state, &mut canvas),
        Overlay::Help(first) => {
            let page = Page { first: *first, ..Page::new("Keys", &crate::help::lines().join("\n")) };
            lines(state, &page, &mut canvas);
        }
        Overlay::Text(page) => lines(state, page, &mut canvas),
        Overlay::Menu(menu) => items(state, menu, &mut canvas),
        Overlay::Log(log) => log_lines(state, log, &mut canvas),
    }
    if area.height > 1 {
        bottom::draw(state, &mut canvas);
    }
}

fn title(state: &State, canvas: &mut Canvas<'_>) {
    let within = state.within.as_ref().map(|object| format!(" of {} {}", object.kind.word(), state.within_name));
    let count = match state.view {
        View::Topology if state.picture.loaded => state.picture.nodes.len().to_string(),
        View::Topology => "…".to_string(),
        _ if state.list.loaded => state.list.len().to_string(),
        _ => "…".to_string(),
    };
    let mut left = format!("encamp top  {}{}", state.view.name(), within.unwrap_or_default());
    if !state.view.is_text() {
        left.push_str(&format!(" ({count})"));
    }
    if state.view.has_namespaces() && state.within.is_none() {
        match &state.namespace {
            Some(name) => left.push_str(&format!("  namespace {name}")),
            None => left.push_str("  all namespaces"),
        }
    }
    let bold = Style::new().add_modifier(Modifier::BOLD);
    canvas.text(0, 0, &left, bold);
    let right = format!("{} · {}", state.source, state.connection());
    let place = canvas.width().saturating_sub(text::width(&right));
    if place > text::width(&left).saturating_add(1) {
        canvas.text(0, u16::try_from(place).unwrap_or(0), &right, Style::new());
    }
    if state.has_tabs() {
        let mut column: u16 = 0;
        for view in VIEWS {
            // The title names the view as well.
            let style = if view == state.view { bold.add_modifier(Modifier::REVERSED) } else { Style::new() };
            canvas.text(1, column, view.tab(), style);
            column = column.saturating_add(u16::try_from(view.tab().len()).unwrap_or(0)).saturating_add(1);
        }
    }
}

/// A text from its first line and column on.
pub(crate) fn lines(state: &State, page: &Page, canvas: &mut Canvas<'_>) {
    let head = state.head();
    let shown = page.lines.iter().skip(page.first).take(state.page());
    let last = page.first.saturating_add(state.page()).min(page.lines.len());
    let range = if page.lines.len() > state.page() {
        format!("  ({} to {last} of {})", page.first.saturating_add(1), page.lines.len())
    } else {
        String::new()
    };
    let title = format!("{}{range}", page.title);
    canvas.text(head.saturating_sub(1), 0, &title, Style::new().add_modifier(Modifier::UNDERLINED));
    for (row, line) in (head..).zip(shown) {
        let style = match line.trim_start().chars().next() {
            Some('+') => canvas.colour(Color::Green),
            Some('-') if line.trim_start().starts_with("- ") || line.trim_start().starts_with("-/") => {
                canvas.colour(Color::Red)
            }
            _ => Style::new(),
        };
        let visible: String = line.chars().skip(page.column).collect();
        canvas.text(row, 0, &visible, style);
    }
}

fn log_lines(state: &State, log: &Log, canvas: &mut Canvas<'_>) {
    let head = state.head();
    let followed = match (&log.ended, log.behind) {
        (Some(_), _) => "not followed",
        (None, 0) => "followed",
        (None, _) => "scrolled back; G: follow",
    };
    let title = format!("{} of task {} of {} ({followed})", log.output.name(), log.task, log.allocation.title());
    canvas.text(head.saturating_sub(1), 0, &title, Style::new().add_modifier(Modifier::UNDERLINED));
    for (row, line) in (head..).zip(log.lines.iter().skip(log.first(state.page())).take(state.page())) {
        let visible: String = line.chars().skip(log.column).collect();
        canvas.text(row, 0, &visible, Style::new());
    }
    if log.lines.is_empty() && log.ended.is_none() {
        canvas.text(head, 0, "  Nothing was written yet.", Style::new());
    }
}

fn items(state: &State, menu: &Menu, canvas: &mut Canvas<'_>) {
    let head = state.head();
    canvas.text(head.saturating_sub(1), 0, &menu.title, Style::new().add_modifier(Modifier::UNDERLINED));
    let first = menu.selected.saturating_add(1).saturating_sub(state.page());
    let shown = menu.items.iter().enumerate().skip(first).take(state.page());
    for (row, (place, (label, _))) in (head..).zip(shown) {
        let (mark, style) = if place == menu.selected {
            ("> ", Style::new().add_modifier(Modifier::REVERSED))
        } else {
            ("  ", Style::new())
        };
        canvas.text(row, 0, &format!("{mark}{label} "), style);
    }
}
