//! Times, and their layouts as Go writes them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// A point in time, in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    nanos: i64,
}

const SECOND: i64 = 1_000_000_000;

/// The text of an element at a time.
type Element = fn(&DateTime) -> String;

/// The elements of layouts. Longest first where one begins another.
const ELEMENTS: [(&str, Element); 34] = [
    ("January", |t| t.strftime("%B").to_string()),
    ("Jan", |t| t.strftime("%b").to_string()),
    ("Monday", |t| t.strftime("%A").to_string()),
    ("Mon", |t| t.strftime("%a").to_string()),
    ("MST", |_| "UTC".into()),
    ("2006", |t| format!("{:04}", t.year())),
    ("Z070000", |_| "Z".into()),
    ("Z07:00:00", |_| "Z".into()),
    ("Z0700", |_| "Z".into()),
    ("Z07:00", |_| "Z".into()),
    ("Z07", |_| "Z".into()),
    ("-070000", |_| "+000000".into()),
    ("-07:00:00", |_| "+00:00:00".into()),
    ("-0700", |_| "+0000".into()),
    ("-07:00", |_| "+00:00".into()),
    ("-07", |_| "+00".into()),
    ("002", |t| format!("{:03}", t.day_of_year())),
    ("01", |t| format!("{:02}", t.month())),
    ("02", |t| format!("{:02}", t.day())),
    ("03", |t| format!("{:02}", twelve(t))),
    ("04", |t| format!("{:02}", t.minute())),
    ("05", |t| format!("{:02}", t.second())),
    ("06", |t| format!("{:02}", t.year().rem_euclid(100))),
    ("15", |t| format!("{:02}", t.hour())),
    ("PM", |t| if t.hour() >= 12 { "PM" } else { "AM" }.into()),
    ("pm", |t| if t.hour() >= 12 { "pm" } else { "am" }.into()),
    ("_2006", |t| format!("_{:04}", t.year())),
    ("__2", |t| format!("{:3}", t.day_of_year())),
    ("_2", |t| format!("{:2}", t.day())),
    ("1", |t| t.month().to_string()),
    ("2", |t| t.day().to_string()),
    ("3", |t| twelve(t).to_string()),
    ("4", |t| t.minute().to_string()),
    ("5", |t| t.second().to_string()),
];

/// The hour on a clock face.
fn twelve(time: &DateTime) -> i8 {
    if time.hour() % 12 == 0 { 12 } else { time.hour() % 12 }
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

    fn civil(self) -> DateTime {
        // All nanoseconds of 64 bits are between the years 1677 and 2262.
        let timestamp = Timestamp::from_nanosecond(self.nanos.into()).unwrap_or_default();
        Offset::UTC.to_datetime(timestamp)
    }

    /// RFC 3339, in seconds.
    pub fn rfc3339(self) -> String {
        self.format("2006-01-02T15:04:05Z07:00")
    }

    /// By a layout of Go: the time of reference is `Mon Jan 2 15:04:05 MST 2006`.
    pub fn format(self, layout: &str) -> String {
        let time = self.civil();
        let mut out = String::with_capacity(layout.len() + 16);
        let mut rest = layout;
        let mut after_digit = false;
        while let Some(first) = rest.chars().next() {
            if let Some((length, text)) = fraction(rest, after_digit, &time) {
                out.push_str(&text);
                rest = rest.get(length..).unwrap_or_default();
                after_digit = true;
            } else if let Some((length, text)) = element(rest, &time) {
                out.push_str(&text);
                rest = rest.get(length..).unwrap_or_default();
                after_digit = true;
            } else {
                out.push(first);
                rest = rest.get(first.len_utf8()..).unwrap_or_default();
                after_digit = first.is_ascii_digit();
            }
        }
        out
    }
}

/// The element that a layout begins with: its length, and its text at a time.
fn element(layout: &str, time: &DateTime) -> Option<(usize, String)> {
    let (name, text) = ELEMENTS.iter().find(|(name, _)| layout.starts_with(name))?;
    // `Jan` of `Janet` is no month.
    let after = layout.get(name.len()..).unwrap_or_default();
    let of_word = matches!(*name, "Jan" | "Mon") && after.starts_with(|c: char| c.is_ascii_lowercase());
    (!of_word).then(|| (name.len(), text(time)))
}

/// The fraction of a second that a layout begins with: its length, and its text at a time. `.000` has as many digits as
/// the layout, `.999` none that are zeros at the end. With fewer than three digits it follows a digit.
fn fraction(layout: &str, after_digit: bool, time: &DateTime) -> Option<(usize, String)> {
    let digits = layout.strip_prefix(['.', ','])?;
    let kind = digits.chars().next().filter(|c| matches!(c, '0' | '9'))?;
    let count = digits.chars().take_while(|c| *c == kind).count();
    let goes_on = digits.chars().nth(count).is_some_and(|c| c.is_ascii_digit());
    if (count < 3 && !after_digit) || count > 9 || goes_on {
        return None;
    }
    let all = format!("{:09}", time.subsec_nanosecond());
    let mut text = all.get(..count).unwrap_or_default();
    if kind == '9' {
        text = text.trim_end_matches('0');
    }
    let point = layout.get(..1).unwrap_or_default();
    Some((1 + count, if text.is_empty() { String::new() } else { format!("{point}{text}") }))
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
