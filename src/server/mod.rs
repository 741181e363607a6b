//! The server: everything between an API write and a committed allocation (`spec/server.md`).
//!
//! Pure parts of the leader, driven by whoever holds them: [`broker`], [`blocked`], [`plan_queue`], [`rejection`], [`heartbeat`],
//! [`reapers`], [`node_evals`]. Times and random numbers come in; they say when they are due.

pub mod blocked;
pub mod broker;
pub mod heartbeat;
pub mod node_evals;
pub mod plan_queue;
pub mod reapers;
pub mod rejection;

pub mod codec;
pub mod events;
pub mod fsm;
pub mod ops;
pub mod persist;
pub mod plan_check;
pub mod raft;
pub mod store;
pub mod watch;
