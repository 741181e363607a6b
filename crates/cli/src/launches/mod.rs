//! Launches of periodic jobs to come: `job launches` for one job, `launches` for a cluster (`docs/spec/cli.md §8.14,
//! §8.15`).

pub mod calendar;
pub mod job;

use super::error::{CommandError, CommandResult};
use encamp_model::SECOND;
use encamp_model::duration::parse_duration;

/// The value of `-duration`, nanoseconds.
///
/// # Errors
/// It is no duration of a second or more.
fn run_time(text: &str) -> CommandResult<i64> {
    let nanos = parse_duration(text).ok().filter(|nanos| *nanos >= SECOND);
    let form = "it has to be a duration of a second or more, such as 45m or 1h30m";
    nanos.ok_or_else(|| CommandError::new(format!("Invalid value {text:?} for -duration: {form}")))
}
