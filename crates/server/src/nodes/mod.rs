//! Nodes: their calls, heartbeats, allocation updates, and the consequences of node changes.
//!
//! - [`node_rpc`]: the calls of node agents. [`node_auth`]: which node makes a call. [`node_identity`]: their identities.
//!   [`node_answer`]: the response to a node change.
//! - [`status_decision`]: the status of a node that sends or misses heartbeats. [`node_status`]: writes status changes.
//!   `expired_nodes`: batches nodes that expire together.
//! - [`drain`]: starts and cancels drains. [`alloc_updates`]: batches allocation updates; [`report_evals`]: the jobs to
//!   evaluate after them.

pub(crate) mod alloc_updates;
pub mod drain;
pub(crate) mod expired_nodes;
pub mod node_answer;
pub mod node_auth;
#[cfg(test)]
mod node_auth_tests;
pub mod node_identity;
pub mod node_rpc;
pub(crate) mod node_status;
pub mod report_evals;
pub mod status_decision;
