//! Findings from the parser's diagnostics.

use super::advice::{Given, advise};
use super::outline::{Outline, Syntax};
use super::repair::{Edit, Repair};
use super::templates::unrendered;
use super::{Finding, MAX_FINDINGS, Place, Severity, Stage, in_order, line_at};
use crate::parse::{JobJsonError, JobJsonReason, JsonKind, Misfit, ParseError, SyntaxTree};
use encamp_hcl::diag::{Diag, Diagnostic, Diagnostics, Sources, Subject};
use encamp_hcl::json::{self, Member, Node, NodeKind};

/// The error of an attribute without a value, after the diagnostic that says why.
const UNKNOWN_VALUE: &str = "Unsuitable value: value must be known";

/// The findings of a failed parse. Diagnostics that only follow from others are left out.
pub fn parse_error(error: &ParseError) -> Vec<Finding> {
    explained(error, None)
}

/// The same for a file of which more is known. `outline`: that of the tree.
pub fn parse_error_of(error: &ParseError, tree: &SyntaxTree, outline: &Outline) -> Vec<Finding> {
    if tree.is_broken() {
        return explained(error, Some(&Outline::unreadable(&outline.name, &outline.text)));
    }
    explained(error, Some(outline))
}

/// The same for what [`SyntaxTree::partial_job`] found in a file with syntax errors.
pub fn partial_parse_error(error: &ParseError, outline: &Outline) -> Vec<Finding> {
    explained(error, Some(outline))
}

/// `main`: the outline of the job file, if it is known.
fn explained(error: &ParseError, main: Option<&Outline>) -> Vec<Finding> {
    if let Some(finding) = unrendered(&error.diagnostics) {
        return vec![finding];
    }
    let Diagnostics { list, texts, first_only, later, .. } = &error.diagnostics;
    let unknown = texts.iter().skip(usize::from(main.is_some()));
    let read: Vec<Outline> = unknown.map(|(name, text)| Outline::read(name, text, Syntax::Hcl)).collect();
    let outlines: Vec<&Outline> = main.into_iter().chain(&read).collect();
    let mut reported: Vec<(&str, Option<usize>)> = Vec::new();
    let kept = list.iter().enumerate().filter(|(i, d)| {
        // One mistake in the syntax makes several diagnostics.
        let line = d.range.as_ref().map(|r| r.start_line);
        let again = *first_only && reported.iter().any(|(summary, at)| *summary == d.summary || *at == line);
        reported.push((&d.summary, line));
        let follows = d.detail == UNKNOWN_VALUE && *i > 0;
        let twice = list.iter().take(*i).any(|earlier| earlier == *d);
        !(again || follows || twice)
    });
    let later = later.iter().enumerate().filter(|(i, d)| d.detail != UNKNOWN_VALUE || *i == 0);
    let all = kept.chain(later).map(|(_, d)| d).take(MAX_FINDINGS);
    in_order(all.map(|d| finding(d, &outlines)).collect())
}

fn finding(d: &Diagnostic, outlines: &[&Outline]) -> Finding {
    let outline = d.origin.and_then(|o| outlines.get(o.text)).copied();
    let (start, end) = d.origin.map_or((0, 0), |o| (o.start, o.end));
    let place = outline.and_then(|o| Some(Place { range: d.range.clone()?, line: line_at(&o.text, start) }));
    let mut path = outline.map(|o| o.path(start)).unwrap_or_default();
    let is_unknown = matches!(d.summary.as_str(), "Unsupported block type" | "Extraneous JSON object property");
    if is_unknown && outline.is_some_and(|o| o.is_header(start)) {
        path.pop();
    }
    let given = Given { summary: &d.summary, detail: &d.detail, outline, main: outlines.first().copied(), start, end };
    let advice = advise(&given);
    let (detail, hint) = split_hint(&d.detail);
    let first = detail.split("\n\n").next().unwrap_or(detail).trim().trim_end_matches('.').replace('\n', " ");
    let message = if first.is_empty() { d.summary.clone() } else { first };
    Finding {
        stage: Stage::Parse,
        severity: if d.warning { Severity::Warning } else { Severity::Error },
        summary: d.summary.clone(),
        detail: d.detail.clone(),
        message: advice.message.unwrap_or(message),
        place: advice.place.or(place),
        block_path: path,
        suggestion: advice.help.or_else(|| hint.map(str::to_owned)),
        related: advice.related,
        repair: advice.repair,
    }
}

/// Splits a detail text into what is wrong and the suggestion at its end.
fn split_hint(detail: &str) -> (&str, Option<&str>) {
    match detail.find(" Did you mean ") {
        Some(i) => (detail.get(..i).unwrap_or(detail), detail.get(i + 1..)),
        None => (detail, None),
    }
}

