//! Single values as text (`docs/spec/cli.md §3.3`).

use std::fmt;

use encamp_model::{SECOND, Time, format_duration};

/// Now and the zone times are shown in.
#[derive(Debug, Clone)]
pub struct Clock {
    /// Unix nanoseconds.
    pub now: i64,
    /// The zone.
    pub zone: jiff::tz::TimeZone,
}

impl Clock {
    /// How long ago a time was or, in full, the time.
    pub fn shown(&self, nanos: i64, full: bool) -> String {
        if full { self.time(nanos) } else { self.age(nanos) }
    }

    /// A time, as [`time`] shows it.
    pub fn time(&self, nanos: i64) -> String {
        time(nanos, &self.zone)
    }

    /// How long ago it was, as [`age`] shows it.
    pub fn age(&self, nanos: i64) -> String {
        age(nanos, self.now)
    }
}

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

/// A point in time that came as text: RFC 3339 with seconds, in the zone it was written in. The unset time is empty.
pub fn written_time(time: Time) -> String {
    if time.is_zero() {
        return String::new();
    }
    let text = time.to_string();
    match text.split_once('.') {
        Some((whole, rest)) => format!("{whole}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => text,
    }
}

/// A percentage with two digits, and commas between thousands: `1,234.57%`.
pub fn percent(value: f64) -> String {
    let text = format!("{:.2}", (value * 100.0 + 0.5).floor() / 100.0);
    let (whole, digits) = text.split_once('.').unwrap_or((&text, "00"));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |w| ("-", w));
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(c);
    }
    format!("{sign}{grouped}.{digits}%")
}

/// An ID as it is shown: the first 8 bytes of it, or all of it.
pub fn id(full: &str, verbose: bool) -> &str {
    if verbose { full } else { full.get(..8).unwrap_or(full) }
}

/// The time from `a` to `b`, both truncated to whole seconds.
pub fn difference(a: i64, b: i64) -> String {
    let seconds = b.div_euclid(SECOND).saturating_sub(a.div_euclid(SECOND));
    format_duration(seconds.saturating_mul(SECOND))
}

/// How far a time is from now, in the two largest units: `4s ago`, `1d2h ago`, `29m57s from now`. Empty for the epoch.
/// A month has 30 days, a year 12 months.
pub fn age(nanos: i64, now: i64) -> String {
    if nanos == 0 {
        return String::new();
    }
    let second = |t: i64| t.saturating_add(SECOND / 2).div_euclid(SECOND);
    let seconds = second(now).saturating_sub(second(nanos));
    let suffix = if seconds < 0 { "from now" } else { "ago" };
    let mut rest = seconds.unsigned_abs();
    let mut parts = Vec::new();
    for (unit, length) in [("y", 31_104_000), ("mo", 2_592_000), ("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)] {
        if rest >= length {
            parts.push(format!("{}{unit}", rest / length));
        }
        rest %= length;
    }
    if parts.is_empty() {
        parts.push("0s".into());
    }
    parts.truncate(2);
    format!("{} {suffix}", parts.concat())
}

/// A size: `3.4 MiB`, `21 MiB`, `375 B`.
pub fn bytes(size: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = UNITS.iter().enumerate().rev().find(|(i, _)| size >> (10 * i) > 0);
    let Some((i, name)) = unit.filter(|_| size >= 10) else { return format!("{size} B") };
    let whole = 1u128 << (10 * i);
    let tenths = (u128::from(size) * 20 / whole).div_ceil(2);
    if tenths < 100 {
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    } else {
        format!("{} {name}", (tenths + 5) / 10)
    }
}

/// An amount in MB as a size.
pub fn megabytes(mb: i64) -> String {
    bytes(u64::try_from(mb).unwrap_or(0).saturating_mul(1 << 20))
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

/// A clock rate, from MHz: `800 MHz`, `81.7 GHz`, `1.2 THz`.
pub fn megahertz(mhz: i64) -> String {
    let amount = mhz.max(0) as f64;
    match amount {
        mhz if mhz < 1000.0 => format!("{mhz:.0} MHz"),
        mhz if mhz < 999_950.0 => format!("{:.1} GHz", mhz / 1000.0),
        mhz => format!("{:.1} THz", mhz / 1_000_000.0),
    }
}

/// A count and what is counted: `1 node`, `3 nodes`.
pub fn counted(n: impl Copy + fmt::Display + TryInto<i64>, one: &str, many: &str) -> String {
    format!("{n} {}", plural(n.try_into().unwrap_or(i64::MAX), one, many))
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
    fn percentages_of_nodes_have_commas() {
        let shown = [1234.567, 0.005, 99.999, 0.0, 1_000_000.0].map(percent);
        assert_eq!(shown, ["1,234.57%", "0.01%", "100.00%", "0.00%", "1,000,000.00%"]);
    }

    #[test]
    fn ages_have_two_units() {
        let now = 2_000_000_000 * SECOND;
        for (seconds, want) in [
            (0, "0s ago"),
            (4, "4s ago"),
            (425, "7m5s ago"),
            (3605, "1h5s ago"),
            (86_400 + 7200 + 60, "1d2h ago"),
            (-(29 * 60 + 57), "29m57s from now"),
            (312 * 86_400, "10mo12d ago"),
            (400 * 86_400, "1y1mo ago"),
        ] {
            assert_eq!(age(now - seconds * SECOND, now), want);
        }
        assert_eq!(age(0, now), "");
    }

    #[test]
    fn sizes_have_a_digit_below_ten() {
        let sizes = [0, 9, 10, 375, 1023, 1024, 3_565_158, 22_020_096, 1 << 30, u64::MAX];
        let want = ["0 B", "9 B", "10 B", "375 B", "1023 B", "1.0 KiB", "3.4 MiB", "21 MiB", "1.0 GiB", "16 EiB"];
        assert_eq!(sizes.map(bytes), want);
        assert_eq!([megabytes(-1), megabytes(256)], ["0 B", "256 MiB"]);
        let rates = [-1, 999, 1000, 81_740, 999_949, 999_950, 1_250_000].map(megahertz);
        assert_eq!(rates, ["0 MHz", "999 MHz", "1.0 GHz", "81.7 GHz", "999.9 GHz", "1.0 THz", "1.2 THz"]);
    }

    #[test]
    fn times_have_seconds_and_their_zone() {
        let utc = jiff::tz::TimeZone::UTC;
        assert_eq!(time(1_795_240_000 * SECOND + 7, &utc), "2026-11-21T05:46:40Z");
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(-3));
        assert_eq!(time(1_795_240_000 * SECOND, &zone), "2026-11-21T02:46:40-03:00");
        assert_eq!(time(5, &utc), "");
        let written = |text| written_time(Time::parse(text).unwrap());
        assert_eq!(written("2026-11-21T05:45:53.105618162Z"), "2026-11-21T05:45:53Z");
        assert_eq!(written("2026-11-21T05:45:53+01:00"), "2026-11-21T05:45:53+01:00");
        assert_eq!(written("2026-11-21T05:45:53.5-01:30"), "2026-11-21T05:45:53-01:30");
        assert_eq!(written(""), "");
        assert_eq!(difference(900_000_000, 90 * SECOND + 1), "1m30s");
    }
}
