//! Cluster snapshots: everything planning needs to know about a cluster, in one JSON file, plain or compressed
//! (docs/snapshot-format.md).
//!
//! - [`mod@file`]: the format, and reading it. [`mod@save`]: writing it. [`compact`]: JSON without empty members.
//! - [`mod@unload`]: a state as a file. [`mod@inspect`]: what is in a snapshot. [`mod@diff`]: what changed between two.
//! - [`anonymize`]: snapshots without names and secrets that plan alike.
//! - [`mod@replace`]: files that appear when they are complete, snapshots and others.
//! - [`archive`]: backups that servers saved, which can be read wherever a snapshot file can.
//!
//! **May use** `encamp_api`, `encamp_jobspec`, `encamp_model`, `encamp_state`. **Never** holds scheduling.

#![warn(missing_docs)]

pub mod anonymize;
pub mod archive;
pub mod compact;
pub mod diff;
pub mod file;
pub mod inspect;
pub mod live;
pub mod replace;
pub mod save;
pub mod unload;

pub use file::{ClusterSnapshot, SnapshotError, load, read};
pub use save::{Compression, save};
