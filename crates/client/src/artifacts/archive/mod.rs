//! Unpacks archives (`docs/spec/client.md §18`). They come from anywhere: names, links, sizes and modes are checked, and
//! what is unpacked is bounded.
//!
//! [`bounds`]: what an archive may contain. [`members`]: what a member may be. [`tape`]: tar. `zipped`: zip.

mod bounds;
mod members;
pub(crate) mod tape;
mod zipped;

use std::fs::File;
use std::io::{BufReader, Read};

use bounds::{BUFFER, Budget};

use crate::directory::Directory;

pub use bounds::{Limits, UnpackError};
pub(crate) use members::{MOST_LEVELS, shown};

/// Most memory that the decompression of xz takes, in KiB; the highest level of `xz` needs 65 MiB.
const XZ_MEMORY: u32 = 256 * 1024;
/// The largest window of zstd as a power of two: 128 MiB, as `zstd` decompresses without further options.
const ZSTD_WINDOW: u32 = 27;

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
