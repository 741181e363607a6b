//! The server: everything between an API write and a committed allocation (`docs/spec/server.md`).
//!
//! - [`handle`]: a running server ([`Server`]), and the one way to write. [`settings`], [`error`]. [`endpoints`]: what
//!   it does for its callers, with the rules of writes.
//! - [`fsm`]: what the operations of the log (`encamp_ops`) do to the store. Agreement and durability are in
//!   `encamp_raft`.
//! - [`storage`]: the store of a running server, its snapshots, and who hears of changes.
//! - [`evals`]: evaluations that wait. [`pipeline`]: from an evaluation to a committed plan.
//! - [`leadership`]: what the leader does besides, and who the servers are. [`nodes`]: heartbeats and what follows from
//!   changes.
//!   [`jobs`]: children of jobs, rollouts. [`var_locks`]: how long locks of variables hold.
//! - [`keyring`]: root keys, what is encrypted and signed with them. [`rate`]: how often something may be done.
//!
//! What decides is pure and driven by whoever holds it: times and random numbers come in, and it says when it is due.
//!
//! **May use** `encamp_host`, `encamp_jobspec`, `encamp_model`, `encamp_ops`, `encamp_plan`, `encamp_raft`,
//! `encamp_scheduler`, `encamp_state`, `encamp_telemetry`. **Never** holds HTTP types, printing.

#![warn(missing_docs)]

pub mod endpoints;
pub mod error;
pub mod evals;
pub mod fsm;
pub mod handle;
pub mod jobs;
pub mod keyring;
pub mod leadership;
pub mod nodes;
pub mod pipeline;
pub mod rate;
pub mod settings;
pub mod storage;
pub(crate) mod var_locks;

pub use error::Error;
pub use handle::Server;

#[cfg(test)]
mod deterministic;
#[cfg(test)]
mod tests;
