//! Segment files: `log-<index of the first entry>.seg`, a header of 24 bytes, then frames.

use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use openraft::Entry;

use super::frame::{self, Broken, HEADER, Header, Kind};
use crate::error::StoreError;
use crate::files;
use crate::types::{EntryId, Types};
use encamp_host::disk::{self, File};
use encamp_model::capability::CapabilityLevel;

/// Length of a segment's head: `ENCAMPLG`, format (4; 2 for capability level 1, 3 for level 2, …), first index (8), CRC32 of these (4).
pub(super) const HEAD: u64 = 24;
const MAGIC: &[u8; 8] = b"ENCAMPLG";

/// One open file of the log.
#[derive(Debug)]
pub(crate) struct Segment {
    pub path: PathBuf,
    /// Index of its first entry.
    pub first: u64,
    /// What a build has to support to read it.
    pub level: CapabilityLevel,
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
}

/// The content of a segment.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub entries: Vec<Found>,
    pub committed: Option<EntryId>,
    /// Where the next frame goes.
    pub end: u64,
}

/// The first index that a file name tells; `None` for other files.
pub(crate) fn first_of(name: &str) -> Option<u64> {
    name.strip_prefix("log-")?.strip_suffix(".seg").filter(|n| n.len() == 20)?.parse().ok()
}

fn head(format: u32, first: u64) -> [u8; HEAD as usize] {
    let mut out = [0; HEAD as usize];
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&format.to_le_bytes());
    out[12..20].copy_from_slice(&first.to_le_bytes());
    let sum = crc32fast::hash(&out[..20]);
    out[20..].copy_from_slice(&sum.to_le_bytes());
    out
}

impl Segment {
    /// Makes an empty, durable segment.
    pub(crate) fn create(dir: &Path, first: u64, level: CapabilityLevel) -> Result<Segment, StoreError> {
        let path = dir.join(format!("log-{first:020}.seg"));
        let file = files::create(&path)?;
        file.write_all_at(&head(files::format_of(level), first), 0).map_err(StoreError::io("write", &path))?;
        file.sync_all().map_err(StoreError::io("sync", &path))?;
        files::sync_dir(dir)?;
        Ok(Segment { path, first, level, file })
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
        (&file).take(HEAD).read_to_end(&mut found).map_err(StoreError::io("read", &path))?;
        let format = found.get(8..12).and_then(|f| f.first_chunk()).map_or(0, |f| u32::from_le_bytes(*f));
        if found == head(format, first) {
            let level = files::level_of(&path, format, supported)?;
            return Ok(Some(Segment { path, first, level, file }));
        }
        let length = file.length().map_err(StoreError::io("read", &path))?;
        // Nothing is written behind a head that is not durable.
        if newest && length <= HEAD && (length < HEAD || found.iter().all(|b| *b == 0)) {
            return Ok(None);
        }
        Err(StoreError::Damaged { path, offset: 0, why: "it is not a log segment".into() })
    }

    /// Reads all frames. What a crash left half-written at the end of the newest segment is cut off.
    pub(crate) fn scan(&self, newest: bool) -> Result<Content, StoreError> {
        let (content, intact) = self.frames()?;
        if !intact {
            self.cut(content.end, newest)?;
        }
        Ok(content)
    }

    /// Reads the intact frames at the beginning, and whether these are all. Changes nothing.
    pub(crate) fn frames(&self) -> Result<(Content, bool), StoreError> {
        let failed = || StoreError::io("read", &self.path);
        let mut reader = BufReader::with_capacity(1 << 20, &self.file);
        reader.seek(SeekFrom::Start(HEAD)).map_err(failed())?;
        let length = self.file.length().map_err(failed())?;
        let mut content = Content { end: HEAD, ..Content::default() };
        let mut payload = Vec::new();
        while content.end < length {
            let Some(header) = self.next(&mut reader, &mut payload, length - content.end)? else {
                return Ok((content, false));
            };
            let last = content.entries.last().map(|e| e.id.index);
            match header.kind {
                Kind::Committed => content.committed = Some(header.id),
                Kind::Entry => {
                    if header.id.index != last.map_or(self.first, |l| l + 1) {
                        let why = format!("entry {} follows entry {last:?}", header.id.index);
                        return Err(StoreError::Damaged { path: self.path.clone(), offset: content.end, why });
                    }
                    let len = HEADER as u32 + header.len;
                    let (id, width, offset) = (header.id, header.width, content.end);
                    content.entries.push(Found { id, width, offset, len });
                }
            }
            content.end += HEADER as u64 + u64::from(header.len);
        }
        Ok((content, true))
    }

    /// The next frame's head; `None` if the frame is not intact.
    fn next(&self, from: &mut impl Read, payload: &mut Vec<u8>, left: u64) -> Result<Option<Header>, StoreError> {
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
        Ok((crc32fast::hash(payload) == header.sum).then_some(header))
    }

    /// Cuts off the frame at `offset` and all that follows, if it was never acknowledged.
    fn cut(&self, offset: u64, newest: bool) -> Result<(), StoreError> {
        let failed = || StoreError::io("read", &self.path);
        let damaged = |why: &str| StoreError::Damaged { path: self.path.clone(), offset, why: why.into() };
        let mut rest = Vec::new();
        (&self.file).seek(SeekFrom::Start(offset)).map_err(failed())?;
        (&self.file).read_to_end(&mut rest).map_err(failed())?;
        if !newest {
            return Err(damaged("the frame is not intact, but later segments follow"));
        }
        if frame::was_durable(&rest, offset) {
            return Err(damaged("the frame is not intact, but frames that were written after it are"));
        }
        match frame::diagnose(&rest, offset) {
            Broken::Changed(why) => Err(damaged(why)),
            Broken::Torn => {
                tracing::warn!(target: "server.raft.log.segment", path = %self.path.display(), offset, bytes = rest.len(), "cut off a write that a crash interrupted");
                self.file.set_len(offset).map_err(StoreError::io("truncate", &self.path))?;
                self.file.sync_all().map_err(StoreError::io("sync", &self.path))
            }
        }
    }

    /// Reads one entry.
    pub(crate) fn read(&self, id: EntryId, offset: u64, len: u32) -> Result<Entry<Types>, StoreError> {
        let mut bytes = vec![0; len as usize];
        self.file.read_exact_at(&mut bytes, offset).map_err(StoreError::io("read", &self.path))?;
        frame::decode_entry(&bytes, id).map_err(|e| StoreError::Damaged {
            path: self.path.clone(),
            offset,
            why: e.to_string(),
        })
    }
}
