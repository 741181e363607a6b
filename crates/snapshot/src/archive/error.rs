//! Errors of archives.

use std::io;

/// Why an archive was refused. Says what, where, and what to do; never holds values of records, which may be secret.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file can't be read.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The gzip stream is damaged, cut off, or none.
    #[error("{0}")]
    Gzip(String),
    /// The tar inside is damaged, cut off, or none.
    #[error("{0}")]
    Tar(String),
    /// A member is missing, or is there that should not be.
    #[error("{0}")]
    Members(String),
    /// The content is not what it was when the archive was made.
    #[error("{0}; the file is damaged: get it again from where it was saved")]
    Checksum(String),
    /// `meta.json` is not that of a snapshot this build reads.
    #[error("meta.json: {0}")]
    Meta(String),
    /// More than any backup has: depth, size, ratio.
    #[error("{0}")]
    Limit(String),
    /// `state.bin` is not a list of records.
    #[error("state.bin, {place}: {problem}")]
    Framing {
        /// Where: record and offset.
        place: String,
        /// The problem.
        problem: String,
    },
    /// A record is not what its type asks for.
    #[error("state.bin, {place}: {problem}; the file is undamaged, but not in a format that servers 1.4 to 2.0 write")]
    Value {
        /// Where: record, object, member and offset.
        place: String,
        /// The problem.
        problem: String,
    },
    /// A record of a table that this build does not know.
    #[error("state.bin, {place}: {problem}")]
    Type {
        /// Where: record and offset.
        place: String,
        /// Which type, and what can be done.
        problem: String,
    },
}

impl ArchiveError {
    /// The layer of the archive that was wrong: `io`, `gzip`, `tar`, `members`, `checksum`, `meta`, `limit`, `framing`,
    /// `value` or `type`.
    pub fn stage(&self) -> &'static str {
        match self {
            ArchiveError::Io(_) => "io",
            ArchiveError::Gzip(_) => "gzip",
            ArchiveError::Tar(_) => "tar",
            ArchiveError::Members(_) => "members",
            ArchiveError::Checksum(_) => "checksum",
            ArchiveError::Meta(_) => "meta",
            ArchiveError::Limit(_) => "limit",
            ArchiveError::Framing { .. } => "framing",
            ArchiveError::Value { .. } => "value",
            ArchiveError::Type { .. } => "type",
        }
    }
}
