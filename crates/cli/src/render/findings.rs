//! Problems of job files as text, with the source line and its underline, and as JSON (`docs/guide/diagnostics.md`).
//!
//! The sequences of bold colours are written here, not by owo-colors: the recorded ones have the effect before the colour
//! (`ESC[1;31m`), and owo-colors writes the colour first.

use super::styled::Styled;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use encamp_jobspec::explain::{Finding, Place, Severity, Stage};

/// Version of the JSON form. Grows when members change their meaning or go away; new members may come at any time.
pub const JSON_VERSION: u32 = 1;

/// Findings printed in full.
const MAX_SHOWN: usize = 20;
/// Columns of a source line that are shown.
const WIDTH: usize = 100;
/// Columns left of the underline in a line that is cut.
const BEFORE: usize = 30;
/// The text that is shown for a tab.
const TAB: &str = "    ";

/// Escape sequences around parts of the text.
struct Paint(bool);

impl Paint {
    fn with(&self, codes: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\x1b[{codes}m{text}\x1b[0m") } else { text.to_string() }
    }

    fn red(&self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.with("1;33", text)
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    /// Arrows and rulers.
    fn frame(&self, text: &str) -> String {
        self.with("1;34", text)
    }

    fn help(&self, text: &str) -> String {
        self.with("1;36", text)
    }
}

/// The findings one below the other.
pub fn text(list: &[Finding], colours: bool) -> Styled {
    let paint = Paint(colours);
    let shown: Vec<String> = list.iter().take(MAX_SHOWN).map(|f| one(f, &paint)).collect();
    let mut out = shown.join("\n");
    match list.len().saturating_sub(MAX_SHOWN) {
        0 => {}
        1 => out.push_str("\n… and 1 more problem\n"),
        more => out.push_str(&format!("\n… and {more} more problems\n")),
    }
    Styled::from_escaped(out.trim_end().to_string())
}

fn one(f: &Finding, paint: &Paint) -> String {
    let word = match f.severity {
        Severity::Error => paint.red("error"),
        Severity::Warning => paint.yellow("warning"),
    };
    let lines = [f.place.as_ref(), f.related.as_ref().map(|(p, _)| p)].into_iter().flatten();
    let number = lines.map(|p| p.range.start_line).max().unwrap_or(0);
    let gutter = " ".repeat(if number == 0 { 1 } else { number.to_string().len() });
    let mut out = format!("{word}{}\n", paint.bold(&format!(": {}", visible(&f.message))));
    let path = f.block_path.iter().map(|b| visible(b)).collect::<Vec<_>>().join(" > ");
    if let Some(place) = &f.place {
        excerpt(&mut out, place, &path, &gutter, paint, &|carets| paint.red(carets));
    } else if !path.is_empty() {
        out.push_str(&format!("{gutter} {} in {path}\n", paint.frame("|")));
    }
    if let Some((place, why)) = &f.related {
        out.push_str(&format!("{gutter} {} {}:\n", paint.frame("="), visible(why)));
        excerpt(&mut out, place, "", &gutter, paint, &|carets| paint.frame(carets));
    }
    if let Some(help) = &f.suggestion {
        out.push_str(&format!("{gutter} {} {} {}\n", paint.frame("="), paint.help("help:"), visible(help)));
    }
    out
}

/// The position, the blocks around it, and the source line with its underline.
fn excerpt(out: &mut String, place: &Place, path: &str, gutter: &str, paint: &Paint, mark: &dyn Fn(&str) -> String) {
    let r = &place.range;
    let bar = paint.frame("|");
    if r.start_line == 0 {
        return;
    }
    out.push_str(&format!("{gutter}{} {}:{}:{}\n", paint.frame("-->"), visible(&r.file), r.start_line, r.start_column));
    if !path.is_empty() {
        out.push_str(&format!("{gutter} {bar} in {path}\n"));
    }
    let Some(line) = &place.line else { return };
    let to_line_end = r.end_line != r.start_line;
    let end = if to_line_end { usize::MAX } else { r.end_column.saturating_sub(1) };
    let (line, before, width) = window(line, r.start_column.saturating_sub(1), end);
    let number = format!("{:>1$}", r.start_line, gutter.len());
    out.push_str(&format!("{gutter} {bar}\n{} {bar} {line}\n", paint.frame(&number)));
    out.push_str(&format!("{gutter} {bar} {}{}\n", " ".repeat(before), mark(&"^".repeat(width))));
}

/// The part of a line that is shown, and the columns before and below the underline. `start` and `end` count grapheme
/// clusters from 0.
fn window(line: &str, start: usize, end: usize) -> (String, usize, usize) {
    let cells: Vec<String> = line.graphemes(true).map(cell).collect();
    let widths: Vec<usize> = cells.iter().map(|c| c.width()).collect();
    let sum = |from: usize, to: usize| widths.iter().take(to.min(cells.len())).skip(from).sum::<usize>();
    let start = start.min(cells.len());
    let end = end.clamp(start, cells.len());
    let total = sum(0, cells.len());
    let mut from = 0;
    if total > WIDTH && sum(0, end) > WIDTH - 2 {
        // As much of the line's start goes as leaves some columns before the underline.
        while from < start && sum(from, start) > BEFORE {
            from += 1;
        }
    }
    let (mut to, mut used) = (from, 0);
    while let Some(width) = widths.get(to).filter(|w| used + **w <= WIDTH - 2) {
        used += width;
        to += 1;
    }
    let cut = |condition: bool| if condition { "…" } else { "" };
    let shown =
        format!("{}{}{}", cut(from > 0), cells.get(from..to).unwrap_or_default().concat(), cut(to < cells.len()));
    let before = sum(from, start) + usize::from(from > 0);
    (shown, before, sum(start, end.min(to)).max(1))
}

/// A grapheme cluster as it is shown: tabs as blanks, other control characters replaced.
fn cell(cluster: &str) -> String {
    match cluster {
        "\t" => TAB.to_string(),
        _ => visible(cluster),
    }
}

/// A text without control characters.
fn visible(text: &str) -> String {
    let show = |c: char| {
        if c == '\n' {
            ' '
        } else if c.is_control() {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(show).collect()
}

/// The JSON form.
pub fn json(valid: bool, list: &[Finding]) -> Value {
    json!({ "version": JSON_VERSION, "valid": valid, "diagnostics": values(list) })
}

/// The findings alone in their JSON form, a list.
pub fn values(list: &[Finding]) -> Value {
    list.iter().map(json_of).collect()
}

fn json_of(f: &Finding) -> Value {
    let position = |place: Option<&Place>| {
        let place = place.filter(|p| p.range.start_line > 0);
        let number = |n: Option<usize>| n.map_or(Value::Null, Value::from);
        json!({
            "file": place.map(|p| p.range.file.as_str()),
            "line": number(place.map(|p| p.range.start_line)),
            "column": number(place.map(|p| p.range.start_column)),
            "end_line": number(place.map(|p| p.range.end_line)),
            "end_column": number(place.map(|p| p.range.end_column)),
            "source": place.and_then(|p| p.line.as_deref()),
        })
    };
    let mut out = json!({
        "severity": match f.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "stage": match f.stage {
            Stage::Read => "read",
            Stage::Parse => "parse",
            Stage::Validate => "validate",
        },
        "summary": f.summary,
        "detail": f.detail,
        "message": f.message,
        "block_path": f.block_path,
        "suggestion": f.suggestion,
        "related": Value::Null,
    });
    let related = f.related.as_ref().map(|(place, why)| {
        let mut related = position(Some(place));
        if let Value::Object(members) = &mut related {
            members.insert("message".into(), why.as_str().into());
        }
        related
    });
    if let (Value::Object(members), Value::Object(place)) = (&mut out, position(f.place.as_ref())) {
        members.extend(place);
        members.insert("related".into(), related.unwrap_or(Value::Null));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn underlines_stand_below_their_text() {
        assert_eq!(window("\tab = 1", 1, 3), ("    ab = 1".into(), 4, 2));
        assert_eq!(window("x = \"日本\" + y", 11, 12), ("x = \"日本\" + y".into(), 13, 1));
        assert_eq!(window("é🇩🇪 x", 3, 4), ("é🇩🇪 x".into(), 4, 1));
        assert_eq!(window("ab", 2, 2), ("ab".into(), 2, 1), "the end of the line");
        assert_eq!(window("a\u{1b}[31mb", 0, 1).0, "a\u{fffd}[31mb");
        assert_eq!(window("abc", 1, usize::MAX), ("abc".into(), 1, 2));
    }

    #[test]
    fn long_lines_are_cut_around_the_underline() {
        let line = format!("{}HERE{}", "a".repeat(300), "b".repeat(300));
        let (shown, before, width) = window(&line, 300, 304);
        assert_eq!(shown.width(), WIDTH);
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(shown.chars().skip(before).take(width).collect::<String>(), "HERE");
        let (shown, before, width) = window(&line, 5, 7);
        assert_eq!((shown.starts_with("aaaa"), before, width), (true, 5, 2));
    }
}
