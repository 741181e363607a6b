//! Text tables (`docs/spec/cli.md §3.5`).
//!
//! Cells are separated by `|` in the input, also where a value holds that character: that is how the output is defined.
//! comfy-table aligns the columns, by their width on a terminal. Here the ends of lines are cut, since it pads the last
//! cell too. It has no columns wider than 65,535, so a table with a longer cell is not aligned. On a terminal, tables
//! keep to its width ([`page`]): the widest columns are shortened, but none that holds IDs or numbers. Sentences in the
//! last column can continue on the next lines instead.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::page;
use super::styled::one_line;
use super::wrap;

/// No column is shortened to less.
const LEAST_WIDTH: usize = 8;
/// Sentences have at least so many columns, if the other columns can be shortened.
const LEAST_SENTENCE: usize = 27;

/// How the cells of a table are joined and what empty ones show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Two spaces between cells, `<none>` in empty ones.
    List,
    /// ` = ` between cells, `<none>` in empty ones.
    KeyValue,
    /// Two spaces between cells, nothing in empty ones.
    Spaced,
    /// Two spaces between cells, nothing in empty ones, and columns of numbers aligned on the right.
    Figures,
}

impl Form {
    /// The spaces after each column. The `=` of key/value lists is a column of its own.
    fn gap(self) -> u16 {
        match self {
            Form::List | Form::Spaced | Form::Figures => 2,
            Form::KeyValue => 1,
        }
    }

    /// What an empty cell shows.
    fn empty(self) -> &'static str {
        match self {
            Form::List | Form::KeyValue => "<none>",
            Form::Spaced | Form::Figures => "",
        }
    }
}

/// A value as a cell of its own: a bar in it would start a new column.
pub fn cell(text: &str) -> String {
    text.replace('|', "¦")
}

/// The lines of a table: its heading and its rows.
pub fn headed(head: &str, rows: impl IntoIterator<Item = String>) -> Vec<String> {
    std::iter::once(head.to_string()).chain(rows).collect()
}

/// A column of a list: its heading, and its cell of a row.
pub type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);
/// The columns of a list.
pub type Columns<'a, T> = [Column<'a, T>];

/// A list with these columns.
pub fn columns<'r, T: 'r>(rows: impl IntoIterator<Item = &'r T>, columns: &Columns<'_, T>) -> String {
    let head: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
    let line = |row: &T| columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<_>>().join("|");
    table(&headed(&head.join("|"), rows.into_iter().map(line)), Form::List)
}

/// Lays out lines of cells. The last cell of each line is not padded; no newline at the end.
pub fn table<S: AsRef<str>>(lines: &[S], form: Form) -> String {
    within(lines, form, page::width())
}

/// The same for a table that is going to be indented by so many spaces.
pub fn indented_table<S: AsRef<str>>(lines: &[S], form: Form, indent: usize) -> String {
    within(lines, form, page::width().map(|width| width.saturating_sub(indent)))
}

/// The same for a table whose last column holds sentences, of which nothing may be missing: they continue on the next
/// lines.
pub fn table_of_sentences<S: AsRef<str>>(lines: &[S], form: Form) -> String {
    sentences_within(lines, form, page::width())
}

/// Lays out a table of sentences in so many columns of the terminal, if they are limited.
fn sentences_within<S: AsRef<str>>(lines: &[S], form: Form, limit: Option<usize>) -> String {
    let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line.as_ref(), form)).collect();
    let Some(limit) = limit else { return laid_out(&rows, form) };
    let gap = usize::from(form.gap());
    let split = |mut row: Vec<String>| {
        let sentence = row.pop().unwrap_or_default();
        (row, sentence)
    };
    let (mut names, sentences): (Vec<Vec<String>>, Vec<String>) = rows.into_iter().map(split).unzip();
    let widest = sentences.iter().map(|s| s.width()).max().unwrap_or(0);
    let room = |names: &[Vec<String>]| {
        let columns = names.iter().map(Vec::len).max().unwrap_or(0);
        let width = |n: usize| names.iter().filter_map(|row| row.get(n)).map(|cell| cell.width()).max().unwrap_or(0);
        limit.saturating_sub((0..columns).map(|n| width(n).saturating_add(gap)).sum())
    };
    if room(&names) < widest.min(LEAST_SENTENCE) {
        shorten(&mut names, limit.saturating_sub(widest.min(LEAST_SENTENCE).saturating_add(gap)), gap);
    }
    let width = room(&names).max(LEAST_WIDTH);
    let mut rows = Vec::with_capacity(names.len());
    for (row, sentence) in names.into_iter().zip(sentences) {
        let empty = vec![String::new(); row.len()];
        for (n, line) in wrap::lines(&sentence, width).into_iter().enumerate() {
            let before = if n == 0 { &row } else { &empty };
            rows.push(before.iter().cloned().chain([line]).collect());
        }
    }
    laid_out(&rows, form)
}

