//! From an evaluation to a committed plan.
//!
//! - [`worker`]: threads that run the schedulers; [`planner`]: what a scheduler may ask meanwhile. [`errands`]: remote
//!   calls by which workers of followers ask the leader; `travel`: how their plans get there.
//! - [`plan_queue`]: plans in their order. [`applier`]: check and commit.
//!   [`rejection`]: nodes that refuse plan after plan.

pub mod applier;
pub mod errands;
pub(crate) mod plan_queue;
pub mod planner;
pub mod rejection;
pub(crate) mod travel;
pub mod worker;
