//! Garbage collection explained: `system gc -dry-run` and `gc explain` (`docs/spec/cli.md §14`,
//! `docs/spec/garbage-collection.md §19`).
//!
//! - [`source`]: the state that is read, and the decisions about it. [`dry_run`], [`mod@explain`]: the commands.
//! - [`when`]: the time of the run.

pub mod dry_run;
pub mod explain;
pub mod source;
pub mod when;
