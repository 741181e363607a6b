//! encamp: plan, explain and run jobs on clusters that schedule the way Nomad does. See ARCHITECTURE.md for the map.

// Unit tests use files of tests/, which name the crate.
#[cfg(test)]
extern crate self as encamp;

pub mod agent;
pub mod api;
pub mod cli;
pub mod client;
pub mod http;
pub mod jobspec;
pub mod load;
pub mod model;
pub mod plan;
pub mod rpc;
pub mod scheduler;
pub mod server;
pub mod sim;
pub mod snapshot;
pub mod state;
pub mod telemetry;
