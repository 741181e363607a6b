//! Load on real servers: thousands of simulated nodes that speak the protocol of real ones, and scenarios that measure what
//! the servers make of it.
//!
//! - [`node`]: one simulated node. [`fleet`]: many. [`tally`]: what they count.
//! - [`process`]: server processes on this machine. [`probe`]: what servers tell about themselves.
//! - [`outcome`]: what a scenario measured. [`mark`], [`timings`]: how.
//! - [`shedding`]: thousands of nodes that come and go at once. [`c1m`]: a million allocations.

pub mod c1m;
pub mod fleet;
pub mod mark;
pub mod node;
pub mod outcome;
pub mod probe;
pub mod process;
pub mod shedding;
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
