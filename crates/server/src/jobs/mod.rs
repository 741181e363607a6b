//! Jobs that come of other jobs, and rollouts. Pure.
//!
//! - [`dispatch`]: children of parameterized jobs. [`periodic`]: children that launch at their time.
//! - [`rollout`]: what follows when a deployment ends.

pub mod dispatch;
pub mod periodic;
pub mod rollout;
