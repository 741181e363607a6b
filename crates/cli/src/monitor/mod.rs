//! Monitoring evaluations and deployments (`docs/spec/cli.md §6`).
//!
//! [`evaluation`]: an evaluation until it ends, and the deployment it belongs to. [`deployment`]: a deployment until it
//! ends, as lines or, on a terminal, in place (`frame`). [`dispatched`]: a dispatched job until it is dead. [`volume`]: a
//! dynamic host volume until it is ready.

pub mod deployment;
pub mod dispatched;
pub mod evaluation;
mod frame;
pub mod volume;

use jiff::tz::TimeZone;

use super::context::clock;
use super::render::styled::{Printable, Styled};
use super::render::ui::Ui;
use super::render::values;

/// The output of a monitor: with or without marks before the messages.
pub struct Lines<'u, 'io> {
    /// The streams.
    pub ui: &'u mut Ui<'io>,
    /// The zone of times.
    pub zone: TimeZone,
    /// Whether messages have marks.
    marked: bool,
}

impl<'u, 'io> Lines<'u, 'io> {
    /// Output without marks.
    pub fn plain(ui: &'u mut Ui<'io>, zone: TimeZone) -> Lines<'u, 'io> {
        Lines { ui, zone, marked: false }
    }

    /// Output with `==> ` or four spaces before the first line of each message.
    pub fn marked(ui: &'u mut Ui<'io>, zone: TimeZone) -> Lines<'u, 'io> {
        Lines { ui, zone, marked: true }
    }

    /// The current time, formatted.
    pub fn now(&self) -> String {
        values::time(clock(), &self.zone)
    }

    /// Prints a message after the current time.
    pub fn info(&mut self, text: &str) {
        let text = format!("{}: {text}", self.now());
        if self.marked { self.ui.plain(&format!("==> {text}")) } else { self.ui.info(&text) }
    }

    /// Prints a detail after the current time.
    pub fn detail(&mut self, text: &str) {
        let text = format!("{}: {text}", self.now());
        self.output(&text);
    }

    /// Prints a result that contains tags.
    pub fn output_markup(&mut self, text: &str) {
        let text = self.ui.markup(text);
        self.output(&text);
    }

    /// Prints a result.
    pub fn output(&mut self, text: &(impl Printable + ?Sized)) {
        let text = text.printable();
        let mark = if self.marked && !text.is_empty() { "    " } else { "" };
        self.ui.output(&Styled::from_escaped(format!("{mark}{text}")));
    }

    /// Prints an error.
    pub fn error(&mut self, text: &str) {
        let mark = if self.marked { "==> " } else { "" };
        self.ui.error(&format!("{mark}{text}"));
    }
}
