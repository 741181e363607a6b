//! The HCL2 language as job files use it (`docs/spec/jobspec.md §3, 5, 7`).
//!
//! - [`diag`]: positions and diagnostics
//! - [`token`], [`lexer`], [`parser`], [`ast`]: native syntax
//! - [`json`]: JSON syntax
//! - [`body`]: attributes and blocks as a schema expects them, `dynamic` blocks expanded
//! - [`eval`]: from expressions to values
//! - [`value`], [`types`], [`convert`], [`number`]: what expressions evaluate to
//! - [`functions`]: what expressions can call
//!
//! **May use** `encamp_model`. **Never** holds what jobs mean: schemas and rules are `encamp_jobspec`; network, clock.

#![warn(missing_docs)]

pub mod ast;
pub mod body;
pub mod convert;
pub mod diag;
pub mod eval;
pub mod functions;
pub mod json;
pub mod lexer;
pub mod number;
pub mod parser;
pub mod token;
pub mod types;
pub mod value;
