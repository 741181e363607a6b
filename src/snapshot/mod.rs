//! Cluster snapshots: everything planning needs to know about a cluster, in one JSON file, plain or compressed
//! (docs/snapshot-format.md).
//!
//! - [`mod@file`]: the format, and reading it. [`mod@save`]: writing it. [`compact`]: JSON without empty members.

pub mod compact;
pub mod file;
pub mod save;

pub use file::{ClusterSnapshot, SnapshotError, load, read};
pub use save::{Compression, save};
