//! When periodic jobs are launched next.

use super::render::values;
use encamp_model::cron::time_zone;
use encamp_model::{PeriodicConfig, api};

/// The next launch of a periodic job after now (Unix nanoseconds) as it is shown: the time in the job's zone and how
/// far that is. `None` if there is none any more. The error is the text about a calendar or zone that does not parse.
pub fn next(job: &api::Job, now: i64) -> Result<Option<String>, String> {
    let Some(given) = &job.periodic else { return Ok(None) };
    let config = PeriodicConfig {
        enabled: given.enabled.unwrap_or(true),
        spec: given.spec.clone().unwrap_or_default(),
        specs: given.specs.clone(),
        spec_type: given.spec_type.clone().unwrap_or_default(),
        prohibit_overlap: given.prohibit_overlap.unwrap_or(false),
        time_zone: given.time_zone.clone().unwrap_or_default(),
    };
    let zone = time_zone(&config.time_zone)?;
    let launch = config.next_launch(now)?;
    Ok(launch.map(|at| format!("{} ({} from now)", values::time(at, &zone), values::difference(now, at))))
}
