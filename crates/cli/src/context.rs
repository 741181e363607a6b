//! The context of a command: output, environment, and its own name.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde::Serialize;

use super::command::{Entry, Registry};
use super::command_meta::Surplus;
use super::connection::Connection;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::flags::{FlagError, normalise};
use super::general::GeneralFlags;
use super::help;
use super::pick::questions::Questions;
use super::pick::{self, Cancelled, Choice, Lack};
use super::render::json;
use super::render::ui::{ColourInput, Ui, stdout_is_terminal};
use super::render::values::Clock;
use super::render::wrap::wrapped;
use super::saved_contexts::TokenCommand;
use super::snapshot_indexes::{self, UnwrittenIndexes};
use super::suggest;
use super::terminal::{ProgressMode, Terminal};

/// The width at which the deprecation warning is wrapped.
const WARNING_WIDTH: usize = 78;

/// The environment of the process, as seen by commands.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// Environment variables.
    pub vars: BTreeMap<String, String>,
    /// The working directory.
    pub directory: PathBuf,
    /// Whether standard output is a terminal.
    pub stdout_is_terminal: bool,
    /// Whether standard input is a terminal.
    pub stdin_is_terminal: bool,
    /// Whether standard error is a terminal.
    pub stderr_is_terminal: bool,
    /// The progress display on standard error and the handling of signals.
    pub terminal: Terminal,
    /// The current time, Unix nanoseconds.
    pub now: i64,
    /// The variables select a cluster by themselves, without a context.
    pub selects_cluster: bool,
    /// What prints the token of the selected context.
    pub token_command: Option<TokenCommand>,
    /// Why the selected context cannot be used.
    pub context_error: Option<String>,
    /// Side indexes of snapshot files, to be written when everything is printed.
    pub unwritten: UnwrittenIndexes,
}

impl Environment {
    /// The environment of this process. Variables that are not UTF-8 are left out: no setting has such a value.
    pub fn of_process() -> Environment {
        let pairs = std::env::vars_os().filter_map(|(k, v)| Some((k.into_string().ok()?, v.into_string().ok()?)));
        let mut vars: BTreeMap<String, String> = pairs.collect();
        if cfg!(windows)
            && let Some(profile) = vars.get("USERPROFILE").cloned()
        {
            vars.entry("HOME".into()).or_insert(profile);
        }
        let env = Environment {
            vars,
            directory: std::env::current_dir().unwrap_or_default(),
            stdout_is_terminal: stdout_is_terminal(),
            stdin_is_terminal: std::io::IsTerminal::is_terminal(&std::io::stdin()),
            stderr_is_terminal: std::io::IsTerminal::is_terminal(&std::io::stderr()),
            terminal: Terminal::default(),
            now: clock(),
            selects_cluster: false,
            token_command: None,
            context_error: None,
            unwritten: UnwrittenIndexes::default(),
        };
        let mode = match (env.stderr_is_terminal, env.escapes_welcome()) {
            (false, _) => ProgressMode::Hidden,
            (true, false) => ProgressMode::Lines,
            (true, true) => ProgressMode::Redrawn,
        };
        Environment { terminal: Terminal::new(mode), ..env }
    }

    /// The time zone of the output.
    pub fn zone(&self) -> jiff::tz::TimeZone {
        jiff::tz::TimeZone::system()
    }

    /// Whether terminals may get escape sequences that nobody asked for.
    pub fn escapes_welcome(&self) -> bool {
        ColourInput { no_color: self.var("NO_COLOR").is_some(), term: self.var("TERM"), ..Default::default() }
            .escapes_welcome()
    }

    /// A variable; an empty one counts as unset.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|v| !v.is_empty())
    }
}

/// The current time, Unix nanoseconds, for commands that watch an object.
pub fn clock() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

/// The context of a running command.
pub struct Context<'a, 'io> {
    /// The output.
    pub ui: &'a mut Ui<'io>,
    /// The environment of the process.
    pub env: &'a Environment,
    /// All commands.
    pub registry: &'a Registry,
    /// The command itself.
    pub command: &'a Entry,
    /// The whole command line.
    pub args: &'a [String],
    /// The arguments of the command, and those with which it runs again after a choice.
    pub(super) choice: Choice,
}

impl<'a, 'io> Context<'a, 'io> {
    /// The context of a command.
    pub(super) fn new(
        ui: &'a mut Ui<'io>,
        env: &'a Environment,
        registry: &'a Registry,
        command: &'a Entry,
        args: &'a [String],
    ) -> Context<'a, 'io> {
        Context { ui, env, registry, command, args, choice: Choice::default() }
    }
}

