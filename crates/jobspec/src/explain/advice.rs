//! Hints for diagnostics of the parser, by their summary.

use super::habits;
use super::heredocs::{self, Unclosed};
use super::outline::{Element, Outline, Setting};
use super::references::{declared, unknown_value};
use super::repair::{Edit, Edits, Repair, closed, placeholder, reopened, rewritten_call};
use super::scope::{Allowed, allowed, nearest};
use super::unknown_names::{a_block, unknown_name};
use super::values::{Value, bare_number, wrong_value};
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
    /// The change that the help describes.
    pub repair: Option<Repair>,
}

impl Advice {
    pub(super) fn help(text: impl Into<String>) -> Advice {
        Advice { help: Some(text.into()), ..Advice::default() }
    }

    pub(super) fn say(message: impl Into<String>, help: Option<String>) -> Advice {
        Advice { message: Some(message.into()), help, ..Advice::default() }
    }

    pub(super) fn repaired(self, repair: Option<Repair>) -> Advice {
        Advice { repair, ..self }
    }
}

impl<'a> Given<'a> {
    pub(super) fn text(&self) -> &'a str {
        self.outline.and_then(|o| o.text.get(self.start..self.end)).unwrap_or("")
    }

    pub(super) fn path(&self) -> Vec<&'a Element> {
        self.outline.map(|o| o.around(self.start)).unwrap_or_default()
    }

    /// The attribute the diagnostic is about or inside of.
    pub(super) fn setting(&self) -> Option<&'a Setting> {
        let path = self.path();
        let root = self.outline.map(|o| &o.root)?;
        let holder = path.last().copied().unwrap_or(root);
        holder.attributes.iter().find(|s| (s.name_span.start as usize..s.value.end as usize).contains(&self.start))
    }

    /// The edits of the file, if it is in HCL's native syntax.
    pub(super) fn edits(&self) -> Option<Edits<'a>> {
        Edits::of(self.outline?)
    }

    /// The attribute goes, so that its default applies.
    pub(super) fn without_setting(&self) -> Option<Repair> {
        Some(Repair { is_certain: false, ..self.edits()?.remove_setting(self.setting()?) })
    }

    /// Another name in place of a part of the text at the location.
    pub(super) fn rename(&self, old: &str, new: &str) -> Option<Repair> {
        let start = self.start + self.text().find(old)?;
        Some(Repair::rename(start, start + old.len(), new))
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
        "Missing dynamic content block" => {
            Advice::help("add content { … } with the body of the blocks that are made").repaired(content(given))
        }
        "Invalid operand" => operand(given),
        "Invalid template interpolation value" if given.detail.contains("tuple") || given.detail.contains("list") => {
            let joined = format!("join(\",\", {})", given.text());
            let repair =
                Repair::certain(format!("Write {joined}"), [Edit::new(given.start, given.end, joined.as_str())]);
            Advice::help("join(\",\", …) or jsonencode(…) make one string of a list").repaired(Some(repair))
        }
        "Invalid multi-line string" => open_string(given),
        "Argument or block definition required" => definition(given),
        "Missing required argument" => missing_argument(given),
        "Missing job block" => Advice::help("a job file contains one job \"NAME\" { … } block with at least one group")
            .repaired(job(given)),
        "Attribute redefined" => Advice {
            related: first_definition(given),
            repair: second_attribute(given),
            ..Advice::help("keep one of the two")
        },
        "Undefined -var variable" | "Undefined variable" => undeclared(given),
        "Duplicate variable" => declared_twice(given),
        s if s.starts_with("Unset variable ") => unset(given, s),
        s if s.starts_with("Missing name for ") || s.starts_with("Missing type for ") => missing_label(given, s),
        s if s.starts_with("Extraneous label for ") => {
            let remove = |e: Edits| Repair::certain("Remove this label", [e.remove(given.start, given.end)]);
            Advice::help("remove this label").repaired(given.edits().map(remove))
        }
        s if s.starts_with("Duplicate ") && s.ends_with(" block") => {
            let path = given.path();
            let second = given.edits().zip(path.last()).map(|(e, block)| e.remove_block(block));
            Advice {
                related: first_definition(given),
                repair: second,
                ..Advice::help("keep one of the two blocks, or merge them")
            }
        }
        _ => Advice::default(),
    }
}

