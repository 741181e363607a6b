//! Names of blocks and attributes that are not allowed where they stand.

use super::advice::{Advice, Given, whole};
use super::habits;
use super::outline::{Element, Literal};
use super::repair::{Edit, Repair};
use super::scope::{Instead, instead_of, nearest};

/// `a task block`, `an update block`.
pub(super) fn a_block(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind} block")
}

pub(super) fn unknown_name(given: &Given) -> Advice {
    let name = given.text().trim_matches('"');
    let path = given.path();
    let as_block = given.summary == "Unsupported block type";
    let path = match path.split_last() {
        Some((last, outer)) if last.header.start as usize == given.start => outer,
        _ => path.as_slice(),
    };
    let Some(innermost) = path.last() else {
        let (help, repair) = match (habits::foreign_block(name), nearest(name, OUTERMOST)) {
            (Some(foreign), _) => (foreign, without(given, None)),
            (None, Some(other)) => (format!("did you mean {other:?}?"), given.rename(name, other)),
            (None, None) => (
                "only job, variable, variables and locals blocks are allowed outside of the job".to_owned(),
                without(given, None),
            ),
        };
        return Advice::help(help).repaired(repair);
    };
    let what = match given.summary {
        "Unsupported argument" => "attribute",
        "Unsupported block type" => "block",
        _ => "name",
    };
    if let Some((message, help)) = habits::outside_of_content(name, given.start, innermost) {
        return Advice::say(message, Some(help)).repaired(into_content(given, innermost));
    }
    let message = format!("unknown {what} {name:?} in {}", a_block(&innermost.kind));
    if name == "for_each" {
        let kind = &innermost.kind;
        let labels = if innermost.labels.is_empty() { String::new() } else { format!("labels = [{kind}.value]; ") };
        let help = format!("dynamic {kind:?} {{ for_each = …; {labels}content {{ … }} }} repeats a block");
        let dynamic = given.edits().zip(innermost.setting(name)).and_then(|(e, s)| e.made_dynamic(innermost, s));
        return Advice::say(message, Some(help)).repaired(dynamic.or_else(|| given.without_setting()));
    }
    if let Some(foreign) = habits::foreign_argument(&innermost.kind, name) {
        return Advice::say(message, Some(foreign.to_owned())).repaired(without(given, Some(innermost)));
    }
    let Some((help, instead)) = instead_of(name, as_block, path) else {
        return Advice::say(message, None).repaired(without(given, Some(innermost)));
    };
    let repair = match instead {
        Instead::Name(other) => given.rename(name, other),
        Instead::Block => as_block_of(given, innermost),
        Instead::Inside(kind) => moved(given, innermost, kind),
        Instead::Unknown => None,
    };
    Advice::say(message, Some(help)).repaired(repair.or_else(|| without(given, Some(innermost))))
}

/// The blocks outside of all others.
const OUTERMOST: [&str; 4] = ["job", "locals", "variable", "variables"];

/// The name, an attribute or a block, goes with what belongs to it.
fn without(given: &Given, holder: Option<&Element>) -> Option<Repair> {
    let holder = holder.or(given.outline.map(|o| &o.root))?;
    let edits = given.edits()?;
    let block = holder.blocks.iter().find(|b| b.header.start as usize == given.start);
    let setting = holder.attributes.iter().find(|s| s.name_span.start as usize == given.start);
    let repair = match (block, setting) {
        (Some(block), _) => edits.remove_block(block),
        (None, Some(setting)) => edits.remove_setting(setting),
        (None, None) => return None,
    };
    Some(Repair { is_certain: false, ..repair })
}

/// `resources = { … }` as a block.
fn as_block_of(given: &Given, holder: &Element) -> Option<Repair> {
    let setting = holder.attributes.iter().find(|s| s.name_span.start as usize == given.start)?;
    let is_object = setting.literal == Literal::Object;
    let (from, to) = (setting.name_span.end as usize, setting.value.start as usize);
    given.edits().filter(|_| is_object)?;
    Some(Repair::certain(format!("Write {} {{ … }}", setting.name), [Edit::new(from, to, " ")]))
}

/// The attribute or block in a block inside of its own one.
fn moved(given: &Given, holder: &Element, kind: &str) -> Option<Repair> {
    let block = holder.blocks.iter().find(|b| b.header.start as usize == given.start).map(|b| b.header.to(b.span));
    let setting = holder.attributes.iter().find(|s| s.name_span.start as usize == given.start).map(whole);
    let span = block.or(setting)?;
    given.edits()?.move_into(holder, kind, span.start as usize, span.end as usize)
}

/// An attribute of a `dynamic` block in its content.
fn into_content(given: &Given, dynamic: &Element) -> Option<Repair> {
    let edits = given.edits()?;
    let (start, end) = edits.line(given.start);
    let line = given.outline?.text.get(given.start..end)?;
    let is_whole =
        line.split_once('=').is_some_and(|(_, v)| !v.trim_end().ends_with(['{', '[', '(']) && !v.contains("<<"));
    let has_content = given.outline?.slice(dynamic.span).contains("content");
    if !is_whole || given.outline?.text.get(start..given.start)?.trim() != "" {
        return None;
    }
    let title = "Move it into content { … }";
    if has_content {
        let edits = [edits.remove(given.start, end), edits.lines_in(dynamic, line)?];
        return Some(Repair::certain(title, edits));
    }
    let indent = given.outline?.text.get(start..given.start)?;
    let new = format!("content {{{0}{indent}  {line}{0}{indent}}}", edits.line_end());
    Some(Repair::certain(title, [Edit::new(given.start, end, new)]))
}
