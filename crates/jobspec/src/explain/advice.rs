//! Hints for diagnostics of the parser, by their summary.

use super::habits;
use super::heredocs::{self, Unclosed};
use super::outline::{Element, Outline, Setting};
use super::scope::{Allowed, allowed, instead_of, nearest};
use super::values::{bare_number, wrong_value};
use super::{Place, values};
use crate::parse::schema::Kind;
use encamp_hcl::diag::{Range, Span};
use encamp_hcl::functions;

/// A diagnostic and where it is.
pub(crate) struct Given<'a> {
    pub summary: &'a str,
    pub detail: &'a str,
    /// The file it is about.
    pub outline: Option<&'a Outline>,
    /// The job file.
    pub main: Option<&'a Outline>,
    /// Bytes of the file.
    pub start: usize,
    pub end: usize,
}

/// The advice beyond the diagnostic.
#[derive(Default)]
pub(crate) struct Advice {
    pub message: Option<String>,
    pub help: Option<String>,
    /// Where it is, for diagnostics that tell another place or none.
    pub place: Option<Place>,
    pub related: Option<(Place, String)>,
}

impl Advice {
    fn help(text: impl Into<String>) -> Advice {
        Advice { help: Some(text.into()), ..Advice::default() }
    }

    fn say(message: impl Into<String>, help: Option<String>) -> Advice {
        Advice { message: Some(message.into()), help, ..Advice::default() }
    }
}

impl<'a> Given<'a> {
    fn text(&self) -> &'a str {
        self.outline.and_then(|o| o.text.get(self.start..self.end)).unwrap_or("")
    }

    fn path(&self) -> Vec<&'a Element> {
        self.outline.map(|o| o.around(self.start)).unwrap_or_default()
    }

    /// The attribute the diagnostic is about or inside of.
    fn setting(&self) -> Option<&'a Setting> {
        let path = self.path();
        let root = self.outline.map(|o| &o.root)?;
        let holder = path.last().copied().unwrap_or(root);
        holder.attributes.iter().find(|s| (s.name_span.start as usize..s.value.end as usize).contains(&self.start))
    }
}

/// Looks for advice.
pub(crate) fn advise(given: &Given) -> Advice {
    match given.summary {
        "Unsupported argument" | "Unsupported block type" | "Extraneous JSON object property" => unknown_name(given),
        "Unsuitable value type" | "Incorrect attribute value type" => wrong_type(given),
        "Unsupported attribute" | "Invalid index" => unknown_value(given),
        "Call to unknown function" => unknown_function(given),
        "Error in function call" if given.detail.contains("no file exists at") => missing_file(given),
        "Unterminated template string" => unclosed_heredoc(given),
        "Invalid expression" | "Invalid character" | "Unsupported operator" => misread_heredoc(given),
        "Missing dynamic content block" => Advice::help("add content { … } with the body of the blocks that are made"),
        "Invalid operand" => operand(given),
        "Invalid template interpolation value" if given.detail.contains("tuple") || given.detail.contains("list") => {
            Advice::help("join(\",\", …) or jsonencode(…) make one string of a list")
        }
        "Invalid multi-line string" => Advice::say(
            "this string is not closed before the line ends",
            Some("add the missing quote; write a multi-line string as <<EOF … EOF".to_owned()),
        ),
        "Argument or block definition required" => definition(given),
        "Missing required argument" => missing_argument(given),
        "Missing job block" => Advice::help("a job file contains one job \"NAME\" { … } block with at least one group"),
        "Attribute redefined" => Advice { related: first_definition(given), ..Advice::help("keep one of the two") },
        "Undefined -var variable" | "Undefined variable" => undeclared(given),
        "Duplicate variable" => declared_twice(given),
        s if s.starts_with("Unset variable ") => unset(given, s),
        s if s.starts_with("Missing name for ") || s.starts_with("Missing type for ") => missing_label(s),
        s if s.starts_with("Extraneous label for ") => Advice::help("remove this label"),
        s if s.starts_with("Duplicate ") && s.ends_with(" block") => {
            Advice { related: first_definition(given), ..Advice::help("keep one of the two blocks, or merge them") }
        }
        _ => Advice::default(),
    }
}

/// `a task block`, `an update block`.
fn a_block(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind} block")
}

