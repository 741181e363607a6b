//! Times: `formatdate timeadd`, on RFC 3339 timestamps.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};
use thiserror::Error;

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, Text, function, p};
use crate::value::Value;
use encamp_model::duration::parse_duration;
use encamp_model::quote::quoted;

pub(crate) const FUNCTIONS: &[Function] = &[
    function("formatdate", &[p("format", Kind::String), p("time", Kind::String)], formatdate),
    function("timeadd", &[p("timestamp", Kind::String), p("duration", Kind::String)], timeadd),
];

/// Why a text is no timestamp.
#[derive(Debug, Error)]
pub(crate) enum TimestampError {
    #[error(
        "not a valid RFC3339 timestamp: cannot use {} as a timestamp of the form YYYY-MM-DDThh:mm:ssZ",
        quoted(.0)
    )]
    Form(String),
    #[error("not a valid RFC3339 timestamp: {0} out of range")]
    OutOfRange(&'static str),
}

/// A sequence of letters that `formatdate` does not know.
#[derive(Debug, Error)]
#[error("invalid date format verb {0:?}: {what}", what = known_sequences(.0))]
struct UnsupportedSequence(String);

/// A point in time as an RFC 3339 text gives it.
struct Timestamp {
    /// The local clock.
    local: DateTime,
    /// Offset from UTC in minutes.
    offset: i64,
}

/// The numbers of an RFC 3339 text, which may be out of range.
struct Fields {
    /// Year, month, day, hour, minute, second.
    numbers: [i64; 6],
    nanos: i64,
    /// In minutes, if it is in range.
    offset: Option<i64>,
}

impl Fields {
    fn parse(text: &str) -> Option<Fields> {
        let bytes = text.as_bytes();
        let number = |start: usize, length: usize| -> Option<i64> {
            let digits = text.get(start..start + length)?;
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
        };
        let shape = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if !shape.iter().all(|(at, mark)| bytes.get(*at) == Some(mark)) {
            return None;
        }
        let numbers = [number(0, 4)?, number(5, 2)?, number(8, 2)?, number(11, 2)?, number(14, 2)?, number(17, 2)?];
        let mut at = 19;
        let mut nanos = 0;
        if bytes.get(at) == Some(&b'.') {
            let digits = bytes.get(at + 1..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let kept = digits.min(9);
            nanos = number(at + 1, kept).filter(|_| digits > 0)? * 10i64.pow(9 - kept as u32);
            at += 1 + digits;
        }
        let (offset, end) = match bytes.get(at)? {
            b'Z' => (Some(0), at + 1),
            sign @ (b'+' | b'-') if bytes.get(at + 3) == Some(&b':') => {
                let (hours, minutes) = (number(at + 1, 2)?, number(at + 4, 2)?);
                let minutes = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes);
                (minutes.map(|minutes| if *sign == b'-' { -minutes } else { minutes }), at + 6)
            }
            _ => return None,
        };
        (end == text.len()).then_some(Fields { numbers, nanos, offset })
    }
}

impl Timestamp {
    fn parse(text: &str) -> Result<Timestamp, TimestampError> {
        let fields = Fields::parse(text).ok_or_else(|| TimestampError::Form(text.to_string()))?;
        let [year, month, day, hour, minute, second] = fields.numbers;
        // Numbers of four and two digits fit.
        let small = |number: i64| i8::try_from(number).unwrap_or(i8::MAX);
        let first = Date::new(i16::try_from(year).unwrap_or(i16::MAX), small(month), 1);
        let first = first.map_err(|_| TimestampError::OutOfRange("month"))?;
        let date = first.with().day(small(day)).build().map_err(|_| TimestampError::OutOfRange("day"))?;
        for (name, value, max) in [("hour", hour, 23), ("minute", minute, 59), ("second", second, 59)] {
            if value > max {
                return Err(TimestampError::OutOfRange(name));
            }
        }
        let offset = fields.offset.ok_or(TimestampError::OutOfRange("time zone offset"))?;
        let nanos = i32::try_from(fields.nanos).unwrap_or(0);
        Ok(Timestamp { local: date.at(small(hour), small(minute), small(second), nanos), offset })
    }

