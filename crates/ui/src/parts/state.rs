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
    fn class(self) -> &'static str {
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

/// A message above the content of a page.
pub(crate) fn notice(tone: Tone, message: &Markup) -> Markup {
    html! { div class={ "notice " (tone.class()) } role=[(tone == Tone::Bad).then_some("alert")] { (message) } }
}
