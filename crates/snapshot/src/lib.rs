//! Cluster snapshots: everything that planning needs to know about a cluster, in one JSON file, plain or compressed
//! (`docs/reference/snapshot-format.md`).
//!
//! - [`mod@file`]: the format, and reading it; `lines`: files of this program, block by block; `parallel`: other ones, in
//!   several threads. [`build_state`]: the state of a file. [`mod@save`]: writing it. [`compact`]:
//!   JSON without zero members.
//! - `deferred`: states whose allocations are decoded when they are read.
//! - [`mod@unload`]: a state as a file. [`mod@inspect`]: the summary of a snapshot. [`mod@diff`]: compares two.
//! - [`anonymize`]: snapshots without names and secrets that produce the same plans.
//! - [`mod@replace`]: atomic replacement of files, snapshots and others.
//! - [`side_index`]: what makes the second plan on a file quick.
//! - [`archive`]: server backup archives, which can be read wherever a snapshot file can.
//!
//! **May use** `encamp_api`, `encamp_jobspec`, `encamp_model`, `encamp_state`. **Never** holds scheduling.

#![warn(missing_docs)]

pub mod anonymize;
pub mod archive;
pub mod build_state;
pub mod compact;
mod deferred;
pub mod diff;
pub mod file;
pub mod inspect;
mod lines;
pub mod live;
mod parallel;
pub mod replace;
pub mod save;
pub mod side_index;
pub mod unload;

pub use deferred::Unreadable;
pub use file::{ClusterSnapshot, ContentError, SnapshotError, load, load_deferred, load_with_rest, read};
pub use save::{Compression, save};