fn unknown_name(given: &Given) -> Advice {
    let name = given.text().trim_matches('"');
    let path = given.path();
    let as_block = given.summary == "Unsupported block type";
    let path = match path.split_last() {
        Some((last, outer)) if last.header.start as usize == given.start => outer,
        _ => path.as_slice(),
    };
    let Some(innermost) = path.last() else {
        let help = match (habits::foreign_block(name), nearest(name, ["job", "locals", "variable", "variables"])) {
            (Some(foreign), _) => foreign,
            (None, Some(other)) => format!("did you mean {other:?}?"),
            (None, None) => "only job, variable, variables and locals blocks are allowed outside of the job".to_owned(),
        };
        return Advice::help(help);
    };
    let what = match given.summary {
        "Unsupported argument" => "attribute",
        "Unsupported block type" => "block",
        _ => "name",
    };
    if let Some((message, help)) = habits::outside_of_content(name, given.start, innermost) {
        return Advice::say(message, Some(help));
    }
    let message = format!("unknown {what} {name:?} in {}", a_block(&innermost.kind));
    if name == "for_each" {
        let kind = &innermost.kind;
        let labels = if innermost.labels.is_empty() { String::new() } else { format!("labels = [{kind}.value]; ") };
        let help = format!("dynamic {kind:?} {{ for_each = …; {labels}content {{ … }} }} repeats a block");
        return Advice::say(message, Some(help));
    }
    let foreign = habits::foreign_argument(&innermost.kind, name).map(str::to_owned);
    Advice::say(message, foreign.or_else(|| instead_of(name, as_block, path)))
}

fn wrong_type(given: &Given) -> Advice {
    let (path, Some(setting)) = (given.path(), given.setting()) else { return Advice::default() };
    let Some(mut kind) = allowed(&path).and_then(|a: Allowed| a.kind(&setting.name)) else {
        // `meta`, `env` and their like take texts only.
        let help = (setting.literal == super::outline::Literal::List).then(|| {
            "every value here is one string: join(\",\", [...]) or jsonencode([...]) make one of a list".into()
        });
        return Advice { help, ..Advice::default() };
    };
    if kind == Kind::Str && given.detail.contains("a number is required") {
        kind = Kind::Int { min: i64::MIN.into(), max: i64::MAX.into(), null: true };
    } else if kind == Kind::Str && given.detail.contains("a bool is required") {
        kind = Kind::Bool;
    }
    let source = given.outline.map_or("", |o| o.slice(setting.value));
    let values::Advice { message, help } = wrong_value(&setting.name, kind, &setting.literal, source);
    Advice { message, help, ..Advice::default() }
}

/// Names of the variables and locals of a job file.
fn declared(outline: &Outline, root: &str) -> Vec<String> {
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

fn unknown_value(given: &Given) -> Advice {
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
            ),
            None => Advice::help(format!("the value of local.{name} could not be determined; see the other problems")),
        };
    }
    let what = if root == "var" { "variable" } else { "local" };
    let message = format!("there is no {what} {name:?}");
    let help = match nearest(name, names.iter().map(String::as_str)) {
        Some(other) => format!("did you mean {root}.{other}?"),
        None if root == "var" => format!("declare it outside of the job: variable {name:?} {{}}"),
        None => format!("define it outside of the job: locals {{ {name} = … }}"),
    };
    let listed = if names.is_empty() || names.len() > 12 {
        String::new()
    } else {
        format!(" ({what}s of this file: {})", names.join(", "))
    };
    Advice::say(message, Some(help + &listed))
}

/// A member that an object does not have, such as one of `jsondecode(…)`.
fn missing_member(given: &Given, name: &str) -> Advice {
    if !given.detail.starts_with("This object does not have an attribute") {
        return Advice::default();
    }
    Advice::help(format!("try(….{name}, null) gives null where {name} is missing, and keys(…) lists what is there"))
}

fn missing_file(given: &Given) -> Advice {
    let help = habits::mentioned(given.detail);
    Advice::help(help.unwrap_or_else(|| "paths are relative to the directory in which the command runs".to_owned()))
}

fn unclosed_heredoc(given: &Given) -> Advice {
    let Some(Unclosed { open, message, help, near }) = given.outline.and_then(heredocs::unclosed) else {
        return Advice::default();
    };
    Advice { message: Some(message), help: Some(help), place: Some(open), related: near }
}

