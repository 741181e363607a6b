//! Storage plugins that run on this node (`docs/spec/client.md §24.2`).
//!
//! - [`dirs`]: where sockets are. [`registry`]: the plugins of this node, and how the node shows them. [`readiness`]: asks a
//!   plugin whether it is ready, and what it can do. [`answer`]: carries out what servers ask plugins to do, by way of
//!   [`requests`], which translates between the objects of servers and those of the protocol.
//! - [`mount`], [`unmount`]: the volumes of allocations; [`records`]: what is stored of them.

pub(crate) mod answer;
pub(crate) mod dirs;
pub(crate) mod mount;
pub(crate) mod readiness;
pub(crate) mod records;
pub(crate) mod registry;
mod requests;
mod unmount;

use std::path::PathBuf;

use tokio::sync::watch;

use answer::Operations;
use dirs::Dirs;
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
    operations: Operations,
    /// One for each volume of an allocation; they begin operations.
    mounting: Operations,
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
