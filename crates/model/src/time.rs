//! Points in time and durations, as written in the API.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// Nanoseconds in a second.
pub const SECOND: i64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: i64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: i64 = 60 * MINUTE;
/// Unix seconds of the unset time, 0001-01-01T00:00:00Z.
const ZERO_SECONDS: i64 = -62_135_596_800;

/// A point in time with the zone it was written in, or unset. JSON: RFC 3339 text; unset is written as `null` and read
/// from `null`, `""` and `0001-01-01T00:00:00Z`. Times are compared as instants, whatever their zones.
#[derive(Debug, Clone, Copy)]
pub struct Time {
    /// Unix seconds.
    seconds: i64,
    /// Nanoseconds after the second.
    nanos: u32,
    /// Seconds east of UTC.
    zone: i32,
}

/// A text is no time in the form of RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0:?} is not an RFC 3339 time")]
pub struct InvalidTime(String);

impl Time {
    /// The unset time.
    pub const ZERO: Time = Time { seconds: ZERO_SECONDS, nanos: 0, zone: 0 };

    /// The time `nanos` nanoseconds after the Unix epoch.
    pub fn from_unix_nanos(nanos: i64) -> Time {
        Time { seconds: nanos.div_euclid(SECOND), nanos: below_second(nanos.rem_euclid(SECOND)), zone: 0 }
    }

    /// Whether the time is unset.
    pub fn is_zero(self) -> bool {
        self == Time::ZERO
    }

    /// Unix nanoseconds, `None` when unset. Times too far away to be counted in nanoseconds give the furthest.
    pub fn unix_nanos(self) -> Option<i64> {
        if self.is_zero() {
            return None;
        }
        let nanos = i128::from(self.seconds) * i128::from(SECOND) + i128::from(self.nanos);
        Some(i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX }))
    }

    /// Unix seconds, nanoseconds after the second, seconds east of UTC.
    pub(crate) fn parts(self) -> (i64, u32, i32) {
        (self.seconds, self.nanos, self.zone)
    }

    /// The time of these parts.
    pub(crate) fn from_parts(seconds: i64, nanos: u32, zone: i32) -> Time {
        Time { seconds, nanos, zone }
    }

    /// Parses RFC 3339 text; the zero time and the empty text are unset.
    ///
    /// # Errors
    /// The text is anything else.
    pub fn parse(s: &str) -> Result<Time, InvalidTime> {
        if s.is_empty() || s.starts_with("0001-01-01T00:00:00") {
            return Ok(Time::ZERO);
        }
        let t: jiff::Timestamp = s.parse().map_err(|_| InvalidTime(s.to_string()))?;
        let n = t.as_nanosecond();
        let seconds = i64::try_from(n.div_euclid(i128::from(SECOND))).unwrap_or_default();
        let nanos = i64::try_from(n.rem_euclid(i128::from(SECOND))).unwrap_or_default();
        Ok(Time { seconds, nanos: below_second(nanos), zone: written_zone(s) })
    }

    /// Reads the binary forms that records of a server backup hold (`docs/spec/snapshot-archive.md §7`): 15 or 16 bytes
    /// with a zone, or 4, 8 or 12 bytes after the Unix epoch. `None` for anything else.
    pub(crate) fn from_binary(bytes: &[u8]) -> Option<Time> {
        let (seconds, nanos, zone) = match *bytes {
            [1 | 2, ref rest @ ..] if bytes.len() == if bytes[0] == 1 { 15 } else { 16 } => {
                let seconds = i64::from_be_bytes(rest.get(..8)?.try_into().ok()?).checked_add(ZERO_SECONDS)?;
                let nanos = u32::from_be_bytes(rest.get(8..12)?.try_into().ok()?);
                let minutes = i16::from_be_bytes(rest.get(12..14)?.try_into().ok()?);
                let seconds_east = rest.get(14).map_or(0, |b| i32::from(i8::from_be_bytes([*b])));
                (seconds, nanos, if minutes == -1 { 0 } else { i32::from(minutes) * 60 + seconds_east })
            }
            [a, b, c, d] => (i64::from(u32::from_be_bytes([a, b, c, d])), 0, 0),
            [_, _, _, _, _, _, _, _] => {
                let both = u64::from_be_bytes(bytes.try_into().ok()?);
                (i64::try_from(both & 0x3_ffff_ffff).ok()?, u32::try_from(both >> 34).ok()?, 0)
            }
            [a, b, c, d, ref seconds @ ..] if seconds.len() == 8 => {
                (i64::from_be_bytes(seconds.try_into().ok()?), u32::from_be_bytes([a, b, c, d]), 0)
            }
            _ => return None,
        };
        (i64::from(nanos) < SECOND).then_some(Time { seconds, nanos, zone })
    }
}

fn below_second(nanos: i64) -> u32 {
    u32::try_from(nanos).unwrap_or_default()
}

