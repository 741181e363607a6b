//! openraft's log storage, implemented on the log.

use std::fmt::Debug;
use std::ops::{Bound, RangeBounds};

use openraft::storage::{LogFlushed, RaftLogStorage};
use openraft::{Entry, LogState, OptionalSend, RaftLogReader, Vote};

use super::Log;
use super::frame::Encoded;
use super::writer::{Flushed, Job};
use crate::error::StoreError;
use crate::types::{EntryId, ServerId, StorageFailure, Types, plain_length};

/// Most bytes of entries in one message to a follower.
const MESSAGE_BYTES: usize = 4 << 20;

impl Log {
    /// Takes entries; whoever waits in `flushed` hears when they are durable.
    pub(super) fn add(&self, entries: Vec<Entry<Types>>, flushed: Flushed) -> Result<(), StoreError> {
        let encoded: Vec<Encoded> = entries.iter().map(Encoded::new).collect::<Result<_, _>>()?;
        self.core.check()?;
        let mut index = self.core.index.lock();
        for (entry, encoded) in entries.into_iter().zip(&encoded) {
            let bytes = plain_length(&entry.payload).max(encoded.payload.len());
            index.push_new(entry, encoded.width, bytes)?;
        }
        drop(index);
        self.jobs.send(Job::Append(encoded, flushed)).map_err(|_| StoreError::Closed)
    }

    pub(crate) async fn keep_vote(&self, vote: &Vote<ServerId>) -> Result<(), StoreError> {
        self.ask(|done| Job::Vote(*vote, done)).await?;
        self.core.index.lock().vote = Some(*vote);
        Ok(())
    }

    pub(super) async fn cut(&self, from: u64) -> Result<(), StoreError> {
        self.ask(|done| Job::Truncate(from, done)).await
    }

    pub(crate) async fn drop_upto(&self, upto: EntryId) -> Result<(), StoreError> {
        self.ask(|done| Job::Purge(upto, done)).await
    }
}

impl RaftLogReader<Types> for Log {
    async fn try_get_log_entries<RB: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: RB,
    ) -> Result<Vec<Entry<Types>>, StorageFailure> {
        let from = match range.start_bound() {
            Bound::Included(i) => *i,
            Bound::Excluded(i) => i.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let to = match range.end_bound() {
            Bound::Included(i) => i.saturating_add(1),
            Bound::Excluded(i) => *i,
            Bound::Unbounded => u64::MAX,
        };
        Ok(self.read(from, to, usize::MAX).await?)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry<Types>>, StorageFailure> {
        Ok(self.read(start, end, MESSAGE_BYTES).await?)
    }
}

impl RaftLogStorage<Types> for Log {
    type LogReader = Log;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageFailure> {
        let index = self.core.index.lock();
        Ok(LogState { last_purged_log_id: index.purged, last_log_id: index.last() })
    }

    async fn get_log_reader(&mut self) -> Log {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<ServerId>) -> Result<(), StorageFailure> {
        Ok(self.keep_vote(vote).await?)
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<ServerId>>, StorageFailure> {
        Ok(self.core.index.lock().vote)
    }

    /// Written down with the next append: losing it costs nothing but applying later after a restart.
    async fn save_committed(&mut self, committed: Option<EntryId>) -> Result<(), StorageFailure> {
        self.core.index.lock().committed = committed;
        Ok(())
    }

    async fn read_committed(&mut self) -> Result<Option<EntryId>, StorageFailure> {
        Ok(self.core.index.lock().committed)
    }

    async fn append<I>(&mut self, entries: I, callback: LogFlushed<Types>) -> Result<(), StorageFailure>
    where
        I: IntoIterator<Item = Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        Ok(self.add(entries.into_iter().collect(), Flushed::Raft(callback))?)
    }

    async fn truncate(&mut self, id: EntryId) -> Result<(), StorageFailure> {
        Ok(self.cut(id.index).await?)
    }

    async fn purge(&mut self, id: EntryId) -> Result<(), StorageFailure> {
        Ok(self.drop_upto(id).await?)
    }
}
