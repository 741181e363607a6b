//! Translation of Go-style flags for clap (`docs/spec/cli.md §2.3`).
//!
//! [`normalise`] reads `-flag`, `--flag`, `-flag=value` and `-flag value` up to the first argument that is not a flag,
//! and writes the form that clap reads in the same way: `--flag`, `--flag=value`, `--`, arguments.

use std::fmt;
use std::time::Duration;

use clap::{Arg, ArgAction, Command};
use encamp_model::parse_bool;

/// A flag error. Its display text is the line that is printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// The command has no such flag.
    #[error("flag provided but not defined: -{0}")]
    NotDefined(String),
    /// The last argument is a flag that takes a value.
    #[error("flag needs an argument: -{0}")]
    NeedsArgument(String),
    /// A boolean flag with a value that is not boolean: value, flag.
    #[error("invalid boolean value {} for -{}: parse error", encamp_model::quoted(.0), .1)]
    InvalidBool(String, String),
    /// An invalid value: value, flag.
    #[error("invalid value {} for flag -{}: parse error", encamp_model::quoted(.0), .1)]
    InvalidValue(String, String),
    /// An argument like `---x`.
    #[error("bad flag syntax: {0}")]
    BadSyntax(String),
}

/// An error about the value of a flag or of an argument. The line is for the operator.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidFlag(String);

impl InvalidFlag {
    /// An error with this line.
    pub fn new(line: impl fmt::Display) -> InvalidFlag {
        InvalidFlag(line.to_string())
    }

    /// The value cannot be parsed at all. The caller knows the flag and the value.
    fn unreadable() -> InvalidFlag {
        InvalidFlag::new("parse error")
    }
}

/// Kinds of flags, for `#[arg(…)]`.
pub trait FlagKind {
    /// A boolean flag that stands for true, or takes `true` or `false` after `=`. The parameter is its default.
    fn switch(self, default: Option<bool>) -> Self;
}

impl FlagKind for Arg {
    fn switch(self, default: Option<bool>) -> Arg {
        let switch = self
            .value_name("bool")
            .value_parser(clap::value_parser!(bool))
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true");
        match default {
            Some(default) => switch.default_value(if default { "true" } else { "false" }),
            None => switch,
        }
    }
}

/// Whether a flag is boolean: it takes no value, or `true` or `false` after `=`.
pub fn is_bool(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue) || arg.get_value_parser().type_id() == std::any::TypeId::of::<bool>()
}

/// Rewrites the arguments of a command for clap. Only the last occurrence of a repeated boolean flag is kept. With
/// `anywhere`, flags may also follow other arguments.
pub fn normalise(command: &Command, args: &[String], anywhere: bool) -> Result<Vec<String>, FlagError> {
    let mut out: Vec<String> = Vec::with_capacity(args.len().saturating_add(1));
    let mut rest = args.iter();
    let mut positional: Vec<String> = Vec::new();
    while let Some(arg) = rest.next() {
        if arg == "--" {
            break;
        }
        let Some(text) = arg.strip_prefix('-').filter(|text| !text.is_empty()) else {
            positional.push(arg.clone());
            if anywhere {
                continue;
            }
            break;
        };
        let text = text.strip_prefix('-').unwrap_or(text);
        if text.is_empty() || text.starts_with(['-', '=']) {
            return Err(FlagError::BadSyntax(arg.clone()));
        }
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (text, None),
        };
        let Some(flag) = command.get_arguments().find(|a| a.get_long() == Some(name)) else {
            return Err(FlagError::NotDefined(name.into()));
        };
        if is_bool(flag) {
            let on = match value {
                None => true,
                Some(value) => parse_bool(&value).ok_or_else(|| FlagError::InvalidBool(value.clone(), name.into()))?,
            };
            let long = format!("--{name}");
            out.retain(|o| *o != long && o.split_once('=').is_none_or(|(flag, _)| flag != long));
            match (flag.get_action(), on) {
                (ArgAction::SetTrue, true) => out.push(long),
                (ArgAction::SetTrue, false) => {}
                _ => out.push(format!("{long}={on}")),
            }
        } else if value.is_none() && flag.get_num_args().is_some_and(|n| n.min_values() == 0) {
            out.push(format!("--{name}"));
        } else {
            let value = match value {
                Some(value) => value,
                None => rest.next().cloned().ok_or_else(|| FlagError::NeedsArgument(name.into()))?,
            };
            out.push(format!("--{name}={value}"));
        }
    }
    positional.extend(rest.cloned());
    out.push("--".into());
    out.extend(positional);
    Ok(out)
}

