//! The tables planning needs, with indexes and cheap snapshots.
