//! Unpacks archives (`docs/spec/client.md §18`). They come from anywhere: names, links, sizes and modes are checked, and
//! what is unpacked is bounded.
//!
//! [`members`]: what a member may be. [`tape`]: tar. `zipped`: zip.

mod members;
pub(crate) mod tape;
mod zipped;

use std::fs::File;
use std::io::{self, BufReader, Read, Write};

use serde::{Deserialize, Serialize};

use crate::directory::{Directory, PathError};

pub(crate) use members::{MOST_LEVELS, shown};

/// Most memory that the decompression of xz takes, in KiB; the highest level of `xz` needs 65 MiB.
const XZ_MEMORY: u32 = 256 * 1024;
/// The largest window of zstd as a power of two: 128 MiB, as `zstd` decompresses without further options.
const ZSTD_WINDOW: u32 = 27;
/// Bytes that are copied at once.
const BUFFER: usize = 64 * 1024;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
}

/// The kind of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// tar, maybe compressed.
    Tar(Option<Compression>),
    /// zip.
    Zip,
    /// One compressed file.
    Single(Compression),
}

/// The extensions; longer ones come first.
const EXTENSIONS: [(&str, Kind); 14] = [
    (".tar.gz", Kind::Tar(Some(Compression::Gzip))),
    (".tgz", Kind::Tar(Some(Compression::Gzip))),
    (".tar.bz2", Kind::Tar(Some(Compression::Bzip2))),
    (".tbz2", Kind::Tar(Some(Compression::Bzip2))),
    (".tar.xz", Kind::Tar(Some(Compression::Xz))),
    (".txz", Kind::Tar(Some(Compression::Xz))),
    (".tar.zst", Kind::Tar(Some(Compression::Zstd))),
    (".tzst", Kind::Tar(Some(Compression::Zstd))),
    (".tar", Kind::Tar(None)),
    (".zip", Kind::Zip),
    (".gz", Kind::Single(Compression::Gzip)),
    (".bz2", Kind::Single(Compression::Bzip2)),
    (".xz", Kind::Single(Compression::Xz)),
    (".zst", Kind::Single(Compression::Zstd)),
];

impl Kind {
    /// The kind of a file by its extension.
    pub fn of_name(name: &str) -> Option<Kind> {
        extension(name).map(|(_, kind)| kind)
    }

    /// Whether it has members with names, and is not one compressed file.
    pub fn has_members(self) -> bool {
        !matches!(self, Kind::Single(_))
    }
}

fn extension(name: &str) -> Option<(&'static str, Kind)> {
    let name = name.to_ascii_lowercase();
    EXTENSIONS.into_iter().find(|(extension, _)| name.ends_with(extension))
}

/// The name of a compressed file when it is decompressed.
pub(crate) fn without_extension(name: &str) -> String {
    let length = extension(name).map_or(0, |(extension, _)| extension.len());
    name.get(..name.len().saturating_sub(length)).unwrap_or_default().to_string()
}

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
struct Budget {
    limits: Limits,
    bytes: u64,
    members: u64,
}

impl Budget {
    fn new(limits: Limits) -> Budget {
        Budget { limits, bytes: 0, members: 0 }
    }

    fn add_member(&mut self) -> Result<(), UnpackError> {
        self.members = self.members.saturating_add(1);
        match self.limits.members {
            Some(most) if self.members > most => Err(UnpackError::TooMany(most)),
            _ => Ok(()),
        }
    }

    fn add_bytes(&mut self, count: usize) -> Result<(), UnpackError> {
        self.bytes = self.bytes.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        match self.limits.bytes {
            Some(most) if self.bytes > most => Err(UnpackError::TooLarge(most)),
            _ => Ok(()),
        }
    }

    /// Copies a member into its file.
    fn copy(&mut self, from: &mut impl Read, to: &mut File, name: &str) -> Result<(), UnpackError> {
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

/// Unpacks all members of an archive into a directory.
pub fn unpack(archive: File, kind: Kind, into: &Directory, limits: Limits) -> Result<(), UnpackError> {
    let mut budget = Budget::new(limits);
    match kind {
        Kind::Zip => zipped::unpack(archive, into, &mut budget),
        Kind::Tar(None) => tape::unpack(BufReader::new(archive), into, &mut budget),
        Kind::Tar(Some(compression)) => tape::unpack(decompressed(archive, compression)?, into, &mut budget),
        Kind::Single(_) => Ok(()),
    }
}

/// Decompresses one file.
pub(crate) fn decompress(from: File, how: Compression, to: &mut File, limits: Limits) -> Result<(), UnpackError> {
    Budget::new(limits).copy(&mut decompressed(from, how)?, to, "the decompressed file")
}

fn decompressed(file: File, how: Compression) -> Result<Box<dyn Read>, UnpackError> {
    let file = BufReader::with_capacity(BUFFER, file);
    Ok(match how {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(file)),
        Compression::Xz => Box::new(lzma_rust2::XzReader::new_mem_limit(file, true, XZ_MEMORY)),
        Compression::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(UnpackError::Read)?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(UnpackError::Read)?;
            Box::new(decoder)
        }
    })
}

#[cfg(test)]
mod tests;
