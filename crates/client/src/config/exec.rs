//! `plugin "exec"` of the agent's configuration, as data (`docs/spec/client.md §17`, `§23.2`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Whether a task has a namespace of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NamespaceMode {
    /// It has.
    #[default]
    Private,
    /// It is in that of the host.
    Host,
}

/// `plugin "exec"` and `chroot_env` (`docs/spec/client.md §17`, `§23.2`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecConfig {
    /// Files of the host that tasks see, and where.
    pub chroot_env: BTreeMap<String, String>,
    /// The root of the host stays mounted in tasks, out of their reach: some file systems of the host require that.
    pub no_pivot_root: bool,
    /// The `pid_mode` of tasks that set none.
    pub default_pid_mode: NamespaceMode,
    /// The `ipc_mode` of tasks that set none.
    pub default_ipc_mode: NamespaceMode,
    /// Capabilities that tasks may have; none: those that are allowed by default.
    pub allow_caps: Option<Vec<String>>,
    /// User IDs no task may run as, ranges such as `0,100-200`.
    pub denied_host_uids: String,
    /// Group IDs no task may run as.
    pub denied_host_gids: String,
    /// Processes and threads of a task; none: any number.
    pub pids_limit: Option<u64>,
}

impl Default for ExecConfig {
    fn default() -> ExecConfig {
        ExecConfig {
            chroot_env: BTreeMap::new(),
            no_pivot_root: false,
            default_pid_mode: NamespaceMode::default(),
            default_ipc_mode: NamespaceMode::default(),
            allow_caps: None,
            denied_host_uids: String::new(),
            denied_host_gids: String::new(),
            pids_limit: Some(4096),
        }
    }
}
