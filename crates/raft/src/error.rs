//! Errors of log and snapshot files.

use std::io;
use std::path::{Path, PathBuf};

use openraft::{AnyError, ErrorSubject, ErrorVerb, StorageError, StorageIOError};

use encamp_model::capability::CapabilityLevel;

use super::files::FORMAT;
use super::types::StorageFailure;

/// An error of the log or of snapshots.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused.
    #[error("can't {action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// The attempted action: `read`, `write`, …
        action: &'static str,
        /// File or directory.
        path: PathBuf,
        /// The refusal.
        source: io::Error,
    },
    /// A file does not hold what was written to it.
    #[error("{} is damaged at offset {offset}: {why}; restore the server's data directory from a backup, or remove it and let the server rejoin its cluster", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Byte offset of the damaged frame.
        offset: u64,
        /// The problem.
        why: String,
    },
    /// Another version wrote the file.
    #[error("{} has format {format}, which another version of encamp wrote; this version reads only format {FORMAT}. Run the other version on the data directory, or remove the directory and let the server rejoin its cluster; to move the state of an entire cluster, use `operator snapshot save` and `operator snapshot restore`", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The format that the file states.
        format: u32,
    },
    /// A build of a higher capability level wrote the file.
    #[error("{} is of capability level {level}, but this build supports only up to level {supported}: the cluster was upgraded, and there is no way back to an older build. Start a build of level {level} on this data directory (`encamp version`), or remove the directory and let a server of such a build rejoin the cluster; to go back, restore a snapshot from before the upgrade into a new cluster", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The level that it needs.
        level: CapabilityLevel,
        /// The highest level that is read.
        supported: CapabilityLevel,
    },
    /// Another process works in the directory.
    #[error("{} is in use by another process", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// There is no log.
    #[error("{} holds no log of a server", path.display())]
    Absent {
        /// The directory.
        path: PathBuf,
    },
    /// Snapshots and log don't join.
    #[error("{} holds no intact snapshot up to entry {purged}, where its log begins; restore the server's data directory from a backup, or remove it and let the server rejoin its cluster", path.display())]
    Gap {
        /// The directory.
        path: PathBuf,
        /// Last entry that only a snapshot can hold.
        purged: u64,
    },
    /// The log ends earlier than it did.
    #[error("{} holds no entry beyond {}, but it held entry {held}: files of the log are missing or cut off; restore the server's data directory from a backup, or remove it and let the server rejoin its cluster", path.display(), last.map_or_else(|| "none".to_string(), |l| l.to_string()))]
    Lost {
        /// The directory.
        path: PathBuf,
        /// The last entry that is there.
        last: Option<u64>,
        /// An entry that was durable.
        held: u64,
    },
    /// Entries are missing that only this server had.
    #[error("{} is damaged, and no other server has a copy: {loss} ({damage}); restore the server's data directory from a backup, or give up what is missing: `encamp operator raft repair -dry-run {}` shows what that is, and -accept-loss instead of -dry-run gives it up", path.display(), path.display())]
    OnlyCopy {
        /// The directory.
        path: PathBuf,
        /// Which entries are missing.
        loss: String,
        /// The damaged files.
        damage: String,
    },
    /// The last vote is not there.
    #[error("{} holds no vote of a term after {term}, but the server voted in term {held}: the files of its vote are damaged; remove the server from its cluster and its data directory, and let it join again", path.display())]
    Vote {
        /// The directory.
        path: PathBuf,
        /// The latest term of a vote that is there; 0 if there is none.
        term: u64,
        /// The latest term in which the server voted; 0 if that is not known.
        held: u64,
    },
    /// An earlier write failed; nothing is acknowledged any more.
    #[error("the log accepts no more writes because an earlier write failed: {0}")]
    Refused(String),
    /// The disk is nearly full.
    #[error("the disk of {} is nearly full: {} KiB are free, {} KiB are reserved for the server's log; free some space", path.display(), free / 1024, reserve / 1024)]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Free space, in bytes.
        free: u64,
        /// Reserved space, in bytes.
        reserve: u64,
    },
    /// The log was closed.
    #[error("the log is closed")]
    Closed,
    /// An entry can't be turned into bytes or back.
    #[error("entry {index} can't be {action}: {why}")]
    Codec {
        /// Index of the entry.
        index: u64,
        /// `encoded` or `decoded`.
        action: &'static str,
        /// The error of the codec.
        why: String,
    },
    /// Entries must follow each other.
    #[error("entry {got} can't follow entry {last}")]
    NotConsecutive {
        /// Index of the last entry.
        last: u64,
        /// Index of the entry that came.
        got: u64,
    },
    /// The state refused a snapshot, or failed.
    #[error("{0}")]
    Machine(String),
}

/// A remedy for the operator.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free some space, then start the server again",
        io::ErrorKind::FileTooLarge => "; raise the limit on the size of files, then start the server again",
        io::ErrorKind::ReadOnlyFilesystem => "; mount the file system writable, then start the server again",
        io::ErrorKind::PermissionDenied => "; let the server's user write there",
        _ => "",
    }
}

impl StoreError {
    /// Wraps a refusal of the operating system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError + use<> {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }
}

impl From<StoreError> for StorageFailure {
    fn from(error: StoreError) -> StorageFailure {
        let verb = match &error {
            StoreError::Io { action: "read" | "open" | "list", .. } | StoreError::Damaged { .. } => ErrorVerb::Read,
            _ => ErrorVerb::Write,
        };
        StorageError::IO { source: StorageIOError::new(ErrorSubject::Store, verb, AnyError::new(&error)) }
    }
}
