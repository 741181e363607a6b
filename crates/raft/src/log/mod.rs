//! The log on disk: entries in segment files (`segment`, `frame`), written by one thread with group commit (`writer`),
//! found through an index in memory (`index`); vote and purge point are in small files of their own. `storage`
//! implements openraft's log storage.
//!
//! Acknowledged entries are durable. After a failed write nothing is acknowledged any more: the log refuses writes
//! until the server is restarted, which reads back what is on disk.
//!
//! Embedded stores such as redb and fjall are not used: a log only appends, reads in order and cuts off at both ends, the
//! bytes of an entry are those that servers send each other, and the simulation has to tear and lose single writes, which
//! go through `encamp_host::disk`.

mod frame;
mod index;
pub(crate) mod segment;
mod storage;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use openraft::{Entry, Vote};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use index::{Index, Place, Slot, Source};
use segment::{HEAD, Segment};
use writer::{Done, HELD, Job, PURGED, VOTE, Writer};

use super::error::StoreError;
use super::files;
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
    pub(crate) fn open(dir: &Path, supported: CapabilityLevel) -> Result<Log, StoreError> {
        Log::open_with(dir, SEGMENT_BYTES, supported)
    }

    fn open_with(dir: &Path, segment_bytes: u64, supported: CapabilityLevel) -> Result<Log, StoreError> {
        files::make_dir(dir)?;
        let lock = files::lock(dir)?;
        files::remove_unfinished(dir)?;
        let mut index = Index::default();
        // A server that led before the restart asks for votes again, in a new term.
        index.vote = read_small::<Vote<ServerId>>(dir, VOTE)?.map(|v| Vote { committed: false, ..v });
        index.purged = read_small(dir, PURGED)?;
        let end = load(dir, &mut index, supported)?;
        let held = read_small::<Option<u64>>(dir, HELD)?.flatten();
        let last = index.last().map(|l| l.index);
        if let Some(held) = held.filter(|h| last < Some(*h)) {
            return Err(StoreError::Lost { path: dir.into(), last, held });
        }
        let committed = index.committed;
        let core = Arc::new(Core { index: Mutex::new(index), failed: OnceLock::new(), metrics: OnceLock::new() });
        let (jobs, waiting) = unbounded_channel();
        let dir_path = dir.to_path_buf();
        let writer =
            Writer { core: core.clone(), dir: dir_path, segment_bytes, end, durable: end, committed, held, lock };
        threads::spawn("log-writer", move || writer.run(waiting)).map_err(StoreError::io("start a writer for", dir))?;
        Ok(Log { core, jobs })
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

    /// Whether this server ever took part in an election or followed a leader.
    pub(crate) fn has_voted(&self) -> bool {
        self.core.index.lock().vote.is_some()
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
    async fn read(&self, from: u64, to: u64, limit: usize) -> Result<Vec<Entry<Types>>, StoreError> {
        let sources = self.core.index.lock().sources(from, to, limit);
        let fetch = |source| match source {
            Source::Memory(entry) => Ok(*entry),
            Source::Disk(id, place) => place.segment.read(id, place.offset, place.len),
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

/// Reads a small file.
fn read_small<T: serde::de::DeserializeOwned>(dir: &Path, name: &str) -> Result<Option<T>, StoreError> {
    let Some(bytes) = files::read(dir, name)? else { return Ok(None) };
    let damaged = |e: CodecError| StoreError::Damaged { path: dir.join(name), offset: 0, why: e.to_string() };
    codec::decode(&bytes).map(Some).map_err(damaged)
}

/// Reads all segments; returns where the newest one goes on.
fn load(dir: &Path, index: &mut Index, supported: CapabilityLevel) -> Result<u64, StoreError> {
    let names = files::names(dir)?;
    let found: Vec<_> = names.iter().filter_map(|n| Some((segment::first_of(n)?, n))).collect();
    let purged = index.purged.map(|p| p.index);
    let (mut end, mut dead) = (HEAD, Vec::new());
    for (i, (first, name)) in found.iter().enumerate() {
        let newest = i + 1 == found.len();
        let Some(segment) = Segment::open(dir, name, *first, newest, supported)? else {
            files::remove(&dir.join(name))?;
            continue;
        };
        let (content, segment) = (segment.scan(newest)?, Arc::new(segment));
        end = content.end;
        index.committed = index.committed.max(content.committed);
        let last = content.entries.last().map(|e| e.id.index);
        // Purging was interrupted before it removed the file.
        if last <= purged && (last.is_some() || Some(*first) <= purged) {
            dead.push(segment);
            continue;
        }
        for entry in content.entries.into_iter().filter(|e| Some(e.id.index) > purged) {
            let place = Place { segment: segment.clone(), offset: entry.offset, len: entry.len };
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
    Ok(end)
}
