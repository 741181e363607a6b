//! Waiting evaluations: for a worker, for capacity, for their cancellation. No I/O: times and random numbers are
//! parameters.
//!
//! - [`broker`]: delivery of evaluations to workers. [`blocked`]: evaluations that wait for capacity.
//! - [`eval_lifecycle`]: updates of both after a write. [`reapers`]: evaluations that will not be processed.
//! - [`core_job`]: core evaluations, which exist in the broker alone.

pub mod blocked;
pub mod broker;
pub mod core_job;
pub mod eval_lifecycle;
pub mod reapers;
