//! Times, and their layouts as Go writes them.

use std::fmt::Write;

/// A point in time, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    nanos: i64,
}

const SECOND: i64 = 1_000_000_000;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// Longest first where one begins another.
const ELEMENTS: [&str; 39] = [
    "January",
    "Jan",
    "Monday",
    "Mon",
    "MST",
    "2006",
    "Z070000",
    "Z07:00:00",
    "Z0700",
    "Z07:00",
    "Z07",
    "-070000",
    "-07:00:00",
    "-0700",
    "-07:00",
    "-07",
    "002",
    "01",
    "02",
    "03",
    "04",
    "05",
    "06",
    "15",
    "PM",
    "pm",
    "_2006",
    "__2",
    "_2",
    "1",
    "2",
    "3",
    "4",
    "5",
    ".000",
    ".999",
    ",000",
    ",999",
    "",
];

/// The parts of a time.
struct Civil {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    year_day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: i64,
}

impl Time {
    /// The time of Unix nanoseconds.
    pub fn from_unix_nanos(nanos: i64) -> Time {
        Time { nanos }
    }

    /// Unix nanoseconds.
    pub fn unix_nanos(self) -> i64 {
        self.nanos
    }

    /// Unix seconds.
    pub fn unix_seconds(self) -> i64 {
        self.nanos.div_euclid(SECOND)
    }

    fn civil(self) -> Civil {
        let seconds = self.unix_seconds();
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Days since 0000-03-01, in eras of 400 years.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
        let index = usize::try_from(month - 1).unwrap_or(0);
        let year_day = before.get(index).copied().unwrap_or(0) + day + i64::from(leap && month > 2);
        Civil {
            year,
            month: index,
            day,
            weekday: usize::try_from((days + 4).rem_euclid(7)).unwrap_or(0),
            year_day,
            hour: of_day / 3600,
            minute: of_day % 3600 / 60,
            second: of_day % 60,
            nanos: self.nanos.rem_euclid(SECOND),
        }
    }

    /// RFC 3339, in seconds.
    pub fn rfc3339(self) -> String {
        self.format("2006-01-02T15:04:05Z07:00")
    }

    /// By a layout of Go: the time of reference is `Mon Jan 2 15:04:05 MST 2006`.
    pub fn format(self, layout: &str) -> String {
        let c = self.civil();
        let mut out = String::with_capacity(layout.len() + 16);
        let mut rest = layout;
        let mut previous = ' ';
        while let Some(first) = rest.chars().next() {
            let element = ELEMENTS.iter().find(|e| rest.starts_with(**e)).copied().unwrap_or_default();
            let after = rest.get(element.len()..).unwrap_or_default();
            let fraction = matches!(element, ".000" | ".999" | ",000" | ",999");
            let short_fraction = first == '.' || first == ',';
            if fraction || (element.is_empty() && short_fraction && previous.is_ascii_digit()) {
                let digits = rest.get(1..).unwrap_or_default();
                let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'));
                if let Some(kind) = kind {
                    let count = digits.chars().take_while(|c| *c == kind).count();
                    let follows = digits.chars().nth(count).is_some_and(|c| c.is_ascii_digit());
                    if !follows && count <= 9 {
                        let all = format!("{:09}", c.nanos);
                        let mut shown = all.get(..count).unwrap_or_default();
                        if kind == '9' {
                            shown = shown.trim_end_matches('0');
                        }
                        if !shown.is_empty() {
                            out.push(first);
                            out.push_str(shown);
                        }
                        rest = digits.get(count..).unwrap_or_default();
                        previous = kind;
                        continue;
                    }
                }
            }
            // `Jan` of `Janet` is no month.
            let word = matches!(element, "Jan" | "Mon") && after.starts_with(|c: char| c.is_ascii_lowercase());
            if element.is_empty() || fraction || word {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                previous = first;
                continue;
            }
            let month = MONTHS.get(c.month).copied().unwrap_or_default();
            let day = DAYS.get(c.weekday).copied().unwrap_or_default();
            let twelve = if c.hour % 12 == 0 { 12 } else { c.hour % 12 };
            // Writing to a string does not fail.
            let _ = match element {
                "January" => write!(out, "{month}"),
                "Jan" => write!(out, "{}", month.get(..3).unwrap_or_default()),
                "Monday" => write!(out, "{day}"),
                "Mon" => write!(out, "{}", day.get(..3).unwrap_or_default()),
                "MST" => write!(out, "UTC"),
                "2006" => write!(out, "{:04}", c.year),
                "_2006" => write!(out, "_{:04}", c.year),
                "06" => write!(out, "{:02}", c.year.rem_euclid(100)),
                "Z0700" | "Z07:00" | "Z07" | "Z070000" | "Z07:00:00" => write!(out, "Z"),
                "-0700" => write!(out, "+0000"),
                "-07:00" => write!(out, "+00:00"),
                "-07" => write!(out, "+00"),
                "-070000" => write!(out, "+000000"),
                "-07:00:00" => write!(out, "+00:00:00"),
                "002" => write!(out, "{:03}", c.year_day),
                "__2" => write!(out, "{:3}", c.year_day),
                "01" => write!(out, "{:02}", c.month + 1),
                "1" => write!(out, "{}", c.month + 1),
                "02" => write!(out, "{:02}", c.day),
                "_2" => write!(out, "{:2}", c.day),
                "2" => write!(out, "{}", c.day),
                "15" => write!(out, "{:02}", c.hour),
                "03" => write!(out, "{twelve:02}"),
                "3" => write!(out, "{twelve}"),
                "04" => write!(out, "{:02}", c.minute),
                "4" => write!(out, "{}", c.minute),
                "05" => write!(out, "{:02}", c.second),
                "5" => write!(out, "{}", c.second),
                "PM" => write!(out, "{}", if c.hour >= 12 { "PM" } else { "AM" }),
                "pm" => write!(out, "{}", if c.hour >= 12 { "pm" } else { "am" }),
                _ => Ok(()),
            };
            previous = '0';
            rest = after;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts() {
        let t = Time::from_unix_nanos(1_709_210_096_120_000_000);
        for (layout, want) in [
            ("2006-01-02T15:04:05Z07:00", "2024-02-29T12:34:56Z"),
            ("Mon Jan _2 3:04:05.000 PM 2006 MST", "Thu Feb 29 12:34:56.120 PM 2024 UTC"),
            ("Monday, 02-January-06 002 15h", "Thursday, 29-February-24 060 12h"),
            ("05.999999 -0700 Janet", "56.12 +0000 Janet"),
        ] {
            assert_eq!(t.format(layout), want, "{layout}");
        }
        assert_eq!(Time::from_unix_nanos(-1).rfc3339(), "1969-12-31T23:59:59Z");
    }
}
