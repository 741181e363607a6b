//! Diagnostics of job files, with the lines that they are about.

use maud::{Markup, html};
use serde::Deserialize;

/// What a command says about a job file instead of an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnostics {
    /// Whether there are no errors.
    pub valid: bool,
    /// Errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// An error or a warning.
#[derive(Debug, Deserialize)]
pub(crate) struct Diagnostic {
    severity: Severity,
    message: String,
    #[serde(default)]
    detail: String,
    file: Option<String>,
    line: Option<u32>,
    column: Option<u32>,
    #[serde(default)]
    block_path: Vec<String>,
    suggestion: Option<String>,
    source: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Error,
    Warning,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }
}

/// The name of the job file, which commands read from standard input.
const JOB_FILE: &str = "stdin";

/// The list; the editor marks the lines that it names.
pub(crate) fn list(diagnostics: &[Diagnostic]) -> Markup {
    html! {
        @if !diagnostics.is_empty() { ol.diagnostics { @for d in diagnostics { (item(d)) } } }
    }
}

fn item(d: &Diagnostic) -> Markup {
    let word = d.severity.word();
    let other = d.file.as_deref().filter(|file| *file != JOB_FILE);
    let line = d.line.filter(|_| other.is_none());
    html! {
        li class=(word) data-line=[line] data-severity=(word) {
            p {
                b { (word) } " "
                @if let Some(file) = other { (file) " " }
                @if let Some(line) = line { a href="#text" data-line=(line) { (place(d)) } " " }
                @else if d.line.is_some() { (place(d)) " " }
                (d.message)
            }
            @if let Some(source) = &d.source { pre { code { (source) } } }
            @if d.suggestion.is_none() && !d.detail.is_empty() && d.detail != d.message { p.muted { (d.detail) } }
            @if let Some(suggestion) = &d.suggestion { p { (suggestion) } }
            @if !d.block_path.is_empty() { p.muted { "in " (d.block_path.join(" › ")) } }
        }
    }
}

/// `line 3, column 5`
fn place(d: &Diagnostic) -> Markup {
    html! {
        @if let Some(line) = d.line { "line " (line) }
        @if let Some(column) = d.column { ", column " (column) }
    }
}
