//! The server: everything between an API write and a committed allocation (`spec/server.md`).
//!
//! Pure parts of the leader, driven by whoever holds them: [`broker`], [`blocked`], [`plan_queue`], [`rejection`], [`heartbeat`],
//! [`reapers`], [`node_evals`]. Times and random numbers come in; they say when they are due.

pub mod alloc_updates;
pub mod applier;
pub mod blocked;
pub mod broker;
pub mod codec;
pub mod endpoints;
pub mod error;
pub mod events;
pub mod fsm;
pub mod gc;
pub mod heartbeat;
pub mod ids;
pub mod leader;
pub mod loops;
pub mod metrics;
pub mod node_evals;
pub mod node_status;
pub mod ops;
pub mod persist;
pub mod plan_check;
pub mod plan_queue;
pub mod queues;
pub mod raft;
pub mod reapers;
pub mod rejection;
pub mod server;
pub mod settings;
pub mod store;
pub mod watch;
pub mod worker;

#[cfg(test)]
mod tests;