/// `<<` with something that is no marker of a heredoc behind it.
fn misread_heredoc(given: &Given) -> Advice {
    // A quote or a tilde in it is reported before the whole is.
    let line =
        given.outline.and_then(|o| o.text.get(..given.start)).map_or(0, |t| t.rfind('\n').map_or(0, |at| at + 1));
    let start = match given.outline.and_then(|o| o.text.get(line..given.start)).and_then(|before| before.rfind("<<")) {
        Some(at) if given.summary != "Invalid expression" => line + at,
        _ => given.start,
    };
    let here = given.outline.and_then(|o| o.text.get(start..)).unwrap_or("");
    heredocs::misread_opening(here).map_or_else(Advice::default, |(message, help)| Advice::say(message, Some(help)))
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

fn unknown_function(given: &Given) -> Advice {
    let name = given.text();
    if let Some(instead) = habits::instead_of_function(name) {
        return Advice::say(format!("there is no function {name:?}"), Some(instead.to_owned()));
    }
    let help = match nearest(name, functions::names().iter().copied()) {
        Some(other) => format!("did you mean {other}(…)?"),
        None => "the functions are those of HCL2 job files: format, join, file, jsonencode, …".to_owned(),
    };
    Advice::say(format!("there is no function {name:?}"), Some(help))
}

fn operand(given: &Given) -> Advice {
    let help = match given.detail.contains("a number is required") {
        true => {
            Some("operators such as + work on numbers; concatenate strings in a template: \"${a}-${b}\"".to_owned())
        }
        false => None,
    };
    Advice { help, ..Advice::default() }
}

/// `name: value` and `name value` instead of `name = value`.
fn definition(given: &Given) -> Advice {
    let behind = given.outline.and_then(|o| o.text.get(given.end..)).unwrap_or("");
    let name = given.text();
    let line = behind.lines().next().unwrap_or("").trim();
    let Some(value) = line.strip_prefix(':').map(str::trim) else { return Advice::default() };
    let value = if value.is_empty() || value.chars().count() > 40 { "…" } else { value };
    Advice::say(
        format!("{name} is set with a colon"),
        Some(format!("attributes are set with an equals sign: {name} = {value}")),
    )
}

fn missing_argument(given: &Given) -> Advice {
    let Some(name) = given.detail.split('"').nth(1) else { return Advice::default() };
    let path = given.path();
    let Some(innermost) = path.last() else { return Advice::default() };
    let example = match (innermost.kind.as_str(), name) {
        ("lifecycle", "hook") => "hook = \"prestart\" (or \"poststart\", \"poststop\")".to_owned(),
        ("scaling", "max") => "max = 10".to_owned(),
        (_, "for_each") => "for_each = LIST beside content".to_owned(),
        _ => format!("{name} = …"),
    };
    let block = if innermost.dynamic { "dynamic" } else { &innermost.kind };
    Advice::say(format!("the {block} block needs {name:?}"), Some(format!("add {example}")))
}

fn missing_label(summary: &str) -> Advice {
    let kind = summary.rsplit(' ').next().unwrap_or("");
    Advice::say(format!("{} needs a name", a_block(kind)), Some(format!("write {kind} \"NAME\" {{ … }}")))
}

fn undeclared(given: &Given) -> Advice {
    let Some((main, name)) = given.main.zip(given.detail.split('"').nth(1)) else { return Advice::default() };
    let names = declared(main, "var");
    let help = match nearest(name, names.iter().map(String::as_str)) {
        Some(other) => format!("did you mean {other:?}?"),
        None => format!("declare it in the job file: variable {name:?} {{}}; or allow it with -hcl2-strict=false"),
    };
    Advice::say(format!("the job file has no variable {name:?}"), Some(help))
}

fn unset(given: &Given, summary: &str) -> Advice {
    let Some((main, name)) = given.main.zip(summary.split('"').nth(1)) else { return Advice::default() };
    let block = main.root.of("variable").find(|b| b.labels.first().is_some_and(|l| l == name));
    let help = format!("give -var {name}=…, a -var-file, the environment variable NOMAD_VAR_{name}, or a default");
    let place = block.map(|b| Place::of(main, b.header));
    Advice { place, ..Advice::say(format!("the variable {name:?} has no value"), Some(help)) }
}

fn declared_twice(given: &Given) -> Advice {
    let Some((main, name)) = given.main.zip(given.detail.split(' ').nth(1)) else { return Advice::default() };
    let mut blocks = main.root.of("variable").filter(|b| b.labels.first().is_some_and(|l| l == name));
    let (first, second) = (blocks.next(), blocks.next());
    Advice {
        message: Some(format!("the variable {name:?} is declared twice")),
        help: Some("keep one of the two".to_owned()),
        place: second.or(first).map(|b| Place::of(main, b.header)),
        related: second.and(first).map(|b| (Place::of(main, b.header), "first declared here".to_owned())),
    }
}

/// The other definition that a detail text names.
fn first_definition(given: &Given) -> Option<(Place, String)> {
    let outline = given.outline?;
    let (_, rest) = given.detail.rsplit_once(" at ")?;
    let position = rest.split(". ").next()?.trim_end_matches('.').strip_prefix(&outline.name)?.strip_prefix(':')?;
    let numbers: Vec<usize> = position.split([',', '-']).map_while(|n| n.parse().ok()).collect();
    let (start_line, start_column, end_line, end_column) = match *numbers.as_slice() {
        [l, c, e] => (l, c, l, e),
        [l, c, m, e] => (l, c, m, e),
        _ => return None,
    };
    let range = Range { file: outline.name.clone(), start_line, start_column, end_line, end_column };
    let line = outline.text.split('\n').nth(start_line.checked_sub(1)?)?.trim_end_matches('\r');
    let line = (line.len() <= super::MAX_LINE).then(|| line.to_owned());
    Some((Place { range, line }, "first defined here".to_owned()))
}

/// The advice about a duration that is a bare number, when the attribute is one.
pub(crate) fn nanoseconds(path: &[&Element], setting: &Setting) -> Option<String> {
    match (allowed(path)?.kind(&setting.name)?, &setting.literal) {
        (Kind::Duration, super::outline::Literal::Number(text)) => Some(bare_number(&setting.name, text)),
        _ => None,
    }
}

/// The span of a whole attribute.
pub(crate) fn whole(setting: &Setting) -> Span {
    setting.name_span.to(setting.value)
}
