//! Applies committed entries to the state, numbers their operations, and takes and installs snapshots.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use openraft::storage::RaftStateMachine;
use openraft::{Entry, EntryPayload, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta, StoredMembership};
use parking_lot::{Mutex, MutexGuard};

use super::error::StoreError;
use super::machine::{Machine, SnapshotWriter};
use super::repair::doubt::Health;
use super::snapshots::{self, Description, Found, SnapshotFile, Snapshots};
use super::types::{Applied, EntryId, Peer, ServerId, StorageFailure, Types};
use encamp_host::threads;

/// How far the state is.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    /// The last applied entry.
    pub last: Option<EntryId>,
    /// Index of the last operation.
    pub index: u64,
    pub membership: StoredMembership<ServerId, Peer>,
    /// Index at which the membership was applied.
    pub membership_index: u64,
    /// Index and term of the newest snapshot; zeros if there is none.
    pub snapshot: (u64, u64),
}

/// Progress that others may look at.
#[derive(Debug, Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Progress>>);

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Progress> {
        self.0.lock()
    }

    fn describe(&self) -> Description {
        let progress = self.lock();
        let last = progress.last;
        let snapshot_id =
            last.map_or_else(|| "0".to_string(), |l| format!("{}-{}-{}", l.leader_id.term, l.index, progress.index));
        let meta = SnapshotMeta { last_log_id: last, last_membership: progress.membership.clone(), snapshot_id };
        Description { meta, index: progress.index, membership_index: progress.membership_index }
    }

    fn note_snapshot(&self, description: &Description) {
        let term = description.meta.last_log_id.map_or(0, |l| l.leader_id.term);
        let mut progress = self.lock();
        progress.snapshot = progress.snapshot.max((description.index, term));
    }
}

/// The state machine as openraft sees it.
pub(super) struct Applier {
    machine: Arc<dyn Machine>,
    snapshots: Snapshots,
    progress: Shared,
    health: Arc<Health>,
    /// Whether openraft is going to ask for the snapshot that was checked just now, at the start.
    fresh: bool,
}

/// Runs code of the state; a panic becomes an error, which stops the node instead of leaving callers waiting.
pub(super) fn guarded<T>(what: &str, work: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| StoreError::Machine(format!("{what} panicked")))
}

/// Runs what may block on a thread that may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    threads::unblock(work).await.map_err(stopped)?
}

fn stopped(why: threads::Unfinished) -> StoreError {
    StoreError::Machine(format!("work on a snapshot stopped: {why}"))
}

pub(super) fn restore(machine: &dyn Machine, found: &Found) -> Result<(), StoreError> {
    let mut from = snapshots::state(&found.path)?;
    let restored = guarded("restoring a snapshot", || machine.restore(found.description.index, &mut from))?;
    restored.map_err(|e| StoreError::Machine(format!("can't restore {}: {e}", found.path.display())))
}

impl Applier {
    /// Opens the snapshots and restores the newest one that is intact.
    ///
    /// # Errors
    /// The directory can't be read, or the state refuses an intact snapshot.
    pub(crate) fn open(
        machine: Arc<dyn Machine>,
        snapshots: Snapshots,
        health: Arc<Health>,
    ) -> Result<Applier, StoreError> {
        let applier = Applier { machine, snapshots, progress: Shared::default(), health, fresh: true };
        if let Some(found) = applier.snapshots.current()? {
            restore(&*applier.machine, &found)?;
            applier.adopt(&found.description);
        }
        Ok(applier)
    }

    pub(crate) fn progress(&self) -> Shared {
        self.progress.clone()
    }

    /// The state is what the snapshot describes.
    fn adopt(&self, description: &Description) {
        {
            let mut progress = self.progress.lock();
            progress.last = description.meta.last_log_id;
            progress.index = description.index;
            progress.membership = description.meta.last_membership.clone();
            progress.membership_index = description.membership_index;
        }
        self.progress.note_snapshot(description);
    }

    fn apply_entry(&self, entry: Entry<Types>) -> Result<Applied, StoreError> {
        let first = self.progress.lock().index + 1;
        let mut replies = Vec::new();
        let width = match &entry.payload {
            EntryPayload::Normal(batch) => {
                replies = guarded("applying an operation", || {
                    batch.operations().iter().zip(first..).map(|(op, index)| self.machine.apply(index, op)).collect()
                })?;
                batch.operations().len() as u64
            }
            EntryPayload::Blank | EntryPayload::Membership(_) => {
                guarded("skipping an entry", || self.machine.skip(first))?;
                1
            }
        };
        let mut progress = self.progress.lock();
        progress.last = Some(entry.log_id);
        progress.index += width;
        if let EntryPayload::Membership(membership) = entry.payload {
            progress.membership = StoredMembership::new(Some(entry.log_id), membership);
            progress.membership_index = first;
        }
        Ok(Applied { first, replies })
    }
}

impl RaftStateMachine<Types> for Applier {
    type SnapshotBuilder = Builder;