/// An empty `content` block.
fn content(given: &Given) -> Option<Repair> {
    let path = given.path();
    let dynamic = path.last()?;
    let edits = given.edits()?;
    // The outline takes the content for the block itself.
    let plain = Element { header: dynamic.header, span: dynamic.span, ..Element::default() };
    Some(Repair::fallback("Add content { … }", [edits.lines_in(&plain, "content {\n}")?]))
}

/// A job with a group and a task.
fn job(given: &Given) -> Option<Repair> {
    given.main.and_then(Edits::of)?;
    let end = given.main?.text.len();
    let lines =
        "job \"example\" {\n  group \"main\" {\n    task \"main\" {\n      driver = \"docker\"\n    }\n  }\n}\n";
    let new = if given.main?.text.ends_with(['\n']) || end == 0 { lines.to_owned() } else { format!("\n{lines}") };
    Some(Repair::fallback("Add job \"example\"", [Edit::new(end, end, new)]))
}

/// The line of the second of two attributes of one name.
fn second_attribute(given: &Given) -> Option<Repair> {
    let edits = given.edits()?;
    let (_, end) = edits.line(given.start);
    let (_, value) = given.outline?.text.get(given.start..end)?.split_once('=')?;
    let is_whole = !value.trim_end().ends_with(['{', '[', '(', ',']) && !value.contains("<<");
    is_whole.then(|| Repair::certain("Remove the second one", [edits.remove(given.start, end)]))
}

/// A string without its closing quote.
fn open_string(given: &Given) -> Advice {
    let close = |edits: Edits| {
        let (_, end) = edits.line(given.start);
        Repair::certain("Add the missing quote", [Edit::new(end, end, "\"")])
    };
    Advice::say(
        "this string is not closed before the line ends",
        Some("add the missing quote; write a multi-line string as <<EOF … EOF".to_owned()),
    )
    .repaired(given.edits().map(close))
}

fn wrong_type(given: &Given) -> Advice {
    let (path, Some(setting)) = (given.path(), given.setting()) else { return Advice::default() };
    let Some(mut kind) = allowed(&path).and_then(|a: Allowed| a.kind(&setting.name)) else {
        // `meta`, `env` and their like take texts only.
        if setting.literal != super::outline::Literal::List {
            return Advice::default().repaired(given.without_setting());
        }
        let joined = given.outline.map_or("", |o| o.slice(setting.value));
        let joined = given.edits().map(|e| e.value(setting, &format!("join(\",\", {joined})")));
        return Advice::help(
            "every value here is one string: join(\",\", [...]) or jsonencode([...]) make one of a list",
        )
        .repaired(joined);
    };
    if kind == Kind::Str && given.detail.contains("a number is required") {
        kind = Kind::Int { min: i64::MIN.into(), max: i64::MAX.into(), null: true };
    } else if kind == Kind::Str && given.detail.contains("a bool is required") {
        kind = Kind::Bool;
    }
    let source = given.outline.map_or("", |o| o.slice(setting.value));
    let values::Advice { message, help, value } = wrong_value(&setting.name, kind, &setting.literal, source);
    let repair = match (value, given.edits()) {
        (Some(Value::Meant(value)), Some(edits)) => Some(edits.value(setting, &value)),
        (Some(Value::Nearest(value)), Some(edits)) => {
            Some(Repair { is_certain: false, ..edits.value(setting, &value) })
        }
        _ => given.without_setting(),
    };
    Advice { message, help, repair, ..Advice::default() }
}

fn missing_file(given: &Given) -> Advice {
    let help = habits::mentioned(given.detail);
    Advice::help(help.unwrap_or_else(|| "paths are relative to the directory in which the command runs".to_owned()))
        .repaired(given.without_setting())
}

fn unclosed_heredoc(given: &Given) -> Advice {
    let Some(outline) = given.outline else { return Advice::default() };
    let Some(Unclosed { open, opening, marker, message, help, near, closing }) = heredocs::unclosed(outline) else {
        return Advice::default();
    };
    let repair = closed(outline, opening, &marker, closing);
    Advice { message: Some(message), help: Some(help), place: Some(open), related: near, repair }
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
    let Some((message, right)) = heredocs::misread_opening(here) else { return Advice::default() };
    let repair = given.outline.and_then(|o| reopened(o, start, &right));
    Advice::say(message, Some(format!("write {right} and a new line"))).repaired(repair)
}

