//! Why a run ends early.

use std::path::Path;

/// An error of the nemesis itself, not of the cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{file}: {source}")]
    File {
        /// Its path.
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A command failed.
    #[error("{command}: {why}")]
    Command {
        /// Its words.
        command: String,
        /// Its errors, or why it was not started.
        why: String,
    },
    /// A network device or namespace cannot be used.
    #[error("network of {member}: {source}")]
    Network {
        /// Whose network.
        member: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The cluster did not get ready within the time it has.
    #[error("the cluster does not get ready: {0}")]
    NotReady(String),
    /// The histories are wrong.
    #[error("{0}")]
    Violated(String),
}

/// The outcome of a step.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// An error about a file.
    pub(crate) fn file(file: &Path, source: std::io::Error) -> Failure {
        Failure::File { file: file.display().to_string(), source }
    }
}
