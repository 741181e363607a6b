//! Commands, and which one a command line names (`docs/spec/cli.md §2.1`, `§2.2`). The commands are listed in
//! [`registry`](super::registry).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use clap::{ArgMatches, Command, Parser};

use super::command_meta::{FormerName, Listing, Meta};
use super::context::Context;
use super::registry::{COMMANDS, GROUPS};

/// The argument struct of a command.
pub trait Run: Parser {
    /// What is known of the command besides its flags and its help text.
    const META: Meta;

    /// Runs the command and returns its exit code.
    fn run(self, context: &mut Context<'_, '_>) -> u8;
}

/// A name of a command, and the command.
#[derive(Clone)]
pub struct Entry {
    /// The words of the name: [`Meta::path`], an alias or a former name.
    pub path: &'static str,
    /// Where the general help lists the name.
    pub listing: Listing,
    /// Whether using the name prints a deprecation warning.
    pub deprecated: bool,
    /// The facts about the command.
    pub meta: &'static Meta,
    /// Makes its arguments and help.
    make: fn() -> Command,
    made: OnceLock<Command>,
    /// Reads the arguments and runs it.
    pub run: RunFunction,
}

/// Reads the arguments of a command and runs it.
type RunFunction = fn(&ArgMatches, &mut Context<'_, '_>) -> Result<u8, clap::Error>;

impl Entry {
    /// The command with this argument struct, by its own name.
    pub(super) fn of<T: Run>() -> Entry {
        let meta = const { &T::META };
        Entry {
            path: meta.path,
            listing: meta.listing,
            deprecated: false,
            meta,
            make: T::command,
            made: OnceLock::new(),
            run: |matches, context| Ok(T::from_arg_matches(matches)?.run(context)),
        }
    }

    /// The entries of its alias and its former names.
    fn other_names(&self) -> impl Iterator<Item = Entry> {
        let alias = self.meta.alias.iter().map(|(path, listing)| Entry { path, listing: *listing, ..self.clone() });
        let former = self.meta.former_names.iter().map(|FormerName { path, deprecated }| Entry {
            path,
            listing: Listing::Hidden,
            deprecated: *deprecated,
            ..self.clone()
        });
        alias.chain(former)
    }

    /// Its arguments and help, made when they are first asked for: a run needs those of one command, not of all.
    pub fn clap(&self) -> &Command {
        self.made.get_or_init(self.make)
    }
}

/// The result of parsing a command line.
pub enum Found<'a> {
    /// The version.
    Version,
    /// The help of a command or group, or the general one.
    Help(Option<String>),
    /// No command of that name.
    Nothing,
    /// Flags before the command.
    EarlyFlags(String),
    /// A group of commands, which cannot be run itself.
    Group(String),
    /// A command and its arguments.
    Command(&'a Entry, Vec<String>),
}

/// All commands and groups by name.
pub struct Registry {
    entries: BTreeMap<&'static str, Entry>,
}

impl Registry {
    /// The registry of this program.
    pub fn new() -> Registry {
        let named = COMMANDS.iter().flat_map(|make| {
            let entry = make();
            entry.other_names().chain([entry.clone()]).collect::<Vec<_>>()
        });
        Registry { entries: named.map(|entry| (entry.path, entry)).collect() }
    }

    /// The commands and groups right below a group (all at the top for an empty name), former names left out: the last
    /// word of each and its full name, by name.
    pub fn below(&self, group: &str) -> Vec<(&'static str, &'static str)> {
        let prefix = if group.is_empty() { String::new() } else { format!("{group} ") };
        let shown = self.entries().filter(|e| e.listing != Listing::Hidden).map(|e| e.path);
        let all = shown.chain(self.groups().map(|(name, _)| name));
        let mut found: Vec<_> = all
            .filter_map(|path| Some((path.strip_prefix(prefix.as_str())?, path)))
            .filter(|(name, _)| !name.is_empty() && !name.contains(' '))
            .collect();
        found.sort_unstable();
        found
    }

