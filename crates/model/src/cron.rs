//! Cron specifications of periodic jobs: grammar and next launch (`docs/spec/server.md §14.2`, texts
//! `docs/spec/jobspec.md §14.5`).
//!
//! croner is not used: which specifications are refused, with which text, and when a job is launched while clocks change
//! are part of the behaviour.

use jiff::civil::{Date, DateTime, Time, date};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use thiserror::Error;

use super::{PeriodicConfig, quoted};

/// Why a text is no cron specification.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CronError {
    /// The text has fewer than five fields and is no macro.
    #[error("missing field(s)")]
    MissingFields,
    /// An entry of a field is not understood, or its values are out of range.
    #[error("syntax error in {field} field: '{entry}'")]
    Syntax {
        /// The name of the field.
        field: &'static str,
        /// The entry as written.
        entry: String,
    },
    /// The step behind the `/` of an entry is zero or too large.
    #[error("invalid interval {entry}")]
    Interval {
        /// The entry as written.
        entry: String,
    },
}

/// Why a name is none of a time zone.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TimeZoneError {
    /// The name would be a path outside of the time zone database.
    #[error("time: invalid location name")]
    InvalidName,
    /// There is no time zone of that name.
    #[error("unknown time zone {0}")]
    Unknown(String),
}

/// Why the next launch of a periodic job is not known.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PeriodicError {
    /// The time zone is invalid.
    #[error("Invalid time zone {}: {source}", quoted(name))]
    TimeZone {
        /// The time zone as written.
        name: String,
        /// The reason.
        source: TimeZoneError,
    },
    /// A cron specification is invalid.
    #[error("Invalid cron spec {}: {source}", quoted(spec))]
    Spec {
        /// The specification as written.
        spec: String,
        /// The reason.
        source: CronError,
    },
}

/// A parsed specification: the seconds, minutes, … at which it fires.
#[derive(Debug, Clone, PartialEq)]
pub struct Cron {
    second: Set,
    minute: Set,
    hour: Set,
    month: Set,
    year: Set,
    day: DayRule,
    weekday: WeekdayRule,
}

const FIRST_YEAR: i16 = 1970;
const LAST_YEAR: i16 = 2099;

/// A set of values of one field, as bits above the field's minimum (the largest field, years, has 130 values).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Set {
    low: u128,
    high: u128,
}

impl Set {
    fn insert(&mut self, n: usize) {
        match n {
            0..128 => self.low |= 1 << n,
            128..256 => self.high |= 1 << (n - 128),
            _ => {}
        }
    }

    fn contains(&self, n: usize) -> bool {
        match n {
            0..128 => self.low >> n & 1 == 1,
            128..256 => self.high >> (n - 128) & 1 == 1,
            _ => false,
        }
    }

    /// The smallest member that is at least `n` and below `limit`.
    fn from(&self, n: usize, limit: usize) -> Option<usize> {
        (n..limit).find(|i| self.contains(*i))
    }
}

/// Days of the month. `restricted`: something else than `*` was written.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct DayRule {
    restricted: bool,
    days: Set,
    /// `15W`: the weekday nearest to the day.
    nearest: Set,
    /// `L`.
    last: bool,
    /// `LW`.
    last_workday: bool,
}

/// Days of the week, 0 is Sunday.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct WeekdayRule {
    restricted: bool,
    days: Set,
    /// `5L`: the last one of the month.
    last: Set,
    /// `5#2`: the n-th one of the month, as `n * 7 + weekday`.
    nth: Set,
}

/// One field: its name in texts, its range, and names for values.
struct Field {
    name: &'static str,
    min: usize,
    max: usize,
    /// Full names; the first three letters count too. The first one stands for `names_from`.
    names: &'static [&'static str],
    names_from: usize,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

const fn field(name: &'static str, min: usize, max: usize) -> Field {
    Field { name, min, max, names: &[], names_from: 0 }
}

const SECOND: Field = field("second", 0, 59);
const MINUTE: Field = field("minute", 0, 59);
const HOUR: Field = field("hour", 0, 23);
const DAY: Field = field("day-of-month", 1, 31);
const MONTH: Field = Field { names: &MONTHS, names_from: 1, ..field("month", 1, 12) };
/// 7 is Sunday too.
const WEEKDAY: Field = Field { names: &WEEKDAYS, ..field("day-of-week", 0, 7) };
const YEAR: Field = field("year", FIRST_YEAR as usize, LAST_YEAR as usize);

