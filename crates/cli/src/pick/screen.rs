//! A list on the terminal: reads keys and draws on standard error until a row is chosen.
//!
//! The cursor stays in the first line of the list, behind the filter, so that everything can be erased from there on,
//! also after the window has changed its size.

use std::fmt::Write as _;
use std::io::{self, Write};

use console::Term;

use super::Cancelled;
use super::frame::{Frame, Lines};
use super::list::{List, Step};
use crate::platform::await_key;
use crate::terminal::{Size, Terminal};

/// Erases everything from the first line of the list on.
const ERASE: &str = "\r\x1b[J";

/// Shows a list until a row is chosen. The number of the row.
pub(super) fn choose(terminal: &Terminal, list: &mut List, frame: &Frame) -> Result<usize, Cancelled> {
    // A terminal that is gone chooses nothing.
    ask(terminal, list, frame).unwrap_or(Err(Cancelled::Left))
}

fn ask(terminal: &Terminal, list: &mut List, frame: &Frame) -> io::Result<Result<usize, Cancelled>> {
    let _keys = terminal.question_mode()?;
    let term = Term::stderr();
    let chosen = loop {
        let size = Size::of_stderr().ok_or(io::ErrorKind::NotConnected)?;
        write(&drawn(&frame.lines(list, size)))?;
        await_key()?;
        match list.press(&term.read_key_raw()?) {
            Step::Stays => {}
            Step::Chosen(row) => break Ok(row),
            Step::Cancelled(how) => break Err(how),
        }
    };
    write(ERASE)?;
    Ok(chosen)
}

/// The lines, and the cursor back in the first one.
fn drawn(lines: &Lines) -> String {
    let mut text = "\r".to_string();
    for (number, line) in lines.lines.iter().enumerate() {
        text.push_str(if number == 0 { "" } else { "\r\n" });
        text.push_str(line);
        // What an earlier, longer line has left.
        text.push_str("\x1b[K");
    }
    text.push_str("\x1b[J");
    let up = lines.lines.len().saturating_sub(1);
    // Writing to a string does not fail.
    let _ = write!(text, "\x1b[{up}A\r");
    if lines.cursor > 0 {
        let _ = write!(text, "\x1b[{}C", lines.cursor);
    }
    text
}

fn write(text: &str) -> io::Result<()> {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes())?;
    err.flush()
}
