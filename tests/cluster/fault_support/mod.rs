//! Three servers behind proxies, under load, while things go wrong (`docs/reliability.md`).
//!
//! - [`network`]: the proxies, [`owner`]: who it is that connects. [`disks`]: disks that can be full. [`cluster`]: the
//!   agents.
//! - [`fault`]: what goes wrong. [`load`]: who writes meanwhile. [`round`]: one fault and what must hold after
//!   it. [`tally`]: what came of all.

pub mod cluster;
pub mod disks;
pub mod fault;
pub mod load;
pub mod network;
mod owner;
pub mod round;
pub mod tally;

/// Servers of a cluster.
pub const SERVERS: usize = 3;