impl Field {
    fn value(&self, s: &str) -> Option<usize> {
        let named = |name: &&str| *name == s || name.get(..3) == Some(s);
        if let Some(i) = self.names.iter().position(named) {
            return Some(i + self.names_from);
        }
        let digits = !s.is_empty() && s.len() <= 4 && s.bytes().all(|b| b.is_ascii_digit());
        let n = s.parse().ok().filter(|_| digits)?;
        (self.min..=self.max).contains(&n).then_some(n)
    }

    fn syntax<T>(&self, entry: &str) -> Result<T, CronError> {
        Err(CronError::Syntax { field: self.name, entry: entry.to_string() })
    }

    /// Values of one list entry: `*`, `5`, `1-5`, `*/2`, `5/2`, `1-5/2`; `None` when it is none of these.
    fn entry(&self, entry: &str, set: &mut Set) -> Result<bool, CronError> {
        let (range, step) = match entry.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (entry, None),
        };
        let (first, last) = if range == "*" || (range == "?" && step.is_none()) {
            (self.min, self.max)
        } else if let Some((first, last)) = range.split_once('-') {
            let (Some(first), Some(last)) = (self.value(first), self.value(last)) else { return Ok(false) };
            (first, last)
        } else {
            let Some(first) = self.value(range) else { return Ok(false) };
            (first, if step.is_some() { self.max } else { first })
        };
        if first > last {
            return Ok(false);
        }
        let step = match step {
            None => 1,
            Some(s) if s.is_empty() || !s.bytes().all(|b| b.is_ascii_digit()) => return Ok(false),
            Some(s) => match s.parse::<usize>() {
                Ok(n) if (1..=self.max).contains(&n) => n,
                _ => return Err(CronError::Interval { entry: entry.to_string() }),
            },
        };
        for n in (first..=last).step_by(step) {
            set.insert(n - self.min);
        }
        Ok(true)
    }

    /// A comma-separated list; `special` may take entries the field alone knows.
    fn parse(&self, text: &str, mut special: impl FnMut(&str) -> bool) -> Result<Set, CronError> {
        let mut set = Set::default();
        let mut entries = text.split(',').filter(|e| !e.is_empty()).peekable();
        if entries.peek().is_none() {
            return self.syntax(text);
        }
        for entry in entries {
            if !special(entry) && !self.entry(entry, &mut set)? {
                return self.syntax(entry);
            }
        }
        Ok(set)
    }
}

