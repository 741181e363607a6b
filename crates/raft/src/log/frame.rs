//! Frames: how an entry lies in a segment file. All numbers are little-endian.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `ENCL` |
//! | 1 | kind: 1 entry, 2 committed entry's ID (no payload) |
//! | 3 | zero |
//! | 4 | length of the payload |
//! | 4 | how many indexes the entry takes |
//! | 8 | index of the entry in the log |
//! | 8 | term of the leader that made it |
//! | 8 | where the frame begins in its file; zero before the capability `chained-log` |
//! | 4 | checksum of the head of the frame before it, or of the head of the segment; zero before that capability |
//! | 4 | zero |
//! | 8 | how much of the file was durable when the frame was written |
//! | 4 | CRC32 of the payload |
//! | 4 | CRC32 of all before |
//! | … | payload: MessagePack (`encamp_ops::codec`) |
//!
//! The durable length tells damage from a torn write: a frame below the durable length of a later frame was
//! acknowledged. The place tells a frame that was written elsewhere, and the checksums are a chain: each covers the one
//! before it, so that a frame of an older copy of the file, or one that is missing, is noticed.

use openraft::{CommittedLeaderId, LogId};

use crate::error::StoreError;
use crate::types::{EntryId, ServerId, Types, level, width};
use encamp_model::capability::CapabilityLevel;
use encamp_ops::codec::{self, CodecError};

/// Length of a frame without its payload.
pub(super) const HEADER: usize = 64;
const MAGIC: &[u8; 4] = b"ENCL";
/// Sectors are written whole or not at all.
const SECTOR: usize = 512;

/// The content of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Entry,
    Committed,
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    pub kind: Kind,
    pub len: u32,
    pub width: u32,
    pub id: EntryId,
    /// Bytes of the file that were durable when the frame was written.
    pub durable: u64,
    pub sum: u32,
    /// Where it belongs; `None` before the capability `chained-log`.
    pub link: Option<Link>,
}

/// Where a frame belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    /// Where it begins in its file.
    pub offset: u64,
    /// Checksum of the head before it.
    pub previous: u32,
}

/// The checksum that the head of a frame ends with: it covers the payload, and the checksum before it.
pub(super) fn seal(head: &[u8; HEADER]) -> u32 {
    u32::from_le_bytes([head[60], head[61], head[62], head[63]])
}

impl Header {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        let leader = self.id.leader_id;
        out[0..4].copy_from_slice(MAGIC);
        out[4] = match self.kind {
            Kind::Entry => 1,
            Kind::Committed => 2,
        };
        out[8..12].copy_from_slice(&self.len.to_le_bytes());
        out[12..16].copy_from_slice(&self.width.to_le_bytes());
        out[16..24].copy_from_slice(&self.id.index.to_le_bytes());
        out[24..32].copy_from_slice(&leader.term.to_le_bytes());
        if let Some(link) = self.link {
            out[32..40].copy_from_slice(&link.offset.to_le_bytes());
            out[40..44].copy_from_slice(&link.previous.to_le_bytes());
        }
        out[48..56].copy_from_slice(&self.durable.to_le_bytes());
        out[56..60].copy_from_slice(&self.sum.to_le_bytes());
        let sum = crc32fast::hash(&out[..60]);
        out[60..64].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// `None` if the bytes are no head of a frame, or a damaged one.
    pub(crate) fn decode(bytes: &[u8; HEADER]) -> Option<Header> {
        let u32_at = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
        let u64_at = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
        if !bytes.starts_with(MAGIC) || u32_at(60)? != crc32fast::hash(&bytes[..60]) {
            return None;
        }
        let kind = match bytes[4] {
            1 => Kind::Entry,
            2 => Kind::Committed,
            _ => return None,
        };
        let leader = CommittedLeaderId::new(u64_at(24)?, ServerId::default());
        let id = LogId::new(leader, u64_at(16)?);
        let offset = u64_at(32)?;
        let link = if offset == 0 { None } else { Some(Link { offset, previous: u32_at(40)? }) };
        Some(Header { kind, len: u32_at(8)?, width: u32_at(12)?, id, durable: u64_at(48)?, sum: u32_at(56)?, link })
    }
}

/// An entry as bytes, before its place is known.
#[derive(Debug)]
pub(super) struct Encoded {
    pub id: EntryId,
    pub width: u32,
    pub payload: Vec<u8>,
    /// What a server has to support to read it.
    pub level: CapabilityLevel,
    sum: u32,
}

impl Encoded {
    pub(crate) fn new(entry: &openraft::Entry<Types>) -> Result<Encoded, StoreError> {
        let index = entry.log_id.index;
        let failed = |why: String| StoreError::Codec { index, action: "encoded", why };
        let payload = codec::encode(&entry.payload).map_err(|e| failed(e.to_string()))?;
        if payload.len() > u32::MAX as usize - HEADER {
            return Err(failed("it is longer than 4 GiB".into()));
        }
        let sum = crc32fast::hash(&payload);
        Ok(Encoded { id: entry.log_id, width: width(&entry.payload), payload, level: level(&entry.payload), sum })
    }

