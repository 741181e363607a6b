//! Shares of resources.

use maud::{Markup, html};

/// How much of something is used, with the figures. `label` names the resource, `unit` follows the figures.
pub(crate) fn meter(label: &str, used: i64, of: i64, unit: &str) -> Markup {
    let share = percent(used, of);
    html! {
        span.meter {
            meter aria-label=(label) min="0" max="100" high="90" value=(share.min(100)) {}
            span { (used) " / " (of) " " (unit) " (" (share) "%)" }
        }
    }
}

/// How much of something is done, with the figures: all of it is good.
pub(crate) fn progress(label: &str, done: i64, of: i64) -> Markup {
    html! {
        span.meter {
            meter aria-label=(label) min="0" max="100" value=(percent(done, of).min(100)) {}
            span { (done) " / " (of) }
        }
    }
}

/// The share in percent; 0 of nothing.
pub(crate) fn percent(used: i64, of: i64) -> i64 {
    if of > 0 { used.saturating_mul(100) / of } else { 0 }
}
