//! Variables, locals and members of objects that there are not.

use super::advice::{Advice, Given};
use super::outline::{Outline, Setting};
use super::repair::{Edits, Repair, placeholder};
use super::scope::nearest;

/// Names of the variables and locals of a job file.
pub(super) fn declared(outline: &Outline, root: &str) -> Vec<String> {
    let blocks = || outline.root.blocks.iter();
    let attributes = |kind: &'static str| {
        blocks().filter(move |b| b.kind == kind).flat_map(|b| b.attributes.iter().map(|s| s.name.clone()))
    };
    match root {
        "var" => {
            let long = blocks().filter(|b| b.kind == "variable").filter_map(|b| b.labels.first().cloned());
            long.chain(attributes("variables")).collect()
        }
        _ => attributes("locals").collect(),
    }
}

pub(super) fn unknown_value(given: &Given) -> Advice {
    let (Some(outline), Some(main)) = (given.outline, given.main) else { return Advice::default() };
    let name = given.text().trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    let before = outline.text.get(..given.start).unwrap_or("");
    let root = ["var", "local"].into_iter().find(|root| {
        before
            .strip_suffix(root)
            .is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')))
    });
    let Some(root) = root else { return missing_member(given, name) };
    let names = declared(main, root);
    if root == "local" && names.iter().any(|n| n == name) {
        return match given.setting().and_then(|s| cycle(main, &s.name)) {
            Some(way) => Advice::say(
                format!("these locals depend on each other in a cycle: {}", way.join(" -> ")),
                Some("give one of them a value that does not depend on the others".to_owned()),
            )
            .repaired(given.edits().zip(given.setting()).map(|(edits, setting)| {
                let repair = edits.value(setting, "\"\"");
                Repair { is_certain: false, ..repair }
            })),
            None => Advice::help(format!("the value of local.{name} could not be determined; see the other problems")),
        };
    }
    let what = if root == "var" { "variable" } else { "local" };
    let message = format!("there is no {what} {name:?}");
    let (help, repair) = match nearest(name, names.iter().map(String::as_str)) {
        Some(other) => (format!("did you mean {root}.{other}?"), given.rename(name, other)),
        None if root == "var" => {
            (format!("declare it outside of the job: variable {name:?} {{}}"), declaration(given, root, name))
        }
        None => (format!("define it outside of the job: locals {{ {name} = … }}"), declaration(given, root, name)),
    };
    let listed = if names.is_empty() || names.len() > 12 {
        String::new()
    } else {
        format!(" ({what}s of this file: {})", names.join(", "))
    };
    Advice::say(message, Some(help + &listed)).repaired(repair)
}

/// The declaration of a variable or a local, with a placeholder of the type that is wanted where it is used.
fn declaration(given: &Given, root: &str, name: &str) -> Option<Repair> {
    let main = given.main?;
    let edits = Edits::of(main)?;
    let source = given.setting().map_or("", |s| main.slice(s.value));
    let value = placeholder(&given.path(), given.setting().map_or("", |s| s.name.as_str()), source);
    if root == "var" {
        let lines = format!("variable {name:?} {{\n  default = {value}\n}}");
        return Some(Repair::fallback(format!("Declare variable {name:?}"), [edits.declare(&lines)]));
    }
    let line = format!("{name} = {value}");
    let edit = match main.root.of("locals").next() {
        Some(block) => edits.lines_in(block, &line)?,
        None => edits.declare(&format!("locals {{\n  {line}\n}}")),
    };
    Some(Repair::fallback(format!("Define local.{name}"), [edit]))
}

/// A member that an object does not have, such as one of `jsondecode(…)`.
fn missing_member(given: &Given, name: &str) -> Advice {
    if !given.detail.starts_with("This object does not have an attribute") {
        return Advice::default();
    }
    let source = given.outline.zip(given.setting()).map_or("", |(o, s)| o.slice(s.value));
    let tried = given
        .edits()
        .zip(given.setting())
        .map(|(e, s)| Repair { is_certain: false, ..e.value(s, &format!("try({source}, null)")) });
    Advice::help(format!("try(….{name}, null) gives null where {name} is missing, and keys(…) lists what is there"))
        .repaired(tried.filter(|_| !source.contains('\n')))
}

/// The way from a local back to itself.
fn cycle(outline: &Outline, start: &str) -> Option<Vec<String>> {
    let settings = || outline.root.of("locals").flat_map(|b| &b.attributes);
    let mut way = vec![start.to_owned()];
    // Depth first, without visiting a local twice.
    let mut seen: Vec<String> = Vec::new();
    let mut open: Vec<Vec<String>> = vec![needs(outline, settings().find(|s| s.name == start)?)];
    while let Some(next) = open.last_mut() {
        let Some(name) = next.pop() else {
            open.pop();
            way.pop();
            continue;
        };
        if let Some(at) = way.iter().position(|n| *n == name) {
            let mut circle: Vec<String> = way.drain(at..).collect();
            circle.push(name);
            return Some(circle.into_iter().map(|n| format!("local.{n}")).collect());
        }
        // Circles longer than that are not looked for.
        if seen.len() < 1000
            && let Some(setting) = settings().find(|s| s.name == name).filter(|_| !seen.contains(&name))
        {
            seen.push(name.clone());
            open.push(needs(outline, setting));
            way.push(name);
        }
    }
    None
}

/// The locals that a value mentions.
fn needs(outline: &Outline, setting: &Setting) -> Vec<String> {
    let text = outline.slice(setting.value);
    let name = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).collect();
    text.match_indices("local.").map(|(at, root)| name(text.get(at + root.len()..).unwrap_or(""))).collect()
}
