//! Outline, folding, links and formatting.

use std::path::Path;

use lsp_types::{DocumentLink, DocumentSymbol, FoldingRange, FoldingRangeKind, Range, SymbolKind, TextEdit, Url};

use crate::document::{Document, Kind};
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::Kind as TokenKind;
use encamp_jobspec::explain::outline::{Element, Literal};
use encamp_jobspec::fmt::format;

/// The blocks of a document.
pub(crate) fn symbols(document: &Document) -> Vec<DocumentSymbol> {
    let root = &document.outline().root;
    let mut out: Vec<DocumentSymbol> = root.blocks.iter().map(|b| symbol(document, b)).collect();
    out.extend(root.attributes.iter().map(|s| leaf(document, s)));
    out.sort_by_key(|s| s.range.start.line);
    out
}

#[allow(deprecated)]
fn symbol(document: &Document, element: &Element) -> DocumentSymbol {
    let text = &document.text;
    let children: Vec<DocumentSymbol> = match element.kind.as_str() {
        "locals" | "variables" => element.attributes.iter().map(|s| leaf(document, s)).collect(),
        _ => element.blocks.iter().map(|b| symbol(document, b)).collect(),
    };
    let driver = element.setting("driver").filter(|_| element.kind == "task");
    DocumentSymbol {
        name: element.title(),
        detail: driver.map(|s| document.outline().slice(s.value).trim_matches('"').to_owned()),
        kind: kind(&element.kind),
        tags: None,
        deprecated: None,
        range: text.range(element.header.start as usize, (element.span.end as usize).max(element.header.end as usize)),
        selection_range: text.range(element.header.start as usize, element.header.end as usize),
        children: Some(children).filter(|c| !c.is_empty()),
    }
}

#[allow(deprecated)]
fn leaf(document: &Document, s: &encamp_jobspec::explain::outline::Setting) -> DocumentSymbol {
    let range = document.text.range(s.name_span.start as usize, s.value.end as usize);
    let selection_range = document.text.range(s.name_span.start as usize, s.name_span.end as usize);
    DocumentSymbol {
        name: s.name.clone(),
        detail: None,
        kind: SymbolKind::VARIABLE,
        tags: None,
        deprecated: None,
        range,
        selection_range,
        children: None,
    }
}

fn kind(block: &str) -> SymbolKind {
    match block {
        "job" => SymbolKind::MODULE,
        "group" => SymbolKind::NAMESPACE,
        "task" => SymbolKind::CLASS,
        "variable" => SymbolKind::VARIABLE,
        "port" => SymbolKind::PROPERTY,
        _ => SymbolKind::STRUCT,
    }
}

/// The parts of a document that can be folded: blocks, and heredocs.
pub(crate) fn folds(document: &Document) -> Vec<FoldingRange> {
    let mut out = Vec::new();
    let line = |byte: usize| u32::try_from(document.text.line_of(byte)).unwrap_or(u32::MAX);
    let mut fold = |from: usize, to: usize, kind: Option<FoldingRangeKind>| {
        let (start_line, end_line) = (line(from), line(to));
        if end_line > start_line {
            let (start_character, end_character) = (None, None);
            out.push(FoldingRange { start_line, start_character, end_line, end_character, kind, collapsed_text: None });
        }
    };
    let mut open: Vec<&Element> = document.outline().root.blocks.iter().collect();
    while let Some(element) = open.pop() {
        // The line of the closing brace stays visible.
        let end = (element.span.end as usize).saturating_sub(1);
        let last = document.text.line_start(document.text.line_of(end)).saturating_sub(1);
        fold(element.header.start as usize, last, Some(FoldingRangeKind::Region));
        for setting in element.attributes.iter().filter(|s| s.literal != Literal::Bool) {
            fold(setting.name_span.start as usize, (setting.value.end as usize).saturating_sub(1), None);
        }
        open.extend(&element.blocks);
    }
    out.sort_by_key(|f| (f.start_line, f.end_line));
    out
}

/// The links of a document: addresses of artifacts, and files that functions read.
pub(crate) fn links(document: &Document) -> Vec<DocumentLink> {
    if document.kind != Kind::Job || !document.is_native() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut link = |range: Range, target: Option<Url>, tooltip: &str| {
        if let Some(target) = target {
            out.push(DocumentLink { range, target: Some(target), tooltip: Some(tooltip.to_owned()), data: None });
        }
    };
    let mut open: Vec<&Element> = document.outline().root.blocks.iter().collect();
    while let Some(element) = open.pop() {
        if element.kind == "artifact"
            && let Some(setting) = element.setting("source")
            && let Literal::Text(source) = &setting.literal
        {
            let range =
                document.text.range(setting.value.start as usize + 1, (setting.value.end as usize).saturating_sub(1));
            link(range, Url::parse(source).ok().filter(|u| u.scheme().starts_with("http")), "Open the artifact");
        }
        open.extend(&element.blocks);
    }
    for (path, from, to) in read_files(document.text.as_str()) {
        let whole = document.directory.join(Path::new(&path));
        link(document.text.range(from, to), Url::from_file_path(whole).ok(), "Open the file");
    }
    out.sort_by_key(|l| (l.range.start.line, l.range.start.character));
    out
}

/// The paths in `file("…")` and its like, with their places.
fn read_files(text: &str) -> Vec<(String, usize, usize)> {
    const FUNCTIONS: [&str; 3] = ["file", "filebase64", "templatefile"];
    let tokens = lex(text, 0, Start::Normal);
    let slice =
        |at: usize| tokens.get(at).and_then(|t| text.get(t.span.start as usize..t.span.end as usize)).unwrap_or("");
    let mut out = Vec::new();
    for (at, window) in tokens.windows(5).enumerate() {
        let [name, open, quote, path, close] = window else { continue };
        let kinds = [name.kind, open.kind, quote.kind, path.kind, close.kind];
        let wanted = [TokenKind::Ident, TokenKind::OParen, TokenKind::OQuote, TokenKind::QuotedLit, TokenKind::CQuote];
        if kinds == wanted && FUNCTIONS.contains(&slice(at)) {
            out.push((slice(at + 3).to_owned(), path.span.start as usize, path.span.end as usize));
        }
    }
    out
}

/// The edits that bring a document, or some lines of it, into the standard format: none where its syntax is broken.
pub(crate) fn formatted(document: &Document, lines: Option<std::ops::RangeInclusive<usize>>) -> Vec<TextEdit> {
    if !document.is_native() {
        return Vec::new();
    }
    let Ok(new) = format(document.text.as_str().as_bytes(), &document.name()) else { return Vec::new() };
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (document.text.as_str().split('\n').collect(), new.split('\n').collect());
    if old_lines.len() != new_lines.len() {
        if lines.is_some() || new == document.text.as_str() {
            return Vec::new();
        }
        let range = document.text.range(0, document.text.as_str().len());
        return vec![TextEdit { range, new_text: new }];
    }
    let changed = old_lines
        .iter()
        .zip(&new_lines)
        .enumerate()
        .filter(|(at, (old, new))| old != new && lines.as_ref().is_none_or(|lines| lines.contains(at)));
    let edit = |(at, (_, new)): (usize, (&&str, &&str))| {
        let start = document.text.line_start(at);
        let range = document.text.range(start, start + document.text.line(at).len());
        TextEdit { range, new_text: new.trim_end_matches('\r').to_owned() }
    };
    changed.map(edit).collect()
}
