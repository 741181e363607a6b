//! The record of what the log has acknowledged, in the file `synced`: the last entry that it made durable, where it ends,
//! and the latest term in which this server took part. A log that ends before that entry, or a vote of an earlier term, is
//! damaged, even if every byte of it is intact.
//!
//! The file has two slots of 512 bytes, which are written in turn, so that a crash leaves one of them intact:
//!
//! | bytes | content |
//! |---|---|
//! | 4 | `ENCS` |
//! | 4 | 1 |
//! | 8 | number of the record; the higher one counts |
//! | 8 | term |
//! | 8 | index of the entry plus 1; 0 if there is none |
//! | 8 | its term |
//! | 8 | index with which its segment begins |
//! | 8 | where the segment ends; 0 if that is not known |
//! | 4 | CRC32 of all before |
//!
//! It exists once the log has the capability `chained-log`. Appends write it after the entries are durable, and make it
//! durable once in a second: a power failure may leave an older record, which says less, and never more than is true.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use openraft::{CommittedLeaderId, LogId};

use crate::error::StoreError;
use crate::files::{self, UNFINISHED};
use crate::types::{EntryId, ServerId};
use encamp_host::disk::{self, File};
use encamp_host::threads::Instant;

/// Name of the file.
pub(crate) const SYNCED: &str = "synced";
const MAGIC: &[u8; 4] = b"ENCS";
const VERSION: u32 = 1;
/// Length of a slot: sectors are written whole or not at all.
const SLOT: usize = 512;
/// Length of a record without its checksum.
const BODY: usize = 56;
/// How long a record of an append may not be durable.
const LOOSE: Duration = Duration::from_secs(1);

/// What the log has acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// The latest term of a vote.
    pub term: u64,
    /// The last entry.
    pub last: Option<EntryId>,
    /// Index with which its segment begins.
    pub segment: u64,
    /// Where the segment ends; 0 if that is not known.
    pub end: u64,
}

impl Record {
    fn encode(&self, number: u64) -> [u8; SLOT] {
        let mut body = MAGIC.to_vec();
        body.extend_from_slice(&VERSION.to_le_bytes());
        let index = self.last.map_or(0, |l| l.index + 1);
        let term = self.last.map_or(0, |l| l.leader_id.term);
        for n in [number, self.term, index, term, self.segment, self.end] {
            body.extend_from_slice(&n.to_le_bytes());
        }
        let sum = crc32fast::hash(&body);
        body.extend_from_slice(&sum.to_le_bytes());
        let mut slot = [0; SLOT];
        slot[..body.len()].copy_from_slice(&body);
        slot
    }

    /// The record and its number; `None` if the bytes are none.
    fn decode(slot: &[u8]) -> Option<(u64, Record)> {
        let (body, rest) = slot.split_at_checked(BODY)?;
        let sum = u32::from_le_bytes(*rest.first_chunk()?);
        let zeros = rest.get(4..)?.iter().all(|b| *b == 0);
        if !zeros
            || !body.starts_with(MAGIC)
            || sum != crc32fast::hash(body)
            || body.get(4..8)? != VERSION.to_le_bytes()
        {
            return None;
        }
        let at = |n: usize| body.get(8 + 8 * n..)?.first_chunk().map(|b| u64::from_le_bytes(*b));
        let last = |index| Some(LogId::new(CommittedLeaderId::new(at(3)?, ServerId::default()), index));
        let last = at(2)?.checked_sub(1).and_then(last);
        Some((at(0)?, Record { term: at(1)?, last, segment: at(4)?, end: at(5)? }))
    }
}

/// What was found in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stored {
    /// The newest intact record.
    pub record: Record,
    number: u64,
    /// Whether the other slot is intact, too.
    pub whole: bool,
}

/// Reads the file; `None` if there is none.
///
/// # Errors
/// It can't be read, or no slot is intact.
pub(crate) fn read(dir: &Path) -> Result<Option<Stored>, StoreError> {
    let path = dir.join(SYNCED);
    let mut bytes = Vec::new();
    match disk::open(&path).and_then(|f| f.take(4 * SLOT as u64).read_to_end(&mut bytes)) {
        Ok(_) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(StoreError::io("read", &path)(e)),
    }
    let slot = |n: u64, slot: Option<&[u8]>| slot.and_then(Record::decode).filter(|(number, _)| number % 2 == n);
    let slots = [slot(0, bytes.get(..SLOT)), slot(1, bytes.get(SLOT..2 * SLOT))];
    let whole = slots.iter().all(Option::is_some) && bytes.len() == 2 * SLOT;
    match slots.into_iter().flatten().max_by_key(|(number, _)| *number) {
        Some((number, record)) => Ok(Some(Stored { record, number, whole })),
        None => Err(StoreError::Damaged { path, offset: 0, why: "the record has a wrong checksum".into() }),
    }
}

