//! Segment files: `log-<index of the first entry>.seg`, a head of 24 or 32 bytes, then frames.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use openraft::Entry;

use super::frame::{self, Broken, HEADER, Header, Kind, Link};
use crate::error::StoreError;
use crate::files;
use crate::types::{EntryId, Types};
use encamp_host::disk::{self, File};
use encamp_model::capability::{Capability, CapabilityLevel};

/// Length of a segment's head: `ENCAMPLG`, format (4; 2 for capability level 1, 3 for level 2, …), first index (8), CRC32 of these (4).
pub(super) const HEAD: u64 = 24;
/// Length of the head since the capability `chained-log`: magic, format, first index, seal of the last frame before the
/// segment (4), zero (4), CRC32 of these (4).
pub(crate) const CHAINED_HEAD: u64 = 32;
const MAGIC: &[u8; 8] = b"ENCAMPLG";
/// What is wrong with a segment that holds nothing although entries in it were acknowledged.
pub(crate) const EMPTY: &str = "it is empty, but entries in it were acknowledged";

/// One open file of the log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub path: PathBuf,
    /// Index of its first entry.
    pub first: u64,
    /// What a build has to support to read it.
    pub level: CapabilityLevel,
    /// Seal of the last frame before it; `None` if its frames are not chained.
    pub previous: Option<u32>,
    /// The checksum of its head.
    pub seal: u32,
    pub file: File,
}

/// A frame that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub id: EntryId,
    pub width: u32,
    pub offset: u64,
    /// Length of the whole frame.
    pub len: u32,
    /// Seal before it.
    pub previous: u32,
}

/// Why the frames of a segment end before the file does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The next frame is not intact; a write that a crash interrupted leaves that, too.
    NotIntact,
    /// The next frame is intact, but belongs elsewhere.
    Misplaced(String),
}

/// The content of a segment.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub entries: Vec<Found>,
    pub committed: Option<EntryId>,
    /// Where the next frame goes.
    pub end: u64,
    /// Seal of the last frame, or of the head.
    pub seal: u32,
    /// Why it ends there, if the file does not.
    pub flaw: Option<Flaw>,
}

/// The first index that a file name tells; `None` for other files.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.strip_suffix(".seg").filter(|n| n.len() == 20)?.parse().ok()
}

/// Whether the file is a segment by its name.
pub(crate) fn is_name(path: &Path) -> bool {
    path.file_name().and_then(|n| n.to_str()).is_some_and(|n| first_of(n).is_some())
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b))
}

