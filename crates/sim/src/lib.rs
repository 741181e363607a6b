//! Synthetic clusters, for benchmarks, demonstrations and tests. The same options and seed give the same cluster, byte
//! for byte: there is no clock and no other source of randomness.
//!
//! - [`mod@cluster`]: a cluster of so many nodes and allocations. [`summary`]: what is in it.
//! - [`nodes`]: node classes. [`kinds`]: kinds of jobs, as job files. [`drafts`]: jobs drawn from a kind.
//! - [`ground`]: what is free on the nodes. [`allocs`]: allocations. [`build`]: all of it put together.
//!
//! **May use** `encamp_jobspec`, `encamp_model`, `encamp_scheduler`, `encamp_snapshot`, `encamp_state`; only [`load`]
//! may use `encamp_client`, `encamp_api`, `encamp_rpc`. **Never** holds I/O, clocks or chance besides the seed, outside
//! of [`load`].

#![warn(missing_docs)]

pub mod allocs;
mod build;
pub mod cluster;
pub(crate) mod drafts;
pub(crate) mod ground;
pub mod kinds;
#[cfg(feature = "load")]
pub mod load;
pub mod nodes;
pub mod summary;

pub use cluster::{Cluster, ClusterOptions, JobError, SimError, cluster};
