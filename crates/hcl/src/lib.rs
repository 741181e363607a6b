//! The HCL2 language of job files (`docs/spec/jobspec.md §3, 5, 7`).
//!
//! - [`diag`]: positions and diagnostics
//! - [`token`], [`lexer`], [`parser`], [`ast`]: native syntax
//! - [`json`]: JSON syntax
//! - [`body`]: attributes and blocks by a schema; `dynamic` expands the blocks of that name
//! - [`eval`]: evaluates expressions to values
//! - [`value`], [`types`], [`convert`], [`number`]: the values of expressions
//! - [`functions`]: the functions that expressions can call
//! - [`hcl1`]: the older language of agent configuration and of ACL policies
//!
//! Job files are not read by hcl-rs: positions and texts of diagnostics, numbers of 512 bits and the references that stay
//! in the text are part of the behaviour, and hostile input has to end in an error in bounded time.
//!
//! **May use** `encamp_model`, `encamp_yaml`. **Never** holds the meaning of jobs: schemas and rules are in `encamp_jobspec`; network,
//! clock.

#![warn(missing_docs)]

pub mod ast;
pub mod body;
pub mod convert;
pub mod diag;
mod dynamic;
pub mod eval;
pub mod functions;
pub mod hcl1;
pub mod json;
pub mod lexer;
pub mod number;
pub mod parser;
pub mod token;
pub mod types;
pub mod value;
