//! What an archive may contain, and why one is not unpacked.

use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

use crate::directory::PathError;

/// Bytes that are copied at once.
pub(super) const BUFFER: usize = 64 * 1024;

/// Bounds of what an archive may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of all files; none: no limit.
    pub bytes: Option<u64>,
    /// Files, directories and links; none: no limit.
    pub members: Option<u64>,
}

/// Why an archive was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It is damaged, or no archive of that kind.
    #[error("failed to read the archive: {0}")]
    Read(#[source] io::Error),
    /// It is no zip archive, or uses what is not supported.
    #[error("failed to read the archive: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// A member was not written.
    #[error("failed to unpack {name:?}: {source}")]
    Write {
        /// The member.
        name: String,
        /// The reason.
        source: PathError,
    },
    /// The name of a member leads out of the directory, or is no name.
    #[error("the archive has a member with the name {0:?}, which is not allowed")]
    Name(String),
    /// A member is neither file, directory nor link.
    #[error("the archive has a member {0:?} that is neither file, directory nor link")]
    Type(String),
    /// A hard link refers to what is no file of the archive.
    #[error("the archive has a hard link {0:?} to what is no earlier file of it")]
    HardLink(String),
    /// The files are too large.
    #[error("the unpacked files are larger than the limit of {0} bytes (decompression_size_limit)")]
    TooLarge(u64),
    /// There are too many members.
    #[error("the archive has more than {0} members (decompression_file_count_limit)")]
    TooMany(u64),
    /// The headers of members are too long.
    #[error("the archive has a member with too long a header")]
    Header,
}

/// What may still be unpacked.
pub(super) struct Budget {
    limits: Limits,
    bytes: u64,
    members: u64,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Budget {
        Budget { limits, bytes: 0, members: 0 }
    }

    pub(super) fn add_member(&mut self) -> Result<(), UnpackError> {
        self.members = self.members.saturating_add(1);
        match self.limits.members {
            Some(most) if self.members > most => Err(UnpackError::TooMany(most)),
            _ => Ok(()),
        }
    }

    pub(super) fn add_bytes(&mut self, count: usize) -> Result<(), UnpackError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        match self.limits.bytes {
            Some(most) if self.bytes > most => Err(UnpackError::TooLarge(most)),
            _ => Ok(()),
        }
    }

    /// Copies a member into its file.
    pub(super) fn copy(&mut self, from: &mut impl Read, to: &mut File, name: &str) -> Result<(), UnpackError> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let count = match from.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(UnpackError::Read(e)),
            };
            self.add_bytes(count)?;
            let data = buffer.get(..count).unwrap_or_default();
            to.write_all(data).map_err(|e| UnpackError::Write { name: name.into(), source: e.into() })?;
        }
    }
}
