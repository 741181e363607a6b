//! The persisted state of a node (`docs/spec/client.md §25`): files in its state directory, each written atomically.
//!
//! `client-id` and `secret-id` hold the node's identity, `identity.checksum` the checksum of both; `client.json` the
//! state of the agent; `csi-mounts.json` the CSI volumes that it mounted; `networks/<id>.json` the network that it made
//! for an allocation; `allocs/<id>/` an allocation as received
//! (`alloc.json`), its current state (`state.json`) and the state that the servers acknowledged (`acknowledged.json`).
//! JSON files begin with a line that names their format and their checksum. A damaged file is refused: tasks of the node
//! may run, and a node that lost their state, or that registered as a new node, would leave them orphaned.
//!
//! - [`state_dir`]: the files. [`records`]: what they hold. [`shared_record`]: the state of
//!   a running agent.

mod records;
mod shared_record;
mod state_dir;

pub use self::records::{AllocRecord, ClientRecord, RemovalRecord, Stored, TaskRecord, VolumeRecord};
pub(crate) use self::shared_record::SharedClientRecord;
pub use self::state_dir::Store;
pub(crate) use self::state_dir::is_uuid;
