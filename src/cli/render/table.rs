//! Text tables (`docs/spec/cli.md §3.5`).
//!
//! Cells are separated by `|` in the input, also where a value holds that character: that is how the output is defined.
//! comfy-table aligns the columns, by their width on a terminal. Here the ends of lines are cut, since it pads the last
//! cell too. It has no columns wider than 65,535, so a table with a longer cell is not aligned.

use comfy_table::Table;
use comfy_table::presets::NOTHING;
use unicode_width::UnicodeWidthStr;

use super::styled::one_line;

/// How the cells of a table are joined and what empty ones show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Two spaces between cells, `<none>` in empty ones.
    List,
    /// ` = ` between cells, `<none>` in empty ones.
    KeyValue,
    /// Two spaces between cells, nothing in empty ones.
    Spaced,
}

impl Form {
    /// The spaces after each column. The `=` of key/value lists is a column of its own.
    fn gap(self) -> u16 {
        match self {
            Form::List | Form::Spaced => 2,
            Form::KeyValue => 1,
        }
    }

    /// What an empty cell shows.
    fn empty(self) -> &'static str {
        match self {
            Form::List | Form::KeyValue => "<none>",
            Form::Spaced => "",
        }
    }
}

/// A value as a cell of its own: a bar in it would start a new column.
pub fn cell(text: &str) -> String {
    text.replace('|', "¦")
}

/// Lays out lines of cells. The last cell of each line is not padded; no newline at the end.
pub fn table<S: AsRef<str>>(lines: &[S], form: Form) -> String {
    let rows: Vec<Vec<String>> = lines.iter().map(|line| cells(line.as_ref(), form)).collect();
    if rows.iter().flatten().any(|cell| cell.width() > usize::from(u16::MAX)) {
        let gap = " ".repeat(form.gap().into());
        return rows.iter().map(|row| row.join(&gap)).collect::<Vec<_>>().join("\n");
    }
    let mut table = Table::new();
    table.load_style(NOTHING).add_rows(rows.iter());
    for column in table.column_iter_mut() {
        column.set_padding((0, form.gap()));
    }
    let widths = table.column_max_content_widths();
    let lines = table.lines().zip(&rows).map(|(line, row)| {
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
    fn cells_wider_than_any_column_keep_their_text() {
        let wide = "x".repeat(70_000);
        let got = table(&[format!("a|{wide}"), "bc|d".into()], Form::KeyValue);
        assert_eq!(got, format!("a = {wide}\nbc = d"));
    }
}
