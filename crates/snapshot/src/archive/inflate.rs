//! The gzip layer (`docs/spec/snapshot-archive.md §2`): decompresses any number of members, each checked, into one
//! stream of bytes.

use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::error::ArchiveError;

/// Decompressed bytes below which the ratio is not checked.
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// How many times larger than the file its content may be. Backups of real clusters compress to a tenth; deflate itself
/// reaches a thousandth.
const MOST_RATIO: u64 = 200;

/// Counts what is read.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes += n as u64;
        Ok(n)
    }
}

/// The content of a gzip file.
pub(crate) struct Inflate<R: Read> {
    gzip: MultiGzDecoder<BufReader<Counted<R>>>,
    bytes: u64,
}

impl<R: Read> Inflate<R> {
    /// Reads what `file` holds.
    pub(crate) fn new(file: R) -> Inflate<R> {
        let file = BufReader::with_capacity(128 << 10, Counted { inner: file, bytes: 0 });
        Inflate { gzip: MultiGzDecoder::new(file), bytes: 0 }
    }

    /// Fills the buffer; returns less than its length at the end of the content only.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, ArchiveError> {
        let mut n = 0;
        while n < buffer.len() {
            match self.gzip.read(&mut buffer[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.problem(e)),
            }
        }
        self.bytes += n as u64;
        if self.bytes > ALWAYS_ALLOWED && self.bytes / MOST_RATIO > self.gzip.get_ref().get_ref().bytes {
            return Err(ArchiveError::Limit(format!(
                "it unpacks to more than {MOST_RATIO} times its size, which no backup does: it is not read any further"
            )));
        }
        Ok(n)
    }

    fn problem(&self, e: io::Error) -> ArchiveError {
        if e.raw_os_error().is_some() {
            return ArchiveError::Io(e);
        }
        if self.bytes == 0 && self.gzip.header().is_none() {
            return ArchiveError::Gzip("it is not a server backup archive (no gzip header)".into());
        }
        let read = self.gzip.get_ref().get_ref().bytes;
        ArchiveError::Gzip(if e.kind() == io::ErrorKind::UnexpectedEof {
            format!("the gzip stream is cut off after {read} bytes: the file is incomplete, get it again")
        } else {
            format!("the gzip stream is damaged before byte {read} ({e}): get the file again")
        })
    }
}