const MACROS: [(&str, &str); 6] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Cron {
    /// Parses 5 fields, 6 with a year last, 7 with seconds first and a year last, or a macro like `@daily`.
    ///
    /// # Errors
    /// The first field or entry that is not understood.
    pub fn parse(spec: &str) -> Result<Cron, CronError> {
        let lower = spec.trim().to_ascii_lowercase();
        let text = MACROS.iter().find(|(name, _)| *name == lower).map_or(lower.as_str(), |(_, t)| t);
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (second, rest, year) = match fields.as_slice() {
            [minute, hour, day, month, weekday] => ("0", [minute, hour, day, month, weekday], "*"),
            [minute, hour, day, month, weekday, year] => ("0", [minute, hour, day, month, weekday], *year),
            // Fields after the seventh are ignored.
            [second, minute, hour, day, month, weekday, year, ..] => {
                (*second, [minute, hour, day, month, weekday], *year)
            }
            _ => return Err(CronError::MissingFields),
        };
        let [minute, hour, day, month, weekday] = rest;
        let plain = |_: &str| false;
        Ok(Cron {
            second: SECOND.parse(second, plain)?,
            minute: MINUTE.parse(minute, plain)?,
            hour: HOUR.parse(hour, plain)?,
            day: parse_days(day)?,
            month: MONTH.parse(month, plain)?,
            weekday: parse_weekdays(weekday)?,
            year: YEAR.parse(year, plain)?,
        })
    }

    /// The first time strictly after the given one at which the specification fires, by the clock of the zone. `None`:
    /// never. Local times that daylight saving skips are skipped, those it repeats fire twice.
    pub fn next(&self, after: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        // Seconds of times before 1970 are rounded up, those after it down.
        let second = after.as_second().checked_sub(i64::from(after.subsec_nanosecond() < 0))?;
        let mut start = Timestamp::from_second(second.checked_add(1)?).ok()?;
        // Between two transitions of the zone local time runs evenly: search each stretch on its own.
        loop {
            let offset = zone.to_offset(start);
            let end = zone.following(start).next().map(|t| t.timestamp());
            let from = offset.to_datetime(start);
            if from.year() > LAST_YEAR {
                return None;
            }
            let to = end.map(|t| offset.to_datetime(t));
            if let Some(found) = self.next_local(from, to) {
                return offset.to_timestamp(found).ok();
            }
            start = end?;
        }
    }

    /// The same as [`Cron::next`], in Unix nanoseconds.
    pub fn next_after(&self, after: i64, zone: &TimeZone) -> Option<i64> {
        // All 64-bit numbers of nanoseconds are times.
        let after = Timestamp::from_nanosecond(i128::from(after)).ok()?;
        i64::try_from(self.next(after, zone)?.as_nanosecond()).ok()
    }

    /// The first matching local time in `[from, to)`.
    fn next_local(&self, from: DateTime, to: Option<DateTime>) -> Option<DateTime> {
        let mut day = from.date();
        if day.year() < FIRST_YEAR {
            day = date(FIRST_YEAR, 1, 1);
        }
        while day.year() <= LAST_YEAR && to.is_none_or(|t| day <= t.date()) {
            if !self.year.contains(usize::try_from(day.year() - FIRST_YEAR).ok()?) {
                day = date(day.year(), 12, 31).tomorrow().ok()?;
            } else if !self.month.contains(usize::try_from(day.month() - 1).ok()?) {
                day = day.last_of_month().tomorrow().ok()?;
            } else {
                let earliest = if day == from.date() { from.time() } else { Time::midnight() };
                if self.fires_on(day)
                    && let Some(time) = self.next_time(earliest)
                {
                    let found = day.to_datetime(time);
                    return to.is_none_or(|t| found < t).then_some(found);
                }
                day = day.tomorrow().ok()?;
            }
        }
        None
    }

    /// The first matching time of day that is not before the given one.
    fn next_time(&self, earliest: Time) -> Option<Time> {
        let at = |n: i8| usize::try_from(n).unwrap_or(0);
        let (hour0, minute0, second0) = (at(earliest.hour()), at(earliest.minute()), at(earliest.second()));
        let mut hour = self.hour.from(hour0, 24)?;
        loop {
            let first = if hour == hour0 { minute0 } else { 0 };
            let mut minute = self.minute.from(first, 60);
            while let Some(m) = minute {
                let first = if hour == hour0 && m == minute0 { second0 } else { 0 };
                if let Some(second) = self.second.from(first, 60) {
                    let part = |n: usize| i8::try_from(n).ok();
                    return Time::new(part(hour)?, part(m)?, part(second)?, 0).ok();
                }
                minute = self.minute.from(m + 1, 60);
            }
            hour = self.hour.from(hour + 1, 24)?;
        }
    }

    /// Day of month and day of week: both restricted means either.
    fn fires_on(&self, day: Date) -> bool {
        match (self.day.restricted, self.weekday.restricted) {
            (true, true) => self.day.matches(day) || self.weekday.matches(day),
            (true, false) => self.day.matches(day),
            (false, _) => self.weekday.matches(day),
        }
    }
}

fn parse_days(text: &str) -> Result<DayRule, CronError> {
    let mut rule = DayRule { restricted: !is_any(text), ..DayRule::default() };
    rule.days = DAY.parse(text, |entry| match entry {
        "l" => {
            rule.last = true;
            true
        }
        "lw" | "wl" => {
            rule.last_workday = true;
            true
        }
        _ => match entry.strip_suffix('w').and_then(|n| DAY.value(n)) {
            Some(n) => {
                rule.nearest.insert(n);
                true
            }
            None => false,
        },
    })?;
    Ok(rule)
}

