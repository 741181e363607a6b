//! Nodes: heartbeats, reports, and what follows from their changes.
//!
//! - [`heartbeat`]: when a node counts as lost. [`node_status`]: what is written then. [`node_evals`]: which jobs are
//!   to be evaluated.
//! - [`alloc_updates`]: reports, gathered.

pub(crate) mod alloc_updates;
pub mod heartbeat;
pub mod node_evals;
pub(crate) mod node_status;
