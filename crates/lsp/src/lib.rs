//! The language server of job files (`docs/guide/editors.md`): the Language Server Protocol over the diagnostics, the
//! formatter and the scheduler of this program.
//!
//! - [`server`]: the loop over messages. [`worker`]: waits for the cluster and for plans, beside the loop.
//! - [`document`], [`text`]: open files, positions. [`cursor`]: what a cursor is at, also in broken text.
//! - [`diagnostics`], [`actions`]: problems and their corrections.
//! - [`completion`], [`hover`], [`hints`]: what may be written, what it means.
//! - [`cluster`]: the summary of the cluster, which is all of it that the server keeps.
//! - [`names`]: definitions, references and new names of variables and locals.
//! - [`structure`], [`tokens`]: outline, folding, links, formatting, highlighting. [`lens`]: plans above jobs.
//!
//! **May use** `encamp_hcl`, `encamp_jobspec`, `encamp_model`, `encamp_plan`, `encamp_scheduler`, `encamp_state`. **Never** holds rules
//! about jobs; printing.

#![warn(missing_docs)]

mod actions;
mod cluster;
mod completion;
mod cursor;
mod diagnostics;
mod document;
mod hints;
mod hover;
mod lens;
mod names;
mod server;
mod structure;
mod surroundings;
mod text;
mod tokens;
mod worker;

pub use cluster::Summary;
pub use lens::{Planned, plan};
pub use server::{ServeError, serve};
pub use surroundings::{OtherFile, OtherProblem, Surroundings};
