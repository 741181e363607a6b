//! Nodes: heartbeats, allocation updates, and the consequences of node changes.
//!
//! - [`heartbeat`]: missed heartbeats. [`node_status`]: writes status changes. [`node_evals`]: the jobs to evaluate
//!   after a change.
//! - [`alloc_updates`]: batches allocation updates.

pub(crate) mod alloc_updates;
pub mod heartbeat;
pub mod node_evals;
pub(crate) mod node_status;
