//! Commands about variables (`docs/spec/cli.md §12.2`).
//!
//! - [`list`], [`get`]: reading. [`put`], [`change`]: writing, deleting, example files. [`lock`]: a command under a
//!   lock.
//! - [`form`]: output formats. [`conflict`]: messages about check-and-set conflicts.

pub mod change;
mod conflict;
mod form;
pub mod get;
pub mod list;
pub mod lock;
pub mod put;

use super::context::Environment;
use super::general::GeneralFlags;
use crate::error::{CommandError, CommandResult};

/// Returns an error for the wildcard namespace: a variable belongs to one namespace.
fn one_namespace(general: &GeneralFlags, env: &Environment) -> CommandResult<()> {
    match general.namespace(env) {
        Some("*") => Err(CommandError::new("The wildcard namespace (\"*\") is not valid for this command.")),
        _ => Ok(()),
    }
}
