//! Raft consensus: operations that a quorum of voters has committed, durable on disk, applied in one order
//! (`docs/spec/server.md §22, 23`).
//!
//! The algorithm is openraft's. This crate adds the files (`log`, `snapshots`, `files`), the connection to the state
//! machine (`applier`, [`Machine`]), the batching of proposals (`propose`), the check for free disk space (`room`),
//! messages (`network`) and their validation (`validate`), entries in flight (`sending`), the leader lease (`lease`),
//! elections (`elections`), when a leader was last answered (`contacts`), the repair of damaged files (`repair`), the handle
//! ([`Consensus`]), and what reads the files of a stopped server ([`StoredLog`]).
//!
//! **Indexes.** An entry of the log holds a batch of operations, because openraft makes one entry durable before it
//! takes the next. Outside of this crate an index is the number of an operation: every operation takes the next one,
//! and so does an entry without operations. All servers apply the same entries, so they agree on these numbers;
//! snapshots preserve them.
//!
//! **Never** reaches outside: an acknowledgement before the entry is durable on a quorum; the content of operations in
//! log messages.
//!
//! **May use** `encamp_host`, `encamp_model`, `encamp_ops`, `encamp_telemetry`. **Never** holds the effects of
//! operations, and never uses the machine except through `encamp_host`, so that a simulation runs the same code.

#![warn(missing_docs)]

mod applier;
mod arrival;
mod consensus;
mod contacts;
mod elections;
mod error;
mod files;
mod lease;
mod log;
mod machine;
mod membership;
mod network;
mod offline;
mod propose;
mod repair;
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
pub use membership::MembershipError;
pub use network::{Answer, MemoryNetwork, Message, NoTransport, Pending, Transport, TransportError};
pub use offline::{Stored, StoredEntry, StoredLog};
pub use propose::ProposeError;
pub use repair::Damage;
pub use repair::doubt::StorageHealth;
pub use repair::operator::{Examination, Loss, examine, repair as repair_files};
pub use repair::scrub::Scrubbing;
pub use status::{Configuration, Leadership, Member, Role, Stats};
pub use types::{NotAnId, Peer, ServerId};
pub use validate::Invalid;
