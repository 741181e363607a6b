//! Text tables (`docs/spec/cli.md §3.5`).
//!
//! Cells are separated by `|` in the input, also where a value holds that character: that is how the output is defined,
//! and why a table library does not fit.

use std::borrow::Cow;

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

/// A value as a cell of its own: a bar in it would start a new column.
pub fn cell(text: &str) -> String {
    text.replace('|', "¦")
}

/// Lays out lines of cells. The last cell of each line is not padded; no newline at the end.
pub fn table<S: AsRef<str>>(lines: &[S], form: Form) -> String {
    let (glue, empty) = match form {
        Form::List => ("  ", "<none>"),
        Form::KeyValue => (" = ", "<none>"),
        Form::Spaced => ("  ", ""),
    };
    let cell = |text| match str::trim(text) {
        "" => Cow::Borrowed(empty),
        // A line feed in a value would begin a row that is not there.
        text => one_line(text),
    };
    let rows: Vec<Vec<Cow<'_, str>>> = lines.iter().map(|line| line.as_ref().split('|').map(cell).collect()).collect();
    let width = |column: usize| rows.iter().filter_map(|r| r.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..).map_while(width).collect();
    let mut out = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line.push_str(cell);
            if i + 1 < row.len() {
                line.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count())));
                line.push_str(glue);
            }
        }
        out.push(line);
    }
    out.join("\n")
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
        assert_eq!(table(&[] as &[&str], Form::List), "");
    }
}
