//! Load tests of real servers: thousands of simulated nodes that speak the protocol of real ones, and scenarios that
//! measure how the servers handle them.
//!
//! - [`node`]: one simulated node. [`fleet`]: many. [`tally`]: their counters.
//! - [`process`]: server processes on this machine. [`probe`]: metrics and state of the servers.
//! - [`stage`]: the servers and nodes of a scenario. [`outcome`]: the measurements. [`mark`], [`timings`], `writes`: how
//!   they are taken.
//! - [`shedding`]: thousands of nodes that join and leave at once. [`c1m`]: a million allocations. [`heartbeats`]:
//!   heartbeats only. [`flap`]: nodes that disconnect and return. [`churn`]: nodes and jobs that come, change and go.
//!   [`collect`]: garbage collection. `restart`: snapshots and restarts of a large state.

pub mod c1m;
pub mod churn;
pub mod collect;
pub mod flap;
pub mod fleet;
pub mod heartbeats;
pub mod mark;
pub mod node;
pub mod outcome;
pub mod probe;
pub mod process;
mod restart;
pub mod services;
pub mod shedding;
pub mod stage;
pub mod tally;
pub mod timings;
mod writes;

/// Why a scenario did not come to its end, as a text for the user.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub String);

impl LoadError {
    /// An error about something that was tried.
    pub fn of(what: &str, error: impl std::fmt::Display) -> LoadError {
        LoadError(format!("{what}: {error}"))
    }
}
