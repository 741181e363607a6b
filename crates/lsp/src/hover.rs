//! What a name means: descriptions of fields, their values with defaults, references, functions, constraints.

use serde_json::Value as Json;

use crate::cluster::Names;
use crate::cursor::{Cursor, Part};
use crate::document::{Document, Kind};
use crate::names as of_file;
use crate::surroundings::Surroundings;
use encamp_hcl::functions;
use encamp_jobspec::explain::outline::{Element, Outline, Setting};
use encamp_jobspec::reference::{Attribute, Form, place};
use encamp_model::Constraint;

/// Characters of a value that are shown.
const MAX_SHOWN: usize = 400;
/// Values of an attribute that are listed.
const MAX_VALUES: usize = 8;

/// The text about a byte of a document, and the bytes it is about.
pub(crate) fn hover(
    document: &Document,
    offset: usize,
    around: &dyn Surroundings,
    names: Option<&Names>,
) -> Option<(String, (usize, usize))> {
    if !matches!(document.kind, Kind::Job | Kind::ApiJob) {
        return None;
    }
    let outline = document.outline();
    if document.is_native() {
        if let Some(found) = variable(document, offset, around) {
            return Some(found);
        }
        if let Some(found) = word(document, offset, names) {
            return Some(found);
        }
    }
    let path = outline.around(offset);
    let innermost = path.last()?;
    if within(offset, innermost.header.start, innermost.header.end) {
        return block(document, &path, names);
    }
    let setting = innermost.attributes.iter().find(|s| within(offset, s.name_span.start, s.value.end))?;
    attribute(document, &path, setting, around, names)
}

fn within(offset: usize, from: u32, to: u32) -> bool {
    (from as usize..=to as usize).contains(&offset)
}

fn kinds<'o>(path: &[&'o Element]) -> Vec<&'o str> {
    path.iter().map(|e| e.kind.as_str()).collect()
}

fn shown(value: &Json) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or("")),
        None => text,
    }
}

/// A variable or a local: its value.
fn variable(document: &Document, offset: usize, around: &dyn Surroundings) -> Option<(String, (usize, usize))> {
    let (name, place) = of_file::at(document.outline(), offset)?;
    let partial = document.partial(around);
    let (what, known) = if name.root == "var" {
        ("variable", partial.variables.get(&name.name))
    } else {
        ("local", partial.locals.get(&name.name))
    };
    let declared = of_file::declared(document.outline(), name.root).iter().any(|(n, _)| *n == name.name);
    let mut text = format!("{what} `{}`", name.name);
    if let Some(described) = description(document, &name) {
        text.push_str(&format!("\n\n{described}"));
    }
    text.push_str(&match (known, declared) {
        (Some(value), _) => format!("\n\nvalue: `{}`", shown(value)),
        (None, true) => "\n\nno value is known".to_owned(),
        (None, false) => "\n\nthe file does not declare it".to_owned(),
    });
    Some((text, place))
}

/// The description of a variable.
fn description(document: &Document, name: &of_file::Name) -> Option<String> {
    let outline = document.outline();
    let mut blocks = outline.root.of("variable");
    let block = blocks.find(|b| name.root == "var" && b.labels.first() == Some(&name.name))?;
    let text = outline.slice(block.setting("description")?.value);
    Some(text.trim_matches('"').to_owned())
}

