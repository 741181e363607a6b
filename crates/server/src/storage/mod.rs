//! What a server stores: its state as of the last applied operation, snapshots of it, and who hears of changes.
//!
//! - [`store`]: one writer, snapshots for everybody else. [`persist`]: snapshots as files.
//! - [`watch`]: who waits for changes of which rows. [`events`]: what changed, by log index.

pub mod events;
pub mod persist;
pub mod store;
pub mod watch;
