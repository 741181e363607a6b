//! Moments and durations.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::visit::Visit;

const SECOND: i64 = 1_000_000_000;
/// Names of durations, with their seconds, from the longest.
const UNITS: [(&str, i64); 4] = [("d", 86400), ("h", 3600), ("m", 60), ("s", 1)];

/// A moment (Unix nanoseconds): how long ago it is, with the time itself as the title. `-` for 0.
pub(crate) fn moment(visit: &Visit, nanos: i64) -> Markup {
    let Some(at) = text(nanos) else { return html! { "-" } };
    html! { time datetime=(at) title=(at) { (relative(visit.now.saturating_sub(nanos))) } }
}

/// A moment (Unix nanoseconds) as a date and a time. `-` for 0.
pub(crate) fn date(nanos: i64) -> Markup {
    let Some(at) = text(nanos) else { return html! { "-" } };
    html! { time datetime=(at) { (at) } }
}

fn text(nanos: i64) -> Option<String> {
    let at = Timestamp::from_nanosecond(i128::from(nanos)).ok().filter(|_| nanos > 0)?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// A duration until now, in words: `3m 5s ago`, `in 2h`, `now`.
pub(crate) fn relative(nanos: i64) -> String {
    match nanos {
        n if n >= SECOND => format!("{} ago", duration(n)),
        n if n <= -SECOND => format!("in {}", duration(n.saturating_neg())),
        _ => "now".into(),
    }
}

/// A duration by its two largest units: `3m 5s`.
pub(crate) fn duration(nanos: i64) -> String {
    let mut seconds = nanos / SECOND;
    let mut words = Vec::new();
    for (unit, length) in UNITS {
        let count = seconds / length;
        seconds %= length;
        if count > 0 {
            words.push(format!("{count}{unit}"));
        }
        if words.len() == 2 || (!words.is_empty() && count == 0) {
            break;
        }
    }
    if words.is_empty() { "0s".into() } else { words.join(" ") }
}
