//! Text on a terminal that is redrawn in place. The escape sequences here move the cursor and erase lines; colours come
//! with the text.

use textwrap::core::display_width;

use crate::render::styled::Styled;
use crate::render::ui::Ui;
use crate::terminal::Size;

/// The frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// A text on a terminal that is redrawn in place.
pub(super) struct Frame {
    size: Size,
    /// The lines that are drawn now.
    drawn: Vec<String>,
    turn: usize,
}

impl Frame {
    /// A frame for standard output; `None` if that is not a terminal of a known size.
    pub(super) fn of_terminal(ui: &Ui<'_>) -> Option<Frame> {
        let size = if ui.can_redraw() { Size::of_stdout()? } else { return None };
        Some(Frame { size, drawn: Vec::new(), turn: 0 })
    }

    /// Draws a heading, preceded by the spinner, and as much of a body as fits on the terminal.
    pub(super) fn draw(&mut self, ui: &mut Ui<'_>, heading: &str, body: &str) {
        // The window size may have changed.
        self.size = Size::of_stdout().unwrap_or(self.size);
        self.turn = self.turn.wrapping_add(1);
        let spinner = SPINNER.get(self.turn % SPINNER.len()).copied().unwrap_or_default();
        let lines = lines(ui, spinner, heading, body);
        self.replace(ui, self.size.clipped(lines));
    }

    /// Draws the full text for the last time, with a mark before the heading.
    pub(super) fn end(&mut self, ui: &mut Ui<'_>, mark: &str, heading: &str, body: &str) {
        let lines = lines(ui, mark, heading, body);
        self.replace(ui, lines);
        ui.redraw("\n", &Styled::default());
        self.drawn.clear();
    }

    fn replace(&mut self, ui: &mut Ui<'_>, lines: Vec<Styled>) {
        let moves = self.erase();
        let mut text = Styled::default();
        for (i, line) in lines.iter().enumerate() {
            text.push(if i == 0 { "" } else { "\n" });
            text.push(line);
        }
        ui.redraw(&moves, &text);
        self.drawn = lines.iter().map(|line| line.as_str().to_string()).collect();
    }

    /// The escape sequence that removes the last drawing; the cursor is at its end.
    fn erase(&self) -> String {
        let drawn: usize = self.drawn.iter().map(|line| self.size.rows(line)).sum();
        let mut out = String::new();
        for row in 0..drawn {
            out.push_str(if row == 0 { "\x1b[0G\x1b[2K" } else { "\x1b[1A\x1b[0G\x1b[2K" });
        }
        out
    }
}

/// A heading and an indented body, line by line.
fn lines(ui: &Ui<'_>, mark: &str, heading: &str, body: &str) -> Vec<Styled> {
    let indented = |indent: &str, line: Styled| {
        let mut out = Styled::from(indent);
        out.push(line);
        out
    };
    let mut lines = vec![Styled::from(format!("  {mark} {heading}"))];
    if !body.is_empty() {
        lines.extend(ui.markup(body).lines().map(|line| indented("    ", line)));
    }
    lines
}

impl Size {
    /// The lines that fit, and the number of further lines: text that scrolled out of the terminal cannot be redrawn.
    fn clipped(self, mut lines: Vec<Styled>) -> Vec<Styled> {
        let mut free = self.height;
        let fit = lines.iter().take_while(|line| {
            let rows = self.rows(line.as_str());
            let fits = rows <= free;
            free = free.saturating_sub(rows);
            fits
        });
        let fit = fit.count();
        if fit < lines.len() {
            // One row is for the note.
            let shown = lines.len().min(fit.saturating_sub(1).max(1));
            let more = lines.len() - shown;
            lines.truncate(shown);
            lines.push(format!("    ({more} more lines)").into());
        }
        lines
    }

    /// The number of terminal rows of a line.
    fn rows(self, line: &str) -> usize {
        display_width(line).div_ceil(self.width).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::ui::Colours;

    #[test]
    fn a_drawing_removes_the_one_before() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut ui = Ui::new(&mut out, &mut err, Colours::default());
        let mut frame = Frame { size: Size { width: 20, height: 9 }, drawn: Vec::new(), turn: 0 };
        frame.draw(&mut ui, "runs", "a line of 26 columns......\nb");
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
        let size = Size { width: 5, height: 1 };
        assert_eq!([size.rows("\x1b[1mabcd\x1b[0m⠙"), size.rows("\x1b[1mabcde\x1b[0m⠙")], [1, 2]);
        assert_eq!([size.rows(""), size.rows("12345"), size.rows("123456")], [1, 1, 2]);
    }

    #[test]
    fn a_drawing_never_scrolls() {
        let clipped = |height, lines: &[&str]| {
            let lines = lines.iter().map(|l| Styled::from(*l)).collect();
            let lines = Size { width: 5, height }.clipped(lines);
            lines.iter().map(|l| l.as_str().trim().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(clipped(3, &["a", "b", "c"]), ["a", "b", "c"]);
        assert_eq!(clipped(3, &["a", "b", "c", "d"]), ["a", "b", "(2 more lines)"]);
        assert_eq!(clipped(3, &["a", "b23456", "c"]), ["a", "(2 more lines)"]);
    }
}
