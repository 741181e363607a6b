//! The log on disk: entries in segment files (`segment`, `frame`), written by one thread with group commit (`writer`),
//! found through an index in memory (`index`); vote and purge point are in small files of their own, and `synced` says
//! what was acknowledged. `storage` implements openraft's log storage.
//!
//! This module finds damage; `crate::repair` decides what becomes of it.
//!
//! Acknowledged entries are durable. After a failed write nothing is acknowledged any more: the log refuses writes
//! until the server is restarted, which reads back what is on disk.
//!
//! Embedded stores such as redb and fjall are not used: a log only appends, reads in order and cuts off at both ends, the
//! bytes of an entry are those that servers send each other, and the simulation has to tear and lose single writes, which
//! go through `encamp_host::disk`.

mod frame;
mod index;
pub(crate) mod scrub;
pub(crate) mod segment;
mod storage;
pub(crate) mod synced;
#[cfg(test)]
mod tests;
pub(crate) mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use openraft::{Entry, Vote};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use index::{Index, Place, Slot, Source};
use segment::{HEAD, Segment};
use synced::{Record, Stored, Synced};
use writer::{Done, HELD, Job, PURGED, VOTE, VOTE_COPY, Writer};

use super::error::StoreError;
use super::files::{self, Lock};
use super::types::{EntryId, ServerId, Types};
use encamp_host::{parallel, threads};
use encamp_model::capability::CapabilityLevel;
use encamp_ops::codec::{self, CodecError};
use encamp_telemetry::Metrics;

/// Where the log starts a new file, in bytes.
const SEGMENT_BYTES: u64 = 16 << 20;

/// State shared between readers and the writer thread.
#[derive(Debug)]
struct Core {
    index: Mutex<Index>,
    /// The first failure of a write.
    failed: OnceLock<String>,
    /// Where the times of writes are recorded.
    metrics: OnceLock<Metrics>,
}

impl Core {
    fn check(&self) -> Result<(), StoreError> {
        self.failed.get().map_or(Ok(()), |why| Err(StoreError::Refused(why.clone())))
    }

    fn fail(&self, error: &StoreError) {
        if self.failed.set(error.to_string()).is_ok() {
            tracing::error!(target: "server.raft.log", %error, "the log stops taking writes");
        }
    }
}

/// A handle on the log; clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    core: Arc<Core>,
    jobs: UnboundedSender<Job>,
}

impl Log {
    /// Opens the log in `dir`, makes it if there is none, and keeps other processes out until it is closed.
    ///
    /// # Errors
    /// The directory is in use or can't be written, acknowledged entries are damaged, or the log is of a capability level
    /// above `supported`.
    #[cfg(test)]
    pub(crate) fn open(dir: &Path, supported: CapabilityLevel) -> Result<Log, StoreError> {
        Loaded::read(dir, supported)?.start()
    }

    #[cfg(test)]
    pub(crate) fn open_with(dir: &Path, segment_bytes: u64, supported: CapabilityLevel) -> Result<Log, StoreError> {
        Loaded { segment_bytes, ..Loaded::read(dir, supported)? }.start()
    }

    /// The last vote.
    #[cfg(test)]
    pub(crate) fn vote(&self) -> Option<Vote<ServerId>> {
        self.core.index.lock().vote
    }

    /// Appends entries, and waits until they are durable.
    #[cfg(test)]
    pub(crate) async fn append_now(&self, entries: Vec<Entry<Types>>) -> Result<(), StoreError> {
        let (done, finished) = oneshot::channel();
        self.add(entries, writer::Flushed::Caller(done))?;
        finished.await.map_err(|_| StoreError::Closed)?
    }

    /// Finishes what was asked for and lets go of the directory.
    ///
    /// # Errors
    /// The log failed before, or was closed before.
    pub(crate) async fn close(&self) -> Result<(), StoreError> {
        self.ask(Job::Close).await
    }

    /// Has times of writes recorded from now on.
    pub(crate) fn record_in(&self, metrics: Metrics) {
        // Whoever came first stays.
        let _ = self.core.metrics.set(metrics);
    }

    /// Why the log takes no more writes; `None` while it does.
    pub(crate) fn failure(&self) -> Option<String> {
        self.core.failed.get().cloned()
    }

