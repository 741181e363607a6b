//! Reads the log and the snapshots of a server that does not run, and changes neither.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use openraft::{Entry, EntryPayload};

use super::applier;
use super::error::StoreError;
use super::files::{self, Lock};
use super::log::segment::{self, Content, Flaw, Segment};
use super::machine::Machine;
use super::snapshots::{Found, Snapshots};
use super::types::Types;
use encamp_ops::Operation;

/// The log and the snapshots of a server that does not run. Other processes are kept out until it is dropped.
#[derive(Debug)]
pub struct StoredLog {
    dir: PathBuf,
    segments: Vec<(Segment, Content)>,
    snapshot: Option<Found>,
    /// Index of the last operation before the first entry.
    before: u64,
    /// Operations in the log.
    operations: u64,
    _lock: Lock,
}

/// What an entry of the log holds.
#[derive(Debug, Clone)]
pub enum Stored {
    /// An operation.
    Operation(Arc<Operation>),
    /// The voters changed; the peers as text.
    Configuration(String),
    /// Nothing: a new leader begins its term.
    Noop,
}

/// One operation of the log, or an entry without one.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    /// The index that the servers report.
    pub index: u64,
    /// The term of the leader that proposed it.
    pub term: u64,
    /// The content.
    pub content: Stored,
}

impl StoredLog {
    /// Opens the log in `dir`.
    ///
    /// # Errors
    /// There is no log, the server runs, or files are damaged other than by a write that was interrupted.
    pub fn open(dir: &Path) -> Result<StoredLog, StoreError> {
        let names = files::names(dir)?;
        let found: Vec<_> = names.iter().filter_map(|n| Some((segment::first_of(n)?, n))).collect();
        if found.is_empty() {
            return Err(StoreError::Absent { path: dir.to_path_buf() });
        }
        let lock = files::lock(dir)?;
        let mut segments = Vec::new();
        for (i, (first, name)) in found.iter().enumerate() {
            let newest = i + 1 == found.len();
            let Some(segment) = Segment::open_read_only(dir, name, *first, newest)? else { continue };
            let content = segment.frames()?;
            if let Some(flaw) = &content.flaw
                && !(newest && *flaw == Flaw::NotIntact)
            {
                let why = "the frame is not intact, but later segments follow".to_string();
                return Err(StoreError::Damaged { path: segment.path, offset: content.end, why });
            }
            segments.push((segment, content));
        }
        let snapshot = match Snapshots::existing(&dir.join("snapshots")).newest() {
            // The first snapshot makes the directory.
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => None,
            found => found?,
        };
        let widths: Vec<(u64, u32)> =
            segments.iter().flat_map(|(_, c)| c.entries.iter().map(|e| (e.id.index, e.width))).collect();
        let held = snapshot.as_ref().map(|s| (s.description.meta.last_log_id.map(|l| l.index), s.description.index));
        let before = before(&widths, held);
        let operations = widths.iter().map(|(_, width)| u64::from(*width)).sum();
        Ok(StoredLog { dir: dir.to_path_buf(), segments, snapshot, before, operations, _lock: lock })
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Operations in the log, and entries without one.
    pub fn len(&self) -> u64 {
        self.operations
    }

    /// Whether the log holds nothing.
    pub fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// Index of the first operation in the log; 0 if there is none.
    pub fn first(&self) -> u64 {
        if self.is_empty() { 0 } else { self.before + 1 }
    }

    /// Index of the last operation in the log; 0 if there is none.
    pub fn last(&self) -> u64 {
        if self.is_empty() { 0 } else { self.before + self.operations }
    }

    /// Visits all entries in order until `each` ends it with false.
    ///
    /// # Errors
    /// An entry cannot be read.
    pub fn visit(&self, mut each: impl FnMut(StoredEntry) -> bool) -> Result<(), StoreError> {
        let mut next = self.before + 1;
        for (segment, content) in &self.segments {
            for found in &content.entries {
                let entry = segment.read(found.id, found.offset, found.len, found.previous)?;
                for stored in numbered(entry, next) {
                    if !each(stored) {
                        return Ok(());
                    }
                }
                next += u64::from(found.width);
            }
        }
        Ok(())
    }

    /// Restores the newest snapshot and applies the operations after it up to an index. Entries that no quorum has
    /// confirmed are among them: the server cannot know of all that were.
    ///
    /// # Errors
    /// The snapshot cannot be restored, or entries between it and the log are missing.
    pub fn replay(&self, machine: &dyn Machine, upto: u64) -> Result<(), StoreError> {
        let mut applied = 0;
        // A snapshot that holds more than is asked for is no help.
        if let Some(found) = self.snapshot.as_ref().filter(|s| s.description.index <= upto || self.before > 0) {
            applier::restore(machine, found)?;
            applied = found.description.index;
        }
        if applied < self.before {
            return Err(StoreError::Gap { path: self.dir.clone(), purged: self.before });
        }
        let mut failure = None;
        self.visit(|entry| {
            if entry.index <= applied || entry.index > upto {
                return entry.index <= upto;
            }
            let done = applier::guarded("applying an operation", || match &entry.content {
                Stored::Operation(op) => drop(machine.apply(entry.index, op)),
                Stored::Configuration(_) | Stored::Noop => machine.skip(entry.index),
            });
            failure = done.err();
            failure.is_none()
        })?;
        failure.map_or(Ok(()), Err)
    }
}

/// The operations of an entry, numbered from `first`.
fn numbered(entry: Entry<Types>, first: u64) -> Vec<StoredEntry> {
    let term = entry.log_id.leader_id.term;
    let one = |content| vec![StoredEntry { index: first, term, content }];
    match entry.payload {
        EntryPayload::Normal(batch) => {
            let operations = batch.operations().iter().zip(first..);
            let stored = |(op, index): (&Arc<Operation>, u64)| StoredEntry {
                index,
                term,
                content: Stored::Operation(op.clone()),
            };
            operations.map(stored).collect()
        }
        EntryPayload::Blank => one(Stored::Noop),
        EntryPayload::Membership(membership) => one(Stored::Configuration(membership.to_string())),
    }
}

/// Index of the last operation before the first entry of a log: entries have these indexes and widths, and the snapshot
/// ends with an entry and an operation.
fn before(entries: &[(u64, u32)], snapshot: Option<(Option<u64>, u64)>) -> u64 {
    let Some((Some(last), index)) = snapshot else { return 0 };
    let in_snapshot = entries.iter().take_while(|(entry, _)| *entry <= last);
    index.saturating_sub(in_snapshot.map(|(_, width)| u64::from(*width)).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_numbered_from_the_snapshot() {
        let entries = [(5, 1), (6, 10), (7, 2)];
        assert_eq!(before(&entries, None), 0);
        assert_eq!(before(&entries, Some((Some(6), 100))), 89);
        assert_eq!(before(&entries, Some((Some(4), 100))), 100);
        assert_eq!(before(&[], Some((Some(4), 100))), 100);
    }
}
