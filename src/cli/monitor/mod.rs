//! Watching what became of a request (`docs/spec/cli.md §6`).
//!
//! [`evaluation`]: an evaluation until it ends, and the deployment it belongs to. [`deployment`]: a deployment until it
//! ends, as lines or, on a terminal, in place (`frame`). [`dispatched`]: a dispatched job until it is dead.

pub mod deployment;
pub mod dispatched;
pub mod evaluation;
mod frame;

use jiff::tz::TimeZone;

use super::context::clock;
use super::render::styled::{Printable, Styled};
use super::render::ui::Ui;
use super::render::values;

/// Where a monitor prints: with marks in front of the messages, or without.
pub struct Lines<'u, 'io> {
    /// The streams.
    pub ui: &'u mut Ui<'io>,
    /// The zone of times.
    pub zone: TimeZone,
    /// Whether messages have marks.
    marked: bool,
}

impl<'u, 'io> Lines<'u, 'io> {
    /// Messages as they are.
    pub fn plain(ui: &'u mut Ui<'io>, zone: TimeZone) -> Lines<'u, 'io> {
        Lines { ui, zone, marked: false }
    }

    /// Messages with `==> ` or four spaces in front of their first line.
    pub fn marked(ui: &'u mut Ui<'io>, zone: TimeZone) -> Lines<'u, 'io> {
        Lines { ui, zone, marked: true }
    }

    /// Now, as it is printed.
    pub fn now(&self) -> String {
        values::time(clock(), &self.zone)
    }

    /// News with the time in front.
    pub fn info(&mut self, text: &str) {
        let text = format!("{}: {text}", self.now());
        if self.marked { self.ui.plain(&format!("==> {text}")) } else { self.ui.info(&text) }
    }

    /// A detail with the time in front.
    pub fn detail(&mut self, text: &str) {
        let text = format!("{}: {text}", self.now());
        self.output(&text);
    }

    /// A result with tags.
    pub fn output_markup(&mut self, text: &str) {
        let text = self.ui.markup(text);
        self.output(&text);
    }

    /// A result.
    pub fn output(&mut self, text: &(impl Printable + ?Sized)) {
        let text = text.printable();
        let mark = if self.marked && !text.is_empty() { "    " } else { "" };
        self.ui.output(&Styled::from_escaped(format!("{mark}{text}")));
    }

    /// A failure.
    pub fn error(&mut self, text: &str) {
        let mark = if self.marked { "==> " } else { "" };
        self.ui.error(&format!("{mark}{text}"));
    }
}