    /// ID of the last entry.
    pub(crate) fn last(&self) -> Option<EntryId> {
        self.core.index.lock().last()
    }

    /// ID of an entry; `None` for those that the log does not hold.
    pub(crate) fn id_at(&self, index: u64) -> Option<EntryId> {
        self.core.index.lock().slot(index).map(|s| s.id)
    }

    /// ID of the last entry that only a snapshot can hold.
    pub(crate) fn purged(&self) -> Option<EntryId> {
        self.core.index.lock().purged
    }

    /// Whether an entry is on disk, or was and is in a snapshot now.
    pub(crate) fn is_durable(&self, id: EntryId) -> bool {
        let index = self.core.index.lock();
        let written = index.slot(id.index).is_some_and(|s| s.id == id && s.place.is_some());
        written || index.purged.is_some_and(|p| p.index >= id.index)
    }

    /// ID of the last entry known to be committed.
    pub(crate) fn committed(&self) -> Option<EntryId> {
        self.core.index.lock().committed
    }

    /// The last entry that may go so that at most so many bytes of entries stay.
    pub(crate) fn last_behind(&self, most: u64) -> Option<u64> {
        self.core.index.lock().last_behind(most)
    }

    /// How many indexes the entries after `after` up to `upto` take. Both are indexes of entries in the log.
    pub(crate) fn width_between(&self, after: Option<u64>, upto: Option<u64>) -> u64 {
        self.core.index.lock().width_between(after, upto)
    }

    /// From now on the disk is full.
    #[cfg(test)]
    pub(crate) fn break_disk(&self) {
        let file = encamp_host::disk::open_writable(Path::new("/dev/full")).expect("opens");
        let mut index = self.core.index.lock();
        let first = index.segments.pop().expect("a segment");
        index.segments.push(Arc::new(Segment {
            path: first.path.clone(),
            first: first.first,
            level: first.level,
            previous: first.previous,
            seal: first.seal,
            file,
        }));
    }

    /// Has the writing thread do something, and waits for it.
    async fn ask(&self, job: impl FnOnce(Done) -> Job) -> Result<(), StoreError> {
        let (done, finished) = oneshot::channel();
        self.jobs.send(job(done)).map_err(|_| StoreError::Closed)?;
        finished.await.map_err(|_| StoreError::Closed)?
    }

    /// Reads entries from `from` to `to`, exclusive; at most about `limit` bytes of them, but at least one if there is
    /// one.
    pub(crate) async fn read(&self, from: u64, to: u64, limit: usize) -> Result<Vec<Entry<Types>>, StoreError> {
        let sources = self.core.index.lock().sources(from, to, limit);
        let fetch = |source| match source {
            Source::Memory(entry) => Ok(*entry),
            Source::Disk(id, place) => place.segment.read(id, place.offset, place.len, place.previous),
        };
        if sources.iter().all(|s| matches!(s, Source::Memory(_))) {
            return sources.into_iter().map(fetch).collect();
        }
        // At a start, the log is read from the last snapshot on.
        let reading = threads::unblock(move || {
            let mut entries = Vec::with_capacity(sources.len());
            parallel::in_order(sources.into_iter().map(Ok), fetch, |entry: Result<_, StoreError>| {
                entries.push(entry?);
                Ok(())
            })
            .map(|()| entries)
        });
        reading.await.map_err(|e| StoreError::Machine(format!("reading the log stopped: {e}")))?
    }
}

/// A log that was read, before anything can be written to it.
#[derive(Debug)]
pub(crate) struct Loaded {
    dir: PathBuf,
    lock: Lock,
    index: Index,
    tail: Tail,
    held: Option<u64>,
    synced: Option<Synced>,
    segment_bytes: u64,
}

/// Where the newest segment goes on.
#[derive(Debug, Clone, Copy)]
struct Tail {
    end: u64,
    seal: u32,
}

