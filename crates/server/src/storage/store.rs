//! The store of a running server: one writer, snapshots for readers, and notifications of writes.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

#[cfg(test)]
use crate::deterministic::bugs;
use crate::fsm::{self, Applied, Limits};
use crate::storage::events::Events;
use crate::storage::watch::{WatchKey, Watches};
use encamp_host::{threads, watch_value};
use encamp_ops::{Operation, Reply};
use encamp_state::{StateStore, StoreSnapshot};

/// Receives every write, in log order: the leader's queues.
pub trait Listener: Send + Sync {
    /// Called after an operation was applied and is visible to readers.
    fn applied(&self, index: u64, op: &Operation, applied: &Applied);
}

/// A state with more allocations is freed on a thread of its own: a million take a second, in which nothing is applied.
const MANY: usize = 10_000;

/// Frees a whole state that has so many allocations.
fn free(allocs: usize, state: impl Send + 'static) {
    if allocs > MANY {
        // Without a thread it is freed here.
        let _ = threads::spawn("old-state", move || drop(state));
    }
}

/// The store of a server.
pub struct Store {
    limits: Limits,
    /// The writer's copy and the index of the last entry.
    working: Mutex<(StateStore, u64)>,
    current: RwLock<StoreSnapshot>,
    /// The index of the last entry, including entries that wrote nothing.
    applied: watch_value::Sender<u64>,
    /// How many times the store was replaced by a snapshot.
    restored: AtomicU64,
    watches: Watches,
    events: Arc<Events>,
    listener: RwLock<Option<Arc<dyn Listener>>>,
}

impl Store {
    /// Creates a store. `event_buffer_size` is the number of retained event batches.
    pub fn new(limits: Limits, event_buffer_size: usize) -> Arc<Store> {
        let working = StateStore::new();
        Arc::new(Store {
            limits,
            current: RwLock::new(working.snapshot()),
            working: Mutex::new((working, 0)),
            applied: watch_value::Sender::new(0),
            restored: AtomicU64::new(0),
            watches: Watches::default(),
            events: Arc::new(Events::new(event_buffer_size)),
            listener: RwLock::new(None),
        })
    }

    /// Sets the listener for writes.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        *self.listener.write() = Some(listener);
    }

    /// Removes the listener.
    pub(crate) fn unlisten(&self) {
        *self.listener.write() = None;
    }

    /// A snapshot of the current state.
    pub fn snapshot(&self) -> StoreSnapshot {
        self.current.read().clone()
    }

    /// The watches on the store.
    pub fn watches(&self) -> &Watches {
        &self.watches
    }

    /// The event ring.
    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// The index of the last applied entry.
    pub fn applied_index(&self) -> u64 {
        *self.applied.borrow()
    }

    /// Watches the index of the last applied entry.
    pub(crate) fn follow_applied(&self) -> watch_value::Receiver<u64> {
        self.applied.subscribe()
    }

    /// Applies an operation of the log.
    pub fn apply(&self, index: u64, op: &Operation) -> Reply {
        #[cfg(test)]
        if bugs::skips(index) {
            self.skip(index);
            return Reply::Done;
        }
        let mut working = self.working.lock();
        #[cfg(test)]
        if bugs::applies_twice(index) {
            fsm::apply(&mut working.0, index, op, self.limits);
        }
        let applied = fsm::apply(&mut working.0, index, op, self.limits);
        working.1 = index;
        #[cfg(test)]
        {
            crate::deterministic::watch::applied(index, op, &working.0);
            crate::deterministic::watch::changed(index, op, &applied.changes, &working.0);
        }
        if !applied.changes.is_empty() || applied.restored {
            let before = self.publish(working.0.snapshot());
            free(if applied.restored { before.alloc_count() } else { 0 }, before);
        }
        self.applied.send(index);
        if applied.restored {
            self.replaced();
        }
        if !applied.changes.is_empty() {
            #[cfg(test)]
            let wakes = !bugs::forgets_to_wake(op);
            #[cfg(not(test))]
            let wakes = true;
            if wakes {
                self.watches.notify(&applied.changes);
            }
            if let Some(t) = op.event_type() {
                self.events.publish(index, t, &applied.changes);
            }
        }
        let listener = self.listener.read().clone();
        if let Some(l) = listener {
            l.applied(index, op, &applied);
        }
        applied.reply
    }

    /// Applies an entry without an operation.
    pub fn skip(&self, index: u64) {
        self.working.lock().1 = index;
        #[cfg(test)]
        crate::deterministic::watch::skipped(index);
        self.applied.send(index);
    }

    /// Writes a snapshot of the store (`docs/spec/server.md §22`).
    pub fn write_snapshot(snapshot: &StateStore, to: &mut dyn Write) -> io::Result<()> {
        crate::storage::persist::write(snapshot, to)
    }

    /// Replaces the store by a snapshot.
    pub fn restore(&self, index: u64, from: &mut dyn Read) -> io::Result<()> {
        self.replace(index, crate::storage::persist::read(from)?);
        Ok(())
    }

    /// Replaces the store.
    pub(crate) fn replace(&self, index: u64, store: StateStore) {
        let mut working = self.working.lock();
        let before = self.publish(store.snapshot());
        let old = std::mem::replace(&mut *working, (store, index));
        self.applied.send(index);
        self.replaced();
        drop(working);
        free(before.alloc_count(), (before, old));
    }

    /// Shows a state to readers; gives the one before it. What that held alone is freed when they can read again.
    fn publish(&self, snapshot: StoreSnapshot) -> StoreSnapshot {
        std::mem::replace(&mut *self.current.write(), snapshot)
    }

    /// Invalidates all positions in the old state.
    fn replaced(&self) {
        self.restored.fetch_add(1, Ordering::Release);
        self.events.clear();
        self.watches.notify_all();
    }

    /// Calls `read` until the index it returns exceeds `min_index`, the store is replaced, or the wait times out.
    /// Returns the last result. `read` may run often; `keys` are the watched keys it depends on.
    ///
    /// Nothing that was read is held during a wait: thousands of readers that each kept a state of another time would
    /// keep what every write in between replaced.
    ///
    /// # Errors
    /// The errors of `read`.
    pub async fn read_newer<T, E>(
        &self,
        keys: Vec<WatchKey>,
        min_index: u64,
        deadline: tokio::time::Instant,
        mut read: impl FnMut(&StateStore) -> Result<(u64, T), E>,
    ) -> Result<(u64, T), E> {
        let restored = self.restored();
        let mut late = false;
        loop {
            let waiter = self.watches.wait_for(keys.clone());
            let (index, value) = read(&self.snapshot())?;
            if late || index > min_index || self.restored() != restored {
                return Ok((index, value));
            }
            drop(value);
            late = tokio::time::timeout_at(deadline, waiter.changed()).await.is_err();
        }
    }

    /// How many times the store was replaced by a snapshot. After a replacement, indexes may be lower: waiting for an
    /// index larger than an earlier one would be in vain.
    pub fn restored(&self) -> u64 {
        self.restored.load(Ordering::Acquire)
    }
}
