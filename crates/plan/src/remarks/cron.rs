//! Cron specifications that never fire.

use encamp_model::Job;
use encamp_model::cron::{Cron, time_zone};

use super::{Block, Fact, Remarks};

/// Why a specification never fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Never {
    /// Its days are in none of its months.
    NoSuchDay,
    /// All of its launches have passed.
    Past,
}

/// The time before the first launch that a specification can have.
const BEFORE_ALL: i64 = -1_000_000_000;

pub(super) fn look(job: &Job, now: i64, out: &mut Remarks) {
    let Some(periodic) = job.periodic.as_ref().filter(|p| p.enabled) else { return };
    let Ok(zone) = time_zone(&periodic.time_zone) else { return };
    for spec in periodic.cron_specs() {
        let Ok(cron) = Cron::parse(spec) else { continue };
        if cron.next_after(now, &zone).is_some() {
            continue;
        }
        let why = if cron.next_after(BEFORE_ALL, &zone).is_some() { Never::Past } else { Never::NoSuchDay };
        out.add(None, None, Block::Periodic, Fact::CronNever { spec: spec.to_string(), why });
    }
}
