//! The HCL2 language of job files (`docs/spec/jobspec.md §3, 5, 7`).
//!
//! - [`diag`]: positions and diagnostics
//! - [`token`], [`lexer`], [`parser`], [`ast`]: native syntax
//! - [`json`]: JSON syntax
//! - [`body`]: attributes and blocks by a schema, `dynamic` blocks expanded
//! - [`eval`]: evaluates expressions to values
//! - [`value`], [`types`], [`convert`], [`number`]: the values of expressions
//! - [`functions`]: the functions that expressions can call
//! - [`hcl1`]: the older language of agent configuration and of ACL policies
//!
//! **May use** `encamp_model`. **Never** holds the meaning of jobs: schemas and rules are in `encamp_jobspec`; network,
//! clock.

#![warn(missing_docs)]

pub mod ast;
pub mod body;
pub mod convert;
pub mod diag;
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
