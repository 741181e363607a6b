//! Code actions: corrections for findings, and what else can be changed.

use std::collections::HashMap;

use lsp_types::{CodeAction, CodeActionKind, Diagnostic, TextEdit, WorkspaceEdit};

use crate::diagnostics::{bytes, published};
use crate::document::Document;
use crate::surroundings::{Loaded, Surroundings};
use encamp_jobspec::explain::Finding;

/// A replacement of bytes.
struct Change {
    from: usize,
    to: usize,
    new: String,
}

/// The actions for a part of a document.
pub(crate) fn actions(
    document: &Document,
    range: lsp_types::Range,
    around: &dyn Surroundings,
    cluster: Option<&Loaded>,
) -> Vec<CodeAction> {
    let analysis = document.analysis(around, cluster).clone();
    let shown = published(document, &analysis);
    let touches = |d: &Diagnostic| d.range.start.line <= range.end.line && d.range.end.line >= range.start.line;
    let mut out = Vec::new();
    for (finding, diagnostic) in analysis.findings.iter().zip(shown).filter(|(_, d)| touches(d)) {
        let Some((title, change)) = correction(document, finding) else { continue };
        let edit = TextEdit { range: document.text.range(change.from, change.to), new_text: change.new };
        out.push(CodeAction {
            title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![diagnostic]),
            edit: Some(WorkspaceEdit {
                changes: Some(HashMap::from([(document.uri.clone(), vec![edit])])),
                ..WorkspaceEdit::default()
            }),
            is_preferred: Some(true),
            ..CodeAction::default()
        });
    }
    out
}

/// The change that a finding's suggestion describes; `None` where it describes none that can be made without thinking.
fn correction(document: &Document, finding: &Finding) -> Option<(String, Change)> {
    let help = finding.suggestion.as_deref()?;
    let place = finding.place.as_ref().filter(|p| p.range.file == document.name())?;
    let (from, to) = bytes(document, place);
    let line = Line::of(document, from);
    let change = meant(document, help, from, to, &line)
        .or_else(|| written(document, help, &line))
        .or_else(|| as_block(document, help, &line))
        .or_else(|| added(document, help, from, &line))
        .or_else(|| removed(document, help, from, &line))?;
    Some((help.to_owned(), change))
}

/// The line of a finding.
struct Line<'d> {
    start: usize,
    text: &'d str,
    indent: &'d str,
}

