//! The flags for the time of a run of garbage collection.

use encamp_api::Query;
use encamp_model::Time;
use encamp_model::duration::parse_duration;

use super::super::cluster::time_of_flag;
use super::super::error::{CommandError, CommandResult};

/// The time for which decisions are made.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct WhenFlags {
    /// Decide as of this time instead of now, in RFC 3339: 2026-11-27T08:00:00Z
    #[arg(long, value_name = "time")]
    pub at: Option<String>,
    /// Decide as of this long from now: 4h
    #[arg(long = "in", value_name = "duration")]
    pub later: Option<String>,
}

/// A time that was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Now.
    Now,
    /// This time, in Unix nanoseconds.
    At(i64),
    /// This many nanoseconds from now.
    In(i64),
}

impl WhenFlags {
    /// Whether one of the flags was given.
    pub(super) fn given(&self) -> bool {
        self.at.is_some() || self.later.is_some()
    }

    /// The time of the flags.
    ///
    /// # Errors
    /// A value is not of its form, or both flags were given.
    pub fn read(&self) -> CommandResult<When> {
        match (&self.at, &self.later) {
            (None, None) => Ok(When::Now),
            (Some(text), None) => time_of_flag("at", text).map(When::At),
            (None, Some(text)) => {
                let nanos = parse_duration(text);
                nanos.map(When::In).map_err(|e| CommandError::new(format!("Invalid value {text:?} for -in: {e}")))
            }
            (Some(_), Some(_)) => Err(CommandError::new("-at and -in exclude each other")),
        }
    }
}

impl When {
    /// The time in Unix nanoseconds.
    pub(super) fn nanos(self, now: i64) -> i64 {
        match self {
            When::Now => now,
            When::At(time) => time,
            When::In(nanos) => now.saturating_add(nanos),
        }
    }

    /// The time as a parameter of a request.
    pub(super) fn parameter(self, query: Query) -> Query {
        match self {
            When::Now => query,
            When::At(time) => query.with("at", Time::from_unix_nanos(time).to_string()),
            When::In(nanos) => query.with("in", format!("{nanos}ns")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_checked() {
        let read = |at: Option<&str>, later: Option<&str>| {
            WhenFlags { at: at.map(String::from), later: later.map(String::from) }.read()
        };
        assert_eq!(read(None, None), Ok(When::Now));
        assert_eq!(read(Some("1970-01-01T00:00:01Z"), None), Ok(When::At(1_000_000_000)));
        assert_eq!(read(None, Some("1h")).map(|when| when.nanos(5)), Ok(3_600_000_000_005));
        for (at, later) in [(Some("tomorrow"), None), (Some(""), None), (None, Some("1 h")), (Some("x"), Some("y"))] {
            assert!(read(at, later).is_err(), "{at:?} {later:?}");
        }
    }
}
