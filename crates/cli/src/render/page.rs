//! The page that texts for people are laid out for: the width of the terminal, and the pager (`docs/spec/cli.md §3.7`).

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use textwrap::core::display_width;

use super::wrap::wrapped;
use crate::terminal::{Size, Terminal};

/// The columns that tables are shortened to; 0 for no limit. All tables of a process are for the one terminal that it
/// writes to, so the limit is a property of the process.
static WIDTH: AtomicUsize = AtomicUsize::new(0);

/// Shortens tables to the width of the terminal that standard output is.
pub fn keep_to_terminal() {
    WIDTH.store(Size::of_stdout().map_or(0, |size| size.width), Ordering::Relaxed);
}

/// The number of columns that tables may have; `None` without a limit.
pub fn width() -> Option<usize> {
    Some(WIDTH.load(Ordering::Relaxed)).filter(|columns| *columns > 0)
}

/// A sentence in lines that the terminal does not break within a word.
pub fn sentence(text: &str) -> String {
    width().map_or_else(|| text.to_string(), |columns| wrapped(text, columns, 0))
}

/// The program that shows long output, as a command of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pager(String);

impl Pager {
    /// The pager of these settings: that of encamp, else that of all programs, else `less`; `None` if the setting that
    /// counts is empty or `cat`.
    pub fn chosen(own: Option<&str>, general: Option<&str>) -> Option<Pager> {
        let command = own.or(general).unwrap_or("less").trim();
        (!matches!(command, "" | "cat")).then(|| Pager(command.to_string()))
    }

    /// Shows a text, and waits until the reader has read it. False if the text is short enough for the screen, or the
    /// pager cannot be started.
    pub fn show(&self, text: &[u8], terminal: &Terminal) -> bool {
        let Some(size) = Size::of_stdout() else { return false };
        if lines_on_screen(&String::from_utf8_lossy(text), size.width) < size.height {
            return false;
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &self.0]).stdin(Stdio::piped());
        // Quits at the end of a text that fits, passes colours and letters on, and leaves the text on the screen.
        for (name, value) in [("LESS", "FRX"), ("LESSCHARSET", "utf-8"), ("LV", "-c")] {
            if std::env::var_os(name).is_none() {
                command.env(name, value);
            }
        }
        // Ctrl-C is for the pager, which restores the terminal.
        terminal.handle_signals_in_command();
        let Ok(mut child) = command.spawn() else { return false };
        if let Some(mut stdin) = child.stdin.take() {
            // A reader that has seen enough quits before the end.
            let _ = stdin.write_all(text);
        }
        // The shell reports a command that it does not find.
        child.wait().is_ok_and(|status| status.code() != Some(127))
    }
}

/// The rows that a text takes on a terminal with so many columns. Escape sequences take none.
fn lines_on_screen(text: &str, columns: usize) -> usize {
    text.lines().map(|line| display_width(line).div_ceil(columns.max(1)).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_of_encamp_precedes_the_general_one() {
        let chosen = |own, general| Pager::chosen(own, general).map(|p| p.0);
        assert_eq!(chosen(None, None).as_deref(), Some("less"));
        assert_eq!(chosen(None, Some("more")).as_deref(), Some("more"));
        assert_eq!(chosen(Some("less -S"), Some("more")).as_deref(), Some("less -S"));
        assert_eq!((chosen(Some(""), Some("more")), chosen(None, Some(" cat "))), (None, None));
    }

    #[test]
    fn long_lines_take_several_rows() {
        assert_eq!(lines_on_screen("a\n\nbcd\n", 2), 4);
        assert_eq!(lines_on_screen("\x1b[1m\x1b[31mab\x1b[0m\n日本", 2), 3);
    }
}
