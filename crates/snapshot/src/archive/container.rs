//! The container: gzip, tar, digests (`docs/spec/snapshot-archive.md §2, 4`). It is streamed: only the two small
//! members are kept in memory.

use std::io::Read;

use sha2::{Digest, Sha256};

use super::error::ArchiveError;
use super::inflate::Inflate;
use super::tar::{BLOCK, Extended, Header, shown};

/// The member that tells what the snapshot is.
pub(crate) const META: &str = "meta.json";
/// The member with the records.
pub(crate) const STATE: &str = "state.bin";
/// The member with the checksums of the others.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The most that is read of `meta.json`.
const MAX_META: u64 = 1 << 20;
/// The most that is read of `SHA256SUMS` and of extended settings.
const MAX_SMALL: u64 = 64 << 10;
/// Zero bytes that may follow the end of the tar.
const MAX_PADDING: u64 = 1 << 20;
/// Bytes of `state.bin` that are handed on at a time.
const CHUNK: usize = 256 << 10;

/// A message to the decoder of `state.bin`.
pub enum Piece {
    /// The total size. Comes first.
    Size(u64),
    /// The next bytes.
    Data(Vec<u8>),
}

/// The rest of an archive after it has been read to its end.
pub(crate) struct Container {
    /// Content of `meta.json`.
    pub meta: Vec<u8>,
    /// Its digest.
    pub meta_digest: [u8; 32],
    /// Content of `SHA256SUMS`.
    pub sums: Vec<u8>,
    /// Length of `state.bin`.
    pub state_size: u64,
    /// Its digest.
    pub state_digest: [u8; 32],
}

/// Reads an archive to its end, handing `state.bin` to `sink` on the way.
pub(crate) fn read(file: impl Read, sink: impl FnMut(Piece)) -> Result<Container, ArchiveError> {
    let mut walk = Walk { input: Inflate::new(file), sink };
    let (mut meta, mut sums, mut state) = (None, None, None);
    let mut extended = Extended::default();
    loop {
        let (name, size) = match walk.header()? {
            Header::End => break,
            Header::Global(size) => {
                walk.small(size, "settings")?;
                continue;
            }
            Header::Extended(size) => {
                extended = Extended::parse(&walk.small(size, "settings")?)?;
                continue;
            }
            Header::File { name, size } => (extended.name.take().unwrap_or(name), extended.size.take().unwrap_or(size)),
        };
        let twice = match name.as_slice() {
            b"meta.json" => meta.replace(walk.member(size, META, MAX_META)?).is_some(),
            b"SHA256SUMS" => sums.replace(walk.member(size, SUMS, MAX_SMALL)?).is_some(),
            b"state.bin" => state.is_some() || state.replace(walk.state(size)?).is_some(),
            other => {
                let text = format!("{} does not belong in a server backup archive", shown(other));
                return Err(ArchiveError::Members(text));
            }
        };
        if twice {
            return Err(ArchiveError::Members(format!("{} is there twice", shown(&name))));
        }
    }
    walk.end()?;
    let missing = |name: &str| ArchiveError::Members(format!("it is not a server backup archive: {name} is missing"));
    let meta = meta.ok_or_else(|| missing(META))?;
    let (state_size, state_digest) = state.ok_or_else(|| missing(STATE))?;
    let sums = sums.ok_or_else(|| missing(SUMS))?;
    Ok(Container { meta_digest: Sha256::digest(&meta).into(), meta, sums, state_size, state_digest })
}

/// On the way through the tar.
struct Walk<R: Read, S> {
    input: Inflate<R>,
    sink: S,
}

impl<R: Read, S: FnMut(Piece)> Walk<R, S> {
    fn exactly(&mut self, buffer: &mut [u8], where_: &str) -> Result<(), ArchiveError> {
        if self.input.fill(buffer)? == buffer.len() {
            return Ok(());
        }
        Err(ArchiveError::Tar(format!(
            "the tar inside ends within {where_}: it is not a server backup archive, or incomplete"
        )))
    }

    fn header(&mut self) -> Result<Header, ArchiveError> {
        let mut header = tar::Header::new_old();
        self.exactly(header.as_mut_bytes(), "a header")?;
        Header::parse(&header)
    }

    /// Reads the bytes that fill the last block of a member.
    fn padding(&mut self, size: u64, name: &str) -> Result<(), ArchiveError> {
        let mut block = [0; BLOCK];
        let used = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        if used > 0 { self.exactly(&mut block[used..], name) } else { Ok(()) }
    }

    /// A member that is kept. Grows as it arrives.
    fn member(&mut self, size: u64, name: &str, most: u64) -> Result<Vec<u8>, ArchiveError> {
        if size > most {
            return Err(ArchiveError::Limit(format!("{name} has {size} bytes, more than the {most} that are read")));
        }
        let mut content = Vec::new();
        let mut block = [0; BLOCK];
        let mut left = size;
        while left > 0 {
            let part = &mut block[..usize::try_from(left.min(BLOCK as u64)).unwrap_or(BLOCK)];
            self.exactly(part, name)?;
            left -= part.len() as u64;
            content.extend_from_slice(part);
        }
        self.padding(size, name)?;
        Ok(content)
    }

    fn small(&mut self, size: u64, name: &str) -> Result<Vec<u8>, ArchiveError> {
        self.member(size, name, MAX_SMALL)
    }

    /// Hands the records on; returns their length and digest.
    fn state(&mut self, size: u64) -> Result<(u64, [u8; 32]), ArchiveError> {
        (self.sink)(Piece::Size(size));
        let mut digest = Sha256::new();
        let mut left = size;
        while left > 0 {
            let mut chunk = vec![0; usize::try_from(left).unwrap_or(CHUNK).min(CHUNK)];
            self.exactly(&mut chunk, STATE)?;
            left -= chunk.len() as u64;
            digest.update(&chunk);
            (self.sink)(Piece::Data(chunk));
        }
        self.padding(size, STATE)?;
        Ok((size, digest.finalize().into()))
    }

    /// After the first block of zeros: another one, and then nothing but some more zeros.
    fn end(&mut self) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 64 << 10];
        self.exactly(&mut buffer[..BLOCK], "its last block")?;
        let mut padding = 0;
        let mut n = BLOCK;
        while n > 0 {
            if buffer[..n].iter().any(|b| *b != 0) {
                return Err(ArchiveError::Tar(
                    "something follows the end of the tar inside: the file is damaged".into(),
                ));
            }
            n = self.input.fill(&mut buffer)?;
            padding += n as u64;
            if padding > MAX_PADDING {
                let text = format!("more than {} MiB of padding follow the end of the tar inside", MAX_PADDING >> 20);
                return Err(ArchiveError::Tar(format!("{text}: it is not a server backup archive")));
            }
        }
        Ok(())
    }
}