impl Loaded {
    /// Reads the log in `dir`, makes it if there is none, and keeps other processes out.
    ///
    /// # Errors
    /// The directory is in use or can't be written, acknowledged entries or votes are damaged, or the log is of a
    /// capability level above `supported`.
    pub(crate) fn read(dir: &Path, supported: CapabilityLevel) -> Result<Loaded, StoreError> {
        files::make_dir(dir)?;
        let lock = files::lock(dir)?;
        files::remove_unfinished(dir)?;
        let stored = synced::read(dir)?;
        let record = stored.map(|s| s.record);
        let purged = read_small(dir, PURGED)?;
        let mut index = Index::default();
        index.purged = purged;
        let tail = load(dir, &mut index, record.unwrap_or_default(), supported)?;
        let held = read_small::<Option<u64>>(dir, HELD)?.flatten();
        let last = index.last().map(|l| l.index);
        if let Some(held) = held.filter(|h| last < Some(*h)) {
            return Err(StoreError::Lost { path: dir.into(), last, held });
        }
        check_acknowledged(dir, &index, stored, tail)?;
        // A server that led before the restart asks for votes again, in a new term.
        index.vote = votes(dir, record)?.map(|v| Vote { committed: false, ..v });
        let synced = stored.map(|s| Synced::open(dir, s)).transpose()?;
        Ok(Loaded { dir: dir.to_path_buf(), lock, index, tail, held, synced, segment_bytes: SEGMENT_BYTES })
    }

    /// ID of the last entry.
    pub(crate) fn last(&self) -> Option<EntryId> {
        self.index.last()
    }

    /// ID of the last entry that only a snapshot can hold.
    pub(crate) fn purged(&self) -> Option<EntryId> {
        self.index.purged
    }

    /// The last vote.
    pub(crate) fn vote(&self) -> Option<Vote<ServerId>> {
        self.index.vote
    }

    /// Starts the thread that writes it.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub(crate) fn start(self) -> Result<Log, StoreError> {
        let Loaded { dir, lock, index, tail, held, synced, segment_bytes } = self;
        let (committed, vote, failed) = (index.committed, index.vote, StoreError::io("start a writer for", &dir));
        let core = Arc::new(Core { index: Mutex::new(index), failed: OnceLock::new(), metrics: OnceLock::new() });
        let (jobs, waiting) = unbounded_channel();
        let (core_of_writer, Tail { end, seal }) = (core.clone(), tail);
        let writer = Writer {
            core: core_of_writer,
            dir,
            segment_bytes,
            end,
            durable: end,
            seal,
            vote,
            synced,
            committed,
            held,
            lock,
        };
        threads::spawn("log-writer", move || writer.run(waiting)).map_err(failed)?;
        Ok(Log { core, jobs })
    }
}

/// Compares a log with the record of what it acknowledged.
fn check_acknowledged(dir: &Path, index: &Index, stored: Option<Stored>, tail: Tail) -> Result<(), StoreError> {
    let path = dir.join(synced::SYNCED);
    let damaged = |path: &Path, offset, why: String| Err(StoreError::Damaged { path: path.into(), offset, why });
    let Some(Stored { record, whole, .. }) = stored else {
        // The record is made before the first segment that is chained.
        if index.segments.iter().any(|s| s.previous.is_some()) {
            return damaged(&path, 0, "it is missing".into());
        }
        return Ok(());
    };
    if !whole {
        return damaged(&path, 0, "a record in it has a wrong checksum".into());
    }
    let (Some(held), last) = (record.last, index.last().map(|l| l.index)) else { return Ok(()) };
    if last < Some(held.index) {
        return Err(StoreError::Lost { path: dir.into(), last, held: held.index });
    }
    let Some(segment) = index.segments.last() else { return Ok(()) };
    if let Some(found) = index.slot(held.index).filter(|s| s.id != held) {
        let why = format!("the log holds entry {}, but it acknowledged entry {held}", found.id);
        return damaged(&segment.path, 0, why);
    }
    if last == Some(held.index) && segment.first == record.segment && tail.end < record.end {
        return damaged(&segment.path, tail.end, "the end of the segment is missing".into());
    }
    Ok(())
}

