//! The in-memory part of the log: the position of each entry, and the newest entries themselves.

use std::collections::VecDeque;
use std::sync::Arc;

use openraft::{Entry, Vote};

use super::segment::Segment;
use crate::error::StoreError;
use crate::types::{EntryId, ServerId, Types};

/// Most entries kept in memory after they were written (`docs/spec/server.md §23`, log cache).
const CACHED_ENTRIES: usize = 512;
/// Most bytes of them, encoded and not compressed; in memory they take several times as much.
const CACHED_BYTES: usize = 16 << 20;

/// Where an entry lies.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub segment: Arc<Segment>,
    pub offset: u64,
    pub len: u32,
    /// Seal of the frame before it, or of the head of the segment.
    pub previous: u32,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub id: EntryId,
    pub width: u32,
    /// `None` until it is written.
    pub place: Option<Place>,
}

#[derive(Debug)]
struct Cached {
    entry: Entry<Types>,
    bytes: usize,
}

/// Where a reader gets an entry.
pub(super) enum Source {
    Memory(Box<Entry<Types>>),
    Disk(EntryId, Place),
}

/// All entries after the purged ones, without a hole.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: VecDeque<Slot>,
    /// The last of `slots`.
    cache: VecDeque<Cached>,
    cached_bytes: usize,
    pub segments: Vec<Arc<Segment>>,
    pub purged: Option<EntryId>,
    pub vote: Option<Vote<ServerId>>,
    pub committed: Option<EntryId>,
}

impl Index {
    fn first(&self) -> u64 {
        self.slots.front().map_or(0, |s| s.id.index)
    }

    fn position(&self, index: u64) -> Option<usize> {
        index.checked_sub(self.first()).and_then(|p| usize::try_from(p).ok()).filter(|p| *p < self.slots.len())
    }

    /// The first entry that is not purged.
    pub(crate) fn first_slot(&self) -> Option<&Slot> {
        self.slots.front()
    }

    /// ID of the last entry, purged or not.
    pub(crate) fn last(&self) -> Option<EntryId> {
        self.slots.back().map(|s| s.id).or(self.purged)
    }

    pub(crate) fn slot(&self, index: u64) -> Option<&Slot> {
        self.position(index).and_then(|p| self.slots.get(p))
    }

    /// Entries must come without a hole.
    pub(crate) fn check_follows(&self, id: EntryId) -> Result<(), StoreError> {
        match self.slots.back() {
            Some(last) if last.id.index + 1 != id.index => {
                Err(StoreError::NotConsecutive { last: last.id.index, got: id.index })
            }
            _ => Ok(()),
        }
    }

    /// An entry that was found on disk.
    pub(crate) fn push_found(&mut self, slot: Slot) -> Result<(), StoreError> {
        self.check_follows(slot.id)?;
        self.slots.push_back(slot);
        Ok(())
    }

    /// An entry that is about to be written.
    pub(crate) fn push_new(&mut self, entry: Entry<Types>, width: u32, bytes: usize) -> Result<(), StoreError> {
        self.check_follows(entry.log_id)?;
        self.slots.push_back(Slot { id: entry.log_id, width, place: None });
        self.cached_bytes += bytes;
        self.cache.push_back(Cached { entry, bytes });
        Ok(())
    }

    /// An entry was written.
    pub(crate) fn set_place(&mut self, index: u64, place: Place) {
        if let Some(slot) = self.position(index).and_then(|p| self.slots.get_mut(p)) {
            slot.place = Some(place);
        }
    }

    /// Forgets old entries that can be read from disk.
    pub(crate) fn shrink_cache(&mut self) {
        while self.cache.len() > CACHED_ENTRIES || (self.cached_bytes > CACHED_BYTES && self.cache.len() > 1) {
            let index = self.slots.len() - self.cache.len();
            if self.slots.get(index).is_none_or(|s| s.place.is_none()) {
                return;
            }
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(gone) = self.cache.pop_front() {
            self.cached_bytes -= gone.bytes;
        }
    }

    /// Drops entries from `from` on.
    pub(crate) fn truncate(&mut self, from: u64) {
        while self.slots.back().is_some_and(|s| s.id.index >= from) {
            self.slots.pop_back();
            if let Some(gone) = self.cache.pop_back() {
                self.cached_bytes -= gone.bytes;
            }
        }
    }

    /// Drops entries up to `upto`.
    pub(crate) fn purge(&mut self, upto: EntryId) {
        while self.slots.front().is_some_and(|s| s.id.index <= upto.index) {
            if self.cache.len() == self.slots.len() {
                self.forget_oldest();
            }
            self.slots.pop_front();
        }
        self.purged = self.purged.max(Some(upto));
    }

    /// Takes out segments that hold nothing but purged entries. The newest one goes too, if the log is empty.
    pub(crate) fn take_purged_segments(&mut self) -> Vec<Arc<Segment>> {
        let first = if self.slots.is_empty() { u64::MAX } else { self.first() };
        let keep = self.segments.partition_point(|s| s.first <= first).saturating_sub(1);
        if self.slots.is_empty() {
            return std::mem::take(&mut self.segments);
        }
        self.segments.drain(..keep).collect()
    }

    /// Where to get the entries from `from` to `to`, exclusive; at most `limit` bytes of them, but at least one.
    pub(crate) fn sources(&self, from: u64, to: u64, limit: usize) -> Vec<Source> {
        let cached_from = self.slots.len() - self.cache.len();
        let (from, mut bytes) = (from.max(self.first()), 0);
        let mut found = Vec::new();
        let Some(start) = self.position(from) else { return found };
        for (position, slot) in self.slots.iter().enumerate().skip(start) {
            if slot.id.index >= to || (bytes >= limit && !found.is_empty()) {
                break;
            }
            let cached = position.checked_sub(cached_from).and_then(|p| self.cache.get(p));
            match (cached, &slot.place) {
                (Some(cached), _) => {
                    bytes += cached.bytes;
                    found.push(Source::Memory(Box::new(cached.entry.clone())));
                }
                (None, Some(place)) => {
                    bytes += place.len as usize;
                    found.push(Source::Disk(slot.id, place.clone()));
                }
                // Only written entries leave the cache.
                (None, None) => break,
            }
        }
        found
    }

    /// Index of the last entry such that all entries after it, and it, take more than so many bytes on disk; `None` if
    /// they do not.
    pub(crate) fn last_behind(&self, most: u64) -> Option<u64> {
        let mut bytes = 0u64;
        let mut lengths =
            self.slots.iter().rev().map(|s| (s.id.index, s.place.as_ref().map_or(0, |p| u64::from(p.len))));
        lengths.find_map(|(index, length)| {
            bytes = bytes.saturating_add(length);
            (bytes > most).then_some(index)
        })
    }

    /// How many indexes the entries after `after` up to `upto` take.
    pub(crate) fn width_between(&self, after: Option<u64>, upto: Option<u64>) -> u64 {
        let from = after.map_or(0, |a| a + 1).max(self.first());
        let (Some(start), Some(upto)) = (self.position(from), upto) else { return 0 };
        self.slots.iter().skip(start).take_while(|s| s.id.index <= upto).map(|s| u64::from(s.width)).sum()
    }

    /// Whether the log holds this very entry, or held it before it was purged.
    pub(crate) fn knows(&self, id: EntryId) -> bool {
        self.slot(id.index).is_some_and(|s| s.id == id) || self.purged.is_some_and(|p| id.index <= p.index)
    }
}
