//! Diagnostics of job files: as text after the error, or as one JSON object (`docs/diagnostics.md`).

use super::context::Context;
use super::render::findings;
use super::render::styled::Styled;
use encamp_jobspec::explain::{Finding, Severity, Stage};

/// The output format of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum DiagnosticsFormat {
    /// Text on standard error.
    #[default]
    Text,
    /// One JSON object on standard output.
    Json,
}

/// Why a job file was refused.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    /// The whole text to print.
    pub text: String,
    /// The findings that are printed after it.
    pub findings: Vec<Finding>,
}

impl From<String> for Refused {
    fn from(text: String) -> Refused {
        Refused { text, findings: Vec::new() }
    }
}

impl From<&str> for Refused {
    fn from(text: &str) -> Refused {
        text.to_string().into()
    }
}

impl Refused {
    /// The findings; the text itself if there are no findings.
    fn findings(self) -> Vec<Finding> {
        if !self.findings.is_empty() {
            return self.findings;
        }
        vec![Finding {
            stage: Stage::Read,
            severity: Severity::Error,
            message: self.text.lines().next().unwrap_or_default().to_string(),
            summary: self.text,
            detail: String::new(),
            place: None,
            block_path: Vec::new(),
            suggestion: None,
            related: None,
        }]
    }
}

impl Context<'_, '_> {
    /// Reports a job file that was rejected. Returns the exit code for failures.
    pub fn refuse(&mut self, refused: Refused, format: DiagnosticsFormat) -> u8 {
        if format == DiagnosticsFormat::Json {
            self.diagnose(false, &refused.findings());
            return self.command.usage_exit;
        }
        self.ui.error(&refused.text);
        if !refused.findings.is_empty() {
            let text = findings::text(&refused.findings, self.ui.colours_on());
            let mut out = Styled::from("\n");
            out.push(text);
            self.ui.error_plain(&out);
        }
        self.command.usage_exit
    }

    /// Prints findings as JSON.
    pub fn diagnose(&mut self, valid: bool, list: &[Finding]) {
        match super::render::json::indented(&findings::json(valid, list)) {
            Ok(text) => self.ui.output(&text),
            Err(e) => self.ui.error(&e),
        }
    }
}
