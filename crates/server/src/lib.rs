//! The server: everything between an API write and a committed allocation (`docs/spec/server.md`).
//!
//! - [`handle`]: a running server ([`Server`]), and the one way to write. [`settings`], [`error`].
//! - [`fsm`]: what the operations of the log (`encamp_ops`) do to the store. Agreement and durability are in `encamp_raft`.
//! - [`store`]: the store of a running server, with [`watch`]es, [`events`] and snapshots ([`persist`]).
//! - Pure parts of the leader, driven by whoever holds them: [`broker`], [`blocked`], [`plan_queue`], [`rejection`],
//!   [`heartbeat`], [`reapers`], [`node_evals`], [`periodic`], [`dispatch`], [`rollout`],
//!   [`var_locks`], [`evaluating`], [`planner`]. Times and random numbers come in; they say when they are due.
//! - [`queues`]: those machines with locks and wake-ups. [`worker`], [`applier`]: from evaluations to committed plans;
//!   [`errands`]: what workers of followers ask of the leader; `travel`: how their plans get there.
//! - [`peers`]: the servers that know each other, and who of them is a member of consensus.
//! - [`leader`]: taking over and handing over; [`loops`], [`gc`], [`node_status`], [`metrics`]: what it does meanwhile.
//! - [`keyring`]: root keys, what is encrypted and signed with them.
//! - [`endpoints`]: what the server does for its callers. [`alloc_updates`]: reports of nodes, gathered. [`rate`]: how often something
//!   may be done.
//!
//! **May use** `encamp_host`, `encamp_jobspec`, `encamp_model`, `encamp_ops`, `encamp_plan`, `encamp_raft`,
//! `encamp_scheduler`, `encamp_state`, `encamp_telemetry`. **Never** holds HTTP types, printing.

pub mod alloc_updates;
pub mod applier;
pub mod blocked;
pub mod broker;
pub mod dispatch;
pub mod endpoints;
pub mod errands;
pub mod error;
pub mod evaluating;
pub mod events;
pub mod fsm;
pub mod gc;
pub mod handle;
pub mod heartbeat;
pub mod keyring;
pub mod leader;
pub mod loops;
pub mod metrics;
pub mod node_evals;
pub mod node_status;
pub mod peers;
pub mod periodic;
pub mod persist;
pub mod plan_queue;
pub mod planner;
pub mod queues;
pub mod rate;
pub mod reapers;
pub mod rejection;
pub mod rollout;
pub mod settings;
pub mod store;
mod travel;
pub mod var_locks;
pub mod watch;
pub mod worker;

pub use error::Error;
pub use handle::Server;

#[cfg(test)]
mod deterministic;
#[cfg(test)]
mod tests;
