//! Cluster snapshots in files (docs/snapshot-format.md).
