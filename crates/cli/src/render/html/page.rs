//! The document around a report.
//!
//! The policy of the document allows its own style sheet, by its hash, and nothing else: no script, no request, no form.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use ring::digest::{SHA256, digest};

use super::parts::{code, heading, sentence};
use crate::plan_file::RecordedState;
use crate::render::plan_summary::Severity;
use crate::render::values;

/// The style sheet. No value from elsewhere is part of it.
const STYLE: &str = include_str!("style.css");

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The state of the cluster that a report is about.
pub struct Origin(RecordedState);

impl Origin {
    /// A state that was read, with its Raft index.
    pub fn new(mut state: RecordedState, index: u64) -> Origin {
        state.index = index;
        Origin(state)
    }

    fn facts(&self) -> Vec<(&'static str, Markup)> {
        let RecordedState { index, time, snapshot, address } = &self.0;
        let time = values::time(*time, &jiff::tz::TimeZone::UTC);
        let source = match (snapshot, address) {
            (Some(file), _) => html! { "snapshot " (code(file)) },
            (None, Some(address)) => html! { (code(address)) },
            (None, None) => html! { "unknown" },
        };
        vec![("Cluster", source), ("State", html! { "index " (index) ", as of " time datetime=(time) { (time) } })]
    }
}

/// A section with a heading, which the table of contents names.
pub(super) struct Section {
    /// Unique in the document.
    pub id: String,
    pub title: String,
    pub body: Markup,
}

impl Section {
    pub(super) fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Section {
        Section { id: id.into(), title: title.into(), body }
    }

    /// The section with a heading of this level. Those of the first level are landmarks, whose names are unique.
    pub(super) fn markup(&self, level: u8) -> Markup {
        let content = html! { (heading(level, &self.id, &self.title)) (self.body) };
        html! { @if level == 2 { section aria-labelledby=(self.id) { (content) } } @else { div { (content) } } }
    }
}

/// A report.
pub(super) struct Page<'a> {
    /// The command that makes the report.
    pub command: &'static str,
    pub title: Markup,
    /// The title as text, for the title of the window.
    pub plain_title: String,
    /// The answer.
    pub verdict: &'a str,
    pub severity: Severity,
    /// What follows the answer.
    pub summary: Markup,
    pub facts: Vec<(&'static str, Markup)>,
    pub origin: &'a Origin,
    pub sections: Vec<Section>,
}

impl Page<'_> {
    /// The document.
    pub(super) fn document(self) -> String {
        let hash = STANDARD.encode(digest(&SHA256, STYLE.as_bytes()));
        let policy = format!("default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'");
        let facts: Vec<(&'static str, Markup)> = self.origin.facts().into_iter().chain(self.facts).collect();
        let document = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    meta name="generator" content={ "encamp " (VERSION) };
                    title { (self.plain_title) ": " (sentence(self.verdict)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        a.skip href="#report" { "Skip to the report" }
                        h1 { (self.title) }
                        (verdict(self.verdict, self.severity))
                        (self.summary)
                        dl.facts { @for (name, value) in &facts { dt { (name) } dd { (value) } } }
                        nav aria-label="Contents" {
                            ul { @for s in &self.sections { li { a href={ "#" (s.id) } { (sentence(&s.title)) } } } }
                        }
                    }
                    main #report tabindex="-1" { @for s in &self.sections { (s.markup(2)) } }
                    footer { p { "Written by " code { "encamp " (self.command) } ", version " (VERSION) "." } }
                }
            }
        };
        let mut text = document.into_string();
        text.push('\n');
        text
    }
}

/// The answer, with a symbol and a word for how serious it is.
fn verdict(text: &str, severity: Severity) -> Markup {
    let (class, word) = match severity {
        Severity::Harmless => ("good", "No problem"),
        Severity::Disruptive => ("warn", "Disruption"),
        Severity::Failing => ("bad", "Problem"),
    };
    let symbol = match severity {
        Severity::Harmless => html! { path d="M5 12.5l4.5 4.5L19 7.5" {} },
        Severity::Disruptive => html! { path d="M12 3.5L21.5 20h-19zM12 10v4.5M12 17v.5" {} },
        Severity::Failing => html! { path d="M8 2.5h8l5.5 5.5v8L16 21.5H8L2.5 16V8zM8.5 8.5l7 7M15.5 8.5l-7 7" {} },
    };
    html! {
        div class={ "verdict " (class) } {
            svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2"
                stroke-linecap="round" stroke-linejoin="round" { (symbol) }
            div { (word) ": " (sentence(text)) }
        }
    }
}
