//! When a periodic job is launched by the clock of its zone, and what changes of that clock do to it.

use std::collections::BTreeSet;

use encamp_model::PeriodicConfig;
use encamp_model::cron::{Cron, PeriodicError, time_zone};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use serde::Serialize;

/// The parsed cron specifications of a periodic job, and its zone. Times are Unix nanoseconds.
#[derive(Debug, Clone)]
pub struct Schedule {
    zone: TimeZone,
    crons: Vec<Cron>,
}

/// Which of two equal local times a launch has: the clock was set back in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Repeat {
    /// The one before the clock was set back.
    First,
    /// The one after it.
    Second,
}

/// Local times that do not exist because the clock is set forward, at which the job would have been launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// When the clock is set forward, Unix nanoseconds.
    pub at: i64,
    /// The first local time that does not exist.
    pub from: DateTime,
    /// The first one that exists again.
    pub to: DateTime,
    /// The local times in between at which the cron specifications fire: at least one.
    pub times: BTreeSet<DateTime>,
}

impl Schedule {
    /// Reads the schedule of a job.
    ///
    /// # Errors
    /// The time zone, or else the first specification, is invalid.
    pub fn new(config: &PeriodicConfig) -> Result<Schedule, PeriodicError> {
        config.next_launch(0)?;
        // After that, nothing is invalid.
        let zone = time_zone(&config.time_zone).unwrap_or(TimeZone::UTC);
        Ok(Schedule { zone, crons: config.cron_specs().filter_map(|spec| Cron::parse(spec).ok()).collect() })
    }

    /// The time zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// The next launch strictly after a time, `None` if there is none.
    pub fn next(&self, after: i64) -> Option<i64> {
        self.crons.iter().filter_map(|cron| cron.next_after(after, &self.zone)).min()
    }

    /// Which of two equal local times a time is; `None` if its local time occurs once.
    pub fn repeat(&self, at: i64) -> Option<Repeat> {
        let offset = self.zone.to_offset(timestamp(at)?);
        let local = offset.to_datetime(timestamp(at)?);
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Fold { before, .. } if before == offset => Some(Repeat::First),
            AmbiguousOffset::Fold { .. } => Some(Repeat::Second),
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => None,
        }
    }

    /// The launches that are left out because the clock is set forward, after a time and up to another one.
    pub fn gaps(&self, after: i64, until: i64) -> Vec<Gap> {
        let (Some(start), Some(end)) = (timestamp(after), timestamp(until)) else { return Vec::new() };
        let transitions = self.zone.following(start).map(|t| t.timestamp());
        transitions.take_while(|at| *at <= end).filter_map(|at| self.gap(at)).collect()
    }

    /// The launches that a change of the clock leaves out.
    fn gap(&self, at: Timestamp) -> Option<Gap> {
        let just_before = Timestamp::from_second(at.as_second().checked_sub(1)?).ok()?;
        let (old, new) = (self.zone.to_offset(just_before), self.zone.to_offset(at));
        let length = i64::from(new.seconds().checked_sub(old.seconds())?);
        if length <= 0 {
            return None;
        }
        let after = Timestamp::from_second(at.as_second().checked_add(length)?).ok()?;
        let times: BTreeSet<DateTime> =
            self.crons.iter().flat_map(|cron| fires(cron, just_before, after, old)).collect();
        let (from, to) = (old.to_datetime(at), old.to_datetime(after));
        let at = i64::try_from(at.as_nanosecond()).ok()?;
        (!times.is_empty()).then_some(Gap { at, from, to, times })
    }
}

/// The local times at which a specification fires by a clock with this offset, after a time and before another one.
fn fires(cron: &Cron, after: Timestamp, before: Timestamp, offset: Offset) -> Vec<DateTime> {
    let zone = TimeZone::fixed(offset);
    let mut out = Vec::new();
    let mut last = after;
    while let Some(next) = cron.next(last, &zone).filter(|next| *next < before) {
        out.push(offset.to_datetime(next));
        last = next;
    }
    out
}

