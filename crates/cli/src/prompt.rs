//! Confirmation prompts (`docs/spec/cli.md §4.5`).
//!
//! dialoguer does not fit: its `Input` ignores Ctrl-D, which must fail with `EOF`; it erases and repeats the question by
//! escape sequences, also with `TERM=dumb`; and it reads the terminal where answers come from a pipe.

use std::io::{self, BufRead};

use super::render::styled::Printable;
use super::render::ui::Ui;

/// Asks on standard output and reads a trimmed line from standard input. An error at the end of the input.
pub fn ask(ui: &mut Ui<'_>, question: &(impl Printable + ?Sized)) -> io::Result<String> {
    ui.ask(question);
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) => {
            ui.end_question();
            Err(io::Error::new(io::ErrorKind::UnexpectedEof, "EOF"))
        }
        Ok(_) => Ok(line.trim().to_string()),
        Err(e) => Err(e),
    }
}

/// The meaning of an answer to a `y/N` question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Exactly `y`.
    Yes,
    /// An empty answer, or a no.
    No,
    /// Another spelling of yes.
    Inexact,
    /// Any other answer.
    Neither,
}

/// Interprets an answer.
pub fn judge(answer: &str) -> Answer {
    match answer {
        "" => Answer::No,
        "y" => Answer::Yes,
        a if a.starts_with(['n', 'N']) => Answer::No,
        a if a.starts_with(['y', 'Y']) && a.len() > 1 => Answer::Inexact,
        _ => Answer::Neither,
    }
}

/// Requires an exact `y`. `Err` contains the exit code of the command; its message has been printed. `cancelled` is
/// printed after a no.
pub fn confirm(ui: &mut Ui<'_>, question: &str, cancelled: &str) -> Result<(), u8> {
    let answer = match ask(ui, question) {
        Ok(answer) => answer,
        Err(e) => {
            ui.error(&format!("Failed to parse answer: {e}"));
            return Err(1);
        }
    };
    match judge(&answer) {
        Answer::Yes => return Ok(()),
        Answer::No => ui.output(cancelled),
        Answer::Inexact => ui.output("For confirmation, an exact ‘y’ is required."),
        Answer::Neither => {
            ui.output("No confirmation detected. For confirmation, an exact 'y' is required.");
            return Err(1);
        }
    }
    Err(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_y_is_a_yes() {
        let answers = ["y", "", "n", "No", "yes", "Yes", "Y", "x", "yn"];
        use Answer::*;
        assert_eq!(answers.map(judge), [Yes, No, No, No, Inexact, Inexact, Neither, Neither, Inexact]);
    }
}