/// A function, or a reference to what nodes have.
fn word(document: &Document, offset: usize, names: Option<&Names>) -> Option<(String, (usize, usize))> {
    let text = document.text.as_str();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let from = text
        .get(..offset)?
        .rfind(|c| !is_name(c))
        .map_or(0, |at| at + text.get(at..).and_then(|t| t.chars().next()).map_or(1, char::len_utf8));
    let to = text.get(offset..)?.find(|c| !is_name(c)).map_or(text.len(), |at| offset + at);
    let word = text.get(from..to)?;
    let cursor = Cursor::at(text, to);
    if text.get(to..)?.starts_with('(') && matches!(cursor.part, Part::Value(_)) | cursor.interpolation {
        let signature = functions::signature(word);
        let special = functions::names().contains(&word).then(|| format!("{word}(…)"));
        return Some((format!("function `{}`", signature.or(special)?), (from, to)));
    }
    let is_reference = ["attr.", "meta.", "node."].iter().any(|root| word.starts_with(root));
    if !is_reference || !cursor.interpolation {
        return None;
    }
    let names = names?;
    let found = names.values(word);
    let nodes = names.nodes;
    let having: u32 = found.iter().map(|(_, count)| count).sum();
    let mut out = format!("`{word}`: {having} of {nodes} nodes have it");
    for (value, count) in found.iter().take(MAX_VALUES) {
        out.push_str(&format!("\n- `{value}` ({count})"));
    }
    if found.len() > MAX_VALUES {
        out.push_str(&format!("\n- … and {} further values", found.len() - MAX_VALUES));
    }
    Some((out, (from, to)))
}

/// A block: what it is for.
fn block(document: &Document, path: &[&Element], names: Option<&Names>) -> Option<(String, (usize, usize))> {
    let (innermost, outer) = path.split_last()?;
    let span = (innermost.header.start as usize, innermost.header.end as usize);
    if outer.is_empty() {
        let text = match innermost.kind.as_str() {
            "job" => "A job: what an operator submits and the schedulers work on.",
            "variable" => "An input of the file: given with -var, -var-file, NOMAD_VAR_…, or its default.",
            "variables" => "Inputs of the file, each with its default.",
            "locals" => "Names for values in this file.",
            _ => return None,
        };
        return Some((format!("**{}**\n\n{text}", innermost.kind), span));
    }
    let known = place(kinds(outer))?.blocks().into_iter().find(|b| b.name == innermost.kind)?;
    let times = if known.once { "once" } else { "any number of times" };
    let mut text = format!("**{}** block, {times}", known.name);
    if let Some(description) = known.description {
        text.push_str(&format!("\n\n{description}"));
    }
    if let Some(version) = known.since {
        text.push_str(&format!("\n\nsince Nomad {version}"));
    }
    if let Some(line) = satisfied(document.outline(), innermost, names) {
        text.push_str(&format!("\n\n{line}"));
    }
    Some((text, span))
}

/// `71 of 84 nodes satisfy this`, for constraints and affinities.
pub(crate) fn satisfied(outline: &Outline, element: &Element, names: Option<&Names>) -> Option<String> {
    if !matches!(element.kind.as_str(), "constraint" | "affinity") {
        return None;
    }
    let constraint = constraint(outline, element)?;
    if constraint.operand.starts_with("distinct_") {
        return None;
    }
    let names = names?;
    Some(format!("{} of {} nodes satisfy this", names.satisfying(&constraint)?, names.nodes))
}

/// The constraint that a block describes, if its values are written literally.
fn constraint(outline: &Outline, element: &Element) -> Option<Constraint> {
    let text = |name: &str| -> Option<String> {
        let value = outline.slice(element.setting(name)?.value);
        let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"')).unwrap_or(value);
        let refers = ["${var.", "${local."].iter().any(|r| inner.contains(r));
        (!refers).then(|| inner.replace("\\\\", "\\").replace("\\\"", "\""))
    };
    let shorthand = ["version", "semver", "regexp", "set_contains"];
    let affinity = ["set_contains_any", "set_contains_all"];
    let short = shorthand.iter().chain(affinity.iter().filter(|_| element.kind == "affinity"));
    let short = short.filter_map(|name| Some(((*name).to_owned(), text(name)?))).next_back();
    let (operand, rtarget) = match short {
        Some((operand, value)) => (operand, value),
        None => (text("operator").unwrap_or_else(|| "=".into()), text("value").unwrap_or_default()),
    };
    Some(Constraint { ltarget: text("attribute")?, rtarget, operand })
}

