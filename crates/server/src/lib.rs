//! The server: from an API write to a committed allocation (`docs/spec/server.md`).
//!
//! - [`server_state`]: what every part reads. [`leading`]: consensus with the single write path, and the leader's queues;
//!   [`other_agents`]: calls to others. [`server`]: a running server ([`Server`]), or
//!   one of a state that never changes (`frozen`). [`settings`], [`error`].
//! - [`endpoints`]: the calls it serves, with the rules for writes.
//! - [`fsm`]: applies the operations of the log (`encamp_ops`) to the store. Consensus and durability are in
//!   `encamp_raft`.
//! - [`storage`]: the store of a running server, its snapshots, and change notifications.
//! - [`evals`]: waiting evaluations. [`queues`]: they and the leader's other timers and plans, with locks and wake-ups.
//!   [`pipeline`]: the path from an evaluation to a committed plan.
//! - [`leadership`]: the leader's other duties, and cluster membership. [`nodes`]: the calls of nodes, heartbeats, and
//!   the consequences of node changes. [`jobs`]: child jobs, deployments. [`var_locks`]: expiry of variable locks.
//! - [`rollout_preview`]: predicts deployments with all of this, without a cluster.
//! - [`keyring`]: root keys, encryption and signatures.
//!
//! Decision logic does no I/O and is driven by its owner: times and random numbers are parameters, and it returns when
//! it is due next.
//!
//! The modules lie in layers (`tests/cli/import_layers.rs`): each imports those below it.
//!
//! **May use** `encamp_acl`, `encamp_host`, `encamp_jobspec`, `encamp_model`, `encamp_ops`, `encamp_plan`, `encamp_raft`,
//! `encamp_scheduler`, `encamp_state`, `encamp_telemetry`. **Never** contains HTTP types or printing.

#![warn(missing_docs)]

pub mod acl;
pub mod csi;
pub mod endpoints;
pub mod error;
pub mod evals;
mod frozen;
pub mod fsm;
pub mod jobs;
pub mod keyring;
pub mod leadership;
pub mod leading;
pub mod nodes;
pub mod other_agents;
pub mod pipeline;
pub mod queues;
pub mod rollout_preview;
pub mod server;
pub mod server_state;
pub mod settings;
pub mod storage;
pub(crate) mod var_locks;

pub use error::Error;
pub use server::Server;

#[cfg(test)]
mod deterministic;
#[cfg(test)]
mod tests;
