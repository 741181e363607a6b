//! Text on a terminal that is drawn again in place.

use unicode_width::UnicodeWidthChar;

use crate::cli::render::ui::Ui;

/// What turns while something is in progress.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A text on a terminal, drawn again and again.
pub(super) struct Frame {
    /// Columns of the terminal.
    width: usize,
    /// Rows that the text takes now.
    rows: usize,
    turn: usize,
}

impl Frame {
    /// A frame for standard output, `None` where that is no terminal of a known size.
    pub(super) fn of_terminal(ui: &Ui<'_>) -> Option<Frame> {
        if !ui.is_terminal() {
            return None;
        }
        let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
        (size.ws_col > 0 && size.ws_row > 0).then(|| Frame { width: usize::from(size.ws_col), rows: 0, turn: 0 })
    }

    /// Draws a heading and a body. Without a mark the spinner stands in front of the heading.
    pub(super) fn draw(&mut self, ui: &mut Ui<'_>, mark: Option<&str>, heading: &str, body: &str) {
        self.turn = self.turn.wrapping_add(1);
        let spinner = SPINNER.get(self.turn % SPINNER.len()).copied().unwrap_or_default();
        let mut out = format!("  {} {heading}", mark.unwrap_or(spinner));
        let body = ui.markup(body);
        if !body.is_empty() {
            let indented: Vec<String> = body.split('\n').map(|l| format!("\n    {l}")).collect();
            out.push_str(&indented.concat());
        }
        ui.content(&format!("{}{out}", self.erase()));
        ui.flush();
        self.rows = out.split('\n').map(|line| rows(line, self.width)).sum();
    }

    /// Draws for the last time.
    pub(super) fn end(&mut self, ui: &mut Ui<'_>, mark: &str, heading: &str, body: &str) {
        self.draw(ui, Some(mark), heading, body);
        ui.content("\n");
        ui.flush();
        self.rows = 0;
    }

    /// What removes the last drawing: the cursor stands behind it.
    fn erase(&self) -> String {
        let mut out = String::new();
        for row in 0..self.rows {
            out.push_str(if row == 0 { "\x1b[0G\x1b[2K" } else { "\x1b[1A\x1b[0G\x1b[2K" });
        }
        out
    }
}

/// How many rows a line takes.
fn rows(line: &str, width: usize) -> usize {
    columns(line).div_ceil(width).max(1)
}

/// How many columns a line takes, escape sequences left out.
fn columns(line: &str) -> usize {
    let mut escape = false;
    let mut n: usize = 0;
    for c in line.chars() {
        match (escape, c) {
            (false, '\x1b') => escape = true,
            (true, c) => escape = !c.is_ascii_alphabetic(),
            (false, c) => n = n.saturating_add(c.width().unwrap_or(0)),
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::ui::Colours;

    #[test]
    fn a_drawing_removes_the_one_before() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, Colours::default());
        let mut frame = Frame { width: 20, rows: 0, turn: 0 };
        frame.draw(&mut ui, None, "runs", "a line of 26 columns......\nb");
        assert_eq!(frame.rows, 4);
        frame.end(&mut ui, "✓", "done", "");
        ui.finish().unwrap();
        let erased = "\x1b[0G\x1b[2K".to_string() + &"\x1b[1A\x1b[0G\x1b[2K".repeat(3);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            format!("  ⠙ runs\n    a line of 26 columns......\n    b{erased}  ✓ done\n")
        );
    }

    #[test]
    fn escape_sequences_take_no_columns() {
        assert_eq!(columns("\x1b[1mab\x1b[0m⠙"), 3);
        assert_eq!([rows("", 5), rows("12345", 5), rows("123456", 5)], [1, 1, 2]);
    }
}