    /// Appends the frame; gives its seal.
    pub(crate) fn write(&self, durable: u64, link: Option<Link>, out: &mut Vec<u8>) -> u32 {
        let len = self.payload.len() as u32;
        let header = Header { kind: Kind::Entry, len, width: self.width, id: self.id, durable, sum: self.sum, link };
        let head = header.encode();
        out.extend_from_slice(&head);
        out.extend_from_slice(&self.payload);
        seal(&head)
    }
}

/// Writes down that entries up to `id` are committed; gives the seal of the frame.
pub(super) fn write_committed(id: EntryId, durable: u64, link: Option<Link>, out: &mut Vec<u8>) -> u32 {
    let header = Header { kind: Kind::Committed, len: 0, width: 0, id, durable, sum: crc32fast::hash(&[]), link };
    let head = header.encode();
    out.extend_from_slice(&head);
    seal(&head)
}

/// Why a frame does not hold the entry that is looked for in it.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrameError {
    /// The frame is shorter than a header.
    #[error("it is cut off")]
    CutOff,
    /// The header is damaged.
    #[error("its header has a wrong checksum")]
    Header,
    /// The frame belongs to another entry.
    #[error("entry {found} lies where {wanted} should be")]
    OtherEntry {
        /// The entry of the frame.
        found: EntryId,
        /// The entry that is looked for.
        wanted: EntryId,
    },
    /// The frame was written for another place, or by another copy of the log.
    #[error("it belongs to another place of the log")]
    OtherPlace,
    /// The payload is damaged.
    #[error("it has a wrong checksum")]
    Payload,
    /// The payload is no entry.
    #[error("it can't be decoded: {0}")]
    Codec(#[source] CodecError),
    /// The header and the payload disagree: the entries after it would have wrong indexes.
    #[error("it holds {held} operations, but its header says {said}")]
    Width {
        /// What the header says.
        said: u32,
        /// What the payload holds.
        held: u32,
    },
}

/// Reads an entry back. `bytes` is the whole frame, `link` what it must say of its place.
pub(super) fn decode_entry(
    bytes: &[u8],
    id: EntryId,
    link: Option<Link>,
) -> Result<openraft::Entry<Types>, FrameError> {
    let (head, payload) = bytes.split_first_chunk::<HEADER>().ok_or(FrameError::CutOff)?;
    let header = Header::decode(head).ok_or(FrameError::Header)?;
    if header.id != id || header.kind != Kind::Entry {
        return Err(FrameError::OtherEntry { found: header.id, wanted: id });
    }
    if header.link != link {
        return Err(FrameError::OtherPlace);
    }
    if header.sum != crc32fast::hash(payload) {
        return Err(FrameError::Payload);
    }
    let payload = codec::decode(payload).map_err(FrameError::Codec)?;
    let width = width(&payload);
    if header.width != width {
        return Err(FrameError::Width { said: header.width, held: width });
    }
    Ok(openraft::Entry { log_id: id, payload })
}

/// The problem of a frame that can't be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It was never written to its end.
    Torn,
    /// All of it was written, but it changed since.
    Changed(&'static str),
}

/// Why the frame at the beginning of `rest` can't be read. A write that was cut off by a crash leaves the file too
/// short, or sectors of zeros; anything else happened to the file later. `offset` is the frame's place in its file.
pub(super) fn diagnose(rest: &[u8], offset: u64) -> Broken {
    let Some((head, payload)) = rest.split_first_chunk::<HEADER>() else { return Broken::Torn };
    let (end, why) = match Header::decode(head) {
        Some(h) if payload.len() < h.len as usize => return Broken::Torn,
        Some(h) => (HEADER + h.len as usize, "the frame has a wrong checksum"),
        None => (HEADER, "the frame's header has a wrong checksum"),
    };
    let mut at = 0;
    while at < end {
        let in_sector = (offset as usize).wrapping_add(at) % SECTOR;
        let next = (at + SECTOR - in_sector).min(end);
        if rest.get(at..next).is_some_and(|chunk| chunk.iter().all(|b| *b == 0)) {
            return Broken::Torn;
        }
        at = next;
    }
    Broken::Changed(why)
}

/// Whether an intact frame after the one at `offset` says that this one was durable. `rest` begins with the broken
/// frame.
pub(super) fn was_durable(rest: &[u8], offset: u64) -> bool {
    (1..rest.len()).any(|at| {
        let Some((head, payload)) = rest.get(at..).and_then(|r| r.split_first_chunk::<HEADER>()) else { return false };
        head.starts_with(MAGIC)
            && Header::decode(head).is_some_and(|h| {
                h.durable > offset && payload.get(..h.len as usize).is_some_and(|p| crc32fast::hash(p) == h.sum)
            })
    })
}
