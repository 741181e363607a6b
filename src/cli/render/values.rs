//! Single values as text (`spec/cli.md §3.3`).

use crate::model::{SECOND, format_duration};

/// A point in time, Unix nanoseconds, in a zone: RFC 3339 with seconds. Times within the first second of the epoch are
/// empty.
pub fn time(nanos: i64, zone: &jiff::tz::TimeZone) -> String {
    let Ok(timestamp) = jiff::Timestamp::from_nanosecond(i128::from(nanos)) else { return String::new() };
    if nanos < SECOND {
        return String::new();
    }
    let local = timestamp.to_zoned(zone.clone());
    let offset = local.offset().seconds();
    let suffix = match offset {
        0 => "Z".to_string(),
        _ => {
            let minutes = offset.unsigned_abs() / 60;
            format!("{}{:02}:{:02}", if offset < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
        }
    };
    format!("{}{suffix}", local.strftime("%Y-%m-%dT%H:%M:%S"))
}

/// The time from `a` to `b`, both truncated to whole seconds.
pub fn difference(a: i64, b: i64) -> String {
    let seconds = b.div_euclid(SECOND).saturating_sub(a.div_euclid(SECOND));
    format_duration(seconds.saturating_mul(SECOND))
}

/// A score: three significant digits in the shortest form; exponent form below 1e-4 and from 1000 up.
pub fn score(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".into() } else { x.to_string() };
    }
    let scientific = format!("{x:.2e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-4..3).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs());
    }
    let decimals = usize::try_from(2 - exponent).unwrap_or(0);
    trim_zeros(&format!("{x:.decimals$}")).to_string()
}

fn trim_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// `one` for a count of one, else `many`.
pub fn plural<'a>(n: i64, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_have_three_significant_digits() {
        for (x, want) in [
            (0.0, "0"),
            (0.0816, "0.0816"),
            (0.082, "0.082"),
            (1.0, "1"),
            (-0.25, "-0.25"),
            (0.000123, "0.000123"),
            (0.0000123, "1.23e-05"),
            (1234.0, "1.23e+03"),
            (999.6, "1e+03"),
            (123.4, "123"),
            (0.99999, "1"),
        ] {
            assert_eq!(score(x), want);
        }
    }

    #[test]
    fn times_have_seconds_and_their_zone() {
        let utc = jiff::tz::TimeZone::UTC;
        assert_eq!(time(1_795_240_000 * SECOND + 7, &utc), "2026-11-21T05:46:40Z");
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(-3));
        assert_eq!(time(1_795_240_000 * SECOND, &zone), "2026-11-21T02:46:40-03:00");
        assert_eq!(time(5, &utc), "");
        assert_eq!(difference(900_000_000, 90 * SECOND + 1), "1m30s");
    }
}
