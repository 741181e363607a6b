//! The path from an evaluation to a committed plan.
//!
//! - [`worker`]: threads that run the schedulers; [`planner`]: the operations available to a scheduler while it runs.
//!   [`workers`]: the workers of a server. `held`: the evaluation that a worker holds, from its own server's broker or
//!   the leader's.
//! - [`worker_calls`]: the calls from the workers of followers to the leader; [`call_leader`] runs them; `plan_codec`: how
//!   plans are sent in these calls.
//! - [`plan_queue`]: the queue of submitted plans. [`applier`]: checks and commits plans. [`rejection`]: nodes that
//!   repeatedly reject plans. [`error`]: errors.

pub mod applier;
pub mod call_leader;
pub mod error;
pub(crate) mod held;
pub(crate) mod plan_codec;
pub(crate) mod plan_queue;
pub mod planner;
pub mod rejection;
pub mod worker;
pub mod worker_calls;
pub mod workers;
