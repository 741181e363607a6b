//! Output channels, and when they have colours (`docs/spec/cli.md §3.1`).

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use owo_colors::Style;

use super::markup::reset;
use super::page::Pager;
use super::styled::{Printable, Styled};
use super::wrap::fitted;
use crate::terminal::Terminal;

/// The input of the decision about colours.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColourInput<'a> {
    /// Whether standard output is a terminal.
    pub terminal: bool,
    /// `-no-color` is among the arguments, or `NOMAD_CLI_NO_COLOR` is set.
    pub disabled: bool,
    /// `-force-color` is among the arguments, or `NOMAD_CLI_FORCE_COLOR` is set.
    pub forced: bool,
    /// `NO_COLOR` is set.
    pub no_color: bool,
    /// The value of `TERM`.
    pub term: Option<&'a str>,
}

/// Which of the two kinds of colours are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Colours {
    /// Tags in texts become escape sequences.
    pub markup: bool,
    /// Messages are wrapped in the colour of their channel.
    pub channels: bool,
}

impl ColourInput<'_> {
    /// Whether escape sequences may be printed without being asked for.
    pub fn escapes_welcome(self) -> bool {
        !self.no_color && self.term != Some("dumb")
    }

    /// The decision.
    pub fn decide(self) -> Colours {
        let markup = !self.disabled && (self.forced || (self.terminal && self.escapes_welcome()));
        let channels = markup && self.terminal && self.escapes_welcome();
        Colours { markup, channels }
    }
}

/// What a message is, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Channel {
    Output,
    Info,
    Warning,
    Error,
}

impl Channel {
    /// The escape sequences before and after a message. Output is in the terminal's own colour.
    fn around(self) -> (String, String) {
        let style = match self {
            Channel::Output => None,
            Channel::Info => Some(Style::new().bright_green()),
            Channel::Warning => Some(Style::new().bright_yellow()),
            Channel::Error => Some(Style::new().bright_red()),
        };
        let reset = reset().to_string();
        let on = style.map_or_else(|| reset.clone(), |style| style.prefix_formatter().to_string());
        (on, reset)
    }
}

/// Where messages go. Control characters in them are escaped ([`Styled`]). A failure to write is remembered and
/// reported once, by [`Ui::finish`].
pub struct Ui<'a> {
    out: &'a mut dyn Write,
    err: &'a mut dyn Write,
    colours: Colours,
    stdout_is_terminal: bool,
    redraws: bool,
    terminal: Terminal,
    /// The columns of the terminal that standard error is; `None`: it is none.
    error_width: Option<usize>,
    pager: Option<Pager>,
    /// The output that waits for the pager; `None`: output is written at once.
    page: Option<Vec<u8>>,
    failure: Option<io::Error>,
}