/// Reads the last vote, from whichever of its two files holds the later one; repairs the other one.
fn votes(dir: &Path, record: Option<Record>) -> Result<Option<Vote<ServerId>>, StoreError> {
    let vote = read_small::<Vote<ServerId>>(dir, VOTE)?;
    let Some(record) = record else { return Ok(vote) };
    let copy = read_small::<Vote<ServerId>>(dir, VOTE_COPY)?;
    let latest = later(vote, copy);
    let term = latest.map_or(0, |v| v.leader_id.term);
    if term < record.term {
        return Err(StoreError::Vote { path: dir.into(), term, held: record.term });
    }
    if let Some(latest) = latest.filter(|l| vote != Some(*l) || copy != Some(*l)) {
        tracing::warn!(target: "server.raft.log", dir = %dir.display(), "the copies of the vote differ; the later one stays");
        files::replace_all(dir, &[VOTE, VOTE_COPY], &writer::encoded(&latest)?)?;
    }
    Ok(latest)
}

/// The later one of two votes of this server.
pub(crate) fn later(a: Option<Vote<ServerId>>, b: Option<Vote<ServerId>>) -> Option<Vote<ServerId>> {
    let key = |v: &Option<Vote<ServerId>>| v.map(|v| (v.leader_id.term, v.committed));
    if key(&b) > key(&a) { b } else { a }
}

/// Reads a small file.
pub(crate) fn read_small<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, StoreError> {
    let Some(bytes) = files::read(dir, name)? else { return Ok(None) };
    let damaged = |e: CodecError| StoreError::Damaged { path: dir.join(name), offset: 0, why: e.to_string() };
    codec::decode(&bytes).map(Some).map_err(damaged)
}

/// Reads all segments; returns where the newest one goes on.
fn load(dir: &Path, index: &mut Index, record: Record, supported: CapabilityLevel) -> Result<Tail, StoreError> {
    let names = files::names(dir)?;
    let found: Vec<_> = names.iter().filter_map(|n| Some((segment::first_of(n)?, n))).collect();
    let purged = index.purged.map(|p| p.index);
    let (mut tail, mut dead, mut before) = (Tail { end: HEAD, seal: 0 }, Vec::new(), None);
    for (i, (first, name)) in found.iter().enumerate() {
        let newest = i + 1 == found.len();
        let known = if record.segment == *first { record.end } else { 0 };
        let Some(segment) = Segment::open(dir, name, *first, newest, supported)? else {
            if known > 0 {
                return Err(StoreError::Damaged { path: dir.join(name), offset: 0, why: segment::EMPTY.into() });
            }
            files::remove(&dir.join(name))?;
            continue;
        };
        let (content, segment) = (segment.scan(newest, known)?, Arc::new(segment));
        if segment.previous.is_some_and(|p| before.is_some_and(|b| b != p)) {
            let why = "it does not follow the segment before it".into();
            return Err(StoreError::Damaged { path: segment.path.clone(), offset: 0, why });
        }
        tail = Tail { end: content.end, seal: content.seal };
        before = Some(content.seal);
        index.committed = index.committed.max(content.committed);
        let last = content.entries.last().map(|e| e.id.index);
        // Purging was interrupted before it removed the file.
        if last <= purged && (last.is_some() || Some(*first) <= purged) {
            dead.push(segment);
            // Others between it and the next one may have been removed.
            before = None;
            continue;
        }
        for entry in content.entries.into_iter().filter(|e| Some(e.id.index) > purged) {
            let segment_of = segment.clone();
            let place = Place { segment: segment_of, offset: entry.offset, len: entry.len, previous: entry.previous };
            let damaged = |e: StoreError| StoreError::Damaged {
                path: segment.path.clone(),
                offset: entry.offset,
                why: e.to_string(),
            };
            index.push_found(Slot { id: entry.id, width: entry.width, place: Some(place) }).map_err(damaged)?;
        }
        index.segments.push(segment);
    }
    // The first entry of all has index 0.
    let expected = purged.map_or(0, |p| p.saturating_add(1));
    if let Some(place) = index.first_slot().filter(|s| s.id.index != expected).and_then(|s| s.place.clone()) {
        let why = format!("entry {expected}, which comes before it, is missing");
        return Err(StoreError::Damaged { path: place.segment.path.clone(), offset: place.offset, why });
    }
    for segment in &dead {
        files::remove(&segment.path)?;
    }
    // A committed entry that the log does not hold can't be applied from it.
    if index.committed.is_some_and(|c| !index.knows(c)) {
        index.committed = None;
    }
    Ok(tail)
}