impl Context<'_, '_> {
    /// Reads the arguments of the command and runs it.
    pub(super) fn run(&mut self, args: Vec<String>) -> u8 {
        let entry = self.command;
        snapshot_indexes::set_exit_code(entry.meta.usage_exit);
        if entry.deprecated {
            self.warn_of_former_name();
        }
        let mut args = match normalise(entry.clap(), &args, entry.meta.flags_anywhere) {
            Ok(args) => args,
            Err(e) => {
                let code = self.flag_error(&e.to_string());
                if let Some(hint) = suggest::flag(entry, &e) {
                    self.ui.error_plain(&hint);
                }
                return code;
            }
        };
        let surplus = surplus(entry.clap(), &mut args);
        loop {
            self.choice.arguments.clone_from(&args);
            let code = self.run_once(args, &surplus);
            match self.choice.next.take() {
                Some(chosen) => args = chosen,
                None => return code,
            }
        }
    }

    /// Runs the command with arguments in the form that clap reads.
    fn run_once(&mut self, args: Vec<String>, surplus: &[String]) -> u8 {
        let entry = self.command;
        let clap = entry.clap().clone().no_binary_name(true).args_override_self(true);
        let result = clap.try_get_matches_from(args).and_then(|matches| {
            if !surplus.is_empty() && entry.meta.surplus != Surplus::Ignored {
                let code = self.usage_error("This command takes no arguments");
                if entry.meta.surplus == Surplus::Refused {
                    return Ok(code);
                }
            }
            (entry.run)(&matches, self)
        });
        result.unwrap_or_else(|e| match wrong_number(entry, &e) {
            Some(line) => self.argument_error(&line),
            None => self.flag_error(&clap_error(&e)),
        })
    }

    /// Reports a flag error: the message on standard error, the help on standard output, and the additional message of
    /// some commands.
    pub(super) fn flag_error(&mut self, line: &str) -> u8 {
        self.ui.error_plain(line);
        let text = help::command(self.registry, self.command.path);
        if self.command.meta.logs_to_stdout {
            self.ui.error_plain(&text);
        } else {
            self.ui.plain(&text);
        }
        if let Some(note) = self.command.meta.flag_error_note {
            self.ui.error(&note.text(self.command.meta.path, line));
        }
        self.command.meta.usage_exit
    }

    fn warn_of_former_name(&mut self) {
        let (old, new) = (self.command.path, self.command.meta.path);
        let text = format!(
            "WARNING! The \"encamp {old}\" command is deprecated. Please use \"encamp {new}\" instead. This command will \
             be removed a later version of encamp."
        );
        self.ui.warn(&format!("{}\n", wrapped(&text, WARNING_WIDTH, 0)));
    }

    /// The current time and the time zone, for output.
    pub fn clock(&self) -> Clock {
        Clock { now: self.env.now, zone: self.env.zone() }
    }

    /// Runs another command with these arguments, as if it had been named.
    pub(super) fn run_other(&mut self, path: &str, args: Vec<String>) -> u8 {
        match self.registry.get(path) {
            Some(command) => {
                let (ui, env, registry) = (&mut *self.ui, self.env, self.registry);
                Context::new(ui, env, registry, command, self.args).run(args)
            }
            None => self.failure(&format!("There is no command {path}")),
        }
    }

    /// Runs a function that needs a cluster, with a client for the flags. An error is reported.
    pub fn connected<F>(&mut self, general: &GeneralFlags, action: F) -> u8
    where
        F: FnOnce(&Connection, &mut Self) -> CommandResult<u8>,
    {
        let done = Connection::new(general, self.env).and_then(|connection| action(&connection, self));
        self.end(done)
    }

    /// Runs a function that needs no cluster. An error is reported.
    pub fn attempt(&mut self, action: impl FnOnce(&mut Self) -> CommandResult<u8>) -> u8 {
        let done = action(self);
        self.end(done)
    }

    /// Prints a text, or reports why there is none.
    pub fn print(&mut self, text: CommandResult<String>) -> u8 {
        self.attempt(|context| {
            context.ui.output(&text?);
            Ok(0)
        })
    }

    /// Prints a result as JSON.
    pub fn print_json<T: Serialize + ?Sized>(&mut self, value: &T) -> CommandResult<()> {
        let text = json::indented(value).context("Error formatting the data")?;
        self.ui.output(&text);
        Ok(())
    }

