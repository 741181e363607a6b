//! Statuses: a colour and always a word.

use maud::{Markup, html};

/// How good a status is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Good,
    /// Changing, or waiting.
    Pending,
    /// Somebody should look at it.
    Warning,
    /// It failed.
    Bad,
    /// Ended, or of no importance.
    Neutral,
}

impl Tone {
    /// The class of its colour.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Tone::Good => "good",
            Tone::Pending => "pending",
            Tone::Warning => "warning",
            Tone::Bad => "bad",
            Tone::Neutral => "neutral",
        }
    }
}

/// A status.
pub(crate) fn state(tone: Tone, word: &str) -> Markup {
    html! { span class={ "state " (tone.class()) } { (word) } }
}

/// A status by its word in the API.
pub(crate) fn of(word: &str) -> Markup {
    state(tone(word), if word.is_empty() { "-" } else { word })
}

/// How many objects have a status.
pub(crate) fn of_count(word: &str, count: i64) -> Markup {
    state(tone(word), &format!("{count} {word}"))
}

/// How good the words of the API are. Those that are not known are neutral.
fn tone(word: &str) -> Tone {
    match word {
        "running" | "ready" | "successful" | "healthy" | "eligible" | "alive" => Tone::Good,
        "pending" | "starting" | "initializing" | "queued" => Tone::Pending,
        "paused" | "blocked" | "unknown" | "ineligible" | "draining" | "canary" => Tone::Warning,
        "failed" | "lost" | "down" | "disconnected" | "unhealthy" | "unplaced" => Tone::Bad,
        _ => Tone::Neutral,
    }
}

/// A message above the content of a page.
pub(crate) fn notice(tone: Tone, message: &Markup) -> Markup {
    html! { div class={ "notice " (tone.class()) } role=[(tone == Tone::Bad).then_some("alert")] { (message) } }
}
