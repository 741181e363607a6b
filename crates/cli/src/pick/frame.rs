//! The lines of a list on a terminal: the question with the filter, the headings, the rows, and the keys.

use owo_colors::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::list::List;
use crate::render::styled::one_line;
use crate::render::table::shortened;
use crate::terminal::Size;

/// The most rows that are visible.
const MOST_ROWS: usize = 15;
/// The lines besides the rows: the question, the headings, the keys.
const OTHER_LINES: usize = 3;
/// The columns between two columns, and before the rows.
const GAP: usize = 2;
/// The least width of a column that is shortened where others are left out otherwise, and of the last two.
const READABLE_WIDTH: usize = 16;
const LEAST_WIDTH: usize = 8;
/// The keys, and those that fit on a narrow terminal.
const KEYS: &str = "↑↓ move · type to filter · Enter choose · Esc cancel";
const FEW_KEYS: &str = "Enter choose · Esc cancel";

/// A column of a list.
pub(super) struct Heading {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether it holds IDs, which are not shortened.
    pub(super) is_id: bool,
}

/// What does not change while a list is shown.
pub(super) struct Frame {
    /// What is asked, without a colon.
    question: String,
    headings: Vec<Heading>,
    /// The widths of the columns with all rows.
    widths: Vec<usize>,
    colours: bool,
}

/// The lines of a list, and the column of the cursor in the first one.
pub(super) struct Lines {
    pub(super) lines: Vec<String>,
    pub(super) cursor: usize,
}

impl Frame {
    /// The frame for a list.
    pub(super) fn new(question: String, headings: Vec<Heading>, list: &List, colours: bool) -> Frame {
        let mut widths: Vec<usize> = headings.iter().map(|heading| heading.name.width()).collect();
        for row in list.rows() {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = (*width).max(one_line(cell).width());
            }
        }
        Frame { question, headings, widths, colours }
    }

    /// The lines for a terminal of this size.
    pub(super) fn lines(&self, list: &mut List, size: Size) -> Lines {
        // The last column stays free: some terminals wrap behind it.
        let width = size.width.saturating_sub(1);
        let (question, cursor) = self.question(list, width);
        let mut lines = vec![question];
        let widths = self.fitted(width.saturating_sub(GAP));
        let names: Vec<&str> = self.headings.iter().map(|heading| heading.name).collect();
        lines.push(self.dimmed(&row(&names, &widths, "  ", width)));
        let found = list.found();
        let room = size.height.saturating_sub(OTHER_LINES).clamp(1, MOST_ROWS);
        for (item, marked) in list.visible(room) {
            let text = row(&item.cells, &widths, if marked { "> " } else { "  " }, width);
            lines.push(if marked { self.styled(&text, Style::new().bold()) } else { text });
        }
        if found == 0 {
            lines.push(shortened("  Nothing matches.", width));
        }
        let keys = if KEYS.width() + GAP <= width { KEYS } else { FEW_KEYS };
        lines.push(self.dimmed(&shortened(&format!("  {keys}"), width)));
        Lines { lines, cursor }
    }

    /// The first line, and where its cursor is.
    fn question(&self, list: &List, width: usize) -> (String, usize) {
        let question = shortened(&format!("{}: ", self.question), width);
        let filter = one_line(list.filter());
        let before = question.width();
        let filter = end_of(&filter, width.saturating_sub(before));
        let cursor = before + filter.width();
        let gap = if filter.is_empty() { " " } else { "  " };
        let count = match (list.found(), list.len()) {
            (found, all) if found == all => format!("{gap}({all})"),
            (found, all) => format!("{gap}({found} of {all})"),
        };
        let count = if cursor + count.width() <= width { self.dimmed(&count) } else { String::new() };
        (format!("{}{filter}{count}", self.styled(&question, Style::new().bold())), cursor.min(width))
    }

    /// The widths of the columns where they have so much room together: columns are shortened first, as long as their
    /// texts can be told apart; then those at the end are left out.
    fn fitted(&self, room: usize) -> Vec<usize> {
        let mut columns = (3..=self.widths.len()).rev();
        let readable = columns.find_map(|columns| self.shortened(columns, READABLE_WIDTH, room).ok());
        readable.unwrap_or_else(|| self.shortened(2, LEAST_WIDTH, room).unwrap_or_else(|widths| widths))
    }

    /// The widths of so many columns, none of them shortened to less than `least`, if they fit in the room. `Err` has those
    /// that do not.
    fn shortened(&self, columns: usize, least: usize, room: usize) -> Result<Vec<usize>, Vec<usize>> {
        let mut widths: Vec<usize> = self.widths.iter().take(columns).copied().collect();
        let least = |heading: &Heading| if heading.is_id { usize::MAX } else { heading.name.width().max(least) };
        while widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1) > room {
            let longer = widths.iter_mut().zip(&self.headings).filter(|(width, heading)| **width > least(heading));
            match longer.map(|(width, _)| width).max_by_key(|width| **width) {
                Some(widest) => *widest -= 1,
                None => return Err(widths),
            }
        }
        Ok(widths)
    }

    fn dimmed(&self, text: &str) -> String {
        self.styled(text, Style::new().dimmed())
    }

    fn styled(&self, text: &str, style: Style) -> String {
        if !self.colours {
            return text.to_string();
        }
        format!("{}{text}{}", style.prefix_formatter(), style.suffix_formatter())
    }
}

