//! What the files of commands import: the trait of commands and its facts, shared flags, the context, errors.

pub(crate) use super::command::Run;
pub(crate) use super::command_meta::{FlagErrorNote, FormerName, Listing, Meta, Surplus};
pub(crate) use super::completion::values::{CompleteWith, Files, Objects};
pub(crate) use super::connection::Connection;
pub(crate) use super::context::{Context, Environment};
pub(crate) use super::error::{CommandError, CommandResult, ErrorContext};
pub(crate) use super::format::{FormatFlags, ListFlags, PageFlags};
pub(crate) use super::general::{ColourFlags, GeneralFlags, LocalFlags};
