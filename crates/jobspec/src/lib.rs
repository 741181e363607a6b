//! From the text of a job file to a stored job, and from two stored jobs to a diff (`docs/spec/jobspec.md`).
//!
//! - [`parse`]: job files to [`encamp_model::api::Job`]: variables, blocks and attributes, normalisation.
//! - [`canonicalize`], [`convert`]: defaults, and the stored form.
//! - [`admission`]: what registration adds, refuses and warns about.
//! - [`diff`]: job diffs and their annotations.
//! - [`explain`]: where in a job file a problem is, and what may help.
//! - [`fmt`]: the canonical layout of job files.
//! - [`write`]: job files from jobs.
//!
//! **May use** `encamp_hcl`, `encamp_model`. **Never** holds network, clock.

#![warn(missing_docs)]

pub mod admission;
pub mod canonicalize;
pub mod convert;
pub mod diff;
pub mod explain;
pub mod fmt;
pub mod parse;
pub mod write;
