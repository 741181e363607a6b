//! Templates of tasks (`docs/spec/client.md §19.1`): the parts that know nothing of task runners. The task runner drives
//! them (`runner::templates`).
//!
//! - [`plan`]: the templates of a task, read and compiled, with their paths checked. [`place`]: paths, sources and
//!   results. [`dotenv`]: results that are environments.
//! - [`reads`]: what templates read from the servers. [`values`]: the answers as values of templates. [`cache`]: the
//!   answers known so far. [`timing`]: how long changes are collected.

pub(crate) mod cache;
pub(crate) mod dotenv;
pub(crate) mod place;
pub(crate) mod plan;
pub mod reads;
pub(crate) mod timing;
pub(crate) mod values;

pub use reads::{ApiAnswer, ApiReads, NoAnswer};

use encamp_template::Error;

use crate::directory::PathError;
use crate::users::UserError;

/// Why a template cannot be rendered. The texts name files and places, never what templates read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TemplateError {
    /// The source is outside of the allocation's directory.
    #[error("template source path escapes alloc directory")]
    SourceEscapes,
    /// The destination is outside of the allocation's directory.
    #[error("template destination path escapes alloc directory")]
    DestinationEscapes,
    /// The source cannot be read.
    #[error("failed to read the template {path}: {source}")]
    Source {
        /// The file.
        path: String,
        /// The reason.
        source: PathError,
    },
    /// The source is too long, or no text.
    #[error("the template {0} is no text of at most 1 MiB")]
    NoText(String),
    /// The text is no template, or an action of it fails.
    #[error(transparent)]
    Template(#[from] Error),
    /// The mode of the file is no octal number.
    #[error("failed to parse {0:?} as octal permissions")]
    Perms(String),
    /// The owner of the file is unknown.
    #[error(transparent)]
    Owner(#[from] UserError),
    /// The result is no environment.
    #[error("the rendered file {path} is no environment: {reason}")]
    Environment {
        /// The file.
        path: String,
        /// The line that is wrong.
        reason: dotenv::NotParsed,
    },
    /// The result cannot be written.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: String,
        /// The reason.
        source: PathError,
    },
    /// The servers gave no answer, as often as they were asked.
    #[error("{dependency}: {reason}")]
    NoAnswer {
        /// What was asked for.
        dependency: String,
        /// The last error.
        reason: NoAnswer,
    },
    /// The work did not end.
    #[error("the template was not rendered: {0}")]
    Interrupted(String),
}