/// Lays out a table in so many columns of the terminal, if they are limited.
fn within<S: AsRef<str>>(lines: &[S], form: Form, limit: Option<usize>) -> String {
    let mut rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line.as_ref(), form)).collect();
    if let Some(limit) = limit {
        match form {
            Form::KeyValue => {}
            Form::List | Form::Spaced | Form::Figures => shorten(&mut rows, limit, form.gap().into()),
        }
    }
    laid_out(&rows, form)
}

/// Aligns the columns of rows.
fn laid_out(rows: &[Vec<String>], form: Form) -> String {
    if rows.iter().flatten().any(|cell| cell.width() > usize::from(u16::MAX)) {
        let gap = " ".repeat(form.gap().into());
        return rows.iter().map(|row| row.join(&gap)).collect::<Vec<_>>().join("\n");
    }
    let mut table = Table::new();
    table.load_style(NOTHING).add_rows(rows.iter());
    for column in table.column_iter_mut() {
        column.set_padding((0, form.gap()));
    }
    if form == Form::Figures {
        for (n, column) in table.column_iter_mut().enumerate() {
            if holds_numbers(rows, n) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    let widths = table.column_max_content_widths();
    let lines = table.lines().zip(rows).map(|(line, row)| {
        let text = line.trim_end();
        match row.split_last() {
            // The gap before the last cell stays where that is empty.
            Some((last, before)) if last.is_empty() => {
                let end: usize =
                    widths.iter().take(before.len()).map(|w| usize::from(*w) + usize::from(form.gap())).sum();
                format!("{text}{}", " ".repeat(end.saturating_sub(text.width())))
            }
            _ => text.to_string(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Shortens the widest columns until the rows have the width, as far as possible. The first row is the heading.
fn shorten(rows: &mut [Vec<String>], limit: usize, gap: usize) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let heading = rows.first().cloned().unwrap_or_default();
    let heading_of = |n: usize| heading.get(n).map_or("", String::as_str);
    let width_of = |n: usize| rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.width()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(width_of).collect();
    let least: Vec<usize> = (0..columns)
        .map(|n| match heading_of(n) {
            // A number without its last digits is another number.
            name if names_ids(name) || holds_numbers(rows, n) => usize::MAX,
            name => name.width().max(LEAST_WIDTH),
        })
        .collect();
    let gaps = gap * columns.saturating_sub(1);
    let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(limit);
    while excess > 0 {
        let can_shrink = widths.iter_mut().zip(&least).filter(|(width, least)| **width > **least);
        let Some((widest, _)) = can_shrink.max_by_key(|(width, _)| **width) else { break };
        *widest -= 1;
        excess -= 1;
    }
    for row in rows {
        for (cell, width) in row.iter_mut().zip(&widths).filter(|(cell, width)| cell.width() > **width) {
            *cell = shortened(cell, *width);
        }
    }
}

/// The beginning of a text, with `…` behind it, in so many columns.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut out = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        out.push(c);
    }
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// Whether all cells of a column below the heading are numbers, also with a unit or a change (`3 -> 2`).
fn holds_numbers(rows: &[Vec<String>], column: usize) -> bool {
    let number = |cell: &String| {
        let mut words = cell.split_whitespace();
        cell.is_empty() || cell == "-" || words.all(|w| is_number(w) || UNITS.contains(&w) || matches!(w, "->" | "of"))
    };
    let mut cells = rows.iter().filter_map(|row| row.get(column));
    !cells.next().is_none_or(|name| names_ids(name)) && cells.all(number)
}

/// Whether a heading says that its column holds IDs.
fn names_ids(heading: &str) -> bool {
    heading.split_whitespace().any(|word| word == "ID")
}

/// The units of numbers in tables.
const UNITS: &[&str] = &["MHz", "GHz", "THz", "B", "KiB", "MiB", "GiB", "TiB", "PiB", "MB", "GB"];

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | '%'))
}

/// The cells of a line. This is the one place that splits lines at bars, also at those in values.
fn cells(line: &str, form: Form) -> Vec<String> {
    let mut cells = Vec::new();
    for text in line.split('|').map(str::trim) {
        if form == Form::KeyValue && !cells.is_empty() {
            cells.push("=".to_string());
        }
        cells.push(match text {
            "" => form.empty().to_string(),
            // A line feed in a value would begin a row that is not there.
            text => one_line(text).into_owned(),
        });
    }
    cells
}

/// A block of names and values.
pub fn pairs<N: AsRef<str>, V: AsRef<str>>(rows: &[(N, V)]) -> String {
    let lines: Vec<String> = rows.iter().map(|(name, value)| format!("{}|{}", name.as_ref(), value.as_ref())).collect();
    table(&lines, Form::KeyValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_trimmed_padded_and_joined() {
        assert_eq!(table(&["ID|Größe|Ü", "a| |", "bcd|x"], Form::List), "ID   Größe   Ü\na    <none>  <none>\nbcd  x");
        assert_eq!(table(&["Diff|", "Job|x|y"], Form::KeyValue), "Diff = <none>\nJob  = x      = y");
        assert_eq!(table(&["a||", "b|cc|d"], Form::Spaced), "a      \nb  cc  d");
        assert_eq!(table(&["a|b|", "c||", "d"], Form::Spaced), "a  b  \nc     \nd");
        assert_eq!(table(&["", "a|b"], Form::List), "<none>\na       b");
        assert_eq!(table(&[] as &[&str], Form::List), "");
    }

    #[test]
    fn columns_are_aligned_on_the_terminal() {
        assert_eq!(table(&["日本|x", "abc|y"], Form::List), "日本  x\nabc   y");
    }

    #[test]
    fn wide_columns_are_shortened_but_no_ids() {
        let lines = ["ID|Name|Reason", "0123456789abcdef|a-rather-long-name|memory exhausted on 12 nodes", "b|c|d"];
        let got = within(&lines, Form::List, Some(46));
        let want = "ID                Name           Reason\n\
                    0123456789abcdef  a-rather-lon…  memory exhau…\n\
                    b                 c              d";
        assert_eq!(got, want);
        assert!(got.lines().all(|line| line.width() <= 46));
        assert_eq!(within(&lines, Form::List, Some(1000)), within(&lines, Form::List, None));
        let least = within(&lines, Form::List, Some(10));
        assert_eq!(least.lines().last(), Some("b                 c         d"));
        assert_eq!(shortened("日本語", 5), "日本…");
        assert_eq!((shortened("a b", 3), shortened("a bc", 3)), ("a b".into(), "a…".into()));
    }

    #[test]
    fn sentences_continue_on_the_next_line() {
        let lines = [
            "Group|Priority|Problem",
            "a|80|12 unplaced: no ready node in its datacenters and pool",
            "account-gateway-of-payments|5|1 preempted",
        ];
        let want = "Group                        Priority  Problem\n\
                    a                                  80  12 unplaced: no ready node\n                                       \
                    in its datacenters and pool\n\
                    account-gateway-of-payments         5  1 preempted";
        assert_eq!(sentences_within(&lines, Form::Figures, Some(66)), want);
        let narrow = sentences_within(&lines, Form::Figures, Some(60));
        assert!(narrow.contains("account-gateway-of-p…         5  1 preempted"), "{narrow}");
        assert!(narrow.lines().all(|line| line.width() <= 60), "{narrow}");
        let list = sentences_within(&["Node|Reason", "n|", "n|a b c d e f g"], Form::List, Some(14));
        assert_eq!(list, "Node  Reason\nn     <none>\nn     a b c d\n      e f g");
        assert_eq!(sentences_within(&lines, Form::Figures, None), within(&lines, Form::Figures, None));
    }

    #[test]
    fn numbers_are_aligned_on_the_right() {
        let lines = ["ID|Pool|Nodes|Free CPU", "1|default|9 -> 10|1.5 of 12 GHz", "12|gpu|3|-", "2|x||0 GHz"];
        let want = "ID  Pool       Nodes       Free CPU\n\
                    1   default  9 -> 10  1.5 of 12 GHz\n\
                    12  gpu            3              -\n\
                    2   x                         0 GHz";
        assert_eq!(within(&lines, Form::Figures, None), want);
    }

    #[test]
    fn cells_wider_than_any_column_keep_their_text() {
        let wide = "x".repeat(70_000);
        let got = table(&[format!("a|{wide}"), "bc|d".into()], Form::KeyValue);
        assert_eq!(got, format!("a = {wide}\nbc = d"));
    }
}
