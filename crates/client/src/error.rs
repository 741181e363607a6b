//! Errors of requests to a node, of its start and of its end.

use std::path::PathBuf;

use super::servers::ServersError;

/// Why a request about an allocation or the node failed; the texts are those the HTTP interface answers with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Status 404.
    #[error("{0}")]
    NotFound(String),
    /// Status 400.
    #[error("{0}")]
    BadRequest(String),
    /// Status 403.
    #[error("{0}")]
    Denied(String),
    /// Status 500.
    #[error("{0}")]
    Failed(String),
}

impl ClientError {
    /// The HTTP status that goes with the error.
    pub fn status(&self) -> u16 {
        match self {
            ClientError::NotFound(_) => 404,
            ClientError::BadRequest(_) => 400,
            ClientError::Denied(_) => 403,
            ClientError::Failed(_) => 500,
        }
    }

    /// The node does not know the allocation.
    pub(crate) fn unknown_alloc(id: &str) -> ClientError {
        ClientError::NotFound(format!("Unknown allocation \"{id}\""))
    }

    /// An error of the node itself.
    pub fn failed(text: impl ToString) -> ClientError {
        ClientError::Failed(text.to_string())
    }
}

/// Why a node can't do its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unhealthy {
    /// There is no server to ask.
    #[error("no known servers")]
    NoServers,
}

/// Why a node was not drained before it left.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    /// The servers did not begin the drain.
    #[error(transparent)]
    Servers(#[from] ServersError),
    /// The drain took longer than it may.
    #[error("self-drain exceeded deadline")]
    Deadline,
}

/// Why a node agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A directory or file of the agent could not be made, read or written.
    #[error("client setup failed: {what} {path}: {source}")]
    Io {
        /// The attempted operation.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// Another agent uses the state directory.
    #[error("timed out while opening database, is another Nomad process accessing data_dir {0}?")]
    Locked(PathBuf),
    /// A file of the agent's state does not hold what was written to it.
    #[error("client setup failed: {path} is damaged: {why}; {advice}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
        /// The action that an operator can take.
        advice: String,
    },
    /// A newer build wrote a file of the agent's state.
    #[error(
        "client setup failed: {path} has format {format}, which a newer build of encamp wrote, or it is damaged: start the newer build on this node again, or {advice}"
    )]
    NewerState {
        /// The file.
        path: PathBuf,
        /// The format that the file states.
        format: u32,
        /// The action that an operator can take otherwise.
        advice: String,
    },
    /// A setting can't be used.
    #[error("client setup failed: {0}")]
    Config(String),
}

/// Fills a file name into an error of the system.
pub fn at(what: &'static str, path: &std::path::Path) -> impl FnOnce(std::io::Error) -> StartError {
    let path = path.to_path_buf();
    move |source| StartError::Io { what, path, source }
}
