//! Three servers behind proxies, under load and with faults (`docs/dev/reliability.md`).
//!
//! - [`network`]: the proxies, [`owner`]: identifies connecting processes. [`disks`]: disks that can be full.
//!   [`cluster`]: the agents.
//! - [`fault`]: the faults. [`load`]: the load meanwhile. [`round`]: one fault and its checks. [`tally`]: the results
//!   of all rounds.

pub mod cluster;
pub mod disks;
pub mod fault;
pub mod load;
pub mod network;
mod owner;
pub mod round;
pub mod tally;

/// The number of servers of a cluster.
pub const SERVERS: usize = 3;
