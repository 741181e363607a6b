//! Decisions of a node agent as pure functions and state machines: the time and random numbers are arguments.
//!
//! - [`restart`]: whether a task restarts; [`check_restart`]: restarts due to a failing check. [`lifecycle`]: which
//!   tasks may start. [`status`]: the allocation's status from its task states. [`health`]: whether it is healthy.
//! - [`pull`]: changes on the servers. [`report`]: updates to the servers and their timing. [`backoff`]: retry delays.
//! - [`gc`]: which terminal allocation is collected first. [`leftovers`]: when a removal that failed is tried again.
//!   [`identity`]: workload identity tokens. [`csi`]: storage plugins. `network`: who makes a network namespace.

pub mod backoff;
pub mod check_restart;
pub mod csi;
pub mod gc;
pub mod health;
pub mod identity;
pub(crate) mod leftovers;
pub mod lifecycle;
pub(crate) mod network;
pub mod pull;
pub mod report;
pub mod restart;
pub mod status;
