//! Nodes: their calls, heartbeats, allocation updates, and the consequences of node changes.
//!
//! - [`node_rpc`]: the calls of node agents. [`node_auth`]: which node makes a call. [`node_identity`]: their identities.
//!   [`node_answer`]: the response to a node change.
//! - [`heartbeat`]: missed heartbeats. [`node_status`]: writes status changes. [`node_evals`]: the jobs to evaluate
//!   after a change.
//! - [`drain`]: starts and cancels drains. [`alloc_updates`]: batches allocation updates.

pub(crate) mod alloc_updates;
pub mod drain;
pub mod heartbeat;
pub mod node_answer;
pub mod node_auth;
#[cfg(test)]
mod node_auth_tests;
pub mod node_evals;
pub mod node_identity;
pub mod node_rpc;
pub(crate) mod node_status;
