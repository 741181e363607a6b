//! The object of a command, chosen from a list where none is named or a prefix names several.

use clap::{Arg, Args, FromArgMatches};
use serde_json::Value;

use super::frame::{Frame, Heading};
use super::list::{List, Row};
use super::{Cancelled, possible, screen};
use crate::command::Entry;
use crate::completion::values::{self, Values};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::text;
use crate::flags::is_bool;
use crate::general::GeneralFlags;
use crate::object_kinds::{Objects, Selection};
use crate::render::styled::one_line;

/// Why an object can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// None is named.
    Missing,
    /// The prefix matches several of these.
    Ambiguous(Objects),
}

/// The arguments of a command, and what became of a choice.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    /// The arguments, in the form that clap reads.
    pub(crate) arguments: Vec<String>,
    /// The arguments with which the command runs again.
    pub(crate) next: Option<Vec<String>>,
    /// Whether an object was chosen.
    pub(crate) made: bool,
}

/// Flags with which a program uses a command, or that ask not to ask.
const SCRIPTED: &[&str] = &["auto-approve", "json", "json-output", "y", "yes"];
/// The flag for a template of the output, where it is not boolean.
const TEMPLATE: &str = "t";
/// The flag for a file whose objects are meant.
const SNAPSHOT: &str = "snapshot";

/// The arguments of a command in the form that clap reads.
struct CommandLine<'a> {
    command: &'a Entry,
    /// Names and values, without dashes.
    flags: Vec<(&'a str, Option<&'a str>)>,
    objects: &'a [String],
}

impl<'a> CommandLine<'a> {
    fn new(command: &'a Entry, arguments: &'a [String]) -> CommandLine<'a> {
        let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
        let (flags, objects) = arguments.split_at(end);
        let flag = |argument: &'a String| {
            let text = argument.trim_start_matches('-');
            text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
        };
        CommandLine { command, flags: flags.iter().map(flag).collect(), objects: objects.get(1..).unwrap_or_default() }
    }

    fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(given, _)| *given == name)
    }

    fn flag(&self, name: &str) -> Option<&'a Arg> {
        self.command.clap().get_arguments().find(|argument| argument.get_long() == Some(name))
    }

    /// The value of a flag, given or by default; `None` if there is none.
    fn value(&self, name: &str) -> Option<&'a str> {
        let given = self.flags.iter().rev().find(|(given, _)| *given == name).and_then(|(_, value)| *value);
        let default = || self.flag(name)?.get_default_values().first()?.to_str();
        given.or_else(default).filter(|value| !value.is_empty())
    }

    /// Whether a program reads the output or no question shall be asked.
    fn is_scripted(&self) -> bool {
        let template = self.has(TEMPLATE) && self.flag(TEMPLATE).is_some_and(|flag| !is_bool(flag));
        template || SCRIPTED.iter().any(|name| self.has(name))
    }

    /// The kind of the first argument, if it is an object of the cluster.
    fn kind(&self) -> Option<Objects> {
        if self.has(SNAPSHOT) {
            return None;
        }
        let argument = self.command.clap().get_positionals().next()?;
        match values::of_argument(argument, 0, |name| self.has(name)) {
            Values::Live(objects) => Some(objects),
            Values::Unknown | Values::OneOf(_) | Values::SeveralOf(_) | Values::Path(_) => None,
        }
    }

    /// Whether all arguments are objects of a kind.
    fn takes_several(&self) -> bool {
        let names = self.command.clap().get_positionals().next().and_then(Arg::get_value_names);
        names.and_then(<[_]>::first).is_some_and(|name| name.ends_with(">..."))
    }

    /// The beginning of the name of the objects among which the operator chooses; `None` if nothing can be chosen.
    fn prefix(&self, lack: Lack, kind: Objects) -> Option<&'a str> {
        match (lack, self.objects) {
            (Lack::Missing, []) => Some(""),
            (Lack::Ambiguous(several), [first, rest @ ..])
                if several.noun() == kind.noun() && (rest.is_empty() || !self.takes_several()) =>
            {
                Some(first.trim())
            }
            _ => None,
        }
    }

    /// The flags that select the cluster.
    fn general(&self) -> Option<GeneralFlags> {
        let command = GeneralFlags::augment_args(clap::Command::new("general").no_binary_name(true));
        let known = |name: &str| command.get_arguments().any(|argument| argument.get_long() == Some(name));
        let written = |(name, value): &(&str, Option<&str>)| match value {
            Some(value) => format!("--{name}={value}"),
            None => format!("--{name}"),
        };
        let flags: Vec<String> = self.flags.iter().filter(|(name, _)| known(name)).map(written).collect();
        let matches = command.args_override_self(true).try_get_matches_from(flags).ok()?;
        GeneralFlags::from_arg_matches(&matches).ok()
    }
}