fn parse_weekdays(text: &str) -> Result<WeekdayRule, CronError> {
    let mut rule = WeekdayRule { restricted: !is_any(text), ..WeekdayRule::default() };
    rule.days = WEEKDAY.parse(text, |entry| {
        if let Some(day) = entry.strip_suffix('l').and_then(|d| WEEKDAY.value(d)) {
            rule.last.insert(day % 7);
            return true;
        }
        let Some((day, n)) = entry.split_once('#') else { return false };
        match (WEEKDAY.value(day), n.parse::<usize>()) {
            (Some(day), Ok(n @ 1..=5)) => {
                rule.nth.insert(n * 7 + day % 7);
                true
            }
            _ => false,
        }
    })?;
    if rule.days.contains(7) {
        rule.days.insert(0);
    }
    Ok(rule)
}

fn is_any(text: &str) -> bool {
    text == "*" || text == "?"
}

/// Sunday is 0.
fn weekday(day: Date) -> usize {
    usize::try_from(day.weekday().to_sunday_zero_offset()).unwrap_or(0)
}

fn number(n: i8) -> usize {
    usize::try_from(n).unwrap_or(0)
}

impl DayRule {
    fn matches(&self, day: Date) -> bool {
        let n = number(day.day());
        self.days.contains(n - DAY.min)
            || (self.last && day == day.last_of_month())
            || (self.last_workday && nearest_workday(day.last_of_month()) == Some(day))
            // The nearest weekday is at most two days away.
            || (n.saturating_sub(2)..=n + 2).any(|target| {
                self.nearest.contains(target)
                    && i8::try_from(target)
                        .ok()
                        .and_then(|t| Date::new(day.year(), day.month(), t).ok())
                        .and_then(nearest_workday)
                        == Some(day)
            })
    }
}

/// Monday to Friday nearest to the day, in the same month.
fn nearest_workday(day: Date) -> Option<Date> {
    let move_by = match weekday(day) {
        6 if day.day() == 1 => 2,
        6 => -1,
        0 if day == day.last_of_month() => -2,
        0 => 1,
        _ => 0,
    };
    day.checked_add(move_by.days()).ok()
}

impl WeekdayRule {
    fn matches(&self, day: Date) -> bool {
        let (w, n) = (weekday(day), number(day.day()));
        self.days.contains(w)
            || (self.last.contains(w) && n + 7 > number(day.days_in_month()))
            || self.nth.contains((n - 1) / 7 * 7 + 7 + w)
    }
}

/// The time zone of that name.
///
/// # Errors
/// The name is a path or unknown.
pub fn time_zone(name: &str) -> Result<TimeZone, TimeZoneError> {
    match name {
        // The zone of the server's machine is not known here.
        "" | "UTC" | "Local" => return Ok(TimeZone::UTC),
        _ if name.contains("..") || name.starts_with('/') || name.contains('\\') => {
            return Err(TimeZoneError::InvalidName);
        }
        _ => {}
    }
    // Look-ups here ignore case, those of servers do not.
    match TimeZone::get(name) {
        Ok(zone) if zone.iana_name().is_none_or(|n| n == name || !n.eq_ignore_ascii_case(name)) => Ok(zone),
        _ => Err(TimeZoneError::Unknown(name.to_string())),
    }
}

/// The name of the time zone of a place: `Europe/Berlin` of `Berlin`. Case does not matter.
pub fn time_zone_of_place(place: &str) -> Option<String> {
    let wanted = place.trim().replace(' ', "_");
    let is_of = |name: &str| name.rsplit('/').next().is_some_and(|last| last.eq_ignore_ascii_case(&wanted));
    let named = jiff::tz::db().available().map(|name| name.to_string()).filter(|name| is_of(name));
    named.filter(|name| time_zone(name).is_ok()).min()
}

impl PeriodicConfig {
    /// The specifications: `cron`, or the list of `crons`.
    pub fn cron_specs(&self) -> impl Iterator<Item = &str> {
        let single = Some(self.spec.as_str()).filter(|s| !s.is_empty());
        single.into_iter().chain(self.specs.iter().flatten().map(String::as_str))
    }

