//! The possible values of flags and arguments, for completion.
//!
//! Many values are closed sets that the commands check themselves, with the error texts that scripts expect. Such flags
//! name them with `#[arg(add = CompleteWith::…)]`, for completion alone: it changes neither how they are read nor what
//! help shows.

use clap::Arg;
use clap::builder::ArgExt;

use super::super::flags::is_bool;
pub use super::super::object_kinds::Objects;

/// Files that are selected by their extension. Directories are always included, because they lead to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Any file.
    Any,
    /// Files with one of these endings, without the dot.
    Named(&'static [&'static str]),
    /// No files, only directories.
    Directories,
}

/// The possible values at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// The values are not known.
    Unknown,
    /// One of these words. The second part describes it.
    OneOf(Vec<(String, String)>),
    /// Several of these words, separated by commas.
    SeveralOf(Vec<(String, String)>),
    /// A path.
    Path(Files),
    /// The name of an object of the cluster.
    Live(Objects),
}

/// What a flag or the first argument of a command is completed with.
#[derive(Debug, Clone, Copy)]
pub enum CompleteWith {
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, such as the values of an enum of the HTTP API.
    Texts(fn() -> Vec<&'static str>),
    /// Several of these words, separated by commas.
    SeveralTexts(fn() -> Vec<&'static str>),
    /// A path.
    Files(Files),
    /// The name of an object of the cluster.
    Live(Objects),
    /// Each argument with its own values.
    InTurn(&'static [CompleteWith]),
    /// All arguments with the same values.
    Every(&'static CompleteWith),
    /// With the first values if the flag is given, and otherwise with the second ones.
    IfFlag(&'static str, &'static CompleteWith, &'static CompleteWith),
}

impl ArgExt for CompleteWith {}

impl CompleteWith {
    /// Any file.
    pub const ANY_FILE: CompleteWith = CompleteWith::Files(Files::Any);
    /// A directory.
    pub const DIRECTORIES: CompleteWith = CompleteWith::Files(Files::Directories);
    /// A specification of an object.
    pub const HCL_OR_JSON: CompleteWith = CompleteWith::Files(Files::Named(&["hcl", "json"]));
    /// A job file.
    pub const JOB_FILES: CompleteWith = CompleteWith::Files(Files::Named(&["hcl", "nomad", "json"]));
    /// A key or certificate.
    pub const PEM_FILES: CompleteWith = CompleteWith::Files(Files::Named(&["pem"]));

    /// The values of the flag, or of the argument with this number, from 0, after these flags.
    fn values(self, number: usize, has_flag: &dyn Fn(&str) -> bool) -> Values {
        let plain = |word: &str| (word.to_string(), String::new());
        match self {
            CompleteWith::Every(each) => each.values(0, has_flag),
            CompleteWith::InTurn(each) => each.get(number).map_or(Values::Unknown, |one| one.values(0, has_flag)),
            CompleteWith::IfFlag(flag, given, _) if has_flag(flag) => given.values(number, has_flag),
            CompleteWith::IfFlag(_, _, otherwise) => otherwise.values(number, has_flag),
            _ if number > 0 => Values::Unknown,
            CompleteWith::Words(words) => Values::OneOf(words.iter().map(|w| plain(w)).collect()),
            CompleteWith::Texts(texts) => Values::OneOf(texts().into_iter().map(plain).collect()),
            CompleteWith::SeveralTexts(texts) => Values::SeveralOf(texts().into_iter().map(plain).collect()),
            CompleteWith::Files(files) => Values::Path(files),
            CompleteWith::Live(objects) => Values::Live(objects),
        }
    }
}

/// The texts of all values of an enum, sorted.
pub fn texts<T>(all: &'static [T], text: fn(&'static T) -> &'static str) -> Vec<&'static str> {
    let mut texts: Vec<_> = all.iter().map(text).collect();
    texts.sort_unstable();
    texts
}

/// The possible values of a flag.
pub fn of_flag(flag: &Arg) -> Values {
    let declared = flag.get_possible_values();
    let describe = |v: &clap::builder::PossibleValue| v.get_help().map(ToString::to_string).unwrap_or_default();
    if !declared.is_empty() {
        return Values::OneOf(declared.iter().map(|v| (v.get_name().into(), describe(v))).collect());
    }
    let is_tristate = || flag.get_value_names().is_some_and(|names| names.iter().any(|n| *n == "true|false"));
    if is_bool(flag) || is_tristate() {
        return CompleteWith::Words(&["true", "false"]).values(0, &|_| false);
    }
    flag.get::<CompleteWith>().map_or(Values::Unknown, |with| with.values(0, &|_| false))
}

/// The possible values of the argument with this number, from 0, after these flags. All arguments of a command are one
/// for clap.
pub fn of_argument(arguments: &Arg, number: usize, has_flag: impl Fn(&str) -> bool) -> Values {
    arguments.get::<CompleteWith>().map_or(Values::Unknown, |with| with.values(number, &has_flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Registry;

    #[test]
    fn booleans_have_no_values_of_their_own() {
        for entry in Registry::new().entries() {
            for flag in entry.clap().get_arguments().filter(|flag| is_bool(flag)) {
                assert!(flag.get::<CompleteWith>().is_none(), "{} -{:?}", entry.path, flag.get_long());
            }
        }
    }

    #[cfg(feature = "agent")]
    #[test]
    fn log_levels_are_log_levels() {
        let registry = Registry::new();
        let flags = registry.entries().flat_map(|entry| entry.clap().get_arguments());
        let mut found = 0;
        for flag in flags.filter(|flag| flag.get_long() == Some("log-level")) {
            if let Some(CompleteWith::Words(levels)) = flag.get() {
                assert!(levels.iter().all(|l| encamp_agent::log::Level::parse(l).is_some()));
                found += 1;
            }
        }
        assert!(found > 1, "{found} flags");
    }
}
