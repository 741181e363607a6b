//! Heredocs that do not open or close as they look.

use super::super::outline::Outline;
use super::edits::Edits;
use super::{Edit, Repair};

/// The end of a heredoc whose opening ends at a byte. `near`: the line that looks like its end, without blanks around it.
pub(in crate::explain) fn closed(
    outline: &Outline,
    open: usize,
    marker: &str,
    near: Option<(usize, usize)>,
) -> Option<Repair> {
    let edits = Edits::of(outline)?;
    let text = &outline.text;
    let Some((at, length)) = near else { return before_brace(outline, edits, open, marker) };
    let line = text.get(at..at + length)?;
    let end = edits.line_end();
    let (_, line_end) = edits.line(at);
    if line == marker {
        return Some(Repair::certain(format!("End the line of {marker}"), [Edit::new(line_end, line_end, end)]));
    }
    if let Some(rest) = line.strip_prefix(marker) {
        // Brackets that were opened before the heredoc are closed behind it.
        let nested = text.get(..open)?.trim_end().ends_with(['(', '[', ',', '{']);
        let rest = rest.trim_start();
        if nested || rest.starts_with(['}', '#']) || rest.starts_with("//") {
            let from = line_end - rest.len();
            let edit = Edit::new(at + marker.len(), from, end);
            return Some(Repair::certain(format!("End the line behind {marker}"), [edit]));
        }
        let edit = Edit::new(at + marker.len(), line_end, "");
        return Some(Repair::fallback(format!("Remove what stands behind {marker}"), [edit]));
    }
    if let Some(before) = line.strip_suffix(marker) {
        let edit = Edit::new(at + before.trim_end().len(), at + before.len(), end);
        return Some(Repair::certain(format!("Begin a line before {marker}"), [edit]));
    }
    Some(Repair::certain(format!("Change to {marker:?}"), [Edit::new(at, at + length, marker)]))
}

/// The marker before the first line that only closes a block.
fn before_brace(outline: &Outline, edits: Edits<'_>, open: usize, marker: &str) -> Option<Repair> {
    let rest = outline.text.get(open..)?;
    let mut at = open;
    for line in rest.split_inclusive('\n') {
        if line.trim() == "}" {
            let title = format!("End the heredoc here: {marker}");
            return Some(Repair::fallback(title, [Edit::new(at, at, format!("{marker}{}", edits.line_end()))]));
        }
        at += line.len();
    }
    None
}

/// The marker at `start`, `<< "EOT" text`, as HCL reads it: alone at the end of its line.
pub(in crate::explain) fn reopened(outline: &Outline, start: usize, right: &str) -> Option<Repair> {
    let edits = Edits::of(outline)?;
    let (_, line_end) = edits.line(start);
    let line = outline.text.get(start..line_end)?;
    let marker = right.trim_start_matches(['<', '-']);
    let behind = line.find(marker)? + marker.len();
    let rest = line.get(behind..)?.trim_start_matches(['"', '\'']).trim();
    let new = if rest.is_empty() { right.to_owned() } else { format!("{right}{}{rest}", edits.line_end()) };
    Some(Repair::certain(format!("Write {right} and a new line"), [Edit::new(start, line_end, new)]))
}