impl<'a> Ui<'a> {
    /// A user interface over two streams that are no terminals.
    pub fn new(out: &'a mut dyn Write, err: &'a mut dyn Write, colours: Colours) -> Ui<'a> {
        let terminal = Terminal::default();
        let (stdout_is_terminal, redraws) = (false, false);
        Ui {
            out,
            err,
            colours,
            stdout_is_terminal,
            redraws,
            terminal,
            error_width: None,
            pager: None,
            page: None,
            failure: None,
        }
    }

    /// The same user interface, with warnings and errors in lines of so many columns.
    pub fn with_error_width(self, error_width: Option<usize>) -> Ui<'a> {
        Ui { error_width, ..self }
    }

    /// The same user interface, sharing a terminal with progress; `stdout` tells whether standard output is one,
    /// `redraws` whether texts may be redrawn there in place.
    pub fn on_terminal(self, terminal: Terminal, stdout: bool, redraws: bool) -> Ui<'a> {
        Ui { stdout_is_terminal: stdout, redraws: stdout && redraws, terminal, ..self }
    }

    /// The same user interface, with a program that shows long output of the commands that ask for it.
    pub fn with_pager(self, pager: Option<Pager>) -> Ui<'a> {
        Ui { pager, ..self }
    }

    /// Lets the pager show what is printed from now on, if it is longer than the screen.
    pub fn use_pager(&mut self) {
        if self.pager.is_some() {
            self.page.get_or_insert_default();
        }
    }

    /// Shows what waits for the pager: in the pager, or directly if it is short.
    fn show_page(&mut self) {
        let Some(page) = self.page.take() else { return };
        let shown =
            self.pager.as_ref().is_some_and(|pager| self.terminal.suspend(|| pager.show(&page, &self.terminal)));
        if !shown {
            self.direct(&page);
        }
    }

    /// Writes what waits for the pager, and everything after it, at once: somebody waits for it.
    fn leave_page(&mut self) {
        if let Some(page) = self.page.take() {
            self.direct(&page);
        }
    }

    /// The terminal that output shares with progress.
    pub fn terminal(&self) -> &Terminal {
        &self.terminal
    }

    /// Whether tags become escape sequences.
    pub fn colours_on(&self) -> bool {
        self.colours.markup
    }

    /// Whether standard output is a terminal on which texts may be redrawn in place.
    pub fn can_redraw(&self) -> bool {
        self.redraws
    }

    /// The text with its tags replaced and everything else escaped.
    pub fn markup(&self, text: &str) -> Styled {
        Styled::markup(text, self.colours.markup)
    }

    /// A result, on standard output.
    pub fn output(&mut self, message: &(impl Printable + ?Sized)) {
        let text = self.line(Channel::Output, &message.printable());
        self.write_out(&text);
    }

    /// A result with tags.
    pub fn output_markup(&mut self, message: &str) {
        self.output(&self.markup(message));
    }

    /// The heading of a section, with tags, below an empty line.
    pub fn heading(&mut self, title: &str) {
        self.output_markup(&format!("\n[bold]{title}[reset]"));
    }

    /// A section: its heading, and the text below it.
    pub fn section(&mut self, title: &str, text: &(impl Printable + ?Sized)) {
        self.heading(title);
        self.output(text);
    }

    /// Help and other text that is never coloured, on standard output.
    pub fn plain(&mut self, text: &(impl Printable + ?Sized)) {
        self.write_out(&format!("{}\n", text.printable()));
    }

    /// The content of a file, on standard output, without a line end behind it: as it is, but escaped on a terminal.
    pub fn content(&mut self, text: &str) {
        if self.stdout_is_terminal {
            self.write_out(&text.printable());
        } else {
            self.write_out(text);
        }
    }

    /// A text on standard output, at once, without a line end behind it. Whether it could be written.
    pub fn text(&mut self, text: &(impl Printable + ?Sized)) -> bool {
        self.write_out(&text.printable());
        self.flush();
        self.failure.is_none()
    }

    /// Escape sequences that move the cursor and a text behind them, on standard output, at once. For terminals only.
    pub fn redraw(&mut self, moves: &str, text: &Styled) {
        self.write_out(&format!("{moves}{text}"));
        self.flush();
    }

    /// A line that is never coloured, on standard error.
    pub fn error_plain(&mut self, text: &(impl Printable + ?Sized)) {
        let text = format!("{}\n", self.fitted(&text.printable()));
        self.write_err(&text);
    }

    /// News, on standard output.
    pub fn info(&mut self, message: &(impl Printable + ?Sized)) {
        let text = self.line(Channel::Info, &message.printable());
        self.write_out(&text);
    }

    /// A question, on standard output: a space behind it, no line end. Shown at once.
    pub fn ask(&mut self, question: &(impl Printable + ?Sized)) {
        let question = question.printable();
        self.write_out(&format!("{} ", self.coloured(Channel::Output, &question)));
        self.flush();
    }

    /// Ends the line of a question that was not answered; what is typed ends it otherwise.
    pub fn end_question(&mut self) {
        if self.stdout_is_terminal {
            self.write_out("\n");
        }
    }

    /// Shows what was printed so far.
    pub fn flush(&mut self) {
        self.leave_page();
        let flushed = self.terminal.suspend(|| self.out.flush());
        self.keep(flushed);
    }

    /// Something to look at, on standard error.
    pub fn warn(&mut self, message: &(impl Printable + ?Sized)) {
        let text = self.line(Channel::Warning, &self.fitted(&message.printable()));
        self.write_err(&text);
    }

    /// Bytes on standard output, at once: as they are. Whether they could be written.
    pub fn bytes(&mut self, data: &[u8]) -> bool {
        self.leave_page();
        let written = self.terminal.suspend(|| self.out.write_all(data).and_then(|()| self.out.flush()));
        self.keep(written)
    }

    /// Bytes on standard error, yellow where texts have colours.
    pub fn error_bytes(&mut self, data: &[u8]) -> bool {
        let (on, off) = if self.colours.channels { Channel::Warning.around() } else { Default::default() };
        let written = self.terminal.suspend(|| {
            let parts = [on.as_bytes(), data, off.as_bytes()];
            parts.iter().try_for_each(|part| self.err.write_all(part)).and_then(|()| self.err.flush())
        });
        self.keep(written)
    }

    fn keep(&mut self, done: io::Result<()>) -> bool {
        match done {
            Ok(()) => true,
            Err(e) => {
                self.failure.get_or_insert(e);
                false
            }
        }
    }

    /// Standard output itself, for results that are no text for people.
    pub fn stdout(&mut self) -> &mut dyn Write {
        self.leave_page();
        self.out
    }

    /// Standard error itself, for what others print.
    pub fn stderr(&mut self) -> &mut dyn Write {
        self.err
    }

    /// A failure, on standard error.
    pub fn error(&mut self, message: &(impl Printable + ?Sized)) {
        let text = self.line(Channel::Error, &self.fitted(&message.printable()));
        self.write_err(&text);
    }

    /// A failure with tags.
    pub fn error_markup(&mut self, message: &str) {
        self.error(&self.markup(message));
    }

    /// Flushes both streams. The first failure to write, if any; a reader that went away is none.
    pub fn finish(mut self) -> io::Result<()> {
        self.show_page();
        let flushed = self.out.flush().and_then(|()| self.err.flush());
        match self.failure.or(flushed.err()) {
            Some(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(e),
            _ => Ok(()),
        }
    }

    /// A message on standard error, in lines that a terminal does not break within words.
    fn fitted<'m>(&self, message: &'m str) -> Cow<'m, str> {
        self.error_width.map_or(Cow::Borrowed(message), |columns| fitted(message, columns))
    }

    /// The line of a message, in the colour of its channel.
    fn line(&self, channel: Channel, message: &str) -> String {
        format!("{}\n", self.coloured(channel, message))
    }

    fn coloured<'m>(&self, channel: Channel, message: &'m str) -> Cow<'m, str> {
        if !self.colours.channels {
            return Cow::Borrowed(message);
        }
        let (on, off) = channel.around();
        Cow::Owned(format!("{on}{message}{off}"))
    }

    fn write_out(&mut self, text: &str) {
        match &mut self.page {
            Some(page) => page.extend_from_slice(text.as_bytes()),
            None => self.direct(text.as_bytes()),
        }
    }

    fn direct(&mut self, text: &[u8]) {
        let written = self.terminal.suspend(|| self.out.write_all(text));
        self.keep(written);
    }

    fn write_err(&mut self, text: &str) {
        let written = self.terminal.suspend(|| self.err.write_all(text.as_bytes()));
        self.keep(written);
    }
}