/// Seconds east of UTC that RFC 3339 text ends with (`+05:30`).
fn written_zone(s: &str) -> i32 {
    let Some([sign @ (b'+' | b'-'), h1, h2, b':', m1, m2]) = s.as_bytes().last_chunk::<6>() else { return 0 };
    let two = |a: &u8, b: &u8| i32::from(a.wrapping_sub(b'0')) * 10 + i32::from(b.wrapping_sub(b'0'));
    let seconds = two(h1, h2) * 3600 + two(m1, m2) * 60;
    if *sign == b'-' { -seconds } else { seconds }
}

impl Default for Time {
    fn default() -> Time {
        Time::ZERO
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        (self.seconds, self.nanos) == (other.seconds, other.nanos)
    }
}

impl Eq for Time {}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.seconds, self.nanos).hash(state);
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0001-01-01T00:00:00Z");
        }
        let whole = jiff::Timestamp::from_second(self.seconds);
        let nanos = jiff::SignedDuration::from_nanos(i64::from(self.nanos));
        match (whole.and_then(|t| t.checked_add(nanos)), jiff::tz::Offset::from_seconds(self.zone)) {
            (Ok(t), Ok(offset)) if self.zone != 0 => write!(f, "{}", t.display_with_offset(offset)),
            (Ok(t), _) => write!(f, "{t}"),
            (Err(_), _) => write!(f, "{}", self.seconds),
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
        if !d.is_human_readable() {
            return d.deserialize_bytes(Binary);
        }
        match Option::<std::borrow::Cow<'de, str>>::deserialize(d)? {
            None => Ok(Time::ZERO),
            Some(s) => Time::parse(&s).map_err(de::Error::custom),
        }
    }
}

struct Binary;

impl de::Visitor<'_> for Binary {
    type Value = Time;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Time, E> {
        Time::from_binary(bytes).ok_or_else(|| E::invalid_length(bytes.len(), &"a time of 4, 8, 12, 15 or 16 bytes"))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Time, E> {
        Ok(Time::ZERO)
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
        let india = Time::parse("2026-11-21T12:40:39+05:30").unwrap();
        assert_eq!(india, Time::parse("2026-11-21T07:10:39Z").unwrap());
        assert_eq!(india.to_string(), "2026-11-21T12:40:39+05:30");
        let far = Time::parse("9000-01-01T00:00:00.000000001Z").unwrap();
        assert_eq!((far.to_string().as_str(), far.unix_nanos()), ("9000-01-01T00:00:00.000000001Z", Some(i64::MAX)));
        assert_eq!(Time::from_unix_nanos(-1).to_string(), "1969-12-31T23:59:59.999999999Z");
        assert!(Time::ZERO < Time::from_unix_nanos(i64::MIN));
    }

    /// The worked examples of `docs/spec/snapshot-archive.md §16`, and the forms of other writers.
    #[test]
    fn binary_times() {
        let go = |zone: [u8; 2]| [&[1, 0, 0, 0, 0x0e, 0xe2, 0x93, 0x3a, 0xef, 0, 0, 0, 0][..], &zone].concat();
        let text = |bytes: &[u8]| Time::from_binary(bytes).map(|t| t.to_string());
        assert_eq!(text(&go([0, 0])).as_deref(), Some("2026-11-21T07:10:39Z"));
        assert_eq!(text(&go([0xff, 0xff])).as_deref(), Some("2026-11-21T07:10:39Z"));
        assert_eq!(text(&go([0x01, 0x4a])).as_deref(), Some("2026-11-21T12:40:39+05:30"));
        assert!(Time::from_binary(&[&[1][..], &[0; 12], &[0xff, 0xff]].concat()).unwrap().is_zero());
        let mut long = go([0x01, 0x4a]);
        long[0] = 2;
        assert_eq!(text(&long), None, "the second form has one byte more");
        long.push(0);
        assert_eq!(text(&long).as_deref(), Some("2026-11-21T12:40:39+05:30"));
        let half = (500_000_000_u64 << 34) | 1_795_245_039;
        assert_eq!(text(&half.to_be_bytes()).as_deref(), Some("2026-11-21T07:10:39.5Z"));
        assert_eq!(text(&1_795_245_039_u32.to_be_bytes()).as_deref(), Some("2026-11-21T07:10:39Z"));
        let twelve = [&1_u32.to_be_bytes()[..], &(-1_i64).to_be_bytes()].concat();
        assert_eq!(text(&twelve).as_deref(), Some("1969-12-31T23:59:59.000000001Z"));
        assert_eq!(text(&[&u32::MAX.to_be_bytes()[..], &[0; 8]].concat()), None, "too many nanoseconds");
        assert_eq!(text(&[&[1][..], &[0xff; 14]].concat()), None);
    }
}
