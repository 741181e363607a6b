//! Worker pools and job groups that size themselves (`docs/spec/cluster-scaling.md`).
//!
//! Pure, without clock, chance or I/O:
//! - [`meta`], [`params`]: what operators configure in the meta of nodes and groups. [`paths`]: paths of Variables.
//! - [`registry`]: which node belongs to which pool. [`view`]: what a pool has and what runs on it.
//! - [`cycle`]: one evaluation: [`arithmetic`], safety [`checks`], [`candidate`], [`protection`] of nodes,
//!   [`proof`] by the scheduler.
//! - [`record`]: the persisted state of a pool or group. [`operation`]: a scale-out or scale-in as a state machine.
//! - [`simulate`]: a trace of load replayed through all of this.
//!
//! Drivers around them: [`cluster`] and [`provider`] are what they act through, [`driver`] the loops over pools,
//! [`jobs`] those over job groups, [`notify`] sends notifications. [`status`] is what operators see of it.
//!
//! **May use** `encamp_model`, `encamp_state`, `encamp_plan`, `encamp_telemetry`. **Never** reads or writes a store or
//! an HTTP API of a cluster by itself: that is what implementations of [`cluster::Cluster`] do.

#![warn(missing_docs)]

pub mod arithmetic;
pub mod candidate;
pub mod checks;
pub mod cluster;
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