fn attribute(
    document: &Document,
    path: &[&Element],
    setting: &Setting,
    around: &dyn Surroundings,
    names: Option<&Names>,
) -> Option<(String, (usize, usize))> {
    let here = place(kinds(path))?;
    let span = (setting.name_span.start as usize, setting.name_span.end as usize);
    let job = document.job_json(around);
    let object = job.and_then(|job| object_of(job, path));
    if here.is_free() {
        let value = object?.get(&setting.name)?;
        return Some((format!("**{}**\n\nvalue: `{}`", setting.name, shown(value)), span));
    }
    let known = here.attributes().into_iter().find(|a| a.name == setting.name)?;
    let mut text = format!("**{}**: {}", known.name, known.takes);
    if let Some(values) = known.values {
        text.push_str(&format!("; one of {}", values.join(", ")));
    }
    if known.required {
        text.push_str("; required");
    }
    if let Some(description) = known.description {
        text.push_str(&format!("\n\n{description}"));
    }
    if let Some(version) = known.since {
        text.push_str(&format!("\n\nsince Nomad {version}"));
    }
    if let Some(default) = default(&known, path) {
        text.push_str(&format!("\n\ndefault: `{default}`"));
    }
    if let Some(value) = object.and_then(|o| o.get(&known.json)).filter(|v| !v.is_null()) {
        text.push_str(&format!("\n\nvalue: `{}`", worded(&known, value)));
    }
    if let Some(line) = path.last().and_then(|e| satisfied(document.outline(), e, names)) {
        text.push_str(&format!("\n\n{line}"));
    }
    Some((text, span))
}

/// A value in words: durations with their unit.
pub(crate) fn worded(known: &Attribute, value: &Json) -> String {
    match (known.form, value.as_i64()) {
        (Form::Duration, Some(nanos)) => duration(nanos),
        _ => shown(value),
    }
}

/// `1h30m0s` as job files write it: without units that are zero.
pub(crate) fn duration(nanos: i64) -> String {
    let seconds = nanos / 1_000_000_000;
    if seconds.checked_mul(1_000_000_000) != Some(nanos) || nanos == 0 {
        return if nanos % 1_000_000 == 0 { format!("{}ms", nanos / 1_000_000) } else { format!("{nanos}ns") };
    }
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    parts.iter().filter(|(n, _)| *n != 0).map(|(n, unit)| format!("{n}{unit}")).collect()
}

/// The object of the job that a block became. Blocks that `dynamic` blocks make are not told apart.
pub(crate) fn object_of<'j>(job: &'j Json, path: &[&Element]) -> Option<&'j Json> {
    let mut at = job;
    let mut outer = path.iter();
    let mut parent = outer.next()?;
    let mut walked = vec![parent.kind.as_str()];
    for element in outer {
        if parent.blocks.iter().any(|b| b.dynamic && b.kind == element.kind) || element.kind == "port" {
            return None;
        }
        let block = place(walked.iter().copied())?.blocks().into_iter().find(|b| b.name == element.kind)?;
        let inner = at.get(&block.json)?;
        at = match inner {
            Json::Array(items) => {
                let index = parent.of(&element.kind).position(|b| b.header == element.header)?;
                items.get(index)?
            }
            Json::Object(members) if block.label && members.contains_key(element.labels.first()?) => {
                members.get(element.labels.first()?)?
            }
            other => other,
        };
        walked.push(element.kind.as_str());
        parent = element;
    }
    Some(at)
}

/// The default of an attribute: what the canonical form of a job has where the block says nothing.
fn default(known: &Attribute, path: &[&Element]) -> Option<String> {
    let kinds = kinds(path);
    // Names are made of the names around them.
    if known.name == "name" {
        return None;
    }
    let value = crate::hints::default_of(&kinds, &known.json)?;
    Some(worded(known, &value)).filter(|text| text != "\"\"" && text != "null")
}
