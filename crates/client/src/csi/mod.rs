//! Storage plugins that run on this node (`docs/spec/client.md §24.2`).
//!
//! - [`dirs`]: where sockets are. [`registry`]: the plugins of this node, and how the node shows them. [`look`]: asks a
//!   plugin whether it is ready, and what it can do. [`answer`]: carries out what servers ask plugins to do, by way of
//!   [`requests`], which translates between the objects of servers and those of the protocol.

pub(crate) mod answer;
pub(crate) mod dirs;
pub(crate) mod look;
pub(crate) mod registry;
mod requests;

use std::path::PathBuf;

use answer::Operations;
use dirs::Dirs;
use registry::Registry;

/// The storage plugins of a node.
pub struct Csi {
    pub(crate) dirs: Dirs,
    pub(crate) registry: Registry,
    operations: Operations,
}

impl Csi {
    /// No plugins yet; `dir` is for their sockets.
    pub(crate) fn new(dir: PathBuf) -> Csi {
        Csi { dirs: Dirs::new(dir), registry: Registry::default(), operations: Operations::default() }
    }
}
