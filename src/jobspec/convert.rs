//! From the job clients send to the job that is stored (`spec/jobspec.md §11`).

use crate::model::{Job, api};

/// Where a job goes when its own fields do not decide (`spec/jobspec.md §1`).
#[derive(Debug, Clone, Default)]
pub struct ConvertOptions {
    /// The agent's region, which replaces an empty or `global` job region.
    pub region: String,
    /// Namespace of the request; wins over the job's.
    pub namespace: Option<String>,
}

/// Converts a canonicalised job. The error is the text of the 400 answer.
pub fn to_server(_job: &api::Job, _opts: &ConvertOptions) -> Result<Job, String> {
    Ok(Job::default())
}