/// The finding of an API job in JSON that can't be read.
pub fn parse_json_error(name: &str, text: &str, error: &JobJsonError) -> Finding {
    let sources = Sources::default();
    let source = sources.add(name, text);
    let reason = error.reason.to_string();
    let mut out = Finding {
        stage: Stage::Parse,
        severity: Severity::Error,
        summary: "Failed to parse JSON job".to_owned(),
        detail: reason.clone(),
        message: reason,
        place: None,
        block_path: Vec::new(),
        suggestion: None,
        related: None,
        repair: None,
    };
    let outline = Outline::read(name, text, Syntax::Api);
    match json::parse(&sources, source) {
        Err(diags) => {
            let Some(Diag { subject: Subject::At(span), summary, detail, .. }) = diags.into_iter().next() else {
                return out;
            };
            out.place = Some(Place::of(&outline, span));
            out.suggestion = Some(if detail.is_empty() { summary } else { detail.replace('\n', " ") });
            let (start, end) = (span.start as usize, span.end as usize);
            out.repair =
                (outline.slice(span) == ",").then(|| Repair::certain("Remove the comma", [Edit::new(start, end, "")]));
        }
        Ok(node) => {
            let JobJsonReason::Misfit(Misfit::Member { found, path, wanted, .. }) = &error.reason else { return out };
            let path: Vec<&str> = path.split('.').collect();
            let Some(found) = find(&node, &path, found) else { return out };
            out.place = Some(Place::of(&outline, found.span));
            out.block_path = outline.path(found.span.start as usize);
            let name = path.last().copied().unwrap_or("");
            out.message = format!("{name} takes {}, not {}", plain_type(wanted), kind_name(found));
            if let (NodeKind::String(text), "int") = (&found.kind, wanted.as_str())
                && text.parse::<i64>().is_ok()
            {
                out.suggestion = Some(format!("write the number without quotes: {name:?}: {text}"));
                let (start, end) = (found.span.start as usize, found.span.end as usize);
                out.repair = Some(Repair::certain(format!("Write {text}"), [Edit::new(start, end, text.as_str())]));
            }
        }
    }
    out
}

/// The first value of that kind at the end of a path.
fn find<'n>(node: &'n Node, path: &[&str], kind: &JsonKind) -> Option<&'n Node> {
    let mut level = vec![node];
    // A job without a wrapper is addressed as if it had one.
    let wrapped = members(node).iter().any(|m| m.name.eq_ignore_ascii_case("job"));
    let path = path.strip_prefix(&["Job"]).filter(|_| !wrapped).unwrap_or(path);
    for name in path {
        let members = level.into_iter().flat_map(each).flat_map(members);
        level = members.filter(|m| m.name.eq_ignore_ascii_case(name)).map(|m| &m.value).collect();
    }
    level.into_iter().find(|node| match (&node.kind, kind) {
        (NodeKind::Number(text), JsonKind::Literal(number)) => text == number,
        (NodeKind::Number(_), kind) => *kind == JsonKind::Number,
        (NodeKind::Bool(_), kind) => *kind == JsonKind::Bool,
        (NodeKind::String(_), kind) => *kind == JsonKind::String,
        (NodeKind::Array(_), kind) => *kind == JsonKind::Array,
        (NodeKind::Object(_), kind) => *kind == JsonKind::Object,
        (NodeKind::Null, _) => false,
    })
}

fn each(node: &Node) -> &[Node] {
    match &node.kind {
        NodeKind::Array(items) => items,
        _ => std::slice::from_ref(node),
    }
}

fn members(node: &Node) -> &[Member] {
    match &node.kind {
        NodeKind::Object(members) => members,
        _ => &[],
    }
}

fn kind_name(node: &Node) -> &'static str {
    match node.kind {
        NodeKind::Null => "null",
        NodeKind::Bool(_) => "true or false",
        NodeKind::Number(_) => "a number",
        NodeKind::String(_) => "a string",
        NodeKind::Array(_) => "a list",
        NodeKind::Object(_) => "an object",
    }
}

fn plain_type(go: &str) -> String {
    match go {
        "string" => "a string".to_owned(),
        "bool" => "true or false".to_owned(),
        "time.Duration" => "a duration: a string such as \"30s\", or nanoseconds".to_owned(),
        "float64" => "a number".to_owned(),
        _ if go.starts_with("[]") => "a list".to_owned(),
        _ if go.starts_with("map") => "an object".to_owned(),
        _ if go.starts_with("int") || go.starts_with("uint") => "a whole number".to_owned(),
        _ => "an object".to_owned(),
    }
}
