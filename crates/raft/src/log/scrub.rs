//! Reads the files of the log again while it is in use, and replaces what memory still knows.

use std::path::Path;
use std::sync::Arc;

use openraft::Vote;
use tokio::sync::oneshot;

use super::segment::Segment;
use super::synced::{self, SYNCED, Synced};
use super::writer::{HELD, Job, PURGED, VOTE, VOTE_COPY, Writer, encoded};
use super::{Log, read_small};
use crate::error::StoreError;
use crate::files;
use crate::repair::Damage;
use crate::types::{EntryId, ServerId};

/// A segment, as far as its content is known.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    pub segment: Arc<Segment>,
    /// Its last durable entry.
    last: EntryId,
    /// Where that entry ends. Later segments begin behind the end of the file.
    end: u64,
    /// Whether nothing is written to it any more.
    full: bool,
}

impl Extent {
    /// How many bytes are known.
    ///
    /// # Errors
    /// The file can't be asked.
    pub(crate) fn length(&self) -> Result<u64, StoreError> {
        if !self.full {
            return Ok(self.end);
        }
        self.segment.file.length().map_err(StoreError::io("read", &self.segment.path)).map(|l| l.max(self.end))
    }

    /// The damage of its bytes, which were read from the disk.
    pub(crate) fn damage(&self, bytes: &[u8]) -> Option<Damage> {
        self.segment
            .check(bytes)
            .err()
            .map(|e| Damage::of(&e).unwrap_or_else(|| Damage::new(&self.segment.path, 0, e.to_string())))
    }
}

impl Log {
    /// All segments with entries.
    pub(crate) fn extents(&self) -> Vec<Extent> {
        let index = self.core.index.lock();
        let Some(newest) = index.segments.last() else { return Vec::new() };
        let mut last = index.last().map(|l| l.index);
        let mut found = Vec::new();
        for segment in index.segments.iter().rev() {
            // From the back: entries that are not written yet, then those of this segment.
            while let Some(at) = last.filter(|at| *at >= segment.first) {
                let Some(slot) = index.slot(at) else { break };
                let place = slot.place.as_ref().filter(|p| Arc::ptr_eq(&p.segment, segment));
                if let Some(place) = place {
                    let (end, full) = (place.offset + u64::from(place.len), !Arc::ptr_eq(newest, segment));
                    found.push(Extent { segment: segment.clone(), last: slot.id, end, full });
                    break;
                }
                last = at.checked_sub(1);
            }
            last = segment.first.checked_sub(1);
        }
        found.reverse();
        found
    }

    /// Whether the log still holds these entries, in this segment.
    pub(crate) fn still_holds(&self, extent: &Extent) -> bool {
        let index = self.core.index.lock();
        let slot = index.slot(extent.last.index).filter(|s| s.id == extent.last);
        slot.and_then(|s| s.place.as_ref()).is_some_and(|p| Arc::ptr_eq(&p.segment, &extent.segment))
    }

    /// Has the next entries go to a new segment.
    pub(crate) async fn begin_segment(&self) -> Result<(), StoreError> {
        self.ask(Job::Roll).await
    }

    /// Checks the small files, and replaces those that are damaged; gives what was damaged.
    pub(crate) async fn recheck(&self) -> Result<Vec<Damage>, StoreError> {
        let (done, finished) = oneshot::channel();
        self.jobs.send(Job::Recheck(done)).map_err(|_| StoreError::Closed)?;
        finished.await.map_err(|_| StoreError::Closed)?
    }
}

impl Writer {
    /// [`Log::recheck`], on the thread that writes these files.
    pub(super) fn recheck(&mut self) -> Result<Vec<Damage>, StoreError> {
        let mut damages = Vec::new();
        if let Some(vote) = self.vote {
            let names: &[&str] = if self.synced.is_some() { &[VOTE, VOTE_COPY] } else { &[VOTE] };
            for name in names {
                let same = |found: &Vote<ServerId>| found.leader_id == vote.leader_id;
                damages.extend(self.replace_damaged(name, &vote, same)?);
            }
        }
        let purged = self.core.index.lock().purged;
        if let Some(purged) = purged {
            damages.extend(self.replace_damaged(PURGED, &purged, |found| *found == purged)?);
        }
        if let Some(held) = self.held {
            damages.extend(self.replace_damaged(HELD, &Some(held), |found| *found == Some(held))?);
        }
        if let Some(record) = self.synced.as_ref().map(Synced::record) {
            let path = self.dir.join(SYNCED);
            let found = synced::read(&self.dir);
            if !found.as_ref().is_ok_and(|f| f.is_some_and(|f| f.whole && f.record == record)) {
                let why = found.err().map_or_else(|| "it holds another record".into(), |e| e.to_string());
                damages.push(Damage::new(&path, 0, why));
                keep_copy(&path);
                self.synced = Some(Synced::create(&self.dir, record)?);
            }
        }
        Ok(damages)
    }

    /// Replaces a small file that can't be read, or holds something else than memory does.
    fn replace_damaged<T: serde::Serialize + serde::de::DeserializeOwned>(
        &self,
        name: &str,
        value: &T,
        same: impl Fn(&T) -> bool,
    ) -> Result<Option<Damage>, StoreError> {
        let why = match read_small::<T>(&self.dir, name) {
            Ok(Some(found)) if same(&found) => return Ok(None),
            Ok(Some(_)) => "it holds another value than the one that was written last".to_string(),
            Ok(None) => "it is missing".into(),
            Err(error) => error.to_string(),
        };
        let path = self.dir.join(name);
        keep_copy(&path);
        files::replace(&self.dir, name, &encoded(value)?)?;
        Ok(Some(Damage::new(&path, 0, why)))
    }
}

/// Keeps a copy of a damaged file, if it can be read at all.
pub(crate) fn keep_copy(path: &Path) {
    if let Err(error) = files::copy_aside(path) {
        tracing::warn!(target: "server.raft.repair", %error, "kept no copy of a damaged file");
    }
}
