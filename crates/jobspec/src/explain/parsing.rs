//! Findings from the parser's diagnostics.

use super::advice::{Given, advise};
use super::outline::{Outline, Syntax};
use super::{Finding, MAX_FINDINGS, Place, Severity, Stage, in_order, line_at};
use crate::parse::ParseError;
use encamp_hcl::diag::{Diag, Diagnostic, Diagnostics, Sources, Subject};
use encamp_hcl::json::{self, Member, Node, NodeKind};

/// What an attribute without a value says, after the diagnostic that tells why.
const UNKNOWN_VALUE: &str = "Unsuitable value: value must be known";

/// The findings of a failed parse. Diagnostics that only follow from others are left out.
pub fn parse_error(error: &ParseError) -> Vec<Finding> {
    let Diagnostics { list, texts, first_only, later, .. } = &error.diagnostics;
    let outlines: Vec<Outline> = texts.iter().map(|(name, text)| Outline::read(name, text, Syntax::Hcl)).collect();
    let mut told: Vec<(&str, Option<usize>)> = Vec::new();
    let kept = list.iter().enumerate().filter(|(i, d)| {
        // One mistake in the syntax makes several diagnostics.
        let line = d.range.as_ref().map(|r| r.start_line);
        let again = *first_only && told.iter().any(|(summary, at)| *summary == d.summary || *at == line);
        told.push((&d.summary, line));
        let follows = d.detail == UNKNOWN_VALUE && *i > 0;
        let twice = list.iter().take(*i).any(|earlier| earlier == *d);
        !(again || follows || twice)
    });
    let later = later.iter().enumerate().filter(|(i, d)| d.detail != UNKNOWN_VALUE || *i == 0);
    let all = kept.chain(later).map(|(_, d)| d).take(MAX_FINDINGS);
    in_order(all.map(|d| finding(d, &outlines)).collect())
}

fn finding(d: &Diagnostic, outlines: &[Outline]) -> Finding {
    let outline = d.origin.and_then(|o| outlines.get(o.text));
    let (start, end) = d.origin.map_or((0, 0), |o| (o.start, o.end));
    let place = outline.and_then(|o| Some(Place { range: d.range.clone()?, line: line_at(&o.text, start) }));
    let mut path = outline.map(|o| o.path(start)).unwrap_or_default();
    let is_unknown = matches!(d.summary.as_str(), "Unsupported block type" | "Extraneous JSON object property");
    if is_unknown && outline.is_some_and(|o| o.is_header(start)) {
        path.pop();
    }
    let given = Given { summary: &d.summary, detail: &d.detail, outline, main: outlines.first(), start, end };
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
        place: place.or(advice.place),
        block_path: path,
        suggestion: advice.help.or_else(|| hint.map(str::to_owned)),
        related: advice.related,
    }
}

/// Splits a detail text into what is wrong and the suggestion at its end.
fn split_hint(detail: &str) -> (&str, Option<&str>) {
    match detail.find(" Did you mean ") {
        Some(i) => (detail.get(..i).unwrap_or(detail), detail.get(i + 1..)),
        None => (detail, None),
    }
}

/// The finding of an API job in JSON that can't be read; `error` is what the reader said.
pub fn parse_json_error(name: &str, text: &str, error: &str) -> Finding {
    let sources = Sources::default();
    let source = sources.add(name, text);
    let reason = error.strip_prefix("Failed to parse JSON job: ").unwrap_or(error);
    let mut out = Finding {
        stage: Stage::Parse,
        severity: Severity::Error,
        summary: "Failed to parse JSON job".to_owned(),
        detail: reason.to_owned(),
        message: reason.to_owned(),
        place: None,
        block_path: Vec::new(),
        suggestion: None,
        related: None,
    };
    let outline = Outline::read(name, text, Syntax::Api);
    match json::parse(&sources, source) {
        Err(diags) => {
            let Some(Diag { subject: Subject::At(span), summary, detail, .. }) = diags.into_iter().next() else {
                return out;
            };
            out.place = Some(Place::of(&outline, span));
            out.suggestion = Some(if detail.is_empty() { summary } else { detail.replace('\n', " ") });
        }
        Ok(node) => {
            let Some((path, wanted)) = misfit(reason) else { return out };
            let Some(found) = find(&node, &path, reason) else { return out };
            out.place = Some(Place::of(&outline, found.span));
            out.block_path = outline.path(found.span.start as usize);
            let name = path.last().copied().unwrap_or("");
            out.message = format!("{name} takes {}, not {}", plain_type(wanted), kind_name(found));
            if let (NodeKind::String(text), "int") = (&found.kind, wanted)
                && text.parse::<i64>().is_ok()
            {
                out.suggestion = Some(format!("write the number without quotes: {name:?}: {text}"));
            }
        }
    }
    out
}

/// The members on the way to a value of the wrong type, and the type that was wanted there.
fn misfit(reason: &str) -> Option<(Vec<&str>, &str)> {
    let (_, rest) = reason.split_once("into Go struct field ")?;
    let (path, wanted) = rest.split_once(" of type ")?;
    // The first name is that of the type which holds the last member.
    Some((path.split('.').skip(1).collect(), wanted))
}

/// The first value at the end of a path that is what the reason says was found: `cannot unmarshal string into …`.
fn find<'n>(node: &'n Node, path: &[&str], reason: &str) -> Option<&'n Node> {
    let (_, rest) = reason.split_once("cannot unmarshal ")?;
    let (given, _) = rest.split_once(" into ")?;
    let mut level = vec![node];
    // A job without a wrapper is addressed as if it had one.
    let wrapped = members(node).iter().any(|m| m.name.eq_ignore_ascii_case("job"));
    let path = path.strip_prefix(&["Job"]).filter(|_| !wrapped).unwrap_or(path);
    for name in path {
        let members = level.into_iter().flat_map(each).flat_map(members);
        level = members.filter(|m| m.name.eq_ignore_ascii_case(name)).map(|m| &m.value).collect();
    }
    level.into_iter().find(|node| match (&node.kind, given.split_once(' ')) {
        (NodeKind::Number(text), Some(("number", number))) => text == number,
        (NodeKind::Number(_), _) => given == "number",
        (NodeKind::Bool(_), _) => given == "bool",
        (NodeKind::String(_), _) => given == "string",
        (NodeKind::Array(_), _) => given == "array",
        (NodeKind::Object(_), _) => given == "object",
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
