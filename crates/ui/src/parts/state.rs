//! Statuses: a colour and always a word.

use encamp_model::{
    ClientStatus, DeploymentStatus, EvalStatus, HostVolumeState, JobStatus, NodeEligibility, NodeStatus, TaskStatus,
};
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

/// A status of the API with its tone.
pub(crate) trait Status: AsRef<str> {
    /// How good it is. Those that are not known are neutral.
    fn tone(&self) -> Tone;
}

macro_rules! tones {
    ($($status:ident { $($tone:ident: $($variant:ident)|+,)+ })+) => { $(
        impl Status for $status {
            fn tone(&self) -> Tone {
                match self {
                    $($($status::$variant)|+ => Tone::$tone,)+
                    _ => Tone::Neutral,
                }
            }
        }
    )+ };
}

tones! {
    JobStatus { Good: Running, Pending: Pending, }
    TaskStatus { Good: Running, Pending: Pending, }
    ClientStatus { Good: Running, Pending: Pending, Warning: Unknown, Bad: Failed | Lost, }
    EvalStatus { Pending: Pending, Warning: Blocked, Bad: Failed, }
    DeploymentStatus {
        Good: Running | Successful,
        Pending: Initializing | Pending | Unblocking,
        Warning: Paused | Blocked,
        Bad: Failed,
    }
    NodeStatus { Good: Ready, Pending: Initializing, Bad: Down | Disconnected, }
    NodeEligibility { Good: Eligible, Warning: Ineligible, }
    HostVolumeState { Good: Ready, Pending: Pending, Bad: Unavailable, }
}

/// A status by its word in the API.
pub(crate) fn of(status: &impl Status) -> Markup {
    let word = status.as_ref();
    state(status.tone(), if word.is_empty() { "-" } else { word })
}

/// A message above the content of a page.
pub(crate) fn notice(tone: Tone, message: &Markup) -> Markup {
    html! { div class={ "notice " (tone.class()) } role=[(tone == Tone::Bad).then_some("alert")] { (message) } }
}

/// The answer in one sentence.
pub(crate) fn verdict(tone: Tone, sentence: &str) -> Markup {
    html! { div class={ "verdict " (tone.class()) } { h2 { (sentence) } } }
}
