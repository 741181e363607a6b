//! The template language of job files (`docs/spec/client.md §19.1`): Go's text/template with the functions that job
//! files use. The flag `-t` of commands uses it with [`Functions::OfGo`].
//!
//! [`Template::parse`] reads a text, [`Template::render`] executes it. What a template reads from elsewhere it reads
//! through a [`Source`], and [`Rendered`] tells all of it: the caller knows what to watch, and what is missing.
//!
//! - [`value`]: values. [`time`]: times and their layouts. [`error`]: errors.
//! - `lex`, `number`, `parse`: text to `tree`. `eval`: execution. `print`: how values are printed.
//! - `functions`: the functions; each module has a table of them. [`source`]: what a template depends on.
//!
//! Templates come from users of the cluster, and nothing about them is trusted: output, steps, memory and nesting are
//! bounded ([`Limits`]).
//!
//! **May use** `encamp_model`, `encamp_yaml`. **Never** reads a clock or does I/O: both are behind [`Source`].

#![warn(missing_docs)]

pub mod error;
mod eval;
mod functions;
mod lex;
mod number;
mod parse;
mod print;
pub mod source;
pub mod time;
mod tree;
pub mod value;

use std::collections::BTreeSet;

pub use error::{Bound, Error, Failure, Place};
pub use source::{AddressError, Answer, Dependency, NoSource, Source};
pub use value::{Map, Object, Value};

/// How a template is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The delimiter that begins an action; empty: `{{`.
    pub left: String,
    /// The delimiter that ends an action; empty: `}}`.
    pub right: String,
    /// A key that a map does not have is an error.
    pub error_on_missing_key: bool,
    /// The functions that exist.
    pub functions: Functions,
    /// Functions of job files that may not be used.
    pub denied: BTreeSet<String>,
    /// Errors may contain values, which are no secrets.
    pub values_in_errors: bool,
}

/// Sets of functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Functions {
    /// Those of templates in job files.
    OfJobFiles,
    /// Those of Go's text/template alone.
    OfGo,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            left: "{{".into(),
            right: "}}".into(),
            error_on_missing_key: false,
            functions: Functions::OfJobFiles,
            denied: BTreeSet::new(),
            values_in_errors: false,
        }
    }
}

/// What an execution may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of output.
    pub output: usize,
    /// Steps: actions, calls and rounds of loops.
    pub steps: usize,
    /// Bytes of all values that are made, whether they are kept or not.
    pub memory: usize,
    /// Bytes that functions look at.
    pub work: usize,
    /// Templates that call each other.
    pub depth: usize,
    /// Variables, lists, services and files that are read: each is watched.
    pub dependencies: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { output: 8 << 20, steps: 2_000_000, memory: 128 << 20, work: 2 << 30, depth: 64, dependencies: 1000 }
    }
}

/// A template.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    name: String,
    set: tree::Set,
    error_on_missing_key: bool,
    values_in_errors: bool,
}

/// The result of an execution.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The text; `None` while dependencies are missing. May hold secrets.
    pub text: Option<String>,
    /// All that was read.
    pub dependencies: BTreeSet<Dependency>,
    /// The dependencies that are not there yet.
    pub missing: BTreeSet<Dependency>,
}

impl Template {
    /// Reads a template. `name` is what errors call it.
    ///
    /// # Errors
    /// The text is no template, or uses functions that do not exist or may not be used.
    pub fn parse(name: &str, text: &str, options: &Options) -> Result<Template, Error> {
        let set = parse::parse(name, text, options)?;
        let Options { error_on_missing_key, values_in_errors, .. } = *options;
        Ok(Template { name: name.into(), set, error_on_missing_key, values_in_errors })
    }

    /// Executes the template. An error that occurs after a dependency was missing counts for nothing: the template is
    /// executed again when the dependency is there.
    ///
    /// # Errors
    /// An action fails, or the template exceeds the limits. What was read until then is lost with it.
    pub fn render(&self, source: &dyn Source, limits: &Limits) -> Result<Rendered, Error> {
        self.render_with(source, Value::Missing, limits)
    }

    /// Executes the template with a value as `.`.
    ///
    /// # Errors
    /// As [`Template::render`].
    pub fn render_with(&self, source: &dyn Source, dot: Value, limits: &Limits) -> Result<Rendered, Error> {
        eval::run(self, source, dot, limits)
    }
}