/// Parses an integer, decimal or with a `0x`, `0o` or `0b` prefix. For use as a clap value parser.
pub fn parse_int(text: &str) -> Result<i64, InvalidFlag> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let prefixes = [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)];
    let prefixed = prefixes.iter().find_map(|(prefix, radix)| Some((*radix, digits.strip_prefix(prefix)?)));
    let (radix, digits) = prefixed.unwrap_or((10, digits));
    if digits.starts_with(['+', '-']) {
        return Err(InvalidFlag::unreadable());
    }
    let magnitude = i128::from_str_radix(digits, radix).map_err(|_| InvalidFlag::unreadable())?;
    i64::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| InvalidFlag::unreadable())
}

/// Parses a duration such as `1m30s`. For use as a clap value parser.
pub fn parse_wait(text: &str) -> Result<Duration, InvalidFlag> {
    let nanos = encamp_model::duration::parse_duration(text).map_err(InvalidFlag::new)?;
    u64::try_from(nanos).map(Duration::from_nanos).map_err(|_| InvalidFlag::unreadable())
}

/// Validates the value of a flag that gives a number of items.
pub fn within(flag: &str, value: i64, most: i64) -> Result<usize, InvalidFlag> {
    match usize::try_from(value) {
        Ok(n) if n >= 1 && value <= most => Ok(n),
        _ => Err(InvalidFlag::new(format_args!("-{flag} must be between 1 and {most}, not {value}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("t")
            .arg(Arg::new("verbose").long("verbose").action(ArgAction::SetTrue))
            .arg(Arg::new("diff").long("diff").value_parser(clap::value_parser!(bool)))
            .arg(Arg::new("var").long("var").action(ArgAction::Append))
            .arg(Arg::new("why").long("why").num_args(0..=1).require_equals(true))
            .arg(Arg::new("args").num_args(0..))
    }

    fn run(args: &[&str]) -> Result<Vec<String>, FlagError> {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        normalise(&command(), &args, false)
    }

    #[test]
    fn every_form_becomes_the_one_clap_reads() {
        for (args, want) in [
            (
                &["-verbose", "--diff=F", "-var", "a=b", "--var=-c", "x"][..],
                "--verbose --diff=false --var=a=b --var=-c -- x",
            ),
            (&["-verbose", "-verbose=0", "-diff=false", "-diff"], "--diff=true --"),
            (&["x", "-verbose"], "-- x -verbose"),
            (&["-", "-verbose"], "-- - -verbose"),
            (&["-verbose", "--", "-verbose"], "--verbose -- -verbose"),
            (&["-var", "-verbose"], "--var=-verbose --"),
            (&["-var="], "--var= --"),
            (&["-why", "x"], "--why -- x"),
            (&["-why=y", "x"], "--why=y -- x"),
            (&[], "--"),
        ] {
            assert_eq!(run(args).unwrap().join(" "), want, "{args:?}");
        }
    }

    #[test]
    fn flags_can_stand_behind_arguments_where_that_is_wanted() {
        let args = ["x", "-verbose", "-", "-var", "y", "--", "-verbose"].map(String::from);
        let got = normalise(&command(), &args, true).unwrap();
        assert_eq!(got.join(" "), "--verbose --var=y -- x - -verbose");
    }

    #[test]
    fn errors_name_the_flag_with_one_dash() {
        for (args, want) in [
            (&["--nope=1"][..], "flag provided but not defined: -nope"),
            (&["-var"], "flag needs an argument: -var"),
            (&["-diff=maybe"], "invalid boolean value \"maybe\" for -diff: parse error"),
            (&["-verbose="], "invalid boolean value \"\" for -verbose: parse error"),
            (&["---x"], "bad flag syntax: ---x"),
            (&["-=x"], "bad flag syntax: -=x"),
        ] {
            assert_eq!(run(args).unwrap_err().to_string(), want);
        }
    }

    #[test]
    fn integers_have_prefixes() {
        assert_eq!(["-0x1f", "0b11", "0O17", "+9", "0"].map(|s| parse_int(s).unwrap()), [-31, 3, 15, 9, 0]);
        for bad in ["", "0x", "1.5", "--1", "0x-1", "9223372036854775808", "é"] {
            assert!(parse_int(bad).is_err(), "{bad}");
        }
    }
}