    /// One line about a command or group.
    pub fn about(&self, path: &str) -> String {
        match self.get(path) {
            Some(entry) => entry.clap().get_about().map(ToString::to_string).unwrap_or_default(),
            None => self.groups().find(|(name, _)| *name == path).map(|(_, about)| about.into()).unwrap_or_default(),
        }
    }

    /// The commands and aliases, by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The command of that name.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The groups: name and one line about each.
    pub fn groups(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        GROUPS.iter().copied()
    }

    fn is_group(&self, path: &str) -> bool {
        GROUPS.iter().any(|(name, _)| *name == path)
    }

    /// The longest name of a command or group that these words begin with, and how many of the words it takes.
    pub fn longest_name(&self, words: &[String]) -> Option<(usize, String)> {
        let words: Vec<&str> = words
            .iter()
            .map(String::as_str)
            .take_while(|a| !a.is_empty() && !a.starts_with('-') && !a.contains(' '))
            .collect();
        (1..=words.len())
            .rev()
            .map(|n| (n, words.get(..n).unwrap_or_default().join(" ")))
            .find(|(_, path)| self.entries.contains_key(path.as_str()) || self.is_group(path))
    }

    /// Finds the command, or the help, that a command line names.
    pub fn find(&self, args: &[String]) -> Found<'_> {
        let first_word = args.iter().position(|a| !a.starts_with('-')).unwrap_or(args.len());
        let (early, rest) = args.split_at(first_word);
        let found = self.longest_name(rest);
        let path = found.as_ref().map(|(_, path)| path.clone());
        if args.iter().take_while(|a| *a != "--").any(|a| matches!(a.as_str(), "-h" | "-help" | "--help")) {
            return Found::Help(path);
        }
        if early.iter().any(|a| matches!(a.as_str(), "-v" | "-version" | "--version")) {
            return Found::Version;
        }
        let Some((n, path)) = found else { return Found::Nothing };
        if !early.is_empty() {
            return Found::EarlyFlags(path);
        }
        match self.entries.get(path.as_str()) {
            Some(entry) => Found::Command(entry, rest.get(n..).unwrap_or_default().to_vec()),
            None => Found::Group(path),
        }
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(|a| a.replace('_', " ")).collect();
        match Registry::new().find(&args) {
            Found::Version => "version".into(),
            Found::Help(path) => format!("help {}", path.unwrap_or_default()),
            Found::Nothing => "nothing".into(),
            Found::EarlyFlags(path) => format!("early {path}"),
            Found::Group(path) => format!("group {path}"),
            Found::Command(entry, rest) => format!("{} ({}) {rest:?}", entry.path, entry.meta.path),
        }
    }

    #[test]
    fn the_longest_name_wins_and_the_rest_is_arguments() {
        for (line, want) in [
            ("", "nothing"),
            ("nosuch", "nothing"),
            ("job", "group job"),
            ("job nosuch", "group job"),
            ("job plan x", "job plan (job plan) [\"x\"]"),
            ("plan -verbose x", "plan (job plan) [\"-verbose\", \"x\"]"),
            ("job -verbose plan", "group job"),
            ("job plan_x", "group job"),
            ("monitor export -on-disk", "monitor export (monitor export) [\"-on-disk\"]"),
            ("monitor -json", "monitor (monitor) [\"-json\"]"),
            ("-version", "version"),
            ("-v job plan", "version"),
            ("-nosuch job plan x", "early job plan"),
            ("-nosuch", "nothing"),
            ("job plan x -h", "help job plan"),
            ("-help", "help "),
            ("job plan -- -h", "job plan (job plan) [\"--\", \"-h\"]"),
        ] {
            assert_eq!(find(line), want, "{line}");
        }
    }

    #[test]
    fn clap_accepts_all_definitions() {
        Registry::new().entries().for_each(|entry| entry.clap().clone().debug_assert());
    }
}