/// Whether standard output is a terminal.
pub fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(input: ColourInput<'_>) -> (bool, bool) {
        let Colours { markup, channels } = input.decide();
        (markup, channels)
    }

    #[test]
    fn colours_need_a_terminal_or_force_and_no_objection() {
        let tty = ColourInput { terminal: true, term: Some("xterm"), ..ColourInput::default() };
        assert_eq!(decide(tty), (true, true));
        assert_eq!(decide(ColourInput::default()), (false, false));
        assert_eq!(decide(ColourInput { forced: true, ..ColourInput::default() }), (true, false));
        assert_eq!(decide(ColourInput { no_color: true, ..tty }), (false, false));
        assert_eq!(decide(ColourInput { no_color: true, forced: true, ..tty }), (true, false));
        assert_eq!(decide(ColourInput { term: Some("dumb"), ..tty }), (false, false));
        assert_eq!(decide(ColourInput { term: Some("dumb"), forced: true, ..tty }), (true, false));
        assert_eq!(decide(ColourInput { disabled: true, forced: true, ..tty }), (false, false));
    }

    #[test]
    fn channels_wrap_whole_messages() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, Colours { markup: true, channels: true });
        ui.output_markup("[bold]a\nb");
        ui.error("bad");
        ui.finish().unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\x1b[0m\x1b[1ma\nb\x1b[0m\x1b[0m\n");
        assert_eq!(String::from_utf8(err).unwrap(), "\x1b[91mbad\x1b[0m\n");
    }
}
