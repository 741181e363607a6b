//! Lines of a job file that come and go.

use std::ops::Range;

use super::locate::Found;
use super::{Splice, Step};
use crate::explain::outline::Outline;

/// What a block is indented by.
const INDENT: &str = "  ";

/// A part of a text goes away: with its lines if nothing else is on them, and with the empty line behind it if there is
/// one before it, too.
pub(super) fn removed(text: &str, part: Range<usize>) -> Splice {
    let before = text.get(..part.start).unwrap_or_default();
    let after = text.get(part.end..).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = after.find('\n').map_or(text.len(), |at| part.end + at + 1);
    let blank = |range: Range<usize>| text.get(range).is_some_and(|t| t.trim().is_empty());
    if !blank(line_start..part.start) || !blank(part.end..line_end) {
        // Something else is on the line: the white space before it goes as well.
        let kept = before.trim_end_matches([' ', '\t']).len();
        let inside = before.get(..kept).is_some_and(|t| t.ends_with('{')) && after.trim_start().starts_with('}');
        let spaces = after.len() - after.trim_start_matches([' ', '\t']).len();
        let end = if inside { part.end + spaces } else { part.end };
        return Splice { range: kept..end, text: String::new() };
    }
    let line = |from: usize| text.get(from..).map(|t| t.lines().next().unwrap_or_default().trim().to_string());
    let empty_before = before.get(..line_start).is_some_and(|t| {
        let last = t.lines().next_back().unwrap_or_default().trim();
        last.is_empty() || last.ends_with('{')
    });
    let empty_after = line_end < text.len() && line(line_end).is_some_and(|l| l.is_empty());
    let mut range = line_start..line_end;
    if empty_before && empty_after {
        range.end = text.get(line_end..).and_then(|t| t.find('\n')).map_or(line_end, |at| line_end + at + 1);
    } else if line(line_end).is_some_and(|l| l.starts_with('}')) && before.get(..line_start).is_some_and(ends_empty) {
        // Nothing follows in the block: the empty line before it goes.
        let kept = before.get(..line_start).unwrap_or_default().trim_end().len();
        range.start = text.get(kept..).and_then(|t| t.find('\n')).map_or(line_start, |at| kept + at + 1);
    }
    Splice { range, text: String::new() }
}

fn ends_empty(text: &str) -> bool {
    text.lines().next_back().unwrap_or_default().trim().is_empty()
}

/// An attribute that the file does not have yet, with the blocks around it that are missing.
pub(super) fn inserted(outline: &Outline, found: &Found<'_>, name: &str, value: &str) -> Splice {
    let block = found.block;
    let text = &outline.text;
    let end = (block.span.end as usize).saturating_sub(1);
    let open = text.get(block.header.end as usize..).and_then(|t| t.find('{'));
    let open = open.map_or(end, |at| block.header.end as usize + at + 1);
    let outer = indent_of(text, block.header.start as usize);
    let inner = format!("{outer}{INDENT}");
    let lines = nested(found.missing, &inner, &format!("{} = {value}", padded(outline, found, name)));
    let content = text.get(open..end).unwrap_or_default();
    if !content.contains('\n') {
        let kept = content.trim();
        let kept = if kept.is_empty() { String::new() } else { format!("\n{inner}{kept}") };
        return Splice { range: open..end, text: format!("{kept}\n{lines}{outer}") };
    }
    match block.attributes.last().filter(|_| found.missing.is_empty()) {
        Some(last) => {
            let from = last.value.end as usize;
            let at = text.get(from..).and_then(|t| t.find('\n')).map_or(end, |at| from + at + 1);
            Splice { range: at..at, text: lines }
        }
        None => {
            let last = text.get(..end).map_or(end, |t| t.rfind('\n').map_or(end, |at| at + 1));
            let apart = !found.missing.is_empty() && !content.trim().is_empty();
            Splice { range: last..last, text: if apart { format!("\n{lines}") } else { lines } }
        }
    }
}

/// A line inside of blocks.
fn nested(missing: &[Step], indent: &str, line: &str) -> String {
    let Some((step, rest)) = missing.split_first() else { return format!("{indent}{line}\n") };
    let header = match step {
        Step::Nth(kind, _) => (*kind).to_string(),
        Step::Labelled(kind, label) => format!("{kind} {label:?}"),
    };
    let body = nested(rest, &format!("{indent}{INDENT}"), line);
    format!("{indent}{header} {{\n{body}{indent}}}\n")
}

/// The name of an attribute, as wide as the one that it is put below.
fn padded(outline: &Outline, found: &Found<'_>, name: &str) -> String {
    let above = found.block.attributes.last().filter(|_| found.missing.is_empty());
    let width = above.map_or(0, |s| {
        let between = outline.text.get(s.name_span.start as usize..s.value.start as usize);
        between.and_then(|t| t.find('=')).map_or(0, |at| at.saturating_sub(1))
    });
    format!("{name:width$}")
}

fn indent_of(text: &str, at: usize) -> String {
    let line = text.get(..at).and_then(|t| t.rsplit('\n').next()).unwrap_or_default();
    line.chars().take_while(|c| c.is_whitespace()).collect()
}
