//! What isolates a task.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::super::Mount;
use super::privileges::Privileges;
use crate::config::exec::NamespaceMode;

/// What isolates a task.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Inside {
    /// Its root.
    pub root: PathBuf,
    /// What else is mounted there.
    pub mounts: Vec<Mount>,
    /// What it can't change of its root, from there on.
    pub read_only: Vec<PathBuf>,
    /// Its processes.
    pub pids: NamespaceMode,
    /// Its message queues and shared memory.
    pub ipc: NamespaceMode,
    /// The old root is unmounted.
    pub pivot: bool,
    /// Its host name; empty: that of the host.
    pub hostname: String,
    /// Files of its `/etc` which the agent writes: name and content.
    pub etc: Vec<(String, String)>,
    /// What it may do.
    pub privileges: Privileges,
}