/// Lets the operator choose the object of the command, which then runs again with it. The exit code of this run; `None`
/// if nobody can choose, or if there is nothing to choose.
pub(crate) fn argument(context: &mut Context<'_, '_>, lack: Lack) -> Option<u8> {
    if context.choice.made || !possible(context) {
        return None;
    }
    let arguments = std::mem::take(&mut context.choice.arguments);
    let code = choose(context, &arguments, lack);
    context.choice.arguments = arguments;
    code
}

fn choose(context: &mut Context<'_, '_>, arguments: &[String], lack: Lack) -> Option<u8> {
    let line = CommandLine::new(context.command, arguments);
    let kind = line.kind().filter(|_| !line.is_scripted())?;
    let prefix = line.prefix(lack, kind)?;
    let connection = Connection::new(&line.general()?, context.env).ok()?;
    let rows = read(&connection, kind, prefix, line.value("type"))?;
    let object = match pick(context, &connection, kind, &rows) {
        Ok(number) => rows.get(number)?,
        Err(how) => {
            context.ui.error_plain(&format!("No {} chosen.", kind.noun()));
            return Some(how.exit_code());
        }
    };
    context.ui.error_plain(&chosen(kind, object));
    let mut next: Vec<String> = arguments.iter().take_while(|argument| *argument != "--").cloned().collect();
    let namespace = text(object, "Namespace");
    if connection.everywhere() && !namespace.is_empty() {
        next.push(format!("--namespace={namespace}"));
    }
    next.extend(["--".to_string(), text(object, kind.source().word).to_string()]);
    next.extend(line.objects.iter().skip(1).cloned());
    context.choice.next = Some(next);
    context.choice.made = true;
    Some(0)
}

/// The objects with this prefix, sorted. `None` if there are none, or if the servers do not list them: the error of the
/// command says more.
fn read(c: &Connection, kind: Objects, prefix: &str, of_type: Option<&str>) -> Option<Vec<Value>> {
    let source = kind.source();
    let selection = Selection { prefix, most: None, of_type };
    let mut rows = c.wait(source.read(&c.client, &selection)).ok()?;
    let digits = |text: &str| text.replace('-', "");
    let begins = |row: &Value, member: &str| {
        let text = text(row, member);
        text.starts_with(prefix) || digits(text).starts_with(&digits(prefix))
    };
    rows.retain(|row| begins(row, source.word) || begins(row, "Name"));
    source.sort(&mut rows);
    Some(rows).filter(|rows| !rows.is_empty())
}

/// The number of the row that the operator chooses.
fn pick(context: &Context<'_, '_>, c: &Connection, kind: Objects, rows: &[Value]) -> Result<usize, Cancelled> {
    let columns = kind.columns();
    let namespaces = c.everywhere() && rows.iter().any(|row| !text(row, "Namespace").is_empty());
    let mut headings: Vec<Heading> =
        columns.iter().map(|column| Heading { name: column.0, is_id: column.holds_ids() }).collect();
    if namespaces {
        headings.insert(1, Heading { name: "Namespace", is_id: false });
    }
    let word = kind.source().word;
    let row = |object: &Value| {
        let mut cells: Vec<String> = columns.iter().map(|column| column.cell(object, context.env.now)).collect();
        if namespaces {
            cells.insert(1, text(object, "Namespace").to_string());
        }
        Row::new(cells, text(object, word))
    };
    let mut list = List::new(rows.iter().map(row).collect());
    let frame = Frame::new(question(kind.noun()), headings, &list, context.ui.colours_on());
    screen::choose(context.ui.terminal(), &mut list, &frame)
}

/// What is asked about one of several things.
pub(super) fn question(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("Choose {article} {noun}")
}

/// The line that says what was chosen.
fn chosen(kind: Objects, object: &Value) -> String {
    let name = kind.columns().first().map(|column| column.cell(object, 0)).unwrap_or_default();
    let detail = kind.detail().map(|member| text(object, member)).filter(|detail| !detail.is_empty());
    let detail = detail.map(|detail| format!(" ({})", one_line(detail))).unwrap_or_default();
    let noun = kind.noun();
    let (first, rest) = noun.split_at(1);
    format!("{}{rest}: {}{detail}", first.to_uppercase(), one_line(&name))
}
