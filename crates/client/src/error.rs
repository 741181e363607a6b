//! Errors of requests to a node.

use std::path::PathBuf;

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

/// Why a node agent did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A directory or file of the agent could not be made, read or written.
    #[error("client setup failed: {what} {path}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
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
        /// What is wrong.
        why: String,
        /// What an operator can do.
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
