//! Consensus: operations agreed upon by the voters, durable on disk, applied in one order (`docs/spec/server.md §22,
//! 23`).
//!
//! The algorithm is openraft's. Ours are the files (`log`, `snapshots`, `files`), the state's connection (`applier`,
//! [`Machine`]), the gathering of proposals (`propose`) while there is `room`, messages (`network`) and their checks
//! (`validate`), entries in flight (`sending`), leaving when no majority answers and going apart when nobody wins
//! (`lease`), and the handle ([`Consensus`]).
//!
//! **Indexes.** An entry of the log holds a batch of operations, because openraft makes one entry durable before it
//! takes the next. Outside of this room an index is the number of an operation: every operation takes the next one, and
//! so does an entry without operations. All servers apply the same entries, so they agree on these numbers; snapshots
//! keep them.
//!
//! **Never** reaches outside: an acknowledgement before the entry is durable on a quorum; the content of operations in
//! logs.
//!
//! **May use** `encamp_host`, `encamp_model`, `encamp_ops`, `encamp_telemetry`. **Never** holds what operations do, and
//! never asks the machine but through `encamp_host`, so that a simulation runs the same code.

#![warn(missing_docs)]

mod applier;
mod consensus;
mod error;
mod files;
mod lease;
mod log;
mod machine;
mod membership;
mod network;
mod propose;
mod room;
mod runtime;
mod sending;
mod snapshots;
mod status;
#[cfg(test)]
mod tests;
mod types;
mod validate;

pub use consensus::{Consensus, Settings, StartError};
pub use error::StoreError;
pub use machine::{Machine, SnapshotWriter};
pub use network::{Answer, MemoryNetwork, Message, NoTransport, Pending, Transport, TransportError};
pub use propose::ProposeError;
pub use status::{Configuration, Leadership, Member, Role, Stats};
pub use types::{NotAnId, Peer, ServerId};
pub use validate::Invalid;
