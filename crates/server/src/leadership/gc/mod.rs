//! Garbage collection (`docs/spec/garbage-collection.md`): core evaluations, created periodically by the leader and run
//! by workers.
//!
//! - [`triggers`]: what starts a run of a [`CoreJob`](crate::evals::core_job::CoreJob). `run`: the run. A caller of
//!   [`forced_gc`](crate::endpoints::forced_gc) waits for a forced one and its report.
//! - [`rules`]: one function for each kind of objects says when they can be deleted, as a [`verdict`]. [`select`]: what a
//!   run deletes. [`decide`], [`mod@plan`], [`mod@explain`]: what it would delete, and why.
//! - [`keys`]: rotation and collection of root keys. `rekey`: re-encryption of variables after a rotation.

pub mod decide;
pub mod explain;
pub mod keys;
pub mod plan;
mod rekey;
pub mod rules;
pub(crate) mod run;
pub mod select;
#[cfg(test)]
mod tests;
pub mod triggers;
pub mod verdict;