    async fn applied_state(&mut self) -> Result<(Option<EntryId>, StoredMembership<ServerId, Peer>), StorageFailure> {
        let progress = self.progress.lock();
        Ok((progress.last, progress.membership.clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Applied>, StorageFailure>
    where
        I: IntoIterator<Item = Entry<Types>> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let applied: Result<Vec<Applied>, StoreError> = entries.into_iter().map(|e| self.apply_entry(e)).collect();
        Ok(applied?)
    }

    async fn get_snapshot_builder(&mut self) -> Builder {
        let state = guarded("taking a snapshot", || self.machine.snapshot());
        let state = state.map(|s| Mutex::new(Some(s)));
        Builder {
            snapshots: self.snapshots.clone(),
            progress: self.progress.clone(),
            description: self.progress.describe(),
            state,
        }
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotFile>, StorageFailure> {
        Ok(Box::new(self.snapshots.receive()?))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta<ServerId, Peer>,
        mut snapshot: Box<SnapshotFile>,
    ) -> Result<(), StorageFailure> {
        snapshot.flush().await?;
        let (snapshots, meta, machine) = (self.snapshots.clone(), meta.clone(), self.machine.clone());
        let found = blocking(move || {
            let found = snapshots.install(&snapshot, &meta)?;
            restore(&*machine, &found)?;
            Ok(found)
        });
        let description = found.await?.description;
        self.adopt(&description);
        tracing::info!(target: "nomad.raft", index = description.index, "installed remote snapshot");
        Ok(())
    }

    /// The snapshot that is sent to another server. It may have been damaged since it was written; the state that it was
    /// made of is intact.
    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageFailure> {
        let (snapshots, fresh) = (self.snapshots.clone(), std::mem::take(&mut self.fresh));
        let found = blocking(move || {
            let damage = if fresh { None } else { snapshots.recheck()? };
            damage.map_or_else(|| opened(&snapshots).map(Ok), |d| Ok(Err(d)))
        });
        match found.await? {
            Ok(intact) => Ok(intact),
            Err(damage) => {
                self.health.note(damage);
                Ok(Some(self.another().await?))
            }
        }
    }
}

impl Applier {
    /// A new snapshot in place of a damaged one. Another server may have a part of the damaged one: this one has another
    /// ID, so that they are not mixed up.
    async fn another(&mut self) -> Result<Snapshot<Types>, StoreError> {
        let mut builder = self.get_snapshot_builder().await;
        let id = &mut builder.description.meta.snapshot_id;
        *id = format!("{id}-{}", self.snapshots.next());
        match builder.build().await {
            Ok(snapshot) => Ok(snapshot),
            Err(error) => {
                tracing::error!(target: "server.raft.applier", %error, "failed to write a snapshot; retrying later");
                // The other server refuses it. An older one would lead it back.
                Builder::nothing()
            }
        }
    }
}

/// The newest intact snapshot, opened.
fn opened(snapshots: &Snapshots) -> Result<Option<Snapshot<Types>>, StoreError> {
    let Some(found) = snapshots.current()? else { return Ok(None) };
    let snapshot = Box::new(SnapshotFile::open(&found.path)?);
    Ok(Some(Snapshot { meta: found.description.meta, snapshot }))
}

/// Writes one snapshot, while more is applied.
pub(super) struct Builder {
    snapshots: Snapshots,
    progress: Shared,
    description: Description,
    /// Behind a lock only because builders must be shareable.
    state: Result<Mutex<Option<Box<dyn SnapshotWriter>>>, StoreError>,
}

impl Builder {
    async fn build(&mut self) -> Result<Snapshot<Types>, StoreError> {
        let state = match &self.state {
            Ok(state) => state.lock().take(),
            Err(e) => return Err(StoreError::Machine(e.to_string())),
        };
        let state = state.ok_or_else(|| StoreError::Machine("a snapshot is written only once".into()))?;
        let (snapshots, description) = (self.snapshots.clone(), self.description.clone());
        let written = threads::in_background(move || {
            guarded("writing a snapshot", || snapshots.write(&description, state)).and_then(|written| written)
        });
        let path = written.await.map_err(stopped)??;
        let snapshot = Box::new(SnapshotFile::open(&path)?);
        self.progress.note_snapshot(&self.description);
        Ok(Snapshot { meta: self.description.meta.clone(), snapshot })
    }
}

impl Builder {
    /// Stands for a snapshot that could not be made.
    fn nothing() -> Result<Snapshot<Types>, StoreError> {
        Ok(Snapshot { meta: SnapshotMeta::default(), snapshot: Box::new(SnapshotFile::nothing()?) })
    }
}

impl RaftSnapshotBuilder<Types> for Builder {
    /// A snapshot that can't be written does no harm: the log stays longer, and the next attempt comes. To openraft any
    /// error is fatal, so it is given the snapshot that is there.
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageFailure> {
        let error = match self.build().await {
            Ok(snapshot) => return Ok(snapshot),
            Err(error) => error,
        };
        tracing::error!(target: "server.raft.applier", %error, "failed to write a snapshot; retrying later");
        let snapshots = self.snapshots.clone();
        if let Some(older) = blocking(move || opened(&snapshots)).await? {
            return Ok(older);
        }
        Ok(Builder::nothing()?)
    }
}