    /// The next launch strictly after `after` (both Unix nanoseconds): the earliest of all specifications, `None` when
    /// none fires any more.
    ///
    /// # Errors
    /// The time zone, or else the first specification, is invalid.
    pub fn next_launch(&self, after: i64) -> Result<Option<i64>, PeriodicError> {
        let zone = time_zone(&self.time_zone)
            .map_err(|source| PeriodicError::TimeZone { name: self.time_zone.clone(), source })?;
        let mut earliest: Option<i64> = None;
        for spec in self.cron_specs() {
            let cron = Cron::parse(spec).map_err(|source| PeriodicError::Spec { spec: spec.to_string(), source })?;
            if let Some(next) = cron.next_after(after, &zone) {
                earliest = Some(earliest.map_or(next, |e| e.min(next)));
            }
        }
        Ok(earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(spec: &str, after: &str, zone: &str) -> String {
        let after: Timestamp = after.parse().unwrap();
        let zone = time_zone(zone).unwrap();
        match Cron::parse(spec).unwrap().next(after, &zone) {
            Some(t) => t.to_zoned(zone).strftime("%Y-%m-%d %a %H:%M:%S %:z").to_string(),
            None => "never".into(),
        }
    }

    #[test]
    fn next_in_utc() {
        let after = "2026-03-04T10:20:30.5Z"; // a Wednesday
        for (spec, want) in [
            ("* * * * *", "2026-03-04 Wed 10:21:00 +00:00"),
            ("*/15 * * * *", "2026-03-04 Wed 10:30:00 +00:00"),
            ("20 10 * * *", "2026-03-05 Thu 10:20:00 +00:00"),
            ("5-59/25 10 * * *", "2026-03-04 Wed 10:30:00 +00:00"),
            ("50/5 * * * *", "2026-03-04 Wed 10:50:00 +00:00"),
            ("30 20 10 * * * *", "2026-03-05 Thu 10:20:30 +00:00"),
            ("31 20 10 * * * *", "2026-03-04 Wed 10:20:31 +00:00"),
            ("30 20 10 4 3 * 2026", "never"),
            ("*/10 * * * * * *", "2026-03-04 Wed 10:20:40 +00:00"),
            ("0 0 1 1 * 2030", "2030-01-01 Tue 00:00:00 +00:00"),
            ("0 0 1 1 * 2020", "never"),
            ("0 0 31 2 *", "never"),
            ("0 0 29 2 *", "2028-02-29 Tue 00:00:00 +00:00"),
            ("0 0 L * *", "2026-03-31 Tue 00:00:00 +00:00"),
            ("0 0 L 2 *", "2027-02-28 Sun 00:00:00 +00:00"),
            ("0 0 LW 5 *", "2026-05-29 Fri 00:00:00 +00:00"),
            ("0 0 15W * *", "2026-03-16 Mon 00:00:00 +00:00"),
            ("0 0 1W 8 *", "2026-08-03 Mon 00:00:00 +00:00"),
            ("0 0 31W 5 *", "2026-05-29 Fri 00:00:00 +00:00"),
            ("0 0 * * 5L", "2026-03-27 Fri 00:00:00 +00:00"),
            ("0 0 * * fri#2", "2026-03-13 Fri 00:00:00 +00:00"),
            ("0 0 * * 5#2", "2026-03-13 Fri 00:00:00 +00:00"),
            ("0 0 * * 7", "2026-03-08 Sun 00:00:00 +00:00"),
            ("0 0 * * SUN", "2026-03-08 Sun 00:00:00 +00:00"),
            ("0 0 * * 6-7", "2026-03-07 Sat 00:00:00 +00:00"),
            ("0 0 13 * Friday", "2026-03-06 Fri 00:00:00 +00:00"),
            ("0 0 5 * sat,sun", "2026-03-05 Thu 00:00:00 +00:00"),
            ("0 0 ? jun-JUL mon", "2026-06-01 Mon 00:00:00 +00:00"),
            ("@yearly", "2027-01-01 Fri 00:00:00 +00:00"),
            ("@annually", "2027-01-01 Fri 00:00:00 +00:00"),
            ("@monthly", "2026-04-01 Wed 00:00:00 +00:00"),
            ("@weekly", "2026-03-08 Sun 00:00:00 +00:00"),
            ("@daily", "2026-03-05 Thu 00:00:00 +00:00"),
            ("@hourly", "2026-03-04 Wed 11:00:00 +00:00"),
        ] {
            assert_eq!(next(spec, after, "UTC"), want, "{spec}");
        }
        assert_eq!(next("* * * * * * *", "1969-12-31T23:59:59.5Z", "UTC"), "1970-01-01 Thu 00:00:00 +00:00");
        assert_eq!(next("* * * * *", "2099-12-31T23:59:00Z", "UTC"), "never");
    }

    #[test]
    fn daylight_saving() {
        let zone = "America/New_York";
        for (spec, after, want) in [
            ("30 2 * * *", "2026-03-08T05:00:00Z", "2026-03-09 Mon 02:30:00 -04:00"),
            ("0 * * * *", "2026-03-08T06:00:00Z", "2026-03-08 Sun 03:00:00 -04:00"),
            ("30 1 * * *", "2026-11-01T05:00:00Z", "2026-11-01 Sun 01:30:00 -04:00"),
            ("30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01 Sun 01:30:00 -05:00"),
            ("30 1 * * *", "2026-11-01T06:30:00Z", "2026-11-02 Mon 01:30:00 -05:00"),
            ("*/30 1 * * *", "2026-11-01T05:30:00Z", "2026-11-01 Sun 01:00:00 -05:00"),
            ("*/30 1 * * *", "2026-11-01T06:00:00Z", "2026-11-01 Sun 01:30:00 -05:00"),
            ("30 1 1 11 * 2026", "2026-11-01T05:45:00Z", "2026-11-01 Sun 01:30:00 -05:00"),
            ("30 2 8 3 * 2026", "2026-03-01T00:00:00Z", "never"),
        ] {
            assert_eq!(next(spec, after, zone), want, "{spec} after {after}");
        }
    }

    #[test]
    fn error_texts() {
        for (spec, want) in [
            ("", "missing field(s)"),
            ("every tuesday", "missing field(s)"),
            ("@every 1h", "missing field(s)"),
            ("* * * *", "missing field(s)"),
            ("61 * * * *", "syntax error in minute field: '61'"),
            ("a * * * *", "syntax error in minute field: 'a'"),
            ("* 24 * * *", "syntax error in hour field: '24'"),
            ("* * 0 * *", "syntax error in day-of-month field: '0'"),
            ("* * * 13 *", "syntax error in month field: '13'"),
            ("* * * * 8", "syntax error in day-of-week field: '8'"),
            ("* * * * 1#6", "syntax error in day-of-week field: '1#6'"),
            ("* * * * * 1969", "syntax error in year field: '1969'"),
            ("60 * * * * * *", "syntax error in second field: '60'"),
            ("5,x * * * *", "syntax error in minute field: 'x'"),
            ("*/0 * * * *", "invalid interval */0"),
        ] {
            assert_eq!(Cron::parse(spec).map_err(|e| e.to_string()), Err(want.to_string()), "{spec}");
        }
    }

    #[test]
    fn time_zones() {
        for good in ["", "UTC", "Europe/Berlin", "Etc/UTC", "America/New_York"] {
            assert!(time_zone(good).is_ok(), "{good}");
        }
        let refused = |name: &str| time_zone(name).err().map(|e| e.to_string());
        assert_eq!(refused("Mars/Olympus"), Some("unknown time zone Mars/Olympus".into()));
        assert_eq!(refused("europe/berlin"), Some("unknown time zone europe/berlin".into()));
        assert_eq!(refused("../x"), Some("time: invalid location name".into()));
    }

    #[test]
    fn the_earliest_specification_counts() {
        let nanos = |s: &str| i64::try_from(s.parse::<Timestamp>().unwrap().as_nanosecond()).unwrap();
        let mut p = PeriodicConfig { enabled: true, ..PeriodicConfig::default() };
        let after = nanos("2026-03-04T10:20:30Z");
        p.specs = Some(vec!["0 12 * * *".into(), "0 11 * * *".into(), "0 0 31 2 *".into()]);
        assert_eq!(p.next_launch(after), Ok(Some(nanos("2026-03-04T11:00:00Z"))));
        p.time_zone = "Asia/Tokyo".into();
        assert_eq!(p.next_launch(after), Ok(Some(nanos("2026-03-05T02:00:00Z"))));
        p.specs = Some(vec!["0 0 31 2 *".into()]);
        assert_eq!(p.next_launch(after), Ok(None));
        p.spec = "x".into();
        let refused = p.next_launch(after).map_err(|e| e.to_string());
        assert_eq!(refused, Err("Invalid cron spec \"x\": missing field(s)".into()));
        p.time_zone = "Mars".into();
        let refused = p.next_launch(after).map_err(|e| e.to_string());
        assert_eq!(refused, Err("Invalid time zone \"Mars\": unknown time zone Mars".into()));
    }
}
