//! Diagnostics of job files: as text after the error, or as one JSON object (`docs/guide/diagnostics.md`).

use super::context::Context;
use super::error::CommandError;
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
#[derive(Debug, Clone)]
pub struct Refused {
    /// The error, to be printed before the findings.
    pub error: CommandError,
    /// The findings that are printed after it.
    pub findings: Vec<Finding>,
}

impl<E: Into<CommandError>> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused { error: error.into(), findings: Vec::new() }
    }
}

impl Refused {
    /// The findings; the text itself if there are no findings.
    pub(super) fn findings(self) -> Vec<Finding> {
        if !self.findings.is_empty() {
            return self.findings;
        }
        vec![Finding {
            stage: Stage::Read,
            severity: Severity::Error,
            message: self.error.message().lines().next().unwrap_or_default().to_string(),
            summary: self.error.message().to_string(),
            detail: String::new(),
            place: None,
            block_path: Vec::new(),
            suggestion: None,
            related: None,
            repair: None,
        }]
    }
}

impl Context<'_, '_> {
    /// Reports a job file that was rejected. Returns the exit code for failures.
    pub fn refuse(&mut self, refused: Refused, format: DiagnosticsFormat) -> u8 {
        if format == DiagnosticsFormat::Json {
            let code = refused.error.exit_code().unwrap_or(self.command.meta.usage_exit);
            self.diagnose(false, &refused.findings());
            return code;
        }
        let code = self.report(&refused.error);
        if !refused.findings.is_empty() {
            let text = findings::text(&refused.findings, self.ui.colours_on());
            let mut out = Styled::from("\n");
            out.push(text);
            self.ui.error_plain(&out);
        }
        code
    }

    /// Prints findings as JSON.
    pub fn diagnose(&mut self, valid: bool, list: &[Finding]) {
        match super::render::json::indented(&findings::json(valid, list)) {
            Ok(text) => self.ui.output(&text),
            Err(e) => self.ui.error(&e.to_string()),
        }
    }
}