    /// Reports a usage error: the message and a pointer to the help, both on standard error.
    pub fn usage_error(&mut self, line: &str) -> u8 {
        self.ui.error(line);
        self.ui.error(&format!("For additional help try 'encamp {} -help'", self.command.meta.path));
        self.command.meta.usage_exit
    }

    /// Reports that the argument which names an object is missing, unless the operator can choose the object from a list.
    pub fn argument_error(&mut self, line: &str) -> u8 {
        self.choose_object().unwrap_or_else(|| self.usage_error(line))
    }

    /// Lets the operator choose the object of a command that names none, and runs the command again. The exit code of
    /// this run; `None` if there is nobody who can choose.
    pub fn choose_object(&mut self) -> Option<u8> {
        pick::argument(self, Lack::Missing)
    }

    /// Asks a question about the object that the operator has chosen. `Err` is the exit code.
    pub(super) fn ask<T>(&mut self, question: impl FnOnce(&Questions) -> Result<T, Cancelled>) -> Result<T, u8> {
        let answer = Questions::new(self.ui.terminal()).and_then(|questions| question(&questions));
        answer.map_err(|how| {
            self.ui.error_plain("No answer.");
            how.exit_code()
        })
    }

    /// Whether the operator chose the object of the command from a list.
    pub fn object_was_chosen(&self) -> bool {
        self.choice.made
    }

    /// Lets the operator choose one of the objects whose prefix is ambiguous. The exit code of the command; `None` if
    /// this is not the reason of the error, or if there is nobody who can choose.
    pub fn choose_instead(&mut self, error: &CommandError) -> Option<u8> {
        pick::argument(self, Lack::Ambiguous(error.ambiguous()?))
    }

    /// The end of a command: its exit code, or a failure.
    pub fn end(&mut self, result: CommandResult<u8>) -> u8 {
        result.unwrap_or_else(|e| self.report(&e))
    }

    /// Reports an error on standard error: its message, and below it the hint. Returns the exit code of the error, or
    /// else the one for failures. An object that is not named clearly can be chosen instead.
    pub fn report(&mut self, error: &CommandError) -> u8 {
        if let Some(code) = self.choose_instead(error) {
            return code;
        }
        match error.hint() {
            Some(hint) => self.ui.error(&format!("{error}\n{hint}")),
            None => self.ui.error(error.message()),
        }
        if let Some(request) = error.request().filter(|_| self.env.stderr_is_terminal) {
            let reads_files = self.command.clap().get_arguments().any(|arg| arg.get_long() == Some("snapshot"));
            self.ui.error(&format!("\n{}", super::advice::about(request, reads_files)));
        }
        error.exit_code().unwrap_or(self.command.meta.usage_exit)
    }

    /// Reports a failure on standard error. Returns the exit code for failures.
    pub fn failure(&mut self, line: &str) -> u8 {
        self.ui.error(line);
        self.command.meta.usage_exit
    }
}

/// Takes the arguments that follow the flags away from a command that takes none. [`normalise`] has put them behind
/// `--`.
fn surplus(command: &clap::Command, args: &mut Vec<String>) -> Vec<String> {
    if command.get_positionals().next().is_some() {
        return Vec::new();
    }
    let flags = args.iter().take_while(|arg| *arg != "--").count();
    args.split_off(flags).into_iter().skip(1).collect()
}

/// The usage error of a command that takes exactly one argument, if the error is that there are none or several.
fn wrong_number(command: &Entry, e: &clap::Error) -> Option<String> {
    if !matches!(e.kind(), ErrorKind::MissingRequiredArgument | ErrorKind::UnknownArgument) {
        return None;
    }
    let argument = command.clap().get_positionals().find(|argument| argument.is_required_set())?;
    let name = argument.get_value_names()?.first()?.trim_matches(['<', '>']);
    Some(command.meta.argument_error.map_or_else(|| format!("This command takes one argument: <{name}>"), Into::into))
}

/// The message for a failed clap parse, in terms of flags. Only values can be wrong after [`normalise`].
fn clap_error(e: &clap::Error) -> String {
    let text = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => s.clone(),
        _ => String::new(),
    };
    match e.kind() {
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let flag = text(ContextKind::InvalidArg);
            let name = flag.trim_start_matches('-').split([' ', '=']).next().unwrap_or_default().to_string();
            FlagError::InvalidValue(text(ContextKind::InvalidValue), name).to_string()
        }
        _ => e.to_string().trim_end().to_string(),
    }
}
