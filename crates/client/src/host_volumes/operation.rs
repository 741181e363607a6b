//! The operations of plugins, and how they end.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::programs::RunError;

/// How long a fingerprint may take.
const FINGERPRINT_LIMIT: Duration = Duration::from_secs(5);
/// How long creating or deleting a volume may take.
const VOLUME_LIMIT: Duration = Duration::from_secs(60);

/// The operations of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Says its version.
    Fingerprint,
    /// Creates a volume.
    Create,
    /// Deletes a volume.
    Delete,
}

impl Operation {
    /// The name, as plugins know it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Operation::Fingerprint => "fingerprint",
            Operation::Create => "create",
            Operation::Delete => "delete",
        }
    }

    /// How long it may take.
    pub(super) fn limit(self) -> Duration {
        match self {
            Operation::Fingerprint => FINGERPRINT_LIMIT,
            Operation::Create | Operation::Delete => VOLUME_LIMIT,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a plugin did not create or delete a volume.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PluginError {
    /// The node has no such plugin.
    #[error("no such plugin: {0:?}")]
    Unknown(String),
    /// A parameter of `mkdir` has a value that is not valid.
    #[error("invalid value for {name:?}: {value:?}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The file system refused an operation.
    #[error("error {what} {}: {source}", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// On which directory.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The program failed, or did not end in time.
    #[error("host volume plugin {plugin:?}: {operation}: {error}")]
    Run {
        /// The plugin.
        plugin: String,
        /// The operation.
        operation: Operation,
        /// What happened.
        error: RunError,
    },
    /// The program printed an invalid reply.
    #[error("host volume plugin {plugin:?}: {operation}: {why}")]
    Reply {
        /// The plugin.
        plugin: String,
        /// The operation.
        operation: Operation,
        /// What is wrong.
        why: String,
    },
}

impl PluginError {
    /// Whether the plugin may have left something behind: one that exits with a status other than 0 has cleaned up.
    pub(super) fn may_leave(&self) -> bool {
        match self {
            PluginError::Unknown(_) | PluginError::Parameter { .. } | PluginError::Io { .. } => false,
            PluginError::Reply { .. } => true,
            PluginError::Run { error, .. } => match error {
                RunError::Start(_) | RunError::Exit { .. } => false,
                RunError::Signal { .. }
                | RunError::Timeout(_)
                | RunError::TooLong(_)
                | RunError::Canceled
                | RunError::Wait(_) => true,
            },
        }
    }
}

/// A volume that a plugin created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Created {
    /// Its directory.
    pub path: PathBuf,
    /// Its size in bytes; 0: the plugin does not say.
    pub bytes: i64,
}