/// The head of a segment; `previous` if its frames are chained.
fn head(format: u32, first: u64, previous: Option<u32>) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&format.to_le_bytes());
    out.extend_from_slice(&first.to_le_bytes());
    if let Some(previous) = previous {
        out.extend_from_slice(&previous.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    out
}

/// Format, previous seal and own seal in the head of a segment that begins with an entry; `None` if it is none.
fn read_head(bytes: &[u8], first: u64) -> Option<(u32, Option<u32>, u32)> {
    let format = number(bytes.get(8..12)?);
    let seal = |head: &[u8]| number(head.get(head.len().saturating_sub(4)..).unwrap_or_default());
    let old = head(format, first, None);
    if bytes.starts_with(&old) {
        return Some((format, None, seal(&old)));
    }
    let previous = number(bytes.get(20..24)?);
    let chained = head(format, first, Some(previous));
    (bytes == chained).then(|| (format, Some(previous), seal(&chained)))
}

impl Segment {
    /// Makes an empty, durable segment. `previous` is the seal of the last frame before it.
    pub(crate) fn create(dir: &Path, first: u64, level: CapabilityLevel, previous: u32) -> Result<Segment, StoreError> {
        let path = dir.join(format!("log-{first:020}.seg"));
        let file = files::create(&path)?;
        let previous = level.has(Capability::ChainedLog).then_some(previous);
        let head = head(files::format_of(level), first, previous);
        file.write_all_at(&head, 0).map_err(StoreError::io("write", &path))?;
        file.sync_all().map_err(StoreError::io("sync", &path))?;
        files::sync_dir(dir)?;
        let seal = number(&head[head.len() - 4..]);
        Ok(Segment { path, first, level, previous, seal, file })
    }

    /// Where its frames begin.
    pub(crate) fn start(&self) -> u64 {
        if self.previous.is_some() { CHAINED_HEAD } else { HEAD }
    }

    /// What a frame at a place says of it.
    pub(crate) fn link(&self, offset: u64, previous: u32) -> Option<Link> {
        self.previous.map(|_| Link { offset, previous })
    }

    /// Opens a segment that is there, if its level is supported. `None` if its making was interrupted; such a file holds
    /// nothing.
    pub(crate) fn open(
        dir: &Path,
        name: &str,
        first: u64,
        newest: bool,
        supported: CapabilityLevel,
    ) -> Result<Option<Segment>, StoreError> {
        let path = dir.join(name);
        let file = disk::open_writable(&path).map_err(StoreError::io("open", &path))?;
        Segment::checked(path, file, first, newest, supported)
    }

    /// The same for reading alone.
    pub(crate) fn open_read_only(
        dir: &Path,
        name: &str,
        first: u64,
        newest: bool,
    ) -> Result<Option<Segment>, StoreError> {
        let path = dir.join(name);
        let file = disk::open(&path).map_err(StoreError::io("open", &path))?;
        Segment::checked(path, file, first, newest, CapabilityLevel::BUILD)
    }

    fn checked(
        path: PathBuf,
        file: File,
        first: u64,
        newest: bool,
        supported: CapabilityLevel,
    ) -> Result<Option<Segment>, StoreError> {
        let mut found = Vec::new();
        (&file).take(CHAINED_HEAD).read_to_end(&mut found).map_err(StoreError::io("read", &path))?;
        if let Some((format, previous, seal)) = read_head(&found, first) {
            let level = files::level_of(&path, format, supported)?;
            return Ok(Some(Segment { path, first, level, previous, seal, file }));
        }
        let length = file.length().map_err(StoreError::io("read", &path))?;
        // Nothing is written behind a head that is not durable.
        if newest && length <= CHAINED_HEAD && (length < CHAINED_HEAD || found.iter().all(|b| *b == 0)) {
            return Ok(None);
        }
        Err(StoreError::Damaged { path, offset: 0, why: "it is not a log segment".into() })
    }

    /// Reads all frames. What a crash left half-written at the end of the newest segment is cut off; what is known to have
    /// been acknowledged ends at `known`.
    pub(crate) fn scan(&self, newest: bool, known: u64) -> Result<Content, StoreError> {
        let content = self.frames()?;
        if content.flaw.is_some() {
            self.judge(&content, newest, known)?;
            self.cut(content.end)?;
        }
        Ok(content)
    }

    /// Reads the intact frames at the beginning. Changes nothing.
    pub(crate) fn frames(&self) -> Result<Content, StoreError> {
        let failed = || StoreError::io("read", &self.path);
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        reader.seek(SeekFrom::Start(self.start())).map_err(failed())?;
        let length = self.file.length().map_err(failed())?;
        self.read_frames(&mut reader, length)
    }

    /// Checks bytes that were read from the beginning of the file to the end of a frame.
    ///
    /// # Errors
    /// They are damaged.
    pub(crate) fn check(&self, bytes: &[u8]) -> Result<(), StoreError> {
        let damaged = |offset, why: &str| StoreError::Damaged { path: self.path.clone(), offset, why: why.into() };
        let head = read_head(bytes.get(..bytes.len().min(CHAINED_HEAD as usize)).unwrap_or(bytes), self.first);
        if head.is_none_or(|(_, previous, seal)| (previous, seal) != (self.previous, self.seal)) {
            return Err(damaged(0, "it is not a log segment"));
        }
        let mut frames = bytes.get(self.start() as usize..).unwrap_or_default();
        let content = self.read_frames(&mut frames, bytes.len() as u64)?;
        match content.flaw {
            None => Ok(()),
            Some(Flaw::NotIntact) => Err(damaged(content.end, "the frame is not intact")),
            Some(Flaw::Misplaced(why)) => Err(damaged(content.end, &why)),
        }
    }

    /// Reads the frames from the first one on to `length`, an offset in the file.
    fn read_frames(&self, reader: &mut impl Read, length: u64) -> Result<Content, StoreError> {
        let mut content = Content { end: self.start(), seal: self.seal, ..Content::default() };
        let mut payload = Vec::new();
        while content.end < length {
            let Some((header, seal)) = self.next(reader, &mut payload, length - content.end)? else {
                content.flaw = Some(Flaw::NotIntact);
                return Ok(content);
            };
            if let Err(why) = self.belongs(&header, &content) {
                content.flaw = Some(Flaw::Misplaced(why));
                return Ok(content);
            }
            match header.kind {
                Kind::Committed => content.committed = Some(header.id),
                Kind::Entry => {
                    let len = HEADER as u32 + header.len;
                    let (id, width, offset, previous) = (header.id, header.width, content.end, content.seal);
                    content.entries.push(Found { id, width, offset, len, previous });
                }
            }
            content.end += HEADER as u64 + u64::from(header.len);
            content.seal = seal;
        }
        Ok(content)
    }

    /// Whether an intact frame follows the frames before it.
    fn belongs(&self, header: &Header, before: &Content) -> Result<(), String> {
        let expected = self.link(before.end, before.seal);
        match (header.link, expected) {
            (found, expected) if found == expected => {}
            (Some(found), Some(expected)) if found.offset != expected.offset => {
                return Err(format!("the frame was written for offset {}", found.offset));
            }
            _ => return Err("the frame does not follow the one before it".into()),
        }
        let last = before.entries.last().map(|e| e.id.index);
        if header.kind == Kind::Entry && header.id.index != last.map_or(self.first, |l| l + 1) {
            return Err(format!("entry {} follows entry {last:?}", header.id.index));
        }
        Ok(())
    }

    /// The next frame's head and seal; `None` if the frame is not intact.
    fn next(
        &self,
        from: &mut impl Read,
        payload: &mut Vec<u8>,
        left: u64,
    ) -> Result<Option<(Header, u32)>, StoreError> {
        let failed = || StoreError::io("read", &self.path);
        if left < HEADER as u64 {
            return Ok(None);
        }
        let mut head = [0; HEADER];
        from.read_exact(&mut head).map_err(failed())?;
        let Some(header) = Header::decode(&head) else { return Ok(None) };
        if left - (HEADER as u64) < u64::from(header.len) || header.len > u32::MAX - HEADER as u32 {
            return Ok(None);
        }
        payload.resize(header.len as usize, 0);
        from.read_exact(payload).map_err(failed())?;
        Ok((crc32fast::hash(payload) == header.sum).then(|| (header, frame::seal(&head))))
    }

    /// Checks that what follows the intact frames is the rest of a write that a crash interrupted, before it was
    /// acknowledged.
    ///
    /// # Errors
    /// It is damage.
    pub(crate) fn judge(&self, content: &Content, newest: bool, known: u64) -> Result<(), StoreError> {
        let (failed, offset) = (|| StoreError::io("read", &self.path), content.end);
        let damaged = |why: &str| StoreError::Damaged { path: self.path.clone(), offset, why: why.into() };
        match &content.flaw {
            None => return Ok(()),
            Some(Flaw::Misplaced(why)) => return Err(damaged(why)),
            Some(Flaw::NotIntact) => {}
        }
        let mut rest = Vec::new();
        (&self.file).seek(SeekFrom::Start(offset)).map_err(failed())?;
        (&self.file).read_to_end(&mut rest).map_err(failed())?;
        if !newest {
            return Err(damaged("the frame is not intact, but later segments follow"));
        }
        if frame::was_durable(&rest, offset) {
            return Err(damaged("the frame is not intact, but frames that were written after it are"));
        }
        if offset < known {
            return Err(damaged("the frame is not intact, but it was acknowledged"));
        }
        match frame::diagnose(&rest, offset) {
            Broken::Changed(why) => Err(damaged(why)),
            Broken::Torn => Ok(()),
        }
    }

    /// Cuts off what a crash left half-written at `offset`.
    fn cut(&self, offset: u64) -> Result<(), StoreError> {
        tracing::warn!(target: "server.raft.log.segment", path = %self.path.display(), offset, "cut off a write that a crash interrupted");
        self.file.set_len(offset).map_err(StoreError::io("truncate", &self.path))?;
        self.file.sync_all().map_err(StoreError::io("sync", &self.path))
    }

    /// Reads one entry; `previous` is the seal before it.
    pub(crate) fn read(&self, id: EntryId, offset: u64, len: u32, previous: u32) -> Result<Entry<Types>, StoreError> {
        let mut bytes = vec![0; len as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(StoreError::io("read", &self.path))?;
        frame::decode_entry(&bytes, id, self.link(offset, previous)).map_err(|e| StoreError::Damaged {
            path: self.path.clone(),
            offset,
            why: e.to_string(),
        })
    }
}
