//! What is known of a command besides its flags and its help text: a constant beside the command's struct.

use super::command_examples::Example;
use super::environment_variables::Variable;
use super::exit_status::{ExitStatus, SUCCESS_OR_ERROR};

/// Where the general help lists a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Among the common commands, in this order.
    Common,
    /// Among the other commands, by name.
    Other,
    /// Not listed: an alias of a listed command.
    Alias,
    /// Not listed and not mentioned in any help: a former name, or a command for programs.
    Hidden,
}

/// A former name of a command, which no help shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerName {
    /// The words of the name.
    pub path: &'static str,
    /// Whether using the name prints a deprecation warning.
    pub deprecated: bool,
}

/// What some commands print below a flag error (`docs/spec/cli.md §2.3`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlagErrorNote {
    /// `Failed to parse args: <error>`.
    Args,
    /// `Error parsing arguments <error>`.
    Arguments,
    /// `Error parsing arguments: "<error>"`.
    QuotedArguments,
    /// `Error parsing flags: <error>`.
    Flags,
    /// A pointer to the help.
    Help,
}

impl FlagErrorNote {
    /// The text of the note about an error of a command.
    pub fn text(self, command: &str, error: &str) -> String {
        match self {
            FlagErrorNote::Args => format!("Failed to parse args: {error}"),
            FlagErrorNote::Arguments => format!("Error parsing arguments {error}"),
            FlagErrorNote::QuotedArguments => format!("Error parsing arguments: {}", encamp_model::quoted(error)),
            FlagErrorNote::Flags => format!("Error parsing flags: {error}"),
            FlagErrorNote::Help => format!("For additional help try 'encamp {command} -help'"),
        }
    }
}

/// What becomes of arguments of a command whose struct has no place for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surplus {
    /// They are a usage error.
    Refused,
    /// They are reported like a usage error, and ignored.
    Reported,
    /// They are ignored.
    Ignored,
}

/// The facts about a command. [`Meta::new`] states those of most commands; the methods change one each.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// The words that name it. Messages use this name, whatever name it was run by.
    pub path: &'static str,
    /// Another name, and where the general help lists it.
    pub alias: Option<(&'static str, Listing)>,
    /// Its former names.
    pub former_names: &'static [FormerName],
    /// Where the general help lists it.
    pub listing: Listing,
    /// The exit code after a usage error.
    pub usage_exit: u8,
    /// Whether flags may follow other arguments. Commands that Nomad has stop reading flags at the first argument.
    pub flags_anywhere: bool,
    /// What becomes of arguments, if it takes none.
    pub surplus: Surplus,
    /// The usage error about a wrong number of arguments, if it takes one and does not report this as others do.
    pub argument_error: Option<&'static str>,
    /// Whether output that is longer than the screen goes to the pager.
    pub paged: bool,
    /// What it prints below a flag error.
    pub flag_error_note: Option<FlagErrorNote>,
    /// Whether the help after a flag error is on standard error.
    pub logs_to_stdout: bool,
    /// The environment variables that it reads besides those that its flags stand for.
    pub environment: &'static [Variable],
    /// Its exit statuses.
    pub exit_status: &'static [ExitStatus],
    /// Examples of its use.
    pub examples: &'static [Example],
    /// Whether the examples only need files, and no cluster.
    pub examples_are_offline: bool,
}

impl Meta {
    /// The facts about most commands, for the command with this name.
    pub const fn new(path: &'static str) -> Meta {
        Meta {
            path,
            alias: None,
            former_names: &[],
            listing: Listing::Other,
            usage_exit: 1,
            flags_anywhere: false,
            surplus: Surplus::Refused,
            argument_error: None,
            paged: false,
            flag_error_note: None,
            logs_to_stdout: false,
            environment: &[],
            exit_status: SUCCESS_OR_ERROR,
            examples: &[],
            examples_are_offline: false,
        }
    }

    /// Gives it another name.
    pub const fn alias(self, path: &'static str, listing: Listing) -> Meta {
        Meta { alias: Some((path, listing)), ..self }
    }

    /// Keeps its former names.
    pub const fn former_names(self, former_names: &'static [FormerName]) -> Meta {
        Meta { former_names, ..self }
    }

    /// Lists it in no help: it is for programs, or servers of the open edition refuse what it asks for.
    pub const fn unlisted(self) -> Meta {
        Meta { listing: Listing::Hidden, ..self }
    }

    /// Sets the exit code after a usage error.
    pub const fn usage_exit(self, usage_exit: u8) -> Meta {
        Meta { usage_exit, ..self }
    }

    /// Allows flags behind other arguments.
    pub const fn flags_anywhere(self) -> Meta {
        Meta { flags_anywhere: true, ..self }
    }

    /// Decides what becomes of arguments of a command that takes none.
    pub const fn surplus(self, surplus: Surplus) -> Meta {
        Meta { surplus, ..self }
    }

    /// Reports a wrong number of arguments of a command that takes one in another way than others do.
    pub const fn argument_error(self, text: &'static str) -> Meta {
        Meta { argument_error: Some(text), ..self }
    }

    /// Sends output that is longer than the screen to the pager. Such a command prints its output once, follows nothing
    /// and asks nothing. `job plan` is not among them: its answer is at the end.
    pub const fn paged(self) -> Meta {
        Meta { paged: true, ..self }
    }

    /// Prints a note below a flag error.
    pub const fn flag_error_note(self, note: FlagErrorNote) -> Meta {
        Meta { flag_error_note: Some(note), ..self }
    }

    /// Keeps the help after a flag error away from standard output, which is a log.
    pub const fn logs_to_stdout(self) -> Meta {
        Meta { logs_to_stdout: true, ..self }
    }

    /// Names the environment variables that it reads besides those that its flags stand for.
    pub const fn environment(self, environment: &'static [Variable]) -> Meta {
        Meta { environment, ..self }
    }

    /// Describes its exit statuses.
    pub const fn exit_status(self, exit_status: &'static [ExitStatus]) -> Meta {
        Meta { exit_status, ..self }
    }

    /// Gives examples of its use, which need a cluster.
    pub const fn examples(self, examples: &'static [Example]) -> Meta {
        Meta { examples, ..self }
    }

    /// Gives examples of its use, which only need files.
    pub const fn offline_examples(self, examples: &'static [Example]) -> Meta {
        Meta { examples, examples_are_offline: true, ..self }
    }
}

impl FormerName {
    /// A name that still works.
    pub const fn accepted(path: &'static str) -> FormerName {
        FormerName { path, deprecated: false }
    }

    /// A name whose use prints a deprecation warning.
    pub const fn deprecated(path: &'static str) -> FormerName {
        FormerName { path, deprecated: true }
    }
}

#[cfg(test)]
mod tests {
    use crate::command::Registry;

    #[test]
    fn commands_with_a_pager_follow_nothing() {
        for command in Registry::new().entries().filter(|command| command.meta.paged) {
            let mut flags = command.clap().get_arguments();
            let follows = flags.any(|a| matches!(a.get_long(), Some("monitor" | "f" | "follow")));
            assert!(!follows, "{} may follow something", command.path);
        }
    }

    #[test]
    fn names_are_unique() {
        let registry = Registry::new();
        let metas = || registry.entries().filter(|entry| entry.path == entry.meta.path).map(|entry| entry.meta);
        let aliases = metas().filter(|meta| meta.alias.is_some()).count();
        let former: usize = metas().map(|meta| meta.former_names.len()).sum();
        assert_eq!(registry.entries().count(), metas().count() + aliases + former);
        assert_eq!(metas().count(), crate::registry::COMMANDS.len());
    }
}