/// The time of Unix nanoseconds: all of them are times.
fn timestamp(nanos: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(nanos)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(spec: &str, zone: &str) -> Schedule {
        let config = PeriodicConfig {
            enabled: true,
            specs: Some(spec.split(';').map(String::from).collect()),
            time_zone: zone.into(),
            ..PeriodicConfig::default()
        };
        Schedule::new(&config).expect("a schedule")
    }

    fn nanos(text: &str) -> i64 {
        i64::try_from(text.parse::<Timestamp>().expect("a time").as_nanosecond()).expect("a time of this century")
    }

    /// The launches of a day in New York, with the marks.
    fn day(spec: &str, from: &str, until: &str) -> Vec<String> {
        let schedule = schedule(spec, "America/New_York");
        let mut at = nanos(from);
        let mut out = Vec::new();
        while let Some(next) = schedule.next(at).filter(|next| *next < nanos(until)) {
            let local = timestamp(next).expect("a time").to_zoned(schedule.zone().clone());
            let mark = schedule.repeat(next).map(|r| format!(" {r:?}")).unwrap_or_default();
            out.push(format!("{}{mark}", local.strftime("%H:%M%:z")));
            at = next;
        }
        out
    }

    #[test]
    fn repeated_times_are_marked() {
        let autumn = |spec| day(spec, "2026-11-01T04:00:00Z", "2026-11-01T08:00:00Z");
        assert_eq!(autumn("30 1 * * *"), ["01:30-04:00 First", "01:30-05:00 Second"]);
        assert_eq!(autumn("0 0-3 * * *"), ["01:00-04:00 First", "01:00-05:00 Second", "02:00-05:00"]);
        assert_eq!(day("30 1 * * *", "2026-03-08T05:00:00Z", "2026-03-09T05:00:00Z"), ["01:30-05:00"]);
        assert_eq!(schedule("0 1 * * *", "UTC").repeat(nanos("2026-11-01T01:00:00Z")), None);
    }

    #[test]
    fn skipped_times_are_found() {
        let gaps = |spec: &str, zone: &str| {
            schedule(spec, zone).gaps(nanos("2026-01-01T00:00:00Z"), nanos("2027-01-01T00:00:00Z"))
        };
        let [gap] = gaps("30 2 * * *", "America/New_York").try_into().expect("one gap");
        assert_eq!(gap.at, nanos("2026-03-08T07:00:00Z"));
        assert_eq!(
            (gap.from.to_string(), gap.to.to_string()),
            ("2026-03-08T02:00:00".into(), "2026-03-08T03:00:00".into())
        );
        assert_eq!(gap.times.iter().map(ToString::to_string).collect::<Vec<_>>(), ["2026-03-08T02:30:00"]);
        let [gap] = gaps("*/20 * * * *;5 2 * * *", "Europe/Berlin").try_into().expect("one gap");
        let times: Vec<String> = gap.times.iter().map(|t| t.strftime("%H:%M").to_string()).collect();
        assert_eq!(times, ["02:00", "02:05", "02:20", "02:40"]);
        assert_eq!(gaps("30 4 * * *", "America/New_York"), [], "the time exists on every day");
        assert_eq!(gaps("30 2 * * *", "Asia/Tokyo"), [], "no change of the clock");
        // Half an hour, in the other half of the year.
        let [gap] = gaps("*/10 * * * *", "Australia/Lord_Howe").try_into().expect("one gap");
        assert_eq!((gap.times.len(), gap.from.hour(), gap.to.minute()), (3, 2, 30));
    }

    #[test]
    fn invalid_schedules_are_refused() {
        let config =
            |spec: &str, zone: &str| PeriodicConfig { spec: spec.into(), time_zone: zone.into(), ..Default::default() };
        let refused = |spec, zone| Schedule::new(&config(spec, zone)).map_err(|e| e.to_string()).err();
        assert_eq!(refused("x", "UTC").as_deref(), Some("Invalid cron spec \"x\": missing field(s)"));
        assert_eq!(refused("x", "Mars").as_deref(), Some("Invalid time zone \"Mars\": unknown time zone Mars"));
        assert_eq!(Schedule::new(&config("0 0 31 2 *", "")).expect("a schedule").next(0), None);
    }
}