    /// `+hh:mm`, with the given separator.
    fn offset_text(&self, separator: &str) -> String {
        let (sign, minutes) = if self.offset < 0 { ('-', -self.offset) } else { ('+', self.offset) };
        format!("{sign}{:02}{separator}{:02}", minutes / 60, minutes % 60)
    }
}

fn timeadd(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (time, added) = (Timestamp::parse(args.text(0)?)?, parse_duration(args.text(1)?)?);
    let sum = time.local.checked_add(SignedDuration::from_nanos(added)).map_err(|_| "the result is out of range")?;
    let zone = if time.offset == 0 { "Z".to_string() } else { time.offset_text(":") };
    let (sign, year) = (if sum.year() < 0 { "-" } else { "" }, sum.year().unsigned_abs());
    Ok(Value::string(format!("{sign}{year:04}-{}{zone}", sum.strftime("%m-%dT%H:%M:%S")))?)
}

fn formatdate(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let time = Timestamp::parse(args.text(1)?).map_err(|error| Failure::Argument(1, error.to_string()))?;
    let mut out = Text::default();
    let mut rest = args.text(0)?;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("''") {
            out.push("'")?;
            rest = after;
            continue;
        }
        if let Some(quoted) = rest.strip_prefix('\'') {
            // A quote in a literal is doubled, too.
            let mut literal = quoted;
            loop {
                let (text, after) = literal
                    .split_once('\'')
                    .ok_or_else(|| Failure::Argument(0, "unterminated literal '".to_string()))?;
                out.push(text)?;
                literal = after;
                match after.strip_prefix('\'') {
                    Some(more) => {
                        out.push("'")?;
                        literal = more;
                    }
                    None => break,
                }
            }
            rest = literal;
            continue;
        }
        let length = rest.chars().take_while(|c| *c == first).count() * first.len_utf8();
        let (run, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        if first.is_ascii_alphabetic() {
            out.push(&date_part(run, &time).map_err(|error| Failure::Argument(0, error.to_string()))?)?;
        } else {
            out.push(run)?;
        }
    }
    Ok(out.into_value())
}

/// The text of one letter sequence of a `formatdate` format.
fn date_part(sequence: &str, time: &Timestamp) -> Result<String, UnsupportedSequence> {
    let local = &time.local;
    let hour = local.hour();
    let hour12 = if hour % 12 == 0 { 12 } else { hour % 12 };
    let name = |format: &str| local.strftime(format).to_string();
    Ok(match sequence {
        "YYYY" => format!("{:04}", local.year()),
        "YY" => format!("{:02}", local.year().rem_euclid(100)),
        "MMMM" => name("%B"),
        "MMM" => name("%b"),
        "MM" => format!("{:02}", local.month()),
        "M" => local.month().to_string(),
        "DD" => format!("{:02}", local.day()),
        "D" => local.day().to_string(),
        "EEEE" => name("%A"),
        "EEE" => name("%a"),
        "hh" => format!("{hour:02}"),
        "h" => hour.to_string(),
        "HH" => format!("{hour12:02}"),
        "H" => hour12.to_string(),
        "AA" => if hour < 12 { "AM" } else { "PM" }.to_string(),
        "aa" => if hour < 12 { "am" } else { "pm" }.to_string(),
        "mm" => format!("{:02}", local.minute()),
        "m" => local.minute().to_string(),
        "ss" => format!("{:02}", local.second()),
        "s" => local.second().to_string(),
        "ZZZZZ" => time.offset_text(":"),
        "ZZZ" if time.offset == 0 => "UTC".to_string(),
        "ZZZZ" | "ZZZ" => time.offset_text(""),
        "Z" if time.offset == 0 => "Z".to_string(),
        "Z" => time.offset_text(":"),
        other => return Err(UnsupportedSequence(other.to_string())),
    })
}

