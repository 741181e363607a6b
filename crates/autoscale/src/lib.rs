//! Autoscaling of worker pools and job groups (`docs/spec/cluster-scaling.md`).
//!
//! Pure, without clock, randomness or I/O:
//! - [`meta`], [`params`]: the configuration in the meta of nodes and groups. [`paths`]: paths of Variables.
//! - [`registry`]: assigns nodes to pools. [`view`]: the nodes and the allocations of a pool.
//! - [`cycle`]: one evaluation: [`arithmetic`], safety [`checks`], [`candidate`], [`protection`] of nodes,
//!   [`proof`] by the scheduler.
//! - [`record`]: the persisted state of a pool or group. [`operation`]: a scale-out or scale-in as a state machine.
//! - [`simulate`]: replays a trace of load through all of this.
//!
//! Drivers around them: [`cluster`] and [`provider`] are their interfaces to the outside, [`driver`] the loops over
//! pools, [`jobs`] those over job groups, [`notify`] sends notifications. [`status`] is the status for operators.
//!
//! **May use** `encamp_model`, `encamp_state`, `encamp_plan`, `encamp_telemetry`. **Never** reads or writes a store or
//! an HTTP API of a cluster by itself: that is what implementations of [`cluster::Cluster`] do.

#![warn(missing_docs)]

pub mod arithmetic;
pub mod candidate;
pub mod checks;
pub mod cluster;
pub mod cooldown;
pub mod cycle;
pub mod driver;
pub mod jobs;
pub mod meta;
pub mod notify;
pub mod operation;
pub mod params;
pub mod paths;
pub mod proof;
pub mod protection;
pub mod provider;
pub mod record;
pub mod registry;
pub mod simulate;
pub mod status;
pub mod store;
#[cfg(test)]
mod test_cluster;
#[cfg(test)]
mod testing;
pub mod view;
