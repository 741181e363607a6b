//! An allocation in local collection: its mark, whose disk it waits for, and its removal (`docs/spec/client.md §9.3`,
//! `§27`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::alloc::AllocRunner;
use crate::alloc_dir::AllocDir;
use crate::clock;
use crate::directory::remove::NotRemoved;
use crate::policy::gc;

/// Removes all that a node keeps of an allocation: its files, then its record.
pub(crate) fn remove_all(shared: &Shared, id: &str) -> Result<(), NotRemoved> {
    // The record comes last: with it, the next run of the agent goes on with the removal.
    AllocDir::new(&shared.alloc_dir, id).destroy()?;
    shared.store.delete(id)
}

impl AllocRunner {
    /// Marks an allocation that ended for collection; the first mark counts. Gives its moment, and whether it is new.
    pub(crate) fn mark(&self) -> (i64, bool) {
        let mut marks = self.shared.marks.lock();
        match self.marked.load(Ordering::Relaxed) {
            0 => {
                let now = marks.next(clock::now());
                self.marked.store(now, Ordering::Relaxed);
                (now, true)
            }
            at => (at, false),
        }
    }

    /// Marks an allocation that ended in an earlier run of the agent. Without a mark of that run, the end of its last
    /// task counts, or the last change of the allocation.
    pub(crate) fn mark_restored(&self) -> i64 {
        let ends = || self.tasks.iter().filter_map(|t| t.state().finished_at.unix_nanos()).max();
        let marked = match self.marked.load(Ordering::Relaxed) {
            0 => ends().filter(|at| *at > 0).unwrap_or_else(|| self.alloc().modify_time).max(1),
            at => at,
        };
        self.shared.marks.lock().seen(marked);
        self.marked.store(marked, Ordering::Relaxed);
        marked
    }

    /// The allocation of this node whose disk it is going to take over.
    pub(crate) fn awaited_disk(&self) -> Option<String> {
        let taken = self.disk_taken.load(Ordering::Relaxed);
        gc::awaited_disk(&self.alloc(), taken).filter(|_| !self.is_terminal()).map(String::from)
    }

    /// Whether its disk is kept for a node that has not read it yet.
    pub(crate) fn is_held(&self) -> bool {
        let (marked, given) = (self.marked.load(Ordering::Relaxed), self.disk_given.load(Ordering::Relaxed));
        !self.is_destroyed() && gc::is_held(&self.alloc(), &self.view().client_status, marked, given, clock::now())
    }

    /// Its disk was read by another node, or taken over on this one.
    pub(crate) fn disk_was_given(&self) {
        self.disk_given.store(true, Ordering::Relaxed);
        self.shared.collect.notify_one();
    }

    /// Whether it waits, or has to wait again after a restart of the agent, for the allocation that it replaces.
    pub(crate) fn follows_another(&self) -> bool {
        !self.disk_taken.load(Ordering::Relaxed)
    }

    /// Whether its removal began, also in an earlier run of the agent.
    pub(crate) fn is_being_removed(&self) -> bool {
        self.removal.lock().is_some()
    }

    /// Ends the tasks and removes everything here.
    ///
    /// # Errors
    /// What is still there. The allocation counts as removed; [`remove_all`] tries again.
    pub async fn destroy(self: &Arc<Self>) -> Result<(), NotRemoved> {
        self.end().await;
        self.remove_files().await
    }

    /// The first part of [`AllocRunner::destroy`]: ends the tasks, and waits until they have ended.
    pub(crate) async fn end(self: &Arc<Self>) {
        if self.is_destroyed() {
            return;
        }
        self.removal.lock().get_or_insert_default();
        self.persist().await;
        self.kill_tasks().await;
        self.wait().await;
        // What could not be removed when it ended.
        self.remove_network().await;
        (self.shared.report)(self.view());
    }

    /// The second part: removes everything here.
    ///
    /// # Errors
    /// Those of [`AllocRunner::destroy`].
    pub(crate) async fn remove_files(self: &Arc<Self>) -> Result<(), NotRemoved> {
        if self.is_destroyed() {
            return Ok(());
        }
        let _order = self.persisting.lock().await;
        self.destroyed.store(true, Ordering::Release);
        let (shared, id) = (self.shared.clone(), self.id.clone());
        let removed = tokio::task::spawn_blocking(move || remove_all(&shared, &id)).await;
        removed.unwrap_or_else(|error| Err(NotRemoved::io(self.dirs.root(), std::io::Error::other(error))))
    }

    /// Notes that a node event reports its removal, which failed; false if one already did.
    pub(crate) async fn report_removal(&self) -> bool {
        let _order = self.persisting.lock().await;
        if std::mem::replace(&mut self.removal.lock().get_or_insert_default().reported, true) {
            return false;
        }
        let (shared, id, record) = (self.shared.clone(), self.id.clone(), self.record());
        // Without the rest of it, the record would be taken for damaged.
        let store = move || if shared.store.knows(&id) { shared.store.put_record(&id, &record) } else { Ok(()) };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(store).await {
            tracing::error!(target: "client.alloc_runner", alloc_id = self.id, %error, "failed to store the state");
        }
        true
    }
}
