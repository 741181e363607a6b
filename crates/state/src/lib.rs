//! Cluster state: tables with secondary indexes, derived facts per node kept up to date on write, and snapshots that
//! cost one clone of a few persistent maps.
//!
//! - [`State`]: the tables. Cloning is O(1); [`Snapshot`] is such a clone, shared and read only.
//! - [`store`]: everything a server stores ([`StateStore`]): the state plus evaluations, summaries, policies and the
//!   rest.
//! - [`State::load`]: a whole state of [`Rows`].
//! - `sorted`: trees of many rows.
//! - `alloc_tables`: the tables of allocations ([`AllocsById`]). `allocs`: reads and writes of them.
//! - [`Id`]: IDs and names as keys. [`IdHash`]: the hash of IDs.
//! - [`index`]: the nodes as schedulers list them ([`NodeIndex`]).
//! - [`lazy`]: states whose rows are decoded when they are read first.
//! - [`node`]: a node with its capacity, ports and the allocations on it ([`NodeEntry`]). [`node_info`]: its fixed facts
//!   ([`NodeInfo`]).
//! - [`usage`]: what allocations count for ([`AllocUsage`]) and what is used on a node ([`NodeUsage`]).
//! - [`NodeSummary`]: the numbers of a node that decide about most placements. [`UsageByPriority`]: what is used on it by
//!   priority. [`ports`]: port lists and port sets.
//!
//! State makes no scheduling decisions.
//!
//! **May use** `encamp_model`. **Never** holds I/O, clocks, scheduling decisions.

#![warn(missing_docs)]

mod alloc_tables;
mod allocs;
mod bulk;
mod hash;
mod id;
pub mod index;
mod job_entry;
pub mod lazy;
pub mod node;
pub mod node_info;
mod node_slots;
pub mod ports;
mod priorities;
mod remove;
mod slots;
mod sorted;
pub mod store;
mod summary;
mod tables;
pub mod usage;

pub use alloc_tables::AllocsById;
pub use bulk::Rows;
pub use hash::IdHash;
pub use id::Id;
pub use index::{NodeIndex, Verdicts};
pub use job_entry::JobEntry;
pub use node::{NodeEntry, NodeRecord};
pub use node_info::{DEFAULT_NETWORK, NodeInfo};
pub use priorities::UsageByPriority;
pub use store::{StateStore, StoreSnapshot, Table};
pub use summary::NodeSummary;
pub use tables::{Snapshot, State};
pub use usage::{AllocEntry, AllocPhase, AllocUsage, NodeUsage};
