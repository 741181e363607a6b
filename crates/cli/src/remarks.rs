//! Warnings about settings of a valid job file that have no effect or can never come true
//! (`docs/guide/diagnostics.md`).

use super::context::Context;
use super::diagnostics::DiagnosticsFormat;
use super::job_file::JobFile;
use super::render::findings as render;
use super::render::styled::Styled;
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::{ConvertOptions, to_server};
use encamp_jobspec::explain::Finding;
use encamp_model::Job;
use encamp_plan::remarks::remarks;
use encamp_state::State;

/// A cluster, and where a job goes in it.
pub(crate) struct Destination<'a> {
    /// The state of the cluster.
    pub(crate) state: &'a State,
    /// The job as the cluster would store it.
    pub(crate) admitted: &'a Job,
}

/// The warnings about a job file whose job is valid. Without a cluster, those that the file alone justifies.
pub(crate) fn of(file: &JobFile, destination: Option<&Destination<'_>>, now: i64) -> Vec<Finding> {
    let mut job = file.job.clone();
    canonicalize(&mut job);
    let Ok(mut job) = to_server(&job, &ConvertOptions::default()) else { return Vec::new() };
    match destination {
        // The blocks are those of the file, without what servers add.
        Some(Destination { admitted, .. }) => {
            job.namespace.clone_from(&admitted.namespace);
            job.datacenters.clone_from(&admitted.datacenters);
            job.node_pool.clone_from(&admitted.node_pool);
        }
        None if job.datacenters.is_empty() => job.datacenters = vec!["*".into()],
        None => {}
    }
    file.remarks(&remarks(&job, destination.map(|d| d.state), now))
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
