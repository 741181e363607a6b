//! What the help text and the manual page of a command say: built once from its definition, and printed by
//! [`help`](super::help) and [`manual`](super::manual).

use clap::{Arg, ArgAction};

use super::command::Entry;
use super::command_examples::Example;
use super::environment_variables::{self, Variable};
use super::exit_status::ExitStatus;
use super::flags::is_bool;
use super::general::GENERAL_OPTIONS;

/// Which of the general options a command accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GeneralOptions {
    /// None.
    None,
    /// Those for colours.
    Colours,
    /// All.
    All,
}

/// An option and what it does.
pub struct OptionText {
    /// Its name, with one dash.
    pub name: String,
    /// What stands for its value.
    pub value: Option<OptionValue>,
    /// What it does, and its default.
    pub about: String,
}

/// What stands for the value of an option.
pub struct OptionValue {
    /// Its name.
    pub name: String,
    /// Whether it may be left out.
    pub optional: bool,
}

/// The documentation of a command.
pub struct CommandDocumentation {
    /// The words that name it.
    pub name: &'static str,
    /// Another name.
    pub alias: Option<&'static str>,
    /// Its arguments, as the usage line shows them.
    pub arguments: Vec<String>,
    /// One line about it.
    pub summary: String,
    /// The summary and the paragraphs below it.
    pub description: Vec<String>,
    /// Its own options, by name.
    pub options: Vec<OptionText>,
    /// The general options that it accepts.
    pub general: GeneralOptions,
    /// The environment variables that it reads, besides those of the general options.
    pub environment: Vec<Variable>,
    /// Its exit statuses.
    pub exit_status: &'static [ExitStatus],
    /// Examples of its use.
    pub examples: &'static [Example],
}

impl CommandDocumentation {
    /// The documentation of a command.
    pub fn of(entry: &Entry) -> CommandDocumentation {
        let clap = entry.clap();
        let text = |styled: Option<&clap::builder::StyledStr>| styled.map(ToString::to_string).unwrap_or_default();
        let about = text(clap.get_long_about().or(clap.get_about()));
        let general = |flag: &str| {
            let mut flags = clap.get_arguments().filter(|a| a.get_help_heading() == Some(GENERAL_OPTIONS));
            flags.any(|a| a.get_long() == Some(flag) && !a.is_hide_set())
        };
        CommandDocumentation {
            name: entry.meta.path,
            alias: entry.meta.alias.map(|(path, _)| path),
            arguments: clap.get_positionals().filter(|a| !a.is_hide_set()).map(positional).collect(),
            summary: text(clap.get_about()),
            description: about.split("\n\n").map(full_stop).collect(),
            options: options(clap, None),
            general: match (general("address"), general("no-color")) {
                (true, _) => GeneralOptions::All,
                (false, true) => GeneralOptions::Colours,
                (false, false) => GeneralOptions::None,
            },
            environment: [&environment_variables::of_flags(clap), entry.meta.environment].concat(),
            exit_status: entry.meta.exit_status,
            examples: entry.meta.examples,
        }
    }
}

impl CommandDocumentation {
    /// Whether it has options.
    pub fn has_options(&self) -> bool {
        !self.options.is_empty() || self.general != GeneralOptions::None
    }
}

/// The options of a command below a heading, by name; without a heading, its own.
pub fn options(command: &clap::Command, heading: Option<&str>) -> Vec<OptionText> {
    let flags = command.get_arguments().filter(|a| !a.is_positional() && !a.is_hide_set());
    let mut flags: Vec<&Arg> = flags.filter(|a| a.get_help_heading() == heading && a.get_long().is_some()).collect();
    flags.sort_by_key(|a| a.get_long());
    flags.into_iter().map(option).collect()
}

/// What the usage line shows for an argument: its name, or, for several, the names in their brackets. Lists called `args`
/// must not be empty.
fn positional(arg: &Arg) -> String {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string).unwrap_or_default();
    match arg.get_id().as_str() {
        _ if name.starts_with(['<', '[']) => name,
        "args" => format!("<{name}>"),
        _ if arg.is_required_set() => format!("<{name}>"),
        _ => format!("[{name}]"),
    }
}

fn option(arg: &Arg) -> OptionText {
    let takes_value = !matches!(arg.get_action(), ArgAction::SetTrue);
    let value = match arg.get_value_names() {
        Some([name, ..]) if takes_value => {
            let optional = is_bool(arg) || arg.get_num_args().is_some_and(|n| n.min_values() == 0);
            Some(OptionValue { name: name.to_string(), optional })
        }
        _ => None,
    };
    let mut about = full_stop(&arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default());
    if let ([default], true) = (arg.get_default_values(), takes_value && !arg.is_hide_default_value_set()) {
        about.push_str(&format!(" Default: {}.", default.to_string_lossy()));
    }
    OptionText { name: format!("-{}", arg.get_long().unwrap_or_default()), value, about }
}

/// A text that ends with a full stop, if it has any.
fn full_stop(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() || text.ends_with(['.', ':', '!', '?']) { text.into() } else { format!("{text}.") }
}
