//! The next launch of periodic jobs.

use super::error::{CommandError, CommandResult};
use super::render::values;
use encamp_model::cron::time_zone;
use encamp_model::{PeriodicConfig, api};

/// Formats the next launch of a periodic job after now (Unix nanoseconds): the time in the job's time zone, and the
/// time until then. `None` if there is no further launch. The error describes a schedule or zone that cannot be parsed.
pub fn next(job: &api::Job, now: i64) -> CommandResult<Option<String>> {
    let Some(given) = &job.periodic else { return Ok(None) };
    let config = PeriodicConfig {
        enabled: given.enabled.unwrap_or(true),
        spec: given.spec.clone().unwrap_or_default(),
        specs: given.specs.clone(),
        spec_type: given.spec_type.clone().unwrap_or_default(),
        prohibit_overlap: given.prohibit_overlap.unwrap_or(false),
        time_zone: given.time_zone.clone().unwrap_or_default(),
    };
    let zone = time_zone(&config.time_zone).map_err(CommandError::new)?;
    let launch = config.next_launch(now).map_err(CommandError::new)?;
    Ok(launch.map(|at| format!("{} ({} from now)", values::time(at, &zone), values::difference(now, at))))
}
