//! Cluster snapshots: everything planning needs to know about a cluster, in one JSON file, plain or compressed
//! (docs/snapshot-format.md).
//!
//! - [`mod@file`]: reading and writing snapshot files.

pub mod file;

pub use file::{ClusterSnapshot, SnapshotError, load, read};
