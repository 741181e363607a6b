//! The latest version of a changing value, for any number of tasks that wait for the next one.
//!
//! Like `tokio::sync::watch`, but waiting tasks are woken in the order in which they began to wait. `watch` wakes them
//! in random order, so the deterministic cluster test could not reproduce a run.

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;

use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::Notify;

#[derive(Debug)]
struct State<T> {
    value: T,
    /// How often it has changed.
    version: u64,
    /// The sender is gone.
    closed: bool,
}

#[derive(Debug)]
struct Shared<T> {
    state: RwLock<State<T>>,
    changed: Notify,
}

impl<T> Shared<T> {}

/// There will be no other value: the sender is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// The value, which does not change as long as this is held.
pub struct Ref<'a, T>(RwLockReadGuard<'a, State<T>>);

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

/// Changes the value.
#[derive(Debug)]
pub struct Sender<T>(Arc<Shared<T>>);

/// Sees the value and waits for others.
#[derive(Debug)]
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that was seen last.
    seen: u64,
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Receiver { shared: self.shared.clone(), seen: self.seen }
    }
}

impl<T> Sender<T> {
    /// With a first value, which counts as seen.
    pub fn new(value: T) -> Sender<T> {
        let state = RwLock::new(State { value, version: 0, closed: false });
        Sender(Arc::new(Shared { state, changed: Notify::new() }))
    }

    /// A receiver that has seen what there is now.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver { shared: self.0.clone(), seen: self.0.state.read().version }
    }

    /// The value now.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.0.state.read())
    }

    /// Replaces the value and wakes all who wait.
    pub fn send(&self, value: T) {
        self.send_if_modified(|v| {
            *v = value;
            true
        });
    }

    /// Changes the value; wakes all who wait if `modify` says that it did.
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) {
        let mut state = self.0.state.write();
        if modify(&mut state.value) {
            state.version += 1;
            drop(state);
            self.0.changed.notify_waiters();
        }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.0.state.write().closed = true;
        self.0.changed.notify_waiters();
    }
}

impl<T> Receiver<T> {
    /// The value now.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref(self.shared.state.read())
    }

    /// The value now, which counts as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let state = self.shared.state.read();
        self.seen = state.version;
        Ref(state)
    }

    /// Waits until there is a value that was not seen yet, and counts it as seen.
    ///
    /// # Errors
    /// There will be none.
    pub async fn changed(&mut self) -> Result<(), Closed> {
        loop {
            // Begun before the look, so that no change is missed.
            let mut next = pin!(self.shared.changed.notified());
            next.as_mut().enable();
            {
                let state = self.shared.state.read();
                if state.version != self.seen {
                    self.seen = state.version;
                    return Ok(());
                }
                if state.closed {
                    return Err(Closed);
                }
            }
            next.await;
        }
    }
}

impl<T: Clone> Receiver<T> {
    /// Waits until the value is as asked for, which it may be now; gives it.
    ///
    /// # Errors
    /// It is not, and there will be no other one.
    pub async fn wait_for(&mut self, mut asked: impl FnMut(&T) -> bool) -> Result<T, Closed> {
        loop {
            {
                let state = self.shared.state.read();
                self.seen = state.version;
                if asked(&state.value) {
                    return Ok(state.value.clone());
                }
            }
            self.changed().await?;
        }
    }
}
