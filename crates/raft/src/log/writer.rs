//! The thread that writes the log: all waiting appends are written and made durable together.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use openraft::Vote;
use openraft::storage::LogFlushed;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

use super::Core;
use super::frame::{self, Encoded};
use super::index::Place;
use super::segment::Segment;
use super::synced::{Record, SYNCED, Synced};
use crate::error::StoreError;
use crate::files::{self, Lock};
use crate::repair::Damage;
use crate::types::{EntryId, ServerId, Types};
use encamp_host::threads;
use encamp_model::capability::{Capability, CapabilityLevel};
use encamp_ops::codec::{self, CodecError};

/// Name of the file with the last vote.
pub(crate) const VOTE: &str = "vote";
/// Name of its copy, since the capability `chained-log`.
pub(crate) const VOTE_COPY: &str = "vote.copy";
/// Name of the file with the ID of the last purged entry.
pub(crate) const PURGED: &str = "purged";
/// Name of the file with the index of an entry that the log held durably. Entries after it may be there or not: a crash
/// may lose what was not acknowledged.
pub(crate) const HELD: &str = "held";
/// Most bytes of appends that share one write.
const GROUP_BYTES: usize = 8 << 20;

/// The callback that notifies the caller of completion.
pub(super) type Done = oneshot::Sender<Result<(), StoreError>>;

/// A request to the thread; requests are processed in order.
pub(super) enum Job {
    Append(Vec<Encoded>, Flushed),
    Vote(Vote<ServerId>, Done),
    Truncate(u64, Done),
    Purge(EntryId, Done),
    /// The next entries go to a new segment.
    Roll(Done),
    /// The small files are checked.
    Recheck(oneshot::Sender<Result<Vec<Damage>, StoreError>>),
    Close(Done),
}

/// The waiter that is notified when an append is durable.
pub(super) enum Flushed {
    Raft(LogFlushed<Types>),
    #[cfg(test)]
    Caller(Done),
}

impl Flushed {
    pub(crate) fn tell(self, result: &Result<(), Arc<StoreError>>) {
        match self {
            Flushed::Raft(callback) => callback.log_io_completed(match result {
                Ok(()) => Ok(()),
                Err(e) => Err(io::Error::other(e.to_string())),
            }),
            #[cfg(test)]
            Flushed::Caller(done) => {
                let _ = done.send(result.as_ref().copied().map_err(|e| StoreError::Refused(e.to_string())));
            }
        }
    }
}

pub(super) struct Writer {
    pub core: Arc<Core>,
    pub dir: PathBuf,
    /// A segment that has grown to this length is not appended to, in bytes.
    pub segment_bytes: u64,
    /// Where the next frame goes in the newest segment.
    pub end: u64,
    /// How much of the newest segment is durable.
    pub durable: u64,
    /// Seal of the last frame.
    pub seal: u32,
    /// The last vote.
    pub vote: Option<Vote<ServerId>>,
    /// What it has acknowledged, since the capability `chained-log`.
    pub synced: Option<Synced>,
    /// The committed entry that was last written down.
    pub committed: Option<EntryId>,
    /// The content of the file [`HELD`].
    pub held: Option<u64>,
    /// Goes with the thread.
    pub lock: Lock,
}

