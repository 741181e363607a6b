//! From the text of a job file to a stored job, and from two stored jobs to a diff (`docs/spec/jobspec.md`).
//!
//! - [`parse`]: job files to [`encamp_model::api::Job`]: variables, blocks and attributes, normalisation.
//! - [`canonicalize`], [`convert`]: defaults, and the stored form.
//! - [`admission`]: additions, errors and warnings of registration.
//! - [`diff`]: job diffs and their annotations.
//! - [`edit`]: edits of a job file by its tokens.
//! - [`explain`]: locations of problems in a job file, and hints.
//! - [`fmt`]: formats job files.
//! - [`mod@reference`]: what job files may contain, with the description of each field; the JSON schema of jobs.
//! - [`mod@write`]: writes job files from jobs.
//!
//! **May use** `encamp_hcl`, `encamp_model`. **Never** holds network, clock.

#![warn(missing_docs)]

pub mod admission;
pub mod canonicalize;
pub mod convert;
pub mod diff;
pub mod edit;
pub mod explain;
pub mod fmt;
pub mod parse;
pub mod reference;
pub mod write;
