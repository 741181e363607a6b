//! Durations: of nanoseconds, and as text: `1h30m`, `-1.5s` (`docs/spec/jobspec.md §3.1`).

use std::time::Duration;

use thiserror::Error;

use super::time::{HOUR, MINUTE, SECOND};

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InvalidDuration {
    /// The text is no list of numbers with units, or a number is too large.
    #[error("time: invalid duration {}", quote(.0))]
    Malformed(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(String),
    /// There is no such unit.
    #[error("time: unknown unit {} in duration {}", quote(unit), quote(text))]
    UnknownUnit {
        /// The unit as written.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// So many nanoseconds; nothing for less than none.
pub fn of_nanos(nanos: i64) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

/// Nanoseconds of a unit.
fn unit(name: &str) -> Option<u64> {
    let nanos = match name {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    };
    u64::try_from(nanos).ok()
}

/// Nanoseconds of a duration text.
///
/// # Errors
/// The text is no duration, or a longer one than 64 bits hold.
pub fn parse_duration(text: &str) -> Result<i64, InvalidDuration> {
    let invalid = || InvalidDuration::Malformed(text.to_string());
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    const LIMIT: u64 = 1 << 63;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => digits(after),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let unit_len = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit_name, after) = after.split_at(unit_len);
        if unit_name.is_empty() {
            return Err(InvalidDuration::MissingUnit(text.to_string()));
        }
        let Some(nanos) = unit(unit_name) else {
            return Err(InvalidDuration::UnknownUnit { unit: unit_name.to_string(), text: text.to_string() });
        };
        let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| invalid())? };
        let value = whole.checked_mul(nanos).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
        let value = value.checked_add(fraction_nanos(fraction, nanos)).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
        total = total.checked_add(value).filter(|v| *v <= LIMIT).ok_or_else(invalid)?;
        rest = after;
    }
    match (negative, i64::try_from(total)) {
        (false, Ok(n)) => Ok(n),
        (true, Ok(n)) => Ok(-n),
        // Only the smallest number has no positive counterpart.
        (true, Err(_)) => Ok(i64::MIN),
        (false, Err(_)) => Err(invalid()),
    }
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Nanoseconds of the digits behind the point; what is below one nanosecond is cut off.
fn fraction_nanos(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0u64, 1.0f64);
    for digit in digits.bytes() {
        // Digits beyond the precision of a 64-bit integer are ignored.
        let Some(next) = value.checked_mul(10).and_then(|v| v.checked_add(u64::from(digit - b'0'))) else { break };
        if next > i64::MAX as u64 {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', byte as char]),
            0x20..0x7f => quoted.push(byte as char),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_duration_is_negative() {
        assert_eq!([-1, 0, SECOND].map(of_nanos), [Duration::ZERO, Duration::ZERO, Duration::from_secs(1)]);
    }

    #[test]
    fn durations() {
        for (text, want) in [
            ("0", 0),
            ("1h30m", 90 * MINUTE),
            ("1.5h", 90 * MINUTE),
            ("+.5m", 30 * SECOND),
            ("-2s", -2 * SECOND),
            ("3µs", 3_000),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(parse_duration(text), Ok(want), "{text}");
        }
        for (text, want) in [
            ("", "time: invalid duration \"\""),
            ("5", "time: missing unit in duration \"5\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("5 s", "time: unknown unit \" s\" in duration \"5 s\""),
            (".s", "time: invalid duration \".s\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("1é", "time: unknown unit \"\\xc3\\xa9\" in duration \"1\\xc3\\xa9\""),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), want, "{text}");
        }
    }
}