impl Writer {
    /// Works until the log is closed or nobody can ask for more.
    pub(crate) fn run(mut self, mut jobs: UnboundedReceiver<Job>) {
        let mut next = threads::receive(&mut jobs);
        while let Some(job) = next.take() {
            match job {
                Job::Append(entries, flushed) => {
                    let (mut group, mut bytes) = (vec![(entries, flushed)], 0);
                    while bytes < GROUP_BYTES {
                        match jobs.try_recv() {
                            Ok(Job::Append(entries, flushed)) => {
                                bytes += entries.iter().map(|e| e.payload.len()).sum::<usize>();
                                group.push((entries, flushed));
                            }
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    let (entries, waiting): (Vec<_>, Vec<_>) = group.into_iter().unzip();
                    let result = self.guarded(|w| w.append(&entries)).map_err(Arc::new);
                    waiting.into_iter().for_each(|w| w.tell(&result));
                }
                Job::Vote(vote, done) => {
                    let _ = done.send(self.guarded(|w| w.keep_vote(&vote)));
                }
                Job::Truncate(from, done) => {
                    let _ = done.send(self.guarded(|w| w.truncate(from)));
                }
                Job::Purge(upto, done) => {
                    let _ = done.send(self.guarded(|w| w.purge(upto)));
                }
                Job::Roll(done) => {
                    let _ = done.send(self.guarded(|w| {
                        (w.end, w.durable) = (u64::MAX, u64::MAX);
                        Ok(())
                    }));
                }
                Job::Recheck(done) => {
                    let mut damages = Vec::new();
                    let checked = self.guarded(|w| {
                        damages = w.recheck()?;
                        Ok(())
                    });
                    let _ = done.send(checked.map(|()| damages));
                }
                Job::Close(done) => {
                    let result = self.guarded(|w| {
                        w.write_committed()?;
                        let last = w.core.index.lock().last().map(|l| l.index);
                        w.note_held(last)?;
                        w.synced.as_mut().map_or(Ok(()), Synced::sync)
                    });
                    drop(self.lock);
                    let _ = done.send(result);
                    return;
                }
            }
            next = next.or_else(|| threads::receive(&mut jobs));
        }
    }

    /// Does it unless something failed before. After a failure nobody knows what is on disk: nothing is written any
    /// more.
    fn guarded(&mut self, work: impl FnOnce(&mut Writer) -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.core.check()?;
        work(self).inspect_err(|e| self.core.fail(e))
    }

    fn append(&mut self, groups: &[Vec<Encoded>]) -> Result<(), StoreError> {
        let Some(first) = groups.iter().flatten().next() else { return Ok(()) };
        let _timer = self.core.metrics.get().map(|m| m.timer("raft.log.append"));
        let level = groups.iter().flatten().map(|e| e.level).max().unwrap_or(first.level);
        let segment = self.room(first.id.index, level)?;
        let mut bytes = Vec::new();
        let mut places = Vec::new();
        let (mut previous, mut last) = (self.seal, first.id);
        for entry in groups.iter().flatten() {
            let at = bytes.len();
            let offset = self.end + at as u64;
            let seal = entry.write(self.durable, segment.link(offset, previous), &mut bytes);
            let len = (bytes.len() - at) as u32;
            places.push((entry.id.index, Place { segment: segment.clone(), offset, len, previous }));
            (previous, last) = (seal, entry.id);
        }
        let committed = self.core.index.lock().committed;
        if committed != self.committed
            && let Some(id) = committed
        {
            let link = segment.link(self.end + bytes.len() as u64, previous);
            previous = frame::write_committed(id, self.durable, link, &mut bytes);
        }
        self.write(&segment, &bytes, previous)?;
        self.note_synced(&segment, Some(last))?;
        self.committed = committed;
        let mut index = self.core.index.lock();
        for (at, place) in places {
            index.set_place(at, place);
        }
        index.shrink_cache();
        Ok(())
    }

    /// The segment that the next write goes to. A segment holds only what builds of its level read: an older build
    /// refuses the log at its start, not in the middle of it.
    fn room(&mut self, first: u64, level: CapabilityLevel) -> Result<Arc<Segment>, StoreError> {
        let newest = self.core.index.lock().segments.last().cloned();
        let level = newest.as_ref().map_or(level, |n| n.level.max(level));
        if let Some(segment) = newest
            && self.end < self.segment_bytes
            && segment.level == level
        {
            return Ok(segment);
        }
        // The segments before this one are complete.
        self.note_held(first.checked_sub(1).max(self.held))?;
        if level.has(Capability::ChainedLog) && self.synced.is_none() {
            self.begin_chain(first)?;
        }
        let segment = Arc::new(Segment::create(&self.dir, first, level, self.seal)?);
        (self.end, self.durable, self.seal) = (segment.start(), segment.start(), segment.seal);
        self.core.index.lock().segments.push(segment.clone());
        Ok(segment)
    }

    /// Makes the record of what is acknowledged and the copy of the vote: from now on older builds refuse the log.
    fn begin_chain(&mut self, first: u64) -> Result<(), StoreError> {
        let (vote, last) = {
            let index = self.core.index.lock();
            let before = first.checked_sub(1).and_then(|i| index.slot(i)).map(|s| s.id);
            (index.vote, before.or(index.purged))
        };
        if let Some(vote) = vote {
            files::replace(&self.dir, VOTE_COPY, &encoded(&vote)?)?;
        }
        let record = Record { term: vote.map_or(0, |v| v.leader_id.term), last, segment: 0, end: 0 };
        self.synced = Some(Synced::create(&self.dir, record)?);
        Ok(())
    }

    /// Has no segment left that older builds refuse: they may take over, and would not write the record.
    fn end_chain(&mut self) -> Result<(), StoreError> {
        self.synced = None;
        files::remove(&self.dir.join(VOTE_COPY))?;
        files::remove(&self.dir.join(SYNCED))?;
        files::sync_dir(&self.dir)
    }

    /// Makes a vote durable, twice if there is a record of what is acknowledged. The record comes last: until then
    /// nobody has heard of the vote.
    fn keep_vote(&mut self, vote: &Vote<ServerId>) -> Result<(), StoreError> {
        let bytes = encoded(vote)?;
        self.vote = Some(*vote);
        let Some(synced) = &mut self.synced else { return files::replace(&self.dir, VOTE, &bytes) };
        files::replace_all(&self.dir, &[VOTE, VOTE_COPY], &bytes)?;
        let record = synced.record();
        if vote.leader_id.term > record.term {
            synced.replace(Record { term: vote.leader_id.term, ..record })?;
        }
        Ok(())
    }

    /// Writes down that the newest segment is durable to its end.
    fn note_synced(&mut self, segment: &Segment, last: Option<EntryId>) -> Result<(), StoreError> {
        let end = self.end;
        let Some(synced) = &mut self.synced else { return Ok(()) };
        let record = synced.record();
        synced.note(Record { last: last.or(record.last), segment: segment.first, end, ..record })
    }

    /// Writes; `seal` is that of the last frame.
    fn write(&mut self, segment: &Segment, bytes: &[u8], seal: u32) -> Result<(), StoreError> {
        segment.file.write_all_at(bytes, self.end).map_err(StoreError::io("write", &segment.path))?;
        segment.file.sync_data().map_err(StoreError::io("sync", &segment.path))?;
        self.end += bytes.len() as u64;
        (self.durable, self.seal) = (self.end, seal);
        Ok(())
    }

    /// Writes down what is committed, if that is news, so that a restarted server applies it at once.
    fn write_committed(&mut self) -> Result<(), StoreError> {
        let (committed, newest) = {
            let index = self.core.index.lock();
            (index.committed, index.segments.last().cloned())
        };
        if let (Some(id), Some(segment)) = (committed, newest)
            && committed != self.committed
            && self.end != u64::MAX
        {
            let mut bytes = Vec::new();
            let link = segment.link(self.end, self.seal);
            let seal = frame::write_committed(id, self.durable, link, &mut bytes);
            self.write(&segment, &bytes, seal)?;
            let last = self.core.index.lock().last();
            self.note_synced(&segment, last)?;
            self.committed = committed;
        }
        Ok(())
    }

    /// Writes down which entry the log holds.
    fn note_held(&mut self, index: Option<u64>) -> Result<(), StoreError> {
        if index != self.held {
            files::replace(&self.dir, HELD, &encoded(&index)?)?;
            self.held = index;
        }
        Ok(())
    }

    fn truncate(&mut self, from: u64) -> Result<(), StoreError> {
        // First, so that a crash meanwhile does not look like a loss.
        if self.held >= Some(from) {
            self.note_held(from.checked_sub(1))?;
        }
        if let Some(synced) = &mut self.synced {
            let last = {
                let index = self.core.index.lock();
                from.checked_sub(1).and_then(|before| index.slot(before)).map(|s| s.id).or(index.purged)
            };
            synced.replace(Record { last, segment: 0, end: 0, ..synced.record() })?;
        }
        let (cut, gone) = {
            let mut index = self.core.index.lock();
            let cut = index.slot(from).and_then(|s| s.place.clone());
            index.truncate(from);
            let keep = index.segments.partition_point(|s| s.first < from);
            (cut, index.segments.split_off(keep))
        };
        // From the newest on: whatever is left when it fails has no hole.
        for segment in gone.iter().rev() {
            files::remove(&segment.path)?;
        }
        if !gone.is_empty() {
            files::sync_dir(&self.dir)?;
        }
        let newest = self.core.index.lock().segments.last().cloned();
        let Some(segment) = newest else { return Ok(()) };
        match cut {
            Some(cut) if Arc::ptr_eq(&cut.segment, &segment) => {
                segment.file.set_len(cut.offset).map_err(StoreError::io("truncate", &segment.path))?;
                segment.file.sync_all().map_err(StoreError::io("sync", &segment.path))?;
                (self.end, self.durable, self.seal) = (cut.offset, cut.offset, cut.previous);
            }
            // The cut was at the beginning of a segment: the one before it is the newest now, and full.
            _ if !gone.is_empty() => {
                (self.end, self.durable) = (u64::MAX, u64::MAX);
                let previous = gone.first().and_then(|s| s.previous);
                self.seal = previous.map_or_else(|| segment.frames().map(|c| c.seal), Ok)?;
            }
            _ => {}
        }
        let chained = self.core.index.lock().segments.iter().any(|s| s.previous.is_some());
        if self.synced.is_some() && !chained && !gone.is_empty() {
            self.end_chain()?;
        }
        // Committed entries may have been written behind the cut.
        self.committed = None;
        Ok(())
    }

    fn purge(&mut self, upto: EntryId) -> Result<(), StoreError> {
        files::replace(&self.dir, PURGED, &encoded(&upto)?)?;
        let gone = {
            let mut index = self.core.index.lock();
            index.purge(upto);
            index.take_purged_segments()
        };
        for segment in gone {
            files::remove(&segment.path)?;
        }
        Ok(())
    }
}

/// The content of a small file.
pub(crate) fn encoded<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, StoreError> {
    let failed = |e: CodecError| StoreError::Codec { index: 0, action: "encoded", why: e.to_string() };
    codec::encode(value).map_err(failed)
}
