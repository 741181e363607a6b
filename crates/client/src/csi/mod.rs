//! Storage plugins that run on this node (`docs/spec/client.md §24.2`).
//!
//! - [`dirs`]: where sockets are. [`registry`]: the plugins of this node, and how the node shows them. [`readiness`]: asks a
//!   plugin whether it is ready, and what it can do. [`requests`] translates between the objects of servers
//!   and those of the protocol. [`operations`]: one operation at a time for each volume.
//! - [`records`]: what is stored of the volumes of allocations.
//!
//! What works with plugins for servers and allocations is in [`runner`](crate::runner).

pub(crate) mod dirs;
pub(crate) mod operations;
pub(crate) mod readiness;
pub(crate) mod records;
pub(crate) mod registry;
pub(crate) mod requests;

use std::path::PathBuf;

use tokio::sync::watch;

use dirs::Dirs;
use operations::Operations;
use records::{MountRecords, Mounts};
use registry::Registry;

/// The storage plugins of a node.
pub struct Csi {
    pub(crate) dirs: Dirs,
    pub(crate) registry: Registry,
    pub(crate) mounts: Mounts,
    /// The agent stops: what is left to do is done by its next run.
    pub(crate) stop: watch::Sender<bool>,
    /// One for each volume of a plugin.
    pub(crate) operations: Operations,
    /// One for each volume of an allocation; they begin operations.
    pub(crate) mounting: Operations,
}

impl Csi {
    /// No plugins yet; `dir` is for their sockets and mounts, `records` is what earlier runs of the agent left.
    pub(crate) fn new(dir: PathBuf, records: MountRecords) -> Csi {
        // Without it, mounts count as those of another start of the host, and calls for them are repeated.
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Csi {
            dirs: Dirs::new(dir),
            registry: Registry::default(),
            mounts: Mounts::new(records.after_start(boot_id.trim())),
            stop: watch::channel(false).0,
            operations: Operations::default(),
            mounting: Operations::default(),
        }
    }
}
