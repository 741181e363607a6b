//! Warnings about settings of a valid job file that have no effect or can never come true
//! (`docs/guide/diagnostics.md`).

use super::context::Context;
use super::diagnostics::DiagnosticsFormat;
use super::job_file::JobFile;
use super::render::findings as render;
use super::render::styled::Styled;
use encamp_jobspec::explain::Finding;
use encamp_plan::verdict::{Destination, remarks_of_file};

/// The warnings about a job file whose job is valid. Without a cluster, those that the file alone justifies.
pub(crate) fn of(file: &JobFile, destination: Option<&Destination<'_>>, now: i64) -> Vec<Finding> {
    file.remarks(&remarks_of_file(&file.job, destination, now))
}

impl Context<'_, '_> {
    /// Prints warnings about a job file on standard error.
    pub(crate) fn remark(&mut self, list: &[Finding], format: DiagnosticsFormat) {
        if list.is_empty() || format == DiagnosticsFormat::Json {
            return;
        }
        // Both streams may be the same terminal.
        self.ui.flush();
        let mut out = Styled::default();
        out.push(render::text(list, self.ui.colours_on()));
        out.push(Styled::from("\n"));
        self.ui.error_plain(&out);
    }
}