/// The sequences that exist for the first letter of one that does not.
fn known_sequences(sequence: &str) -> &'static str {
    match sequence.chars().next() {
        Some('Y') => "year must either be \"YY\" or \"YYYY\"",
        Some('M') => "month must be \"M\", \"MM\", \"MMM\", or \"MMMM\"",
        Some('D') => "day of month must either be \"D\" or \"DD\"",
        Some('E') => "day of week must either be \"EEE\" or \"EEEE\"",
        Some('h') => "24-hour must either be \"h\" or \"hh\"",
        Some('H') => "12-hour must either be \"H\" or \"HH\"",
        Some('A' | 'a') => "must use \"AA\" or \"aa\" for AM/PM",
        Some('m') => "minute must either be \"m\" or \"mm\"",
        Some('s') => "second must either be \"s\" or \"ss\"",
        Some('Z') => "timezone must be Z, ZZZ, ZZZZ, or ZZZZZ",
        _ => "letters not used as format sequences must be quoted",
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::check;

    #[test]
    fn dates_by_format() {
        for (format, time, expected) in [
            ("DD MMM YYYY hh:mm ZZZ", "2024-02-28T23:30:00Z", "28 Feb 2024 23:30 UTC"),
            ("EEEE, D'th' h:m AA", "2024-03-05T14:07:09+02:00", "Tuesday, 5th 14:7 PM"),
            ("YY M MMMM EEE HH H aa ss s", "2024-03-05T00:07:09Z", "24 3 March Tue 12 12 am 09 9"),
            ("ZZZZZ ZZZZ ZZZ Z", "2024-03-05T14:07:09-03:30", "-03:30 -0330 -0330 -03:30"),
            ("ZZZZZ ZZZZ ZZZ Z", "2024-03-05T14:07:09Z", "+00:00 +0000 UTC Z"),
            ("'it''s' H", "2024-03-05T14:07:09Z", "it's 2"),
            ("H '' m", "2024-03-05T14:07:09Z", "2 ' 7"),
            ("", "2024-03-05T14:07:09.123Z", ""),
        ] {
            check("formatdate", &[format.into(), time.into()], expected);
        }
        for (format, time, expected) in [
            ("YYY", "2024-03-05T14:07:09Z", "format"),
            ("Q", "2024-03-05T14:07:09Z", "format"),
            ("'open", "2024-03-05T14:07:09Z", "format"),
            ("D", "2024-02-30T14:07:09Z", "time"),
            ("D", "2024-02-30", "time"),
            ("D", "2023-02-29T00:00:00Z", "time"),
            ("D", "2024-01-01T24:00:00Z", "time"),
            ("D", "2024-01-01T00:00:00+0100", "time"),
            ("D", "２024-01-01T00:00:00Z", "time"),
        ] {
            let context = super::super::support::test_context();
            let error = super::super::call("formatdate", vec![format.into(), time.into()], &context).unwrap_err();
            assert!(error.to_string().starts_with(&format!("Invalid value for {expected:?} parameter: ")), "{error}");
        }
    }

    #[test]
    fn additions() {
        for (time, duration, expected) in [
            ("2024-02-28T23:30:00Z", "48h30m", "2024-03-02T00:00:00Z"),
            ("2024-01-01T00:00:00Z", "-1ns", "2023-12-31T23:59:59Z"),
            ("2024-01-01T00:00:00.5+01:00", "1.5s", "2024-01-01T00:00:02+01:00"),
            ("1970-01-01T00:00:00Z", "0", "1970-01-01T00:00:00Z"),
            ("2000-02-28T23:59:59.9Z", "0.1s", "2000-02-29T00:00:00Z"),
            ("1900-02-28T23:59:59-01:00", "1s", "1900-03-01T00:00:00-01:00"),
            ("0000-01-01T00:00:00Z", "-1s", "-0001-12-31T23:59:59Z"),
        ] {
            check("timeadd", &[time.into(), duration.into()], expected);
        }
        for (duration, expected) in [
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("5", "time: missing unit in duration \"5\""),
            ("", "time: invalid duration \"\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
        ] {
            let text = format!("Call to function \"timeadd\" failed: {expected}.");
            check("timeadd", &["2024-01-01T00:00:00Z".into(), duration.into()], &text);
        }
    }
}
