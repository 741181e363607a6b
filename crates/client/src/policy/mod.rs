//! Decisions of a node agent as plain functions and state machines: now and randomness come in as arguments.
//!
//! - [`restart`]: whether a task starts again; [`check_restart`]: because a check fails. [`lifecycle`]: which tasks may
//!   start. [`status`]: what the states of the tasks mean for the allocation. [`health`]: whether it is healthy.
//! - [`pull`]: what changed on the servers. [`report`]: what they are told, and when. [`backoff`]: how long to wait.
//! - [`gc`]: which dead allocation goes first. [`identity`]: tokens of tasks.

pub mod backoff;
pub(crate) mod check_restart;
pub mod gc;
pub mod health;
pub mod identity;
pub mod lifecycle;
pub mod pull;
pub mod report;
pub mod restart;
pub mod status;