/// Makes the file anew, durably.
pub(crate) fn make(dir: &Path, record: Record) -> Result<(), StoreError> {
    let (temporary, path) = (dir.join(format!("{UNFINISHED}{SYNCED}")), dir.join(SYNCED));
    let mut file = files::create(&temporary)?;
    let bytes = [record.encode(0), record.encode(1)].concat();
    file.write_all(&bytes).map_err(StoreError::io("write", &temporary))?;
    file.sync_all().map_err(StoreError::io("sync", &temporary))?;
    disk::rename(&temporary, &path).map_err(StoreError::io("rename", &temporary))?;
    files::sync_dir(dir)
}

/// The file, open for writing.
#[derive(Debug)]
pub(super) struct Synced {
    path: PathBuf,
    file: File,
    number: u64,
    record: Record,
    /// When the record was last made durable.
    durable: Instant,
    loose: bool,
}

impl Synced {
    /// Opens the file in `dir`, whose content was read.
    pub(crate) fn open(dir: &Path, stored: Stored) -> Result<Synced, StoreError> {
        let path = dir.join(SYNCED);
        let file = disk::open_writable(&path).map_err(StoreError::io("open", &path))?;
        let Stored { record, number, .. } = stored;
        Ok(Synced { path, file, number, record, durable: Instant::now(), loose: false })
    }

    /// Makes the file, and opens it.
    pub(crate) fn create(dir: &Path, record: Record) -> Result<Synced, StoreError> {
        make(dir, record)?;
        Synced::open(dir, Stored { record, number: 1, whole: true })
    }

    pub(crate) fn record(&self) -> Record {
        self.record
    }

    fn write(&mut self, record: Record) -> Result<(), StoreError> {
        self.number += 1;
        let at = (self.number % 2) * SLOT as u64;
        self.file.write_all_at(&record.encode(self.number), at).map_err(StoreError::io("write", &self.path))?;
        (self.record, self.loose) = (record, true);
        Ok(())
    }

    /// Writes down an append.
    pub(crate) fn note(&mut self, record: Record) -> Result<(), StoreError> {
        self.write(record)?;
        if self.durable.elapsed() >= LOOSE { self.sync() } else { Ok(()) }
    }

    /// Replaces both records, durably.
    pub(crate) fn replace(&mut self, record: Record) -> Result<(), StoreError> {
        self.write(record)?;
        self.write(record)?;
        self.sync()
    }

    /// Makes the record durable.
    pub(crate) fn sync(&mut self) -> Result<(), StoreError> {
        if self.loose {
            self.file.sync_data().map_err(StoreError::io("sync", &self.path))?;
            (self.durable, self.loose) = (Instant::now(), false);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::TempDir;

    fn record(n: u64) -> Record {
        let last = LogId::new(CommittedLeaderId::new(3, ServerId::default()), n);
        Record { term: 4, last: Some(last), segment: 0, end: 100 * n }
    }

    #[test]
    fn the_newer_record_counts_and_a_damaged_one_is_noticed() {
        let dir = TempDir::new();
        assert!(read(dir.path()).expect("readable").is_none());
        let mut synced = Synced::create(dir.path(), Record::default()).expect("made");
        for n in 0..5 {
            synced.note(record(n)).expect("written");
            let stored = read(dir.path()).expect("readable").expect("there");
            assert!(stored.whole && stored.record == record(n));
        }
        let path = dir.path().join(SYNCED);
        let whole = std::fs::read(&path).expect("readable");
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x55;
            std::fs::write(&path, &changed).expect("written");
            let stored = read(dir.path()).expect("readable").expect("there");
            assert!(!stored.whole, "byte {at}");
            assert!([3, 4].map(record).contains(&stored.record));
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).expect("written");
            assert!(read(dir.path()).is_ok_and(|s| !s.expect("there").whole) || read(dir.path()).is_err());
        }
        std::fs::write(&path, vec![0; whole.len()]).expect("written");
        assert!(matches!(read(dir.path()), Err(StoreError::Damaged { .. })));
    }

    #[test]
    fn replacing_leaves_no_older_record() {
        let dir = TempDir::new();
        let mut synced = Synced::create(dir.path(), record(9)).expect("made");
        synced.replace(record(2)).expect("written");
        let path = dir.path().join(SYNCED);
        let whole = std::fs::read(&path).expect("readable");
        for slot in [0, SLOT] {
            let mut changed = whole.clone();
            changed[slot + 9] ^= 1;
            std::fs::write(&path, &changed).expect("written");
            assert_eq!(read(dir.path()).expect("readable").expect("there").record, record(2));
        }
    }
}
