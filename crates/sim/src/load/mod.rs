//! Load on real servers: thousands of simulated nodes that speak the protocol of real ones, and scenarios that measure
//! what the servers make of it.
//!
//! - [`node`]: one simulated node. [`fleet`]: many. [`tally`]: what they count.
//! - [`process`]: server processes on this machine. [`probe`]: what servers tell about themselves.
//! - [`stage`]: servers and nodes as all scenarios have them. [`outcome`]: what was measured. [`mark`], [`timings`]:
//!   how.
//! - [`shedding`]: thousands of nodes that come and go at once. [`c1m`]: a million allocations. [`heartbeats`]: nodes
//!   that only live. [`flap`]: nodes that go away and return. [`churn`]: nodes and jobs that come, change and go.

pub mod c1m;
pub mod churn;
pub mod flap;
pub mod fleet;
pub mod heartbeats;
pub mod mark;
pub mod node;
pub mod outcome;
pub mod probe;
pub mod process;
pub mod services;
pub mod shedding;
pub mod stage;
pub mod tally;
pub mod timings;

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
