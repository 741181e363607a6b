//! Server canonicalisation and the admission mutators (`spec/jobspec.md §12-13`).

pub mod random;

use crate::model::Job;

use super::ServerContext;

/// Runs all mutators in order; the error is the text the server answers.
pub fn mutate(_job: &mut Job, _ctx: &ServerContext) -> Result<(), String> {
    Ok(())
}
