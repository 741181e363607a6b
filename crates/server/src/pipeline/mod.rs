//! The path from an evaluation to a committed plan.
//!
//! - [`worker`]: threads that run the schedulers; [`planner`]: the operations available to a scheduler while it runs.
//!   [`workers`]: the workers of a server. `held`: the evaluation that a worker holds, from its own server's broker or
//!   the leader's.
//! - [`call_leader`]: runs the calls from the workers of followers to the leader.
//! - [`applier`]: checks and commits plans. [`rejection`]: nodes that repeatedly reject plans.

pub mod applier;
pub mod call_leader;
pub(crate) mod held;
pub mod planner;
pub mod rejection;
pub mod worker;
pub mod workers;