fn unknown_function(given: &Given) -> Advice {
    let name = given.text();
    if let Some(instead) = habits::instead_of_function(name) {
        let repair = given.outline.and_then(|o| rewritten_call(&o.text, given.start, name));
        return Advice::say(format!("there is no function {name:?}"), Some(instead.to_owned()))
            .repaired(repair.or_else(|| given.without_setting()));
    }
    let (help, repair) = match nearest(name, functions::names().iter().copied()) {
        Some(other) => (format!("did you mean {other}(…)?"), given.rename(name, other)),
        None => (
            "the functions are those of HCL2 job files: format, join, file, jsonencode, …".to_owned(),
            given.without_setting(),
        ),
    };
    Advice::say(format!("there is no function {name:?}"), Some(help)).repaired(repair)
}

fn operand(given: &Given) -> Advice {
    let help = match given.detail.contains("a number is required") {
        true => {
            Some("operators such as + work on numbers; concatenate strings in a template: \"${a}-${b}\"".to_owned())
        }
        false => None,
    };
    Advice { help, repair: given.without_setting(), ..Advice::default() }
}

/// `name: value` and `name value` instead of `name = value`.
fn definition(given: &Given) -> Advice {
    let behind = given.outline.and_then(|o| o.text.get(given.end..)).unwrap_or("");
    let name = given.text();
    let line = behind.lines().next().unwrap_or("").trim();
    let Some(value) = line.strip_prefix(':').map(str::trim) else { return Advice::default() };
    let value = if value.is_empty() || value.chars().count() > 40 { "…" } else { value };
    let colon = given.end + behind.find(':').unwrap_or(0);
    let edit = Edit::new(given.end, colon + 1, " =");
    Advice::say(
        format!("{name} is set with a colon"),
        Some(format!("attributes are set with an equals sign: {name} = {value}")),
    )
    .repaired(Some(Repair::certain(format!("Write {name} = {value}"), [edit])))
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
    let line = match name {
        "hook" => "hook = \"prestart\"".to_owned(),
        "max" => "max = 10".to_owned(),
        "for_each" => "for_each = []".to_owned(),
        _ => format!("{name} = {}", placeholder(&path, name, "")),
    };
    // What a `dynamic` block needs is beside its content, which the outline takes for the block itself.
    let plain = Element { header: innermost.header, span: innermost.span, ..Element::default() };
    let added = given.edits().and_then(|e| e.add(&plain, &line)).map(|r| Repair { is_certain: false, ..r });
    Advice::say(format!("the {block} block needs {name:?}"), Some(format!("add {example}"))).repaired(added)
}

fn missing_label(given: &Given, summary: &str) -> Advice {
    let kind = summary.rsplit(' ').next().unwrap_or("");
    // A name that no block of the file has.
    let text = given.outline.map_or("", |o| o.text.as_str());
    let taken = |name: &String| text.contains(&format!("{kind} {name:?}"));
    let mut names = std::iter::once(kind.to_owned()).chain((2..1000).map(|n| format!("{kind}-{n}")));
    let free = names.find(|name| !taken(name));
    let labelled = free.filter(|_| given.text() == "{").map(|name| {
        let title = format!("Write {kind} {name:?}");
        Repair::fallback(title, [Edit::new(given.start, given.start, format!("{name:?} "))])
    });
    Advice::say(format!("{} needs a name", a_block(kind)), Some(format!("write {kind} \"NAME\" {{ … }}")))
        .repaired(labelled)
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
    let repair = block.and_then(|block| {
        let value = match block.setting("type").map_or("", |s| main.slice(s.value)) {
            "number" => "0",
            "bool" => "false",
            "" | "string" => "\"\"",
            other if other.starts_with("map") => "{}",
            other if other.starts_with("list") || other.starts_with("set") => "[]",
            _ => "null",
        };
        Edits::of(main)?.add(block, &format!("default = {value}"))
    });
    let repair = repair.map(|r| Repair { is_certain: false, ..r });
    Advice { place, repair, ..Advice::say(format!("the variable {name:?} has no value"), Some(help)) }
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
        repair: second.zip(Edits::of(main)).map(|(block, edits)| edits.remove_block(block)),
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