/// Cells in columns of these widths.
fn row<S: AsRef<str>>(cells: &[S], widths: &[usize], mark: &str, width: usize) -> String {
    let mut line = mark.to_string();
    for (cell, width) in cells.iter().zip(widths) {
        let cell = shortened(&one_line(cell.as_ref()), *width);
        line.push_str(&cell);
        line.extend(std::iter::repeat_n(' ', (width + GAP).saturating_sub(cell.width())));
    }
    shortened(line.trim_end(), width)
}

/// The end of a text in so many columns.
fn end_of(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fits = |c: char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let mut fits = fits;
    let start = text.char_indices().rev().take_while(|(_, c)| fits(*c)).last().map_or(text.len(), |(at, _)| at);
    text.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::list::Row;
    use super::*;
    use console::Key;

    fn shown(list: &mut List, width: usize, height: usize) -> String {
        let heading = |name, is_id| Heading { name, is_id };
        let headings = vec![heading("ID", true), heading("Name", false), heading("Status", false)];
        let frame = Frame::new("Choose a node".into(), headings, list, false);
        let lines = frame.lines(list, Size { width, height });
        let first: String = lines.lines[0].chars().take(lines.cursor).collect();
        format!("{first}|\n{}", lines.lines.join("\n"))
    }

    fn list() -> List {
        let row = |id: &str, name: &str| Row::new([id, name, "ready"].map(String::from).into(), id);
        List::new(vec![
            row("aaaaaaaa", "worker-1.rack-7.example.com"),
            row("bbbbbbbb", "w\u{1b}2"),
            row("cccccccc", "w3"),
        ])
    }

    #[test]
    fn rows_are_aligned_and_one_is_marked() {
        let want = [
            "Choose a node: |".to_string(),
            "Choose a node:  (3)".into(),
            format!("  ID        {:27}  Status", "Name"),
            format!("> aaaaaaaa  {:27}  ready", "worker-1.rack-7.example.com"),
            format!("  bbbbbbbb  {:27}  ready", "w\\x1b2"),
            format!("  cccccccc  {:27}  ready", "w3"),
            "  ↑↓ move · type to filter · Enter choose · Esc cancel".into(),
        ];
        assert_eq!(shown(&mut list(), 80, 24), want.join("\n"));
    }

    #[test]
    fn narrow_terminals_shorten_names_and_leave_columns_out() {
        let mut list = list();
        let want = "Choose a node: |\nChoose a node:  (3)\n  ID        Name                 Status\n\
                    > aaaaaaaa  worker-1.rack-7.ex…  ready\n  bbbbbbbb  w\\x1b2               ready\n\
                    \x20 Enter choose · Esc cancel";
        assert_eq!(shown(&mut list, 40, 5), want);
        let want = "Choose a node: |\nChoose a node:  (3)\n  ID        Name\n> aaaaaaaa  worker-1.rack-7.ex…\n\
                    \x20 bbbbbbbb  w\\x1b2\n  Enter choose · Esc cancel";
        assert_eq!(shown(&mut list, 32, 5), want);
        for _ in 0..12 {
            list.press(&Key::Char('a'));
        }
        let want = "Choose a node: aaaa|\nChoose a node: aaaa\n  ID        Name\n  Nothing matches.\n\
                    \x20 Enter choose · E…";
        assert_eq!(shown(&mut list, 20, 5), want);
    }
}
