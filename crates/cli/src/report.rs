//! `-html`: reports as files (`docs/spec/cli.md §21`).

use std::io::Write;

use super::completion::values::CompleteWith;
use super::context::Environment;
use super::error::{CommandResult, ErrorContext};
use encamp_model::quoted;
use encamp_snapshot::replace::{make_private, replace};

/// The flag that writes a report.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ReportFlags {
    /// Write the result to this file as an HTML page, with a map of the nodes before and after
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub html: Option<String>,
}

impl ReportFlags {
    /// Whether a report is requested.
    pub(super) fn wanted(&self) -> bool {
        self.html.is_some()
    }

    /// Writes the file, if one is requested.
    pub(super) fn write(&self, report: impl FnOnce() -> String, env: &Environment) -> CommandResult<()> {
        let Some(file) = &self.html else { return Ok(()) };
        // The job may contain secrets.
        let written = replace(&env.directory.join(file), |to| {
            make_private(to)?;
            to.write_all(report().as_bytes())
        });
        written.map(drop).context(format!("Error writing {}", quoted(file)))
    }
}
