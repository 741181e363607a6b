//! Child jobs and deployments. No I/O.
//!
//! - [`dispatch`]: children of parameterized jobs. [`periodic`]: children of periodic jobs.
//! - [`rollout`]: failures and evaluations of deployments.

pub mod dispatch;
pub mod periodic;
pub mod rollout;