impl<'d> Line<'d> {
    fn of(document: &'d Document, at: usize) -> Line<'d> {
        let number = document.text.line_of(at);
        let text = document.text.line(number);
        let indent = text.get(..text.len() - text.trim_start().len()).unwrap_or("");
        Line { start: document.text.line_start(number), text, indent }
    }

    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// `did you mean "x"?`, `did you mean var.x?`, `did you mean x(…)?`
fn meant(document: &Document, help: &str, from: usize, to: usize, line: &Line) -> Option<Change> {
    let lower = help.to_lowercase();
    let at = lower.find("did you mean ")? + "did you mean ".len();
    let rest = help.get(at..)?;
    let rest = rest.trim_start_matches("the attribute ").trim_start_matches("the block ");
    let word = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split('?').next()?.trim_end_matches("(…)"),
    };
    let name = word.strip_prefix("var.").or_else(|| word.strip_prefix("local.")).unwrap_or(word);
    let text = document.text.slice(from, to);
    // The whole place, a text in quotes, what is behind the dot, or the value of the attribute.
    if let Some(inner) = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'))
        && !inner.contains(['"', '\n'])
    {
        return Some(Change { from: from + 1, to: to - 1, new: name.to_owned() });
    }
    if let Some(rest) = text.strip_prefix('.') {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        return Some(Change { from: from + 1, to: from + 1 + length, new: name.to_owned() });
    }
    if let Some((before, value)) = text.split_once('=') {
        let quoted = value.trim();
        let start = from + before.len() + 1 + (value.len() - value.trim_start().len());
        if quoted.starts_with('"') && quoted.ends_with('"') && quoted.len() >= 2 {
            return Some(Change { from: start, to: start + quoted.len(), new: format!("{name:?}") });
        }
        return None;
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if text.chars().all(is_word) && !text.is_empty() {
        return Some(Change { from, to, new: name.to_owned() });
    }
    // The header of a block: its type.
    let length = text.find(|c| !is_word(c)).unwrap_or(0);
    let _ = line;
    (length > 0).then(|| Change { from, to: from + length, new: name.to_owned() })
}

/// `write NAME = VALUE`, where the line sets that attribute.
fn written(document: &Document, help: &str, line: &Line) -> Option<Change> {
    let (name, value) = help.split_once(" = ")?;
    let name = name.rsplit([' ', ':']).next()?;
    if value.contains('…') || name.is_empty() {
        return None;
    }
    // The value ends with the suggestion, or before a remark.
    let value = value.split(", without").next()?.split(" for ").next()?.split("; ").next()?.trim();
    let trimmed = line.text.trim_start();
    let rest = trimmed.strip_prefix(name)?;
    let sign = rest.trim_start().chars().next()?;
    if !matches!(sign, '=' | ':') {
        return None;
    }
    let _ = document;
    let padding = rest.get(..rest.len() - rest.trim_start().len()).unwrap_or(" ");
    let padding = if padding.is_empty() { " " } else { padding };
    let opens = ['[', '{', '('].iter().any(|c| line.text.trim_end().ends_with(*c)) || line.text.contains("<<");
    (!opens).then(|| Change {
        from: line.start,
        to: line.end(),
        new: format!("{}{name}{padding}= {value}", line.indent),
    })
}

/// `NAME is a block: write NAME { … } without the equals sign`, and the other way round for attributes.
fn as_block(document: &Document, help: &str, line: &Line) -> Option<Change> {
    if !help.contains("is a block: write ") {
        return None;
    }
    let _ = document;
    let equals = line.text.find('=')?;
    let opens = line.text.get(equals + 1..)?.trim_start().starts_with('{');
    let from = line.text.get(..equals)?.trim_end().len();
    let to = equals + 1 + (line.text.get(equals + 1..)?.len() - line.text.get(equals + 1..)?.trim_start().len());
    opens.then(|| Change { from: line.start + from, to: line.start + to, new: " ".into() })
}

/// `add NAME = VALUE`: behind the opening brace of the block in this line.
fn added(document: &Document, help: &str, from: usize, line: &Line) -> Option<Change> {
    let what = help.strip_prefix("add ")?;
    let what = what.split(" (or ").next()?.split(" to the job").next()?.split(", or ").next()?.trim();
    if what.contains('…') || what.contains("LABEL") || !what.contains(" = ") || what.contains('{') {
        return None;
    }
    let path = document.outline().around(from);
    let holder = if help.ends_with("to the job") { document.outline().job()? } else { path.last()? };
    let (name, value) = what.split_once(" = ")?;
    if let Some(setting) = holder.setting(name) {
        let (from, to) = (setting.value.start as usize, setting.value.end as usize);
        return Some(Change { from, to, new: value.to_owned() });
    }
    let header = Line::of(document, holder.header.start as usize);
    let opens = header.text.trim_end().ends_with('{');
    let _ = line;
    opens.then(|| Change { from: header.end(), to: header.end(), new: format!("\n{}  {what}", header.indent) })
}

/// `remove this block`, `remove this label`, `keep one of the two`, `remove the value`.
fn removed(document: &Document, help: &str, from: usize, line: &Line) -> Option<Change> {
    if !["remove this block", "keep one of the two", "remove the value"].iter().any(|h| help.starts_with(h)) {
        return None;
    }
    let outline = document.outline();
    let path = outline.around(from);
    let innermost = path.last()?;
    let setting = innermost
        .attributes
        .iter()
        .find(|s| s.name_span.start as usize >= line.start && (s.name_span.start as usize) < line.end());
    let (start, end) = match setting {
        Some(setting) => (setting.name_span.start as usize, setting.value.end as usize),
        None if innermost.header.start as usize == from => {
            (innermost.header.start as usize, innermost.span.end as usize)
        }
        // The second of two attributes is in no outline.
        None if line.text.split_once('=').is_some_and(|(_, value)| is_whole(value)) => (from, from + 1),
        None => return None,
    };
    let first = document.text.line_start(document.text.line_of(start));
    let last = document.text.line_of(end.saturating_sub(1));
    Some(Change { from: first, to: document.text.line_start(last + 1), new: String::new() })
}

/// Whether a value ends with its line.
fn is_whole(value: &str) -> bool {
    !value.trim_end().ends_with(['{', '[', '(', ',']) && !value.contains("<<")
}
