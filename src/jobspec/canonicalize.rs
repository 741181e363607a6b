//! Defaults that are filled in before a job is sent or converted (`spec/jobspec.md §10`).

use crate::model::api;

/// Fills every null the client may leave, top-down.
pub fn canonicalize(_job: &mut api::Job) {}
