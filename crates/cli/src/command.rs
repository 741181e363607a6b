//! Commands, and which one a command line names (`docs/spec/cli.md §2.1`, `§2.2`). The commands are listed in
//! [`registry`](super::registry).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use clap::{ArgMatches, Command, Parser};

use super::context::Context;

/// The argument struct of a command.
pub trait Run: Parser {
    /// Runs the command and returns its exit code.
    fn run(self, context: &mut Context<'_, '_>) -> u8;
}

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

/// One command.
#[derive(Clone)]
pub struct Entry {
    /// The words that name it.
    pub path: &'static str,
    /// The name that its messages use; differs from the path for aliases.
    pub canonical: &'static str,
    /// Makes its arguments and help.
    make: fn() -> Command,
    made: OnceLock<Command>,
    /// Where the general help lists it.
    pub listing: Listing,
    /// The exit code after a usage error.
    pub usage_exit: u8,
    /// Whether flags may follow other arguments.
    pub flags_anywhere: bool,
    /// Whether using the name prints a deprecation warning.
    pub deprecated: bool,
    /// Reads the arguments and runs it.
    pub run: fn(&ArgMatches, &mut Context<'_, '_>) -> Result<u8, clap::Error>,
}

impl Entry {
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

/// The groups: name and summary.
const GROUPS: &[(&str, &str)] = &[
    ("alloc", "Interact with allocations: status, logs, files, restart"),
    ("autoscale", "Autoscale worker pools: status, plan, failsafe, simulation"),
    ("config", "Validate an agent's configuration"),
    ("context", "Select a saved cluster"),
    ("deployment", "Interact with deployments"),
    ("eval", "Interact with evaluations"),
    ("gc", "Explain garbage collection"),
    ("job periodic", "Interact with periodic jobs"),
    ("job tag", "Tag versions of jobs"),
    ("job", "Interact with jobs"),
    ("namespace", "Interact with namespaces"),
    ("node identity", "Interact with node identities"),
    ("node intro", "Create introduction tokens for new nodes"),
    ("node meta", "Interact with node metadata"),
    ("node pool", "Interact with node pools"),
    ("node", "Interact with nodes: status, drains, eligibility, pools"),
    ("operator autopilot", "Interact with the Autopilot configuration"),
    ("operator raft", "Interact with the Raft peers"),
    ("operator root keyring", "Interact with root encryption keys"),
    ("operator root", "Interact with root encryption keys"),
    ("operator snapshot", "Save and restore the state of the servers"),
    ("operator scheduler", "Interact with the scheduler configuration"),
    ("operator", "Administer the cluster: scheduler, servers, keys, API"),
    ("plugin", "Interact with storage plugins"),
    ("scaling policy", "Inspect scaling policies"),
    ("scaling", "Interact with scaling policies"),
    ("server", "Interact with servers"),
    ("service", "Interact with registered services"),
    ("system reconcile", "Reconcile the state of the servers"),
    ("system", "Maintain the servers: garbage collection, job summaries"),
    ("tls ca", "Create and show certificate authorities"),
    ("tls cert", "Create and show certificates"),
    ("tls", "Create and show the certificates of a cluster"),
    ("var", "Interact with variables"),
    ("volume claim", "Interact with claims on host volumes"),
    ("volume snapshot", "Interact with snapshots of CSI volumes"),
    ("volume", "Interact with volumes"),
    ("snapshot", "Fetch, inspect and compare cluster snapshots"),
    ("sim", "Simulate clusters, or load servers with simulated nodes"),
];

/// Commands whose flags may follow other arguments. Those that Nomad has stop reading flags at the first argument.
const FLAGS_ANYWHERE: &[&str] = &["snapshot anonymize", "snapshot diff", "snapshot inspect"];

impl Registry {
    /// A registry without commands.
    pub(super) fn empty() -> Registry {
        Registry { entries: BTreeMap::new() }
    }

    /// Adds a command, and another name for it.
    pub(super) fn add<T: Run>(&mut self, path: &'static str, alias: Option<(&'static str, Listing)>, usage_exit: u8) {
        let entry = Entry {
            path,
            canonical: path,
            make: T::command,
            made: OnceLock::new(),
            listing: Listing::Other,
            usage_exit,
            flags_anywhere: FLAGS_ANYWHERE.contains(&path),
            deprecated: false,
            run: |matches, context| Ok(T::from_arg_matches(matches)?.run(context)),
        };
        if let Some((path, listing)) = alias {
            self.entries.insert(path, Entry { path, listing, ..entry.clone() });
        }
        self.entries.insert(path, entry);
    }

    /// Adds a command that lists do not show: servers of the open edition refuse what it asks for.
    pub(super) fn add_unlisted<T: Run>(&mut self, path: &'static str) {
        self.add::<T>(path, None, 1);
        if let Some(entry) = self.entries.get_mut(path) {
            entry.listing = Listing::Hidden;
        }
    }

    /// Adds a former name of a command, which no help shows.
    pub(super) fn add_hidden(&mut self, path: &'static str, of: &str, deprecated: bool) {
        if let Some(entry) = self.entries.get(of).cloned() {
            self.entries.insert(path, Entry { path, listing: Listing::Hidden, deprecated, ..entry });
        }
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
