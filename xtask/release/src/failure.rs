//! Why no release was made, or why one is refused.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The result of a step.
pub(crate) type Outcome<T> = Result<T, Failure>;

/// Why a step failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A command failed; the text names it.
    #[error("{0}")]
    Command(String),
    /// An input has another form than expected.
    #[error("{0}")]
    Form(String),
    /// A file of a release is refused.
    #[error("refused: {0}")]
    Refused(String),
    /// A package cannot be made.
    #[error("rpm: {0}")]
    Rpm(#[from] rpm::Error),
    /// Text that is no JSON.
    #[error("JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// An archive in memory cannot be made.
    #[error("archive: {0}")]
    Archive(#[from] io::Error),
}

impl Failure {
    /// A failure of a file.
    pub(crate) fn file(path: &Path, source: io::Error) -> Failure {
        Failure::File { path: path.to_path_buf(), source }
    }
}

/// The content of a file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(path: &Path) -> Outcome<Vec<u8>> {
    std::fs::read(path).map_err(|e| Failure::file(path, e))
}

/// The text of a file.
///
/// # Errors
/// It cannot be read, or is no text.
pub(crate) fn read_text(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|e| Failure::file(path, e))
}

/// Writes a file.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(path: &Path, content: &[u8]) -> Outcome<()> {
    std::fs::write(path, content).map_err(|e| Failure::file(path, e))
}
