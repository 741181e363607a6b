//! Points in time and durations as the API spells them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;

/// A point in time: Unix nanoseconds, or unset. JSON: RFC 3339 text; unset is written as `null` and read from `null`,
/// `""` and `0001-01-01T00:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(Option<i64>);

impl Time {
    /// The unset time.
    pub const ZERO: Time = Time(None);

    /// The time `nanos` nanoseconds after the Unix epoch.
    pub fn from_unix_nanos(nanos: i64) -> Time {
        Time(Some(nanos))
    }

    /// Whether the time is unset.
    pub fn is_zero(self) -> bool {
        self.0.is_none()
    }

    /// Unix nanoseconds, `None` when unset.
    pub fn unix_nanos(self) -> Option<i64> {
        self.0
    }

    /// Parses RFC 3339 text; the zero time and the empty text are unset.
    pub fn parse(s: &str) -> Result<Time, String> {
        if s.is_empty() || s.starts_with("0001-01-01T00:00:00") {
            return Ok(Time::ZERO);
        }
        let t: jiff::Timestamp = s.parse().map_err(|_| format!("{s:?} is not an RFC 3339 time"))?;
        let n = i64::try_from(t.as_nanosecond()).map_err(|_| format!("time {s:?} is out of range"))?;
        Ok(Time(Some(n)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            None => f.write_str("0001-01-01T00:00:00Z"),
            Some(n) => match jiff::Timestamp::from_nanosecond(i128::from(n)) {
                Ok(t) => write!(f, "{t}"),
                Err(_) => write!(f, "{n}"),
            },
        }
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.is_zero() { s.serialize_none() } else { s.collect_str(self) }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Option::<std::borrow::Cow<'de, str>>::deserialize(d)? {
            None => Ok(Time::ZERO),
            Some(s) => Time::parse(&s).map_err(serde::de::Error::custom),
        }
    }
}

/// A duration in the form the command line and many texts use: `1h0m0s`, `1m30s`, `250ms`, `1.5µs`, `0s`.
pub fn format_duration(nanos: i64) -> String {
    if nanos == 0 {
        return "0s".into();
    }
    let neg = if nanos < 0 { "-" } else { "" };
    let n = nanos.unsigned_abs();
    let fraction = |value: u64, unit: u64| -> String {
        let (whole, rest) = (value / unit, value % unit);
        if rest == 0 {
            return whole.to_string();
        }
        let width = unit.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        format!("{whole}.{}", digits.trim_end_matches('0'))
    };
    if n < 1_000 {
        return format!("{neg}{n}ns");
    }
    if n < 1_000_000 {
        return format!("{neg}{}µs", fraction(n, 1_000));
    }
    if n < 1_000_000_000 {
        return format!("{neg}{}ms", fraction(n, 1_000_000));
    }
    let (h, m) = (n / HOUR as u64, n % HOUR as u64 / MINUTE as u64);
    let s = fraction(n % MINUTE as u64, SECOND as u64);
    if h > 0 {
        format!("{neg}{h}h{m}m{s}s")
    } else if m > 0 {
        format!("{neg}{m}m{s}s")
    } else {
        format!("{neg}{s}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_print_as_clients_expect() {
        for (n, want) in [
            (0, "0s"),
            (1, "1ns"),
            (108_210, "108.21µs"),
            (250 * 1_000_000, "250ms"),
            (90 * SECOND, "1m30s"),
            (HOUR, "1h0m0s"),
            (SECOND + SECOND / 2, "1.5s"),
            (-MINUTE, "-1m0s"),
        ] {
            assert_eq!(format_duration(n), want);
        }
    }

    #[test]
    fn times_round_trip_and_know_zero() {
        assert!(Time::parse("0001-01-01T00:00:00Z").unwrap().is_zero());
        let t = Time::parse("2026-03-01T10:00:00.5Z").unwrap();
        assert_eq!(t.to_string(), "2026-03-01T10:00:00.5Z");
        assert!(Time::parse("yesterday").is_err());
    }
}
