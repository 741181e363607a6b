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

use super::command::Registry;
use super::context::Environment;
use super::general::GeneralFlags;
use crate::error::{CommandError, CommandResult};

/// Adds the commands.
pub(super) fn register(registry: &mut Registry) {
    registry.add::<list::VarList>("var list", None, 1);
    registry.add::<get::VarGet>("var get", None, 1);
    registry.add::<put::VarPut>("var put", None, 1);
    registry.add::<change::VarPurge>("var purge", None, 1);
    registry.add::<change::VarInit>("var init", None, 1);
    registry.add::<lock::VarLock>("var lock", None, 1);
}

/// Returns an error for the wildcard namespace: a variable belongs to one namespace.
fn one_namespace(general: &GeneralFlags, env: &Environment) -> CommandResult<()> {
    match general.namespace(env) {
        Some("*") => Err(CommandError::new("The wildcard namespace (\"*\") is not valid for this command.")),
        _ => Ok(()),
    }
}
