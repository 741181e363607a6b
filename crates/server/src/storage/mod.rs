//! Server storage: the state as of the last applied operation, its snapshots, and change notifications.
//!
//! - [`store`]: one writer, snapshots for readers. `machine`: the store as the state machine of the Raft log.
//!   [`persist`]: snapshots as files.
//! - [`offline`]: the state of a server that does not run.
//! - [`watch`]: watches on tables and rows. [`events`]: changes by log index.

pub mod events;
pub(crate) mod machine;
pub mod offline;
pub mod persist;
pub mod store;
pub mod watch;
